"""Attributes that an object gets in a loop: from its class before, or from nowhere."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


class Seen:
    hits = 0
    last = None
    best = (-1, -1.0)

    def __init__(self, x):
        self.x = x

    def see(self, v, i):
        self.hits += 1
        if v > self.best[1]:
            self.best = (i, v)
        self.total = getattr(self, "total", 0.0) + v
        self.last = v


def from_the_class(x):
    seen = Seen(x)
    for i in range(len(x)):
        seen.see(x[i] ** 2, i)
    return seen.hits * seen.best[1] + seen.best[0] * np.sum(seen.x) + seen.total


def in_a_branch(x):
    seen = Seen(x)
    for i in range(len(x)):
        if x[i] > 0.7:
            seen.found = x[i] * i
    return seen.found * seen.x[0]


def asked_for(x):
    seen = Seen(x)
    i = 0
    while i < len(x):
        if i == 2:
            seen.gain = x[i] ** 2
        if i > 2:
            seen.hits = seen.hits + seen.gain
        i += 1
    return seen.hits + (seen.gain if hasattr(seen, "gain") else 0.0) + x[0]


class Padded:
    cache = (-1, -1)

    def __init__(self, w):
        self.w = w

    def padding(self, n):
        if self.cache[0] == n:
            return self.cache[1]
        for q in range(n):
            if q + 2 >= n or np.all(self.w[: n - q - 2] == 0):
                self.cache = (n, q + 1)
                return q + 1
        raise RuntimeError


def remembered(x):
    padded = Padded(x * 2.0)
    return padded.padding(len(x)) * np.sum(padded.w**2) + padded.padding(len(x))


def arrays(x):
    """An array that a branch of the loop gives the object first: before that it has none."""
    seen = Seen(x)
    for i in range(len(x) - 1):
        seen.see(x[i], i)
        if x[i] > 0.6:
            seen.row = x[i : i + 2] * seen.hits
    return np.sum(seen.row**2) + seen.last


X = np.array([0.5, 0.9, 0.8, 1.3])


@pytest.mark.parametrize("f", [from_the_class, in_a_branch, asked_for, remembered, arrays])
@pytest.mark.parametrize("jit", [False, True])
def test_derivatives(f, jit):
    check_gradient(f, (X,), jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_what_no_trip_has_set(jit):
    with pytest.raises(AttributeError, match="found"):
        in_a_branch(X[:1])
    with pytest.raises(AttributeError, match="found"):
        stgrad.grad(in_a_branch, jit=jit)(X[:1])
    np.testing.assert_allclose(stgrad.grad(asked_for, jit=jit)(X[:2]), [1.0, 0.0])
    assert Seen.hits == 0 and Seen.best == (-1, -1.0) and not hasattr(Seen, "total")


def test_no_flag_where_the_class_has_a_default():
    text = stgrad.jit(from_the_class).source(X)
    assert "lacks_hits" not in text and "lacks_best" not in text
