"""Distributions of scipy.stats that stats.py has not: their densities, distribution functions and quantiles.

What depends on `loc` and `scale` alone is made by `located` from functions of z = (x - loc) / scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as st

from .core import samples
from .stats import kept_inside, method, on_positive, standard
from .tails import log_of, probability

LOG_SQRT_2_OVER_PI = 0.5 * math.log(2.0 / math.pi)
METHODS = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")


def positive_part(z):
    return np.maximum(z, 0.0)


def located(distribution: Any, logpdf: Any, cdf: Any, sf: Any, logcdf: Any, logsf: Any, ppf: Any, isf: Any) -> None:
    """Register the methods of a distribution without shapes."""
    for name, form in (("cdf", cdf), ("sf", sf), ("logcdf", logcdf), ("logsf", logsf)):
        method(distribution, name)(_of_value(form))
    for name, form in (("ppf", ppf), ("isf", isf)):
        method(distribution, name)(_of_probability(form))
    method(distribution, "logpdf")(_log_density(logpdf))
    method(distribution, "pdf")(_density(logpdf))


def _of_value(form: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, loc=0.0, scale=1.0):
        return form(standard(x, loc, scale))

    return function


def _of_probability(form: Callable[..., Any]) -> Callable[..., Any]:
    def quantile(q, loc=0.0, scale=1.0):
        return form(probability(q)) * scale + loc

    return quantile


def _log_density(form: Callable[..., Any]) -> Callable[..., Any]:
    def log_density(x, loc=0.0, scale=1.0):
        return form(standard(x, loc, scale)) - np.log(scale)

    return log_density


def _density(form: Callable[..., Any]) -> Callable[..., Any]:
    def density(x, loc=0.0, scale=1.0):
        return np.exp(form(standard(x, loc, scale))) / scale

    return density


# ------------------------------------------------------------------ on the whole line


def upper_laplace(z):
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z > 0.0, half, 1.0 - half)


def log_upper_laplace(z):
    size = np.abs(z)
    return np.where(z > 0.0, -math.log(2.0) - size, np.log1p(-0.5 * np.exp(-size)))


def laplace_quantile(q):
    above = q > 0.5
    tail = np.log(2.0 * np.where(above, 1.0 - q, q))
    return np.where(above, -tail, tail)


located(
    st.laplace,
    logpdf=lambda z: -np.abs(z) - math.log(2.0),
    cdf=lambda z: upper_laplace(-z),
    sf=lambda z: upper_laplace(z),
    logcdf=lambda z: log_upper_laplace(-z),
    logsf=lambda z: log_upper_laplace(z),
    ppf=lambda q: laplace_quantile(q),
    isf=lambda q: -laplace_quantile(q),
)


def logistic_log_density(z):
    size = np.abs(z)
    return -size - 2.0 * np.log1p(np.exp(-size))


located(
    st.logistic,
    logpdf=lambda z: logistic_log_density(z),
    cdf=lambda z: sp.expit(z),
    sf=lambda z: sp.expit(-z),
    logcdf=lambda z: sp.log_expit(z),
    logsf=lambda z: sp.log_expit(-z),
    ppf=lambda q: sp.logit(q),
    isf=lambda q: -sp.logit(q),
)

located(
    st.cauchy,
    logpdf=lambda z: -math.log(math.pi) - np.log1p(z * z),
    cdf=lambda z: np.arctan2(1.0, -z) / math.pi,
    sf=lambda z: np.arctan2(1.0, z) / math.pi,
    logcdf=lambda z: np.log(np.arctan2(1.0, -z) / math.pi),
    logsf=lambda z: np.log(np.arctan2(1.0, z) / math.pi),
    ppf=lambda q: np.tan(math.pi * (q - 0.5)),
    isf=lambda q: np.tan(math.pi * (0.5 - q)),
)

located(
    st.gumbel_r,
    logpdf=lambda z: -z - np.exp(-z),
    cdf=lambda z: np.exp(-np.exp(-z)),
    sf=lambda z: -np.expm1(-np.exp(-z)),
    logcdf=lambda z: -np.exp(-z),
    logsf=lambda z: log_of(-np.expm1(-np.exp(-z))),
    ppf=lambda q: -np.log(-np.log(q)),
    isf=lambda q: -np.log(-np.log1p(-q)),
)

located(
    st.gumbel_l,
    logpdf=lambda z: z - np.exp(z),
    cdf=lambda z: -np.expm1(-np.exp(z)),
    sf=lambda z: np.exp(-np.exp(z)),
    logcdf=lambda z: log_of(-np.expm1(-np.exp(z))),
    logsf=lambda z: -np.exp(z),
    ppf=lambda q: np.log(-np.log1p(-q)),
    isf=lambda q: np.log(-np.log(q)),
)

# ------------------------------------------------------------------ on the positive half line


def half_square(z):
    return 0.5 * positive_part(z) ** 2


located(
    st.rayleigh,
    logpdf=lambda z: on_positive(z, np.log(kept_inside(z)) - half_square(z)),
    cdf=lambda z: -np.expm1(-half_square(z)),
    sf=lambda z: np.exp(-half_square(z)),
    logcdf=lambda z: log_of(-np.expm1(-half_square(z))),
    logsf=lambda z: -half_square(z),
    ppf=lambda q: np.sqrt(-2.0 * np.log1p(-q)),
    isf=lambda q: np.sqrt(-2.0 * np.log(q)),
)

located(
    st.halfnorm,
    logpdf=lambda z: np.where(z >= 0.0, LOG_SQRT_2_OVER_PI - half_square(z), -np.inf),
    cdf=lambda z: sp.erf(positive_part(z) / math.sqrt(2.0)),
    sf=lambda z: 2.0 * sp.ndtr(-positive_part(z)),
    logcdf=lambda z: log_of(sp.erf(positive_part(z) / math.sqrt(2.0))),
    logsf=lambda z: math.log(2.0) + sp.log_ndtr(-positive_part(z)),
    ppf=lambda q: sp.ndtri(0.5 * (1.0 + q)),
    isf=lambda q: -sp.ndtri(0.5 * q),
)

# ------------------------------------------------------------------ lognorm


@method(st.lognorm, "logpdf")
def lognorm_logpdf(x, s, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    log_z = np.log(kept_inside(z))
    return on_positive(z, -0.5 * (log_z / s) ** 2 - log_z - np.log(s) - 0.5 * math.log(2.0 * math.pi) - np.log(scale))


@method(st.lognorm, "pdf")
def lognorm_pdf(x, s, loc=0.0, scale=1.0):
    return np.exp(lognorm_logpdf(x, s, loc, scale))


@method(st.lognorm, "cdf")
def lognorm_cdf(x, s, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z > 0.0, sp.ndtr(np.log(kept_inside(z)) / s), 0.0)


@method(st.lognorm, "sf")
def lognorm_sf(x, s, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z > 0.0, sp.ndtr(-np.log(kept_inside(z)) / s), 1.0)


@method(st.lognorm, "logcdf")
def lognorm_logcdf(x, s, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return on_positive(z, sp.log_ndtr(np.log(kept_inside(z)) / s))


@method(st.lognorm, "logsf")
def lognorm_logsf(x, s, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z > 0.0, sp.log_ndtr(-np.log(kept_inside(z)) / s), 0.0)


@method(st.lognorm, "ppf")
def lognorm_ppf(q, s, loc=0.0, scale=1.0):
    return np.exp(s * sp.ndtri(probability(q))) * scale + loc


@method(st.lognorm, "isf")
def lognorm_isf(q, s, loc=0.0, scale=1.0):
    return np.exp(-s * sp.ndtri(probability(q))) * scale + loc


# ------------------------------------------------------------------ weibull_min


def weibull_exponent(x, c, loc, scale):
    """z^c, and 0 below the support."""
    z = standard(x, loc, scale)
    return np.where(z > 0.0, kept_inside(z) ** c, 0.0)


@method(st.weibull_min, "logpdf")
def weibull_min_logpdf(x, c, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return on_positive(z, np.log(c) + sp.xlogy(c - 1.0, kept_inside(z)) - kept_inside(z) ** c - np.log(scale))


@method(st.weibull_min, "pdf")
def weibull_min_pdf(x, c, loc=0.0, scale=1.0):
    return np.exp(weibull_min_logpdf(x, c, loc, scale))


@method(st.weibull_min, "cdf")
def weibull_min_cdf(x, c, loc=0.0, scale=1.0):
    return -np.expm1(-weibull_exponent(x, c, loc, scale))


@method(st.weibull_min, "sf")
def weibull_min_sf(x, c, loc=0.0, scale=1.0):
    return np.exp(-weibull_exponent(x, c, loc, scale))


@method(st.weibull_min, "logsf")
def weibull_min_logsf(x, c, loc=0.0, scale=1.0):
    return -weibull_exponent(x, c, loc, scale)


@method(st.weibull_min, "logcdf")
def weibull_min_logcdf(x, c, loc=0.0, scale=1.0):
    return log_of(weibull_min_cdf(x, c, loc, scale))


@method(st.weibull_min, "ppf")
def weibull_min_ppf(q, c, loc=0.0, scale=1.0):
    return (-np.log1p(-probability(q))) ** (1.0 / c) * scale + loc


@method(st.weibull_min, "isf")
def weibull_min_isf(q, c, loc=0.0, scale=1.0):
    return (-np.log(probability(q))) ** (1.0 / c) * scale + loc


# ------------------------------------------------------------------ pareto and the inverse gamma distribution


def pareto_logarithm(x, loc, scale):
    """log z, and 0 below the support, which begins at 1."""
    return np.log(np.maximum(standard(x, loc, scale), 1.0))


@method(st.pareto, "logpdf")
def pareto_logpdf(x, b, loc=0.0, scale=1.0):
    value = np.log(b) - (b + 1.0) * pareto_logarithm(x, loc, scale) - np.log(scale)
    return np.where(standard(x, loc, scale) >= 1.0, value, -np.inf)


@method(st.pareto, "pdf")
def pareto_pdf(x, b, loc=0.0, scale=1.0):
    return np.exp(pareto_logpdf(x, b, loc, scale))


@method(st.pareto, "cdf")
def pareto_cdf(x, b, loc=0.0, scale=1.0):
    return -np.expm1(-b * pareto_logarithm(x, loc, scale))


@method(st.pareto, "sf")
def pareto_sf(x, b, loc=0.0, scale=1.0):
    return np.exp(-b * pareto_logarithm(x, loc, scale))


@method(st.pareto, "ppf")
def pareto_ppf(q, b, loc=0.0, scale=1.0):
    return (1.0 - probability(q)) ** (-1.0 / b) * scale + loc


@method(st.pareto, "isf")
def pareto_isf(q, b, loc=0.0, scale=1.0):
    return probability(q) ** (-1.0 / b) * scale + loc


@method(st.invgamma, "logpdf")
def invgamma_logpdf(x, a, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    inside = kept_inside(z)
    return on_positive(z, -(a + 1.0) * np.log(inside) - sp.gammaln(a) - 1.0 / inside - np.log(scale))


@method(st.invgamma, "pdf")
def invgamma_pdf(x, a, loc=0.0, scale=1.0):
    return np.exp(invgamma_logpdf(x, a, loc, scale))


@method(st.invgamma, "cdf")
def invgamma_cdf(x, a, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z > 0.0, sp.gammaincc(a, 1.0 / kept_inside(z)), 0.0)


@method(st.invgamma, "sf")
def invgamma_sf(x, a, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z > 0.0, sp.gammainc(a, 1.0 / kept_inside(z)), 1.0)


@method(st.invgamma, "ppf")
def invgamma_ppf(q, a, loc=0.0, scale=1.0):
    return 1.0 / sp.gammainccinv(a, probability(q)) * scale + loc


# ------------------------------------------------------------------ samples

LOCATED = (st.laplace, st.logistic, st.cauchy, st.gumbel_r, st.gumbel_l, st.rayleigh, st.halfnorm)
VALUES, QUANTILES = METHODS[:6], METHODS[6:]


@samples(*(getattr(d, m) for d in LOCATED for m in VALUES))
def _(rng):
    yield (np.array([-1.0, 0.5, 2.0]), 0.1, 1.7), {}


@samples(*(getattr(d, m) for d in LOCATED for m in QUANTILES))
def _(rng):
    yield (np.array([0.2, 0.7]), 0.1, 1.7), {}


@samples(*(getattr(d, m) for d in (st.lognorm, st.weibull_min) for m in VALUES))
def _(rng):
    yield (np.array([-1.0, 0.5, 2.0]), 1.3, 0.1, 1.7), {}


@samples(*(getattr(d, m) for d in (st.pareto, st.invgamma) for m in ("logpdf", "pdf", "cdf", "sf")))
def _(rng):
    yield (np.array([-1.0, 0.5, 4.0]), 1.3, 0.1, 1.7), {}


@samples(*(getattr(d, m) for d in (st.lognorm, st.weibull_min, st.pareto) for m in QUANTILES), st.invgamma.ppf)
def _(rng):
    yield (np.array([0.2, 0.7]), 1.3, 0.1, 1.7), {}
