"""Matrices that inner loops walk down are turned before the outermost loop, where that is the same and pays."""

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RNG = np.random.default_rng(4)
A, X, C = RNG.standard_normal((3, 4)), RNG.standard_normal(3), RNG.standard_normal((4, 4))


def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return np.sum(c * c)


def transposed_products(a, x, n):
    total = 0.0
    for t in range(n):
        for j in range(a.shape[1]):
            s = 0.0
            for i in range(a.shape[0]):
                s += math.sin(a[i, j] * x[i]) * (t + 1.0)
            total += s * s
    return total


def forward_algorithm(move, start, n):
    m = len(start)
    p = start.copy()
    q = np.empty(m)
    total = 0.0
    for t in range(n):
        for j in range(m):
            s = 0.0
            for i in range(m):
                s += p[i] * math.exp(move[i, j])
            q[j] = s
        scale = 0.0
        for j in range(m):
            scale += q[j]
        for j in range(m):
            p[j] = q[j] / scale
        total += math.log(scale)
    return total


def upper_part(a, n):
    total = 0.0
    for t in range(n):
        for j in range(a.shape[1]):
            for i in range(min(j, a.shape[0])):
                total += a[i, j] * a[i, j] * (t + 1.0)
    return total


def from_the_end(a, n):
    total = 0.0
    for t in range(n):
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                total += a[i - 1, j] * a[-1, j]
    return total


def written_too(c, n):
    a = c.copy()
    for t in range(n):
        for j in range(a.shape[1]):
            for i in range(1, a.shape[0]):
                a[i, j] = a[i, j] + 0.5 * a[i - 1, j] * a[i, j]
    return np.sum(a * a)


def under_two_names(c, n):
    a = c.copy()
    b = a
    total = 0.0
    for t in range(n):
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                total += a[i, j] * (t + 1.0)
            b[0, j] = total * 0.1
    return total


def both_ways(c, n):
    total = 0.0
    for t in range(n):
        for j in range(c.shape[1]):
            for i in range(c.shape[0]):
                total += c[i, j] * c[j, i] * c[i, j]
    return total


PROGRAMS = [
    (product, (A, C)),
    (transposed_products, (A, X, 2)),
    (transposed_products, (A, X, 0)),
    (forward_algorithm, (C, RNG.random(4), 3)),
    (upper_part, (A, 2)),
    (from_the_end, (A, 2)),
    (written_too, (C, 2)),
    (under_two_names, (C, 2)),
    (both_ways, (C, 2)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS)
def test_gradients(f, args):
    check_gradient(f, args, jit=False)


@pytest.mark.parametrize(("f", "args"), [(product, (A, C)), (forward_algorithm, (C, RNG.random(4), 3))])
def test_compiled(f, args):
    check_gradient(f, args)


@pytest.mark.parametrize(("f", "args"), [(product, (A, C)), (transposed_products, (A, X, 2)), (forward_algorithm, (C, RNG.random(4), 3))])
def test_what_is_turned(f, args):
    assert "_turned" in stgrad.grad(f).lowered(*args)
    assert "_turned" not in stgrad.grad(f, without=("layouts",)).lowered(*args)


@pytest.mark.parametrize("f", [written_too, under_two_names])
def test_what_is_not(f):
    assert "a_turned" not in stgrad.jit(f).lowered(C, 2)
