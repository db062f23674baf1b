"""Survival functions, logarithms and quantiles of the distributions whose densities stand in stats.py."""

from __future__ import annotations

import numpy as np
import scipy.special as sp
import scipy.stats as st

from .core import samples
from .stats import beta_cdf, gamma_cdf, kept_inside, method, standard, t_cdf, uniform_cdf


def log_of(p):
    """log p, and -inf where p is 0."""
    return np.where(p > 0.0, np.log(np.where(p > 0.0, p, 1.0)), -np.inf)


def probability(q):
    """`q` in double precision, and NaN outside of [0, 1]."""
    q = np.asarray(q, dtype=np.float64)
    return np.where(np.logical_and(q >= 0.0, q <= 1.0), q, np.nan)


@method(st.norm, "isf")
def norm_isf(q, loc=0.0, scale=1.0):
    return -sp.ndtri(probability(q)) * scale + loc


# ------------------------------------------------------------------ t


@method(st.t, "sf")
def t_sf(x, df, loc=0.0, scale=1.0):
    return sp.stdtr(df, -standard(x, loc, scale))


@method(st.t, "logcdf")
def t_logcdf(x, df, loc=0.0, scale=1.0):
    return log_of(t_cdf(x, df, loc, scale))


@method(st.t, "logsf")
def t_logsf(x, df, loc=0.0, scale=1.0):
    return log_of(t_sf(x, df, loc, scale))


@method(st.t, "ppf")
def t_ppf(q, df, loc=0.0, scale=1.0):
    return sp.stdtrit(df, probability(q)) * scale + loc


@method(st.t, "isf")
def t_isf(q, df, loc=0.0, scale=1.0):
    return -sp.stdtrit(df, probability(q)) * scale + loc


# ------------------------------------------------------------------ gamma and chi2


