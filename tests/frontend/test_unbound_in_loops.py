"""Loops whose first trip reads what only a later statement of theirs binds, in a branch or out of one."""

# ruff: noqa: F821, F841

import numpy as np
import pytest

import stgrad


def behind_the_read(x, y):
    if y[0] < 0:
        for _ in range(2):
            v = x * v[0]
            v = x
    return x.sum()


def by_the_read(x, y):
    if y[0] < 0:
        for _ in range(3):
            v = x * v[0]
    return x.sum()


def in_a_while(x, y):
    if y[0] < 0:
        k = 0
        while k < 1:
            k += 1
            for _ in range(3):
                v = x * v[0]
            v = x
    return x.sum()


def as_a_result(x, y):
    if y[0] < 0:
        k = 0
        while k < y[1]:
            k += 1
            v = x * v[0]
        return v.sum()
    return x.sum()


def in_a_function(x, y):
    def inner():
        for _ in range(2):
            v = x * v[0]
        return v

    return inner().sum() if y[0] < 0 else x.sum()


def bound_by_the_loop_around(x, y):
    for k in range(3):
        for _ in range(2):
            if k > 0 and y[0] < 0:
                x = x * v
        v = 0.5
    return x.sum()


X, Y = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0])


@pytest.mark.parametrize("f", [behind_the_read, by_the_read, in_a_while, as_a_result, in_a_function])
def test_what_python_raises(f):
    with pytest.raises(UnboundLocalError):
        f(X, Y)
    for jit in (False, True):
        with pytest.raises(NameError, match="unassigned|not associated"):  # Python's, or the compiler's of that name
            stgrad.grad(f, jit=jit)(X, Y)


@pytest.mark.parametrize("f", [behind_the_read, by_the_read, in_a_while, as_a_result, in_a_function, bound_by_the_loop_around])
@pytest.mark.parametrize("jit", [False, True])
def test_the_other_path(f, jit):
    np.testing.assert_array_equal(stgrad.grad(f, jit=jit)(X, -Y), np.ones(3))


@pytest.mark.parametrize("jit", [False, True])
def test_an_earlier_trip_of_the_loop_around(jit):
    np.testing.assert_allclose(stgrad.grad(bound_by_the_loop_around, jit=jit)(X, Y), np.full(3, 0.5**4))
