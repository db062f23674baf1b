"""Densities and distribution functions of scipy.stats, as compositions of scipy.special.

Keyword and positional parameters as in SciPy: shapes, then `loc` and `scale`. Outside of the support the density is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as st

from .core import _register, refuse, samples
from .decompositions import mirrored

LOG_SQRT_2_PI = 0.5 * math.log(2.0 * math.pi)


def method(distribution: Any, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a composition for a method of a distribution: 'scipy.stats.norm.logpdf'."""

    def register(definition: Callable[..., Any]) -> Callable[..., Any]:
        owner = next(n for n in st.__all__ if getattr(st, n, None) is distribution)
        _register((getattr(distribution, name),), "composite", name=f"scipy.stats.{owner}.{name}", composite=definition)
        return definition

    return register


def standard(x, loc, scale):
    """In double precision, as SciPy computes whatever the data are."""
    complex_ = np.iscomplexobj(x) or np.iscomplexobj(loc) or np.iscomplexobj(scale)
    refuse(complex_, "distributions of complex numbers are not supported: SciPy drops imaginary parts", "pass real numbers")
    return (np.asarray(x, dtype=np.float64) - loc) / scale


# ------------------------------------------------------------------ norm


@method(st.norm, "logpdf")
def norm_logpdf(x, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return -0.5 * z * z - LOG_SQRT_2_PI - np.log(scale)


@method(st.norm, "pdf")
def norm_pdf(x, loc=0.0, scale=1.0):
    return np.exp(norm_logpdf(x, loc, scale))


@method(st.norm, "cdf")
def norm_cdf(x, loc=0.0, scale=1.0):
    return sp.ndtr(standard(x, loc, scale))


@method(st.norm, "logcdf")
def norm_logcdf(x, loc=0.0, scale=1.0):
    return sp.log_ndtr(standard(x, loc, scale))


@method(st.norm, "sf")
def norm_sf(x, loc=0.0, scale=1.0):
    return sp.ndtr(-standard(x, loc, scale))


@method(st.norm, "logsf")
def norm_logsf(x, loc=0.0, scale=1.0):
    return sp.log_ndtr(-standard(x, loc, scale))


@method(st.norm, "ppf")
def norm_ppf(q, loc=0.0, scale=1.0):
    return sp.ndtri(q) * scale + loc


# ------------------------------------------------------------------ t


@method(st.t, "logpdf")
def t_logpdf(x, df, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    shape = sp.gammaln(0.5 * (df + 1.0)) - sp.gammaln(0.5 * df) - 0.5 * np.log(math.pi * df)
    return shape - 0.5 * (df + 1.0) * np.log1p(z * z / df) - np.log(scale)


@method(st.t, "pdf")
def t_pdf(x, df, loc=0.0, scale=1.0):
    return np.exp(t_logpdf(x, df, loc, scale))


@method(st.t, "cdf")
def t_cdf(x, df, loc=0.0, scale=1.0):
    return sp.stdtr(df, standard(x, loc, scale))


# ------------------------------------------------------------------ distributions on the positive half line


def on_positive(z, value):
    """`value` where z > 0; elsewhere -inf, as the logarithm of a density of 0."""
    return np.where(z > 0.0, value, -np.inf)


def kept_inside(z):
    """Outside of the support stands 1, so that nothing undefined is computed there."""
    return np.where(z > 0.0, z, 1.0)


@method(st.gamma, "logpdf")
def gamma_logpdf(x, a, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return on_positive(z, sp.xlogy(a - 1.0, kept_inside(z)) - z - sp.gammaln(a) - np.log(scale))


@method(st.gamma, "pdf")
def gamma_pdf(x, a, loc=0.0, scale=1.0):
    return np.exp(gamma_logpdf(x, a, loc, scale))


@method(st.gamma, "cdf")
def gamma_cdf(x, a, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z > 0.0, sp.gammainc(a, kept_inside(z)), 0.0)


@method(st.chi2, "logpdf")
def chi2_logpdf(x, df, loc=0.0, scale=1.0):
    return gamma_logpdf(x, 0.5 * df, loc, 2.0 * scale)


@method(st.chi2, "pdf")
def chi2_pdf(x, df, loc=0.0, scale=1.0):
    return np.exp(chi2_logpdf(x, df, loc, scale))


@method(st.chi2, "cdf")
def chi2_cdf(x, df, loc=0.0, scale=1.0):
    return gamma_cdf(x, 0.5 * df, loc, 2.0 * scale)


@method(st.expon, "logpdf")
def expon_logpdf(x, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z >= 0.0, -z - np.log(scale), -np.inf)


@method(st.expon, "pdf")
def expon_pdf(x, loc=0.0, scale=1.0):
    return np.exp(expon_logpdf(x, loc, scale))


@method(st.expon, "cdf")
def expon_cdf(x, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z > 0.0, -np.expm1(-z), 0.0)


# ------------------------------------------------------------------ beta and uniform


@method(st.beta, "logpdf")
def beta_logpdf(x, a, b, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    inside = np.logical_and(z > 0.0, z < 1.0)
    safe = np.where(inside, z, 0.5)
    value = sp.xlogy(a - 1.0, safe) + sp.xlog1py(b - 1.0, -safe) - sp.betaln(a, b) - np.log(scale)
    return np.where(inside, value, -np.inf)


@method(st.beta, "pdf")
def beta_pdf(x, a, b, loc=0.0, scale=1.0):
    return np.exp(beta_logpdf(x, a, b, loc, scale))


@method(st.beta, "cdf")
def beta_cdf(x, a, b, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    inside = np.logical_and(z > 0.0, z < 1.0)
    return np.where(inside, sp.betainc(a, b, np.where(inside, z, 0.5)), np.where(z >= 1.0, 1.0, 0.0))


@method(st.uniform, "logpdf")
def uniform_logpdf(x, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(np.logical_and(z >= 0.0, z <= 1.0), -np.log(scale), -np.inf)


@method(st.uniform, "pdf")
def uniform_pdf(x, loc=0.0, scale=1.0):
    return np.exp(uniform_logpdf(x, loc, scale))


@method(st.uniform, "cdf")
def uniform_cdf(x, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.minimum(np.maximum(z, 0.0), 1.0)


# ------------------------------------------------------------------ discrete distributions


@method(st.poisson, "logpmf")
def poisson_logpmf(k, mu, loc=0):
    count = 1.0 * (k - loc)
    value = sp.xlogy(count, mu) - sp.gammaln(np.maximum(count, 0.0) + 1.0) - mu
    return np.where(np.logical_and(count >= 0.0, count == np.floor(count)), value, -np.inf)


@method(st.poisson, "pmf")
def poisson_pmf(k, mu, loc=0):
    return np.exp(poisson_logpmf(k, mu, loc))


@method(st.poisson, "cdf")
def poisson_cdf(k, mu, loc=0):
    count = np.floor(1.0 * (k - loc))
    return np.where(count >= 0.0, sp.pdtr(np.maximum(count, 0.0), mu), 0.0)


@method(st.bernoulli, "logpmf")
def bernoulli_logpmf(k, p, loc=0):
    count = k - loc
    return np.where(count == 1, np.log(p), np.where(count == 0, np.log1p(-p), -np.inf))


@method(st.bernoulli, "pmf")
def bernoulli_pmf(k, p, loc=0):
    count = k - loc
    return np.where(count == 1, p, np.where(count == 0, 1.0 - p, 0.0))


# ------------------------------------------------------------------ several dimensions


@method(st.dirichlet, "logpdf")
def dirichlet_logpdf(x, alpha):
    """`x` (k,) or (k, n); where the last of the k components is left out, it is 1 minus the others."""
    powers = alpha - 1.0 if np.ndim(x) == 1 else np.expand_dims(alpha - 1.0, 1)
    constant = sp.gammaln(np.sum(alpha)) - np.sum(sp.gammaln(alpha))
    if np.shape(x)[0] < np.size(alpha):
        known = np.sum(sp.xlogy(powers[:-1], x), axis=0)
        return constant + known + sp.xlogy(alpha[-1] - 1.0, 1.0 - np.sum(x, axis=0))
    return constant + np.sum(sp.xlogy(powers, x), axis=0)


@method(st.dirichlet, "pdf")
def dirichlet_pdf(x, alpha):
    return np.exp(dirichlet_logpdf(x, alpha))


@method(st.multivariate_normal, "logpdf")
def multivariate_normal_logpdf(x, mean=None, cov=1.0):
    """`x` (..., d); `cov` (d, d), (d,) for a diagonal, or one variance."""
    deviation = x if mean is None else x - mean
    refuse(np.iscomplexobj(deviation) or np.iscomplexobj(cov), "distributions of complex numbers are not supported", "pass real numbers")
    if np.ndim(cov) < 2:
        d = 1 if np.ndim(deviation) == 0 else np.shape(deviation)[-1]
        logs = d * np.log(cov) if np.ndim(cov) == 0 else np.sum(np.log(cov))
        squares = deviation * deviation / cov
        distance = squares if np.ndim(deviation) == 0 else np.sum(squares, axis=-1)
        return -0.5 * (distance + logs) - d * LOG_SQRT_2_PI
    cov = mirrored(cov)  # SciPy reads its lower triangle
    solved = np.linalg.solve(cov, np.expand_dims(deviation, -1))[..., 0]
    distance = np.sum(deviation * solved, axis=-1)
    return -0.5 * (distance + np.linalg.slogdet(cov)[1]) - np.shape(cov)[0] * LOG_SQRT_2_PI


@method(st.multivariate_normal, "pdf")
def multivariate_normal_pdf(x, mean=None, cov=1.0):
    return np.exp(multivariate_normal_logpdf(x, mean, cov))


# ------------------------------------------------------------------ samples


@samples(st.norm.logpdf, st.norm.pdf, st.norm.cdf, st.norm.logcdf, st.norm.sf, st.norm.logsf)
def _(rng):
    yield (rng.normal(size=3), 0.3, 1.7), {}
    yield (rng.normal(size=3),), {"scale": 0.5}


@samples(st.norm.ppf)
def _(rng):
    yield (np.array([0.1, 0.7]), 0.3, 1.7), {}


@samples(st.t.logpdf, st.t.pdf, st.t.cdf)
def _(rng):
    yield (rng.normal(size=3), 3.5, 0.3, 1.7), {}


@samples(st.gamma.logpdf, st.gamma.pdf, st.gamma.cdf, st.chi2.logpdf, st.chi2.pdf, st.chi2.cdf)
def _(rng):
    yield (np.array([-1.0, 0.5, 2.0]), 2.5, 0.1, 1.7), {}


@samples(st.expon.logpdf, st.expon.pdf, st.expon.cdf, st.uniform.logpdf, st.uniform.pdf, st.uniform.cdf)
def _(rng):
    yield (np.array([-1.0, 0.5, 4.0]), 0.1, 1.7), {}


@samples(st.beta.logpdf, st.beta.pdf, st.beta.cdf)
def _(rng):
    yield (np.array([-1.0, 0.2, 0.7, 1.5]), 2.5, 1.3), {}


@samples(st.poisson.logpmf, st.poisson.pmf, st.poisson.cdf)
def _(rng):
    yield (np.array([-1, 0, 3]), 2.5), {}


@samples(st.bernoulli.logpmf, st.bernoulli.pmf)
def _(rng):
    yield (np.array([0, 1, 2]), 0.3), {}


@samples(st.dirichlet.logpdf, st.dirichlet.pdf)
def _(rng):
    yield (np.array([0.2, 0.3, 0.5]), np.array([1.5, 2.0, 0.7])), {}
    yield (np.array([0.2, 0.3]), np.array([1.5, 2.0, 0.7])), {}


@samples(st.multivariate_normal.logpdf, st.multivariate_normal.pdf)
def _(rng):
    cov = np.array([[2.0, 0.3], [0.3, 1.0]])
    yield (rng.normal(size=(4, 2)), np.array([0.1, 0.2]), cov), {}
    yield (rng.normal(size=2), np.array([0.1, 0.2]), cov), {}
    yield (rng.normal(size=2), np.array([0.1, 0.2]), np.array([0.5, 2.0])), {}
