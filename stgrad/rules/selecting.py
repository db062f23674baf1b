"""Derivatives of operations that pick, order and pad elements.

Where an operation is an indexed read it is written as one (`np.take`), and the compiler differentiates the index.
Sorting moves cotangents by the permutation that it used.
"""

from __future__ import annotations

import numpy as np

from .core import TABLE, adjoint, composite, linear, nondiff, refuse, samples, tangent
from .reductions import leading_axis

# ------------------------------------------------------------------ reads


@composite(np.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    source = np.ravel(a) if axis is None else leading_axis(a, axis)
    n = np.shape(source)[0]
    if mode == "wrap":
        indices = indices % n
    elif mode == "clip":
        indices = np.minimum(np.maximum(indices, 0), n - 1)
    r = np.copy(source[indices])  # a copy even where the index is an integer
    if axis is None or axis == 0 or np.ndim(indices) == 0 and axis in (0, -np.ndim(a)):
        return r
    rank, depth = np.ndim(a), np.ndim(indices)
    return np.moveaxis(r, tuple(range(depth)), tuple(range(axis % rank, axis % rank + depth)))


@composite(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    if axis is None:
        return np.ravel(arr)[indices]
    rank = np.ndim(arr)
    along = axis % rank
    shape = tuple(tuple(-1 if k == i else 1 for k in range(rank)) for i in range(rank))
    return arr[tuple(indices if i == along else np.reshape(np.arange(np.shape(arr)[i]), shape[i]) for i in range(rank))]


# ------------------------------------------------------------------ writes


def take_back(y_bar, index):
    """The cotangents of v in `y[index] = v`, last write first; sets what they came from to zero."""
    v_bar = np.empty(np.shape(index)[0], dtype=y_bar.dtype)
    for k in range(np.shape(index)[0] - 1, -1, -1):
        v_bar[k] = y_bar[index[k]]
        y_bar[index[k]] = 0.0
    return v_bar


def last_written(y_bar, index):
    """The cotangents of v in `y[index] = v`, for an index of any kind: zero where a later place of it names the same entry."""
    v_bar = y_bar[index]
    order = np.reshape(np.arange(np.size(v_bar)), np.shape(v_bar))
    last = np.zeros(np.shape(y_bar), dtype=np.int64)
    last[index] = order
    return np.where(last[index] == order, v_bar, 0.0)


@composite(np.compress)
def compress(condition, a, axis=None, out=None):
    return np.take(a, np.flatnonzero(condition), axis=axis)


@composite(np.extract)
def extract(condition, arr):
    return np.ravel(arr)[np.flatnonzero(condition)]


@composite(np.select)
def select(condlist, choicelist, default=0):
    r = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1]):
        r = np.where(condition, choice, r)
    return r


@composite(np.choose)
def choose(a, choices, out=None, mode="raise"):
    n = len(choices)
    if mode == "raise" and np.any(np.logical_or(np.less(a, 0), np.greater_equal(a, n))):
        raise ValueError("invalid entry in choice array")
    which = a % n if mode == "wrap" else np.clip(a, 0, n - 1) if mode == "clip" else a
    r = choices[n - 1]
    for i in range(n - 1):
        r = np.where(which == i, choices[i], r)
    return r


@samples(np.take)
def _(rng):
    x = rng.normal(size=(2, 3, 4))
    index = np.array([[0, 1], [1, 1]])
    for axis in (None, 0, 1, -1):
        yield (x, index), {"axis": axis}
        yield (x, 1), {"axis": axis}
    yield (x, np.array([5, -7]), 1), {"mode": "wrap"}
    yield (x, np.array([5, -7]), 1), {"mode": "clip"}


@samples(np.take_along_axis)
def _(rng):
    x = rng.normal(size=(2, 3))
    yield (x, np.argsort(x, axis=0), 0), {}
    yield (x, np.argsort(x, axis=1)[:, :1]), {"axis": -1}
    yield (x, np.array([1, 5]), None), {}


@samples(np.compress)
def _(rng):
    yield (np.array([True, False, True]), rng.normal(size=(2, 3)), 1), {}


@samples(np.extract)
def _(rng):
    yield (np.array([True, False, True]), rng.normal(size=3)), {}


@samples(np.select)
def _(rng):
    x = rng.normal(size=5)
    yield ([x < 0, x < 0.5], [x * x, x], 2.0), {}
    yield ([x < 0, x < 0.5], [x * x, x]), {}


@samples(np.choose)
def _(rng):
    yield (np.array([0, 1, 1]), (rng.normal(size=3), rng.normal(size=3))), {}
    yield (np.array([-3, 4, 1]), (rng.normal(size=3), rng.normal(size=3))), {"mode": "clip"}
    yield (np.array([-3, 4, 1]), (rng.normal(size=3), rng.normal(size=3))), {"mode": "wrap"}


# ------------------------------------------------------------------ orders


