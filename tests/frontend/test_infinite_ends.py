"""`scipy.integrate.quad` up to infinity, and instances that can be called."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

import stgrad
from stgrad.testing import check_gradient


def over_the_line(a, b):
    return integrate.quad(lambda x, p: np.exp(-a * x**2) * np.cos(p * x), -np.inf, np.inf, args=(b,))[0]


def turned(a, b):
    return integrate.quad(lambda x: np.exp(-a * (x - b) ** 2) * x, np.inf, -np.inf)[0]


def upwards(a, b):
    return integrate.quad(lambda x: x**2 * np.exp(-b * x), a, np.inf)[0]


def downwards(a, b):
    return integrate.quad(lambda x: np.exp(b * x) * (1.0 + a * x), float("-inf"), a)[0]


def backwards(a, b):
    return integrate.quad(lambda x: 1.0 / (1.0 + (a * x) ** 4), np.inf, b)[0]


class Scale:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x


class Plain:
    pass


def of_callables(a, b):
    f, g = Scale(a), Plain()
    return (f(b) if callable(f) else f) * (1.0 if callable(g) else b)


@pytest.mark.parametrize("f", [over_the_line, turned, upwards, downwards, backwards, of_callables])
def test_derivatives(f, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    check_gradient(f, (1.5, 0.7))


@pytest.mark.parametrize("f", [over_the_line, turned, upwards, downwards, backwards])
def test_values(f):
    value, _ = stgrad.value_and_grad(f, jit=True)(1.5, 0.7)
    assert np.isclose(value, f(1.5, 0.7), rtol=1e-8)


def test_an_infinite_end_of_the_run_raises():
    gradient = stgrad.grad(lambda a, b: integrate.quad(lambda x: np.exp(-x) * a, 0.0, b)[0], jit=True)
    assert np.isclose(gradient(1.0, 2.0), 1.0 - np.exp(-2.0))
    with pytest.raises(ValueError, match="must be known at compile time"):
        gradient(1.0, np.inf)
