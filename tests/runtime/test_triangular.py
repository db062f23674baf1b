"""`scipy.linalg.solve_triangular` under Numba, against SciPy."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
import scipy.linalg

from stgrad.runtime import triangular  # noqa: F401  (lets Numba compile it)


@numba.njit
def solved(a, b, trans, lower, unit):
    return scipy.linalg.solve_triangular(a, b, trans, lower, unit, check_finite=False)


@numba.njit
def checked(a, b):
    return scipy.linalg.solve_triangular(a, b)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-11), (np.float32, 1e-4)])
@pytest.mark.parametrize("n", [1, 3, 8, 9, 40])
def test_solves_as_scipy(n, dtype, tolerance):
    rng = np.random.default_rng(n)
    a = (rng.normal(size=(n, n)) / n + 3.0 * np.eye(n)).astype(dtype)
    spaced = np.zeros((2 * n, 3 * n), dtype)
    spaced[::2, ::3] = a
    for b in (rng.normal(size=n).astype(dtype), rng.normal(size=(n, 7)).astype(dtype), rng.normal(size=(7, n)).astype(dtype).T):
        for matrix in (a, np.asfortranarray(a), spaced[::2, ::3]):
            for trans, lower, unit in itertools.product((0, 1), (False, True), (False, True)):
                found = solved(matrix, b, trans, lower, unit)
                assert found.dtype == dtype and not np.shares_memory(found, b)
                np.testing.assert_allclose(found, scipy.linalg.solve_triangular(matrix, b, trans, lower, unit), rtol=tolerance, atol=tolerance)


def test_raises_where_scipy_does():
    for n in (3, 12):
        with pytest.raises(np.linalg.LinAlgError):
            solved(np.zeros((n, n)), np.ones(n), 0, True, False)
        with pytest.raises(ValueError):
            solved(np.eye(n), np.ones(n + 1), 0, True, False)
        with pytest.raises(ValueError, match="infs or NaNs"):
            checked(np.eye(n), np.full(n, np.nan))
    assert solved(np.zeros((0, 0)), np.zeros(0), 0, True, False).shape == (0,)
