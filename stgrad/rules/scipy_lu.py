"""The LU factorisation of scipy.linalg, and the solves by it.

Source: de Hoog, Anderssen & Lukas (2011), "Differentiation of matrix functionals using triangular factorization".
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .core import adjoint, samples, tangent
from .linalg import spread
from .products import conj, hermitian
from .scipy_linalg import column, must_be_square, transposition


def row_order(piv):
    """The permutation that a sequence of row swaps makes."""
    order = np.arange(np.size(piv))
    for i in range(np.size(piv)):
        kept = order[i]
        order[i] = order[piv[i]]
        order[piv[i]] = kept
    return order


def factors(lu):
    return np.tril(lu, -1) + np.eye(np.shape(lu)[0], dtype=lu.dtype), np.triu(lu)


def factors_for_any_rank(lu):
    """The factors with 1 for the last pivot, which is 0 where a matrix lacks one in its rank: derivatives by these factors multiply and divide by it."""
    low, up = factors(lu)
    last = np.arange(np.shape(lu)[0]) == np.shape(lu)[0] - 1
    return low, np.where(np.expand_dims(last, -1) & last, 1.0, up).astype(lu.dtype)


@adjoint(sl.lu_factor)
def lu_factor(y, y_bar, a):
    """a[order] = l u: l^-H (tril(l^H l_bar, -1) + triu(u_bar u^H)) u^-H, back in the order of the rows of `a`."""
    must_be_square(a)
    low, up = factors_for_any_rank(y[0])
    inner = np.tril(np.matmul(hermitian(low), np.tril(y_bar[0], -1)), -1) + np.triu(np.matmul(np.triu(y_bar[0]), hermitian(up)))
    left = np.linalg.solve(hermitian(low), inner)
    return hermitian(np.linalg.solve(up, hermitian(left)))[np.argsort(row_order(y[1]))]


@tangent(sl.lu_factor)
def lu_factor_dot(y, a, a_dot):
    must_be_square(a)
    low, up = factors_for_any_rank(y[0])
    inner = np.linalg.solve(low, a_dot[row_order(y[1])])
    inner = hermitian(np.linalg.solve(hermitian(up), hermitian(inner)))
    return np.matmul(low, np.tril(inner, -1)) + np.matmul(np.triu(inner), up), np.zeros_like(y[1])


@adjoint(sl.lu_solve)
def lu_solve(y, y_bar, lu_and_piv, b, trans=0):
    lu, piv = lu_and_piv
    low, up = factors(lu)
    way = transposition(trans)
    if way == "N":
        b_bar = sl.lu_solve(lu_and_piv, y_bar, trans=2)
        a_bar = -np.matmul(column(b_bar), hermitian(column(y)))
    elif way == "C":
        b_bar = sl.lu_solve(lu_and_piv, y_bar, trans=0)
        a_bar = -np.matmul(column(y), hermitian(column(b_bar)))
    else:
        b_bar = conj(sl.lu_solve(lu_and_piv, conj(y_bar), trans=0))
        a_bar = -np.matmul(conj(column(y)), np.transpose(column(b_bar)))
    product_bar = a_bar[row_order(piv)]
    lu_bar = np.tril(np.matmul(product_bar, hermitian(up)), -1) + np.triu(np.matmul(hermitian(low), product_bar))
    return (lu_bar, None), b_bar


@tangent(sl.lu_solve)
def lu_solve_dot(y, lu_and_piv, b, lu_and_piv_dot, b_dot, trans=0):
    low, up = factors(lu_and_piv[0])
    product_dot = np.matmul(np.tril(lu_and_piv_dot[0], -1), up) + np.matmul(low, np.triu(lu_and_piv_dot[0]))
    a_dot = product_dot[np.argsort(row_order(lu_and_piv[1]))]
    way = transposition(trans)
    change = a_dot if way == "N" else hermitian(a_dot) if way == "C" else np.transpose(a_dot)
    return sl.lu_solve(lu_and_piv, b_dot - np.matmul(change, y), trans=trans)


@samples(sl.lu_factor)
def _(rng):
    yield (rng.normal(size=(4, 4)),), {}
    yield (spread(rng, 3, 3) + 1j * rng.normal(size=(3, 3)),), {}


@samples(sl.lu_solve)
def _(rng):
    for trans in (0, 1, 2):
        yield (sl.lu_factor(rng.normal(size=(4, 4))), rng.normal(size=4), trans), {}
        yield (sl.lu_factor(spread(rng, 3, 3) + 1j), rng.normal(size=(3, 2)) + 1j, trans), {}
