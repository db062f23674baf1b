"""The programs of `benchmarks.operators`: derivatives that are no plain gradients equal those by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stgrad
from benchmarks import operators
from stgrad import errors

RNG = np.random.default_rng(0)


def test_the_jacobian_of_a_hand():
    data = operators.hand_data(RNG, 5)
    by_hand = operators.hand_jacobian_by_hand.py_func(*data)
    np.testing.assert_allclose(stgrad.jacfwd(operators.hand_residuals, jit=False)(*data), by_hand, atol=1e-12)


@pytest.mark.parametrize("cost", [operators.cost_of_means, operators.cost_of_means_with_arrays])
def test_gradient_and_diagonal_of_k_means(cost):
    points, means = RNG.normal(size=(12, 3)), RNG.normal(size=(4, 3))
    slope, curvature = operators.means_by_hand.py_func(means, points)
    found = operators.gradient_and_diagonal(cost)(means, points)
    np.testing.assert_allclose(found[0], slope)
    np.testing.assert_allclose(found[1], curvature)
    np.testing.assert_allclose(found[1].ravel(), np.diag(stgrad.hessian(cost, jit=False)(means, points).reshape(12, 12)))


def test_the_determinant_by_minors():
    m = RNG.normal(size=(4, 4))
    value, m_bar = operators.determinant_by_hand(m, 1.0)
    found = stgrad.value_and_grad(operators.determinant, jit=False)(m)
    np.testing.assert_allclose(found[0], value)
    np.testing.assert_allclose(found[1], m_bar)


def test_descents_over_functions_that_take_gradients():
    land, slope_of = stgrad.jit(operators.landing), stgrad.grad(operators.landing)
    step = 1e-6
    slope = (land(np.array([step])) - land(np.array([-step]))) / (2.0 * step)
    assert math.isclose(slope_of(np.zeros(1))[0], slope, rel_tol=1e-6)
    w = stgrad.jit(operators.particle)(0.0)
    assert abs(w - 0.20719) < 1e-3 and land(np.array([w])) < land(np.zeros(1))
    np.testing.assert_allclose(stgrad.jit(operators.saddle)(np.ones(2)), np.zeros(4), atol=1e-3)


def test_tangents_of_what_has_no_derivative():
    power, picked = (lambda x, n: x**n), (lambda x, n: x[n])
    assert stgrad.jvp(power, (1.1, 3), (1.0, None)) == stgrad.jvp(power, (1.1, 3), (1.0, 0.0)) == stgrad.jvp(power, (1.1, 3), (1.0, 3))
    for f, primals, tangents in (
        (power, (1.1, 3), (1.0, 1.0)),
        (lambda x: x * x, (3,), (1.0,)),
        (picked, (np.ones(3), np.array([0, 1])), (np.ones(3), np.ones(2))),
        (lambda p: p["x"] * p["n"], ({"x": 1.0, "n": 2},), ({"x": 1.0, "n": 1.0},)),
    ):
        with pytest.raises(TypeError, match="which has no derivative: pass None"):
            stgrad.jvp(f, primals, tangents)


def test_an_argument_that_holds_itself():
    endless, deep = [1.0], 1.0
    endless.append(endless)
    for _ in range(3000):
        deep = [deep]
    for value in (endless, {"a": endless}, deep):
        with pytest.raises(errors.NotDifferentiableError, match="`x` holds itself, or more than 100"):
            stgrad.grad(lambda x: 1.0)(value)


@pytest.mark.parametrize("make", [stgrad.grad, stgrad.value_and_grad, stgrad.jit])
def test_a_result_that_is_none(make):
    def root(a, b, c):
        d = b * b - 4 * a * c
        if d < 0:
            return None
        return (-b + d**0.5) / (2 * a)

    assert np.isfinite(np.ravel(make(root)(1.0, 3.0, 1.0))).all()
    with pytest.raises(TypeError, match="`root` returned None, where a number or an array is needed"):
        make(root)(1.0, 1.0, 1.0)
