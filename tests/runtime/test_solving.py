"""Small systems without LAPACK: the results of NumPy to the last digits, and its errors, compiled and in plain Python."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import runtime
from stgrad.runtime.solving import FEW


@numba.njit
def compiled(a, b, c):
    return runtime.solve(a, b), runtime.solve(a, c), runtime.inv(a), runtime.det(a)


def expected(a, b, c):
    return np.linalg.solve(a, b), np.linalg.solve(a, c), np.linalg.inv(a), np.linalg.det(a)


def compare(a, dtype=np.float64):
    rng = np.random.default_rng(1)
    n = len(a)
    b, c = rng.standard_normal((n, 2)).astype(dtype), rng.standard_normal(n).astype(dtype)
    close = 1e-5 if dtype is np.float32 else 1e-13
    condition = np.linalg.cond(a) if n else 1.0
    for run in (compiled, compiled.py_func):
        for ours, numpys in zip(run(a, b, c), expected(a, b, c), strict=True):
            np.testing.assert_allclose(ours, numpys, rtol=close * condition, atol=close * np.max(np.abs(numpys), initial=0.0))
            assert not np.ndim(ours) or ours.dtype == dtype


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, FEW, FEW + 1, 12])
def test_results_are_those_of_numpy(n):
    rng = np.random.default_rng(n)
    for dtype in (np.float64, np.float32) if n == 3 else (np.float64,):
        for _ in range(5):
            a = rng.standard_normal((n, n)).astype(dtype)
            compare(a, dtype)
            compare(np.asfortranarray(a), dtype)
            compare(np.repeat(a, 2, axis=0)[::2], dtype)


def test_pivots():
    compare(np.array([[0.0, 1.0], [1.0, 0.0]]))
    compare(np.array([[1e-20, 1.0], [1.0, 1.0]]))
    compare(np.array([[0.0, 2.0, 1.0], [0.0, 1.0, 3.0], [4.0, 0.0, 0.0]]))


@pytest.mark.parametrize("a", [np.zeros((1, 1)), np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones((3, 3)), np.diag([1.0, 0.0, 2.0])])
def test_singular_matrices_raise(a):
    for call in (lambda: compiled(a, a, a[0]), lambda: compiled.py_func(a, a, a[0])):
        with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular"):
            call()
    assert numba.njit(lambda x: runtime.det(x))(a) == 0.0


def test_what_is_no_number_stays():
    a = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert np.isnan(compiled(a, a, a[0])[2]).all() == np.isnan(np.linalg.inv(a)).all()


def filtered(f, p, r, y):
    """A Kalman filter of two measurements."""
    x, total = np.zeros(f.shape[0]), 0.0
    h = np.eye(f.shape[0])[:2]
    for t in range(y.shape[0]):
        x, p = f @ x, f @ p @ f.T + 0.1 * np.eye(f.shape[0])
        s = h @ p @ h.T + r
        e = y[t] - h @ x
        total += e @ np.linalg.solve(s, e) + np.log(np.linalg.det(s))
        k = p @ h.T @ np.linalg.inv(s)
        x, p = x + k @ e, p - k @ h @ p
    return total


def test_a_filter_that_uses_all_of_them():
    rng = np.random.default_rng(3)
    args = np.eye(3) + 0.1 * rng.standard_normal((3, 3)), np.eye(3), np.eye(2) * 0.5, rng.standard_normal((4, 2))
    check_gradient(filtered, args, argnums=(0, 1, 2, 3))
    text = stgrad.grad(filtered, (0, 2)).lowered(*args)
    assert "runtime.inv(" in text and "runtime.solve(" in text and "runtime.det(" in text


def test_a_singular_matrix_raises_in_a_gradient():
    for jit in (False, True):
        with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular"):
            stgrad.grad(lambda a: np.sum(np.linalg.inv(a)), jit=jit)(np.ones((2, 2)))
