"""What Python refuses is refused: the same class and message as plain Python, in both modes; and nothing else is."""

import math

import numpy as np
import pytest

import stgrad

MODES = pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])


def logarithms_of_branches(x, n):
    if x > 0:
        return math.log(x) + n
    return x / n if n else x


def of_a_loop(x, n):
    s = 0.0
    for i in range(n):
        s += math.log(x - i) / (x - 1.5)
    return s


def steps(x, n):
    s = 0.0
    for i in range(0, 7, n):
        s += x * i
    return s


def read_only(x, n):
    y = np.broadcast_to(np.array([x, 2.0 * x]), (3, 2))
    if n:
        y[0, 1] = 2.0
    return np.sum(y)


def read_only_view(x, n):
    y = np.diagonal(x * np.ones((3, 3)))
    z = y[n:]
    z += 1.0
    return np.sum(z)


def own_copy(x, n):
    y = np.broadcast_to(x, (3,)).copy()
    y[0] = n
    return np.sum(y)


def unused(x, n):
    y = math.sqrt(n)
    return x if y is not None else y


ROWS = {
    "5 // n": lambda x, n: x * (5 // n),
    "5 % n": lambda x, n: x * (5 % n),
    "divmod": lambda x, n: x * divmod(7, n)[1],
    "1 / x": lambda x, n: 1.0 / x,
    "1 / n": lambda x, n: x * (1 / n),
    "x % n": lambda x, n: x % n + x // n,
    "sqrt": lambda x, n: math.sqrt(x),
    "sum of squares": lambda x, n: math.sqrt(x * x + n * n),
    "log": lambda x, n: math.log(x),
    "log of an integer": lambda x, n: x + math.log(n),
    "log to a base": lambda x, n: x * math.log(2.0, n),
    "log1p": lambda x, n: math.log1p(x),
    "exp": lambda x, n: math.exp(x),
    "cosh": lambda x, n: math.cosh(x) + math.sinh(x),
    "acos": lambda x, n: math.acos(x) + math.asin(x),
    "atanh": lambda x, n: math.atanh(x),
    "acosh": lambda x, n: math.acosh(x),
    "fmod": lambda x, n: math.fmod(x, n),
    "gamma": lambda x, n: math.gamma(x),
    "power": lambda x, n: x**n,
    "float power": lambda x, n: (x * x) ** -0.5,
    "math.pow": lambda x, n: math.pow(x, n),
    "int": lambda x, n: x * int(x),
    "floor": lambda x, n: x * math.floor(x) + math.ceil(x),
    "round": lambda x, n: x * round(x),
    "zeros": lambda x, n: x * np.sum(np.zeros(n)),
    "ones": lambda x, n: x * np.sum(np.ones((2, n))),
    "full": lambda x, n: x * np.sum(np.full(n - 1, 2.0)),
}
ROWS |= {f.__name__: f for f in (logarithms_of_branches, of_a_loop, steps, read_only, read_only_view, own_copy, unused)}
VALUES = [(2.5, 3), (2.5, 0), (0.0, 1), (0.0, -1), (-2.0, 2), (-1.0, -1), (1000.0, 2), (1.0, 4), (math.inf, 1), (math.nan, 1), (0.5, 1)]


@MODES
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_python(name, jit):
    function = ROWS[name]
    g = stgrad.value_and_grad(function, jit=jit)
    for x, n in VALUES:
        try:
            right = function(x, n)
        except (ValueError, ArithmeticError) as problem:
            with pytest.raises(type(problem)) as found:
                g(x, n)
            assert name.startswith("read_only") or str(problem) in str(found.value), (x, n)
        else:
            assert np.isclose(g(x, n)[0], right, equal_nan=True), (x, n)


def over_a_literal(x):
    return x[1] / 0.0


def over_items_of_a_list(x):
    by, total = [1.0, 0.0], 0.0
    for k in range(2):
        total += x[k] / by[k]
    return total


@MODES
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("f", "slopes"), [(over_a_literal, [0.0, np.inf]), (over_items_of_a_list, [1.0, np.inf])])
def test_rules_count_as_numpy_does(f, slopes, jit):
    """What stands in a rule never raises: 1 / 0 is the partial derivative of a division that NumPy makes."""
    value, gradient = stgrad.value_and_grad(f, jit=jit)(np.array([1.0, 2.0]))
    assert value == np.inf
    np.testing.assert_array_equal(gradient, slopes)


