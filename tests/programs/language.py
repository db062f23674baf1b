"""The rest of the language: one program for each form that users write."""

import functools
import math
import operator

import numpy as np

import stgrad

from .registry import example, matrix, positive, vector

GAIN = 0.75
MODES = {"soft": 1, "hard": 2}


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return 2.0 * function(*args, **kwargs)

    return wrapper


@doubled
def decorated_helper(x, power=2):
    return x**power


@example(1.3)
def decorated(x):
    return decorated_helper(x) + decorated_helper(x, power=3)


@example(1.3, 0.6)
def nested_gradient(x, y):
    inner = stgrad.grad(lambda z: z * z * x + y * z)
    return inner(y) * x


@example(vector(3), jit=True)
def nested_gradient_of_arrays(x):
    def energy(q, k):
        return 0.5 * k * np.sum(q * q * x)

    force = stgrad.grad(energy)(x, 2.0)
    return np.sum(force * force)


@example(1.3)
def nested_value_and_gradient(x):
    value, slope = stgrad.value_and_grad(lambda z: np.sin(z) * x)(x * x)
    return value * slope


@example(0.8)
def newton_with_a_nested_gradient(a):
    def residual(z):
        return z * z * z - a

    z = 1.0
    for _ in range(7):
        z = z - residual(z) / stgrad.grad(residual)(z)
    return z * z


@example(1.2, 3.0, -2.0, argnums=(0, 1, 2))
def star_elements(x, *rest):
    s = x
    for r in rest:
        s = s * x + r * r
    return s


@example(1.2, 0.5)
def function_in_a_dict(x, y):
    table = {"add": operator.add, "mul": lambda a, b: a * b}
    return sum(f(x, y) for f in table.values()) * table["add"](x, x)


@example(1.2)
def partials_and_reduce(x):
    scale = functools.partial(decorated_helper, power=4)
    return functools.reduce(lambda a, b: a * b + x, [x, 2.0, x * x]) + scale(x)


@example(vector(4))
def lambdas_over_a_loop_variable(x):
    functions = []
    for k in [0, 1, 2]:
        functions.append(lambda t, k=k: t * x[k])
    return functions[0](x[1]) + functions[2](x[3])


@example(vector(4), jit=True)
def raises_in_a_branch(x):
    if np.sum(x * x) < 0.0:
        raise ValueError(f"negative norm {x[0]:.3f}")
    assert x.shape[0] > 1, "too short"
    assert np.sum(x) < 1e6
    return np.sum(x * x)


@example(vector(4), None)
def none_as_default(x, weights=None):
    if weights is None:
        weights = np.ones(len(x))
    return np.sum(weights * x * x)


@example(1.2)
def walrus_and_chains(x):
    if (y := x * x) > 1.0:
        y = y * 2.0
    a = b = y * x
    a, b = b * 2.0, a
    return a * b + y


@example(vector(6))
def starred_unpacking(x):
    first, *middle, last = x[0], x[1], x[2], x[3]
    head, (second, *others) = last, [first, *middle]
    return head * second * sum(others)


@example(vector(4))
def swaps_of_subscripts(x):
    y = x * 1.0
    y[0], y[1] = y[1], y[0] * 2.0
    i = 2
    y[i], y[i + 1] = y[i + 1] * y[0], y[i]
    return y[0] * y[1] + y[2] * y[3] * x[0]


@example(vector(4))
def loops_with_else(x):
    s = 0.0
    for v in x:
        if v > 100.0:
            break
        s += v * v
    else:
        s = s * 2.0
    k = 0
    while k < 3:
        s += x[k] * s
        k += 1
        if s > 1e9:
            break
    else:
        s = s + x[0]
    return s


@example(1.3, 0.4)
def dict_methods(x, y):
    d = dict(a=x, b=y)
    d.update(c=x * y)
    d |= {"e": x}
    s = d.pop("a") + d.get("missing", 2.0 * y)
    d.setdefault("z", x)
    s += sum(v for k, v in d.items() if k != "b") + len(d)
    return s * ("c" in d) * d["z"] if list(d.keys())[0] == "b" else s


@example(vector(3))
def sorted_by_key(x):
    names = sorted(["ccc", "a", "bb"], key=len)
    order = sorted([(2, "b"), (1, "a")], key=lambda p: p[0], reverse=True)
    best = max([3, -5, 4], key=abs)
    return x[len(names[0])] * x[order[0][0]] + best * x[0] ** 2


