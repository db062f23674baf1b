"""Riccati equations and functions of matrices as users call them: symmetric weights stay symmetric between differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
from thorough import check_gradient

import stgrad
from stgrad import errors

RNG = np.random.default_rng(4)
A, B, C, D = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=(3, 3)) + 2.0 * np.eye(3), RNG.normal(size=(2, 2)) + 2.0 * np.eye(2)
WEIGHTS = RNG.normal(size=(3, 3))


def weighed(x):
    return np.sum(x * WEIGHTS)


def continuous(a, b, c, d):
    return weighed(sl.solve_continuous_are(a, b, c @ c.T, d @ d.T))


def discrete(a, b, c, d):
    return weighed(sl.solve_discrete_are(a, b, c @ c.T, d @ d.T))


def continuous_with_cross_terms(a, b, c, d):
    return weighed(sl.solve_continuous_are(a, b, c @ c.T, d @ d.T, s=0.1 * c @ b))


def discrete_with_cross_terms(a, b, c, d):
    return weighed(sl.solve_discrete_are(a, b, c @ c.T, d @ d.T, s=0.1 * c @ b))


def gain(a, b, c, d):
    """Of a linear-quadratic regulator."""
    x = sl.solve_discrete_are(a, b, c @ c.T, d @ d.T)
    return np.sum(np.linalg.solve(d @ d.T + b.T @ x @ b, b.T @ x @ a) ** 2)


@pytest.mark.parametrize("function", [continuous, discrete, continuous_with_cross_terms, discrete_with_cross_terms, gain])
def test_riccati_equations(function):
    check_gradient(function, (A, B, C, D), order=2)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: weighed(sl.logm(a @ a.T + np.eye(3))),
        lambda a: weighed(sl.fractional_matrix_power(a @ a.T + np.eye(3), -0.5)),
        lambda a: np.sum(sl.logm(sl.expm(0.1 * a) @ sl.expm(0.2 * a.T)) ** 2),
        lambda a: np.sum(np.abs(sl.eig(a @ a.T + 0.1 * a)[0]) ** 3),
        lambda a: np.sum(sl.eigh(a @ a.T, eigvals_only=True) * np.arange(3.0)),
        lambda a: np.sum(sl.eigh_tridiagonal(a[0] + np.arange(0.0, 9.0, 3.0), a[1, :2])[1] ** 3 * WEIGHTS),
    ],
)
def test_functions_of_matrices(function):
    check_gradient(function, (A,), order=2)


def test_a_generalised_equation_is_refused():
    with pytest.raises(errors.StgradError, match="generalised Riccati equation"):
        stgrad.grad(lambda a: np.sum(sl.solve_continuous_are(a, B, np.eye(3), np.eye(2), e=np.eye(3))))(A)


def test_what_scipy_leaves_to_a_library_is_refused_by_the_users_line():
    with pytest.raises(errors.UnknownFunctionError, match=r"in `scipy\.linalg\.schur`, called at .*test_equations\.py:\d+\n\s+stgrad\.grad"):
        stgrad.grad(lambda a: np.sum(sl.schur(a)[0]))(A)
