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
