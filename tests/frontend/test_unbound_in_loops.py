"""Loops whose first trip reads what only a later statement of theirs binds, in a branch or out of one."""

# ruff: noqa: F821, F841

import numpy as np
import pytest
from thorough import check_gradient

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


def bound_again(x, k):
    s = 0.0
    for n in range(2, 5):
        y = np.zeros(n)
        for n in range(k, 0, -1):
            y[0] += x * n * x
        for j in range(n):
            s += y.sum() * j
        else:
            s += n * x
    return s * n


def bound_again_by_others(x, k):
    s = 0.0
    for n in range(k):
        for n in [n + 1, 7]:
            s = s * 0.5 + x * n
        if s > 30.0:
            break
    for n, m in enumerate([x, s * x, s]):
        for n in range(n):
            m += x * n
        s += m * n
    return s * x


@pytest.mark.parametrize("f", [bound_again, bound_again_by_others])
@pytest.mark.parametrize("jit", [False, True])
def test_a_loop_inside_has_the_counter_of_the_one_around(f, jit) -> None:
    for k in (0, 1, 4):
        if k or f is bound_again_by_others:
            assert stgrad.value_and_grad(f, jit=jit)(2.0, k)[0] == f(2.0, k)
            check_gradient(f, (2.0, k), argnums=0, jit=jit)
