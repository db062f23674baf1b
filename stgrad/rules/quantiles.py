"""Medians, quantiles and percentiles: of sorted elements, so that NaN stands last; with and without NaN."""

from __future__ import annotations

import math

import numpy as np

from .core import composite, refuse, samples
from .reductions import kept, rows


@composite(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    r = np.sort(rows(a, axis), axis=-1)
    n = np.shape(r)[-1]
    if n == 0:
        return np.mean(a, axis=axis, keepdims=keepdims)  # NaN
    return kept(or_nan(0.5 * r[..., (n - 1) // 2] + 0.5 * r[..., n // 2], r), a, axis, keepdims)


def or_nan(y, r):
    """What was read of sorted rows; NaN where one of a row is, which stands last."""
    return y if r.dtype.kind in "iub" else np.where(np.isnan(r[..., -1]), np.nan, y)


# Hyndman and Fan, Sample quantiles in statistical packages (1996): the position is n q + alpha + q (1 - alpha - beta) - 1.
PLOTTING = {
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1.0 / 3.0, 1.0 / 3.0),
    "normal_unbiased": (0.375, 0.375),
    "interpolated_inverted_cdf": (0.0, 1.0),
}


def place_of(q, n, method):
    """Where a quantile lies among n sorted elements, counted from 0; between two of them it is interpolated."""
    if method == "linear":
        return q * (n - 1.0)
    if method in PLOTTING:
        alpha, beta = PLOTTING[method]
        return np.clip(n * q + (alpha + q * (1.0 - alpha - beta)) - 1.0, 0.0, n - 1.0)
    if method in ("lower", "higher", "nearest", "midpoint"):
        at = q * (n - 1.0)
        below, above = np.floor(at), np.ceil(at)
        if method == "midpoint":
            return 0.5 * (below + above)
        return below if method == "lower" else above if method == "higher" else np.rint(at)
    at = n * q - (0.5 if method == "closest_observation" else 0.0)
    if method == "closest_observation":  # of the two neighbours of a tie, the even one
        tie = np.logical_and(at == np.floor(at), np.floor(at) % 2.0 == 1.0)
        return np.clip(np.where(tie, at - 1.0, np.floor(at)), 0.0, n - 1.0)
    last = np.clip(np.ceil(at) - 1.0, 0.0, n - 1.0)
    if method == "averaged_inverted_cdf":
        return np.where(at == np.floor(at), np.clip(at - 0.5, 0.0, n - 1.0), last)
    refuse(method != "inverted_cdf", "np.quantile does not know the method " + method)
    return last


def refuse_outside(q, top, what):
    if not np.all(np.logical_and(q >= 0.0, q <= top)):
        raise ValueError(what)


@composite(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """Of sorted elements, interpolated as `method` says; the axes of `q` come first."""
    q = np.asarray(q) if isinstance(q, (list, tuple)) else q
    refuse_outside(q, 1.0, "Quantiles must be in the range [0, 1]")
    r = np.sort(rows(a, axis), axis=-1)
    n = np.shape(r)[-1]
    position = place_of(q, n, method)
    if isinstance(position, float):  # a Python number does not widen float32
        lower = math.floor(position)
        upper, weight = min(lower + 1, n - 1), position - lower
    else:
        lower = np.floor(position).astype(np.int64)
        upper, weight = np.minimum(lower + 1, n - 1), position - np.floor(position)
    y = np.take(r, lower, axis=-1) * (1.0 - weight) + np.take(r, upper, axis=-1) * weight
    if np.ndim(q) > 0 and np.ndim(r) > 1:
        y = np.moveaxis(y, tuple(range(-np.ndim(q), 0)), tuple(range(np.ndim(q))))
    return kept(or_nan(y, r), a, axis, keepdims)


@composite(np.percentile)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    q = np.asarray(q)
    refuse_outside(q, 100.0, "Percentiles must be in the range [0, 100]")
    return np.quantile(a, q / 100.0, axis=axis, method=method, keepdims=keepdims)


def numbers_first(a, axis):
    """The reduced axes of `a` as one last one, sorted, NaN behind; and how many numbers there are."""
    r = np.sort(rows(a, axis), axis=-1)
    return r, np.sum(np.logical_not(np.isnan(r)), axis=-1)


def between(r, position, n):
    """Elements of sorted rows at positions between integers, of the first n of each; NaN where n is 0."""
    lower = np.floor(np.maximum(position, 0.0)).astype(np.int64)
    weight = position - np.floor(position)
    upper = np.minimum(lower + 1, np.maximum(n - 1, 0))
    first = np.take_along_axis(r, np.expand_dims(lower, -1), -1)[..., 0]
    second = np.take_along_axis(r, np.expand_dims(upper, -1), -1)[..., 0]
    return (first * (1.0 - weight) + second * weight).astype(r.dtype)


@composite(np.nanquantile)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    if a.dtype.kind in "iub":
        return np.quantile(a, q, axis=axis, method=method, keepdims=keepdims)
    refuse_outside(q, 1.0, "Quantiles must be in the range [0, 1]")
    refuse(np.ndim(q) > 0, "np.nanquantile of several quantiles is not supported", "call it once for each")
    r, n = numbers_first(a, axis)
    if np.shape(r)[-1] == 0:
        return np.mean(a, axis=axis, keepdims=keepdims)  # NaN
    return kept(between(r, place_of(q, 1.0 * n, method), n), a, axis, keepdims)


@composite(np.nanpercentile)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    q = np.asarray(q)
    refuse_outside(q, 100.0, "Percentiles must be in the range [0, 100]")
    return np.nanquantile(a, q / 100.0, axis=axis, method=method, keepdims=keepdims)


@composite(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    if a.dtype.kind in "iub":
        return np.median(a, axis=axis, keepdims=keepdims)
    return np.nanquantile(a, 0.5, axis=axis, keepdims=keepdims)


@samples(np.median)
def _(rng):
    x = rng.normal(size=(2, 3, 4))
    for axis in (None, 1, -1, (0, 2)):
        yield (x,), {"axis": axis}
        yield (x,), {"axis": axis, "keepdims": True}
    yield (x[0, 0, :3].astype(np.float32),), {}


@samples(np.quantile, np.percentile)
def _(rng):
    x = rng.normal(size=(2, 3, 4))
    yield (x, 0.3), {}
    yield (x, np.array([0.0, 0.25, 1.0])), {"axis": 1}
    yield (x, 0.9), {"axis": (0, 2), "keepdims": True}
    yield (x, np.array([0.5, 0.6])), {"axis": -1, "keepdims": True}
    for method in (*PLOTTING, "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
        for q in (0.0, 0.25, 0.31, 0.5, 0.77, 1.0):
            yield (x, q), {"axis": 2, "method": method}
            yield (x, q), {"method": method}


def with_gaps(rng):
    x = rng.normal(size=(4, 3, 2))
    x[0, 1, 0] = x[1, 1, 0] = x[2, 0, 1] = np.nan
    return x


@samples(np.nanmedian)
def _(rng):
    for axis in (None, 0, (0, 2)):
        yield (with_gaps(rng),), {"axis": axis, "keepdims": axis == 0}


@samples(np.nanquantile, np.nanpercentile)
def _(rng):
    for axis in (None, 0, (0, 2)):
        yield (with_gaps(rng), 0.31), {"axis": axis}
    yield (with_gaps(rng), 0.31), {"axis": 0, "keepdims": True, "method": "hazen"}
