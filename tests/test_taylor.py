"""Taylor mode: derivatives of high order against nested derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors, jet

LINE = [1.0, 0.0, 0.0, 0.0]
X, V = np.array([0.5, 0.8, 1.3]), np.array([1.0, -0.5, 0.3])

FUNCTIONS = [
    lambda x: x * math.sin(x) / (1.0 + x), lambda x: math.exp(-x * x), lambda x: math.log(1.0 + x * x), lambda x: math.sqrt(1.0 + math.cos(x)),
    lambda x: math.tan(x) * math.tanh(x), lambda x: math.sinh(x) - math.cosh(2.0 * x), lambda x: math.atan(x) / x, lambda x: x**3 + x**-1.5 + 2.0**x + x**x,
    lambda x: abs(x - 2.0) * max(x, 0.1), lambda x: np.square(x) ** 2, lambda x: 3.0,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rules(function):
    expected, derivative = [], function
    for _ in LINE:
        derivative = stgrad.grad(derivative, mode="forward", jit=False)
        expected.append(derivative(0.7))
    value, found = jet(function, (0.7,), (LINE,), jit=False)
    assert np.isclose(value, function(0.7))
    assert np.allclose(found, expected, rtol=1e-9)


def loop(x):
    y, z = x, 1.0
    for _ in range(5):
        y = math.sin(y) + 0.1 * z
        z = z / (1.0 + y * y) if y > 0.2 else z * y
    return y * z


def stores(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = np.exp(x[i]) * x[0]
        y[0] += y[i] * x[i]
    m = np.outer(x, np.ones(3)) @ np.reshape(np.outer(np.ones(3), y), (3, 3))
    return np.sum(m @ x) + np.sum(y[1:] * y[:2]) + np.max(y)


def along(x, v):
    return lambda t: stores(x + t * v)


@pytest.mark.parametrize("jit", [False, True])
def test_loops_and_branches(jit):
    expected, derivative = [], loop
    for _ in range(3):
        derivative = stgrad.grad(derivative, mode="forward", jit=False)
        expected.append(derivative(0.7))
    assert np.allclose(jet(loop, (0.7,), (LINE[:3],), jit=jit)[1], expected)


@pytest.mark.parametrize("jit", [False, True])
def test_arrays_that_are_written_to(jit):
    expected, derivative = [], along(X, V)
    for _ in range(3):
        derivative = stgrad.grad(derivative, jit=False)
        expected.append(derivative(0.0))
    zero = np.zeros(3)
    assert np.allclose(jet(stores, (X,), ([V, zero, zero],), jit=jit)[1], expected)


def test_a_curve():
    """The chain rule of Faa di Bruno: the second derivative along a curve that bends."""
    value, (first, second) = jet(lambda x, y: x * math.sin(y), (0.7, 0.3), ([1.0, 2.0], [0.5, -1.0]), jit=False)
    assert np.isclose(first, math.sin(0.3) + 0.5 * 0.7 * math.cos(0.3))
    assert np.isclose(second, 2.0 * math.sin(0.3) + 2.0 * 0.5 * math.cos(0.3) - 0.7 * 0.25 * math.sin(0.3) - 0.7 * math.cos(0.3))


def test_structures_and_powers_at_zero():
    value, found = jet(lambda x: {"cube": x**3, "two": (x * 2.0, x**0)}, (0.0,), ([1.0, 0.0, 0.0],), jit=False)
    assert [f["cube"] for f in found] == [0.0, 0.0, 6.0] and [f["two"][0] for f in found] == [2.0, 0.0, 0.0]


def test_refused():
    with pytest.raises(errors.NotDifferentiableError, match="no rule for power series"):
        jet(math.erf, (0.5,), ([1.0],), jit=True)
    with pytest.raises(errors.ShapeError, match="a series for each argument"):
        jet(math.sin, (0.5,), ([],))
    with pytest.raises(errors.ShapeError, match="of shape"):
        jet(np.sum, (X,), ([np.ones(2)],))
    with pytest.raises(errors.NotDifferentiableError, match="floats"):
        jet(lambda x, n: x**n, (0.5, 2), ([1.0], [0.0]))


def third(x):
    return stgrad.jet(np.sin, (x,), ((1.0, 0.0, 0.0),))[1][2]


def along_a_line(v):
    y, (first, second) = stgrad.jet(lambda u: np.sum(u**3), (v,), ((np.ones(3), np.zeros(3)),))
    return y + first * second


def each_in_a_loop(v):
    s = 0.0
    for k in range(v.shape[0]):
        s = s + stgrad.jet(lambda t: np.exp(-v[k] * t * t), (0.3,), ([1.0, 0.0],))[1][1]
    return s


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize(("f", "x"), [(third, 0.3), (along_a_line, X), (each_in_a_loop, X)])
def test_inside_programs(f, x, jit):
    np.testing.assert_allclose(stgrad.jit(f)(x), f(x))
    check_gradient(f, (x,), jit=jit)


def test_series_inside_programs_that_do_not_fit():
    with pytest.raises(errors.ShapeError, match="a series for each argument"):
        stgrad.grad(lambda x: stgrad.jet(np.sin, (x,), ((1.0,), (1.0,)))[0], jit=False)(0.3)
