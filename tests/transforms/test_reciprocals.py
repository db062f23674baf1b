"""Quotients of the derivative by one number."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def shares(x, n):
    s = 0.0
    for i in range(n):
        r = np.sqrt(x[0] ** 2 + i)
        s += x[1] / r + (x[0] - x[1]) / r * (x[2] / (1.0 + r))
    return s


def moving(x, n):
    """The divisor changes between two quotients, and in a branch."""
    d, s = x[0], 0.0
    for i in range(n):
        a = x[1] / d
        d = d + 0.3 * a
        b = (a + x[2]) / d
        if b > 0.9:
            d = d * 1.1
            b = b / d
        s += a * b / d
    return s


def swapped(x, n):
    a, b = x[0], x[1]
    for _ in range(n):
        a, b = b / (1.0 + a), a / (1.0 + a) + x[2]
    return a * b


PROGRAMS = [shares, moving, swapped]
POINT = np.array([1.3, 0.8, 0.4])


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_derivatives(program, jit):
    check_gradient(lambda x: program(x, 4), (POINT,), jit=jit)


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_those_without_the_pass(program):
    found, plain = (stgrad.value_and_grad(program, mode="reverse", **more)(POINT, 6) for more in ({}, {"without": "reciprocals"}))
    assert found[0] == plain[0]  # what the user's lines compute is the same to the last digit
    np.testing.assert_allclose(found[1], plain[1], rtol=1e-13)


@pytest.mark.parametrize("program", PROGRAMS)
def test_there_are_fewer_divisions(program):
    counts = [stgrad.grad(program, mode="reverse", **more).lowered(POINT, 6).count(" / ") for more in ({}, {"without": "reciprocals"})]
    assert counts[0] < counts[1]
