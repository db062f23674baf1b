"""Derivatives of scipy.special. Registered when a name of it is first looked up: see `load_scipy`.

An order or a shape parameter whose derivative has no closed form gets `None`: an active argument there is refused by name.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special as sp

from .core import adjoint, expansion, nondiff, partials, samples, tangent
from .products import conj
from .reductions import restore
from .sampling import binary, unary

DEGREE = math.pi / 180.0
SQRT_PI = math.sqrt(math.pi)
SQRT_2_PI = math.sqrt(2.0 * math.pi)
LOG_2, LOG_10 = math.log(2.0), math.log(10.0)

# ------------------------------------------------------------------ error functions and the normal distribution


@partials(sp.erf)
def erf(y, x):
    return 2.0 / SQRT_PI * np.exp(-x * x)


@partials(sp.erfc)
def erfc(y, x):
    return -2.0 / SQRT_PI * np.exp(-x * x)


@partials(sp.erfcx)
def erfcx(y, x):
    return 2.0 * x * y - 2.0 / SQRT_PI


@partials(sp.erfi)
def erfi(y, x):
    return 2.0 / SQRT_PI * np.exp(x * x)


@partials(sp.erfinv)
def erfinv(y, x):
    return 0.5 * SQRT_PI * np.exp(y * y)


@partials(sp.erfcinv)
def erfcinv(y, x):
    return -0.5 * SQRT_PI * np.exp(y * y)


@partials(sp.dawsn)
def dawsn(y, x):
    return 1.0 - 2.0 * x * y


@partials(sp.wofz)
def wofz(y, z):
    """Source: NIST Digital Library of Mathematical Functions, 7.10.2."""
    return 2.0j / SQRT_PI - 2.0 * z * y


@partials(sp.voigt_profile)
def voigt_profile(y, x, sigma, gamma):
    """The real part of w(z) / (sigma sqrt(2 pi)) at z = (x + i gamma) / (sigma sqrt(2)); where sigma or gamma is 0, NaN."""
    z = (x + 1.0j * gamma) / (sigma * math.sqrt(2.0))
    slope = (2.0j / SQRT_PI - 2.0 * z * sp.wofz(z)) / (2.0 * SQRT_PI * sigma * sigma)
    return np.real(slope), -(y + np.real(slope * z) * math.sqrt(2.0) * sigma) / sigma, -np.imag(slope)


@samples(sp.voigt_profile)
def draw_voigt_profile(rng):
    yield (rng.uniform(-2.0, 2.0, size=3), rng.uniform(0.3, 0.9, size=3), rng.uniform(0.3, 0.9, size=3)), {}
    yield (rng.uniform(-2.0, 2.0, size=(2, 3)), float(rng.uniform(0.3, 0.9)), float(rng.uniform(0.3, 0.9))), {}


@samples(sp.wofz)
def draw_wofz(rng):
    yield (rng.uniform(-2.0, 2.0, size=3) + 1j * rng.uniform(0.1, 0.9, size=3),), {}
    yield (rng.uniform(-2.0, 2.0, size=(2, 3)) + 1j * rng.uniform(0.1, 0.9, size=(2, 3)),), {}


@partials(sp.ndtr)
def ndtr(y, x):
    return np.exp(-0.5 * x * x) / SQRT_2_PI


@partials(sp.log_ndtr)
def log_ndtr(y, x):
    return np.exp(-0.5 * x * x - y) / SQRT_2_PI


@partials(sp.ndtri)
def ndtri(y, x):
    return SQRT_2_PI * np.exp(0.5 * y * y)


@partials(sp.ndtri_exp)
def ndtri_exp(y, x):
    return SQRT_2_PI * np.exp(0.5 * y * y + x)


unary(sp.erf, sp.erfc, sp.erfcx, sp.erfi, sp.dawsn, sp.ndtr, sp.log_ndtr)
unary(sp.erfinv, low=-0.9, high=0.9)
unary(sp.erfcinv, sp.ndtri, low=0.1, high=0.9)
unary(sp.ndtri_exp, low=-2.0, high=-0.2)

# ------------------------------------------------------------------ logistic, logarithms and entropies


@partials(sp.expit)
def expit(y, x):
    return y * sp.expit(-x)


@partials(sp.log_expit)
def log_expit(y, x):
    return sp.expit(-x)


@partials(sp.softplus)
def softplus(y, x):
    return sp.expit(x)


@partials(sp.logit)
def logit(y, x):
    return 1.0 / (x * (1.0 - x))


@partials(sp.log1p)
def log1p(y, x):
    return 1.0 / (1.0 + x)


@partials(sp.expm1)
def expm1(y, x):
    return y + 1.0


@partials(sp.exp2)
def exp2(y, x):
    return LOG_2 * y


@partials(sp.exp10)
def exp10(y, x):
    return LOG_10 * y


@partials(sp.cbrt)
def cbrt(y, x):
    return 1.0 / (3.0 * y * y)


@partials(sp.cosm1)
def cosm1(y, x):
    return -np.sin(x)


@partials(sp.xlogy)
def xlogy(y, a, b):
    return np.log(b), np.where(a == 0.0, 0.0, a / np.where(a == 0.0, 1.0, b))


@partials(sp.xlog1py)
def xlog1py(y, a, b):
    return np.log1p(b), np.where(a == 0.0, 0.0, a / np.where(a == 0.0, 1.0, 1.0 + b))


@partials(sp.entr)
def entr(y, x):
    return -np.log(x) - 1.0


@partials(sp.rel_entr)
def rel_entr(y, a, b):
    return np.log(a / b) + 1.0, -a / b


@partials(sp.kl_div)
def kl_div(y, a, b):
    return np.log(a / b), 1.0 - a / b


@partials(sp.huber)
def huber(y, delta, r):
    size = np.abs(r)
    return np.maximum(size - delta, 0.0), np.sign(r) * np.minimum(size, delta)


@partials(sp.pseudo_huber)
def pseudo_huber(y, delta, r):
    root = np.sqrt(1.0 + (r / delta) * (r / delta))
    return 2.0 * y / delta - r * r / (delta * root), r / root


@partials(sp.boxcox)
def boxcox(y, x, lmbda):
    log_x = np.log(x)
    change = (sp.xlogy(x**lmbda, x) - y) / np.where(lmbda == 0.0, 1.0, lmbda)
    return x ** (lmbda - 1.0), np.where(lmbda == 0.0, 0.5 * log_x * log_x, change)


@partials(sp.boxcox1p)
def boxcox1p(y, x, lmbda):
    log_x = np.log1p(x)
    change = (sp.xlog1py((1.0 + x) ** lmbda, x) - y) / np.where(lmbda == 0.0, 1.0, lmbda)
    return (1.0 + x) ** (lmbda - 1.0), np.where(lmbda == 0.0, 0.5 * log_x * log_x, change)


@partials(sp.powm1)
def powm1(y, x, p):
    return p * x ** (p - 1.0), sp.xlogy(y + 1.0, x)


unary(sp.expit, sp.log_expit, sp.softplus, sp.expm1, sp.exp2, sp.exp10, sp.cosm1)
unary(sp.logit, low=0.1, high=0.9)
unary(sp.log1p, sp.cbrt, sp.entr, low=0.2)
binary(sp.xlogy, sp.xlog1py, sp.rel_entr, sp.kl_div, sp.huber, sp.pseudo_huber, sp.boxcox, sp.boxcox1p, sp.powm1, low=0.2)


@samples(sp.huber, sp.pseudo_huber)
def _(rng):
    yield (1.0, np.array([-3.0, -0.4, 0.7, 2.0])), {}


@adjoint(sp.logsumexp)
def logsumexp(y, y_bar, a, axis=None, b=None, keepdims=False):
    top = restore(np.where(y == -np.inf, 0.0, y), axis, keepdims)
    share = restore(y_bar, axis, keepdims) * conj(np.exp(a - top))
    if b is None:
        return share
    return share * conj(b), None, share


@tangent(sp.logsumexp)
def logsumexp_dot(y, a, axis=None, b=None, a_dot=0.0, b_dot=0.0, keepdims=False):
    share = np.exp(a - restore(np.where(y == -np.inf, 0.0, y), axis, keepdims))
    if b is None:
        return np.sum(share * a_dot, axis=axis, keepdims=keepdims)
    return np.sum(share * (b * a_dot + b_dot), axis=axis, keepdims=keepdims)


@expansion(sp.softmax)
def softmax_in_parts(x, axis=None):
    parts = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return parts / np.sum(parts, axis=axis, keepdims=True)


@expansion(sp.log_softmax)
def log_softmax_in_parts(x, axis=None):
    top = np.max(x, axis=axis, keepdims=True)
    rest = x - np.where(np.isfinite(top), top, 0.0)
    return rest - np.log(np.sum(np.exp(rest), axis=axis, keepdims=True))


@adjoint(sp.softmax)
def softmax(y, y_bar, x, axis=None):
    return conj(y) * (y_bar - np.sum(conj(y) * y_bar, axis=axis, keepdims=True))


@tangent(sp.softmax)
def softmax_dot(y, x, x_dot, axis=None):
    return y * (x_dot - np.sum(y * x_dot, axis=axis, keepdims=True))


@adjoint(sp.log_softmax)
def log_softmax(y, y_bar, x, axis=None):
    return y_bar - conj(np.exp(y)) * np.sum(y_bar, axis=axis, keepdims=True)


@tangent(sp.log_softmax)
def log_softmax_dot(y, x, x_dot, axis=None):
    return x_dot - np.sum(np.exp(y) * x_dot, axis=axis, keepdims=True)


@samples(sp.logsumexp, sp.softmax, sp.log_softmax)
def _(rng):
    x = rng.normal(size=(2, 3, 4))
    for axis in (None, 1, -1, (0, 2)):
        yield (x,), {"axis": axis}
        yield (x + 1j * rng.normal(size=x.shape),), {"axis": axis}


@samples(sp.logsumexp)
def _(rng):
    yield (rng.normal(size=(2, 3)), 1, rng.uniform(0.5, 1.0, size=(2, 3))), {"keepdims": True}


# ------------------------------------------------------------------ integrals and periodic functions


@partials(sp.expi)
def expi(y, x):
    return np.exp(x) / x


@partials(sp.exp1)
def exp1(y, x):
    return -np.exp(-x) / x


@partials(sp.expn)
def expn(y, n, x):
    """Of the order that is used: SciPy drops what is behind its point."""
    order = np.trunc(n)
    return None, np.where(order == 0, -y * (1.0 + 1.0 / x), -sp.expn(np.maximum(order - 1, 0), x))


@partials(sp.sindg)
def sindg(y, x):
    return DEGREE * sp.cosdg(x)


@partials(sp.cosdg)
def cosdg(y, x):
    return -DEGREE * sp.sindg(x)


@partials(sp.tandg)
def tandg(y, x):
    return DEGREE * (1.0 + y * y)


@partials(sp.ellipk)
def ellipk(y, m):
    """(E / (1 - m) - K) / (2 m), by its series near 0, where that cancels."""
    small = np.abs(m) < 1e-3
    series = 0.5 * math.pi * (0.25 + m * (9.0 / 32.0 + m * (75.0 / 256.0 + m * (1225.0 / 4096.0))))
    return np.where(small, series, (sp.ellipe(m) / (1.0 - m) - y) / np.where(small, 1.0, 2.0 * m))


@partials(sp.ellipe)
def ellipe(y, m):
    small = np.abs(m) < 1e-3
    series = -0.5 * math.pi * (0.25 + m * (3.0 / 32.0 + m * (15.0 / 256.0 + m * (175.0 / 4096.0))))
    return np.where(small, series, (y - sp.ellipk(m)) / np.where(small, 1.0, 2.0 * m))


@partials(sp.hyp1f1)
def hyp1f1(y, a, b, x):
    return None, None, a / b * sp.hyp1f1(a + 1.0, b + 1.0, x)


@partials(sp.hyp2f1)
def hyp2f1(y, a, b, c, x):
    return None, None, None, a * b / c * sp.hyp2f1(a + 1.0, b + 1.0, c + 1.0, x)


@partials(sp.hyp0f1)
def hyp0f1(y, v, x):
    return None, sp.hyp0f1(v + 1.0, x) / v


@partials(sp.lambertw)
def lambertw(y, z, k=0, tol=1e-8):
    return np.exp(-y) / (1.0 + y)


unary(sp.expi, sp.exp1, low=0.3)
unary(sp.sindg, sp.cosdg, sp.tandg, low=-60.0, high=60.0)
unary(sp.ellipk, sp.ellipe, low=-0.8, high=0.8)
unary(sp.lambertw, low=0.2)
binary(sp.hyp0f1, low=0.5)


@samples(sp.ellipk, sp.ellipe)
def _(rng):
    yield (np.array([0.0, 1e-6, 0.9e-3, 1.1e-3, -1e-4]),), {}


@samples(sp.expn)
def _(rng):
    yield (3, np.array([0.3, 1.0])), {}


@samples(sp.hyp1f1)
def _(rng):
    yield (0.7, 1.5, np.array([0.3, -1.0])), {}


@samples(sp.hyp2f1)
def _(rng):
    yield (0.7, 1.5, 2.1, np.array([0.3, -0.5])), {}


nondiff(sp.factorial2)
