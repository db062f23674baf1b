"""Branches that can never be taken are left out; all others stay, and values are those of Python."""

from __future__ import annotations

import re

import numpy as np
import pytest

import stgrad
from stgrad.testing import check_gradient


def asked_again(x):
    if len(x) == 0:
        raise ValueError("no items")
    total = x[0] * 2.0
    if x.shape[0] < 1:
        total = 7.0
    if len(x) > 0:
        total = total * x[-1]
    return total


def by_an_index(x):
    if len(x) == 0:
        raise ValueError("no items")
    try:
        last = x[-1]
    except IndexError:
        last = 3.0
    return last * x[0]


def after_a_loop(x, n):
    k = 0
    while k < n:
        k += 1
    if k < n:
        return x[0] * 5.0
    return x[0] * k


def flags(x):
    found = False
    for i in range(len(x)):
        if i >= len(x):
            found = True
    return x[0] * 100.0 if found else x[0] * x[0]


def largest(x, n):
    m = max(n, 0)
    if m < 0:
        return x[0] * 9.0
    if n > 2:
        if m == n:
            return x[0] ** 2
        return x[0] ** 3
    return x[0] * m


def not_decided(x, n):
    if n != 2:
        if n < 2:
            return x[0] * 2.0
        return x[0] * 3.0
    return x[0] * 4.0


def two_conditions(x, a, b):
    if a > 0 and b > a:
        if b < 1:
            return x[0] * 8.0
        return x[0] * b
    return x[0] * 6.0


def of_numbers(x):
    if x[0] > 1.0:
        if x[0] < 0.5:
            return x[0] * 8.0
        return x[0] * 7.0
    return x[0] * 6.0


PROGRAMS = [
    (asked_again, [()], "7.0", "2.0"),
    (by_an_index, [()], "3.0", "x[-1]"),
    (after_a_loop, [(0,), (3,)], "5.0", "k"),
    (flags, [()], "100.0", "x"),
    (largest, [(-1,), (2,), (5,)], "9.0", "3 * x"),
    (not_decided, [(1,), (2,), (3,)], "5.0", "3.0"),
    (two_conditions, [(1, 5), (3, 9)], "8.0", "6.0"),
    (of_numbers, [()], "9.0", "8.0"),
]


@pytest.mark.parametrize(("f", "rests", "gone", "there"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS])
def test_values_and_branches(f, rests, gone, there) -> None:
    x = np.array([1.5, -0.5, 2.0])
    g = stgrad.value_and_grad(f, jit=False, mode="reverse")
    for rest in rests:
        assert g(x, *rest)[0] == f(x, *rest)
        check_gradient(f, (x, *rest), argnums=0, jit=False)
    text = re.sub(r"#.*|\(line.*", "", g.source())
    assert gone not in text
    assert there in text


@pytest.mark.parametrize("f", [p[0] for p in PROGRAMS], ids=[p[0].__name__ for p in PROGRAMS])
def test_compiled_and_empty(f) -> None:
    rest = (3, 9)[: f.__code__.co_argcount - 1]
    x = np.array([0.5, 2.0])
    assert stgrad.value_and_grad(f, jit=True)(x, *rest)[0] == f(x, *rest)
    if f in (asked_again, by_an_index):
        with pytest.raises(ValueError, match="no items"):
            stgrad.grad(f, jit=False)(np.zeros(0))


def read_only(x, n):
    """What stands behind the store never runs: it neither has a sweep back nor types."""
    wide = np.broadcast_to(x, (2, x.shape[0]))
    if n > 0:
        wide[0, 0] = 1.0
        x = x[::2] * wide[0, ::2]
    return np.sum(x) * 2.0


def always_read_only(x, n):
    wide = np.broadcast_to(x, (2, x.shape[0]))
    part = x[n : n + 1] if n > 1 else x
    wide[0, 0] = 1.0
    rows = [part * i for i in range(n)]
    return np.sum(rows[0]) + np.sum(wide)


@pytest.mark.parametrize("jit", [False, True])
def test_nothing_stands_behind_a_line_that_always_raises(jit) -> None:
    x = np.array([1.5, -0.5, 2.0])
    g = stgrad.grad(read_only, jit=jit)
    np.testing.assert_array_equal(g(x, 0), [2.0, 2.0, 2.0])

    def pulled(x, n):
        return stgrad.vjp(lambda y: (always_read_only(y, n), y), x, jit=jit)

    for h in (g, stgrad.grad(always_read_only, jit=jit), stgrad.jit(always_read_only), pulled):
        with pytest.raises(ValueError, match="read-only"):
            h(x, 2)
    assert "_bar +=" not in stgrad.grad(always_read_only, jit=jit).source(x, 2)
