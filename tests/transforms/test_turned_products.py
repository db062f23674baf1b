"""Outer products of which only the transpose is read are made the other way round."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import testing

RNG = np.random.default_rng(5)


def both_ways(A, x, y):
    return np.sum((A @ x) ** 2) + np.sum((A.T @ y) ** 3)


def read_twice(x, y):
    P = np.outer(x, y)
    Q = P.T
    return np.sum(Q * Q) + np.sum(P[0])


def written(x, y):
    """The product's memory is that of its transpose."""
    P = np.outer(x, y)
    Q = P.T
    Q[0] *= x[0]
    return np.sum(P**2)


def made_anew(x, y):
    Q = np.ones((3, 2))
    for k in range(2):
        t = np.sum(Q) * x
        P = np.outer(t, y)
        Q = np.transpose(P)
    return np.sum(Q**2 * y[:, None])


PROGRAMS = [
    (both_ways, (RNG.random((2, 3)), RNG.random(3), RNG.random(2))),
    (read_twice, (RNG.random(2), RNG.random(3))),
    (written, (RNG.random(2), RNG.random(3))),
    (made_anew, (RNG.random(2), RNG.random(3))),
]


@pytest.mark.parametrize("function, args", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_gradient(function, args):
    check_gradient(function, args)


def test_compiled():
    testing.check_gradient(both_ways, PROGRAMS[0][1], jit=True)


def test_cotangents_of_both_products_lie_in_memory_the_same_way():
    assert "np.transpose(np.outer(" not in stgrad.grad(both_ways).source(*PROGRAMS[0][1])
    assert stgrad.grad(both_ways)(*PROGRAMS[0][1]).flags.c_contiguous
