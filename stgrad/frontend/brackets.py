# mypy: allow-untyped-defs, allow-untyped-calls
"""The root finders of SciPy that keep a bracket, as plain Python, read in place of their calls; they differentiate by the equation that they solve.

The iterations are SciPy's own (scipy/optimize/Zeros/brentq.c, brenth.c, bisect.c, ridder.c), so that of several roots they find the same one.
"""

from __future__ import annotations

import math

from stgrad.implicit import custom_root


class Found:
    """What SciPy's root finders tell of a root."""

    def __init__(self, root, method):
        self.root, self.method = root, method
        self.converged, self.flag = True, "converged"


def brentq(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _told("brentq", _root(f, a, b, args, lambda g, low, high: _brent(g, low, high, xtol, rtol, maxiter, False)), full_output)


def brenth(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _told("brenth", _root(f, a, b, args, lambda g, low, high: _brent(g, low, high, xtol, rtol, maxiter, True)), full_output)


def bisect(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _told("bisect", _root(f, a, b, args, lambda g, low, high: _halve(g, low, high, xtol, rtol, maxiter)), full_output)


def ridder(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    return _told("ridder", _root(f, a, b, args, lambda g, low, high: _bent(g, low, high, xtol, rtol, maxiter)), full_output)


def _root(f, a, b, args, search):
    more = args if isinstance(args, tuple) else (args,)
    return custom_root(lambda x: f(x, *more), (a, b), lambda g, ends: search(g, ends[0], ends[1]))


def _told(method, root, full_output):
    return (root, Found(root, method)) if full_output else root


def _brent(f, a, b, xtol, rtol, maxiter, hyperbolic):
    before, x = 1.0 * a, 1.0 * b
    f_before, fx = 1.0 * f(before), 1.0 * f(x)
    if f_before * fx > 0.0:
        raise ValueError("f(a) and f(b) must have different signs")
    if f_before == 0.0:
        x, fx = before, f_before
    other, f_other, last, step = 0.0 * x, 0.0 * fx, 0.0 * x, 0.0 * x
    count, found = 0, fx == 0.0
    while not found:
        if count >= maxiter:
            raise RuntimeError("Failed to converge")
        count += 1
        if f_before != 0.0 and fx != 0.0 and (f_before < 0.0) != (fx < 0.0):
            other, f_other = before, f_before
            last = x - before
            step = x - before
        if abs(f_other) < abs(fx):
            before, x, other = x, other, x
            f_before, fx, f_other = fx, f_other, fx
        delta = (xtol + rtol * abs(x)) / 2.0
        half = (other - x) / 2.0
        if fx == 0.0 or abs(half) < delta:
            found = True
        else:
            trial, good = half, False
            if abs(last) > delta and abs(fx) < abs(f_before):
                if before == other:
                    trial = -fx * (x - before) / (fx - f_before)
                else:
                    slope, slope_other = (f_before - fx) / (before - x), (f_other - fx) / (other - x)
                    trial = _extrapolated(fx, f_before, f_other, slope, slope_other, hyperbolic)
                good = 2.0 * abs(trial) < min(abs(last), 3.0 * abs(half) - delta)
            last = step if good else half
            step = trial if good else half
            before, f_before = x, fx
            x = x + (step if abs(step) > delta else (delta if half > 0.0 else -delta))
            fx = 1.0 * f(x)
    return x


def _extrapolated(fx, f_before, f_other, slope, slope_other, hyperbolic):
    """The step to where the parabola, or the hyperbola, through three points is zero."""
    if hyperbolic:
        return -fx * (f_other - f_before) / (f_other * slope - f_before * slope_other)
    return -fx * (f_other * slope_other - f_before * slope) / (slope_other * slope * (f_other - f_before))


def _halve(f, a, b, xtol, rtol, maxiter):
    low, width = 1.0 * a, 1.0 * (b - a)
    f_low, f_high = 1.0 * f(low), 1.0 * f(1.0 * b)
    if f_low * f_high > 0.0:
        raise ValueError("f(a) and f(b) must have different signs")
    middle, found, count = low, f_low == 0.0, 0
    if f_high == 0.0 and not found:
        middle, found = 1.0 * b, True
    while not found:
        if count >= maxiter:
            raise RuntimeError("Failed to converge")
        count += 1
        width = 0.5 * width
        middle = low + width
        value = 1.0 * f(middle)
        if value * f_low >= 0.0:
            low = middle
        found = value == 0.0 or abs(width) < xtol + rtol * abs(middle)
    return middle


def _bent(f, a, b, xtol, rtol, maxiter):
    """Ridders' method: the secant of the function times an exponential that makes three points lie on a line."""
    low, high = 1.0 * a, 1.0 * b
    f_low, f_high = 1.0 * f(low), 1.0 * f(high)
    if f_low * f_high > 0.0:
        raise ValueError("f(a) and f(b) must have different signs")
    tolerance = xtol + rtol * min(abs(low), abs(high))
    x, count, found = low if f_low == 0.0 else high, 0, f_low == 0.0 or f_high == 0.0
    while not found:
        if count >= maxiter:
            raise RuntimeError("Failed to converge")
        count += 1
        half = 0.5 * (high - low)
        middle = low + half
        f_middle = 1.0 * f(middle)
        step = (1.0 if f_high > f_low else -1.0) * half * f_middle / math.sqrt(f_middle * f_middle - f_low * f_high)
        x = middle - (1.0 if step > 0.0 else -1.0) * min(abs(step), abs(half) - 0.5 * tolerance)
        fx = 1.0 * f(x)
        if (fx < 0.0) != (f_middle < 0.0):
            low, f_low, high, f_high = x, fx, middle, f_middle
        elif (fx < 0.0) != (f_low < 0.0):
            high, f_high = x, fx
        else:
            low, f_low = x, fx
        tolerance = xtol + rtol * x
        found = fx == 0.0 or abs(high - low) < tolerance
    return x
