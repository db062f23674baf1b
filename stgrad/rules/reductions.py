"""Derivatives of reductions. `axis` is an int (negative too), a tuple or None, and static.

Ties in max and min split equally; std is 0 where the variance is 0.
"""

from __future__ import annotations

import math

import numpy as np

from .core import adjoint, composite, linear, nondiff, samples, static, tangent

# ------------------------------------------------------------------ shapes of reductions


@static
def axes(axis, rank):
    """The axes of a reduction, not negative, in the order given."""
    return tuple(range(rank)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, rank)


@static
def is_last(axis, rank):
    return axis in (-1, rank - 1)


def restore(y, axis, keepdims):
    """A reduced array with its reduced axes back, of extent 1; a full reduction broadcasts as it is."""
    if axis is None or keepdims:
        return y
    return np.expand_dims(y, axis)


def extent(a, axis):
    """How many elements make one of the result."""
    if axis is None:
        return np.size(a)
    n = 1
    for i in axes(axis, np.ndim(a)):
        n = n * np.shape(a)[i]
    return n


def last(a, axis):
    """`a` with an axis moved to the end."""
    return a if is_last(axis, np.ndim(a)) else np.moveaxis(a, axis, -1)


def back(a, axis):
    """The inverse of `last`."""
    return a if is_last(axis, np.ndim(a)) else np.moveaxis(a, -1, axis)


def part(a, start, stop, axis):
    """a[start:stop] along an axis."""
    if axis == 0:
        return a[start:stop]
    return back(last(a, axis)[..., start:stop], axis)


def leading_axis(a, axis):
    """`a` with an axis moved to the front."""
    if axis is None:
        return np.ravel(a)
    return np.moveaxis(a, axis, 0)


def rows(a, axis):
    """`a` (..., n) with the reduced axes as one last axis."""
    if axis is None:
        return np.ravel(a)
    count = len(axes(axis, np.ndim(a)))
    moved = np.moveaxis(a, axes(axis, np.ndim(a)), tuple(range(-count, 0)))
    last = math.prod(np.shape(moved)[np.ndim(a) - count :])  # -1 would be open where there are no rows
    return np.reshape(moved, np.shape(moved)[: np.ndim(a) - count] + (last,))


def unrows(r, like, axis):
    """The inverse of `rows`, for an array of the shape of `like`."""
    if axis is None:
        return np.reshape(r, np.shape(like))
    positions = axes(axis, np.ndim(like))
    rest = tuple(np.shape(like)[i] for i in range(np.ndim(like)) if i not in positions)
    split = np.reshape(r, rest + tuple(np.shape(like)[i] for i in positions))
    return np.moveaxis(split, tuple(range(-len(positions), 0)), positions)


# ------------------------------------------------------------------ sums


@adjoint(np.sum)
def sum_(y, y_bar, a, axis=None, dtype=None, out=None, keepdims=False, initial=0.0, where=None):
    a_bar = np.broadcast_to(restore(y_bar, axis, keepdims), np.shape(a))
    return a_bar if where is None else np.where(where, a_bar, 0.0)


@tangent(np.sum)
def sum_dot(y, a, a_dot, axis=None, dtype=None, out=None, keepdims=False, initial=0.0, where=None):
    if where is None:
        return np.sum(a_dot, axis=axis, keepdims=keepdims)
    return np.sum(np.where(where, a_dot, 0.0), axis=axis, keepdims=keepdims)


@linear(np.mean)
def mean(y, y_bar, a, axis=None, dtype=None, out=None, keepdims=False):
    return np.broadcast_to(restore(y_bar, axis, keepdims) / max(extent(a, axis), 1), np.shape(a))


def filled(a, value):
    """With a number in the place of NaN, which integers and truth values never are."""
    return a if a.dtype.kind in "iub" else np.where(np.isnan(a), value, a)


