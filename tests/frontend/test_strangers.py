"""Smallest programs of mended faults, in the way strangers write them: values and derivatives, plain, compiled and recorded."""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import stgrad
from stgrad import errors

X = np.array([0.7, 1.3, 2.1, 0.4, 1.9])


class Vec(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __abs__(self):
        return (self @ self) ** 0.5

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __eq__(self, other):
        return abs(self) == abs(other)

    def __call__(self, t):
        return self.x + t * self.y


class Backwards(namedtuple("Backwards", "a b")):
    def __getitem__(self, i):
        return tuple.__getitem__(self, 1 - i)


@dataclass
class Body:
    v: np.ndarray

    @property
    def speed(self):
        return math.sqrt(self.v[0] ** 2 + self.v[1] ** 2)

    @functools.cached_property
    def energy(self):
        return 0.5 * math.pow(self.speed, 2.0)


def added(x):
    return (Vec(x[0], x[1]) + Vec(x[2], x[3]))[0] * x[4]


def scaled(x):
    return (2 * Vec(x[0], x[1]) * x[2]).y * (-Vec(x[3], 1.0)).x


def summed(x):
    v = sum([Vec(x[0], x[1]), Vec(x[2], x[3])], Vec(0.0, 0.0))
    for i in range(3):
        v += Vec(x[4], float(i))
    return v @ v + abs(v) * v(x[0])


def compared(x):
    return x[0] ** 2 if Vec(x[0], x[1]) == Vec(x[1], x[0]) and Vec(x[0], x[1]) < Vec(x[2], x[3]) else x[1]


def alias_of_applied(x):
    y = np.apply_along_axis(np.sum, 0, x)
    b = y
    y += x[0]
    return b * b


def alias_of_applied_rows(x):
    y = np.apply_along_axis(lambda r: r, 0, x)
    y *= 2.0
    return np.sum(x * y)


def piecewise_number(x):
    small = np.piecewise(x[0], [x[0] < 0.0, x[0] >= 0.0], [lambda t: -t, lambda t: t**2])
    return float(small) * np.piecewise(x[1] * x[2], [x[1] > 9.0], [1.0, lambda t: t**3])


def piecewise_of_one_mask(x):
    return np.sum(np.piecewise(x, x < 1.0, [lambda t, k: k * t, lambda t, k: t**2 * k], 3.0) * x)


def piecewise_of_nobody(x):
    return np.sum(np.piecewise(x, [x < -5.0, x > 1.0], [lambda t: t / np.max(t), np.sin, 0.5]) * x)


def unrolled_inside_a_loop(x):
    angles = np.zeros(3)
    for _ in range(3):
        row = np.empty(2)
        for i in (1, 2):
            row[0] = -sum(x[m] * np.sin(angles[i]) for m in range(3) if m != i)
            row[1] = x[i]
            angles[i] += row @ x[:2]
    return angles[1] * angles[2]


def table_of_run_time_length(x):
    n = len(x)
    y = [0.0] * n
    b = y
    y[0] = x[0]
    for i in range(1, n):
        b[i] = y[i - 1] * 0.5 + x[i]
    copy = list(y)
    copy[1] = 5.0
    y = y[::-1]
    z = np.array(y) * 2.0 + x
    return float(np.sum(z * z)) + max(y) + y[-1] + sum(copy)


def rows_of_run_time_length(x):
    n = len(x)
    table = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            table[i][j] = x[i] * x[j] + (table[i - 1][j] if i else 0.0)
    return table[n - 1][n - 1] * table[1][2]


def repeated_none_and_some(x):
    n = len(x)
    none, some, hits = [1.0] * (n - 7), (n - 3) * [x[0] * x[1]], [0] * n
    for i in range(n):
        if x[i] > 1.0:
            hits[i] += 2
    some.append(x[3])
    return sum(none) * x[0] + sum(some) * some[-1] * len(some) + sum(hits[i] * x[i] for i in range(n))


PROGRAMS = (
    added, scaled, summed, compared, alias_of_applied, alias_of_applied_rows, piecewise_number, piecewise_of_one_mask, piecewise_of_nobody,
    unrolled_inside_a_loop, table_of_run_time_length, rows_of_run_time_length, repeated_none_and_some,
)  # fmt: skip


def quotients(f):
    steps = 1e-6 * np.eye(5)
    return np.array([(f(X + s) - f(X - s)) / 2e-6 for s in steps])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(f):
    value, gradient = stgrad.value_and_grad(f, jit=False)(X)
    np.testing.assert_allclose(value, f(X))
    np.testing.assert_allclose(gradient, quotients(f), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", [compared, alias_of_applied, piecewise_number, table_of_run_time_length], ids=lambda f: f.__name__)
def test_compiled(f):
    np.testing.assert_allclose(stgrad.grad(f, jit=True)(X), quotients(f), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_twice(f):
    v = np.cos(np.arange(5.0))
    (product,) = stgrad.hvp(f, (X,), (v,), jit=False)
    gradient = stgrad.grad(f, jit=False)
    np.testing.assert_allclose(product, (gradient(X + 1e-6 * v) - gradient(X - 1e-6 * v)) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [lambda x: Backwards(x[0], x[1])[0] * x[2], lambda x: sorted([Vec(x[0], x[1]), Vec(x[2], x[3])])[0].x])
def test_tuples_of_another_mind_are_refused(f):
    with pytest.raises(errors.StgradError):
        stgrad.grad(f, jit=False)(X)


def test_a_list_of_integers_takes_no_floats():
    def f(x):
        items = [0] * len(x)
        items[1] = x[0]
        return items[1] * x[0]

    try:
        found = stgrad.grad(f, jit=False)(X)
    except errors.StgradError:
        return
    np.testing.assert_allclose(found, quotients(f), rtol=1e-6)


def test_properties_are_recorded(monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    def moved(x):
        table = {str(x[0]): 2.0}  # no compiler reads this
        body = Body(np.array([x[0], x[1]]) * table[str(x[0])])
        body.v = body.v + x[2]
        return body.speed * body.energy + body.energy

    with pytest.warns(UserWarning):
        found = stgrad.grad(moved)(X)
    np.testing.assert_allclose(found, quotients(moved), rtol=1e-6, atol=1e-7)


class Doubled:
    def __init__(self, v):
        self.v = v

    def __array__(self, dtype=None, copy=None):
        return self.v * 2.0


def test_arrays_of_instances():
    """An instance is what its class says; it is not the number that it happens to hold."""
    np.testing.assert_allclose(stgrad.grad(lambda x: np.sum(np.asarray(Doubled(x))) * x[0], jit=False)(X), [2.0 * (sum(X) + X[0]), 1.4, 1.4, 1.4, 1.4])
    with pytest.raises(errors.TypeInferenceError, match="an array of `Body` is not supported"):
        stgrad.grad(lambda x: np.sum(np.array([Body(x[0])])), jit=False)(X)
