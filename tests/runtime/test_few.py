"""Systems of a few rows on numbers, against LAPACK."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from stgrad import runtime


@numba.njit(error_model="numpy")
def compiled(a, b):
    return runtime.solve_few(a, b)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("run", [compiled, runtime.solve_few])
def test_solutions_are_those_of_lapack(n, m, run):
    rng = np.random.default_rng(n + 10 * m)
    for _ in range(20):
        a, b = rng.standard_normal((n, n)), rng.standard_normal((n, m))
        a[rng.random((n, n)) < 0.2] = 0.0
        if abs(np.linalg.det(a)) < 1e-6:
            continue
        x = np.reshape(run(tuple(a.ravel()), tuple(b.ravel())), (n, m))
        np.testing.assert_allclose(a @ x, b, atol=1e-13 * np.abs(a).sum() * np.abs(x).max())


def test_rows_are_exchanged():
    np.testing.assert_allclose(compiled((0.0, 1.0, 1.0, 0.0), (3.0, 4.0)), (4.0, 3.0))
    np.testing.assert_allclose(compiled((1e-20, 1.0, 1.0, 1.0), (1.0, 2.0)), (1.0, 1.0))
    np.testing.assert_allclose(compiled((1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0), (3.0, 4.0, 4.0)), (1.0, 1.0, 1.0))


@pytest.mark.parametrize("run", [compiled, runtime.solve_few])
def test_no_inverse(run):
    for a, b in (((0.0,), (1.0,)), ((1.0, 2.0, 2.0, 4.0), (1.0, 1.0)), ((1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 1.0, 5.0), (1.0, 1.0, 1.0))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            run(a, b)


def test_nan_is_passed_on():
    assert np.isnan(compiled((np.nan, 1.0, 1.0, 2.0), (1.0, 1.0))).all()


@numba.njit(error_model="numpy")
def compiled_factor(a):
    return runtime.cholesky_few(a)


@numba.njit(error_model="numpy")
def compiled_factor_bar(low, low_bar):
    return runtime.cholesky_bar_few(low, low_bar)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_factors_are_those_of_lapack(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        root = rng.standard_normal((n, n))
        a, low_bar = root @ root.T + 0.1 * np.eye(n), rng.standard_normal((n, n))
        low = np.linalg.cholesky(a)
        np.testing.assert_allclose(np.reshape(compiled_factor(tuple((a + np.triu(root, 1)).ravel())), (n, n)), low, rtol=1e-12, atol=1e-14)
        wanted = runtime.cholesky_bar(low, low_bar)
        found = np.reshape(compiled_factor_bar(tuple(low.ravel()), tuple(low_bar.ravel())), (n, n))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10 * np.abs(wanted).max())
        np.testing.assert_allclose(found, np.reshape(runtime.cholesky_bar_few(tuple(low.ravel()), tuple(low_bar.ravel())), (n, n)))


@pytest.mark.parametrize("run", [compiled_factor, runtime.cholesky_few])
def test_no_factor(run):
    for a in ((-1.0,), (0.0,), (1.0, 2.0, 2.0, 4.0), (1.0, 2.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 2.0, 1.0)):
        with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
            run(a)
