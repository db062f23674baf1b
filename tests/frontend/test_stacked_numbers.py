"""`np.stack` of numbers is an array of them, made where it stands: no call of Python in a loop."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import testing

X = np.array([0.4, 1.3, 0.7, 2.0, 1.1])


def stacked(x):
    total = 0.0
    for i in range(x.size - 1):
        pair = np.stack((x[i], x[i + 1] * x[i], 2), axis=-1)
        pair[0] += x[i + 1]
        total += np.sum(pair**3) + np.sum(np.stack([pair[0], x[i]]) * pair[:2])
    return total


def turned(x):
    total = 0.0
    for i in range(x.size - 2):
        total += np.sum(np.cross(x[i : i + 3], x[:3]) ** 2)
    return total


def flags(x):
    return np.sum(np.stack((x[0] > 0.5, x[1] > 0.5)) * x[:2] * x[0])


def mixed(x):
    """Arrays without axes are no numbers, and other options stay with NumPy."""
    return np.sum(np.stack((np.sum(x, keepdims=True), x[:1]), 1) ** 2) + np.sum(np.stack((x[0], x[1]), axis=0, dtype=np.float64) * x[2])


@pytest.mark.parametrize("function", [stacked, turned, flags, mixed])
def test_gradient(function):
    check_gradient(function, (X,))


def test_compiled():
    testing.check_gradient(lambda x: stacked(x) + turned(x), (X,), jit=True)


@pytest.mark.parametrize("function", [stacked, turned])
def test_nothing_is_called_in_python(function):
    assert "call_python" not in stgrad.value_and_grad(function).lowered(X)


def test_kinds_are_those_of_numpy():
    def kinds(x, k):
        return np.stack((k, k + 1)), np.stack((x, k)), np.stack((np.float32(x), np.float32(1.5))), np.stack((x > 0, k > 3))

    for found, expected in zip(stgrad.jit(kinds)(1.5, 3), kinds(1.5, 3), strict=True):
        assert found.dtype == expected.dtype and np.array_equal(found, expected)
