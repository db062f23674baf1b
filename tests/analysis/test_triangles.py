"""Systems whose matrix is known to be triangular, and triangles that are cut out in loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import stgrad
from stgrad.testing import check_gradient

K = np.array([[3.0, 0.4, -0.2], [0.4, 2.0, 0.7], [-0.2, 0.7, 4.0]])
Y = np.array([0.5, -1.0, 2.0])


def symmetric(k):
    return 0.5 * (k + k.T)


def whitened(k, y):
    low = np.linalg.cholesky(symmetric(k))
    z = np.linalg.solve(low, y)
    return np.sum(z * z) + 2.0 * np.sum(np.log(np.diag(low)))


def both_ways(k, y):
    low = np.linalg.cholesky(symmetric(k) + np.outer(y, y))
    return np.sum(np.linalg.solve(low.T, np.linalg.solve(low, y)) * y)


def in_a_loop(k, y):
    total = 0.0
    for i in range(3):
        low = np.linalg.cholesky(symmetric(k) + i * np.eye(len(k)))
        total += np.sum(np.linalg.solve(low.copy().T, y) ** 2)
    return total


def by_scipy(k, y):
    z = scipy.linalg.solve_triangular(k, y, lower=True)
    return np.sum(z**2) + np.sum(scipy.linalg.solve_triangular(k, np.outer(z, y), trans=1, lower=True))


@pytest.mark.parametrize("f", [whitened, both_ways, in_a_loop, by_scipy])
def test_by_substitution(f):
    text = stgrad.jit(f).lowered(3.0 * np.eye(5), np.ones(5))  # systems of few rows are written out
    assert "scipy.linalg.solve_triangular(" in text and "np.linalg.solve(" not in text and "runtime.solve(" not in text and "call_python" not in text
    for jit in (False, True):
        check_gradient(f, (K, Y), order=1 if jit and f is not in_a_loop else 2, jit=jit)


def other_values_too(k, y):
    low = np.linalg.cholesky(symmetric(k))
    if y[0] > 0.0:
        low = k
    return np.sum(np.linalg.solve(low, y))


def written(k, y):
    low = np.linalg.cholesky(symmetric(k))
    low[0, 1] = y[0]
    return np.sum(np.linalg.solve(low, y))


def written_through_a_view(k, y):
    low = np.linalg.cholesky(symmetric(k))
    row = low[0]
    row[1] = y[0]
    return np.sum(np.linalg.solve(low, y))


def only_on_one_path(k, y):
    low = k
    for i in range(2):
        low = np.linalg.cholesky(symmetric(k)) if i == 5 else k * 2.0
    return np.sum(np.linalg.solve(low, y))


@pytest.mark.parametrize("f", [other_values_too, written, written_through_a_view, only_on_one_path])
def test_not_where_the_other_side_may_hold_something(f):
    assert "solve_triangular" not in stgrad.jit(f).lowered(K, Y)
    for jit in (False, True):
        check_gradient(f, (K, Y), order=1, jit=jit)


def triangles(a):
    return np.sum(np.tril(a, 1) ** 2) + np.sum(np.sin(np.triu(a)) * np.tril(a, -1)) + np.sum(np.triu(a, -2) ** 3)


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 2), (1, 4), (4, 1), (0, 3), (2, 3, 4)])
def test_triangles_are_loops(shape):
    a = np.random.default_rng(0).normal(size=shape)
    assert "np.tri" not in stgrad.jit(triangles).lowered(a)
    np.testing.assert_allclose(stgrad.jit(triangles)(a), triangles(a), rtol=1e-12)
    if a.size:
        check_gradient(triangles, (a,), order=2)


def test_triangles_of_integers():
    a = np.arange(12).reshape(3, 4)
    found = stgrad.jit(lambda a: np.tril(a, -1) + np.triu(a, 2))(a)
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(found, np.tril(a, -1) + np.triu(a, 2))
