"""The LU factorisation of a matrix that lacks one in its rank: its last pivot is zero."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
from thorough import check_gradient

import stgrad


def stationary(a):
    """The stationary state of a Markov chain with three states, whose generator has rows that sum to 0."""
    generator = np.array([[-a, a, 0.0], [1.0, -2.0, 1.0], [0.5, a, -0.5 - a]])
    lu, _ = scipy.linalg.lu_factor(generator.T, check_finite=False)
    weights = scipy.linalg.solve_triangular(lu[:-1, :-1], -lu[:-1, -1])
    return weights[0] ** 2 + weights[1]


@pytest.mark.parametrize("jit", [False, True])
def test_leading_factors(jit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of the last pivot
        check_gradient(stationary, (0.7,), jit=jit)
        np.testing.assert_allclose(stgrad.grad(stationary, mode="forward", jit=jit)(0.7), stgrad.grad(stationary, mode="reverse", jit=jit)(0.7))


def test_all_factors_of_a_matrix_of_full_rank():
    def f(a):
        lu, _ = scipy.linalg.lu_factor(a)
        return np.sum(np.sin(lu) * np.arange(9.0).reshape(3, 3))

    check_gradient(f, (np.array([[4.0, 1.0, 0.3], [0.5, 3.0, 1.0], [0.2, -0.7, 2.0]]),))
