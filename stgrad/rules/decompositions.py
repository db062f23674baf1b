"""Derivatives of matrix factorisations: cholesky, qr, eigh, eig, svd.

cholesky and eigh read one triangle. The cotangent of a Hermitian `a` is Hermitian; that of another one, which eigh takes for the Hermitian
matrix with its lower (upper) triangle, stands on that triangle. Cholesky's `a` is always taken to be Hermitian. Where eigenvalues or singular
values repeat, the vectors are a choice of basis. Even of functions that do not depend on the choice (v f(w) v^H) the derivative cannot be told from
the cotangents at one basis: it is NaN where these reach such vectors. Phases of complex vectors are a choice too. Sources: Giles (2008); Walter,
Lehmann & Lamour (2012) for qr; Seeger et al. (2017); Wan & Zhang (2019) for complex svd.
"""

from __future__ import annotations

import numpy as np

from .core import _register, adjoint, composite, refuse, samples, tangent
from .linalg import epsilon
from .products import conj, hermitian


def symmetrised(a):
    return 0.5 * (a + hermitian(a))


def real_part(x):
    return np.real(x) if np.iscomplexobj(x) else x


def diagonal_of(a):
    return np.diagonal(a, 0, -2, -1)


def times_columns(a, v):
    """a diag(v)."""
    return a * np.expand_dims(v, -2)


def gaps_of(w):
    return np.expand_dims(w, -2) - np.expand_dims(w, -1)


def equal_pairs(w):
    """Where w[j] and w[i] are equal up to the rounding of a factorisation."""
    size = np.max(np.abs(w), axis=-1, keepdims=True)
    return np.abs(gaps_of(w)) <= epsilon(w.dtype) * np.shape(w)[-1] * np.expand_dims(size, -1)


def inverse_gaps(w, equal):
    """1 / (w[j] - w[i]), and 0 for equal ones."""
    return np.where(equal, 0.0, 1.0 / np.where(equal, 1.0, gaps_of(w)))


def undetermined(equal, turned):
    """NaN for equal pairs of which `turned` tells that one of their vectors, turned to the other, is looked at; else 0."""
    size = np.abs(turned)
    reached = size > epsilon(turned.dtype) * np.shape(turned)[-1] * np.max(size, axis=(-2, -1), keepdims=True)
    return np.where(equal & reached & ~np.eye(np.shape(turned)[-1], dtype=bool), np.nan, 0.0).astype(turned.dtype)


def over_gaps(w, turned):
    """turned[i, j] / (w[j] - w[i]) off the diagonal, on which it is 0: by how much each vector turns to the others."""
    equal = equal_pairs(w)
    return inverse_gaps(w, equal) * turned + undetermined(equal, turned)


# ------------------------------------------------------------------ one half of a Hermitian matrix


def mirrored(m):
    """The lower triangle of `m`, mirrored to a Hermitian matrix with the real part of the diagonal."""
    low = np.tril(m, -1)
    return low + hermitian(low) + real_part(np.tril(np.triu(m)))


def is_hermitian(a):
    """Whether the two triangles are the same up to rounding, with two axes of 1."""
    size = np.max(np.abs(a), axis=(-2, -1), keepdims=True)
    return np.max(np.abs(a - hermitian(a)), axis=(-2, -1), keepdims=True) <= np.sqrt(epsilon(a.dtype)) * size


def on_the_half_read(a, a_bar, lower):
    """A Hermitian cotangent of what is read of `a`."""
    half = np.tril(a_bar, -1) if lower else np.triu(a_bar, 1)
    return np.where(is_hermitian(a), a_bar, 2.0 * half + real_part(np.tril(np.triu(a_bar))))


def of_the_half_read(a, a_dot, lower):
    """The Hermitian change of what is read of `a`: the transpose of `on_the_half_read`."""
    return np.where(is_hermitian(a), symmetrised(a_dot), mirrored(a_dot if lower else hermitian(a_dot)))


