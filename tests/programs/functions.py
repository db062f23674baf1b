"""Helpers, closures, lambdas, defaults, keywords, recursion, functions as values, and structures of values."""

import math
from collections import namedtuple

import numpy as np

from .registry import example, matrix, positive, vector

SCALE = 1.5
WEIGHTS = np.array([0.5, -1.0, 2.0])
State = namedtuple("State", "position velocity")


def square(x):
    return x * x


def scaled(a, b=2.0):
    return a * b


def double_in_place(y, c):
    y *= c
    y[0] += 1.0


def both(a, b):
    return a + b, a * b


def factorial_like(x, n):
    return 1.0 if n == 0 else x * factorial_like(x + 1.0, n - 1)


@example(1.3, jit=True)
def helper(x):
    return square(square(x)) + square(x)


@example(vector(3))
def helper_with_a_literal(x):
    return np.sum(scaled(x, 2.0) * scaled(x))


@example(3.0)
def helper_with_itself_as_keyword(x):
    return scaled(x, b=x)


@example(vector(3), 1.7)
def helper_that_writes(x, c):
    y = x * x
    double_in_place(y, c)
    double_in_place(y[1:], c)
    return np.sum(y * y)


@example(vector(4))
def helper_with_overlapping_arguments(x):
    def mix(a, b):
        a += b * 2.0
        b *= a

    y = x * 1.0
    mix(y[1:], y[:-1])
    return np.sum(y * x)


@example(vector(3), 1.2)
def tuple_results(x, c):
    s, p = both(x, c)
    u, v = both(s, p)
    return np.sum(u * v)


@example(0.6, 3)
def recursion(x, n):
    return factorial_like(x, n)


@example(1.4)
def recursion_over_numbers(x):
    def fib(k):
        return x if k < 2 else fib(k - 1) * 0.5 + fib(k - 2) * x

    return fib(4)


@example(1.4, 0.3)
def closure(x, y):
    def inner(t):
        return t * x + y

    return inner(inner(x)) * y


@example(1.4)
def closure_made_by_a_function(x):
    def make(k):
        def times(t):
            return t * k * x

        return times

    return make(2.0)(x) + make(x)(3.0)


@example(vector(3))
def lambdas(x):
    f = lambda t: t * t  # noqa: E731
    g = lambda t, k=3.0: f(t) * k  # noqa: E731
    return np.sum(g(x)) + np.sum(g(x, 2.0) * x)


@example(vector(3))
def functions_in_a_list(x):
    total = 0.0
    for f in [np.sin, np.cos, square, lambda t: t * 2.0]:
        total += np.sum(f(x))
    return total


@example(0.7)
def function_as_argument(x):
    def twice(f, t):
        return f(f(t))

    return twice(math.sin, x) + twice(square, x)


@example(vector(3))
def globals_and_captured(x):
    return np.sum(x * WEIGHTS) * SCALE


@example(1.0, 2.0, 3.0)
def star_arguments(a, b, c):
    def total(*values, scale=1.0, **named):
        s = 0.0
        for v in values:
            s = s + v * v
        return s * scale * named["extra"]

    values = (a, b)
    return total(*values, c, scale=a, **{"extra": b})


@example((1.5, vector(3)))
def tuple_argument(pair):
    a, x = pair
    return a * np.sum(x * x)


@example({"w": matrix(2, 3), "b": vector(2)}, vector(3))
def dict_argument(params, x):
    return np.sum(np.tanh(params["w"] @ x + params["b"]))


@example(State(vector(3), vector(3, 1)), 0.1)
def namedtuple_argument(state, dt):
    for _ in range(2):
        state = State(state.position + dt * state.velocity, state.velocity - dt * state.position)
    return np.sum(state.position**2) + np.sum(state.velocity * state.position)


@example([(matrix(3, 2), vector(3)), (matrix(1, 3), vector(1))], vector(2), jit=True)
def layers(params, x):
    for w, b in params:
        x = np.tanh(w @ x + b)
    return np.sum(x)


@example({"a": 1.2, "n": 3, "name": "cubic", "missing": None, "flag": True, "more": [0.4, {"b": 0.9}]})
def mixed_structure(p):
    y = p["a"] ** p["n"] if p["flag"] else 0.0
    if p["missing"] is None and p["name"] == "cubic":
        y = y * p["more"][0] + p["more"][1]["b"] * p["a"]
    return y


