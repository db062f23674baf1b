"""Arithmetic of truth values: Python's count as 1 and 0, of NumPy's the sum is "or"."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest

import stgrad
from stgrad.errors import UnsupportedSyntaxError

X = np.array([1.2, 0.7, 2.1, -0.4, 1.5])


def numpys(x):
    b, c = x[0] > 1.0, x[1] > 0.0
    return (b + c) * x[0] + (b * c + b) * x[1] + (b + np.True_) * x[2] + (True + b + 1) * x[4]


def numpys_of_masks(x):
    m = x > 0.0
    return (m[0] + m[1]) * x[0] + (m.any() + m.any()) * x[1] + (np.isnan(x[0]) + np.isfinite(x[1]) + np.isfinite(x[2])) * x[2]


def pythons(x):
    b, c = float(x[0]) > 1.0, bool(x[1] > 0.0)
    return (b + c) * x[0] + (~b) * x[1] + (-c) * x[2] + (b - c + b) * x[4]


def ufuncs(x):
    return np.add(x[0] > 0.0, x[1] > 0.0) * x[0] + np.multiply(x[0] > 0.0, float(x[1]) > 0.0) * x[2] + np.add(float(x[0]) > 0.0, True) * x[1]


def mixed_with_arrays(x):
    m, b = x > 0.0, x[0] > 1.0
    return np.sum((m + b) * x) + np.sum((m * b) * x * x) + np.sum(m + m) * x[1]


def in_a_loop(x):
    n, q = x[0] > 0.0, False
    for v in x:
        n += v > 0.0
        q = q + (v > 0.0)
    return n * x[0] + q * x[1]


def counted(x):
    n = 0
    for v in x:
        n += v > 0.0
    return n * x[0] + sum([x[0] > 0.0, x[1] > 0.0]) * x[1] + sum(v > 0.0 for v in x) * x[2] + functools.reduce(operator.add, [x[0] > 0.0, x[1] > 0.0]) * x[4]


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
@pytest.mark.parametrize("f", [numpys, numpys_of_masks, pythons, ufuncs, mixed_with_arrays, in_a_loop, counted], ids=lambda f: f.__name__)
def test_arithmetic_of_truth_values(f, jit):
    h, steps = 1e-6, np.eye(len(X))
    value, gradient = stgrad.value_and_grad(f, jit=jit)(X)
    assert value == pytest.approx(f(X))
    np.testing.assert_allclose(gradient, [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in steps], rtol=1e-6, atol=1e-8)
    d = np.linspace(0.3, 1.1, len(X))
    assert stgrad.jvp(f, (X,), (d,), jit=jit)[1] == pytest.approx(gradient @ d)
    product = (stgrad.grad(f, jit=jit)(X + h * d) - stgrad.grad(f, jit=jit)(X - h * d)) / (2 * h)
    np.testing.assert_allclose(stgrad.hvp(f, jit=jit)(X, d), product, atol=1e-6)


def test_a_truth_value_that_is_an_argument():
    def f(x, t):
        return (t + (x[0] > 0.0)) * x[0]

    def g(x, t):
        return (t + t) * x[0]

    assert stgrad.grad(f)(X, True)[0] == 1.0
    assert stgrad.grad(g)(X, True)[0] == 2.0
    assert stgrad.grad(g)(X, np.True_)[0] == 1.0


def test_truth_values_of_either_kind_are_refused():
    def f(x):
        p = True
        if x[0] > 0.0:
            p = x[1] > 0.0
        return (p + p) * x[1]

    def g(x):
        p = True
        if x[0] > 0.0:
            p = x[1] > 0.0
        return (p + 1 + p) * x[1]  # the same number for either

    with pytest.raises(UnsupportedSyntaxError, match="of Python or of NumPy"):
        stgrad.grad(f, jit=True)(X)
    assert stgrad.grad(g)(X)[1] == 3.0


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
def test_the_sum_of_one_array_is_an_array_of_its_own(jit):
    def f(x):
        a = x.copy()
        s = sum([a])
        s[0] = 9.0
        return np.sum(a) * np.sum(s)

    s = X[1:].sum()
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(X), [9.0 + s, *[9.0 + s + X.sum()] * 4])
