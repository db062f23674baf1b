# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.optimize.least_squares` as plain Python, read in place of its calls; it differentiates by what holds at a fit: J^T r is zero.

    J(x, a)^T r(x, a) = 0    ->    x_dot = -(J^T J + sum of r_i times the Hessian of r_i)^-1 (d(J^T r)/da a_dot)

The iteration is SciPy's default without bounds, steps in a trust region by singular values (Branch, Coleman & Li 1999, "A subspace, interior, and
conjugate gradient method for large-scale bound-constrained minimization problems"; Moré 1978 for the length of a step), so that of several fits SciPy's
is found; Jacobians are exact where none are given. A fit that is not found has no derivative: where SciPy says `success=False`, a RuntimeError is raised.
"""

from __future__ import annotations

import math

import numpy as np

from stgrad.api import grad
from stgrad.differentials import jacfwd
from stgrad.frontend.library import refuse
from stgrad.hooks import stop_gradient
from stgrad.implicit import custom_root

_EPS = 2.220446049250313e-16
_METHOD = "methods other than 'trf' of scipy.optimize.least_squares are not supported"
_OWN = "leave `method` out, or give a solver of your own to stgrad.custom_root"
_LIMITS = "bounds of scipy.optimize.least_squares are not supported: whether one holds the fit decides its derivative"
_FREE = "substitute variables that keep them (x = exp(t) for x > 0)"
_LOSS = "`loss` and `x_scale` of scipy.optimize.least_squares are not supported"
_PLAIN = "weigh the residuals in the function itself"
_LOST = "the fit is not found: `max_nfev` calls do not do"


class Fit:
    """What `least_squares` returns."""

    def __init__(self, x, cost, fun, jac, grad, nfev):
        self.x, self.cost, self.fun, self.jac, self.grad, self.nfev = x, cost, fun, jac, grad, nfev
        self.success = True

    def __getitem__(self, name):
        return getattr(self, name)


def least_squares(
    fun, x0, jac="2-point", bounds=None, method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8, x_scale=None, loss="linear", f_scale=1.0, diff_step=None,
    tr_solver=None, tr_options=None, jac_sparsity=None, max_nfev=None, verbose=0, args=(), kwargs=None, callback=None, workers=None,
):  # fmt: skip
    refuse(method != "trf", _METHOD, _OWN)
    refuse(bounds is not None, _LIMITS, _FREE)
    refuse(loss != "linear" or x_scale is not None and x_scale != 1.0, _LOSS, _PLAIN)
    named = {} if kwargs is None else kwargs

    def residuals(x):
        return 1.0 * np.atleast_1d(np.asarray(fun(x, *args, **named)))

    def cost(x):
        r = residuals(x)
        return 0.5 * np.sum(r * r)

    def given(x):
        return 1.0 * np.asarray(jac(x, *args, **named))

    jacobian = given if callable(jac) else jacfwd(residuals)
    start = 1.0 * np.ravel(np.asarray(x0))
    most = 100 * start.shape[0] if max_nfev is None else max_nfev
    tests = tuple([0.0 if t is None else t for t in (ftol, xtol, gtol)])

    def solve(_, x):
        return _fitted(residuals, jacobian, 1.0 * x, tests, most)

    def slopes(x):
        return given(x).T @ residuals(x) if callable(jac) else grad(cost)(x)

    x, calls = custom_root(slopes, start, solve, has_aux=True)
    matrix, left = jacobian(x), residuals(x)
    return Fit(x, cost(x), left, stop_gradient(matrix), stop_gradient(matrix.T @ left), calls)


def _norm(x):
    return math.sqrt(np.sum(x * x))


def _fitted(residuals, jacobian, x, tests, most):
    """The fit, and how often the residuals were computed."""
    ftol, xtol, gtol = tests
    r, matrix = residuals(x), jacobian(x)
    cost, g = 0.5 * np.sum(r * r), matrix.T @ r
    radius, share, calls, found = _norm(x), 0.0, 1, False
    if radius == 0.0:
        radius = 1.0
    while not found and np.max(np.abs(g)) >= gtol:
        u, s, vt = np.linalg.svd(matrix, full_matrices=False)
        along = u.T @ r
        gain, new, moved = -1.0, x, r
        while gain <= 0.0 and not found:
            if calls >= most:
                raise RuntimeError(_LOST)
            step, share = _step(along, s, vt, radius, share, len(r))
            length, expected = _norm(step), -(0.5 * np.sum((matrix @ step) ** 2) + np.sum(g * step))
            new = x + step
            moved, calls = residuals(new), calls + 1
            if not np.all(np.isfinite(moved)):
                radius = 0.25 * length
            else:
                gain = cost - 0.5 * np.sum(moved * moved)
                ratio = gain / expected if expected > 0.0 else (1.0 if expected == gain and gain == 0.0 else 0.0)
                wider = 0.25 * length if ratio < 0.25 else (2.0 * radius if ratio > 0.75 and length > 0.95 * radius else radius)
                found = gain < ftol * cost and ratio > 0.25 or length < xtol * (xtol + _norm(x))
                if not found:
                    share, radius = share * radius / wider, wider
        if gain > 0.0:
            x, r, cost = new, moved, 0.5 * np.sum(moved * moved)
            matrix = jacobian(x)
            g = matrix.T @ r
    return x, calls


def _step(along, s, vt, radius, share, count):
    """The step of least residuals no longer than the radius, by Moré's iteration for the share of the identity, and that share."""
    size = s * along
    full = count >= vt.shape[1] and s[-1] > _EPS * count * s[0]
    low, high = 0.0, _norm(size) / radius
    if full:
        step = -(vt.T @ (along / s))
        if _norm(step) <= radius:
            return step, 0.0
        away, slope = _away(0.0, size, s, radius)
        low = -away / slope
    elif share == 0.0:
        share = max(0.001 * high, math.sqrt(low * high))
    done, rounds = False, 0
    while not done and rounds < 10:
        if share < low or share > high:
            share = max(0.001 * high, math.sqrt(low * high))
        away, slope = _away(share, size, s, radius)
        if away < 0.0:
            high = share
        ratio = away / slope
        low = max(low, share - ratio)
        share -= (away + radius) * ratio / radius
        done, rounds = abs(away) < 0.01 * radius, rounds + 1
    step = -(vt.T @ (size / (s * s + share)))
    return step * (radius / _norm(step)), share


def _away(share, size, s, radius):
    """By how much a step is longer than the radius, and the slope of that."""
    below = s * s + share
    length = _norm(size / below)
    return length - radius, -np.sum(size * size / below**3) / length


__all__ = ["least_squares"]
