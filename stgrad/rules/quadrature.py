"""Integrals of scipy.integrate by rules with fixed points, as compositions."""

from __future__ import annotations

import numpy as np
import scipy.integrate as si

from .core import composite, refuse, samples, static
from .reductions import back, last


def spacings(y, x, dx, axis):
    """The distances of the points, along the last axis."""
    refuse(x is not None and np.iscomplexobj(x), "an integral over complex points is not supported: SciPy drops imaginary parts", "pass real ones")
    if x is None:
        return np.full(np.shape(y)[axis] - 1, 1.0 * dx)
    return np.diff(x) if np.ndim(x) == 1 else np.diff(last(x, axis))


def divided(a, b):
    """a / b, and 0 where b is 0."""
    return np.where(b != 0.0, a / np.where(b != 0.0, b, 1.0), 0.0)


@composite(si.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    v = last(y, axis)
    return np.sum(0.5 * spacings(y, x, dx, axis) * (v[..., 1:] + v[..., :-1]), axis=-1)


@composite(si.cumulative_trapezoid)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    v = last(y, axis)
    sums = np.cumsum(0.5 * spacings(y, x, dx, axis) * (v[..., 1:] + v[..., :-1]), axis=-1)
    return back(sums if initial is None else np.concatenate((np.zeros_like(v[..., :1]), sums), axis=-1), axis)


@composite(si.simpson)
def simpson(y, x=None, *, dx=1.0, axis=-1):
    """An even number of points ends with the interval of Cartwright (2017), eq. 8."""
    v, h = last(y, axis), spacings(y, x, dx, axis)
    n = np.shape(v)[-1]
    points = n - 1 + n % 2
    whole = parabolas(v, h, points)
    if n == 2:
        whole = whole + 0.5 * h[..., -1] * (v[..., -1] + v[..., -2])
    elif n % 2 == 0:
        whole = whole + last_interval(v, h[..., -2], h[..., -1])
    return whole


def parabolas(v, h, points):
    """Simpson's rule through the first `points`, an odd number."""
    left, right = h[..., 0 : max(points - 2, 0) : 2], h[..., 1 : points - 1 : 2]
    both, ratio = left + right, divided(left, right)
    first = v[..., 0 : max(points - 2, 0) : 2] * (2.0 - divided(1.0, ratio))
    middle = v[..., 1 : points - 1 : 2] * (both * divided(both, left * right))
    return np.sum(both / 6.0 * (first + middle + v[..., 2:points:2] * (2.0 - ratio)), axis=-1)


def last_interval(v, before, h):
    alpha = divided(2.0 * h * h + 3.0 * before * h, 6.0 * (h + before))
    beta = divided(h * h + 3.0 * before * h, 6.0 * before)
    eta = divided(h * h * h, 6.0 * before * (before + h))
    return alpha * v[..., -1] + beta * v[..., -2] - eta * v[..., -3]


@static
def gauss_legendre(n):
    points, weights = np.polynomial.legendre.leggauss(n)
    return tuple(points.tolist()), tuple(weights.tolist())


@composite(si.fixed_quad)
def fixed_quad(func, a, b, args=(), n=5):
    points, weights = gauss_legendre(n)
    half = 0.5 * (b - a)
    return half * np.sum(np.array(weights) * func(half * (np.array(points) + 1.0) + a, *args), axis=-1), None


@samples(si.trapezoid, si.simpson, si.cumulative_trapezoid)
def _(rng):
    for n in (2, 3, 4, 5, 6):
        yield (rng.normal(size=n),), {"dx": 0.3}
        yield (rng.normal(size=n), np.cumsum(rng.uniform(0.5, 1.5, size=n))), {}
    yield (rng.normal(size=(4, 3)),), {"axis": 0}
    yield (rng.normal(size=(4, 3)), np.cumsum(rng.uniform(0.5, 1.5, size=(4, 3)), axis=0)), {"axis": 0}


@samples(si.cumulative_trapezoid)
def _(rng):
    yield (rng.normal(size=(4, 3)),), {"axis": 0, "initial": 0}


@samples(si.fixed_quad)
def _(rng):
    yield (np.exp, 0.1, 0.7), {}
