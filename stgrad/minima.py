# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.optimize.minimize` as plain Python, read in place of its calls; it differentiates by what holds at a minimum: the gradient is zero.

    grad f(x, a) = 0    ->    x_dot = -(d2f/dx2)^-1 (d2f/dxda a_dot)

The iteration is that of SciPy's default without bounds, BFGS (Nocedal & Wright 2006, algorithm 6.1) with the line search of Moré & Thuente (1994,
"Line search algorithms with guaranteed sufficient decrease"), so that of several minima SciPy's is found; gradients are exact where none are given. A
search that does not arrive has no derivative: where SciPy says `success=False`, a RuntimeError is raised.
"""

from __future__ import annotations

import math

import numpy as np

from stgrad.api import grad
from stgrad.frontend.library import refuse
from stgrad.hooks import stop_gradient
from stgrad.implicit import custom_root

_METHOD = "methods other than BFGS of scipy.optimize.minimize are not supported"
_OWN = "leave `method` out; or stop at the minimum: stgrad.custom_root(stgrad.grad(f), x0, solve) takes any solver"
_LIMITS = "bounds and constraints of scipy.optimize.minimize are not supported: whether one holds the minimum decides its derivative"
_FREE = "substitute variables that keep them (x = exp(t) for x > 0), or give the equations of the minimum to stgrad.custom_root"
_ROUNDING = 1e-15  # of values near the minimum, where their differences tell nothing any more, but slopes do (Hager & Zhang 2005)
_LOST = "the minimum is not found: the line search makes no progress, or `maxiter` iterations do not do"
_DONE = "Optimization terminated successfully."
_DECREASE, _CURVATURE = 1e-4, 0.9  # Wolfe's conditions, as in SciPy


class Minimum:
    """What `minimize` returns."""

    def __init__(self, x, fun, jac, nit):
        self.x, self.fun, self.jac, self.nit = x, fun, jac, nit
        self.status, self.message, self.success = 0, _DONE, True

    def __getitem__(self, name):
        return getattr(self, name)


def minimize(
    fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None, callback=None, options=None,
):  # fmt: skip
    refuse(method is not None and method != "BFGS", _METHOD, _OWN)
    refuse(bounds is not None or len(constraints) > 0, _LIMITS, _FREE)
    more = args if isinstance(args, tuple) else (args,)
    given = {} if options is None else options
    both = isinstance(jac, bool) and jac

    def objective(x):
        value = fun(x, *more)[0] if both else fun(x, *more)
        return np.sum(np.reshape(np.asarray(1.0 * value), (1,)))

    def slopes(x):
        return 1.0 * np.asarray(fun(x, *more)[1] if both else jac(x, *more))

    known = both or callable(jac)
    gradient = slopes if known else grad(objective)
    gtol = given.get("gtol", 1e-5 if tol is None else tol)
    start = 1.0 * np.ravel(np.asarray(x0))
    most = given.get("maxiter", 200 * start.shape[0])

    def solve(g, x):
        return _bfgs(objective, g, 1.0 * x, gtol, most)

    x, count = custom_root(lambda x: gradient(x), start, solve, has_aux=True)
    return Minimum(x, objective(x), stop_gradient(gradient(x)), count)


def _bfgs(f, gradient, x, gtol, most):
    """The minimum, and how many iterations it took."""
    n = len(x)
    inverse = np.eye(n)
    value, g = f(x), gradient(x)
    before = value + math.sqrt(np.sum(g * g)) / 2.0
    count = 0
    while np.max(np.abs(g)) > gtol:
        if count >= most:
            raise RuntimeError(_LOST)
        p = -(inverse @ g)
        slope = np.sum(p * g)
        if slope >= 0.0:
            raise RuntimeError(_LOST)
        first = 1.01 * 2.0 * (value - before) / slope
        if first < 0.0 or first > 1.0:
            first = 1.0
        length, new = _searched(f, gradient, x, p, value, slope, first)
        before, value = value, new
        step = length * p
        moved = gradient(x + step)
        change = moved - g
        x, g, count = x + step, moved, count + 1
        along = np.sum(change * step)
        scale = 1000.0 if along == 0.0 else 1.0 / along
        left = np.eye(n) - scale * np.outer(step, change)
        inverse = left @ inverse @ left.T + scale * np.outer(step, step)
        if not np.isfinite(value):
            raise RuntimeError(_LOST)
    return x, count


def _searched(f, gradient, x, p, start, slope, first):
    """A step along p that meets Wolfe's conditions, and the value there."""
    low, f_low, d_low, high, f_high, d_high = 0.0, start, slope, 0.0, start, slope
    between, early, found, count = False, True, False, 0
    width, before = 1e100, 2e100
    nearest, farthest, t = 0.0, 5.0 * first, first
    value, trial = start, first
    limit = _DECREASE * slope
    while not found:
        at = x + t * p
        value, d = f(at), np.sum(gradient(at) * p)
        trial, enough, count = t, start + t * limit + _ROUNDING * abs(start), count + 1
        if value <= enough and abs(d) <= -_CURVATURE * slope:
            found = True
        elif count >= 99 or between and (t <= nearest or t >= farthest or farthest - nearest <= 1e-14 * farthest) or not np.isfinite(t):
            raise RuntimeError(_LOST)
        else:
            if early and value <= enough and d >= 0.0:
                early = False
            less = limit if early and value <= f_low and value > enough else 0.0  # of the function that the decrease is subtracted from
            low, f_low, d_low, high, f_high, d_high, t, between = _next(
                low, f_low - low * less, d_low - less, high, f_high - high * less, d_high - less, t, value - t * less, d - less, between, nearest, farthest
            )
            f_low, f_high, d_low, d_high = f_low + low * less, f_high + high * less, d_low + less, d_high + less
            if between:
                if abs(high - low) >= 0.66 * before:
                    t = low + 0.5 * (high - low)
                before, width = width, abs(high - low)
                nearest, farthest = min(low, high), max(low, high)
            else:
                nearest, farthest = t + 1.1 * (t - low), t + 4.0 * (t - low)
            t = min(max(t, 1e-100), 1e100)
            if between and (t <= nearest or t >= farthest or farthest - nearest <= 1e-14 * farthest):
                t = low
    return trial, value


