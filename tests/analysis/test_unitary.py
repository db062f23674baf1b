"""Inverses of unitary matrices are their adjoints: in value, in both orders, and at equal eigenvalues, where no derivative exists."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RNG = np.random.default_rng(11)
A = RNG.standard_normal((4, 4))
B = RNG.standard_normal(4)


def root(a):
    w, v = np.linalg.eigh(a @ a.T + np.eye(len(a)))
    return v @ np.diag(np.sqrt(w)) @ np.linalg.inv(v)


def by_inverse(a, b):
    return np.sum(root(a) * np.outer(b, b**2))


def by_system(a, b):
    w, v = np.linalg.eigh(a + a.T)
    return np.sum(np.exp(0.1 * w) * np.linalg.solve(v, b) ** 3)


def by_matrix_system(a, b):
    w, v = np.linalg.eigh(a + a.T)
    c = np.linalg.solve(v, np.outer(b, np.sin(b)))
    return np.sum(w * c[:, 0] ** 2) + np.sum(c[:, 1] ** 4)


def turned(a, b):
    w, v = np.linalg.eigh(a + a.T)
    u = v.T.copy()
    return np.sum(np.linalg.inv(u) @ (np.tanh(w) * (u @ b)) * b**2)


def in_a_loop(a, b):
    total = 0.0
    for k in range(3):
        w, v = np.linalg.eigh(a + a.T + k * np.diag(b))
        total += np.sum(w**2 * np.linalg.solve(v, b) ** 2)
    return total


def written(a, b):
    w, v = np.linalg.eigh(a + a.T)
    v[0, 0] += b[0]
    return np.sum(np.linalg.inv(v) @ (w * b))


def on_one_path(a, b):
    w, v = np.linalg.eigh(a + a.T)
    if b[0] > 0.0:
        v = v * np.exp(b)
    return np.sum((np.linalg.inv(v) @ (w * b)) ** 2)


def inverted(f):
    """Whether a statement of the gradient inverts a matrix; comments show the lines of the function."""
    tree = ast.parse(stgrad.grad(f, argnums=(0, 1)).source(A, B))
    return any(isinstance(node, ast.Attribute) and node.attr in ("inv", "solve") for node in ast.walk(tree))


PROGRAMS = [by_inverse, by_system, by_matrix_system, turned, in_a_loop]
OTHERS = [written, on_one_path]


@pytest.mark.parametrize("f", [*PROGRAMS, *OTHERS])
def test_both_orders(f):
    check_gradient(f, (A, B), argnums=(0, 1))


@pytest.mark.parametrize("f", PROGRAMS)
def test_nothing_is_inverted(f):
    assert not inverted(f)


@pytest.mark.parametrize("f", OTHERS)
def test_what_is_not_unitary_is_inverted(f):
    assert inverted(f)


def complex_system(a, b):
    w, v = np.linalg.eigh(a + 1j * b + np.conj(a + 1j * b).T)
    return np.sum(np.exp(0.1 * w) * np.abs(np.linalg.solve(v, b[0] + 0j)) ** 2)  # phases of vectors must not matter


def test_complex():
    check_gradient(complex_system, (A, RNG.standard_normal((4, 4))), argnums=(0, 1))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("a", [np.eye(3), np.diag([2.0, 2.0, 5.0])], ids=["all", "two"])
def test_equal_eigenvalues_have_no_derivative(a, jit):
    def f(a):
        w, v = np.linalg.eigh(a)
        return np.sum((v @ np.diag(np.sqrt(w)) @ np.linalg.inv(v)) * np.arange(9.0).reshape(3, 3))

    assert np.isnan(stgrad.grad(f, jit=jit)(a)).any()
