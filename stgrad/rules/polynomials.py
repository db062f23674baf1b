"""Series of orthogonal polynomials, from numpy.polynomial: compositions by Clenshaw's recurrence."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

from .core import composite, samples


def spread_out(x, c, tensor):
    """The coefficients with an axis of length 1 for each axis of `x`."""
    if np.ndim(c) == 1 or not tensor:
        return c
    return np.reshape(c, np.shape(c) + (1,) * np.ndim(x))


@composite(chebyshev.chebval)
def chebval(x, c, tensor=True):
    c = spread_out(x, c, tensor)
    near, far = np.zeros_like(c[0] * x), np.zeros_like(c[0] * x)
    for k in range(len(c) - 1, 0, -1):
        near, far = c[k] + 2.0 * x * near - far, near
    return c[0] + x * near - far


@composite(legendre.legval)
def legval(x, c, tensor=True):
    c = spread_out(x, c, tensor)
    near, far = np.zeros_like(c[0] * x), np.zeros_like(c[0] * x)
    for k in range(len(c) - 1, -1, -1):
        near, far = c[k] + (2.0 * k + 1.0) / (k + 1.0) * x * near - (k + 1.0) / (k + 2.0) * far, near
    return near


@composite(hermite.hermval)
def hermval(x, c, tensor=True):
    c = spread_out(x, c, tensor)
    near, far = np.zeros_like(c[0] * x), np.zeros_like(c[0] * x)
    for k in range(len(c) - 1, -1, -1):
        near, far = c[k] + 2.0 * x * near - (2.0 * k + 2.0) * far, near
    return near


@composite(hermite_e.hermeval)
def hermeval(x, c, tensor=True):
    c = spread_out(x, c, tensor)
    near, far = np.zeros_like(c[0] * x), np.zeros_like(c[0] * x)
    for k in range(len(c) - 1, -1, -1):
        near, far = c[k] + x * near - (k + 1.0) * far, near
    return near


@composite(laguerre.lagval)
def lagval(x, c, tensor=True):
    c = spread_out(x, c, tensor)
    near, far = np.zeros_like(c[0] * x), np.zeros_like(c[0] * x)
    for k in range(len(c) - 1, -1, -1):
        near, far = c[k] + (2.0 * k + 1.0 - x) / (k + 1.0) * near - (k + 1.0) / (k + 2.0) * far, near
    return near


@samples(chebyshev.chebval, legendre.legval, hermite.hermval, hermite_e.hermeval, laguerre.lagval)
def _(rng):
    for n in (1, 2, 5):
        yield (rng.uniform(-1.0, 1.0, size=3), rng.normal(size=n)), {}
    yield (rng.uniform(-1.0, 1.0, size=3), rng.normal(size=(4, 2))), {}
    yield (0.3, rng.normal(size=4)), {}