# ------------------------------------------------------------------ cholesky


def lower_half(a):
    """The lower triangle with half the diagonal."""
    return np.tril(a) - 0.5 * np.tril(np.triu(a))


def between(left, middle, right):
    """left^-1 middle right^-1."""
    return hermitian(np.linalg.solve(hermitian(right), hermitian(np.linalg.solve(left, middle))))


def cholesky_bar(low, low_bar):
    """The cotangent of a real matrix from that of its lower factor; of both, lower triangles are read."""
    low = np.tril(low)
    return pulled_back(low, np.matmul(hermitian(low), np.tril(low_bar)))


def pulled_back(low, product):
    """L^-H phi(L^H L_bar) L^-1, symmetrised; phi takes the lower triangle and half the diagonal."""
    return symmetrised(between(hermitian(low), lower_half(product), low))


@adjoint(np.linalg.cholesky)
def cholesky(y, y_bar, a, *, upper=False):
    low, low_bar = (hermitian(y), hermitian(y_bar)) if upper else (y, y_bar)
    if np.ndim(y) == 2 and not np.iscomplexobj(y):
        return on_the_half_read(a, cholesky_bar(low, low_bar), not upper)
    return on_the_half_read(a, pulled_back(low, np.matmul(hermitian(low), low_bar)), not upper)


@tangent(np.linalg.cholesky)
def cholesky_dot(y, a, a_dot, *, upper=False):
    low = hermitian(y) if upper else y
    low_dot = np.matmul(low, lower_half(between(low, of_the_half_read(a, a_dot, not upper), hermitian(low))))
    return hermitian(low_dot) if upper else low_dot


def cholesky_bar_adjoint(y, y_bar, low, low_bar):
    """The first derivative of y = sym(P), P = L^-T phi(L^T L_bar) L^-1, with K = L^-1 sym(y_bar) L^-T: L_bar phi(K)^T - 2 y sym(y_bar) L^-T, and L phi(K)."""
    low, low_bar = np.tril(low), np.tril(low_bar)
    middle = lower_half(between(low, symmetrised(y_bar), np.transpose(low)))
    moved = np.matmul(y, np.transpose(np.linalg.solve(low, symmetrised(y_bar))))
    return np.tril(np.matmul(low_bar, np.transpose(middle)) - 2.0 * moved), np.matmul(low, middle)


def cholesky_bar_dot(y, low, low_bar, low_dot, low_bar_dot):
    """pulled_back(L, L_dot^T L_bar + L^T L_bar_dot) - 2 sym(y L_dot L^-1)."""
    low, low_bar, low_dot, low_bar_dot = np.tril(low), np.tril(low_bar), np.tril(low_dot), np.tril(low_bar_dot)
    moved = np.matmul(y, np.transpose(np.linalg.solve(np.transpose(low), np.transpose(low_dot))))
    product = np.matmul(np.transpose(low_dot), low_bar) + np.matmul(np.transpose(low), low_bar_dot)
    return pulled_back(low, product) - 2.0 * symmetrised(moved)


_register((cholesky_bar,), "adjoint", name="cholesky_bar", adjoint=cholesky_bar_adjoint, tangent=cholesky_bar_dot)


@samples(cholesky_bar)
def _(rng):
    for n in (1, 4):
        yield (np.linalg.cholesky(positive(rng, n, n)), rng.normal(size=(n, n))), {}


def positive(rng, *shape):
    """A Hermitian matrix with eigenvalues of 1 and more."""
    a = rng.normal(size=shape)
    return a @ np.swapaxes(a, -1, -2) + np.diag(np.arange(1.0, shape[-1] + 1.0))


@samples(np.linalg.cholesky)
def _(rng):
    yield (positive(rng, 3, 3),), {}
    yield (positive(rng, 2, 3, 3),), {}
    yield (positive(rng, 3, 3),), {"upper": True}
    yield (positive(rng, 3, 3) + 0.1j * (np.triu(np.ones((3, 3)), 1) - np.tril(np.ones((3, 3)), -1)),), {}


