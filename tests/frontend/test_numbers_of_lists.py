"""Numbers of lists that Python's own functions make of arrays are Python's: they divide by zero as Python's do, not as NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stgrad
from tests.thorough import check_gradient


def summed(x, n):
    return sum(x.tolist()) / n


def each(x, n):
    total = 0.0
    for v in x.tolist():
        total += v * v / n
    return total


def changed(x, n):
    values = x.tolist()
    values.append(2.5)
    values.sort()
    return values[-1] * values[0] / n


def extreme(x, n):
    return max(x.tolist()) ** 2 / n


def exact(x, n):
    return math.fsum(x) ** 2 / n


def collected(x, n):
    return [float(v) ** 2 for v in x][1] / n


def of_rows(x, n):
    return x.reshape(2, 2).tolist()[0][1] ** 2 / n


def rounded(x, n):
    return x[0] * round(float(x[0]), 1) + 1.0 / (n * round(float(x[1]), 1))


PYTHONS = [summed, each, changed, extreme, exact, collected, of_rows, rounded]


@pytest.mark.parametrize("f", PYTHONS)
@pytest.mark.parametrize("jit", [False, True])
def test_numbers_of_python_divide_as_python_does(f, jit):
    x = np.array([1.52, 2.0, -0.71, 0.3])
    if f is not rounded:
        check_gradient(f, (x, 3.0), jit=jit)
    with pytest.raises(ZeroDivisionError):
        f(x, 0.0)
    with pytest.raises(ZeroDivisionError):
        stgrad.grad(f, jit=jit)(x, 0.0)


def of_numpy(x, n):
    return sum(list(x)) / n


def partly(x, n):
    """One item is NumPy's, so nothing is known of any of them."""
    values = []
    for i in range(len(x)):
        values.append(1.0 if i % 2 else x[i])
    return values[0] / n


@pytest.mark.parametrize("f", [of_numpy, partly])
@pytest.mark.parametrize("jit", [False, True])
def test_numbers_of_numpy_divide_as_numpy_does(f, jit):
    x = np.array([1.52, 2.0, -0.71, 0.3])
    check_gradient(f, (x, 3.0), jit=jit)
    with np.errstate(divide="ignore"):
        assert stgrad.value_and_grad(f, jit=jit)(x, 0.0)[0] == f(x, 0.0) == math.inf
