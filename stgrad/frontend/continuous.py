# mypy: allow-untyped-defs, allow-untyped-calls
"""Methods of the continuous distributions of `scipy.stats`, as plain Python around those that each distribution has for its standard form.

SciPy computes them where the arguments are valid, in arrays of their own, and puts them in their places. Here they are computed everywhere, and `np.where`
chooses: what it leaves out has no share in a derivative. Distributions whose methods have rules (`stgrad rules`) do not come here.
"""

from __future__ import annotations

import numpy as np

from stgrad import errors
from stgrad.rules.core import static

_NUMERIC = "`{}` of `{}` is found by SciPy with root finders and quadrature of its other methods"
_FORMULA = "write its formula, or solve for it with scipy.optimize.brentq or scipy.integrate.quad"


@static
def own(distribution, *names):
    """Refuse a distribution that has none of these methods itself: the ones that stand for them solve and integrate, each for each number."""
    if all(getattr(type(distribution), name).__module__ == "scipy.stats._distn_infrastructure" for name in names):
        raise errors.UnsupportedSyntaxError(_NUMERIC.format(names[-1].strip("_"), distribution.name), hint=_FORMULA)


def _spread(*values):
    """Values as vectors of equal length, and the shape that they have together."""
    arrays = np.broadcast_arrays(*[1.0 * np.asarray(v) for v in values])
    return [np.ravel(a) for a in arrays], np.shape(arrays[0])


def _standard(self, x, args, kwds):
    """The shapes, the place in the standard form, the scale, whether all are valid, and the shape of the result."""
    given, loc, scale = self._parse_args(*args, **kwds)
    (x, loc, scale, *shapes), shape = _spread(x, loc, scale, *given)
    return shapes, (x - loc) / scale, scale, self._argcheck(*shapes) & (scale > 0.0), shape


def _back(values, shape):
    return np.reshape(values, shape) if len(shape) > 0 else values[0]


def _chosen(ok, inside, values, other, shape):
    return _back(np.where(ok, np.where(inside, values, other), np.nan), shape)


def pdf(self, x, *args, **kwds):
    shapes, z, scale, ok, shape = _standard(self, x, args, kwds)
    return _chosen(ok & (z == z), self._support_mask(z, *shapes), self._pdf(z, *shapes) / scale, 0.0, shape)


def logpdf(self, x, *args, **kwds):
    shapes, z, scale, ok, shape = _standard(self, x, args, kwds)
    return _chosen(ok & (z == z), self._support_mask(z, *shapes), self._logpdf(z, *shapes) - np.log(scale), -np.inf, shape)


def cdf(self, x, *args, **kwds):
    own(self, "_cdf")
    shapes, z, _, ok, shape = _standard(self, x, args, kwds)
    _, high = self._get_support(*shapes)
    return _chosen(ok & (z == z), self._open_support_mask(z, *shapes), self._cdf(z, *shapes), np.where(z >= high, 1.0, 0.0), shape)


def logcdf(self, x, *args, **kwds):
    own(self, "_logcdf", "_cdf")
    shapes, z, _, ok, shape = _standard(self, x, args, kwds)
    _, high = self._get_support(*shapes)
    return _chosen(ok & (z == z), self._open_support_mask(z, *shapes), self._logcdf(z, *shapes), np.where(z >= high, 0.0, -np.inf), shape)


def sf(self, x, *args, **kwds):
    own(self, "_sf", "_cdf")
    shapes, z, _, ok, shape = _standard(self, x, args, kwds)
    low, _ = self._get_support(*shapes)
    return _chosen(ok & (z == z), self._open_support_mask(z, *shapes), self._sf(z, *shapes), np.where(z <= low, 1.0, 0.0), shape)


def logsf(self, x, *args, **kwds):
    own(self, "_logsf", "_sf", "_cdf")
    shapes, z, _, ok, shape = _standard(self, x, args, kwds)
    low, _ = self._get_support(*shapes)
    return _chosen(ok & (z == z), self._open_support_mask(z, *shapes), self._logsf(z, *shapes), np.where(z <= low, 0.0, -np.inf), shape)


def _quantile(self, q, args, kwds, upper):
    given, loc, scale = self._parse_args(*args, **kwds)
    (q, loc, scale, *shapes), shape = _spread(q, loc, scale, *given)
    own(self, "_ppf", "_isf") if upper else own(self, "_ppf")
    low, high = self._get_support(*shapes)
    first, last = (high, low) if upper else (low, high)
    inside = (q > 0.0) & (q < 1.0)
    probability = np.where(inside, q, 0.5)
    found = self._isf(probability, *shapes) if upper else self._ppf(probability, *shapes)
    ok = self._argcheck(*shapes) & (scale > 0.0) & (q >= 0.0) & (q <= 1.0)
    return _chosen(ok, inside, found * scale + loc, np.where(q == 0.0, first, last) * scale + loc, shape)


def ppf(self, q, *args, **kwds):
    return _quantile(self, q, args, kwds, False)


def isf(self, q, *args, **kwds):
    return _quantile(self, q, args, kwds, True)


def _moments(self, args, kwds, asked):
    """Mean and variance of the standard form, where it is, and the shape of the result."""
    given, loc, scale = self._parse_args(*args, **kwds)
    (loc, scale, *shapes), shape = _spread(loc, scale, *given)
    found = self._stats(*shapes, moments=asked) if self._stats_has_moments else self._stats(*shapes)
    mean, variance = found[0], found[1]
    if mean is None or variance is None and "v" in asked:
        own(self, "_munp")
    if mean is None:
        mean = self._munp(1, *shapes)
    if variance is None and "v" in asked:
        variance = self._munp(2, *shapes) - mean * mean
    return mean, variance, loc, scale, self._argcheck(*shapes) & (scale > 0.0) & (loc == loc), shape


def mean(self, *args, **kwds):
    middle, _, loc, scale, ok, shape = _moments(self, args, kwds, "m")
    return _back(np.where(ok, middle * scale + loc, np.nan), shape)


def var(self, *args, **kwds):
    _, variance, _, scale, ok, shape = _moments(self, args, kwds, "mv")
    return _back(np.where(ok, variance * scale * scale, np.nan), shape)


def std(self, *args, **kwds):
    return np.sqrt(var(self, *args, **kwds))


def entropy(self, *args, **kwds):
    given, loc, scale = self._parse_args(*args, **kwds)
    own(self, "_entropy")
    (loc, scale, *shapes), shape = _spread(loc, scale, *given)
    found = np.zeros(len(scale))
    for k in range(len(scale)):
        found[k] = self._entropy(*[s[k] for s in shapes]) + np.log(scale[k])
    return _back(np.where(self._argcheck(*shapes) & (scale > 0.0) & (loc == loc), found, np.nan), shape)


__all__ = ["cdf", "entropy", "isf", "logcdf", "logpdf", "logsf", "mean", "pdf", "ppf", "sf", "std", "var"]
