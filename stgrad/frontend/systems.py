# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.optimize.root` and `fsolve` as plain Python, read in place of their calls; they differentiate by the equations that they solve.

The iteration is that of MINPACK's `hybrd` and `hybrj`, Powell's hybrid method (Moré, Garbow & Hillstrom 1980, "User guide for MINPACK-1"), with the
whole matrix where MINPACK keeps its factors, so that of several roots SciPy's is found. A system that is not solved has no derivative: where SciPy
says `success=False`, or warns, a RuntimeError is raised.
"""

from __future__ import annotations

import math

import numpy as np

from stgrad.frontend.library import refuse
from stgrad.hooks import stop_gradient
from stgrad.implicit import custom_root

_SMALL = 2.220446049250313e-16
_FULL = "`full_output` of scipy.optimize.fsolve is not supported"
_ONE = "give scipy.optimize.root, whose result has what it tells"
_REST = "`band` and `col_deriv` of scipy.optimize.fsolve are not supported"
_METHOD = "methods other than 'hybr' of scipy.optimize.root are not supported"
_OWN = "leave `method` out, or give a solver of your own to stgrad.custom_root"
_LOST = "the system of equations is not solved: the iteration makes no progress, or `maxfev` calls do not do"
_DONE = "The solution converged."


class Root:
    """What `root` returns."""

    def __init__(self, x, fun, nfev):
        self.x, self.fun, self.nfev = x, fun, nfev
        self.status, self.message, self.success = 1, _DONE, True

    def __getitem__(self, name):
        return getattr(self, name)


def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    refuse(method != "hybr", _METHOD, _OWN)
    more = args if isinstance(args, tuple) else (args,)
    given = {} if options is None else options
    xtol = given.get("xtol", 1.49012e-8 if tol is None else tol)
    both = isinstance(jac, bool) and jac

    def left(x):
        return fun(x, *more)[0] if both else fun(x, *more)

    def slopes(x):
        return fun(x, *more)[1] if both else jac(x, *more)

    known = both or jac is not None and not isinstance(jac, bool)
    most, eps, factor, diag = given.get("maxfev", 0), given.get("eps", None), given.get("factor", 100.0), given.get("diag", None)
    x, calls = _solved(left, x0, slopes if known else None, xtol, most, eps, factor, diag)
    return Root(x, stop_gradient(np.reshape(np.asarray(left(x)), np.shape(x))), calls)


def fsolve(
    func, x0, args=(), fprime=None, full_output=0, col_deriv=0, xtol=1.49012e-8, maxfev=0, band=None, epsfcn=None, factor=100.0, diag=None,
):  # fmt: skip
    refuse(full_output != 0, _FULL, _ONE)
    refuse(col_deriv != 0 or band is not None, _REST)
    more = args if isinstance(args, tuple) else (args,)
    slopes = None if fprime is None else lambda x: fprime(x, *more)
    return _solved(lambda x: func(x, *more), x0, slopes, xtol, maxfev, epsfcn, factor, diag)[0]


def _solved(left, x0, slopes, xtol, maxfev, epsfcn, factor, diag):
    start = 1.0 * np.ravel(np.asarray(x0))

    def f(x):
        return np.reshape(1.0 * np.asarray(left(x)), np.shape(x))

    def solve(g, x):
        jacobian = (lambda x, fx: _differences(g, x, fx, epsfcn)) if slopes is None else (lambda x, fx: 1.0 * np.asarray(slopes(x)))
        limit = maxfev if maxfev else (200 if slopes is None else 100) * (len(x) + 1)
        return _hybrid(g, 1.0 * x, jacobian, xtol, limit, factor, diag)

    return custom_root(f, start, solve, has_aux=True)


def _differences(f, x, fx, epsfcn):
    """The Jacobian by forward differences."""
    n = len(x)
    size = math.sqrt(_SMALL if epsfcn is None else max(epsfcn, _SMALL))
    matrix = np.zeros((n, n))
    for j in range(n):
        h = size * abs(x[j])
        if h == 0.0:
            h = size
        moved = 1.0 * x
        moved[j] = x[j] + h
        matrix[:, j] = (f(moved) - fx) / h
    return matrix


def _norm(x):
    return math.sqrt(np.sum(x * x))


def _hybrid(f, x, jacobian, xtol, limit, factor, diag):
    """The root, and how often f was called."""
    fx = f(x)
    norm, calls, first, found, lost = _norm(fx), 1, True, False, False
    scale = np.ones(len(x)) if diag is None else 1.0 * np.asarray(diag)
    delta, slow, slower = 0.0, 0, 0
    while not (found or lost):
        matrix = jacobian(x, fx)
        calls += len(x)
        columns = np.sqrt(np.sum(matrix * matrix, axis=0))
        if diag is None:
            scale = np.where(columns == 0.0, 1.0, columns) if first else np.maximum(scale, columns)
        if first:
            delta = factor * _norm(scale * x)
            if delta == 0.0:
                delta = 1.0 * factor
        failed, done, fresh = 0, 0, True
        while failed < 2 and not (found or lost):
            p = -_dogleg(matrix, fx, scale, delta)
            length = _norm(scale * p)
            if first:
                delta = min(delta, length)
            moved, calls = f(x + p), calls + 1
            new, expected = _norm(moved), _norm(fx + matrix @ p)
            actual = 1.0 - (new / norm) ** 2 if new < norm else -1.0
            predicted = 1.0 - (expected / norm) ** 2 if expected < norm else 0.0
            ratio = actual / predicted if predicted > 0.0 else 0.0
            delta, failed, done = _radius(delta, length, ratio, failed, done)
            change = np.outer(moved - fx - matrix @ p, scale * scale * p) / max(length * length, 1e-300)
            if ratio >= 1e-4:
                x, fx, norm, first = x + p, moved, new, False
            slow = 0 if actual >= 0.001 else slow + 1
            slower = 0 if actual >= 0.1 else slower + 1 if fresh else slower
            size = _norm(scale * x)
            found = delta <= xtol * size or norm == 0.0
            lost = calls >= limit or 0.1 * max(0.1 * delta, length) <= _SMALL * size or slower == 5 or slow == 10
            matrix, fresh = matrix + change, False
    if not found:
        raise RuntimeError(_LOST)
    return x, calls


def _radius(delta, length, ratio, failed, done):
    """How far the next step may go, and how many in a row have failed, and have not."""
    if ratio < 0.1:
        return 0.5 * delta, failed + 1, 0
    if ratio >= 0.5 or done > 0:
        delta = max(delta, 2.0 * length)
    if abs(ratio - 1.0) <= 0.1:
        delta = 2.0 * length
    return delta, 0, done + 1


def _dogleg(matrix, fx, scale, delta):
    """The step along Powell's dog leg: as far as `delta` goes from the steepest descent to Newton's step."""
    newton = _newton(matrix, fx)
    length = _norm(scale * newton)
    if length <= delta:
        return newton
    steepest = (matrix.T @ fx) / scale
    slope = _norm(steepest)
    if slope == 0.0:
        return (delta / length) * newton
    steepest = steepest / slope / scale
    size = _norm(matrix @ steepest)
    best = slope / size / size
    share, part, alpha = delta / length, best / delta, 0.0
    if best < delta:
        t = (_norm(fx) / slope) * (_norm(fx) / length) * part
        t = t - share * part**2 + math.sqrt((t - share) ** 2 + (1.0 - share**2) * (1.0 - part**2))
        alpha = share * (1.0 - part**2) / t
    return (1.0 - alpha) * min(best, delta) * steepest + alpha * newton


def _newton(matrix, fx):
    """Newton's step; a zero among the pivots is taken for the smallest number that its column tells from it."""
    n = len(fx)
    q, r = np.linalg.qr(matrix)
    y = q.T @ fx
    for j in range(n - 1, -1, -1):
        pivot = r[j, j]
        if pivot == 0.0:
            pivot = _SMALL * np.max(np.abs(r[:, j]))
            if pivot == 0.0:
                pivot = _SMALL
        y[j] = (y[j] - np.sum(r[j, j + 1 :] * y[j + 1 :])) / pivot
    return y


__all__ = ["fsolve", "root"]