@linear(np.sort)
def sort(y, y_bar, a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        return np.reshape(y_bar[np.argsort(np.argsort(np.ravel(a)))], np.shape(a))
    if np.ndim(a) == 1:
        a_bar = np.zeros_like(a)
        a_bar[np.argsort(a)] = y_bar
        return a_bar
    rank = np.argsort(np.argsort(a, axis=axis), axis=axis)
    return np.take_along_axis(y_bar, rank, axis)


@tangent(np.sort)
def sort_dot(y, a, a_dot, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        return np.ravel(a_dot)[np.argsort(np.ravel(a))]
    return np.take_along_axis(a_dot, np.argsort(a, axis=axis), axis)


@linear(np.partition)
def partition(y, y_bar, a, kth, axis=-1, kind="introselect", order=None):
    if axis is None:
        return np.reshape(y_bar[np.argsort(np.argpartition(np.ravel(a), kth))], np.shape(a))
    rank = np.argsort(np.argpartition(a, kth, axis=axis), axis=axis)
    return np.take_along_axis(y_bar, rank, axis)


@tangent(np.partition)
def partition_dot(y, a, a_dot, kth, axis=-1, kind="introselect", order=None):
    if axis is None:
        return np.ravel(a_dot)[np.argpartition(np.ravel(a), kth)]
    return np.take_along_axis(a_dot, np.argpartition(a, kth, axis=axis), axis)


@adjoint(np.unique)
def unique(y, y_bar, ar, return_index=False, return_inverse=False, return_counts=False):
    """Of the flattened array: each value comes from its first occurrence."""
    first = np.unique(ar, return_index=True)[1]
    r = np.zeros(np.size(ar), dtype=ar.dtype)
    r[first] = y_bar[0] if return_index or return_inverse or return_counts else y_bar
    return np.reshape(r, np.shape(ar))


@tangent(np.unique)
def unique_dot(y, ar, ar_dot, return_index=False, return_inverse=False, return_counts=False):
    r = np.ravel(ar_dot)[np.unique(ar, return_index=True)[1]]
    if return_index or return_inverse or return_counts:
        return (r, *tuple(np.zeros_like(part) for part in y[1:]))
    return r


TABLE["np.unique"].fresh_shape = True


@samples(np.sort)
def _(rng):
    for axis in (None, 0, -1):
        yield (rng.normal(size=(3, 4)),), {"axis": axis}
    yield (rng.normal(size=5),), {}


@samples(np.partition)
def _(rng):
    for axis in (None, 0, -1):
        yield (rng.normal(size=(5, 5)), 2), {"axis": axis}


@samples(np.unique)
def _(rng):
    yield (np.array([[3.0, 1.0], [2.0, 0.5]]),), {}
    yield (np.array([3.0, 1.0, 2.0]),), {"return_index": True, "return_counts": True}


# ------------------------------------------------------------------ padding


def widths(pad_width, rank):
    """What goes before and after each axis, from the three ways to say it."""
    if np.ndim(pad_width) == 0:
        return ((pad_width, pad_width),) * rank
    if np.ndim(pad_width) == 1:
        return ((pad_width[0], pad_width[-1]),) * rank
    return tuple(pad_width) * rank if len(pad_width) == 1 else tuple(pad_width)


COPIED = ("edge", "reflect", "symmetric", "wrap")  # the modes that repeat elements


def folded(y_bar, axis, n, before_after, mode):
    """Add what np.pad copied along one axis back to where it came from; the axis has extent `n` again."""
    source = np.pad(np.arange(n), before_after, mode=mode)
    rows = np.moveaxis(y_bar, axis, 0)
    r = np.zeros((n,) + np.shape(rows)[1:], dtype=y_bar.dtype)
    np.add.at(r, source, rows)
    return np.moveaxis(r, 0, axis)


@linear(np.pad)
def pad(y, y_bar, array, pad_width, mode="constant", *, constant_values=0.0):
    wide = widths(pad_width, np.ndim(array))
    if mode == "constant":
        return y_bar[tuple(slice(wide[i][0], wide[i][0] + np.shape(array)[i]) for i in range(np.ndim(array)))]
    refuse(mode not in COPIED, "np.pad with the mode " + mode + " is not supported", "join the array with what is to stand beside it: np.concatenate")
    r = y_bar
    for axis, before_after in enumerate(wide):
        r = folded(r, axis, np.shape(array)[axis], before_after, mode)
    return r


@tangent(np.pad)
def pad_dot(y, array, array_dot, pad_width, mode="constant", *, constant_values=0.0):
    return np.pad(array_dot, pad_width, mode=mode)


@samples(np.pad)
def _(rng):
    x = rng.normal(size=(3, 4))
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
        yield (x, 2), {"mode": mode}
        yield (x, ((1, 0), (0, 2)), mode), {}
    yield (x, (1, 2)), {"constant_values": 3.0}


nondiff(np.argsort, np.argpartition, np.lexsort, np.searchsorted, np.digitize, np.flatnonzero, np.nonzero, np.argwhere)
for _op in (np.flatnonzero, np.nonzero, np.argwhere):
    nondiff(_op, fresh_shape=True)
