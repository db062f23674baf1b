"""Factorisations read one half of a Hermitian matrix: where the program fills that half alone, the other one has no part in the derivative."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
from scipy.stats import multivariate_normal

import stgrad

A = np.array([[4.0, 0.9, 0.7], [1.0, 5.0, 0.8], [0.5, 0.3, 6.0]])
W = np.cos(np.arange(9.0)).reshape(3, 3)
PROGRAMS = {
    "cholesky": lambda a: np.sum(np.linalg.cholesky(a) * W),
    "cholesky, upper": lambda a: np.sum(np.linalg.cholesky(a, upper=True) * W),
    "scipy cholesky": lambda a: np.sum(sl.cholesky(a) * W),
    "scipy cholesky, lower": lambda a: np.sum(sl.cholesky(a, lower=True) * W),
    "cho_factor": lambda a: np.sum(sl.cho_factor(a)[0] * W),
    "cho_factor, lower": lambda a: np.sum(sl.cho_factor(a, lower=True)[0] * W),
    "eigvalsh": lambda a: np.sum(np.linalg.eigvalsh(a) * W[0]),
    "eigvalsh, two": lambda a: np.sum(sl.eigvalsh(a, a @ W + 20.0 * np.eye(3)) * W[0]),
    "eigvalsh, two, upper": lambda a: np.sum(sl.eigvalsh(a, a @ W + 20.0 * np.eye(3), lower=False) * W[0]),
    "solve, sym": lambda a: np.sum(sl.solve(a, W, assume_a="sym") * W),
    "solve, pos": lambda a: np.sum(sl.solve(a, W, assume_a="pos", lower=True) * W),
    "normal": lambda a: multivariate_normal.logpdf(W[0], W[1], a),
    "below": lambda a: np.sum(np.linalg.cholesky(np.tril(a)) * W),
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_half(name, jit):
    f, h = PROGRAMS[name], 1e-6
    want = np.array([[(f(A + h * np.outer(r, c)) - f(A - h * np.outer(r, c))) / (2 * h) for c in np.eye(3)] for r in np.eye(3)])
    try:
        value, slope = stgrad.value_and_grad(f, jit=jit)(A)
    except stgrad.errors.StgradError:
        assert jit and name == "normal"
        return
    assert value == pytest.approx(f(A), rel=1e-13)
    assert np.allclose(slope, want, rtol=1e-6, atol=1e-8)
    direction = W @ W.T
    assert stgrad.jvp(f, (A,), (direction,), jit=jit)[1] == pytest.approx(np.sum(want * direction), rel=1e-6)


def test_of_a_hermitian_matrix():
    """Both halves share it, as in other libraries."""
    slope = stgrad.grad(PROGRAMS["cholesky"])(A @ A.T)
    assert np.allclose(slope, slope.T) and abs(slope[0, 2]) > 1e-3
