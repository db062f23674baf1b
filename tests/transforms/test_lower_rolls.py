"""`np.roll` along axes: parts of the array in the other order, without a call of Python."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad.testing.gradients import check_gradient
from stgrad.testing.passes import run_pass


def stencil(x, k):
    """A periodic neighbour, a shift that only the running program knows, and two axes at once."""
    y = np.roll(x, 1, axis=0) + np.roll(x, -1, axis=1) * x
    z = np.roll(y, k, axis=1)
    return np.sum(z * x) + np.sum(np.roll(z, (k, -2), axis=(0, -1)) * y) + np.sum(np.roll(x[0], k) * z[1])


@pytest.mark.parametrize("k", [0, 1, -3, 5, 12, -25])
def test_values_and_gradients(k):
    x = np.random.default_rng(6).uniform(0.5, 1.5, (4, 5))
    gradient = stgrad.value_and_grad(stencil)
    value, bar = gradient(x, k)
    assert value == pytest.approx(stencil(x, k), rel=1e-13)
    np.testing.assert_allclose(stgrad.grad(stencil, jit=False)(x, k), bar, rtol=1e-12)
    assert "call_python" not in gradient.lowered(x, k)
    if k == -3:
        check_gradient(stencil, (x, k), argnums=0)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 4)])
def test_axes_of_no_item_and_of_one(shape):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    roll = stgrad.jit(lambda x, k: np.roll(x, (k, 1), (0, 1)))
    np.testing.assert_array_equal(roll(x, 2), np.roll(x, (2, 1), (0, 1)))


def test_a_part_that_begins_where_only_running_tells():
    def summed(y, n):
        return np.sum(np.roll(y[n:1], 0) ** 2)

    gradient = stgrad.value_and_grad(summed)
    for y, n in (([-0.3], 0), ([-0.3, 1.0], 0), ([-0.3, 1.0], 1)):
        value, bar = gradient(np.array(y), n)
        assert value == summed(np.array(y), n)
        np.testing.assert_array_equal(bar, stgrad.grad(summed, jit=False)(np.array(y), n))


def test_a_roll_is_two_loops():
    after = run_pass("loops", """
def f(x: float64['n'], k: int('k')):
    y: float64['n'] = np.roll(x, k)
    return y
""")
    assert "np.roll" not in after and after.count("for ") == 2


def test_a_transposition_of_nothing_is_the_array():
    text = stgrad.grad(lambda x: np.sum(np.transpose(x, (0, 1)) ** 2)).source(np.ones((2, 3)))
    assert "x_bar = 2 * x" in text