def _next(low, f_low, d_low, high, f_high, d_high, t, f, d, between, nearest, farthest):
    """The next trial from a cubic, a quadratic or a secant, and the interval with it: Moré and Thuente's four cases."""
    turns = np.sign(d) * np.sign(d_low) < 0.0
    if f > f_low:
        cubic = low + _cubic(low, f_low, d_low, t, f, d, 1.0 if t > low else -1.0, False) * (t - low)
        square = low + d_low / ((f_low - f) / (t - low) + d_low) / 2.0 * (t - low)
        new = cubic if abs(cubic - low) <= abs(square - low) else cubic + (square - cubic) / 2.0
        between = True
    elif turns:
        cubic = t + _cubic(t, f, d, low, f_low, d_low, -1.0 if t > low else 1.0, False) * (low - t)
        secant = t + d / (d - d_low) * (low - t)
        new = cubic if abs(cubic - t) > abs(secant - t) else secant
        between = True
    elif abs(d) < abs(d_low):
        share = _cubic(t, f, d, low, f_low, d_low, -1.0 if t > low else 1.0, True)
        cubic = t + share * (low - t) if share < 0.0 else (farthest if t > low else nearest)
        secant = t + d / (d - d_low) * (low - t)
        if between:
            new = cubic if abs(cubic - t) < abs(secant - t) else secant
            bound = t + 0.66 * (high - t)
            new = min(bound, new) if t > low else max(bound, new)
        else:
            new = cubic if abs(cubic - t) > abs(secant - t) else secant
            new = min(max(new, nearest), farthest)
    elif between:
        new = t + _cubic(t, f, d, high, f_high, d_high, -1.0 if t > high else 1.0, False) * (high - t)
    else:
        new = farthest if t > low else nearest
    if f > f_low:
        return low, f_low, d_low, t, f, d, new, between
    if turns:
        return t, f, d, low, f_low, d_low, new, between
    return t, f, d, high, f_high, d_high, new, between


def _cubic(a, f_a, d_a, b, f_b, d_b, sign, may_miss):
    """Where the cubic through two points has its minimum, as a share of the way from a to b; with `may_miss`, it may have none: 1 then."""
    theta = 3.0 * (f_a - f_b) / (b - a) + d_a + d_b
    size = max(abs(theta), abs(d_a), abs(d_b))
    inner = (theta / size) ** 2 - (d_a / size) * (d_b / size)
    root = sign * size * math.sqrt(max(0.0, inner)) if inner > 0.0 or may_miss else 0.0
    return (1.0 if may_miss and root == 0.0 else ((root - d_a) + theta) / (((root - d_a) + root) + d_b))


__all__ = ["minimize"]
