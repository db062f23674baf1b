"""Derivatives of scipy.linalg: triangular, banded and factored solves, functions of matrices.

Sources: Giles (2008); Al-Mohy & Higham (2009) for expm by a block matrix. What numpy.linalg has too is a composition of it.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .core import adjoint, composite, refuse, samples, static, tangent
from .decompositions import cholesky as cholesky_adjoint
from .decompositions import (
    cholesky_dot,
    diagonal_of,
    is_hermitian,
    mirrored,
    of_the_half_read,
    on_the_half_read,
    over_gaps,
    positive,
    real_part,
    symmetrised,
    times_columns,
    undetermined_phases,
)
from .joining import offset
from .linalg import spread
from .products import conj, hermitian

# ------------------------------------------------------------------ triangular systems


@static
def transposition(trans):
    return {0: "N", 1: "T", 2: "C"}.get(trans, trans)


def column(x):
    return x if np.ndim(x) == 2 else np.expand_dims(x, 1)


def triangle(a, lower, unit_diagonal):
    """The part of `a` that a triangular solve reads."""
    if lower:
        return np.tril(a, -1 if unit_diagonal else 0)
    return np.triu(a, 1 if unit_diagonal else 0)


@adjoint(sl.solve_triangular)
def solve_triangular(y, y_bar, a, b, trans=0, lower=False, unit_diagonal=False):
    """Reads one triangle of a (n, n), and gives cotangents to it alone."""
    way = transposition(trans)
    if way == "T":
        b_bar = sl.solve_triangular(conj(a), y_bar, trans=0, lower=lower, unit_diagonal=unit_diagonal)
        a_bar = -np.matmul(conj(column(y)), np.transpose(column(b_bar)))
    elif way == "C":
        b_bar = sl.solve_triangular(a, y_bar, trans=0, lower=lower, unit_diagonal=unit_diagonal)
        a_bar = -np.matmul(column(y), hermitian(column(b_bar)))
    else:
        b_bar = sl.solve_triangular(a, y_bar, trans=2, lower=lower, unit_diagonal=unit_diagonal)
        a_bar = -np.matmul(column(b_bar), hermitian(column(y)))
    return triangle(a_bar, lower, unit_diagonal), b_bar


@tangent(sl.solve_triangular)
def solve_triangular_dot(y, a, b, a_dot, b_dot, trans=0, lower=False, unit_diagonal=False):
    change = triangle(a_dot, lower, unit_diagonal)
    if transposition(trans) == "T":
        change = np.transpose(change)
    elif transposition(trans) == "C":
        change = hermitian(change)
    return sl.solve_triangular(a, b_dot - np.matmul(change, y), trans=trans, lower=lower, unit_diagonal=unit_diagonal)


@samples(sl.solve_triangular)
def _(rng):
    for trans in (0, 1, 2, "T"):
        yield (spread(rng, 3, 3), rng.normal(size=3), trans), {}
        yield (spread(rng, 3, 3), rng.normal(size=(3, 2)), trans, True), {"unit_diagonal": True}
        yield (spread(rng, 3, 3) + 1j * rng.normal(size=(3, 3)), rng.normal(size=3) + 1j, trans, True), {}


def must_be_square(a):
    refuse(np.ndim(a) != 2, "this function has a derivative for one square matrix alone", "call it for each matrix")
    if np.shape(a)[0] != np.shape(a)[1]:
        raise ValueError("this function of a matrix that is not square has no derivative here")


# ------------------------------------------------------------------ cholesky and its solves


@adjoint(sl.cholesky)
def cholesky(y, y_bar, a, lower=False):
    return cholesky_adjoint(y, y_bar, a, upper=not lower)


@tangent(sl.cholesky)
def cholesky_tangent(y, a, a_dot, lower=False):
    return cholesky_dot(y, a, a_dot, upper=not lower)


def halves(c, lower):
    """The factor, and the other triangle, where SciPy leaves what was in `a`."""
    return (np.tril(c), np.triu(c, 1)) if lower else (np.triu(c), np.tril(c, -1))


@adjoint(sl.cho_factor)
def cho_factor(y, y_bar, a, lower=False):
    factor_bar, rest_bar = halves(y_bar[0], lower)
    return cholesky_adjoint(halves(y[0], lower)[0], factor_bar, a, upper=not lower) + np.where(is_hermitian(a), symmetrised(rest_bar), rest_bar)


@tangent(sl.cho_factor)
def cho_factor_dot(y, a, a_dot, lower=False):
    factor_dot = cholesky_dot(halves(y[0], lower)[0], a, a_dot, upper=not lower)
    return factor_dot + halves(np.where(is_hermitian(a), symmetrised(a_dot), a_dot), lower)[1], y[1]


@adjoint(sl.cho_solve)
def cho_solve(y, y_bar, c_and_lower, b):
    """a x = b with a = c c^H (or c^H c): a_bar = -b_bar x^H, c_bar = tril((a_bar + a_bar^H) c)."""
    c, lower = c_and_lower
    b_bar = sl.cho_solve(c_and_lower, y_bar)
    a_bar = -np.matmul(column(b_bar), hermitian(column(y)))
    both, factor = a_bar + hermitian(a_bar), halves(c, lower)[0]
    c_bar = np.tril(np.matmul(both, factor)) if lower else np.triu(np.matmul(factor, both))
    return (c_bar, None), b_bar


@tangent(sl.cho_solve)
def cho_solve_dot(y, c_and_lower, b, c_and_lower_dot, b_dot):
    lower = c_and_lower[1]
    factor, change = halves(c_and_lower[0], lower)[0], halves(c_and_lower_dot[0], lower)[0]
    half = np.matmul(change, hermitian(factor)) if lower else np.matmul(hermitian(change), factor)
    return sl.cho_solve(c_and_lower, b_dot - np.matmul(half + hermitian(half), y))


@samples(sl.cholesky, sl.cho_factor)
def _(rng):
    yield (positive(rng, 3, 3),), {}
    yield (positive(rng, 3, 3), True), {}


@samples(sl.cho_solve)
def _(rng):
    for lower in (True, False):
        yield ((spread(rng, 3, 3), lower), rng.normal(size=3)), {}
        yield ((spread(rng, 3, 3), lower), rng.normal(size=(3, 2))), {}


# ------------------------------------------------------------------ banded and Sylvester equations


@adjoint(sl.solve_banded)
def solve_banded(y, y_bar, l_and_u, ab, b):
    """ab[u + i - j, j] = a[i, j]; diagonal k of `a` is diagonal -k of a^H."""
    below, above = l_and_u
    n = np.shape(ab)[1]
    turned, ab_bar = np.zeros_like(ab), np.zeros_like(ab)
    for k in range(-below, above + 1):
        turned[below + k, max(0, -k) : n + min(0, -k)] = conj(ab[above - k, max(0, k) : n + min(0, k)])
    b_bar = sl.solve_banded((above, below), turned, y_bar)
    rows, columns = column(b_bar), conj(column(y))
    for k in range(-below, above + 1):
        product = rows[max(0, -k) : n + min(0, -k)] * columns[max(0, k) : n + min(0, k)]
        ab_bar[above - k, max(0, k) : n + min(0, k)] = -np.sum(product, axis=1)
    return None, ab_bar, b_bar


@tangent(sl.solve_banded)
def solve_banded_dot(y, l_and_u, ab, b, ab_dot, b_dot):
    below, above = l_and_u
    n = np.shape(ab)[1]
    change = np.copy(column(b_dot) + np.zeros_like(column(y)))
    known = column(y)
    for k in range(-below, above + 1):
        weights = np.expand_dims(ab_dot[above - k, max(0, k) : n + min(0, k)], 1)
        change[max(0, -k) : n + min(0, -k)] -= weights * known[max(0, k) : n + min(0, k)]
    return sl.solve_banded(l_and_u, ab, np.reshape(change, np.shape(b_dot)))


@adjoint(sl.solve_sylvester)
def solve_sylvester(y, y_bar, a, b, q):
    """a x + x b = q."""
    q_bar = sl.solve_sylvester(hermitian(a), hermitian(b), y_bar)
    return -np.matmul(q_bar, hermitian(y)), -np.matmul(hermitian(y), q_bar), q_bar


@tangent(sl.solve_sylvester)
def solve_sylvester_dot(y, a, b, q, a_dot, b_dot, q_dot):
    return sl.solve_sylvester(a, b, q_dot - np.matmul(a_dot, y) - np.matmul(y, b_dot))


@samples(sl.solve_banded)
def _(rng):
    for l_and_u in ((1, 1), (2, 0), (1, 2)):
        ab = rng.normal(size=(sum(l_and_u) + 1, 5))
        ab[l_and_u[1]] += 5.0
        yield (l_and_u, ab, rng.normal(size=5)), {}
        yield (l_and_u, ab, rng.normal(size=(5, 2))), {}


@samples(sl.solve_sylvester)
def _(rng):
    yield (spread(rng, 3, 3), spread(rng, 2, 2), rng.normal(size=(3, 2))), {}


# ------------------------------------------------------------------ eigenvectors


def values_alone(w_bar, pairs, a, b, lower):
    w, v = pairs
    a_bar = np.matmul(times_columns(v, w_bar), hermitian(v))
    if b is None:
        return on_the_half_read(a, a_bar, lower)
    return on_the_half_read(a, a_bar, lower), on_the_half_read(b, -np.matmul(times_columns(v, w_bar * w), hermitian(v)), lower)


@adjoint(sl.eigh)
def eigh(y, y_bar, a, b=None, *, lower=True, eigvals_only=False):
    """a v = w b v with v^H b v = 1; see np.linalg.eigh."""
    if eigvals_only:
        return values_alone(y_bar, sl.eigh(a, b, lower=lower), a, b, lower)
    w, v = y[0], y[1]
    turned = np.matmul(hermitian(v), y_bar[1])
    middle = over_gaps(w, turned) + np.diag(y_bar[0]) + undetermined_phases(turned, y_bar[1])
    a_bar = symmetrised(np.matmul(np.matmul(v, middle), hermitian(v)))
    if b is None:
        return on_the_half_read(a, a_bar, lower)
    scaled = times_columns(middle, w) + 0.5 * np.tril(np.triu(turned))
    b_bar = -symmetrised(np.matmul(np.matmul(v, scaled), hermitian(v)))
    return on_the_half_read(a, a_bar, lower), on_the_half_read(b, b_bar, lower)


@tangent(sl.eigh)
def eigh_dot(y, a, b=None, a_dot=0.0, b_dot=0.0, *, lower=True, eigvals_only=False):
    w, v = sl.eigh(a, b, lower=lower) if eigvals_only else y
    inner = np.matmul(hermitian(v), np.matmul(of_the_half_read(a, a_dot, lower), v))
    if eigvals_only:
        turned = 0.0 if b is None else w * real_part(diagonal_of(np.matmul(hermitian(v), np.matmul(of_the_half_read(b, b_dot, lower), v))))
        return real_part(diagonal_of(inner)) - turned
    if b is None:
        return real_part(diagonal_of(inner)), np.matmul(v, over_gaps(w, inner))
    turned = np.matmul(hermitian(v), np.matmul(of_the_half_read(b, b_dot, lower), v))
    inner = inner - times_columns(turned, w)
    middle = over_gaps(w, inner) - 0.5 * np.tril(np.triu(turned))
    return real_part(diagonal_of(inner)), np.matmul(v, middle)


@samples(sl.eigh)
def _(rng):
    yield (positive(rng, 3, 3),), {}
    yield (positive(rng, 3, 3), positive(rng, 3, 3)), {}
    yield (np.diag([1.0, 2.0, 4.0]) + 0.5 * rng.normal(size=(3, 3)), positive(rng, 3, 3) + np.tril(rng.normal(size=(3, 3)), -1) * 0.1), {"lower": False}
    yield (positive(rng, 3, 3),), {"eigvals_only": True}
    yield (positive(rng, 3, 3), positive(rng, 3, 3)), {"eigvals_only": True, "lower": False}


# ------------------------------------------------------------------ functions of matrices


def expm_change(a, direction):
    """d/dt expm(a + t direction) at 0: the upper right block of expm([[a, direction], [0, a]])."""
    top = np.concatenate((a, direction), axis=-1)
    bottom = np.concatenate((np.zeros_like(a), a), axis=-1)
    n = np.shape(a)[-1]
    return sl.expm(np.concatenate((top, bottom), axis=-2))[..., :n, n:]


@adjoint(sl.expm)
def expm(y, y_bar, A):
    return expm_change(hermitian(A), y_bar)


@tangent(sl.expm)
def expm_dot(y, A, A_dot):
    return expm_change(A, A_dot)


@adjoint(sl.sqrtm)
def sqrtm(y, y_bar, A):
    """y y = a."""
    must_be_square(A)
    return sl.solve_sylvester(hermitian(y), hermitian(y), y_bar)


@tangent(sl.sqrtm)
def sqrtm_dot(y, A, A_dot):
    must_be_square(A)
    return sl.solve_sylvester(y, y, A_dot)


@samples(sl.expm)
def _(rng):
    yield (rng.normal(size=(3, 3)),), {}
    yield (rng.normal(size=(2, 3, 3)),), {}
    yield (rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)),), {}


@samples(sl.sqrtm)
def _(rng):
    yield (positive(rng, 3, 3),), {}


# ------------------------------------------------------------------ what numpy.linalg has too


@composite(sl.inv)
def inv(a):
    return np.linalg.inv(a)


@composite(sl.det)
def det(a):
    """In double precision, as SciPy."""
    return np.linalg.det(a.astype(np.result_type(a, np.float64)))


@composite(sl.pinv)
def pinv(a):
    return np.linalg.pinv(a)


@composite(sl.norm)
def norm(a, ord=None, axis=None, keepdims=False):
    return np.linalg.norm(a, ord, axis, keepdims)


@composite(sl.svdvals)
def svdvals(a):
    return np.linalg.svd(a, compute_uv=False)


@composite(sl.eigvalsh)
def eigvalsh(a, b=None, *, lower=True):
    """With `b`: of a v = w b v, reduced by the Cholesky factor of `b`."""
    if b is None:
        return np.linalg.eigvalsh(a, "L" if lower else "U")
    low = np.linalg.cholesky(b if lower else hermitian(b))
    full = mirrored(a if lower else hermitian(a))
    half = sl.solve_triangular(low, full, lower=True)
    return np.linalg.eigvalsh(hermitian(sl.solve_triangular(low, hermitian(half), lower=True)))


@composite(sl.block_diag)
def block_diag(*arrs):
    blocks = [np.atleast_2d(a) for a in arrs]
    rows = offset(blocks, len(blocks), 0)
    return np.concatenate([np.pad(a, ((offset(blocks, i, 0), rows - offset(blocks, i + 1, 0)), (0, 0))) for i, a in enumerate(blocks)], axis=1)


@composite(sl.toeplitz)
def toeplitz(c, r=None):
    refuse(np.ndim(c) != 1 or r is not None and np.ndim(r) != 1, "a Toeplitz matrix of anything but vectors is not supported", "call it for each vector")
    first = conj(c) if r is None else r
    values = np.concatenate((c[::-1], first[1:]))
    n, m = np.size(c), np.size(first)
    return values[np.reshape(np.arange(n - 1, -1, -1), (-1, 1)) + np.arange(m)]


@samples(sl.inv, sl.det, sl.norm, sl.svdvals, sl.pinv)
def _(rng):
    yield (spread(rng, 3, 3),), {}


@samples(sl.eigvalsh)
def _(rng):
    yield (positive(rng, 3, 3),), {}


@samples(sl.eigvalsh)
def _(rng):
    yield (positive(rng, 3, 3), positive(rng, 3, 3)), {}
    yield (np.diag([1.0, 2.0, 4.0]) + 0.5 * rng.normal(size=(3, 3)), positive(rng, 3, 3)), {"lower": False}


@samples(sl.block_diag)
def _(rng):
    yield (rng.normal(size=(2, 3)), rng.normal(size=(1, 1)), rng.normal(size=(2, 1))), {}


@samples(sl.toeplitz)
def _(rng):
    yield (rng.normal(size=3),), {}
    yield (rng.normal(size=3), rng.normal(size=4)), {}
