"""Errors of changes in the middle of lists are Python's."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors


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


# Lists of known items, at places that the program decides.


def popped(x, k):
    b = [x, 2 * x, x * x]
    v = b.pop(k)
    return v * b[0] + b[1] * len(b)


def inserted(x, k):
    b = [x, 2 * x, x * x]
    b.insert(k, 5 * x * x)
    return b[0] + 2 * b[1] + 3 * b[2] + 4 * b[3]


def removed(x, k):
    b = [x, 2 * x, x * x]
    b.remove(2 * x if k > 1 else x * x)
    return b[0] + 2 * b[1] * len(b)


def removed_of_one_value(x, k):
    b = [x, x * k, x]
    b.remove(x)
    return b[0] * len(b) + 3.0 * b[1]


def deleted_and_seen(x, k):
    b = [x, 2 * x, x * x]
    c = b
    del b[k:]
    c.append(x)
    return sum(c) * len(b)


def pairs(x, k):
    b = [(x, 1), (2 * x, 2)]
    p, q = b.pop(k - 1)
    return p * q * b[0][0]


def on_a_path(x, k):
    b = [x, 2 * x, x * x]
    if x > k:
        b.pop(k)
    return sum(b) * len(b)


def rows_of_two_lengths(x, k):
    b = [np.ones(2) * x, np.ones(3) * x]
    v = b.pop(k - 1)
    return v.sum() ** 2 * b[0].sum()


def not_there(x, k):
    b = [x, 2 * x]
    b.remove(x * 3 * k)
    return b[0]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [popped, inserted, removed, removed_of_one_value, deleted_and_seen, pairs, on_a_path, rows_of_two_lengths])
def test_known_items_at_places_of_run_time(f, jit):
    for k in (1, 2):
        value, slope = stgrad.value_and_grad(f, jit=jit)(1.3, k)
        assert np.isclose(value, f(1.3, k))
        assert np.isclose(slope, (f(1.3 + 1e-6, k) - f(1.3 - 1e-6, k)) / 2e-6)


def test_what_is_not_in_a_list_is_told_as_python_does():
    with pytest.raises(ValueError, match=r"list.remove\(x\): x not in list"):
        stgrad.grad(not_there, jit=False)(1.3, 2)


def test_items_of_a_list_that_grows_are_refused_by_name():
    from collections import UserList

    def f(x):
        turns = UserList([0.0])
        for v in x:
            turns.append(v)
        return sum(abs(a - b) ** 1.5 for a, b in zip(turns, turns[1:], strict=False))

    with pytest.raises(errors.UnsupportedSyntaxError, match="those of one that grows"):
        stgrad.grad(f, jit=True)(np.array([0.1, 0.8, 0.3]))
