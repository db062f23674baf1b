"""Functions that native code calls, keeps or compares, and NumPy's own code in Python, in recorded runs: derivatives against differences."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import distance

from stgrad.plain import recorded

V = np.array([0.3, 0.9, 0.4, 0.7])


def square(v):
    return v * v


def mapped(x):
    a, b = map(np.asarray, (x, x[:1]))
    return sum(map(math.sin, x)) * sum(itertools.starmap(math.atan2, zip(x, x[1:], strict=False))) + np.sum(a * b)


def folded(x):
    *_, last = itertools.accumulate(x, math.hypot)
    return functools.reduce(math.hypot, x) * last + max(x, key=math.cos) + len(list(filter(math.isfinite, x))) * x[0]


def sorted_by(x):
    values = list(x)
    values.sort(key=math.sin)
    return values[0] * values[-1]


def kept(x):
    functions, weights = [], {square: 2.0, math.sin: 3.0}
    functions.append(square)
    functions.append(math.sin)
    known = functions[0] is square and operator.is_(functions[1], math.sin)
    return sum(f(x[0]) * weights.get(f, 1.0) for f in functions) * (x[1] if known else x[2])


def elements(x):
    both = np.frompyfunc(lambda a, b: (a + b, math.hypot(a, b)), 2, 2)
    s, h = both(x, x[::-1])
    return np.sum(s.astype(float) * np.asarray(h, dtype=float)) + np.sum(np.vectorize(math.sin)(x)) + np.sum(np.fromiter((v * v for v in x), float))


def joined(x):
    return np.sum(np.r_[x, x[0], 1.0] ** 2) + np.sum(np.c_[x, x * x] ** 3) + np.sum(np.r_["0,2", x, x] ** 2) + np.sum(np.r_[1:3, x])


def polynomials(x):
    p = np.polynomial.Polynomial(x)
    return (p * np.polynomial.Polynomial([1.0, 2.0]) + p).deriv()(x[0]) + np.polynomial.Chebyshev(x)(0.3)


def iterated(x):
    total = 0.0
    with np.nditer(x) as items:
        for v in items:
            total += v * v
    return total


def distinct(x):
    rows, inverse, counts = np.unique(np.stack([x, x, 2.0 * x]), axis=0, return_inverse=True, return_counts=True)
    return np.sum(rows**2 * counts[:, None]) + np.sum(rows[inverse] ** 3)


def annotated(x):
    @dataclass
    class Pair:
        a: float
        b: float = 2.0

    class Named(NamedTuple):
        a: float
        b: float = 3.0

    @functools.singledispatch
    def scaled(v):
        return v

    @scaled.register
    def _(v: np.ndarray):
        k: float = 2.0
        return k * v

    return Pair(x[0]).a * Pair(x[1]).b * Named(x[2]).b * np.sum(scaled(x * x))


def wrapped(x):
    return np.sum(x.__array_wrap__(x * x)) * np.trace(np.outer(x, x), dtype=np.float64) * (1.0 if object.__getattribute__(None, "__doc__") is None else 2.0)


def of_scipy(x):
    d = distance.squareform(distance.pdist(x[:, None]))
    law = stats.norm(x[0], x[1])
    return np.sum(d**3) + np.sum(distance.cdist(x[:, None], d[:1].T + 2.0)) + law.pdf(0.3) + np.sum(stats.norm.ppf(x / 2))


PROGRAMS = (mapped, folded, sorted_by, kept, elements, joined, polynomials, iterated, distinct, annotated, wrapped, of_scipy)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives(f):
    found = recorded(f, (V,), {}, ((0, 0),))
    h = 1e-6
    wanted = [(f(V + h * e) - f(V - h * e)) / (2 * h) for e in np.eye(len(V))]
    np.testing.assert_allclose(found.value, f(V))
    np.testing.assert_allclose(found.pullback(1.0)[0], wanted, rtol=1e-6, atol=1e-7)
