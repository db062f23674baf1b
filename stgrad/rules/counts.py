"""Discrete distributions of scipy.stats, in their real parameters: no derivative goes to counts."""

from __future__ import annotations

import numpy as np
import scipy.special as sp
import scipy.stats as st

from .core import samples
from .stats import method, poisson_cdf
from .tails import log_of


def counted(k, loc):
    return np.asarray(k, dtype=np.float64) - loc


def on_counts(count, low, high, value):
    """`value` at the whole numbers from `low` to `high`, and -inf elsewhere."""
    inside = np.logical_and(count >= low, count <= high)
    return np.where(np.logical_and(inside, count == np.floor(count)), value, -np.inf)


def within(count, low, high):
    return np.minimum(np.maximum(np.floor(count), low), high)


# ------------------------------------------------------------------ binom


@method(st.binom, "logpmf")
def binom_logpmf(k, n, p, loc=0):
    count = counted(k, loc)
    safe = within(count, 0.0, n)
    ways = sp.gammaln(n + 1.0) - sp.gammaln(safe + 1.0) - sp.gammaln(n - safe + 1.0)
    return on_counts(count, 0.0, n, ways + sp.xlogy(safe, p) + sp.xlog1py(n - safe, -p))


@method(st.binom, "pmf")
def binom_pmf(k, n, p, loc=0):
    return np.exp(binom_logpmf(k, n, p, loc))


@method(st.binom, "cdf")
def binom_cdf(k, n, p, loc=0):
    count = counted(k, loc)
    safe = within(count, 0.0, n - 1.0)
    return np.where(count < 0.0, 0.0, np.where(count >= n, 1.0, sp.betaincc(safe + 1.0, n - safe, p)))


@method(st.binom, "sf")
def binom_sf(k, n, p, loc=0):
    count = counted(k, loc)
    safe = within(count, 0.0, n - 1.0)
    return np.where(count < 0.0, 1.0, np.where(count >= n, 0.0, sp.betainc(safe + 1.0, n - safe, p)))


@method(st.binom, "logcdf")
def binom_logcdf(k, n, p, loc=0):
    return log_of(binom_cdf(k, n, p, loc))


@method(st.binom, "logsf")
def binom_logsf(k, n, p, loc=0):
    return log_of(binom_sf(k, n, p, loc))


# ------------------------------------------------------------------ nbinom and geom


@method(st.nbinom, "logpmf")
def nbinom_logpmf(k, n, p, loc=0):
    count = counted(k, loc)
    safe = within(count, 0.0, np.inf)
    ways = sp.gammaln(n + safe) - sp.gammaln(safe + 1.0) - sp.gammaln(n)
    return on_counts(count, 0.0, np.inf, ways + n * np.log(p) + sp.xlog1py(safe, -p))


@method(st.nbinom, "pmf")
def nbinom_pmf(k, n, p, loc=0):
    return np.exp(nbinom_logpmf(k, n, p, loc))


@method(st.nbinom, "cdf")
def nbinom_cdf(k, n, p, loc=0):
    count = counted(k, loc)
    return np.where(count >= 0.0, sp.betainc(n, within(count, 0.0, np.inf) + 1.0, p), 0.0)


@method(st.nbinom, "sf")
def nbinom_sf(k, n, p, loc=0):
    count = counted(k, loc)
    return np.where(count >= 0.0, sp.betaincc(n, within(count, 0.0, np.inf) + 1.0, p), 1.0)


@method(st.geom, "logpmf")
def geom_logpmf(k, p, loc=0):
    count = counted(k, loc)
    return on_counts(count, 1.0, np.inf, sp.xlog1py(within(count, 1.0, np.inf) - 1.0, -p) + np.log(p))


@method(st.geom, "pmf")
def geom_pmf(k, p, loc=0):
    return np.exp(geom_logpmf(k, p, loc))


@method(st.geom, "logsf")
def geom_logsf(k, p, loc=0):
    return within(counted(k, loc), 0.0, np.inf) * np.log1p(-p)


@method(st.geom, "sf")
def geom_sf(k, p, loc=0):
    return np.exp(geom_logsf(k, p, loc))


@method(st.geom, "cdf")
def geom_cdf(k, p, loc=0):
    return -np.expm1(geom_logsf(k, p, loc))


# ------------------------------------------------------------------ poisson


@method(st.poisson, "sf")
def poisson_sf(k, mu, loc=0):
    count = counted(k, loc)
    return np.where(count >= 0.0, sp.gammainc(within(count, 0.0, np.inf) + 1.0, mu), 1.0)


@method(st.poisson, "logcdf")
def poisson_logcdf(k, mu, loc=0):
    return log_of(poisson_cdf(k, mu, loc))


@method(st.poisson, "logsf")
def poisson_logsf(k, mu, loc=0):
    return log_of(poisson_sf(k, mu, loc))


# ------------------------------------------------------------------ samples


@samples(*(getattr(st.binom, m) for m in ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf")))
def _(rng):
    yield (np.array([-1, 0, 2, 5, 6]), 5, 0.3), {}


@samples(*(getattr(st.nbinom, m) for m in ("logpmf", "pmf", "cdf", "sf")))
def _(rng):
    yield (np.array([-1, 0, 2, 5]), 4, np.array([0.3, 0.4, 0.6, 0.7])), {}


@samples(*(getattr(st.geom, m) for m in ("logpmf", "pmf", "cdf", "sf", "logsf")))
def _(rng):
    yield (np.array([0, 1, 3]), np.array([0.3, 0.4, 0.6])), {}


@samples(st.poisson.sf, st.poisson.logcdf, st.poisson.logsf)
def _(rng):
    yield (np.array([-1, 0, 3]), 2.5), {}
