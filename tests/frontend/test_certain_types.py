"""What Python is certain to raise for the type of a value: where a handler waits for it, or no run comes to it."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.testing import check_gradient


class Registry(dict):
    """A container with an attribute and a way of its own."""

    def __init__(self):
        super().__init__(square=lambda x: x * x, cube=lambda x: x**3)
        self._active = "cube"

    def __getitem__(self, key):
        try:
            return super().__getitem__(key)
        except KeyError:
            return self._fallback

    def _fallback(self, x):
        return 5.0 * x

    @property
    def active(self):
        return self[self._active]


REGISTRY = Registry()


def as_number_or_sequence(value):
    try:
        return [float(value)]
    except TypeError:
        return list(value)


def of_either(x, v):
    return sum(as_number_or_sequence(x)) * sum(as_number_or_sequence(v))


def of_none(x, v):
    """The first trip has nothing before it, and does not look at it."""
    before = None
    total = 0.0
    for k in range(4):
        if x > 100.0 and k > 0:
            total += before + x
        elif k > 0:
            total += before * x
        before = x**k
    return total + v[0]


def of_a_registry(x, v):
    return REGISTRY.active(x) + REGISTRY["square"](v[1]) + REGISTRY["none"](v[0])


@pytest.mark.parametrize("f", [of_either, of_none, of_a_registry])
def test_derivatives(f, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    check_gradient(f, (1.3, np.array([0.4, 2.0, 0.7])), order=2)


def test_what_the_run_comes_to_raises():
    def f(x):
        y = None
        return y + x if x > 1.0 else x * x

    gradient = stgrad.grad(f, jit=True)
    assert gradient(0.5) == 1.0
    with pytest.raises(TypeError, match="unsupported operand"):
        gradient(1.5)


def test_an_extent_that_may_be_one_tells_nothing():
    def f(x):
        try:
            return float(x[x > 1.0])
        except TypeError:
            return x[0]

    with pytest.raises(errors.TypeInferenceError, match="of an array with axes"):
        stgrad.grad(f, jit=True)(np.array([0.5, 1.5, 2.5]))
