"""`is True` and `is False`: whose truth value it is, Python's or NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad.errors import UnsupportedSyntaxError

PYTHONS = [
    lambda y: bool(np.sum(y > 0.5) > 1),
    lambda y: not y[0] > 0.5,
    lambda y: not np.any(y > 0.5),
    lambda y: y[0] in (0.3, 0.7),
    lambda y: 0.7 in y,
    lambda y: y[0] not in (0.3, 0.7),
    lambda y: any(v > 0.5 for v in y),
    lambda y: all([y[0] > 0.5, float(y[1]) > 0.2]),
    lambda y: (y[0] > 0.5).item(),
    lambda y: float(y[0]) > 0.5,
    lambda y: bool(y[0] > 0.5) or float(y[1]) > 0.8,
]
NUMPYS = [
    lambda y: y[0] > 0.5,
    lambda y: np.any(y > 0.5),
    lambda y: np.any(y > 0.5) or y[1] > 0.8,
    lambda y: ~(y[0] > 0.5),
]


def filled(y):
    found = []
    for v in y:
        found.append(v > 0.5)
    return found[len(y) - 1]


def either(y):
    q = True
    if y[0] > 0.5:
        q = np.any(y > 0.8)
    return q


def carried(y):
    q = True
    for v in y:
        q = q if q is False else v > 0.5
    return q


def program(test, constant):
    def f(y):
        return np.sum(y * y) if test(y) is constant else np.sum(y)

    return f


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
@pytest.mark.parametrize("test", PYTHONS + NUMPYS)
def test_a_truth_value_is_of_python_or_of_numpy(test, jit):
    for constant in (True, False, np.True_):
        for y in (np.array([0.3, 0.6, 0.4]), np.array([0.7, 0.9, 0.2])):
            f = program(test, constant)
            value, gradient = stgrad.value_and_grad(f, jit=jit)(y)
            assert value == pytest.approx(f(y))
            assert np.allclose(gradient, 2.0 * y if test(y) is constant else 1.0)


@pytest.mark.parametrize("test", [filled, either, carried])
def test_what_may_be_of_either_is_refused(test):
    with pytest.raises(UnsupportedSyntaxError, match="truth value of Python or of NumPy"):
        stgrad.grad(program(test, True), jit=True)(np.array([0.3, 0.6, 0.4]))


def test_a_branch_behind_is_false_runs():
    def area(y):
        if bool(np.sum(y > 0.5) > 1) is False:
            y = y * y
        return np.sum(y)

    for y in (np.array([0.3, 0.6, 0.4]), np.array([0.7, 0.9, 0.2])):
        assert stgrad.value_and_grad(area)(y)[0] == pytest.approx(area(y))
