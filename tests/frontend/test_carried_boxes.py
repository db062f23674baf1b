"""Arrays of the shape of a number, `np.zeros(np.shape(x))`, in code that is written for arrays and called with numbers."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def converged_and_result(x):
    done = np.zeros(np.shape(x), dtype=bool)
    result = np.full(np.shape(x), np.nan)
    for _ in range(6):
        new = x * 0.5
        now = (np.abs(new - x) < 0.4) & ~done
        result = np.where(now, new, result)
        done = done | now
        x = np.where(done, x, new)
        if done.all():
            break
    return result * x


def summed(x):
    total, power = np.zeros(()), np.ones(np.shape(x))
    for _ in range(4):
        power = power * x
        total = total + power
    return total * np.full((), 2)


def of_another_dtype(x):
    n = np.full(np.shape(x), x * 3.0, dtype=int)
    return x * n + np.full((), 2.7, dtype=int) * x


def written_to(x):
    total = np.zeros(np.shape(x))
    same = total
    for i in range(3):
        total += x**i
        same[...] = same * x
    total[()] += x
    return total * same


def on_two_paths(x, n=2):
    y = np.zeros(np.shape(x))
    if n > 1:
        y = y + x
    return y * y + np.ndim(y) + np.size(y)


def of_arrays_too(x):
    a = np.array([x, 2.0 * x])
    return np.sum(converged_and_result(a)) + summed(x)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [converged_and_result, summed, of_another_dtype, written_to, on_two_paths, of_arrays_too])
def test_value_and_derivatives(f, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    value, gradient = stgrad.value_and_grad(f, jit=jit)(1.7)
    assert np.isclose(value, f(1.7), rtol=1e-12)
    assert np.isclose(gradient, (f(1.7 + 1e-6) - f(1.7 - 1e-6)) / 2e-6, rtol=1e-6)
    once = stgrad.grad(f, jit=False)
    assert np.isclose(stgrad.grad(once, jit=False)(1.7), (once(1.7 + 1e-6) - once(1.7 - 1e-6)) / 2e-6, rtol=1e-5, atol=1e-6)
    assert np.isclose(stgrad.jvp(f, (1.7,), (1.0,), jit=jit)[1], gradient, rtol=1e-12)
