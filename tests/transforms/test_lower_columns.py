"""Local matrices whose columns the deepest loops walk down are kept turned, and nobody sees it from outside."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def orthogonal(a):
    q = np.zeros_like(a)
    s = 0.0
    for k in range(a.shape[1]):
        length = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / length
        s += length * (k + 1.0)
        for j in range(k + 1, a.shape[1]):
            a[:, j] -= q[:, k] * np.dot(q[:, k], a[:, j])
    return s + np.sum(q * a)


def swept(u, n):
    for _ in range(n):
        for j in range(1, u.shape[1]):
            u[:, j] = 0.5 * u[:, j] * u[:, j - 1]
    return u


def both_ways(u, n):
    v = u * 1.0
    for _ in range(n):
        for j in range(1, v.shape[1]):
            v[:, j] += 0.5 * v[:, j - 1]
        for i in range(1, v.shape[0]):
            v[i] += 0.25 * v[i - 1]
    return v


def with_a_row(u, n):
    v = u * 1.0
    row = v[0]
    for _ in range(n):
        for j in range(1, v.shape[1]):
            v[:, j] += 0.5 * v[:, j - 1] + row[j]
    return v


def with_a_product(u, n):
    v = u * 1.0
    for _ in range(n):
        for j in range(1, v.shape[1]):
            v[:, j] += 0.5 * v[:, j - 1]
    return v @ v.T


def two_trips(u):
    v = u * 1.0
    for _ in range(2):
        for j in range(1, v.shape[1]):
            v[:, j] += 0.5 * v[:, j - 1]
    return v


A = np.random.default_rng(1).uniform(0.5, 1.5, (5, 4))


def test_gradients() -> None:
    check_gradient(orthogonal, (A,))
    check_gradient(lambda u: np.sum(swept(u, 9) ** 2), (A,))


@pytest.mark.parametrize("f", [swept, both_ways, with_a_row, with_a_product])
def test_results_are_those_of_the_function(f: object) -> None:
    fast = stgrad.jit(f)(A.copy(), 9)
    np.testing.assert_allclose(fast, f(A.copy(), 9), rtol=1e-13)
    assert fast.flags.c_contiguous


def test_the_gradient_is_turned_and_turned_back() -> None:
    text = stgrad.grad(orthogonal).lowered(A)
    assert "q = runtime.empty((n, n_2))" in text and "q[k, i]" in text and "return a_2_bar_2" in text
    gradient = stgrad.grad(orthogonal)(A)
    assert gradient.shape == A.shape and gradient.flags.c_contiguous
    np.testing.assert_allclose(gradient, stgrad.grad(orthogonal, without=("columns",))(A), rtol=1e-12)


@pytest.mark.parametrize("f", [both_ways, with_a_row, with_a_product])
def test_what_is_walked_both_ways_or_seen_otherwise_stays(f: object) -> None:
    assert stgrad.jit(f).lowered(A, 9) == stgrad.jit(f, without=("columns",)).lowered(A, 9)


def test_short_loops_do_not_pay() -> None:
    assert stgrad.jit(two_trips).lowered(A) == stgrad.jit(two_trips, without=("columns",)).lowered(A)
