# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.optimize.curve_fit` and `leastsq` as plain Python, read in place of their calls; they differentiate by what holds at a fit: J^T r is zero.

The iteration is MINPACK's, that of Levenberg and Marquardt in steps of scaled variables (Moré 1978, "The Levenberg-Marquardt algorithm: implementation
and theory"), so that of several fits SciPy's is found; Jacobians are exact where none are given. A fit that is not found has no derivative: where SciPy
fails, a RuntimeError is raised.
"""

from __future__ import annotations

import inspect
import math

import numpy as np

from stgrad.api import grad
from stgrad.differentials import jacfwd
from stgrad.frontend.library import refuse
from stgrad.implicit import custom_root

_LIMITS = "bounds of scipy.optimize.curve_fit are not supported: whether one holds the fit decides its derivative"
_FREE = "substitute variables that keep them (p = exp(t) for p > 0)"
_METHOD = "methods other than 'lm' of scipy.optimize.curve_fit are not supported"
_OWN = "leave `method` out, or give a solver of your own to stgrad.custom_root"
_FULL = "`full_output` of a solver of SciPy is not supported"
_REST = "`nan_policy`, `diag` and `col_deriv` of a solver of SciPy are not supported"
_LOST = "Optimal parameters not found: the number of calls has reached `maxfev`"
_FEW = "Improper input: func input vector length N={} must not exceed func output vector length M={}"
_UNKNOWN = "Unable to determine number of fit parameters."
_NEAR = 1.49012e-8


def curve_fit(
    f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, bounds=None, method=None, jac=None, *, full_output=False,
    nan_policy=None, **options,
):  # fmt: skip
    refuse(bounds is not None, _LIMITS, _FREE)
    refuse(method is not None and method != "lm", _METHOD, _OWN)
    refuse(full_output, _FULL)
    refuse(nan_policy is not None, _REST)
    n = _parameters(f) if p0 is None else len(p0)
    start = np.ones(n) if p0 is None else 1.0 * np.asarray(p0)
    xs, ys = (np.asarray(xdata) if isinstance(xdata, (list, tuple)) else xdata), np.ravel(np.asarray(ydata))
    spread = None if sigma is None else 1.0 * np.asarray(sigma)

    def weighed(r):
        if spread is None:
            return r
        return r / spread if np.ndim(spread) == 1 else np.linalg.solve(np.linalg.cholesky(spread), r)

    def residuals(p):
        return weighed(np.ravel(f(xs, *[p[k] for k in range(n)])) - ys)

    def given(p):
        return weighed(1.0 * np.asarray(jac(xs, *[p[k] for k in range(n)])))

    popt = _fit(residuals, given if callable(jac) else None, start, options)
    matrix = given(popt) if callable(jac) else jacfwd(residuals)(popt)
    pcov = np.linalg.inv(matrix.T @ matrix)
    if not absolute_sigma:
        pcov = pcov * (np.sum(residuals(popt) ** 2) / (len(ys) - n) if len(ys) > n else np.inf)
    return popt, pcov


def _parameters(f):
    """How many parameters the function of a fit has."""
    kinds = [p.kind for p in inspect.signature(f).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds or len(kinds) < 2:
        raise ValueError(_UNKNOWN)
    return sum([k <= inspect.Parameter.POSITIONAL_OR_KEYWORD for k in kinds]) - 1


def leastsq(
    func, x0, args=(), Dfun=None, full_output=False, col_deriv=False, ftol=_NEAR, xtol=_NEAR, gtol=0.0, maxfev=0, epsfcn=None, factor=100, diag=None,
):  # fmt: skip  # noqa: N803
    refuse(full_output, _FULL)
    refuse(col_deriv or diag is not None, _REST)
    more = args if isinstance(args, tuple) else (args,)

    def residuals(p):
        return 1.0 * np.atleast_1d(np.asarray(func(p, *more)))

    def given(p):
        return 1.0 * np.asarray(Dfun(p, *more))

    start = 1.0 * np.atleast_1d(np.asarray(x0))
    options = {"ftol": ftol, "xtol": xtol, "gtol": gtol, "maxfev": maxfev, "factor": factor}
    return _fit(residuals, given if callable(Dfun) else None, start, options), 1


def _fit(residuals, jac, start, options):
    """The p at which J^T r is zero."""
    refuse(options.get("diag") is not None or options.get("col_deriv", False), _REST)
    n = len(start)
    calls = options.get("maxfev", 0)
    most = calls if calls > 0 else (100 if jac is not None else 200) * (n + 1)
    tests = (options.get("ftol", _NEAR), options.get("xtol", _NEAR), options.get("gtol", 0.0), options.get("factor", 100.0))
    jacobian = jacfwd(residuals) if jac is None else jac
    cost = 1 if jac is not None else 1 + n  # calls for a Jacobian of differences count

    def half(p):
        r = residuals(p)
        return 0.5 * np.sum(r * r)

    def slopes(p):
        return grad(half)(p) if jac is None else jac(p).T @ residuals(p)

    def solve(_, p):
        return _fitted(residuals, jacobian, 1.0 * p, tests, most, cost)

    return custom_root(slopes, start, solve)


def _norm(x):
    return math.sqrt(np.sum(x * x))


def _fitted(residuals, jacobian, p, tests, most, cost):
    ftol, xtol, gtol, factor = tests
    r, matrix = residuals(p), jacobian(p)
    if len(r) < len(p):
        raise TypeError(_FEW.format(len(p), len(r)))
    size = _columns(matrix)
    scale = np.where(size == 0.0, 1.0, size)
    radius = factor * (_norm(scale * p) if np.any(scale * p != 0.0) else 1.0)
    length, share, calls, first, found = _norm(r), 0.0, 1, True, False
    while not found:
        u, s, vt = np.linalg.svd(matrix / scale, full_matrices=False)
        along = u.T @ r
        found = length == 0.0 or np.max(np.abs(matrix.T @ r) / np.where(size == 0.0, np.inf, size * length)) <= gtol
        ratio = 0.0
        while ratio < 1e-4 and not found:
            if calls >= most:
                raise RuntimeError(_LOST)
            step, share = _damped(along, s, vt, radius, share)
            far = _norm(step)
            radius = min(radius, far) if first else radius
            moved = residuals(p + step / scale)
            reached, calls = _norm(moved), calls + 1
            gain = 1.0 - (reached / length) ** 2 if 0.1 * reached < length else -1.0
            linear, damped = (_norm(s * (vt @ step)) / length) ** 2, share * (far / length) ** 2
            expected, slope = linear + 2.0 * damped, -(linear + damped)
            ratio = gain / expected if expected != 0.0 else 0.0
            if ratio <= 0.25:
                less = 0.5 if gain >= 0.0 else 0.5 * slope / (slope + 0.5 * gain)
                less = 0.1 if 0.1 * reached >= length or less < 0.1 else less
                radius, share = less * min(radius, 10.0 * far), share / less
            elif share == 0.0 or ratio >= 0.75:
                radius, share = 2.0 * far, 0.5 * share
            if ratio >= 1e-4:
                p, r, length, first = p + step / scale, moved, reached, False
            found = abs(gain) <= ftol and expected <= ftol and ratio <= 2.0 or radius <= xtol * _norm(scale * p)
        if not found:
            matrix, calls = jacobian(p), calls + cost - 1
            size = _columns(matrix)
            scale = np.maximum(scale, size)
    return p


def _damped(along, s, vt, radius, share):
    """A step as long as the radius, to a tenth, by Moré's iteration for the share of the identity, and that share; a shorter one if that is best."""
    size, low, away = s * along, 0.0, np.inf
    length = _norm(along / np.where(s > 0.0, s, np.inf))
    if s[-1] > 0.0:
        away = length - radius
        if away <= 0.1 * radius:
            return -(vt.T @ (along / s)), 0.0
        low = away / radius * length**2 / np.sum((along / (s * s)) ** 2)
    high = _norm(size) / radius
    share = min(max(share, low), high)
    share = _norm(size) / length if share == 0.0 else share
    count, done, step = 0, False, size
    while not done:
        below = s * s + share
        step, count, before = size / below, count + 1, away
        length = _norm(step)
        away = length - radius
        done = abs(away) <= 0.1 * radius or low == 0.0 and away <= before and before < 0.0 or count == 10
        if not done:
            low, high = (max(low, share), high) if away > 0.0 else (low, min(high, share))
            share = max(low, share + away / radius * length**2 / np.sum(size * size / below**3))
    return -(vt.T @ step), share


def _columns(matrix):
    return np.sqrt(np.sum(matrix * matrix, axis=0))


__all__ = ["curve_fit", "leastsq"]