@composite(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    return np.sum(filled(a, 0.0), axis=axis, keepdims=keepdims)


@composite(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    if a.dtype.kind in "iub":
        return np.mean(a, axis=axis, keepdims=keepdims)
    count = np.sum(np.logical_not(np.isnan(a)), axis=axis, keepdims=keepdims, dtype=a.dtype)
    return np.where(count > 0.0, np.sum(filled(a, 0.0), axis=axis, keepdims=keepdims) / np.where(count > 0.0, count, 1.0), np.nan)


@composite(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    if weights is None:
        y = np.mean(a, axis=axis, keepdims=keepdims)
        return (y, np.full_like(y, extent(a, axis))) if returned else y
    w = np.asarray(weights)
    if np.ndim(w) < np.ndim(a):  # one weight for each index of the axes that are averaged
        shape = tuple(np.shape(a)[i] if i in axes(axis, np.ndim(a)) else 1 for i in range(np.ndim(a)))
        w = np.broadcast_to(np.reshape(w, shape), np.shape(a))
    total = np.sum(w, axis=axis, keepdims=keepdims)
    y = np.sum(a * w, axis=axis, keepdims=keepdims) / total
    return (y, total.astype(y.dtype)) if returned else y


@samples(np.sum, np.mean)
def _(rng):
    x = rng.normal(size=(2, 3, 4))
    for axis in (None, 0, -1, (0, 2), (1, -1)):
        yield (x,), {"axis": axis}
        yield (x,), {"axis": axis, "keepdims": True}
    yield (x[0, 0],), {}
    yield (x[0, 0] + 1j * x[0, 1],), {}
    yield (np.array(2.0),), {}
    yield (np.ones((0, 3)),), {"axis": 1}


@samples(np.sum)
def _(rng):
    yield (rng.normal(size=(2, 3)),), {"initial": 5.0}
    yield (rng.normal(size=(2, 3)),), {"where": np.array([True, False, True]), "axis": 0}


@samples(np.nansum, np.nanmean)
def _(rng):
    x = rng.normal(size=(2, 3))
    x[0, 1] = np.nan
    yield (x,), {}
    yield (x,), {"axis": 0}
    yield (x.astype(np.float32),), {"axis": 1, "keepdims": True}


@samples(np.average)
def _(rng):
    x = rng.normal(size=(2, 3))
    yield (x,), {}
    yield (x, 1, rng.uniform(0.5, 1.0, size=3)), {}
    yield (x, None, rng.uniform(0.5, 1.0, size=(2, 3))), {}
    yield (x, 0), {"weights": rng.uniform(0.5, 1.0, size=2), "keepdims": True}
    yield (rng.normal(size=(2, 3, 4)), (0, 1), rng.uniform(0.5, 1.0, size=(2, 3))), {}
    yield (x, 1, rng.uniform(0.5, 1.0, size=3), True), {}
    yield (x, 1, None, True), {}


# ------------------------------------------------------------------ variance


def squared(d):
    """|d|^2, real."""
    return np.real(d * np.conjugate(d)) if np.iscomplexobj(d) else d * d


def by_freedom(x, a, axis, lost):
    """2 x by the degrees of freedom: none where as many are lost as there are elements, or more."""
    return 2.0 / extent(a, axis) * x if lost == 0 else 2.0 * x / max(extent(a, axis) - lost, 0)


@adjoint(np.var)
def var(y, y_bar, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None, correction=0):
    """2 (a - mean) / (n - ddof): the share that goes through the mean sums to zero."""
    deviation = a - np.mean(a, axis=axis, keepdims=True)
    return by_freedom(restore(y_bar, axis, keepdims) * deviation, a, axis, ddof + correction)


@tangent(np.var)
def var_dot(y, a, a_dot, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None, correction=0):
    deviation = a - np.mean(a, axis=axis, keepdims=True)
    change = np.real(np.conjugate(deviation) * a_dot) if np.iscomplexobj(a) else deviation * a_dot
    return by_freedom(np.sum(change, axis=axis, keepdims=keepdims), a, axis, ddof + correction)


@composite(np.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=0):
    return np.sqrt(np.var(a, axis=axis, ddof=ddof + correction, keepdims=keepdims))


@composite(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    if a.dtype.kind in "iub":
        return np.var(a, axis=axis, ddof=ddof, keepdims=keepdims)
    valid = np.logical_not(np.isnan(a))
    count = np.sum(valid, axis=axis, keepdims=True, dtype=a.dtype)
    count = np.where(count > 0.0, count, 1.0)
    numbers = np.where(valid, a, 0.0)
    deviation = np.where(valid, numbers - np.sum(numbers, axis=axis, keepdims=True) / count, 0.0)
    total = np.sum(squared(deviation), axis=axis, keepdims=keepdims)
    freedom = np.sum(valid, axis=axis, keepdims=keepdims, dtype=total.dtype) - ddof
    return np.where(freedom > 0.0, total / np.where(freedom > 0.0, freedom, 1.0), np.nan)


@composite(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    return np.sqrt(np.nanvar(a, axis=axis, ddof=ddof, keepdims=keepdims))


@samples(np.var, np.std)
def _(rng):
    x = rng.normal(size=(2, 3, 4))
    for axis in (None, 1, -1, (0, 2)):
        yield (x,), {"axis": axis}
        yield (x,), {"axis": axis, "ddof": 1, "keepdims": True}
    yield (x[0, 0] + 1j * x[0, 1],), {}
    yield (x,), {"axis": 0, "correction": 1}


@samples(np.nanvar, np.nanstd)
def _(rng):
    x = rng.normal(size=(4, 3))
    x[0, 1] = np.nan
    yield (x,), {}
    yield (x.astype(np.float32),), {}
    yield (x,), {"axis": 0, "ddof": 1, "keepdims": True}


# ------------------------------------------------------------------ extrema and order statistics


def share(y, a, axis, keepdims):
    """Which elements reach the extremum, and how many do."""
    hit = a == restore(y, axis, keepdims)
    return hit, np.maximum(np.sum(hit, axis=axis, keepdims=True, dtype=a.dtype), 1.0)


@adjoint(np.max, np.min, np.amax, np.amin, np.nanmax, np.nanmin)
def max_(y, y_bar, a, axis=None, out=None, keepdims=False, initial=None):
    """Ties get equal shares."""
    hit, count = share(y, a, axis, keepdims)
    return np.where(hit, restore(y_bar, axis, keepdims) / count, 0.0)


@tangent(np.max, np.min, np.amax, np.amin, np.nanmax, np.nanmin)
def max_dot(y, a, a_dot, axis=None, out=None, keepdims=False, initial=None):
    hit, count = share(y, a, axis, keepdims)
    return np.sum(np.where(hit, a_dot / count, 0.0), axis=axis, keepdims=keepdims)


@composite(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def kept(y, a, axis, keepdims):
    """A result over `rows` with the reduced axes back if keepdims says so; axes of q, if any, stand before."""
    if not keepdims:
        return y
    extra = np.ndim(y) - (np.ndim(a) - len(axes(axis, np.ndim(a))))
    return np.expand_dims(y, tuple(i + extra for i in axes(axis, np.ndim(a))))


@samples(np.max, np.min, np.amax, np.amin, np.nanmax, np.nanmin, np.ptp)
def _(rng):
    x = rng.permuted(np.arange(24.0)).reshape(2, 3, 4) / 5.0
    for axis in (None, 1, -1, (0, 2)):
        yield (x,), {"axis": axis}
        yield (x,), {"axis": axis, "keepdims": True}


@samples(np.max)
def _(rng):
    yield (np.array([1.0, 2.0]),), {"initial": 5.0}


nondiff(np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.any, np.all, np.count_nonzero)