@example(vector(3))
def sums_with_start(x):
    return sum([x[0], x[1]], x[2] * 2.0) * sum(x, 1.5) + sum([x, x * x], np.zeros(3))[1]


@example(positive(4))
def any_and_all(x):
    if any(v > 100.0 for v in x) or not all(v > 0.0 for v in x):
        return x[0]
    return x[0] * x[1] if any([x[0] > 0.0, x[1] > 5.0]) else x[2]


@example(vector(5))
def unequal_zips(x):
    s = 0.0
    for i, a, b in zip(range(10), x, x[1:]):
        s += i * a * b
    for (a, b), c in zip(enumerate([x[0], x[1], x[2]], start=1), (1.0, 2.0)):
        s += a * b * c
    return s


@example(vector(6))
def slices_and_ranges_in_variables(x):
    odd, r = slice(1, None, 2), range(0, 6, 2)
    s = np.sum(x[odd] ** 2)
    for i in r:
        s += x[i] * len(r)
    return s * x[r[1]] + (3 in r)


@example(1.3)
def imports_inside(x):
    import math as m
    from math import sin

    y = sin(x) * m.pi
    del m
    return y * y


@example(1.3, 6)
def integer_mathematics(x, n):
    k = math.factorial(4) // math.comb(4, 2) + math.gcd(12, 18)
    bits = (5 & 3) | (1 << 2) ^ 2
    return x ** (n % 4) * k + bits * x * (-7 // 2) * (-7 % 3) + (n // -4) * x * x


@example(1.3, True)
def bool_arithmetic(x, flag):
    return x * (x > 0.0) + flag * x * x + (True + True) * x**3


@example(1.0 + 2.0j, order=1)
def absolute_square(z):
    return abs(z) ** 2


@example(np.array([1.0 + 2.0j, 0.5 - 1.0j]), order=1)
def complex_array(z):
    return np.sum(np.real(z * np.conj(z))) + np.sum(z.imag * z.real)


@example(vector(4).astype(np.float32))
def single_precision_loop(x):
    s = x[0]
    for i in range(1, len(x)):
        s = s * x[i] + x[i]
    return s


@example(np.array(1.5), vector(3))
def zero_dimensional(a, x):
    return a * np.sum(x) * a


@example(np.zeros(0), 1.5)
def zero_length(x, a):
    s = a * a
    for v in x:
        s += v
    return s + np.sum(x * x)


@example(np.arange(1.0, 25.0).reshape(2, 3, 4) / 10, jit=True)
def three_dimensional(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += np.sum(a[i, j] * a[i, -j - 1]) * a[i, j, 0]
    return s


@example(1.3, "hard")
def string_modes(x, mode):
    k = MODES[mode]
    if mode in ("hard", "soft") and not mode.startswith("s"):
        return x**k * GAIN
    return x


@example(vector(3))
def type_tests(x):
    if isinstance(x, np.ndarray) and not isinstance(x, (list, tuple)) and x.ndim == 1:
        return np.sum(x * x)
    return 0.0


@example(matrix(3, 3))
def loop_over_a_tuple_of_slices(a):
    s = 0.0
    for rows, cols in ((slice(0, 2), 0), (slice(1, None), 2)):
        s += np.sum(a[rows, cols] ** 2)
    return s


@example(1.2, 0.4)
def keyword_only(x, y):
    def helper(a, /, b, *, c=2.0, **more):
        return a * b * c + sum(more.values())

    return helper(x, b=y) + helper(x, y, c=x, d=y * y)


@example(vector(3))
def while_true(x):
    i, s = 0, 0.0
    while True:
        s += x[i] * s + x[i]
        i += 1
        if i >= len(x):
            break
    return s


@example(matrix(4, 6), order=2, jit=True)
def shape_from_listed_axes(x):
    """Extents are collected in a loop over a list of axes, by arithmetic on the loop's variable."""
    y = np.reshape(x, (1, 2, 2, 6))
    shape = y.shape[:2]
    for axis in [0, 1]:
        width = 1 + axis
        shape += (y.shape[axis + 2] // width, width)
    return np.sum(np.max(y.reshape(shape), axis=5) ** 2)
