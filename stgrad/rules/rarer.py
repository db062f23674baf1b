"""Derivatives of functions of scipy.special that few programs use, each in the arguments in which it has a closed form.

Sources: NIST Digital Library of Mathematical Functions, chapters 6 (integrals), 7 (Fresnel), 9 (Airy), 10 (Kelvin, Hankel), 11 (Struve), 13 (confluent),
19 (elliptic integrals), 22 (Jacobian elliptic functions); the distributions from their densities.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special as sp

from .core import adjoint, partials, samples, tangent
from .products import conj
from .sampling import binary, unary

PI = math.pi


@partials(sp.hankel1)
def hankel1(y, v, z):
    return None, 0.5 * (sp.hankel1(v - 1.0, z) - sp.hankel1(v + 1.0, z))


@partials(sp.hankel2)
def hankel2(y, v, z):
    return None, 0.5 * (sp.hankel2(v - 1.0, z) - sp.hankel2(v + 1.0, z))


@partials(sp.struve)
def struve(y, v, x):
    return None, sp.struve(v - 1.0, x) - v / x * y


@partials(sp.modstruve)
def modstruve(y, v, x):
    return None, sp.modstruve(v - 1.0, x) - v / x * y


@partials(sp.ber)
def ber(y, x):
    return sp.berp(x)


@partials(sp.bei)
def bei(y, x):
    return sp.beip(x)


@partials(sp.ker)
def ker(y, x):
    return sp.kerp(x)


@partials(sp.kei)
def kei(y, x):
    return sp.keip(x)


@partials(sp.berp)
def berp(y, x):
    return -sp.bei(x) - y / x


@partials(sp.beip)
def beip(y, x):
    return sp.ber(x) - y / x


@partials(sp.kerp)
def kerp(y, x):
    return -sp.kei(x) - y / x


@partials(sp.keip)
def keip(y, x):
    return sp.ker(x) - y / x


@partials(sp.exprel)
def exprel(y, x):
    """(exp(x) - y) / x, near 0 by its series."""
    small = np.abs(x) < 1e-2
    series = 0.5 + x * (1.0 / 3.0 + x * (0.125 + x * (1.0 / 30.0 + x * (1.0 / 144.0 + x / 840.0))))
    return np.where(small, series, (np.exp(x) - y) / np.where(small, 1.0, x))


@partials(sp.wrightomega)
def wrightomega(y, z):
    return y / (1.0 + y)


@partials(sp.owens_t)
def owens_t(y, h, a):
    """Source: Owen, Tables for computing bivariate normal probabilities (1956)."""
    by_h = -np.exp(-0.5 * h * h) * sp.erf(a * h / math.sqrt(2.0)) / (2.0 * math.sqrt(2.0 * PI))
    return by_h, np.exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * PI * (1.0 + a * a))


def by_power(grown, y, lmbda):
    """The derivative of (1 + lmbda y)^(1 / lmbda) in lmbda; `grown` is that power."""
    flat = lmbda == 0.0
    power = np.where(flat, 1.0, lmbda)
    inside = 1.0 + power * y
    return grown * np.where(flat, -0.5 * y * y, y / (power * inside) - np.log(inside) / (power * power))


@partials(sp.inv_boxcox)
def inv_boxcox(y, x, lmbda):
    return np.where(lmbda == 0.0, y, y / (1.0 + lmbda * x)), by_power(y, x, lmbda)


@partials(sp.inv_boxcox1p)
def inv_boxcox1p(y, x, lmbda):
    return np.where(lmbda == 0.0, 1.0 + y, (1.0 + y) / (1.0 + lmbda * x)), by_power(1.0 + y, x, lmbda)


@partials(sp.ellipkinc)
def ellipkinc(y, phi, m):
    """DLMF 19.4.8."""
    root = np.sqrt(1.0 - m * np.sin(phi) ** 2)
    by_m = sp.ellipeinc(phi, m) / (2.0 * m * (1.0 - m)) - y / (2.0 * m) - np.sin(2.0 * phi) / (4.0 * (1.0 - m) * root)
    return 1.0 / root, by_m


@partials(sp.ellipeinc)
def ellipeinc(y, phi, m):
    return np.sqrt(1.0 - m * np.sin(phi) ** 2), (y - sp.ellipkinc(phi, m)) / (2.0 * m)


@partials(sp.ellipkm1)
def ellipkm1(y, p):
    return (y - sp.ellipe(1.0 - p) / p) / (2.0 * (1.0 - p))


@partials(sp.hyperu)
def hyperu(y, a, b, x):
    return None, None, -a * sp.hyperu(a + 1.0, b + 1.0, x)


@partials(sp.wright_bessel)
def wright_bessel(y, a, b, x):
    return None, None, sp.wright_bessel(a, a + b, x)


# --------------------------------------------------------------------------- distributions


def of_gamma(a, b, x):
    """(a x)^(b - 1) exp(-a x) / Gamma(b)."""
    return np.exp((b - 1.0) * np.log(a * x) - a * x - sp.gammaln(b))


@partials(sp.gdtr)
def gdtr(y, a, b, x):
    density = of_gamma(a, b, x)
    return x * density, None, a * density


@partials(sp.gdtrc)
def gdtrc(y, a, b, x):
    density = of_gamma(a, b, x)
    return -x * density, None, -a * density


def of_beta(a, b, p):
    """p^(a - 1) (1 - p)^(b - 1) / B(a, b)."""
    return np.exp((a - 1.0) * np.log(p) + (b - 1.0) * np.log1p(-p) - sp.betaln(a, b))


@partials(sp.nbdtr)
def nbdtr(y, k, n, p):
    return None, None, of_beta(n, np.floor(k) + 1.0, p)


@partials(sp.nbdtrc)
def nbdtrc(y, k, n, p):
    return None, None, -of_beta(n, np.floor(k) + 1.0, p)


@partials(sp.pdtrc)
def pdtrc(y, k, m):
    whole = np.floor(k)
    return None, np.exp(whole * np.log(m) - m - sp.gammaln(whole + 1.0))


# --------------------------------------------------------------------------- several results


@adjoint(sp.sici)
def sici(y, y_bar, x):
    return y_bar[0] * conj(np.sin(x) / x) + y_bar[1] * conj(np.cos(x) / x)


@tangent(sp.sici)
def sici_dot(y, x, x_dot=0.0):
    return np.sin(x) / x * x_dot, np.cos(x) / x * x_dot


@adjoint(sp.shichi)
def shichi(y, y_bar, x):
    return y_bar[0] * conj(np.sinh(x) / x) + y_bar[1] * conj(np.cosh(x) / x)


@tangent(sp.shichi)
def shichi_dot(y, x, x_dot=0.0):
    return np.sinh(x) / x * x_dot, np.cosh(x) / x * x_dot


@adjoint(sp.fresnel)
def fresnel(y, y_bar, x):
    turn = 0.5 * PI * x * x
    return y_bar[0] * conj(np.sin(turn)) + y_bar[1] * conj(np.cos(turn))


@tangent(sp.fresnel)
def fresnel_dot(y, x, x_dot=0.0):
    turn = 0.5 * PI * x * x
    return np.sin(turn) * x_dot, np.cos(turn) * x_dot


@adjoint(sp.airy)
def airy(y, y_bar, x):
    """Ai, Ai', Bi, Bi': each second derivative is x times the function."""
    return y_bar[0] * conj(y[1]) + y_bar[1] * conj(x * y[0]) + y_bar[2] * conj(y[3]) + y_bar[3] * conj(x * y[2])


@tangent(sp.airy)
def airy_dot(y, x, x_dot=0.0):
    return y[1] * x_dot, x * y[0] * x_dot, y[3] * x_dot, x * y[2] * x_dot


unary(sp.sici, sp.shichi, sp.fresnel, sp.airy, low=0.3)
unary(sp.ber, sp.bei, sp.ker, sp.kei, sp.berp, sp.beip, sp.kerp, sp.keip, low=0.3)
unary(sp.exprel, sp.wrightomega, low=-1.5)
unary(sp.ellipkm1, low=0.2, high=0.8)
binary(sp.inv_boxcox, sp.inv_boxcox1p, low=0.2, high=0.9)
binary(sp.owens_t, low=-1.5, high=1.5)
binary(sp.ellipkinc, sp.ellipeinc, low=0.2, high=0.8)


@samples(sp.exprel)
def _(rng):
    yield (np.array([1.0, 1.0 + 1e-6, 0.9995, 1.2, 5e-3]),), {}


@samples(sp.hankel1, sp.hankel2, sp.struve, sp.modstruve)
def _(rng):
    yield (1.0, rng.uniform(0.3, 2.0, size=3)), {}


@samples(sp.hyperu, sp.gdtr, sp.gdtrc)
def _(rng):
    yield (0.7, 1.5, rng.uniform(0.3, 2.0, size=3)), {}


@samples(sp.wright_bessel)
def _(rng):
    yield (1.2, 1.5, rng.uniform(0.3, 2.0, size=3)), {}


@samples(sp.nbdtr, sp.nbdtrc)
def _(rng):
    yield (2.0, 5.0, rng.uniform(0.2, 0.8, size=3)), {}


@samples(sp.pdtrc)
def _(rng):
    yield (2.0, rng.uniform(0.3, 2.0, size=3)), {}
