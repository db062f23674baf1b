"""Remainders of places among so many take no division, and are what Python has of all integers."""

from __future__ import annotations

import numpy as np
from thorough import check_gradient

import stgrad


def periodic(u, c):
    n = u.shape[0]
    total = 0.0
    for i in range(n):
        slope = u[(i + 1) % n] - 2.0 * u[i] + u[(i - 1) % n]
        total += (slope * c + u[(i + 7) % n] * u[(i - 9) % n]) ** 2
    return total


def signs(x, n, m):
    total = 0.0
    for k in range(-n, n):
        total += x[(k * 3) % m] * x[k % 2] + (k % -m) * x[0] ** 2
    return total


def test_remainders():
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 8):
        check_gradient(periodic, (rng.standard_normal(n), 0.7), argnums=(0, 1))
    assert "runtime.wrapped(" in stgrad.grad(periodic).lowered(rng.standard_normal(3), 0.7)
    check_gradient(signs, (rng.standard_normal(5), 11, 5))
    check_gradient(signs, (rng.standard_normal(5), 4, 3))
