"""NumPy's integers made of Python's: they divide as NumPy's do, and what is known of the one is known of the other."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad

X = np.array([0.3, 0.5, 0.7, 0.9, 1.1])


def neighbours(x):
    s = 0.0
    for i in np.arange(1, len(x) - 1):
        s += x[i - 1] * x[i + 1]
    return s


def backwards(x):
    s = 0.0
    for i in np.arange(len(x) - 1, -1, -1):
        k = i * 2**i
        s += x[i] / (i + 1) + np.float64(k) ** 2 * x[0] + i**2 * x[-np.int64(1)]
    return s


def every_other(x):
    s = 0.0
    for i in np.arange(0, len(x), 2):
        if i % 2 == 0 and i > 0:
            s += x[i] / i
        x[i] = i
        s += np.sum(x[:i]) + np.sum(x[i:] ** 2)
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [neighbours, backwards, every_other], ids=lambda f: f.__name__)
def test_gradient(f, jit):
    h = 1e-6
    want = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(5)]
    assert stgrad.grad(f, jit=jit)(X.copy()) == pytest.approx(want, rel=1e-6)


def test_positions_are_tested_once():
    text = stgrad.grad(neighbours).lowered(X)
    before, inside = text.split("for k in range")
    assert "out of bounds" in before and "raise" not in inside


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_division_by_zero(jit):
    """NumPy's gives infinity, where Python's raises."""

    def f(x, n):
        return x[0] + 1.0 / np.int64(n)

    assert stgrad.value_and_grad(f, jit=jit)(X, 0)[0] == np.inf