# ------------------------------------------------------------------ qr


@adjoint(np.linalg.qr)
def qr(y, y_bar, a, mode="reduced"):
    """a (m, n) = q r with q (m, k), r (k, n). Columns of `a` after the first k are q times those of r."""
    refuse(mode not in ("reduced", "r"), "np.linalg.qr has derivatives in the modes reduced and r alone", "leave out `mode`")
    if mode == "r":
        q, r = np.linalg.qr(a)
        return qr_bar(q, r, np.zeros_like(q), y_bar, a)
    return qr_bar(y[0], y[1], y_bar[0], y_bar[1], a)


def qr_bar(q, r, q_bar, r_bar, a):
    k = np.shape(q)[-1]
    right_bar = r_bar[..., k:]
    q_all = q_bar + np.matmul(a[..., k:], hermitian(right_bar))
    square, square_bar = r[..., :k], r_bar[..., :k]
    m = np.matmul(square, hermitian(square_bar)) - np.matmul(hermitian(q_all), q)
    left = q_all + np.matmul(q, mirrored(m))
    left_bar = hermitian(np.linalg.solve(square, hermitian(left)))
    return np.concatenate((left_bar, np.matmul(q, right_bar)), axis=-1)


@tangent(np.linalg.qr)
def qr_dot(y, a, a_dot, mode="reduced"):
    if mode == "r":
        q, r = np.linalg.qr(a)
        return qr_change(q, r, a, a_dot)[1]
    return qr_change(y[0], y[1], a, a_dot)


def qr_change(q, r, a, a_dot):
    k = np.shape(q)[-1]
    square = r[..., :k]
    c = hermitian(np.linalg.solve(hermitian(square), hermitian(a_dot[..., :k])))
    inner = np.matmul(hermitian(q), c)
    low = np.tril(inner, -1)
    turn = low - hermitian(low) + np.tril(np.triu(inner)) - real_part(np.tril(np.triu(inner)))
    q_dot = c - np.matmul(q, inner - turn)
    right_dot = np.matmul(hermitian(q_dot), a[..., k:]) + np.matmul(hermitian(q), a_dot[..., k:])
    return q_dot, np.concatenate((np.matmul(inner - turn, square), right_dot), axis=-1)


@samples(np.linalg.qr)
def _(rng):
    for shape in ((3, 3), (4, 3), (3, 4), (2, 4, 3)):
        yield (rng.normal(size=shape) + 2.0 * np.eye(*shape[-2:]),), {}
        yield (rng.normal(size=shape) + 2.0 * np.eye(*shape[-2:]), "r"), {}
    yield (rng.normal(size=(4, 3)) + 1j * rng.normal(size=(4, 3)),), {}
    yield (rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)),), {}


# ------------------------------------------------------------------ eigenvalues


def undetermined_phases(turned, bar):
    """NaN for vectors whose cotangents, times i v in `turned`, tell one phase from another: of a complex matrix it is the library's choice."""
    if not np.iscomplexobj(turned):
        return 0.0
    size = np.sqrt(np.sum(np.abs(bar) * np.abs(bar), axis=-2))
    rounding = epsilon(turned.dtype)  # of cotangents that cancel there is nothing else left
    seen = np.abs(np.imag(diagonal_of(turned))) > np.maximum(np.sqrt(rounding) * size, 1e3 * rounding)
    return np.expand_dims(np.where(seen, np.nan, 0.0), -2)


@adjoint(np.linalg.eigh)
def eigh(y, y_bar, a, UPLO="L"):
    """v (diag(w_bar) + f * (v^H v_bar)) v^H with f[i, j] = 1 / (w[j] - w[i]), symmetrised."""
    w, v = y[0], y[1]
    turned = np.matmul(hermitian(v), y_bar[1])
    middle = over_gaps(w, turned) + undetermined_phases(turned, y_bar[1])
    inner = np.matmul(times_columns(v, y_bar[0]) + np.matmul(v, middle), hermitian(v))
    return on_the_half_read(a, symmetrised(inner), UPLO in ("L", "l"))


