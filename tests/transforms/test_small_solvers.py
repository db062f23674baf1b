"""Matrices of a few rows that are solved with, inverted, or asked for their determinants: as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RANDOM = np.random.default_rng(7)


def newton(k, n):
    """A system of three equations, by Newton's method: its Jacobian is kept for the sweep back."""
    x = np.array([0.5, 1.0, 0.2])
    for _ in range(n):
        residual = np.array([k[0] * x[0] ** 3 + x[1] - 1.0, x[1] ** 2 * k[1] + x[0] - 2.0 + x[2], x[2] * k[2] + np.sin(x[0])])
        jacobian = np.array([[3 * k[0] * x[0] ** 2, 1.0, 0.0], [1.0, 2 * x[1] * k[1], 1.0], [np.cos(x[0]), 0.0, k[2]]])
        x = x - np.linalg.solve(jacobian, residual)
    return np.sum(x**2)


def written(k, n):
    """The same, its Jacobian written element by element: kept before it is."""
    x = np.array([0.5, 1.0])
    for i in range(n):
        jacobian = np.zeros((2, 2))
        jacobian[0, 0] = k[0] + x[1]
        jacobian[0, 1] = x[0] * i
        jacobian[1, 1] = k[1] + x[0] ** 2
        jacobian[1, 0] += 0.1 * k[2]
        x = np.linalg.solve(jacobian, x) + 0.1 * x
    return x[0] * x[1]


def filtered(k, n):
    x, p = np.zeros(2), np.eye(2)
    a, noise = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.5, 0.1], [0.1, 0.4]])
    total = 0.0
    for t in range(n):
        x, p = a @ x, a @ p @ a.T + k[0] * np.eye(2)
        v, s = np.array([np.sin(1.0 * t), k[1]]) - x, p + noise
        total += v @ np.linalg.solve(s, v) + np.log(np.linalg.det(s))
        gain = p @ np.linalg.inv(s)
        x, p = x + gain @ v, p - gain @ p
    return total


def sides(k, n):
    """Several right sides, and the transpose of what was solved with."""
    m = np.array([[2.0, k[0]], [k[1], 3.0]])
    y = np.eye(2)
    for _ in range(n):
        y = np.linalg.solve(m.T, y @ m) * k[2]
    return np.sum(y * y)


def stretched(k, n):
    total = 0.0
    for i in range(n):
        f = np.array([[1.0 + k[0], 0.1 * i, k[1]], [0.2, k[2], 0.0], [k[0] * k[1], 0.3, 1.5]])
        j = np.linalg.det(f)
        total += (np.sum(f * f) - 3.0) / j + np.sum(np.linalg.inv(f)) * j**2
    return total


PROGRAMS = [newton, written, filtered, sides, stretched]
POINT = np.array([1.1, 0.6, 1.7])


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_derivatives(program, jit):
    check_gradient(lambda k: program(k, 3), (POINT,), jit=jit)


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_those_without_the_pass(program):
    np.testing.assert_allclose(stgrad.grad(program)(POINT, 4), stgrad.grad(program, without="small")(POINT, 4), rtol=1e-9)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_asked_of_lapack(program):
    text = "".join(line for line in stgrad.grad(program).running(POINT, 3).splitlines() if "# grad" not in line)
    assert "runtime.solve(" not in text and "runtime.inv(" not in text and "runtime.det(" not in text


def test_what_has_no_inverse_raises():
    def f(a):
        m = np.array([[a, 2.0], [2.0, 4.0]])
        return np.sum(np.linalg.solve(m, np.array([1.0, a])))

    with pytest.raises(np.linalg.LinAlgError):
        f(1.0)
    with pytest.raises(np.linalg.LinAlgError):
        stgrad.grad(f)(1.0)
    assert np.isfinite(stgrad.grad(f)(2.0))


def test_determinants_of_matrices_without_an_inverse():
    def f(a):
        return np.linalg.det(np.array([[a[0], a[1], 0.0], [2.0 * a[0], 2.0 * a[1], 0.0], [0.0, 1.0, a[2]]]))

    def g(a):
        return np.linalg.det(np.array([[a[0], 2.0], [3.0, 6.0 * a[1]]]))

    np.testing.assert_allclose(stgrad.grad(f)(np.array([1.0, 2.0, 3.0])), np.zeros(3), atol=1e-14)
    np.testing.assert_allclose(stgrad.grad(g)(np.ones(2)), [6.0, 6.0])
    np.testing.assert_allclose(stgrad.hessian(g)(np.ones(2)), [[0.0, 6.0], [6.0, 0.0]], atol=1e-14)


def test_kept_arrays_that_are_written_after_they_were_pushed():
    def f(k, n):
        total = 0.0
        for i in range(n):
            m = np.ones((2, 2))
            v = np.linalg.solve(m + k[0] * np.eye(2), np.array([k[1], 1.0 * i]))
            m[0, 1] = v[0]
            if i % 2:
                m[1, 0] = v[1] * k[2]
            w = np.linalg.solve(m + k[0] * np.eye(2), v)
            total += w[0] * w[1] + np.sum(np.sin(m) * m)
        return total

    check_gradient(lambda k: f(k, 4), (POINT,))


def sampled(k, n):
    """Sigma points of a covariance, and a likelihood by its factor."""
    x, p = np.array([0.3, 0.1]), np.array([[1.0, 0.2], [0.2, 2.0]])
    total = 0.0
    for t in range(n):
        low = np.linalg.cholesky(p + k[0] * np.eye(2))
        points = np.stack([x, x + low[:, 0], x + low[:, 1], x - low[:, 0], x - low[:, 1]])
        moved = np.sin(points * k[1]) + 0.1 * t
        x = moved.mean(axis=0)
        p = (moved - x).T @ (moved - x) / 5.0 + np.array([[0.5, 0.1], [0.1, 0.4]])
        factor = np.linalg.cholesky(p)
        total += np.log(factor[0, 0] * factor[1, 1]) + x @ x * k[2]
    return total


def sampled_of_three(k, n):
    p = np.array([[2.0, 0.1, 0.3], [0.1, 1.5, 0.2], [0.3, 0.2, 1.0]])
    total = 0.0
    for _ in range(n):
        low = np.linalg.cholesky(p * k[0] + k[1] * np.eye(3))
        p = low @ low.T * 0.5 + np.eye(3) * k[2]
        total += low[2, 0] * low[1, 1] + low[2, 2]
    return total


@pytest.mark.parametrize("function", [sampled, sampled_of_three])
def test_factors_of_a_few_rows(function):
    k = np.array([0.4, 0.9, 0.7])
    check_gradient(function, (k, 3), order=2)
    text = stgrad.grad(function).lowered(k, 3)
    assert "runtime.cholesky_few(" in text and "runtime.cholesky_bar_few(" in text


def test_a_matrix_that_has_no_factor():
    for jit in (True, False):
        with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
            stgrad.grad(sampled, jit=jit)(np.array([-3.0, 0.9, 0.7]), 2)
