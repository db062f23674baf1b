"""What Numba adds to Python: parallel loops, stencils, typed containers; each against differences, in plain Python and under Numba."""

from __future__ import annotations

import operator

import numba
import numpy as np
import pytest
from numba.typed import Dict, List
from thorough import check_gradient

import stgrad

X = np.array([0.4, 0.7, 0.2, 0.9, 0.5])
M = np.outer(X, X + 1.0)


def in_parallel(x):
    y = np.empty_like(x)
    total = 0.0
    for i in numba.prange(1, len(x)):
        y[i] = x[i] ** 2 * x[i - 1]
        total += y[i]
    return total


def places(x):
    total = 0.0
    for i in numba.pndindex(x.shape):
        total += x[i] ** 3
    return total


mean = numba.stencil(lambda a: 0.25 * (a[-1] * a[0] + a[1]))


@numba.stencil(cval=2.0)
def with_border(a):
    return a[-1] * a[0]


@numba.stencil(neighborhood=((-2, 0),))
def backwards(a):
    c = 0.0
    for i in range(-2, 1):
        c += a[i] * a[0]
    return c


@numba.stencil(standard_indexing=("b",))
def weighted(a, b):
    return a[-1] * b[0] + a[0] * b[1]


@numba.stencil
def plane(a):
    return a[-1, 0] * a[0, 1] + a[1, 0]


def into_out(x):
    out = np.full_like(x, 3.0)
    mean(x, out=out)
    return np.sum(mean(x) ** 2) + np.sum(out**2)


def with_options(x):
    return np.sum(with_border(x) ** 2) + np.sum(backwards(x))


def made_inside(x):
    local = numba.stencil(lambda a: a[0] * a[1])
    return np.sum(weighted(x, x**2)) + np.sum(local(x))


def stencil_of_plane(x):
    return np.sum(plane(x) ** 2)


def typed_containers(x):
    values, named = List(), Dict()
    for i in range(len(x)):
        values.append(x[i] * 2.0)
    named["u"] = x[0]
    named["v"] = x[1] * named["u"]
    return sum(values) * named["v"]


def in_place_operators(x):
    y = x.copy()
    z = operator.iadd(y, x)
    operator.imul(y, x)
    return np.sum(z**2)


def square(u):
    return u * u


by_element = np.frompyfunc(square, 1, 1)


def made_from_python(x):
    return np.sum(by_element(x))


# Called from Python, Numba compiles a stencil anew for each call; in compiled code, once.
STENCILS = (into_out, with_options, made_inside, stencil_of_plane)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
@pytest.mark.parametrize("function", [in_parallel, into_out, with_options, made_inside, typed_containers, in_place_operators, made_from_python])
def test_of_vector(function, jit):
    check_gradient(numba.njit(function) if function in STENCILS else function, (X,), order=1, jit=jit)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
@pytest.mark.parametrize("function", [places, stencil_of_plane])
def test_of_matrix(function, jit):
    check_gradient(numba.njit(function) if function in STENCILS else function, (M,), order=1, jit=jit)


def test_a_stencil_without_neighbourhood_needs_constant_indices():
    kernel = numba.stencil(lambda a, b: a[int(b[0])])
    with pytest.raises(stgrad.errors.NeedStaticError, match="an index of a stencil is not a constant"):
        stgrad.grad(lambda x: np.sum(kernel(x, x)), jit=False)(X)
