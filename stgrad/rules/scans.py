"""Derivatives of products and scans along an axis. prod and cumprod divide nothing, so they are exact with zeros."""

from __future__ import annotations

import math

import numpy as np

from .core import adjoint, composite, linear, samples, tangent
from .products import conj
from .reductions import axes, back, filled, last, leading_axis, part, restore, rows, unrows

# ------------------------------------------------------------------ products


def others(r):
    """Product of all the other elements of each row (..., n): nothing is divided, so zeros are exact."""
    one = np.ones(np.shape(r)[:-1] + (1,), r.dtype)
    before = np.cumprod(np.concatenate((one, r), axis=-1)[..., :-1], axis=-1)  # cut behind: a row may be empty
    after = np.cumprod(np.concatenate((one, r[..., ::-1]), axis=-1)[..., :-1], axis=-1)
    return before * after[..., ::-1]


@adjoint(np.prod)
def prod(y, y_bar, a, axis=None, dtype=None, out=None, keepdims=False, initial=1.0):
    return initial * restore(y_bar, axis, keepdims) * np.conjugate(unrows(others(rows(a, axis)), a, axis))


@tangent(np.prod)
def prod_dot(y, a, a_dot, axis=None, dtype=None, out=None, keepdims=False, initial=1.0):
    return initial * np.sum(a_dot * unrows(others(rows(a, axis)), a, axis), axis=axis, keepdims=keepdims)


