"""Arguments as NumPy takes them: `out` by position, truth values for positions and counts; what it does not take is refused with a place."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import stgrad
from stgrad.errors import NeedStaticError, StgradError, UnsupportedSyntaxError

X, Y = np.array([0.3, 0.6, 0.9]), np.array([0.5, 0.2, 0.7])


def slopes(f, h=1e-6):
    at_x = [(f(X + h * e, Y) - f(X - h * e, Y)) / (2 * h) for e in np.eye(3)]
    return np.array(at_x), np.array([(f(X, Y + h * e) - f(X, Y - h * e)) / (2 * h) for e in np.eye(3)])


def check(f, jit):
    found = stgrad.grad(f, argnums=(0, 1), jit=jit)(X.copy(), Y.copy())
    for got, want in zip(found, slopes(f), strict=True):
        assert np.allclose(got, want, rtol=1e-6, atol=1e-8)


def dot(x, y):
    c = np.zeros(3)
    np.dot(np.outer(x, x), y, c)
    return np.sum(c * y)


def dot_of_a_method(x, y):
    c = np.zeros(3)
    np.outer(x, x).dot(y, c)
    return np.sum(c * y)


def two_of_three(x, y):
    """The third result has a new array."""
    whole = np.zeros(3)
    part, _ = np.modf(x * 3.0, None, whole)
    return np.sum(part * y + whole)


def take(x, y):
    return np.sum(np.take(x, y > 0.4) * y) + np.sum(y.take(x > 0.5))


def put(x, y):
    a = x * y
    np.put(a, y > 0.4, x)
    return np.sum(a * y)


def counts(x, y):
    return np.sum(np.bincount(x > 0.5, x) * y[:2]) + np.sum(np.repeat(x, y > 0.4) ** 2)


def choose(x, y):
    return np.sum(np.choose(x > 0.5, [x, y]) * y)


def tile(x, y):
    return np.sum(np.tile(x, np.arange(1, 4)) ** 2 * np.tile(y, (1, 2, 3)))


def edges(x, y):
    return np.sum(np.histogram_bin_edges(x, 4) * np.arange(5.0)) + np.sum(np.histogram_bin_edges(x, np.sort(y)) ** 2 * x[0])


def products_of_polynomials(x, y):
    """Zeros at the front are no coefficients."""
    return np.sum(np.polymul(np.array([0.0, 0.0, 1.0]) * x, y) * y)


def integral(x, y):
    return np.sum(np.polyint(x, 1.0) * np.polyint(x)) + np.sum(np.polyfit(x, y, 1.0))


def crossed_borders(x, y):
    return np.sum(np.clip(x, y, y) * x) + np.sum(np.clip(y, x, x - 0.1))


def integer_orders(x, y):
    """SciPy drops what is behind the point."""
    return np.sum(sp.expn(np.array([0, 1, 3]), x) * y) + np.sum(sp.yn(1.0, x) + sp.kn(2.0, y))


def borders_of_powers(x, y):
    flags = np.array([0.0, 1.0, 2.0])
    return np.sum(sp.boxcox(flags, x)) + np.sum(sp.powm1(flags, y))


PROGRAMS = [dot, dot_of_a_method, two_of_three, take, put, counts, choose, tile, edges, products_of_polynomials, integral, crossed_borders]
PROGRAMS += [integer_orders, borders_of_powers]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_taken(f, jit):
    check(f, jit)


def a_number_for_a_dtype(x, y):
    return np.sum(np.asarray(x, y[0]))


def many(x, y):
    return np.dot(x, y, x, y)


def ranks_by_length(x, y):
    return np.sum(np.tile(x, np.flatnonzero(y > 0.4)))


def a_function_too_few(x, y):
    return np.sum(np.piecewise(x, [x > 0.5, x > 0.7], [y[0]]))


@pytest.mark.parametrize(
    ("f", "kind"), [(a_number_for_a_dtype, NeedStaticError), (many, StgradError), (ranks_by_length, UnsupportedSyntaxError)]
)
def test_refused(f, kind):
    with pytest.raises(kind) as caught:
        stgrad.grad(f, jit=True)(X, Y)
    assert caught.value.loc.line == f.__code__.co_firstlineno + 1


def test_raised():
    with pytest.raises(ValueError, match="2 condition"):
        stgrad.grad(a_function_too_few, jit=False)(X, Y)