@tangent(np.linalg.eigh)
def eigh_dot(y, a, a_dot, UPLO="L"):
    w, v = y[0], y[1]
    inner = np.matmul(hermitian(v), np.matmul(of_the_half_read(a, a_dot, UPLO in ("L", "l")), v))
    return real_part(diagonal_of(inner)), np.matmul(v, over_gaps(w, inner))


@adjoint(np.linalg.eigvalsh)
def eigvalsh(y, y_bar, a, UPLO="L"):
    v = np.linalg.eigh(a, UPLO)[1]
    return on_the_half_read(a, np.matmul(times_columns(v, y_bar), hermitian(v)), UPLO in ("L", "l"))


@tangent(np.linalg.eigvalsh)
def eigvalsh_dot(y, a, a_dot, UPLO="L"):
    v = np.linalg.eigh(a, UPLO)[1]
    return real_part(np.sum(conj(v) * np.matmul(of_the_half_read(a, a_dot, UPLO in ("L", "l")), v), axis=-2))


def inverse(v):
    """v^-1, the left eigenvectors, with NaN for those that rounding decides: of eigenvalues that are defective, or nearly so."""
    left = np.linalg.inv(v)
    sensitive = np.sum(np.abs(left), axis=-1, keepdims=True) * (100.0 * epsilon(v.dtype) * np.shape(v)[-1]) > 1.0
    return left + np.where(sensitive, np.nan, 0.0).astype(v.dtype)


def chosen(w, looked):
    """NaN for pairs of equal eigenvalues of which one is looked at: their basis is a choice, and cotangents that are 0 at one say nothing of others."""
    pair = np.expand_dims(looked, -2) | np.expand_dims(looked, -1)
    return np.where(equal_pairs(w) & pair & ~np.eye(np.shape(w)[-1], dtype=bool), np.nan, 0.0).astype(w.dtype)


def largest(v):
    """1 at the largest number of each column, 0 elsewhere: LAPACK turns the column so that this one is real."""
    places = np.argmax(np.abs(v), axis=-2)
    return (np.expand_dims(np.arange(np.shape(v)[-2]), -1) == np.expand_dims(places, -2)).astype(v.dtype)


@adjoint(np.linalg.eig, absent=True)
def eig(y, y_bar, a):
    """v^-H (diag(w_bar) + conj(f) * (v^H v_bar - v^H v diag(Re(v^H v_bar)))) v^H: columns of v keep the norm 1.

    So they keep their largest number real, where they are complex: v_bar loses i Im(v^H v_bar) over this number, there.

    In v f(w) v^-1 the cotangents that v and v^-1 bring cancel for equal values, whatever the derivative is: all that tells of it is that v is read.
    """
    w, v = y[0], y[1]
    w_bar = np.zeros_like(w) if y_bar[0] is None else y_bar[0]
    middle = np.expand_dims(w_bar, -1) * hermitian(v)
    if y_bar[1] is not None:
        moved = np.matmul(hermitian(v), y_bar[1])
        turned = diagonal_of(moved)
        moved = moved - times_columns(np.matmul(hermitian(v), v), real_part(turned))
        if np.iscomplexobj(v):
            real = largest(v)
            moved = moved - times_columns(np.matmul(hermitian(v), real), 1j * np.imag(turned) / np.sum(real * v, axis=-2))
        equal = equal_pairs(w)
        looked = np.any(y_bar[1] != 0.0, axis=-2) | (w_bar != 0.0)
        middle = middle + np.matmul(inverse_gaps(conj(w), equal) * moved + chosen(w, looked), hermitian(v))
    a_bar = np.matmul(hermitian(inverse(v)), middle)
    return a_bar if np.iscomplexobj(a) else real_part(a_bar)


