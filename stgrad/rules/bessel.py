"""Derivatives of the Bessel functions of scipy.special, in the argument; orders have no closed form."""

from __future__ import annotations

import numpy as np
import scipy.special as sp

from .core import expansion, partials, refuse, samples
from .sampling import unary


@partials(sp.j0)
def j0(y, x):
    return -sp.j1(x)


@partials(sp.j1)
def j1(y, x):
    return 0.5 * (sp.j0(x) - sp.jv(2.0, x))


@partials(sp.jv)
def jv(y, v, z):
    return None, 0.5 * (sp.jv(v - 1.0, z) - sp.jv(v + 1.0, z))


@partials(sp.y0)
def y0(y, x):
    return -sp.y1(x)


@partials(sp.y1)
def y1(y, x):
    return 0.5 * (sp.y0(x) - sp.yv(2.0, x))


@partials(sp.yv)
def yv(y, v, z):
    return None, 0.5 * (sp.yv(v - 1.0, z) - sp.yv(v + 1.0, z))


@partials(sp.yn)
def yn(y, n, x):
    """Of the order that is used: SciPy drops what is behind its point."""
    order = np.trunc(n)
    return None, 0.5 * (sp.yv(order - 1.0, x) - sp.yv(order + 1.0, x))


@partials(sp.i0, np.i0)
def i0(y, x):
    return sp.i1(x)


@expansion(np.i0, always=True)
def i0_of_scipy(x):
    return sp.i0(x) if np.result_type(x).kind == "f" else NotImplemented


@partials(sp.i1)
def i1(y, x):
    return 0.5 * (sp.i0(x) + sp.iv(2.0, x))


@partials(sp.iv)
def iv(y, v, z):
    return None, 0.5 * (sp.iv(v - 1.0, z) + sp.iv(v + 1.0, z))


@partials(sp.i0e)
def i0e(y, x):
    return sp.i1e(x) - np.sign(x) * y


@partials(sp.i1e)
def i1e(y, x):
    return 0.5 * (sp.i0e(x) + sp.ive(2.0, x)) - np.sign(x) * y


@partials(sp.ive)
def ive(y, v, z):
    refuse(np.iscomplexobj(z), "scipy.special.ive of a complex number has no complex derivative: it is scaled by its real part", "call iv, and scale it")
    return None, 0.5 * (sp.ive(v - 1.0, z) + sp.ive(v + 1.0, z)) - np.sign(z) * y


@partials(sp.k0)
def k0(y, x):
    return -sp.k1(x)


@partials(sp.k1)
def k1(y, x):
    return -0.5 * (sp.k0(x) + sp.kv(2.0, x))


@partials(sp.kv)
def kv(y, v, z):
    return None, -0.5 * (sp.kv(v - 1.0, z) + sp.kv(v + 1.0, z))


@partials(sp.kn)
def kn(y, n, x):
    """Of the order that is used: SciPy drops what is behind its point."""
    order = np.trunc(n)
    return None, -0.5 * (sp.kv(order - 1.0, x) + sp.kv(order + 1.0, x))


@partials(sp.k0e)
def k0e(y, x):
    return y - sp.k1e(x)


@partials(sp.k1e)
def k1e(y, x):
    return y - 0.5 * (sp.k0e(x) + sp.kve(2.0, x))


@partials(sp.kve)
def kve(y, v, z):
    return None, y - 0.5 * (sp.kve(v - 1.0, z) + sp.kve(v + 1.0, z))


# The spherical functions obey f' = (n / z) f -+ f(n + 1) and f'' = -(2 / z) f' -+ (1 -+ n (n + 1) / z^2) f (NIST Digital Library of Mathematical
# Functions, 10.51 and 10.47).


@partials(sp.spherical_jn)
def spherical_jn(y, n, z, derivative=False):
    if derivative:
        return None, -2.0 / z * y - (1.0 - n * (n + 1.0) / (z * z)) * sp.spherical_jn(n, z), None
    return None, n / z * y - sp.spherical_jn(n + 1, z), None


@partials(sp.spherical_yn)
def spherical_yn(y, n, z, derivative=False):
    if derivative:
        return None, -2.0 / z * y - (1.0 - n * (n + 1.0) / (z * z)) * sp.spherical_yn(n, z), None
    return None, n / z * y - sp.spherical_yn(n + 1, z), None


@partials(sp.spherical_in)
def spherical_in(y, n, z, derivative=False):
    if derivative:
        return None, -2.0 / z * y + (1.0 + n * (n + 1.0) / (z * z)) * sp.spherical_in(n, z), None
    return None, n / z * y + sp.spherical_in(n + 1, z), None


@partials(sp.spherical_kn)
def spherical_kn(y, n, z, derivative=False):
    if derivative:
        return None, -2.0 / z * y + (1.0 + n * (n + 1.0) / (z * z)) * sp.spherical_kn(n, z), None
    return None, n / z * y - sp.spherical_kn(n + 1, z), None


unary(np.i0, sp.j0, sp.j1, sp.i0, sp.i1)
unary(sp.y0, sp.y1, sp.k0, sp.k1, sp.k0e, sp.k1e, sp.i0e, sp.i1e, low=0.3, high=3.0)


@samples(sp.jv, sp.yv, sp.iv, sp.ive, sp.kv, sp.kve)
def _(rng):
    yield (1.3, np.array([0.3, 1.0, 2.5])), {}
    yield (np.array([[0.0], [2.0]]), np.array([0.3, 1.0, 2.5])), {}


@samples(sp.yn, sp.kn)
def _(rng):
    yield (2, np.array([0.3, 1.0, 2.5])), {}
    yield (0, 0.7), {}


@samples(sp.spherical_jn, sp.spherical_yn, sp.spherical_in, sp.spherical_kn)
def _(rng):
    yield (2, np.array([0.3, 1.0, 2.5])), {}
    yield (1, np.array([0.3, 1.0, 2.5])), {"derivative": True}
    yield (1, 0.7, True), {}
