"""Derivatives of numpy.linalg: solving, determinants, powers and norms.

Sources: M. Giles, "Collected matrix derivative results for forward and reverse mode" (2008); Golub & Pereyra (1973) for pinv.
Shapes are batched: `a` (..., n, n). The factorisations stand in decompositions.py.
"""

from __future__ import annotations

import numpy as np

from .broadcasting import unbroadcast
from .core import adjoint, composite, nondiff, samples, static, tangent
from .products import conj, hermitian, total
from .reductions import axes

# ------------------------------------------------------------------ solving


@adjoint(np.linalg.solve)
def solve(y, y_bar, a, b):
    """b_bar = a^-H y_bar, a_bar = -b_bar y^H; `b` (n,) is a vector, else (..., n, k)."""
    if np.ndim(b) > 1:
        b_bar = np.linalg.solve(hermitian(a), y_bar)
        return unbroadcast(-np.matmul(b_bar, hermitian(y)), a), unbroadcast(b_bar, b)
    if np.ndim(a) == 2:
        b_bar = np.linalg.solve(hermitian(a), y_bar)
        return -np.outer(b_bar, conj(y)), b_bar
    b_bar = np.linalg.solve(hermitian(a), np.expand_dims(y_bar, -1))[..., 0]
    return -np.expand_dims(b_bar, -1) * np.expand_dims(conj(y), -2), unbroadcast(b_bar, b)


@tangent(np.linalg.solve)
def solve_dot(y, a, b, a_dot, b_dot):
    if np.ndim(b) > 1:
        return np.linalg.solve(a, b_dot - np.matmul(a_dot, y))
    if np.ndim(a) == 2:
        return np.linalg.solve(a, b_dot - np.matmul(a_dot, y))
    change = b_dot - np.matmul(a_dot, np.expand_dims(y, -1))[..., 0]
    return np.linalg.solve(a, np.expand_dims(change, -1))[..., 0]


@adjoint(np.linalg.inv)
def inv(y, y_bar, a):
    return -np.matmul(np.matmul(hermitian(y), y_bar), hermitian(y))


@tangent(np.linalg.inv)
def inv_dot(y, a, a_dot):
    return -np.matmul(np.matmul(y, a_dot), y)


@adjoint(np.linalg.pinv)
def pinv(y, y_bar, a, rcond=None, *, rtol=None):
    """Where the rank does not change."""
    p, ph, yh = y, hermitian(y), hermitian(y_bar)
    first = np.matmul(ph, np.matmul(y_bar, ph))
    second = np.matmul(yh - np.matmul(a, np.matmul(p, yh)), np.matmul(p, ph))
    third = np.matmul(np.matmul(ph, p), yh - np.matmul(np.matmul(yh, p), a))
    return second + third - first


@tangent(np.linalg.pinv)
def pinv_dot(y, a, a_dot, rcond=None, *, rtol=None):
    p, ph, ah = y, hermitian(y), hermitian(a_dot)
    first = np.matmul(p, np.matmul(a_dot, p))
    second = np.matmul(np.matmul(p, ph), ah - np.matmul(np.matmul(ah, a), p))
    third = np.matmul(ah - np.matmul(p, np.matmul(a, ah)), np.matmul(ph, p))
    return second + third - first


def columns(b):
    return b if np.ndim(b) == 2 else np.expand_dims(b, 1)


@static
def epsilon(dtype):
    return float(np.finfo(dtype).eps)


def inverted(s, shape, rcond):
    """1 / s, and 0 for what np.linalg.lstsq takes as 0."""
    least = np.max(s) * (epsilon(s.dtype) * max(shape[0], shape[1]) if rcond is None else rcond)
    return np.where(s > least, 1.0 / np.where(s > least, s, 1.0), 0.0)


