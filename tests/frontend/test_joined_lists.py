"""Lists of run-time length in `np.r_`, and known numbers that are looked for among those of the running program."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def padded(x, n):
    knots = [x]
    for i in range(n):
        knots.append(x * (i + 1.0))
    t = np.r_[(knots[0] - 1.0,) * n, knots, [x, 2.0], knots[-1] + 1.0, 0:3]
    return np.sum(t**2 * np.arange(len(t))) + np.sum(np.unique(np.r_[knots]))


def looked_for(x, n):
    a = np.full((n, 2), x)
    empty = 0 in a.shape or 7 in [n, n + 1]
    return np.sum(a**2) * (3.0 if empty else 1.0) + (x if 2 not in (n, x) else 0.0)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [padded, looked_for])
@pytest.mark.parametrize("n", [2, 6, 0])
def test_value_and_derivative(f, n, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    value, gradient = stgrad.value_and_grad(f, jit=jit)(1.3, n)
    assert np.isclose(value, f(1.3, n), rtol=1e-12)
    assert np.isclose(gradient, (f(1.3 + 1e-6, n) - f(1.3 - 1e-6, n)) / 2e-6, rtol=1e-6, atol=1e-9)
