"""The cotangent of a matrix by blocks is that of the closed formula, for every layout and for extents around those of a block."""

import numba
import numpy as np
import pytest
import scipy.linalg

import stgrad
from stgrad.rules.decompositions import cholesky_bar as formula
from stgrad.runtime import cholesky_bar
from stgrad.runtime.factors import BLOCK

LAYOUTS = {"rows": np.ascontiguousarray, "columns": np.asfortranarray, "neither": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2]}


@numba.njit
def compiled(low, low_bar):
    return cholesky_bar(low, low_bar)


def factor(rng, n, dtype="float64"):
    a = rng.normal(size=(n, n))
    return np.linalg.cholesky(a @ a.T + n * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_blocks_give_what_the_formula_gives(n, layout):
    rng = np.random.default_rng(n)
    low, low_bar = factor(rng, n), rng.normal(size=(n, n))
    expected = formula(low, low_bar)
    np.testing.assert_allclose(compiled(LAYOUTS[layout](low), LAYOUTS[layout](low_bar)), expected, atol=1e-12)
    np.testing.assert_allclose(cholesky_bar(low, low_bar), expected, atol=1e-12)


def test_what_is_above_the_diagonal_is_not_read():
    rng = np.random.default_rng(0)
    low, low_bar = factor(rng, BLOCK + 3), rng.normal(size=(BLOCK + 3, BLOCK + 3))
    above = np.triu(np.full_like(low, np.nan), 1)
    for function in (compiled, cholesky_bar):
        np.testing.assert_allclose(function(low + above, low_bar + above), function(low, low_bar), rtol=1e-13)


def test_single_precision_stays():
    rng = np.random.default_rng(1)
    low, low_bar = factor(rng, 50, "float32"), rng.normal(size=(50, 50)).astype("float32")
    found = compiled(low, low_bar)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, formula(low, low_bar), rtol=1e-3, atol=1e-5)


def test_extents_that_differ_are_refused():
    with pytest.raises(ValueError, match="do not match"):
        compiled(np.eye(3), np.eye(4))


def marginal(a, y):
    """Minus a Gaussian process's log likelihood, up to constants."""
    low = np.linalg.cholesky(a)
    z = np.linalg.solve(low, y)
    return 0.5 * np.sum(z * z) + np.sum(np.log(np.diag(low)))


def factors_of_both_kinds(a, y):
    up, low = scipy.linalg.cholesky(a), scipy.linalg.cholesky(a, lower=True)
    return np.sum(up**3) + np.sum((low @ y) ** 2)


@pytest.mark.parametrize("function", [marginal, factors_of_both_kinds])
def test_gradients_of_matrices_larger_than_a_block(function):
    rng = np.random.default_rng(2)
    n = BLOCK + 8
    a, y = rng.normal(size=(n, n)), rng.normal(size=n)
    a = a @ a.T / n + np.eye(n)
    direction = rng.normal(size=(n, n))
    direction, h = direction + direction.T, 1e-6
    slope = (function(a + h * direction, y) - function(a - h * direction, y)) / (2 * h)
    for jit in (True, False):
        np.testing.assert_allclose(np.sum(stgrad.grad(function, jit=jit)(a, y) * direction), slope, rtol=1e-6)
    forward = stgrad.jvp(stgrad.grad(function), (a, y), (direction, np.zeros(n)))[1]
    reverse = stgrad.grad(lambda a: np.sum(stgrad.grad(function)(a, y) * direction))(a)
    np.testing.assert_allclose(forward, reverse, rtol=1e-7, atol=1e-9)
    gradient = stgrad.grad(function)
    np.testing.assert_allclose(forward, (gradient(a + h * direction, y) - gradient(a - h * direction, y)) / (2 * h), rtol=1e-4, atol=1e-6)
