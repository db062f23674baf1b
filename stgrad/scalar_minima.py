# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.optimize.minimize_scalar`, `fminbound` and `brent` as plain Python, read in place of their calls; they differentiate by a slope of zero.

    f'(x, a) = 0    ->    x_dot = -(df'/da a_dot) / f''

The iteration is SciPy's, Brent's parabolas and golden sections (Brent 1973, "Algorithms for minimization without derivatives", chapter 5), in a bracket
that is found as in SciPy. Where no slope of zero is at what it arrives at, at a bound or a kink, a RuntimeError is raised.
"""

from __future__ import annotations

import math

import numpy as np

from stgrad.api import grad
from stgrad.frontend.library import refuse
from stgrad.implicit import custom_root

_METHOD = "methods other than 'brent' and 'bounded' of scipy.optimize.minimize_scalar are not supported"
_OWN = "leave `method` out, or stop at the minimum: stgrad.custom_root(stgrad.grad(f), x0, solve) takes any solver"
_FULL = "`full_output` of a solver of SciPy is not supported"
_LOST = "the minimum is not found: `maxiter` iterations do not do"
_STEEP = "no slope of zero is where the minimum is found: it is at a bound or a kink, and has no derivative by its slope"
_BRACKET = "The algorithm terminated without finding a valid bracket. Consider trying different initial points."
_ORDER = "Bracketing values (xa, xb, xc) do not fulfill this requirement: (xa < xb) and (xb < xc)"
_LOWEST = "Bracketing values (xa, xb, xc) do not fulfill this requirement: (f(xb) < f(xa)) and (f(xb) < f(xc))"
_SECTION, _SHORT_SECTION = 0.5 * (3.0 - math.sqrt(5.0)), 0.3819660  # SciPy has more digits of the golden section for bounds
_GOLDEN, _TINY = 1.618034, 1e-21


class ScalarMinimum:
    """What `minimize_scalar` returns."""

    def __init__(self, x, fun, nit):
        self.x, self.fun, self.nit = x, fun, nit
        self.success, self.status = True, 0

    def __getitem__(self, name):
        return getattr(self, name)


def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    chosen = ("brent" if bounds is None else "bounded") if method is None else method.lower()
    refuse(chosen not in ("brent", "bounded"), _METHOD, _OWN)
    given = {} if options is None else options
    most = given.get("maxiter", 500)
    more = args if isinstance(args, tuple) else (args,)
    if chosen == "brent":
        if bounds is not None:
            raise ValueError(f"Use of `bounds` is incompatible with 'method={method}'.")
        return _from_bracket(fun, more, bracket, given.get("xtol", 1.48e-8 if tol is None else tol), most)
    if bounds is None:
        raise ValueError("The `bounds` parameter is mandatory for method `bounded`.")
    return _within(fun, more, bounds[0], bounds[1], given.get("xatol", 1e-5 if tol is None else tol), most)


def brent(func, args=(), brack=None, tol=1.48e-8, full_output=0, maxiter=500):
    refuse(full_output != 0, _FULL)
    return _from_bracket(func, args if isinstance(args, tuple) else (args,), brack, tol, maxiter).x


def fminbound(func, x1, x2, args=(), xtol=1e-5, maxfun=500, full_output=0, disp=1):
    refuse(full_output != 0, _FULL)
    return _within(func, args if isinstance(args, tuple) else (args,), x1, x2, xtol, maxfun).x


def _from_bracket(fun, args, bracket, tol, most):
    def objective(x):
        return np.sum(np.reshape(np.asarray(1.0 * fun(x, *args)), (1,)))

    slope = grad(objective)

    def solve(g, ends):
        a, x, b = _ordered(objective, *ends) if len(ends) == 3 else _bracket(objective, 1.0 * ends[0], 1.0 * ends[1])
        x, count = _brent(objective, min(a, b), x, max(a, b), (tol, 1e-11), _SHORT_SECTION, most)
        _must_be_level(g, x, tol * abs(x) + 1e-11, -np.inf, np.inf)
        return x, count

    x, count = custom_root(lambda x: slope(x), (0.0, 1.0) if bracket is None else tuple(bracket), solve, has_aux=True)
    return ScalarMinimum(x, objective(x), count)


def _within(fun, args, low, high, near, most):
    def objective(x):
        return np.sum(np.reshape(np.asarray(1.0 * fun(x, *args)), (1,)))

    slope = grad(objective)

    def solve(g, ends):
        a, b = 1.0 * ends[0], 1.0 * ends[1]
        if a > b:
            raise ValueError("The lower bound exceeds the upper bound.")
        relative = math.sqrt(2.2e-16)
        x, count = _brent(objective, a, a + _SECTION * (b - a), b, (relative, near / 3.0), _SECTION, most - 1)
        _must_be_level(g, x, relative * abs(x) + near / 3.0, a, b)
        return x, count + 1

    x, count = custom_root(lambda x: slope(x), (low, high), solve, has_aux=True)
    return ScalarMinimum(x, objective(x), count)


def _must_be_level(slope, x, near, low, high):
    """Raise where the slope does not go through zero at x: it jumps at a kink, and keeps its sign at a bound."""
    d = 4.0 * near + 1e-6 * abs(x) + 1e-8
    left, right = slope(max(x - 10.0 * d, low)), slope(min(x + 10.0 * d, high))
    change = slope(min(x + d, high)) - slope(max(x - d, low))
    if not (left <= 0.0 and right >= 0.0 and change <= 0.5 * (right - left)):
        raise RuntimeError(_STEEP)


def _ordered(f, a, x, b):
    """A bracket that is given."""
    a, x, b = 1.0 * min(a, b), 1.0 * x, 1.0 * max(a, b)
    if not (a < x and x < b):
        raise ValueError(_ORDER)
    fx = f(x)
    if not (fx < f(a) and fx < f(b)):
        raise ValueError(_LOWEST)
    return a, x, b


def _bracket(f, a, b):
    """Three places of which the one in the middle is lowest, downhill from two."""
    fa, fb = f(a), f(b)
    if fa < fb:
        a, b, fa, fb = b, a, fb, fa
    c = b + _GOLDEN * (b - a)
    fc = f(c)
    count, found = 0, False
    while fc < fb and not found:
        if count > 1000:
            raise RuntimeError(_BRACKET)
        count += 1
        first, second = (b - a) * (fb - fc), (b - c) * (fb - fa)
        bend = second - first
        w = b - ((b - c) * second - (b - a) * first) / (2.0 * (_TINY if abs(bend) < _TINY else bend))
        far = b + 110.0 * (c - b)
        inside, beyond = (w - c) * (b - w) > 0.0, (w - far) * (far - c) >= 0.0
        ahead = not inside and not beyond and (w - far) * (c - w) > 0.0
        w = far if beyond and not inside else (w if inside or ahead else c + _GOLDEN * (c - b))
        fw = f(w)
        if inside and fw < fc:
            a, fa, b, fb, found = b, fb, w, fw, True
        elif inside and fw > fb:
            c, fc, found = w, fw, True
        elif inside or ahead and fw < fc:
            if ahead:
                b, fb, c, fc = c, fc, w, fw
            w = c + _GOLDEN * (c - b)
            fw = f(w)
        if not found:
            a, fa, b, fb, c, fc = b, fb, c, fc, w, fw
    lowest = fb < fc and fb <= fa or fb < fa and fb <= fc
    if not (lowest and (a < b and b < c or c < b and b < a) and np.isfinite(a) and np.isfinite(c)):
        raise RuntimeError(_BRACKET)
    return a, b, c


def _brent(f, a, x, b, tolerances, section, most):
    """The minimum between a and b from x, and how many iterations it took."""
    relative, absolute = tolerances
    fx = f(x)
    w, v, fw, fv = x, x, fx, fx
    before, step, count, found = 0.0, 0.0, 0, False
    while not found:
        near, middle = relative * abs(x) + absolute, 0.5 * (a + b)
        found = abs(x - middle) <= 2.0 * near - 0.5 * (b - a)
        if not found:
            if count >= most:
                raise RuntimeError(_LOST)
            before, step = _step(a, x, b, w, v, fx, fw, fv, before, step, near, section)
            u = x + (step if abs(step) >= near else (near if step >= 0.0 else -near))
            fu = f(u)
            count += 1
            if fu <= fx:
                a, b = (x, b) if u >= x else (a, x)
                v, fv, w, fw, x, fx = w, fw, x, fx, u, fu
            else:
                a, b = (u, b) if u < x else (a, u)
                if fu <= fw or w == x:
                    v, fv, w, fw = w, fw, u, fu
                elif fu <= fv or v in (x, w):
                    v, fv = u, fu
    if not np.isfinite(fx):
        raise RuntimeError(_LOST)
    return x, count


def _step(a, x, b, w, v, fx, fw, fv, before, step, near, section):
    """The step to the lowest place of a parabola through three places, else a golden section; and the one that it is measured by next time."""
    middle = 0.5 * (a + b)
    if abs(before) > near:
        first, second = (x - w) * (fx - fv), (x - v) * (fx - fw)
        p, q = (x - v) * second - (x - w) * first, 2.0 * (second - first)
        if q > 0.0:
            p = -p
        q = abs(q)
        if abs(p) < abs(0.5 * q * before) and p > q * (a - x) and p < q * (b - x):
            u = x + p / q
            if u - a < 2.0 * near or b - u < 2.0 * near:
                return step, (near if middle >= x else -near)
            return step, p / q
    whole = a - x if x >= middle else b - x
    return whole, section * whole


__all__ = ["brent", "fminbound", "minimize_scalar"]
