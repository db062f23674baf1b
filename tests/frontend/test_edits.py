"""Errors of changes in the middle of lists are Python's."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def pops(x, n, k):
    xs = [v for v in x if v > 0.0]
    for _ in range(n):
        xs.pop(k)
    return sum(xs)


def deletes(x, n, k):
    xs = [v for v in x if v > 0.0]
    for _ in range(n):
        del xs[k]
    return sum(xs)


def removes(x, n, k):
    xs = [i for i in range(len(x)) if x[i] > 0.0]
    for _ in range(n):
        xs.remove(k)
    return x[xs[0]]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("f", "k"), [(pops, 2), (pops, -3), (deletes, 2), (removes, 7)])
def test_items_that_are_not_there(f, k, jit):
    x = np.array([1.0, 2.0, -1.0, 3.0])
    with pytest.raises((IndexError, ValueError)) as expected:
        f(x, 2, k)
    with pytest.raises(expected.type):
        stgrad.grad(f, jit=jit)(x, 2, k)


def test_an_item_that_was_taken_stays_what_it_was():
    def f(x, n):
        rows = []
        for i in range(n):
            rows.append(x * i)
        second = rows[1]
        rows.insert(0, x * x)
        del rows[2:]
        return np.sum(second * rows[0]) + np.sum(rows[1])

    x = np.array([2.0, 3.0])
    assert np.allclose(stgrad.grad(f, jit=False)(x, 3), 3.0 * x * x)


def test_a_loop_that_never_starts_is_not_read():
    def f(x):
        stack, s = [], 0.0
        while stack:
            s += stack[3] * x
        return s + x * x

    assert stgrad.grad(f, jit=False)(2.0) == 4.0