@MODES
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scalars_of_numpy_divide_by_zero(jit):
    g = stgrad.value_and_grad(lambda x: x[0] / x[1], jit=jit)
    assert g(np.array([1.0, 0.0]))[0] == np.inf
    assert stgrad.value_and_grad(lambda x, y: x / y, jit=jit)(np.float64(1.0), np.float64(0.0))[0] == np.inf


@MODES
def test_what_is_complex_in_python_is_refused(jit):
    with pytest.raises(ValueError, match="a negative number to a broken power is complex"):
        stgrad.grad(lambda x: x**0.5, jit=jit)(-2.0)


@MODES
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_of_it_on_request(jit):
    """Squares, sines, and functions of items of arrays in loops are tested where it is asked for."""

    def logarithms(x):
        s = 0.0
        for i in range(len(x)):
            s += math.log(x[i])
        return s

    with pytest.raises(ValueError, match="math domain error"):
        stgrad.grad(logarithms, jit=jit, checked=True)(np.array([1.0, 0.0]))
    with pytest.raises(OverflowError):
        stgrad.value_and_grad(lambda x: x**2, jit=jit, checked=True)(1e200)
    with pytest.raises(ValueError, match="math domain error"):
        stgrad.value_and_grad(lambda x: math.sin(x), jit=jit, checked=True)(math.inf)


def proved(x, n):
    s = 1.0 / (1.0 + x * x) + math.sqrt(x * x + 4.0) + math.log(1.0 + math.exp(min(x, 9.0)))
    for i in range(1, 9):
        s += x / i + 7 % i + math.log(i)
    if x > 1.0:
        s += math.log(x) / x
    return s + np.mean(np.linspace(0.0, x, 5)) / (len(range(9)) + 1)


def test_what_cannot_be_is_not_tested():
    text = stgrad.grad(proved).lowered(2.0, 3)
    assert text.count("Error") == 1, text  # of `exp`
    assert "Error" not in stgrad.grad(proved, checked=False).lowered(2.0, 3)


def test_of_second_order():
    h = stgrad.grad(stgrad.grad(lambda x: 1.0 / x))
    assert np.isclose(h(2.0), 0.25)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        h(0.0)


def joined(x, n):
    m = 1.0
    if n:
        m = x[1]
    return m / np.sum(np.zeros(3)).item()


def carried(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] * 0.0
    return x[0] + 1.0 / s


def made_of_both(x, n):
    a, b = (1.0, 2.0) if n else (x[0], 1.0)
    r = a * b - 2.0
    return 1.0 / r + x[1]


def last_one(x, n):
    s = 0.0
    for v in x:
        if v > n:
            s = v
    return x[0] + n / (s - s)


def of_a_list(x, n):
    values = [float(v) - 2.0 for v in x]
    return x[0] + 1.0 / values[n]


def of_items(x, n):
    values = x.tolist()
    return x[0] + 1.0 / (values[n] - values[n])


def sum_of_a_list(x, n):
    values = []
    for v in x[: n + 2]:
        values.append(float(v) - 2.0)
    return x[0] + 1.0 / (sum(values) if n else max(values))


def sum_of_items(x, n):
    values = [v - 2.0 for v in x[:3]]
    total = 0.0
    for v in values:
        total += v
    return x[0] + n / total


@MODES
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::stgrad.errors.ZeroGradientWarning")
@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("f", [joined, carried, made_of_both, last_one, of_a_list, of_items, sum_of_a_list, sum_of_items], ids=lambda f: f.__name__)
def test_whose_numbers_are_divided(f, n, jit):
    """A name may hold a number of Python's on one path and one of NumPy's on another: each is divided by zero as it is."""
    x = np.array([2.0, 2.0, 2.0])
    try:
        expected = f(x, n)
    except ZeroDivisionError as error:
        with pytest.raises(ZeroDivisionError, match=str(error)):
            stgrad.value_and_grad(f, jit=jit)(x, n)
    else:
        assert np.array_equal(stgrad.value_and_grad(f, jit=jit)(x, n)[0], expected, equal_nan=True)
