"""What the compiled API gives where a derivative is a convention: ties, borders, zeros, branches that are not taken."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def gradient(f, *args):
    """The gradient of sum(f), the same from plain Python and from Numba."""
    plain = stgrad.grad(f, jit=False)(*args)
    np.testing.assert_allclose(stgrad.grad(f)(*args), plain)
    return plain


def test_ties_of_a_maximum_are_shared():
    def greatest(x):
        return np.max(x)

    def least(x):
        return np.sum(x.min(axis=1))

    np.testing.assert_allclose(gradient(greatest, np.array([1.0, 3.0, 3.0, 0.0])), [0.0, 0.5, 0.5, 0.0])
    np.testing.assert_allclose(gradient(least, np.ones((2, 4))), np.full((2, 4), 0.25))


def test_maximum_of_equal_values_is_half_and_half():
    def f(a, b):
        return np.sum(np.maximum(a, b) + 3.0 * np.minimum(a, b))

    a = np.array([1.0, 2.0])
    for argnum in (0, 1):
        np.testing.assert_allclose(stgrad.grad(f, argnums=argnum)(a, a.copy()), [2.0, 2.0])

    def g(a):
        return np.sum(np.maximum(a, a))

    np.testing.assert_allclose(gradient(g, a), [1.0, 1.0])


@pytest.mark.parametrize("jit", [False, True])
def test_absolute_value_and_relu_at_zero(jit):
    def absolute(x):
        return np.sum(np.abs(x))

    def scalar(x):
        return abs(x)

    def chosen(x):
        return np.sum(np.where(x > 0, x, 0.0))

    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(stgrad.grad(absolute, jit=jit)(x), [-1.0, 0.0, 1.0])
    assert stgrad.grad(scalar, jit=jit)(0.0) == 0.0
    np.testing.assert_allclose(stgrad.grad(chosen, jit=jit)(x), [0.0, 0.0, 1.0])


def test_clip_passes_on_its_borders():
    def f(x):
        return np.sum(np.clip(x, -1.0, 1.0))

    np.testing.assert_allclose(gradient(f, np.array([-2.0, -1.0, 0.0, 1.0, 2.0])), [0.0, 1.0, 1.0, 1.0, 0.0])


def test_norm_at_zero():
    def f(x):
        return np.linalg.norm(x)

    def rows(x):
        return np.sum(np.linalg.norm(x, axis=1))

    np.testing.assert_allclose(gradient(f, np.zeros(3)), np.zeros(3))
    np.testing.assert_allclose(gradient(rows, np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]])


def test_products_with_zeros_are_exact():
    def product(x):
        return np.prod(x)

    def running(x):
        return np.sum(np.cumprod(x))

    np.testing.assert_allclose(gradient(product, np.array([2.0, 0.0, 3.0])), [0.0, 6.0, 0.0])
    np.testing.assert_allclose(gradient(product, np.array([0.0, 0.0, 3.0])), [0.0, 0.0, 0.0])
    np.testing.assert_allclose(gradient(running, np.array([2.0, 0.0, 3.0])), [1.0, 8.0, 0.0])


def test_a_branch_that_is_not_taken_adds_nothing():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    np.testing.assert_allclose(gradient(f, np.array([0.0, 4.0])), [0.0, 0.25])


def test_complex_gradient_is_steepest_ascent():
    def f(z):
        return np.sum(np.abs(z) ** 2)

    def parts(z):
        return np.sum(z.real**2 + z.imag**2)

    for loss in (f, parts):
        np.testing.assert_allclose(gradient(loss, np.array([1 + 2j, 0.5 - 1j])), [2 + 4j, 1 - 2j])


def test_sorted_ties_and_powers():
    def power(x):
        return np.sum(x**0.0)

    def square(x):
        return np.sum(x**2)

    np.testing.assert_allclose(gradient(power, np.array([0.0, 2.0])), [0.0, 0.0])
    np.testing.assert_allclose(gradient(square, np.array([0.0, -2.0])), [0.0, -4.0])
