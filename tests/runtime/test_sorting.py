"""Vectors in order, short and long, from compiled code."""

import numpy as np
import pytest
from numba import njit

import stgrad
from stgrad import runtime
from stgrad.runtime.sorting import FEW


@njit
def both(x):
    return runtime.sort(x), runtime.argsort(x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("n", [0, 1, 7, FEW - 1, FEW, 3000])
def test_as_numpy(n, dtype):
    x = np.random.default_rng(n).normal(size=n) * 1e6
    x = x.astype(dtype)[::-1]
    values, order = both(x)
    np.testing.assert_array_equal(values, np.sort(x))
    np.testing.assert_array_equal(x[order], np.sort(x))
    assert values.dtype == dtype and order.dtype == "int64"


def test_not_a_number_comes_last():
    for n in (5, 1000):
        x = np.arange(n, 0.0, -1.0)
        x[n // 2] = np.nan
        values, order = both(x)
        np.testing.assert_array_equal(values, np.sort(x))
        assert order[-1] == n // 2


def weighted(x, w):
    """Order statistics with weights, by value and by order."""
    order = np.argsort(x, axis=0)
    return np.sum(np.sort(np.sin(x), axis=-1) * w) + np.sum(np.cumsum(w[order]) * x[order])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("n", [6, FEW + 50])
def test_gradients(n, jit):
    rng = np.random.default_rng(1)
    x, w, v = rng.permutation(n) / n * 1.4, rng.normal(size=n), rng.normal(size=n)
    found = stgrad.grad(weighted, jit=jit)(x, w)
    slope = (weighted(x + 1e-6 * v, w) - weighted(x - 1e-6 * v, w)) / 2e-6
    np.testing.assert_allclose(found @ v, slope, rtol=1e-6)
    np.testing.assert_allclose(stgrad.jvp(weighted, (x, w), (v, None), jit=jit)[1], slope, rtol=1e-6)
    np.testing.assert_allclose(stgrad.grad(weighted, "w", jit=jit)(x, w) @ v, weighted(x, v), rtol=1e-9)
    assert "call_python" not in stgrad.grad(weighted).lowered(x, w)


@njit
def among(x, few):
    return runtime.isin(x, few)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("m", [0, 1, 9, FEW + 80])
def test_isin_as_numpy(m, dtype):
    rng = np.random.default_rng(m)
    x, few = rng.integers(-50, 50, 40).astype(dtype)[::-1], rng.integers(-50, 50, m).astype(dtype)
    if dtype != "int64":
        x[[0, 5]] = np.nan, -0.0
        few[::3] = np.nan
        few[1:2] = 0.0
    found = among(x, few)
    np.testing.assert_array_equal(found, np.isin(x, few))
    assert found.dtype == bool


def squares(x, kinds, few):
    return np.sum(np.where(np.isin(kinds, few), x * x, x))


def test_programs_search_in_the_shared_function():
    gradient = stgrad.grad(squares)
    x, kinds, few = np.arange(1.0, 7.0), np.arange(6), np.array([5, 1, 3])
    np.testing.assert_allclose(gradient(x, kinds, few), np.where(np.isin(kinds, few), 2.0 * x, 1.0))
    assert "runtime.isin(" in gradient.lowered(x, kinds, few)
    mixed = np.array([1.0, 2.5])  # NumPy compares with both as floats: Numba's own
    np.testing.assert_allclose(stgrad.grad(squares, jit=False)(x, kinds, mixed), np.where(np.isin(kinds, mixed), 2.0 * x, 1.0))
