"""Loops of the user's own that scatter to neighbours: written as element statements where that is right, and left alone where it is not."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import testing

RNG = np.random.default_rng(3)


def stencil(x, c, steps):
    a = x.copy()
    b = x.copy()
    n, m = x.shape
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(2, m - 1):
                b[i, j] = c[i, j] * (a[i, j - 1] + a[i, j + 1]) + 0.3 * a[i - 1, j] - a[i + 1, j - 2]
        for i in range(n - 2, 0, -1):
            for j in range(2, m - 1):
                a[i, j] += 0.1 * (b[i, j - 1] - b[i, j + 1])
    return np.sum(a * a * b)


def changing_places(x, steps):
    a = x.copy()
    b = x.copy()
    for t in range(steps):
        for i in range(1, x.size - 1):
            b[i] = 0.5 * a[i - 1] * a[i + 1]
        a, b = b, a
    return np.sum(a * a * b)


def squares(x):
    n, m = x.shape
    b = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            b[i, j] = math.sin(x[i, j - 1]) * x[i, j + 1] + x[i, j] * x[i + 1, j]
    return np.sum(b * b)


def ends_elsewhere(x, start, stop):
    """Where no trip is made, positions may be outside of the array."""
    s = 0.0
    y = np.zeros(x.size)
    for i in range(start, stop):
        y[i - 1] = x[i - 1] * x[i] + x[i + 1] * x[i]
    for i in range(x.size):
        s += y[i] * y[i]
    return s


def spread(e, n):
    """Scatters in the function itself, downwards."""
    b = np.zeros(e.size + 2)
    for i in range(n, 0, -1):
        t = e[i] * e[i]
        b[i - 1] += t
        b[i] += 0.5 * t
        b[i + 1] += e[i]
    return np.sum(b * b)


def in_place(x):
    """Each trip reads what the one before it wrote."""
    a = x.copy()
    for i in range(1, x.size - 1):
        a[i] = 0.3 * a[i - 1] * a[i] + 0.2 * a[i + 1]
    return np.sum(a * a)


def reads_its_target(x):
    b = x.copy()
    for i in range(1, x.size - 1):
        t = b[i] * x[i]
        b[i - 1] += t
        b[i + 1] += t * x[i + 1]
    return np.sum(b * b)


def carries(x):
    """A scalar goes from trip to trip."""
    b = np.zeros(x.size)
    last = 1.0
    for i in range(1, x.size - 1):
        last = 0.5 * last + x[i]
        b[i - 1] += last
        b[i + 1] += x[i]
    return np.sum(b * b) * last


PROGRAMS = [
    (stencil, (RNG.random((5, 6)), RNG.random((5, 6)), 2)),
    (changing_places, (RNG.random(6), 3)),
    (squares, (RNG.random((5, 6)),)),
    (ends_elsewhere, (RNG.random(7), 1, 6)),
    (ends_elsewhere, (RNG.random(2), 5, 4)),
    (spread, (RNG.random(6), 5)),
    (spread, (RNG.random(1), 0)),
    (in_place, (RNG.random(7),)),
    (reads_its_target, (RNG.random(7),)),
    (carries, (RNG.random(7),)),
]


@pytest.mark.parametrize("function, args", PROGRAMS, ids=[f"{f.__name__}-{len(np.atleast_1d(a[0]))}" for f, a in PROGRAMS])
def test_gradient(function, args):
    check_gradient(function, args)


def test_compiled():
    def all_of_them(x, y, c):
        return stencil(x, c, 2) + ends_elsewhere(y[:2], 5, 4) + spread(y, 5) + reads_its_target(y)

    testing.check_gradient(all_of_them, (RNG.random((5, 6)), RNG.random(7), RNG.random((5, 6))), modes=("reverse",), jit=True)


GATHERS = [(stencil, True), (squares, True), (spread, True), (in_place, False), (reads_its_target, False), (carries, False)]


@pytest.mark.parametrize("function, gathers", GATHERS)
def test_sums_are_gathered(function, gathers):
    args = dict(PROGRAMS[::-1])[function]
    text = stgrad.jit(function).lowered(*args) + stgrad.grad(function).lowered(*args)
    assert (re.search(r"\bw\w* = (np|runtime)\.zeros", text) is not None) == gathers


def test_complex_elements_of_a_loop_are_left_alone():
    """Forward over reverse mode of a load flow: the elements that the loop adds to are complex, its positions are not."""

    def flow(b, p, trips):
        n = len(b)
        admittance = np.zeros((n, n), dtype=complex)
        for k in range(n):
            i, j = k, k - 1
            y = 1 / (0.02 + 1j * b[k])
            admittance[i, i] += y
            admittance[j, j] += y
        v = np.ones(n, dtype=complex)
        for _ in range(trips):
            for i in range(n):
                s = 0j
                for j in range(n):
                    if j != i:
                        s += v[j]
                v[i] = (p[i] / v[i] - s) / admittance[i, i]
        return np.abs(v).sum()

    b, p, h = np.array([0.1, 0.3, 0.2]), np.array([0.0, -0.5, -0.3]), 1e-6
    g = stgrad.grad(flow)
    _, found = stgrad.jvp(g, (b, p, 4), (b, None, None))
    np.testing.assert_allclose(found, (g(b * (1 + h), p, 4) - g(b * (1 - h), p, 4)) / (2 * h), rtol=1e-5)