@adjoint(np.linalg.lstsq)
def lstsq(y, y_bar, a, b, rcond=None):
    """x = pinv(a) b, the sums of squared residuals where NumPy gives them, and the singular values of `a`."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    p = np.matmul(hermitian(vh) * inverted(s, np.shape(a), rcond), hermitian(u))
    x_bar = columns(y_bar[0])
    a_bar = pinv(p, np.matmul(x_bar, hermitian(columns(b))), a) + np.matmul(u * y_bar[3], vh)
    b_bar = np.matmul(hermitian(p), x_bar)
    if np.size(y_bar[1]) > 0:
        r_bar = 2.0 * y_bar[1] * (columns(b) - np.matmul(a, columns(y[0])))
        a_bar = a_bar - np.matmul(r_bar, hermitian(columns(y[0])))
        b_bar = b_bar + r_bar
    return a_bar, b_bar if np.ndim(b) == 2 else b_bar[:, 0]


@tangent(np.linalg.lstsq)
def lstsq_dot(y, a, b, a_dot, b_dot, rcond=None):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    p = np.matmul(hermitian(vh) * inverted(s, np.shape(a), rcond), hermitian(u))
    x_dot = np.matmul(pinv_dot(p, a, a_dot), b) + np.matmul(p, b_dot)
    residual = columns(b) - np.matmul(a, columns(y[0]))
    change = columns(b_dot) - np.matmul(a_dot, columns(y[0]))
    r_dot = np.zeros_like(y[1])
    if np.size(y[1]) > 0:
        r_dot = 2.0 * np.real(np.sum(conj(residual) * change, axis=0))
    s_dot = np.real(np.diagonal(np.matmul(np.matmul(hermitian(u), a_dot), hermitian(vh))))
    return x_dot, r_dot, 0, s_dot


@composite(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    rows, rest = np.shape(a)[:ind], np.shape(a)[ind:]
    return np.reshape(np.linalg.inv(np.reshape(a, (total(rows), total(rest)))), rest + rows)


@composite(np.linalg.tensorsolve)
def tensorsolve(a, b):
    rest = np.shape(a)[np.ndim(b) :]
    return np.reshape(np.linalg.solve(np.reshape(a, (np.size(b), total(rest))), np.ravel(b)), rest)


def spread(rng, *shape):
    """A matrix far from singular."""
    return rng.normal(size=shape) + 3.0 * np.eye(shape[-2], shape[-1])


@samples(np.linalg.solve)
def _(rng):
    yield (spread(rng, 3, 3), rng.normal(size=3)), {}
    yield (spread(rng, 3, 3), rng.normal(size=(3, 2))), {}
    yield (spread(rng, 4, 3, 3), rng.normal(size=(3, 2))), {}
    yield (spread(rng, 4, 3, 3), rng.normal(size=3)), {}
    yield (spread(rng, 3, 3), rng.normal(size=(4, 3, 2))), {}
    yield (spread(rng, 3, 3) + 1j * rng.normal(size=(3, 3)), rng.normal(size=3) + 1j), {}


@samples(np.linalg.inv)
def _(rng):
    yield (spread(rng, 3, 3),), {}
    yield (spread(rng, 2, 3, 3) + 1j * rng.normal(size=(3, 3)),), {}


@samples(np.linalg.pinv)
def _(rng):
    yield (spread(rng, 4, 3),), {}
    yield (spread(rng, 2, 3, 4),), {}
    yield (spread(rng, 4, 3) + 1j * rng.normal(size=(4, 3)),), {}


@samples(np.linalg.lstsq)
def _(rng):
    yield (spread(rng, 4, 3), rng.normal(size=4)), {}
    yield (spread(rng, 3, 4), rng.normal(size=(3, 2))), {}
    yield (spread(rng, 4, 2), rng.normal(size=(4, 2))), {}
    yield (spread(rng, 4, 2) + 1j * rng.normal(size=(4, 2)), rng.normal(size=4) + 1j), {}


@samples(np.linalg.tensorinv)
def _(rng):
    yield (spread(rng, 4, 4).reshape(2, 2, 4), 2), {}


@samples(np.linalg.tensorsolve)
def _(rng):
    yield (spread(rng, 4, 4).reshape(2, 2, 4), rng.normal(size=(2, 2))), {}


# ------------------------------------------------------------------ determinants and powers


def nearly_singular(y, a):
    """Whether the rows of a small matrix are close to dependent: its determinant is far below the product of their lengths."""
    return np.shape(a)[0] <= 10 and np.abs(y) <= 1e-4 * np.prod(np.sqrt(np.sum(np.real(a * np.conjugate(a)), axis=1)))


def cofactors(y, a):
    """The conjugate of dy/da for y = det(a): y a^-H, or for a nearly singular matrix the recurrence of Faddeev and LeVerrier.

    That is a polynomial in a, right for any rank and order; beyond ten rows it loses too many digits.
    """
    if np.ndim(a) == 2 and nearly_singular(y, a):
        identity = np.eye(np.shape(a)[0]).astype(a.dtype)
        m = np.copy(identity)
        for k in range(1, np.shape(a)[0]):
            product = np.matmul(a, m)
            m = np.sum(product * identity) / k * identity - product
    else:
        m = np.expand_dims(y, (-2, -1)) * np.linalg.inv(a)
    return hermitian(m)


@adjoint(np.linalg.det)
def det(y, y_bar, a):
    return np.expand_dims(y_bar, (-2, -1)) * cofactors(y, a)


@tangent(np.linalg.det)
def det_dot(y, a, a_dot):
    return np.sum(conj(cofactors(y, a)) * a_dot, axis=(-2, -1))


@adjoint(np.linalg.slogdet)
def slogdet(y, y_bar, a):
    """The sign moves only where `a` is complex: sign_dot = i sign Im tr(a^-1 a_dot)."""
    scale = y_bar[1]
    if np.iscomplexobj(a):
        scale = scale + 1j * np.real(np.conjugate(y_bar[0]) * 1j * y[0])
    return np.expand_dims(scale, (-2, -1)) * hermitian(np.linalg.inv(a))


@tangent(np.linalg.slogdet)
def slogdet_dot(y, a, a_dot):
    change = np.trace(np.linalg.solve(a, a_dot), axis1=-2, axis2=-1)
    if np.iscomplexobj(a):
        return y[0] * 1j * np.imag(change), np.real(change)
    return np.zeros_like(y[0]), change


@composite(np.linalg.matrix_power)
def matrix_power(a, n):
    """By repeated squaring; `n` is static."""
    if n < 0:
        return np.linalg.matrix_power(np.linalg.inv(a), -n)
    if n == 0:
        return np.broadcast_to(np.eye(np.shape(a)[-1], dtype=a.dtype), np.shape(a))
    if n == 1:
        return a
    half = np.linalg.matrix_power(a, n // 2)
    square = np.matmul(half, half)
    return square if n % 2 == 0 else np.matmul(square, a)


@composite(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    """From the right where the last is a vector, else from the left."""
    if np.ndim(arrays[-1]) == 1:
        y = arrays[-1]
        for a in arrays[-2::-1]:
            y = np.matmul(a, y)
        return y
    y = arrays[0]
    for a in arrays[1:]:
        y = np.matmul(y, a)
    return y


@samples(np.linalg.det, np.linalg.slogdet)
def _(rng):
    yield (spread(rng, 3, 3),), {}
    yield (spread(rng, 2, 3, 3),), {}
    yield (spread(rng, 3, 3) + 1j * rng.normal(size=(3, 3)),), {}


@samples(np.linalg.matrix_power)
def _(rng):
    for n in (-2, 0, 1, 2, 5):
        yield (spread(rng, 3, 3) / 3.0, n), {}


@samples(np.linalg.multi_dot)
def _(rng):
    yield ((rng.normal(size=(2, 3)), rng.normal(size=(3, 4)), rng.normal(size=(4, 2))),), {}
    yield ((rng.normal(size=3), rng.normal(size=(3, 4)), rng.normal(size=4)),), {}


# ------------------------------------------------------------------ norms


@static
def norm_axes(axis, ord, rank):
    """The axes of a norm, and whether it is one of matrices."""
    if axis is None and ord is None:
        return tuple(range(rank)), False
    found = axes(axis, rank)
    return found, len(found) == 2 and ord is not None


def absolute_square(x):
    return np.real(x * np.conjugate(x)) if np.iscomplexobj(x) else x * x


def vector_norm(x, ord, axis, keepdims):
    if ord is None or ord == 2 or ord == "fro":
        return np.sqrt(np.sum(absolute_square(x), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(x != 0, axis=axis, keepdims=keepdims, dtype=np.real(x).dtype)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    powers = np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims)
    safe = np.where(powers == 0.0, 1.0, powers)
    return np.where(powers == 0.0, 0.0, safe ** (1.0 / ord))


def matrix_norm(x, ord):
    """`x` (..., m, n)."""
    if ord == "fro":
        return np.sqrt(np.sum(absolute_square(x), axis=(-2, -1)))
    if ord == "nuc":
        return np.sum(np.linalg.svd(x, compute_uv=False), axis=-1)
    if ord == 2:
        return np.max(np.linalg.svd(x, compute_uv=False), axis=-1)
    if ord == -2:
        return np.min(np.linalg.svd(x, compute_uv=False), axis=-1)
    sums = np.sum(np.abs(x), axis=-2 if ord in (1, -1) else -1)
    return np.max(sums, axis=-1) if ord in (1, np.inf) else np.min(sums, axis=-1)


@composite(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    """0 has the derivative 0."""
    x = x.astype(np.float64) if x.dtype.kind in "iub" else x
    found, of_matrices = norm_axes(axis, ord, np.ndim(x))
    if not of_matrices:
        return vector_norm(x, ord, found, keepdims)
    y = matrix_norm(np.moveaxis(x, found, (-2, -1)), ord)
    return np.expand_dims(y, found) if keepdims else y


@composite(np.linalg.vector_norm)
def linalg_vector_norm(x, *, axis=None, keepdims=False, ord=2):
    return vector_norm(x, ord, axis, keepdims)


@composite(np.linalg.matrix_norm)
def linalg_matrix_norm(x, *, keepdims=False, ord="fro"):
    y = matrix_norm(x, ord)
    return np.expand_dims(y, (-2, -1)) if keepdims else y


@composite(np.linalg.cond)
def cond(x, p=None):
    if p is None or p == 2 or p == -2:
        s = np.linalg.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


@composite(np.linalg.trace)
def linalg_trace(x, *, offset=0, dtype=None):
    return np.sum(np.diagonal(x, offset, -2, -1), axis=-1)


@composite(np.linalg.diagonal)
def linalg_diagonal(x, *, offset=0):
    return np.diagonal(x, offset, -2, -1)


@composite(np.linalg.matrix_transpose)
def linalg_matrix_transpose(x):
    return np.swapaxes(x, -1, -2)


@samples(np.linalg.norm)
def _(rng):
    x = rng.normal(size=(2, 3, 4))
    yield (x,), {}
    yield (x[0] + 1j * x[1],), {}
    for ord in (None, 1, 2, np.inf, -np.inf, 3, 0.5, 0):
        yield (x[0, 0], ord), {}
        yield (x, ord, 1), {"keepdims": True}
    for ord in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        yield (x[0], ord), {}
        yield (x, ord, (0, -1)), {"keepdims": True}


@samples(np.linalg.vector_norm, np.linalg.matrix_norm)
def _(rng):
    yield (rng.normal(size=(2, 3, 4)),), {}
    yield (rng.normal(size=(3, 4)),), {"keepdims": True, "ord": 1}


@samples(np.linalg.cond)
def _(rng):
    for p in (None, 2, -2, 1, "fro"):
        yield (spread(rng, 3, 3), p), {}


@samples(np.linalg.trace, np.linalg.diagonal)
def _(rng):
    yield (rng.normal(size=(2, 3, 3)),), {"offset": 1}


@samples(np.linalg.matrix_transpose)
def _(rng):
    yield (rng.normal(size=(2, 3, 4)),), {}


nondiff(np.linalg.matrix_rank)