@tangent(np.linalg.eig)
def eig_dot(y, a, a_dot):
    w, v = y[0], y[1]
    inner = np.matmul(inverse(v), np.matmul(a_dot, v))
    v_dot = np.matmul(v, over_gaps(w, inner))
    turned = real_part(np.sum(conj(v) * v_dot, axis=-2))
    if np.iscomplexobj(v):
        real = largest(v)
        turned = turned + 1j * np.imag(np.sum(real * v_dot, axis=-2)) / np.sum(real * v, axis=-2)
    return diagonal_of(inner), v_dot - times_columns(v, turned)


@adjoint(np.linalg.eigvals)
def eigvals(y, y_bar, a):
    v = np.linalg.eig(a)[1]
    a_bar = np.matmul(hermitian(inverse(v)), np.expand_dims(y_bar, -1) * hermitian(v))
    return a_bar if np.iscomplexobj(a) else real_part(a_bar)


@tangent(np.linalg.eigvals)
def eigvals_dot(y, a, a_dot):
    v = np.linalg.eig(a)[1]
    return diagonal_of(np.matmul(inverse(v), np.matmul(a_dot, v)))


@samples(np.linalg.eigh, np.linalg.eigvalsh)
def _(rng):
    yield (positive(rng, 3, 3),), {}
    yield (positive(rng, 2, 3, 3), "U"), {}
    yield (np.diag([1.0, 2.0, 4.0]) + rng.normal(size=(3, 3)),), {}
    yield (np.diag([1.0, 2.0, 4.0]) + rng.normal(size=(2, 3, 3)), "U"), {}


@samples(np.linalg.eigvalsh)
def _(rng):
    yield (positive(rng, 3, 3) + 0.1j * (np.triu(np.ones((3, 3)), 1) - np.tril(np.ones((3, 3)), -1)),), {}


@samples(np.linalg.eig, np.linalg.eigvals)
def _(rng):
    yield (np.diag([1.0, 2.0, 4.0]) + 0.3 * rng.normal(size=(3, 3)),), {}
    yield (np.diag([1.0, 2.0, 4.0]) + 0.2 * rng.normal(size=(2, 3, 3)),), {}
    yield (np.diag([1.0, 2.0j, 4.0 - 1.0j]) + 0.2 * rng.normal(size=(2, 3, 3)) + 0.2j * rng.normal(size=(2, 3, 3)),), {}
    yield (np.array([[1.0, 2.0, 0.3], [-2.0, 1.5, 0.1], [0.2, 0.4, 3.0]]),), {}


@samples(np.linalg.eigvals)
def _(rng):
    yield (np.array([[1.0, 2.0], [-2.0, 1.5]]),), {}


# ------------------------------------------------------------------ singular values


def projected(u, x):
    """The part of x outside the space of the columns of u."""
    return x - np.matmul(u, np.matmul(hermitian(u), x))


def unknown(part):
    """NaN where cotangents reach vectors that are not determined, else 0."""
    return np.where(np.any(part != 0.0), np.nan, 0.0)


def phase(x):
    """The imaginary part as it stands in x: where `a` is complex, the columns of u turn and those of v do not."""
    return 1j * np.imag(x) if np.iscomplexobj(x) else 0.0


