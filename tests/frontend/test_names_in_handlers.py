"""Names that the body of a `try` binds first in a loop, in the handler that a `raise` in that loop leads to."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


class Converged(Exception):
    pass


def newton(a, n):
    x = 1.0
    try:
        for _ in range(n):
            new = 0.5 * (x + a / x)
            if abs(new - x) < 1e-10:
                raise Converged
            x = new
    except Converged:
        x = new * 1.0
    return x**2


def two_names(a, n):
    try:
        for i in range(n):
            y = a * i
            if y > 2.15:
                raise Converged
            z = y * y
    except Converged:
        return y * z
    return a


def while_loop(a, n):
    try:
        i = 0
        while True:
            y = a * i
            if y > 2.15:
                raise StopIteration
            math.log(4.0 - a * i * n)
            i += 1
    except (StopIteration, ValueError):
        return y * i * a


def unbound(a, n):
    try:
        for _ in range(n):
            if a > 0:
                raise Converged
            y = a
    except Converged:
        return y * a
    return y


def at_once(a, n):
    """The first trip may be the one that leaves."""
    try:
        for i in range(n):
            y = a * (i + 2)
            if y > 3.1:
                raise Converged
    except Converged:
        pass
    return y * y


def suppressed(a, n):
    with suppress(Converged, ValueError):
        for i in range(n):
            y = a * (i + 2)
            if y > 3.1:
                raise Converged
            z = math.sqrt(2.1 - y) * y
    return y * (z if i > 0 else a)


@pytest.mark.parametrize("f", [newton, two_names, while_loop, at_once])
@pytest.mark.parametrize(("a", "n"), [(2.0, 50), (0.7, 9), (0.3, 2)])
@pytest.mark.parametrize("jit", [False, True])
def test_derivatives(f, a, n, jit):
    check_gradient(lambda x: f(x, n), (a,), jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_what_was_not_bound(jit):
    with pytest.raises(UnboundLocalError):
        stgrad.grad(unbound, jit=jit)(1.0, 3)


@pytest.mark.parametrize("jit", [False, True])
def test_suppressed(jit):
    check_gradient(lambda x: suppressed(x, 9), (0.4,), jit=jit)


def test_none_is_a_value():
    """A name that holds None before the `try` is bound: it does not start as a number."""

    def f(x):
        t = None
        try:
            if x[1] > 0.0:
                if x[0] > 3.0:
                    raise ValueError("big")
                t = 2.0
            else:
                t = 3.0
        except ValueError:
            if t is None:
                return 7.0 * x[0]
        return t * x[2]

    for x, slope in ((np.array([4.0, 1.0, 2.0]), [7.0, 0.0, 0.0]), (np.array([1.0, 1.0, 2.0]), [0.0, 0.0, 2.0]), (np.array([1.0, -1.0, 2.0]), [0.0, 0.0, 3.0])):
        with suppress(stgrad.errors.StgradError):  # refused by name where a number may be None
            np.testing.assert_array_equal(stgrad.grad(f)(x), slope)
