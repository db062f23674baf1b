"""Loops on threads: which become parallel, which are refused and why, and that the results stay."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stgrad


def loss(x, a):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(-a * x[i] ** 2) * math.sin(x[i])
    return total


def elementwise(x, a):
    return np.sum(np.exp(-a * x**2) * np.sin(x))


def rows(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * w[j]
        total += s * s
    return total


def stencil(u, n):
    u = u.copy()
    for _ in range(n):
        v = u.copy()
        for i in range(1, len(u) - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u = v
    return np.sum(u * u)


RNG = np.random.default_rng(0)
CASES = [
    (loss, (RNG.random(50), 0.7), (0, 1)),
    (elementwise, (RNG.random(50), 0.7), (0, 1)),
    (rows, (RNG.random((40, 5)), RNG.random(5)), (0, 1)),
    (stencil, (RNG.random(40), 3), 0),
]


@pytest.mark.parametrize(("f", "args", "argnums"), CASES, ids=lambda v: getattr(v, "__name__", None))
@pytest.mark.parametrize("jit", [True, False])
def test_same_gradient(f, args, argnums, jit):
    alone = stgrad.value_and_grad(f, argnums)(*args)
    together = stgrad.value_and_grad(f, argnums, jit=jit, parallel=True)(*args)
    assert together[0] == pytest.approx(alone[0], rel=1e-12)
    pairs = zip(alone[1], together[1], strict=True) if isinstance(argnums, tuple) else [(alone[1], together[1])]
    for a, b in pairs:
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-13)


def test_forward_and_reverse_are_parallel():
    text = stgrad.grad(elementwise, (0, 1), parallel=True).source(np.ones(5), 0.5)
    assert "in numba.prange(" in text
    assert "prange" not in stgrad.grad(elementwise, (0, 1)).source(np.ones(5), 0.5)


def test_the_primal():
    f = stgrad.jit(loss, parallel=True)
    x = RNG.random(100)
    assert "total += " in f.source(x, 0.5) and "numba.prange" in f.source(x, 0.5)
    assert f(x, 0.5) == pytest.approx(loss(x, 0.5), rel=1e-13)


def carried(x):
    y = 1.0
    for i in range(len(x)):
        y = math.sin(y * x[i])
    return y


def prefix(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i]
    return y


def wraps(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i - 1] = x[i]
    return y


def gathers(x, index):
    y = np.zeros(3)
    for i in range(len(x)):
        y[index[i]] += x[i]
    return y


def strided(x):
    y = x.copy()
    for i in range(0, len(x), 2):
        y[i] = 2.0 * x[i]
    return y


def last(x):
    t = 0.0
    for i in range(len(x)):
        t = x[i] * 2.0
    return t


@pytest.mark.parametrize(
    ("f", "args", "reason"),
    [
        (carried, (np.ones(40),), "`y` is carried from trip to trip"),
        (prefix, (np.ones(40),), "two trips may touch the same part of `y`"),
        (wraps, (np.ones(40),), "two trips may touch the same part of `y`"),
        (gathers, (np.ones(40), np.zeros(40, int)), "two trips may touch the same part of `y`"),
        (strided, (np.ones(40),), "its step is not 1"),
        (last, (np.ones(40),), "`t` is "),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_refused(f, args, reason):
    compiled = stgrad.jit(f, parallel=True)
    assert f"# not parallel: {reason}" in compiled.source(*args)
    np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-13)
