"""Objects with names of their own in lists whose items move: what is changed through the list is seen by the name, or the program is refused."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors


class Body:
    def __init__(self, p):
        self.p = p


def _list(x, k):
    r = Body(x)
    b = [r, Body(2 * x)]
    for _ in range(k):
        b.append(Body(x))
    return r, b


def popped(x, k):
    r, b = _list(x, k)
    b.pop(k)
    b[0].p = 7 * x * x
    return r.p


def popped_last(x, k):
    r, b = _list(x, k)
    b.pop()
    b[0].p = 7 * x * x
    return r.p


def deleted(x, k):
    r, b = _list(x, k)
    del b[k]
    b[0].p = 7 * x * x
    return r.p


def inserted(x, k):
    r, b = _list(x, k)
    b.insert(k, Body(x))
    b[0].p = 7 * x * x
    return r.p


def changed_by_name(x, k):
    r, b = _list(x, k)
    b.pop(k)
    r.p = 7 * x * x
    return b[0].p


def a_dict(x, k):
    r = {"a": x}
    b = [r]
    for _ in range(k):
        b.append({"a": x})
    b.pop(k)
    b[0]["a"] = 7 * x * x
    return r["a"]


def known_items(x, k):
    r = Body(x)
    b = [r, Body(2 * x)]
    b.pop(k)
    b[0].p = 7 * x * x
    return r.p


def held_by_another(x, k):
    r, b = _list(x, k)
    held = {"r": r}
    b.pop(k)
    b[0].p = 7 * x * x
    return held["r"].p


def read_in_a_loop(x, k):
    r, b = _list(x, k)
    b.pop(k)
    total = 0.0
    for _ in range(k + 1):
        total += r.p
        b[0].p = b[0].p * x
    return total


def read_by_a_function(x, k):
    r, b = _list(x, k)

    def ask():
        return r.p

    b.pop(k)
    b[0].p = 7 * x * x
    return ask()


def in_a_loop_before_it_moves(x, k):
    r, b = _list(x, k)
    total = 0.0
    for _ in range(k):
        total += r.p
        b.pop()
        b[0].p = b[0].p * x
    return total


MAY_BE_WRONG = [
    popped,
    popped_last,
    deleted,
    inserted,
    changed_by_name,
    a_dict,
    known_items,
    held_by_another,
    read_in_a_loop,
    read_by_a_function,
    in_a_loop_before_it_moves,
]


def right(f, x, k, jit=False):
    value, slope = stgrad.value_and_grad(f, jit=jit)(x, k)
    assert np.isclose(value, f(x, k))
    assert np.isclose(slope, (f(x + 1e-6, k) - f(x - 1e-6, k)) / 2e-6)


@pytest.mark.parametrize("f", MAY_BE_WRONG)
def test_right_or_refused(f):
    for k in (1, 2) if f is not known_items else (0, 1):
        try:
            right(f, 1.3, k)
        except errors.AliasingError as refused:
            assert __file__ in str(refused)


def a_name_that_stays_behind(x, k):
    b = []
    for i in range(k + 2):
        body = Body(x * i)
        b.append(body)
    total = 0.0
    while len(b) > 1:
        first = b.pop(0)
        total += first.p
        for other in b:
            other.p = other.p * x
    return total


def read_before(x, k):
    r, b = _list(x, k)
    total = r.p
    b.pop()
    b[0].p = b[0].p * x
    return total + b[0].p


def another_list(x, k):
    r, b = _list(x, k)
    c = []
    for i in range(k):
        c.append(Body(x * i))
    c.append(Body(x))
    b.pop()
    c[0].p = 3.0 * x * x
    return r.p + c[0].p


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [a_name_that_stays_behind, read_before, another_list])
def test_right(f, jit):
    right(f, 1.3, 2, jit)


@pytest.mark.parametrize("items", [lambda x: [x, 2, True], lambda x: [None, x, 2 * x]])
def test_known_items_of_several_kinds(items):
    def f(x, k):
        b = items(x)
        b.pop(k)
        return x * (b[0] is None) + 3.0 * x * isinstance(b[1], int) + x * x

    for k in (0, 1):
        right(f, 1.3, k)