@method(st.gamma, "sf")
def gamma_sf(x, a, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    return np.where(z > 0.0, sp.gammaincc(a, kept_inside(z)), 1.0)


@method(st.gamma, "logcdf")
def gamma_logcdf(x, a, loc=0.0, scale=1.0):
    return log_of(gamma_cdf(x, a, loc, scale))


@method(st.gamma, "logsf")
def gamma_logsf(x, a, loc=0.0, scale=1.0):
    return log_of(gamma_sf(x, a, loc, scale))


@method(st.gamma, "ppf")
def gamma_ppf(q, a, loc=0.0, scale=1.0):
    return sp.gammaincinv(a, probability(q)) * scale + loc


@method(st.gamma, "isf")
def gamma_isf(q, a, loc=0.0, scale=1.0):
    return sp.gammainccinv(a, probability(q)) * scale + loc


@method(st.chi2, "sf")
def chi2_sf(x, df, loc=0.0, scale=1.0):
    return gamma_sf(x, 0.5 * df, loc, 2.0 * scale)


@method(st.chi2, "logcdf")
def chi2_logcdf(x, df, loc=0.0, scale=1.0):
    return log_of(gamma_cdf(x, 0.5 * df, loc, 2.0 * scale))


@method(st.chi2, "logsf")
def chi2_logsf(x, df, loc=0.0, scale=1.0):
    return log_of(gamma_sf(x, 0.5 * df, loc, 2.0 * scale))


@method(st.chi2, "ppf")
def chi2_ppf(q, df, loc=0.0, scale=1.0):
    return gamma_ppf(q, 0.5 * df, loc, 2.0 * scale)


@method(st.chi2, "isf")
def chi2_isf(q, df, loc=0.0, scale=1.0):
    return gamma_isf(q, 0.5 * df, loc, 2.0 * scale)


# ------------------------------------------------------------------ expon, uniform and beta


@method(st.expon, "sf")
def expon_sf(x, loc=0.0, scale=1.0):
    return np.exp(expon_logsf(x, loc, scale))


@method(st.expon, "logsf")
def expon_logsf(x, loc=0.0, scale=1.0):
    return -np.maximum(standard(x, loc, scale), 0.0)


@method(st.expon, "logcdf")
def expon_logcdf(x, loc=0.0, scale=1.0):
    return log_of(-np.expm1(expon_logsf(x, loc, scale)))


@method(st.expon, "ppf")
def expon_ppf(q, loc=0.0, scale=1.0):
    return -np.log1p(-probability(q)) * scale + loc


@method(st.expon, "isf")
def expon_isf(q, loc=0.0, scale=1.0):
    return -np.log(probability(q)) * scale + loc


@method(st.uniform, "sf")
def uniform_sf(x, loc=0.0, scale=1.0):
    return 1.0 - uniform_cdf(x, loc, scale)


@method(st.uniform, "logcdf")
def uniform_logcdf(x, loc=0.0, scale=1.0):
    return log_of(uniform_cdf(x, loc, scale))


@method(st.uniform, "logsf")
def uniform_logsf(x, loc=0.0, scale=1.0):
    return log_of(uniform_sf(x, loc, scale))


@method(st.uniform, "ppf")
def uniform_ppf(q, loc=0.0, scale=1.0):
    return probability(q) * scale + loc


@method(st.uniform, "isf")
def uniform_isf(q, loc=0.0, scale=1.0):
    return (1.0 - probability(q)) * scale + loc


@method(st.beta, "sf")
def beta_sf(x, a, b, loc=0.0, scale=1.0):
    z = standard(x, loc, scale)
    inside = np.logical_and(z > 0.0, z < 1.0)
    return np.where(inside, sp.betaincc(a, b, np.where(inside, z, 0.5)), np.where(z >= 1.0, 0.0, 1.0))


@method(st.beta, "logcdf")
def beta_logcdf(x, a, b, loc=0.0, scale=1.0):
    return log_of(beta_cdf(x, a, b, loc, scale))


@method(st.beta, "logsf")
def beta_logsf(x, a, b, loc=0.0, scale=1.0):
    return log_of(beta_sf(x, a, b, loc, scale))


@method(st.beta, "ppf")
def beta_ppf(q, a, b, loc=0.0, scale=1.0):
    return sp.betaincinv(a, b, probability(q)) * scale + loc


@method(st.beta, "isf")
def beta_isf(q, a, b, loc=0.0, scale=1.0):
    return sp.betainccinv(a, b, probability(q)) * scale + loc


# ------------------------------------------------------------------ samples


@samples(st.t.sf, st.t.logcdf, st.t.logsf)
def _(rng):
    yield (rng.normal(size=3), 3.5, 0.3, 1.7), {}


@samples(*(getattr(d, m) for d in (st.gamma, st.chi2) for m in ("sf", "logcdf", "logsf")))
def _(rng):
    yield (np.array([-1.0, 0.5, 2.0]), 2.5, 0.1, 1.7), {}


@samples(*(getattr(d, m) for d in (st.expon, st.uniform) for m in ("sf", "logcdf", "logsf")))
def _(rng):
    yield (np.array([-1.0, 0.5, 4.0]), 0.1, 1.7), {}


@samples(st.beta.sf, st.beta.logcdf, st.beta.logsf)
def _(rng):
    yield (np.array([-1.0, 0.2, 0.7, 1.5]), 2.5, 1.3), {}


@samples(st.norm.isf, st.expon.ppf, st.expon.isf, st.uniform.ppf, st.uniform.isf)
def _(rng):
    yield (np.array([0.2, 0.7]), 0.1, 1.7), {}


@samples(*(getattr(d, m) for d in (st.t, st.gamma, st.chi2) for m in ("ppf", "isf")))
def _(rng):
    yield (np.array([0.2, 0.7]), 2.5, 0.1, 1.7), {}


@samples(st.beta.ppf, st.beta.isf)
def _(rng):
    yield (np.array([0.2, 0.7]), 2.5, 1.3, 0.1, 1.7), {}
