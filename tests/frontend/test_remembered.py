"""`functools.lru_cache` and `cache` of functions made inside, and special methods of arrays and containers called by name."""

from __future__ import annotations

import functools
from functools import cache, lru_cache

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

W, X = 0.7, np.array([0.3, 0.6, 0.95, 0.2, 1.3, 0.45])


def common_subsequence(w, x):
    s, t = "ACGGTA", "GCATGC"

    @functools.lru_cache(None)
    def f(i, j):
        if i == 0 or j == 0:
            return 0.0
        m = f(i - 1, j - 1) + (x[i - 1] * w if s[i - 1] == t[j - 1] else -0.2)
        return max(m, f(i - 1, j) - 0.1, f(i, j - 1) - 0.1)

    return f(6, 6)


def without_brackets(w, x):
    @lru_cache
    def f(i):
        return w if i < 2 else f(i - 1) * x[i] + f(i - 2)

    return f(5) + f(3)


def how_often_it_ran(w, x):
    n = [0]

    @lru_cache(maxsize=None)  # noqa: UP033
    def f(i):
        n[0] += 1
        return x[i] * w

    return sum(f(i % 3) for i in range(6)) * n[0]


def what_it_saw_first(w, x):
    s = 0.0

    @cache
    def f(i, scale=1.0):
        return (s + x[i]) * scale

    for i in range(6):
        s += f(i % 2) + f(i % 3, scale=2.0)
    return s


def of_a_lambda(w, x):
    h = cache(lambda i: x[i] ** 2)
    return h(1) * h(2) * h(1)


def largest_by_position(w, x):
    c = [v * w for v in x]
    return c[max(range(6), key=c.__getitem__)]


def sorted_by_position(w, x):
    return sum(x[i] * k for k, i in enumerate(sorted(range(6), key=x.__getitem__)))


def items_set_by_name(w, x):
    items, table, y = [w, x[0], x[3]], {}, x.copy()
    items.__setitem__(0, x[1])
    items.__delitem__(2)
    items.__iadd__([x[2], w])
    table.__setitem__("a", w)
    table.__setitem__("a", table["a"] * x[0])
    y.__setitem__(0, w)
    y.__iadd__(x)
    return sum(items) * items.__len__() * table["a"] + y.__mul__(y).sum()


def asked_by_name(w, x):
    return list(map(x.__getitem__, [0, 2]))[1] * w.__add__(x[0]) if [1, 2].__contains__(2) else 0.0


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "function",
    [common_subsequence, without_brackets, how_often_it_ran, what_it_saw_first, of_a_lambda, largest_by_position, sorted_by_position, items_set_by_name,
     asked_by_name], ids=lambda f: f.__name__,
)  # fmt: skip
def test_right(function, jit):
    check_gradient(function, (W, X), jit=jit)


@pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
@pytest.mark.parametrize("first", [0.0, 1.0])
def test_remembered_on_one_path(first, jit):
    def on_one_path(w, x):
        @cache
        def f(i):
            return x[i] * w

        r = f(2) if x[0] > 0.1 else f(1)
        return r + f(2) + f(1)

    x = np.array([first, 2.0, 3.0])
    expected = [0.0, W, 2.0 * W] if first else [0.0, 2.0 * W, W]
    np.testing.assert_allclose(stgrad.grad(on_one_path, argnums=1, jit=jit)(W, x), expected)


def test_refused():
    """Methods that nobody knows."""

    def by_size(w, x):
        return w * [w, x[0]].__sizeof__()

    with pytest.raises(errors.UnknownFunctionError, match="__sizeof__"):
        stgrad.grad(by_size)(W, X)
