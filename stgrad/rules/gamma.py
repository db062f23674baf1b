"""Derivatives of the gamma and beta functions of scipy.special, and of the distributions made of them.

Derivatives by shape parameters, which have no closed form, are in `shapes`. What has none there gets `None`: an active argument there is refused by name.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special as sp

from .core import composite, partials, refuse, samples
from .sampling import binary, unary
from .shapes import beta_in_shape, gamma_in_shape, t_in_freedom

# ------------------------------------------------------------------ gamma and beta


@partials(sp.gamma)
def gamma(y, x):
    return y * sp.psi(x)


@partials(sp.gammaln, sp.loggamma)
def gammaln(y, x):
    return sp.psi(x)


@partials(sp.rgamma)
def rgamma(y, x):
    return -y * sp.psi(x)


@partials(sp.psi)
def psi(y, x):
    refuse(np.iscomplexobj(x), "scipy.special.psi of a complex number has no derivative: SciPy has no trigamma of one", "pass a real number")
    return sp.polygamma(1, x)


@partials(sp.polygamma)
def polygamma(y, n, x):
    return None, sp.polygamma(n + 1, x)


@partials(sp.zeta)
def zeta(y, x, q=1.0):
    return None, -x * sp.zeta(x + 1.0, q)


@partials(sp.factorial)
def factorial(y, n, exact=False):
    return y * sp.psi(n + 1.0)


@partials(sp.binom)
def binom(y, n, k):
    shared = sp.psi(n - k + 1.0)
    return y * (sp.psi(n + 1.0) - shared), y * (shared - sp.psi(k + 1.0))


@partials(sp.comb)
def comb(y, N, k, *, exact=False, repetition=False):  # noqa: N803  (SciPy's name)
    if repetition:
        return None, None
    shared = sp.psi(N - k + 1.0)
    return y * (sp.psi(N + 1.0) - shared), y * (shared - sp.psi(k + 1.0))


@partials(sp.poch)
def poch(y, a, n):
    return y * (sp.psi(a + n) - sp.psi(a)), y * sp.psi(a + n)


@partials(sp.beta)
def beta(y, a, b):
    shared = sp.psi(a + b)
    return y * (sp.psi(a) - shared), y * (sp.psi(b) - shared)


@partials(sp.betaln)
def betaln(y, a, b):
    shared = sp.psi(a + b)
    return sp.psi(a) - shared, sp.psi(b) - shared


def beta_density(a, b, x):
    return np.exp(sp.xlogy(a - 1.0, x) + sp.xlog1py(b - 1.0, -x) - sp.betaln(a, b))


@partials(sp.betainc)
def betainc(y, a, b, x):
    return beta_in_shape(a, b, x, 1.0 - x), -beta_in_shape(b, a, 1.0 - x, x), beta_density(a, b, x)


@partials(sp.betaincc)
def betaincc(y, a, b, x):
    return -beta_in_shape(a, b, x, 1.0 - x), beta_in_shape(b, a, 1.0 - x, x), -beta_density(a, b, x)


@partials(sp.betaincinv)
def betaincinv(y, a, b, x):
    slope = beta_density(a, b, y)
    return -beta_in_shape(a, b, y, 1.0 - y) / slope, beta_in_shape(b, a, 1.0 - y, y) / slope, 1.0 / slope


@partials(sp.betainccinv)
def betainccinv(y, a, b, x):
    slope = beta_density(a, b, y)
    return -beta_in_shape(a, b, y, 1.0 - y) / slope, beta_in_shape(b, a, 1.0 - y, y) / slope, -1.0 / slope


def gamma_density(a, x):
    return np.exp(sp.xlogy(a - 1.0, x) - x - sp.gammaln(a))


@partials(sp.gammainc)
def gammainc(y, a, x):
    return gamma_in_shape(a, x), gamma_density(a, x)


@partials(sp.gammaincc)
def gammaincc(y, a, x):
    return -gamma_in_shape(a, x), -gamma_density(a, x)


@partials(sp.gammaincinv)
def gammaincinv(y, a, x):
    slope = gamma_density(a, y)
    return -gamma_in_shape(a, y) / slope, 1.0 / slope


@partials(sp.gammainccinv)
def gammainccinv(y, a, x):
    slope = gamma_density(a, y)
    return -gamma_in_shape(a, y) / slope, -1.0 / slope


@composite(sp.multigammaln)
def multigammaln(a, d):
    steps = np.expand_dims(a, -1) - 0.5 * np.arange(d)
    return np.sum(sp.gammaln(steps), axis=-1) + d * (d - 1) * 0.25 * math.log(math.pi)


unary(sp.gamma, sp.gammaln, sp.loggamma, sp.rgamma, sp.psi, sp.factorial, low=0.3, high=3.0)
unary(sp.gamma, sp.gammaln, sp.psi, low=-1.8, high=-1.2)
binary(sp.beta, sp.betaln, sp.poch, low=0.3)
binary(sp.gammainc, sp.gammaincc, sp.zeta, low=1.2)


@samples(sp.binom)
def _(rng):
    yield (rng.uniform(3.0, 5.0, size=3), rng.uniform(0.5, 2.5, size=3)), {}


@samples(sp.comb)
def _(rng):
    yield (rng.uniform(3.0, 5.0, size=3), rng.uniform(0.5, 2.5, size=3)), {}
    yield (5.3, 2), {}


@samples(sp.gammaincinv, sp.gammainccinv)
def _(rng):
    yield (1.5, np.array([0.2, 0.7])), {}


@samples(sp.betainc, sp.betaincc, sp.betaincinv, sp.betainccinv)
def _(rng):
    yield (1.5, np.array([0.5, 2.0]), np.array([0.2, 0.7])), {}


@samples(sp.polygamma)
def _(rng):
    yield (0, rng.uniform(0.5, 2.0, size=3)), {}
    yield (np.array([1, 2, 3]), rng.uniform(0.5, 2.0, size=3)), {}


@samples(sp.multigammaln)
def _(rng):
    yield (np.array([3.0, 4.5]), 3), {}
    yield (3.2, 2), {}


# ------------------------------------------------------------------ cumulative distributions


def t_density(df, t):
    log_scale = sp.gammaln(0.5 * (df + 1.0)) - sp.gammaln(0.5 * df) - 0.5 * np.log(df * math.pi)
    return np.exp(log_scale - 0.5 * (df + 1.0) * np.log1p(t * t / df))


@partials(sp.stdtr)
def stdtr(y, df, t):
    return t_in_freedom(df, t), t_density(df, t)


@partials(sp.stdtrit)
def stdtrit(y, df, p):
    slope = t_density(df, y)
    return -t_in_freedom(df, y) / slope, 1.0 / slope


@partials(sp.chdtri)
def chdtri(y, v, p):
    slope = gamma_density(0.5 * v, 0.5 * y)
    return -gamma_in_shape(0.5 * v, 0.5 * y) / slope, -2.0 / slope


@partials(sp.chdtr)
def chdtr(y, v, x):
    return 0.5 * gamma_in_shape(0.5 * v, 0.5 * x), 0.5 * gamma_density(0.5 * v, 0.5 * x)


@partials(sp.chdtrc)
def chdtrc(y, v, x):
    return -0.5 * gamma_in_shape(0.5 * v, 0.5 * x), -0.5 * gamma_density(0.5 * v, 0.5 * x)


@partials(sp.pdtr)
def pdtr(y, k, m):
    return None, -gamma_density(np.floor(k) + 1.0, m)


binary(sp.stdtr, sp.chdtr, sp.chdtrc, sp.pdtr, low=1.2, high=1.8)


@samples(sp.stdtrit, sp.chdtri)
def _(rng):
    yield (3.5, np.array([0.2, 0.7])), {}


@composite(sp.fdtr)
def fdtr(dfn, dfd, x):
    scaled = dfn * x
    return sp.betainc(0.5 * dfn, 0.5 * dfd, scaled / (dfd + scaled))


@composite(sp.fdtrc)
def fdtrc(dfn, dfd, x):
    return sp.betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))


@composite(sp.fdtri)
def fdtri(dfn, dfd, p):
    rest = sp.betaincinv(0.5 * dfd, 0.5 * dfn, 1.0 - p)
    return dfd * (1.0 - rest) / (dfn * rest)


@samples(sp.fdtr, sp.fdtrc)
def _(rng):
    yield (3.0, 4.5, np.array([0.5, 1.7])), {}


@samples(sp.fdtri)
def _(rng):
    yield (3.0, 4.5, np.array([0.2, 0.7])), {}
