"""Factorisations and special matrices of scipy.linalg, as compositions of numpy.linalg and of scipy_linalg.py.

What NumPy cannot do (pivoting, other drivers' results) is refused. Options that change no value are taken and passed over.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .core import composite, refuse, samples, static
from .decompositions import mirrored, positive
from .linalg import epsilon, spread
from .products import conj, hermitian
from .scipy_linalg import toeplitz
from .scipy_lu import row_order

# ------------------------------------------------------------------ factorisations


@composite(sl.qr)
def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    refuse(pivoting, "scipy.linalg.qr with pivoting has no derivative", "leave out `pivoting`")
    if mode == "economic":
        return np.linalg.qr(a)
    refuse(mode not in ("full", "r"), "scipy.linalg.qr has derivatives in the modes economic, full and r alone", 'use mode="economic"')
    rows, columns = np.shape(a)[-2], np.shape(a)[-1]
    if rows > columns:
        raise ValueError("derivatives of the full qr of a tall matrix are not determined: use mode='economic'")
    q, r = np.linalg.qr(a)
    return (r,) if mode == "r" else (q, r)


@composite(sl.svd)
def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    return np.linalg.svd(a, full_matrices, compute_uv)


@composite(sl.eigvals)
def eigvals(a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
    refuse(b is not None or homogeneous_eigvals, "generalised eigenvalues have no derivative", "pass solve(b, a)")
    return np.linalg.eigvals(a) + 0j  # in SciPy they are complex, whatever they are


@composite(sl.lu)
def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    """a = p l u, of square matrices."""
    if np.shape(a)[0] != np.shape(a)[1]:
        raise ValueError("derivatives of lu are those of square matrices")
    n = np.shape(a)[0]
    packed, pivots = sl.lu_factor(a)
    order = row_order(pivots)
    low = np.tril(packed, -1) + np.eye(n, dtype=packed.dtype)
    if permute_l:
        return low[np.argsort(order)], np.triu(packed)
    if p_indices:
        return np.argsort(order).astype(np.int32), low, np.triu(packed)
    return np.eye(n, dtype=np.real(packed).dtype)[np.argsort(order)], low, np.triu(packed)


@composite(sl.polar)
def polar(a, side="right"):
    """a = u p, or p u."""
    w, s, vh = np.linalg.svd(a, full_matrices=False)
    v = hermitian(vh)
    return np.matmul(w, vh), np.matmul(v * s, vh) if side == "right" else np.matmul(w * s, hermitian(w))


# ------------------------------------------------------------------ solving


@static
def structure(assume_a):
    names = {None: "gen", "general": "gen", "symmetric": "sym", "hermitian": "her", "positive definite": "pos"}
    return names.get(assume_a, assume_a)


def read_as(a, kind, lower):
    """The matrix that `solve` takes `a` for: its other triangle is not read."""
    if kind == "gen":
        return a
    if kind in ("lower triangular", "upper triangular"):
        return np.tril(a) if kind == "lower triangular" else np.triu(a)
    if kind != "sym":
        return mirrored(a if lower else hermitian(a))
    return np.tril(a) + np.swapaxes(np.tril(a, -1), -1, -2) if lower else np.triu(a) + np.swapaxes(np.triu(a, 1), -1, -2)


@composite(sl.solve)
def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False):
    kind = structure(assume_a)
    known = ("gen", "sym", "her", "pos", "lower triangular", "upper triangular")
    refuse(kind not in known, "scipy.linalg.solve: this `assume_a` has no derivative", 'leave out `assume_a`, or use "gen", "sym" or "pos"')
    full = read_as(a, kind, lower)
    return np.linalg.solve(np.swapaxes(full, -1, -2) if transposed else full, b)


@composite(sl.lstsq)
def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    x, residues, rank, s = np.linalg.lstsq(a, b, rcond=epsilon(a.dtype) if cond is None else cond)
    return x, np.sum(residues) if np.ndim(b) == 1 else residues, int(rank), s


@composite(sl.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a, q):
    refuse(np.ndim(a) != 2 or np.ndim(q) != 2, "this equation is solved for matrices alone", "pass arrays of shape (1, 1)")
    return sl.solve_sylvester(a, hermitian(a), q)


@composite(sl.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a, q, method=None):
    """x - a x a^H = q, as a system for the items of x."""
    n = np.shape(a)[0]
    system = np.eye(n * n) - np.kron(a, conj(a))
    return np.reshape(np.linalg.solve(system, np.ravel(q)), (n, n))


# ------------------------------------------------------------------ special matrices


@composite(sl.circulant)
def circulant(c):
    refuse(np.ndim(c) != 1, "scipy.linalg.circulant of several vectors is not supported", "call it for each of them")
    n = np.size(c)
    return c[(np.reshape(np.arange(n), (-1, 1)) - np.arange(n)) % n]


@composite(sl.hankel)
def hankel(c, r=None):
    refuse(np.ndim(c) != 1 or r is not None and np.ndim(r) != 1, "a Hankel matrix of anything but vectors is not supported", "call it for each vector")
    last = np.zeros_like(c) if r is None else r
    values = np.concatenate((c, last[1:]))
    return values[np.reshape(np.arange(np.size(c)), (-1, 1)) + np.arange(np.size(last))]


def of_column(c_or_cr):
    """A Toeplitz matrix from its first column, or its first column and row."""
    return toeplitz(c_or_cr[0], c_or_cr[1]) if isinstance(c_or_cr, tuple) else toeplitz(np.asarray(c_or_cr))


@composite(sl.solve_toeplitz)
def solve_toeplitz(c_or_cr, b, check_finite=True):
    return np.linalg.solve(of_column(c_or_cr), b)


@composite(sl.matmul_toeplitz)
def matmul_toeplitz(c_or_cr, x, check_finite=False, workers=None):
    return np.matmul(of_column(c_or_cr), x)


@composite(sl.khatri_rao)
def khatri_rao(a, b):
    product = np.expand_dims(a, 1) * np.expand_dims(b, 0)
    return np.reshape(product, (np.shape(a)[0] * np.shape(b)[0], np.shape(a)[1]))


@composite(sl.cosm)
def cosm(A):  # noqa: N803  (SciPy's name)
    turned = sl.expm(1j * A)
    return 0.5 * (turned + sl.expm(-1j * A)) if np.iscomplexobj(A) else np.real(turned)


@composite(sl.sinm)
def sinm(A):  # noqa: N803
    turned = sl.expm(1j * A)
    return -0.5j * (turned - sl.expm(-1j * A)) if np.iscomplexobj(A) else np.imag(turned)


# ------------------------------------------------------------------ samples


@samples(sl.qr, sl.svd, sl.lu, sl.polar, sl.cosm, sl.sinm, sl.eigvals)
def _(rng):
    yield (spread(rng, 3, 3),), {}


@samples(sl.qr)
def _(rng):
    yield (spread(rng, 4, 3),), {"mode": "economic"}
    yield (spread(rng, 3, 4),), {"mode": "r"}


@samples(sl.lu)
def _(rng):
    yield (rng.normal(size=(5, 5)),), {}
    yield (rng.normal(size=(5, 5)),), {"permute_l": True}
    yield (rng.normal(size=(5, 5)),), {"p_indices": True}


@samples(sl.polar)
def _(rng):
    yield (spread(rng, 3, 3), "left"), {}


@samples(sl.solve)
def _(rng):
    for kind in (None, "gen", "lower triangular", "upper triangular"):
        yield (spread(rng, 3, 3), rng.normal(size=3)), {"assume_a": kind}
    for kind in ("sym", "her", "pos"):
        yield (positive(rng, 3, 3), rng.normal(size=(3, 2))), {"assume_a": kind}
        yield (np.tril(positive(rng, 3, 3)), rng.normal(size=3)), {"assume_a": kind, "lower": True}
    yield (spread(rng, 3, 3), rng.normal(size=3)), {"transposed": True}


@samples(sl.lstsq)
def _(rng):
    yield (spread(rng, 5, 3), rng.normal(size=5)), {}
    yield (spread(rng, 5, 3), rng.normal(size=(5, 2))), {}


@samples(sl.solve_continuous_lyapunov, sl.solve_discrete_lyapunov)
def _(rng):
    yield (spread(rng, 3, 3), rng.normal(size=(3, 3))), {}


@samples(sl.circulant, sl.hankel)
def _(rng):
    yield (rng.normal(size=4),), {}


@samples(sl.hankel)
def _(rng):
    yield (rng.normal(size=4), rng.normal(size=3)), {}


@samples(sl.solve_toeplitz, sl.matmul_toeplitz)
def _(rng):
    yield (np.array([3.0, 0.5, 0.2]), rng.normal(size=3)), {}
    yield ((np.array([3.0, 0.5, 0.2]), np.array([3.0, 0.1, 0.7])), rng.normal(size=(3, 2))), {}


@samples(sl.khatri_rao)
def _(rng):
    yield (rng.normal(size=(2, 3)), rng.normal(size=(4, 3))), {}