@adjoint(np.linalg.svd)
def svd(y, y_bar, a, full_matrices=True, compute_uv=True):
    """a (m, n) = u s vh. The columns that full_matrices adds are a free choice: a cotangent that reaches them gives NaN.

    Directions outside of all columns of u, or of v, there are on a longer side alone; on the other their rounding errors, over a singular value of
    about zero, would be anything.
    """
    if not compute_uv:
        parts = np.linalg.svd(a, full_matrices=False)
        return np.matmul(times_columns(parts[0], y_bar), parts[2])
    k = np.shape(y[1])[-1]
    u, s, vh = y[0][..., :k], y[1], y[2][..., :k, :]
    u_bar, vh_bar = y_bar[0][..., :k], y_bar[2][..., :k, :]
    v, v_bar = hermitian(vh), hermitian(vh_bar)
    equal = equal_pairs(s)
    f = inverse_gaps(s * s, equal)
    one_over_s = np.where(s == 0.0, 0.0, 1.0 / np.where(s == 0.0, 1.0, s))
    left, right = np.matmul(hermitian(u), u_bar), np.matmul(hermitian(v), v_bar)
    inner = times_columns(f * (left - hermitian(left)), s) + np.expand_dims(s, -1) * (f * (right - hermitian(right)))
    inner = inner + undetermined(equal, left) + undetermined(equal, right) + undetermined_phases(left + right, np.concatenate((u_bar, v_bar), axis=-2))
    a_bar = np.matmul(np.matmul(u, inner) + times_columns(u, y_bar[1] + phase(diagonal_of(left)) * one_over_s), vh)
    a_bar = a_bar + np.matmul(times_columns(projected(u, u_bar), one_over_s * (np.shape(a)[-2] > k)), vh)
    a_bar = a_bar + np.matmul(times_columns(u, one_over_s * (np.shape(a)[-1] > k)), hermitian(projected(v, v_bar)))
    if full_matrices:
        a_bar = a_bar + (unknown(y_bar[0][..., k:]) + unknown(y_bar[2][..., k:, :])).astype(a.dtype)
    return a_bar


@tangent(np.linalg.svd)
def svd_dot(y, a, a_dot, full_matrices=True, compute_uv=True):
    if not compute_uv:
        parts = np.linalg.svd(a, full_matrices=False)
        return real_part(diagonal_of(np.matmul(hermitian(parts[0]), np.matmul(a_dot, hermitian(parts[2])))))
    k = np.shape(y[1])[-1]
    u, s, v = y[0][..., :k], y[1], hermitian(y[2][..., :k, :])
    inner = np.matmul(hermitian(u), np.matmul(a_dot, v))
    equal = equal_pairs(s)
    f = inverse_gaps(s * s, equal) + undetermined(equal, inner)
    one_over_s = np.where(s == 0.0, 0.0, 1.0 / np.where(s == 0.0, 1.0, s))
    scaled, other = times_columns(inner, s), np.expand_dims(s, -1) * inner
    turned = times_columns(u, phase(diagonal_of(inner)) * one_over_s)
    beyond_u, beyond_v = one_over_s * (np.shape(a)[-2] > k), one_over_s * (np.shape(a)[-1] > k)
    u_dot = np.matmul(u, f * (scaled + hermitian(scaled))) + turned + times_columns(projected(u, np.matmul(a_dot, v)), beyond_u)
    v_dot = np.matmul(v, f * (other + hermitian(other))) + times_columns(projected(v, np.matmul(hermitian(a_dot), u)), beyond_v)
    vh_dot = hermitian(v_dot)
    if full_matrices:
        u_dot = np.concatenate((u_dot, np.full_like(y[0][..., k:], np.nan)), axis=-1)
        vh_dot = np.concatenate((vh_dot, np.full_like(y[2][..., k:, :], np.nan)), axis=-2)
    return u_dot, real_part(diagonal_of(inner)), vh_dot


@composite(np.linalg.svdvals)
def svdvals(x):
    return np.linalg.svd(x, compute_uv=False)


@samples(np.linalg.svd)
def _(rng):
    for shape in ((3, 3), (4, 3), (3, 4), (2, 4, 3)):
        yield (rng.normal(size=shape) + 2.0 * np.eye(*shape[-2:]), False), {}
        yield (rng.normal(size=shape) + 2.0 * np.eye(*shape[-2:]),), {"compute_uv": False}
    yield (rng.normal(size=(3, 3)) + 2.0 * np.eye(3),), {}
    yield (rng.normal(size=(4, 3)) + 1j * rng.normal(size=(4, 3)),), {"compute_uv": False}


@samples(np.linalg.svdvals)
def _(rng):
    yield (rng.normal(size=(3, 4)),), {}