@composite(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    return np.prod(filled(a, 1.0), axis=axis, keepdims=keepdims)


@linear(math.prod)
def math_prod(y, y_bar, iterable, start=1.0):
    """Of scalars: the product of the others."""
    if not isinstance(iterable, (tuple, list)):
        return y_bar * conj(start * np.ravel(others(np.reshape(iterable, (1, -1)))))
    return tuple(y_bar * conj(without(iterable, i, start)) for i in range(len(iterable)))


def without(items, skip, start):
    product = start
    for i, item in enumerate(items):
        if i != skip:
            product = product * item
    return product


@tangent(math.prod)
def math_prod_dot(y, iterable, iterable_dot, start=1.0):
    total = 0.0
    for i, x_dot in enumerate(iterable_dot):
        total = total + x_dot * without(iterable, i, start)
    return total


@samples(np.prod)
def _(rng):
    x = rng.uniform(0.5, 1.5, size=(2, 3, 4))
    for axis in (None, 0, -1, (0, 2), (-1, 0)):
        yield (x,), {"axis": axis}
        yield (x,), {"axis": axis, "keepdims": True, "initial": 2.0}
    yield (np.array([2.0, 0.0, 3.0]),), {}
    yield (np.array([2.0, 0.0, 0.0]),), {}
    yield (x[0, 0] + 1j * x[0, 1],), {}


@samples(np.nanprod)
def _(rng):
    yield (np.array([2.0, np.nan, 3.0]),), {}


@samples(math.prod)
def _(rng):
    yield ((2.0, 0.0, 3.0),), {}
    yield ((2.0, 0.5, 3.0),), {"start": 3.0}
    yield ((2.0 + 0.3j, 0.5, 3.0 - 1.0j),), {"start": 3.0}


# ------------------------------------------------------------------ scans


@linear(np.cumsum)
def cumsum(y, y_bar, a, axis=None, dtype=None, out=None):
    if axis is None:
        return np.reshape(np.cumsum(y_bar[::-1])[::-1], np.shape(a))
    return np.flip(np.cumsum(np.flip(y_bar, axis), axis=axis), axis)


def only_axis(x, axis):
    if axis is None and np.ndim(x) > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    return 0 if axis is None else axis


@composite(np.cumulative_sum)
def cumulative_sum(x, *, axis=None, include_initial=False):
    y = np.cumsum(x, axis=only_axis(x, axis))
    if not include_initial:
        return y
    return np.concatenate((np.zeros_like(part(y, 0, 1, 0 if axis is None else axis)), y), axis=0 if axis is None else axis)


@composite(np.cumulative_prod)
def cumulative_prod(x, *, axis=None, include_initial=False):
    y = np.cumprod(x, axis=only_axis(x, axis))
    if not include_initial:
        return y
    return np.concatenate((np.ones_like(part(y, 0, 1, 0 if axis is None else axis)), y), axis=0 if axis is None else axis)


@composite(np.nancumprod)
def nancumprod(a, axis=None, dtype=None, out=None):
    return np.cumprod(filled(a, 1.0), axis=axis)


@composite(np.nancumsum)
def nancumsum(a, axis=None, dtype=None, out=None):
    return np.cumsum(filled(a, 0.0), axis=axis)


def from_leading_axis(r, like, axis):
    if axis is None:
        return np.reshape(r, np.shape(like))
    return np.moveaxis(r, 0, axis)


@adjoint(np.cumprod)
def cumprod(y, y_bar, a, axis=None, dtype=None, out=None):
    """a_bar[k] = before[k] s[k] with s[k] = y_bar[k] + conj(a[k+1]) s[k+1]: nothing is divided, so zeros are exact."""
    x = np.conjugate(leading_axis(a, axis))
    product = np.conjugate(leading_axis(y, axis))
    s = np.copy(leading_axis(y_bar, axis))
    n = np.shape(x)[0]
    for k in range(n - 2, -1, -1):
        s[k] += x[k + 1] * s[k + 1]
    return from_leading_axis(np.concatenate((s[:1], product[:-1] * s[1:]), axis=0), a, axis)


@tangent(np.cumprod)
def cumprod_dot(y, a, a_dot, axis=None, dtype=None, out=None):
    x, x_dot, product = leading_axis(a, axis), leading_axis(a_dot, axis), leading_axis(y, axis)
    r = np.concatenate((x_dot[:1], product[:-1] * x_dot[1:]), axis=0)
    for k in range(1, np.shape(x)[0]):
        r[k] += x[k] * r[k - 1]
    return from_leading_axis(r, y, axis)


@composite(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    if prepend is not None:
        a = np.concatenate((beside(prepend, a, axis), a), axis=axis)
    if append is not None:
        a = np.concatenate((a, beside(append, a, axis)), axis=axis)
    if n == 0:
        return a
    r = last(a, axis)
    steps = r[..., 1:] != r[..., :-1] if r.dtype == np.bool_ else r[..., 1:] - r[..., :-1]
    return np.diff(back(steps, axis), n - 1, axis)


def beside(value, a, axis):
    """What np.diff puts before or after `a`: a scalar stands for one slice."""
    if np.ndim(value) > 0:
        return value
    return np.broadcast_to(value, tuple(1 if i in axes(axis, np.ndim(a)) else np.shape(a)[i] for i in range(np.ndim(a))))


@composite(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    y = np.diff(np.ravel(ary))
    if to_end is None and to_begin is None:
        return y
    before = y[:0] if to_begin is None else np.ravel(to_begin)
    after = y[:0] if to_end is None else np.ravel(to_end)
    return np.concatenate((before, y, after)).astype(y.dtype)


@composite(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    height = last(y, axis)
    if x is None:
        return np.sum(height[..., 1:] + height[..., :-1], axis=-1) * (0.5 * dx)
    width = np.diff(x) if np.ndim(x) == 1 else np.diff(last(x, axis))
    return np.sum(width * (height[..., 1:] + height[..., :-1]), axis=-1) * 0.5


@samples(np.cumsum, np.cumprod)
def _(rng):
    x = rng.uniform(0.5, 1.5, size=(2, 3, 4))
    for axis in (None, 0, -1):
        yield (x,), {"axis": axis}
    yield (np.array([2.0, 0.0, 3.0, 0.0, 1.0]),), {}
    yield (x[0, 0] + 1j * x[0, 1],), {}
    yield (np.array([1.5]),), {}


@samples(np.cumulative_sum, np.cumulative_prod)
def _(rng):
    yield (rng.normal(size=4),), {}
    yield (rng.normal(size=4),), {"include_initial": True}
    yield (rng.normal(size=(2, 3)),), {"axis": 1, "include_initial": True}


@samples(np.nancumsum, np.nancumprod)
def _(rng):
    yield (np.array([2.0, np.nan, 3.0]),), {}


@samples(np.diff)
def _(rng):
    x = rng.normal(size=(4, 5))
    yield (x,), {}
    yield (x, 2), {"axis": 0}
    yield (x[0],), {"prepend": 0.0, "append": np.array([1.0, 2.0])}
    yield (x, 0), {}


@samples(np.ediff1d)
def _(rng):
    yield (rng.normal(size=(2, 2)),), {}
    yield (rng.normal(size=4), np.array([1.0, 2.0]), 0.5), {}


@samples(np.trapezoid)
def _(rng):
    y = rng.normal(size=(3, 4))
    yield (y,), {"dx": 0.3}
    yield (y, np.array([0.0, 0.3, 1.0])), {"axis": 0}
    yield (y, np.cumsum(y * y, axis=1)), {}
