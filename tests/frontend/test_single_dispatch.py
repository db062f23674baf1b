"""Generic functions of `functools.singledispatch`: the class of the first argument decides when the program is read."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import stgrad


@functools.singledispatch
def scaled(x, by):
    raise TypeError("nothing to scale")


@scaled.register
def _(x: float, by):
    return x * by


@scaled.register(np.ndarray)
def _(x, by):
    return np.sum(x) * by * by


@scaled.register(list)
@scaled.register(tuple)
def _(x, by):
    return sum(scaled(item, by) for item in x)


class Shape:
    def __init__(self, size):
        self.size = size

    @functools.singledispatchmethod
    def grown(self, x):
        return self.size * x**3

    @grown.register(list)
    def _(self, x):
        return self.size + x[0]


def both(x, by):
    shape = Shape(by)
    return scaled([x[0], x[1:]], by) + scaled(x, by) + shape.grown(x[0]) * shape.grown([x[1]])


@pytest.mark.parametrize("jit", [False, True])
def test_gradient(jit):
    x, by, h = np.array([0.3, 0.5, 0.7]), 1.3, 1e-6
    found = stgrad.grad(both, (0, 1), jit=jit)(x, by)
    assert found[0] == pytest.approx([(both(x + h * e, by) - both(x - h * e, by)) / (2 * h) for e in np.eye(3)])
    assert found[1] == pytest.approx((both(x, by + h) - both(x, by - h)) / (2 * h))


def test_a_function_that_is_registered_later():
    @functools.singledispatch
    def cost(x):
        return x * 2.0

    def f(x):
        return cost(x)

    slope = stgrad.grad(f, jit=True)
    assert slope(1.5) == 2.0
    cost.register(float, lambda x: x * x)
    assert slope(1.5) == 3.0


def test_what_is_raised():
    with pytest.raises(TypeError, match="nothing to scale"):
        stgrad.grad(lambda x: scaled({"a": x}, 2.0), jit=True)(1.0)


@pytest.mark.parametrize("jit", [False, True])
def test_a_method_of_an_object_from_outside(jit):
    shape = Shape(1.5)

    def f(x):
        return shape.grown(x) * shape.grown([x, 2.0])

    h = 1e-6
    assert stgrad.grad(f, jit=jit)(0.7) == pytest.approx((f(0.7 + h) - f(0.7 - h)) / (2 * h))
