"""Functions of elements that an outer loop never changes are tabulated before it; all others are computed where they stand."""

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RNG = np.random.default_rng(5)
A, X, M = RNG.random(3), RNG.random((4, 3)), RNG.random((3, 3))


def log_parameters(a, x):
    total = 0.0
    for p in range(x.shape[0]):
        s = 0.0
        for j in range(len(a)):
            s += math.exp(a[j]) * x[p, j]
        total += math.log(s)
    return total


def mixture(m, x):
    total = 0.0
    for p in range(x.shape[0]):
        for c in range(m.shape[0]):
            s = 0.0
            for j in range(m.shape[1]):
                s += (x[p, j] - math.sin(2.0 * m[c, j] + 0.5)) ** 2
            total += s * math.exp(-s)
    return total


def shifted(a, x, k):
    total = 0.0
    for p in range(x.shape[0]):
        for j in range(len(a) - k):
            total += math.exp(a[j + k]) * x[p, j]
    return total


def written(a, x):
    a = a.copy()
    total = 0.0
    for p in range(x.shape[0]):
        for j in range(len(a)):
            total += math.exp(a[j]) * x[p, j]
            a[j] = a[j] * 0.5
    return total


def written_elsewhere(a, x):
    a = a.copy()
    b = a
    total = 0.0
    for p in range(x.shape[0]):
        for j in range(len(a)):
            total += math.exp(a[j]) * x[p, j]
        b[p % 3] = total * 0.01
    return total


def sometimes(a, x):
    total = 0.0
    for p in range(x.shape[0]):
        for j in range(len(a)):
            if x[p, j] > 0.5:
                total += math.exp(a[j]) * x[p, j]
    return total


def triangular(a, x):
    total = 0.0
    for p in range(x.shape[0]):
        for j in range(p):
            total += math.exp(a[j]) * x[p, j]
    return total


def with_the_outer_counter(a, x):
    total = 0.0
    for p in range(x.shape[0]):
        for j in range(len(a)):
            total += math.exp(a[j] * (p + 1.0)) * x[p, j]
    return total


PROGRAMS = [
    (log_parameters, (A, X)),
    (mixture, (M, X)),
    (shifted, (A, X, 1)),
    (shifted, (A, X, 5)),
    (shifted, (A, X[:0], -2)),
    *((f, (A, X)) for f in (written, written_elsewhere, sometimes, triangular, with_the_outer_counter)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS)
def test_gradients(f, args):
    check_gradient(f, args, jit=False)


def test_compiled():
    check_gradient(mixture, (M, X))


@pytest.mark.parametrize(("f", "args"), [(log_parameters, (A, X)), (mixture, (M, X))])
def test_what_is_tabulated(f, args):
    assert "_table" in stgrad.grad(f).lowered(*args)


@pytest.mark.parametrize("f", [written, written_elsewhere, sometimes, triangular, with_the_outer_counter])
def test_what_is_not(f):
    assert "_table" not in stgrad.jit(f).lowered(A, X)
