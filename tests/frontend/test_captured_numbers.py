"""Captured arrays without axes are the numbers that they hold: as Python and NumPy take them, and as they change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

N, M = np.array(2.0), np.array(3)


class Holder:
    pass


HELD = Holder()
HELD.k = np.array(1.5)
HELD.items = [np.array(0.5), np.array(2)]


def by_float(x):
    return float(N) * x + N.item() * x**2


def by_index(x):
    return N[()] * x + N * x * x + HELD.k * x


def of_math(x):
    return math.sin(N) * x + math.exp(HELD.k) * math.sqrt(x) + math.pow(x, N)


def in_tests(x):
    y = x if N > 1 else 2 * x
    if bool(HELD.items[0] < 1.0) and N:
        y = y * 3
    return y * max(N, x)


def shaped(x):
    return x * (N.shape == ()) * 2.0 + isinstance(N, np.ndarray) * x + N.ndim + np.array([N, x]).sum()


def of_places(x):
    s = 0.0
    for k in range(M):
        s += x[k] * N
    return s + x[M] * x[int(M) - 1]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [by_float, by_index, of_math, in_tests, shaped, of_places], ids=lambda f: f.__name__)
def test_numbers(f, jit) -> None:
    x = np.array([0.4, 1.3, 0.7, 2.1, 0.9]) if f is of_places else 1.3
    value, _ = stgrad.value_and_grad(f, jit=jit)(x)
    assert value == pytest.approx(f(x))
    check_gradient(f, (x,), argnums=0, jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_they_change(jit) -> None:
    scale = np.array(2.0)

    def f(x):
        return float(scale) * x + scale * x**2

    gradient = stgrad.grad(f, jit=jit)
    for number in (2.0, 5.0, -1.0):
        scale[()] = number
        assert gradient(1.0) == 3.0 * number