@example(vector(4))
def lists(x):
    items = [x[0], x[1] * x[2]]
    items.append(x[3])
    items[0] = items[1] * 2.0
    first, *rest = items
    return first * rest[0] + items[-1] * sum(items)


@example(vector(4))
def list_of_arrays(x):
    rows = [x, x * x]
    rows.append(rows[0] * rows[1])
    a, b = rows[1:]
    return np.sum(a * b)


@example(vector(4))
def nested_unpacking(x):
    (a, b), c = (x[0], x[1]), x[2]
    [d, e] = a * b, c
    f = g = d * e
    return f * g + a


@example(vector(4))
def dictionaries(x):
    d = {"a": x[0], "b": x[1]}
    d["c"] = d["a"] * d["b"]
    s = 0.0
    for k in d:
        s += d[k] ** 2
    for _, v in d.items():
        s *= v
    return s + d.get("a") * sum(d.values())


@example(vector(4))
def comprehensions(x):
    squares = [v * v for v in x]
    table = {k: x[k] * 2.0 for k in range(2)}
    return sum(squares) + sum(a * b for a, b in zip(x[1:], x[:-1])) + table[1] * table[0]


@example(vector(4))
def enumerate_and_zip(x):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v * v
    for a, b in zip(x, x[::-1]):
        s += a * b * a
    for i, (a, b) in enumerate(zip(x, x[1:]), start=2):
        s += i * a * b
    return s


@example(vector(4))
def reversed_and_sorted(x):
    s = 0.0
    for i in reversed(range(4)):
        s = s * 0.5 + x[i] ** 2
    for v in reversed(x):
        s = s * v
    for i in sorted([2, 0, 1]):
        s += x[i]
    return s


@example(positive(4))
def map_and_builtins(x):
    return sum(map(square, x)) + max(x[0], x[1]) * min(x[2], x[3], 5.0) + abs(-x[0]) + pow(x[1], 2) + float(x[2]) + round(x[3])


class Oscillator:
    """Holds numbers and an array that its methods read."""

    def __init__(self, omega, weights):
        self.omega = omega
        self.weights = weights

    def energy(self, x, v):
        return 0.5 * np.sum(v * v) + 0.5 * self.omega**2 * np.sum(self.weights * x * x)


OSCILLATOR = Oscillator(1.7, np.array([1.0, 2.0, 3.0]))


@example(vector(3), vector(3, 1))
def bound_method(x, v):
    return OSCILLATOR.energy(x, v)


@example(1.2)
def nested_defs_with_nonlocal_reads(x):
    y = x * x

    def f(t):
        z = y * t

        def g(u):
            return u * z + y

        return g(t) * g(x)

    return f(x + 1.0)


@example(1.2)
def annotated(x: float) -> float:
    """A docstring, annotations, pass, del, f-strings."""
    y: float = x * x
    z = y
    del z
    pass
    label = f"{1 + 1}"
    return y * len(label)


@example(1.2, 0.7)
def containers_keep_old_values(x, y):
    s = x
    items = [s, y]
    table = {"s": s}
    pair = s, y
    f = lambda t, k=s: t * k  # noqa: E731
    items.append(s)
    s = s * y
    items[1] = s
    table["t"] = s
    s = s + 1.0
    return items[0] + 2.0 * items[1] + 3.0 * items[2] + 4.0 * table["s"] * table["t"] + 5.0 * pair[0] + f(s) + 7.0 * s


@example(1.2, 0.7, 2.0)
def choices_do_not_bind(x, y, z):
    a, b, c = x * y, y * z, z * x
    lowest = min(a, b, c)
    other = a if x > y else b
    highest = max(b, a)
    return lowest * a + other * b * b + highest * c * a


@example(1.2, 0.7)
def loop_keeps_old_values(x, y):
    history = [x, x]
    s = x
    for _ in range(3):
        history = [history[1], s]
        s = s * y + history[0]
    return history[0] * history[1] + s


@example(1.2, 0.7)
def copies_of_lists(x, y):
    p = [x, y]
    p[0] = x * y
    q, r, s, t = p[:], list(p), p.copy(), p + [y]
    p[0] = x + y
    return q[0] + 2.0 * r[0] + 3.0 * s[0] + 4.0 * t[0] * p[0]


@example(vector(3))
def maps_over_an_array(x):
    return sum(map(square, x)) + sum(map(lambda a, b: a * b, x, x[::-1]))
