"""`np.arange` of run-time ends: as many numbers as there are, none where the end is below the start, and loops in compiled code."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def weights(x):
    return np.sum(np.arange(1, len(x) + 1) * x)


def of_doubles(x):
    return np.sum(np.arange(1.0, len(x) + 1) * x) + np.sum(np.arange(len(x), dtype="d") * x)


def behind_the_first(x):
    return np.sum(np.arange(1, len(x)) * x[1:])


def few(x):
    return np.sum(np.arange(3, len(x))) + np.sum(x)


def single(x):
    return np.sum(x ** np.arange(1, len(x) + 1, dtype="f"))


def looped(x):
    k, total = np.arange(1, len(x) + 1), 0.0
    for i in k:
        total += x[i - 1] * i
    return total + np.sum(x[k - 1] * k[::-1])


def columns(x):
    a, n = np.zeros((len(x), 4)), len(x)
    for j in range(4):
        a[:, j] = np.arange(1, n + 1) ** j * x
    return a.sum()


def counted(x):
    return np.sum(np.arange(5, len(x)) * 1.0) + len(np.arange(5, len(x))) * np.sum(x)


def by_dtypes(x):
    return np.sum(np.arange(0, len(x), 1, dtype=np.dtype(float)) * x) + np.sum(np.zeros(3, "d"))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [weights, of_doubles, behind_the_first, few, single, looped, columns, counted, by_dtypes], ids=lambda f: f.__name__)
def test_ends_that_are_extents(f, jit) -> None:
    gradient = stgrad.value_and_grad(f, jit=jit, mode="reverse")
    for n in (0, 1, 2, 7):
        x = np.linspace(1.0, 2.0, n)
        value, slope = gradient(x)
        assert np.isclose(value, f(x))
        assert np.allclose(slope, [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(n)], rtol=1e-5, atol=1e-5)


def length(x, n):
    return len(np.arange(n)) * x[0] + np.sum(np.arange(n) * 2.0)


def length_from_one(x, n):
    return len(np.arange(1, n + 1)) * x[0] + np.sum(np.arange(1, n + 1) * x[1])


def in_a_branch(x, n):
    total = 1.0 * x[0]
    if x[0] > 0.5:
        total += len(np.arange(n)) * x[1]
    return total


def in_a_loop(x, n):
    total = 0.0
    for i in range(-2, n):
        total += np.sum(np.arange(i) * x[0]) + len(np.arange(1, i)) * x[1]
    return total


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [length, length_from_one, in_a_branch, in_a_loop], ids=lambda f: f.__name__)
def test_ends_that_may_be_negative(f, jit) -> None:
    gradient = stgrad.value_and_grad(f, jit=jit, mode="reverse")
    x = np.array([1.5, -0.5])
    for n in (3, -2, 0, 1):
        value, slope = gradient(x, n)
        assert np.isclose(value, f(x, n))
        assert np.allclose(slope, [(f(x + 1e-6 * e, n) - f(x - 1e-6 * e, n)) / 2e-6 for e in np.eye(2)], atol=1e-6)


def test_the_numbers_are_the_positions_of_loops() -> None:
    lowered = stgrad.grad(weights, mode="reverse").lowered(np.ones(3))
    assert "= np.arange" not in lowered
    assert "raise" not in lowered
