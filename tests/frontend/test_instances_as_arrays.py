"""Instances that say what array they are, to NumPy's functions: by `__array__`, whatever their length and items are. `np.poly1d` is one of them."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad

X, Y = np.array([0.3, 0.6, 0.9, 1.4]), np.array([0.5, 0.2, 0.7, 0.1])
P = np.poly1d([1.0, 2.0, 3.0])


class Sequence:
    """Its length, its items and its array say three things."""

    def __init__(self):
        self.numbers = np.array([1.0, 2.0, 4.0])

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return self.numbers[i] * 10.0

    def __array__(self, dtype=None, copy=None):
        return self.numbers


W = Sequence()


def slopes(f, h=1e-6):
    at_x = [(f(X + h * e, Y) - f(X - h * e, Y)) / (2 * h) for e in np.eye(4)]
    return np.array(at_x), np.array([(f(X, Y + h * e) - f(X, Y - h * e)) / (2 * h) for e in np.eye(4)])


CALLS = {
    "polyval": lambda x, y: np.polyval(P, x[0]) * np.polyval(W, y[0]),
    "asarray": lambda x, y: np.sum(np.asarray(P) * x[0]) + np.sum(np.array(W) * y[1]),
    "reductions": lambda x, y: np.sum(W) * x[0] + np.max(W) * y[0] + np.mean(P) * x[1] + np.linalg.norm(W) * y[2],
    "products": lambda x, y: np.dot(P, x[:3]) + np.sum(np.multiply(W, y[1:])),
    "elementwise": lambda x, y: np.sum(np.where(x[:3] > 0.5, W, y[:3]) * x[:3]) + np.sum(np.exp(P) * x[0]),
    "interp": lambda x, y: np.interp(x[3], W, W) * y[0],
    "derivative": lambda x, y: np.sum(np.polyder(P)) * x[0] + np.cumsum(W)[1] * y[0],
    "by themselves": lambda x, y: len(P) * x[0] + P[0] * x[1] + len(W) * y[0] + W[0] * y[1] + P(x[0]),
}


def fitted(x, y):
    p = np.poly1d(np.polyfit(x, y, 2))
    return p(0.5) + p.deriv()(x[0]) + p[1] * p.order + np.sum(p.c) + np.polyval(p, 2.0) + len(p)


def calculated(x, y):
    p, q = np.poly1d([x[0], y[0], 1.0]), np.poly1d(y)
    r = p * q + 2 * p - q / 3.0 + 1.0
    return r(0.7) + (p**2)(0.3) + np.sum(r.integ()(x)) + np.sum(np.asarray(q)) + sum(c for c in q) + (-p)(y[0])


def of_roots(x, y):
    p = np.poly1d(x, True)
    return p(y[1]) + np.sum(p(y)) + p.coeffs[1]


def of_integers(x, y):
    p = np.poly1d([0, 1, 2, 3])
    return p(x[0]) * p.deriv(2)(y[0]) + p[5] + p[0] * x[1] + p.o


def compared(x, y):
    p, q = np.poly1d(x), np.poly1d(x * 1.0)
    copy = np.array(q)
    copy[0] = 5.0
    return (3.0 if p == q else 1.0) * x[0] + (7.0 if p != np.poly1d(y) else 2.0) * y[1] + q(2.0) * np.sum(copy)


CALLS |= {f.__name__: f for f in (compared, fitted, calculated, of_roots, of_integers)}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_gradient(name, jit):
    f = CALLS[name]
    value, found = stgrad.value_and_grad(f, (0, 1), jit=jit)(X, Y)
    assert value == pytest.approx(f(X, Y), rel=1e-13)
    for got, want in zip(found, slopes(f), strict=True):
        assert np.allclose(got, want, rtol=1e-6, atol=1e-7)


def test_what_changes_is_read_again():
    p = np.poly1d([1.0, 2.0])
    slope = stgrad.grad(lambda x: np.polyval(p, x))
    assert slope(0.5) == 1.0
    p.coeffs[0] = 3.0
    assert slope(0.5) == 3.0
