"""Riccati equations, further functions of matrices, and eigenvalues of scipy.linalg.

Sources: Kao & Hennequin (2020), "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations"; Higham (2008), Functions of
Matrices, for the sign and the logarithm; Giles (2008) for eigenvectors.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .core import adjoint, composite, refuse, samples, tangent
from .decompositions import diagonal_of, mirrored, over_gaps, positive, real_part, symmetrised, times_columns
from .linalg import epsilon
from .products import conj, hermitian
from .scipy_linalg import expm_change, must_be_square

# ------------------------------------------------------------------ algebraic Riccati equations


def plain(e):
    refuse(e is not None, "a generalised Riccati equation (`e`) has no derivative", "multiply the first equation of the system by inv(e)")


def crossed(x, b, s):
    """b^H x (+ s^H): what the gain is made of."""
    product = np.matmul(hermitian(b), x)
    return product if s is None else product + hermitian(s)


def parts(x, closed, gain, weights):
    """The cotangents of a, b, q, r and s, from those of the residual."""
    both, even = weights + hermitian(weights), symmetrised(weights)
    turned = np.matmul(both, hermitian(gain))
    a_bar, b_bar = np.matmul(np.matmul(x, closed), both), -np.matmul(np.matmul(x, closed), turned)
    return a_bar, b_bar, even, np.matmul(np.matmul(gain, even), hermitian(gain)), -turned


def residual(x, closed, gain, a_dot, b_dot, q_dot, r_dot, s_dot):
    """How the residual changes while x does not."""
    half = np.matmul(np.matmul(hermitian(closed), x), a_dot - np.matmul(b_dot, gain)) - np.matmul(s_dot, gain)
    return half + hermitian(half) + q_dot + np.matmul(np.matmul(hermitian(gain), r_dot), gain)


def directions(a, b, q, r, a_dot, b_dot, q_dot, r_dot, s_dot):
    """Those of which nothing is given are zero."""
    pairs = ((a, a_dot), (b, b_dot), (q, q_dot), (r, r_dot), (b, s_dot))
    return [np.zeros_like(like) + dot for like, dot in pairs]


@adjoint(sl.solve_continuous_are)
def solve_continuous_are(y, y_bar, a, b, q, r, e=None, s=None, balanced=True):
    """a^H x + x a - (x b + s) r^-1 (b^H x + s^H) + q = 0; the gain is r^-1 (b^H x + s^H)."""
    plain(e)
    gain = np.linalg.solve(r, crossed(y, b, s))
    weights = sl.solve_sylvester(a - np.matmul(b, gain), hermitian(a - np.matmul(b, gain)), -y_bar)
    found = parts(y, np.eye(np.shape(a)[0]), gain, weights)
    return found[:4] if s is None else (*found[:4], None, found[4])


@tangent(sl.solve_continuous_are)
def solve_continuous_are_dot(y, a, b, q, r, e=None, s=None, a_dot=0.0, b_dot=0.0, q_dot=0.0, r_dot=0.0, e_dot=None, s_dot=0.0, balanced=True):
    plain(e)
    gain = np.linalg.solve(r, crossed(y, b, s))
    closed = a - np.matmul(b, gain)
    moved = residual(y, np.eye(np.shape(a)[0]), gain, *directions(a, b, q, r, a_dot, b_dot, q_dot, r_dot, 0.0 if s is None else s_dot))
    return sl.solve_sylvester(hermitian(closed), closed, -moved)


@adjoint(sl.solve_discrete_are)
def solve_discrete_are(y, y_bar, a, b, q, r, e=None, s=None, balanced=True):
    """a^H x a - x - (a^H x b + s) (r + b^H x b)^-1 (b^H x a + s^H) + q = 0."""
    plain(e)
    gain = np.linalg.solve(r + np.matmul(crossed(y, b, None), b), crossed(np.matmul(y, a), b, s))
    closed = a - np.matmul(b, gain)
    found = parts(y, closed, gain, sl.solve_discrete_lyapunov(closed, y_bar))
    return found[:4] if s is None else (*found[:4], None, found[4])


@tangent(sl.solve_discrete_are)
def solve_discrete_are_dot(y, a, b, q, r, e=None, s=None, a_dot=0.0, b_dot=0.0, q_dot=0.0, r_dot=0.0, e_dot=None, s_dot=0.0, balanced=True):
    plain(e)
    gain = np.linalg.solve(r + np.matmul(crossed(y, b, None), b), crossed(np.matmul(y, a), b, s))
    closed = a - np.matmul(b, gain)
    moved = residual(y, closed, gain, *directions(a, b, q, r, a_dot, b_dot, q_dot, r_dot, 0.0 if s is None else s_dot))
    return sl.solve_discrete_lyapunov(hermitian(closed), moved)


@samples(sl.solve_continuous_are, sl.solve_discrete_are)
def _(rng):
    """Of one state: SciPy refuses q and r that are not symmetric, as they are between differences of their elements."""
    yield (rng.normal(size=(1, 1)), rng.normal(size=(1, 1)) + 2.0, np.array([[1.5]]), np.array([[0.7]])), {}
    yield (rng.normal(size=(1, 1)), rng.normal(size=(1, 1)) + 2.0, np.array([[1.5]]), np.array([[0.7]])), {"s": np.array([[0.2]])}


# ------------------------------------------------------------------ functions of matrices


def change_of_expm(y):
    """The matrix of the derivative of expm at y, which takes the elements of a direction, row by row, to those of the change."""
    n = np.shape(y)[0]
    units = np.reshape(np.eye(n * n, dtype=y.dtype), (n * n, n, n))
    return np.transpose(np.reshape(expm_change(np.zeros_like(units) + y, units), (n * n, n * n)))


def log_bar(y, y_bar):
    """y = log a, so a = exp y, and the change of y solves for that of a."""
    return np.reshape(np.linalg.solve(hermitian(change_of_expm(y)), np.ravel(y_bar)), np.shape(y))


def log_dot(y, a_dot):
    return np.reshape(np.linalg.solve(change_of_expm(y), np.ravel(a_dot)), np.shape(y))


@adjoint(sl.logm)
def logm(y, y_bar, A, disp=True):  # noqa: N803  (SciPy's name)
    must_be_square(A)
    refuse(not disp, "scipy.linalg.logm with disp=False has no derivative", "leave out `disp`")
    return log_bar(y, y_bar)


@tangent(sl.logm)
def logm_dot(y, A, A_dot, disp=True):  # noqa: N803
    must_be_square(A)
    refuse(not disp, "scipy.linalg.logm with disp=False has no derivative", "leave out `disp`")
    return log_dot(y, A_dot)


@adjoint(sl.signm)
def signm(y, y_bar, A, disp=True):  # noqa: N803
    """With n = a y, the root of a^2: n y' + y' n = a' - y a' y."""
    must_be_square(A)
    root = hermitian(np.matmul(A, y))
    found = sl.solve_sylvester(root, root, y_bar)
    return (found - np.matmul(hermitian(y), np.matmul(found, hermitian(y)))).astype(A.dtype)


@tangent(sl.signm)
def signm_dot(y, A, A_dot, disp=True):  # noqa: N803
    must_be_square(A)
    root = np.matmul(A, y)
    return sl.solve_sylvester(root, root, A_dot - np.matmul(y, np.matmul(A_dot, y))).astype(y.dtype)


@adjoint(sl.fractional_matrix_power)
def fractional_matrix_power(y, y_bar, A, t):  # noqa: N803
    """exp(t log a)."""
    must_be_square(A)
    log = sl.logm(A)
    inner_bar = expm_change(hermitian(t * log), y_bar)
    return log_bar(log, t * inner_bar), np.sum(np.real(conj(log) * inner_bar))


@tangent(sl.fractional_matrix_power)
def fractional_matrix_power_dot(y, A, t, A_dot, t_dot):  # noqa: N803
    must_be_square(A)
    log = sl.logm(A)
    return expm_change(t * log, t * log_dot(log, A_dot) + t_dot * log)


@samples(sl.logm, sl.signm)
def _(rng):
    yield (positive(rng, 3, 3) + 0.1 * rng.normal(size=(3, 3)),), {}


@samples(sl.fractional_matrix_power)
def _(rng):
    yield (positive(rng, 3, 3) + 0.1 * rng.normal(size=(3, 3)), 0.3), {}


# ------------------------------------------------------------------ eigenvalues


@composite(sl.eig)
def eig(a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True, homogeneous_eigvals=False):
    refuse(b is not None or homogeneous_eigvals, "generalised eigenvectors have no derivative", "pass solve(b, a)")
    refuse(left or not right, "scipy.linalg.eig with `left` has no derivative", "take those of the transposed matrix")
    w, v = np.linalg.eig(a)
    return w + 0j, v  # in SciPy they are complex, whatever they are


@composite(sl.pinvh)
def pinvh(a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    refuse(atol is not None or return_rank, "scipy.linalg.pinvh with `atol` or `return_rank` has no derivative", "use `rtol`")
    full = mirrored(a if lower else hermitian(a))
    return np.linalg.pinv(full, np.shape(a)[0] * epsilon(a.dtype) if rtol is None else rtol)


def all_of(select):
    refuse(select not in ("a", "all", 0), "a part of the eigenvalues of a tridiagonal matrix has no derivative", "take all of them, and slice")


def vectors_of(y, d, e, eigvals_only):
    return sl.eigh_tridiagonal(d, e)[1] if eigvals_only else y[1]


@adjoint(sl.eigh_tridiagonal)
def eigh_tridiagonal(y, y_bar, d, e, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"):
    """As `eigh` of the matrix with `d` on its diagonal and `e` beside it, of which the others are zero."""
    all_of(select)
    v = vectors_of(y, d, e, eigvals_only)
    if eigvals_only:
        a_bar = np.matmul(times_columns(v, y_bar), np.transpose(v))
    else:
        middle = over_gaps(y[0], np.matmul(np.transpose(v), y_bar[1])) + np.diag(y_bar[0])
        a_bar = symmetrised(np.matmul(np.matmul(v, middle), np.transpose(v)))
    return np.diag(a_bar), 2.0 * np.diag(a_bar, 1)


@tangent(sl.eigh_tridiagonal)
def eigh_tridiagonal_dot(y, d, e, d_dot, e_dot, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"):
    all_of(select)
    v = vectors_of(y, d, e, eigvals_only)
    inner = np.matmul(np.transpose(v), np.matmul(np.diag(d_dot) + np.diag(e_dot, 1) + np.diag(e_dot, -1), v))
    if eigvals_only:
        return real_part(diagonal_of(inner))
    return real_part(diagonal_of(inner)), np.matmul(v, over_gaps(y[0], inner))


@composite(sl.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d, e, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"):
    all_of(select)
    return sl.eigh_tridiagonal(d, e, eigvals_only=True)


@samples(sl.eig)
def _(rng):
    yield (np.diag([1.0, 2.0, 4.0]) + 0.1 * rng.normal(size=(3, 3)),), {}


@samples(sl.pinvh)
def _(rng):
    yield (positive(rng, 3, 3),), {}
    yield (positive(rng, 3, 3), None, None, False), {}


@samples(sl.eigh_tridiagonal, sl.eigvalsh_tridiagonal)
def _(rng):
    yield (np.array([1.0, 2.5, 4.0, 7.0]), rng.uniform(0.3, 0.6, 3)), {}


@samples(sl.eigh_tridiagonal)
def _(rng):
    yield (np.array([1.0, 2.5, 4.0, 7.0]), rng.uniform(0.3, 0.6, 3)), {"eigvals_only": True}
