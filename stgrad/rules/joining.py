"""Derivatives of operations that join, cut and repeat arrays, and of diagonals and triangles.

Sequences of arrays are tuples here. Axes and the number of pieces are static; extents are run-time integers.
"""

from __future__ import annotations

import numpy as np

from .arrays import raised
from .core import composite, linear, refuse, samples
from .reductions import back, last, leading_axis, part

# ------------------------------------------------------------------ joining


def offset(arrays, count, axis):
    """The extent of the first `count` arrays together."""
    total = 0
    for a in arrays[:count]:
        total = total + (np.size(a) if axis is None else np.shape(a)[axis])
    return total


@linear(np.concatenate)
def concatenate(y, y_bar, arrays, axis=0, out=None, *, dtype=None):
    if axis is None:
        return tuple(np.reshape(y_bar[offset(arrays, i, None) : offset(arrays, i + 1, None)], np.shape(a)) for i, a in enumerate(arrays))
    return tuple(part(y_bar, offset(arrays, i, axis), offset(arrays, i + 1, axis), axis) for i in range(len(arrays)))


@linear(np.stack)
def stack(y, y_bar, arrays, axis=0, out=None, *, dtype=None):
    rows = y_bar if axis == 0 else np.moveaxis(y_bar, axis, 0)
    return tuple(rows[i] for i in range(len(arrays)))


@composite(np.vstack)
def vstack(tup, *, dtype=None):
    y = np.concatenate(tuple(raised(a, 2) for a in tup), axis=0)
    return y if dtype is None else y.astype(dtype)


@composite(np.hstack)
def hstack(tup, *, dtype=None):
    y = np.concatenate(tuple(raised(a, 1) for a in tup), axis=0 if np.ndim(tup[0]) <= 1 else 1)
    return y if dtype is None else y.astype(dtype)


@composite(np.dstack)
def dstack(tup):
    return np.concatenate(tuple(raised(a, 3) for a in tup), axis=2)


@composite(np.column_stack)
def column_stack(tup):
    return np.concatenate(tuple(a if np.ndim(a) >= 2 else np.reshape(a, (-1, 1)) for a in tup), axis=1)


@composite(np.append)
def append(arr, values, axis=None):
    if axis is None:
        return np.concatenate(tuple(raised(a, 1) if np.ndim(a) == 0 else np.ravel(a) for a in (arr, values)))
    return np.concatenate((arr, values), axis=axis)


@composite(np.insert)
def insert(arr, obj, values, axis=None):
    """The values take the dtype of the array."""
    if axis is None:
        return np.insert(np.ravel(arr), obj, values, 0)
    if np.ndim(obj) > 0:
        return inserted(leading_axis(arr, axis), np.asarray(obj), values, axis)
    n = np.shape(arr)[axis]
    if obj < -n or obj > n:
        raise IndexError("an index is out of bounds")
    at = obj + n if obj < 0 else obj
    new = (np.ravel(values) if np.ndim(arr) == 1 else filling(arr, np.asarray(values), axis)).astype(arr.dtype)
    return np.concatenate((part(arr, 0, at, axis), new, part(arr, at, n, axis)), axis=axis)


def filling(arr, values, axis):
    """Values broadcast to what stands between two parts of an array along an axis: their first axis is that one, once they have as many."""
    whole = np.moveaxis(np.reshape(values, (1,) * (np.ndim(arr) - np.ndim(values)) + np.shape(values)), 0, axis)
    shape = [np.shape(whole)[axis] if k == axis % np.ndim(arr) else np.shape(arr)[k] for k in range(np.ndim(arr))]
    return np.broadcast_to(whole, tuple(shape))


def inserted(rows, places, values, axis):
    """At several positions, all of which count in the array as it was."""
    refuse(np.ndim(values) > 1, "np.insert of several rows at several positions is not supported", "join the parts with np.concatenate")
    n = np.shape(rows)[0]
    if np.any(np.logical_or(places < -n, places > n)):
        raise IndexError("an index is out of bounds")
    places = np.where(places < 0, places + n, places)
    order = np.argsort(places, kind="stable")
    at = np.zeros(np.size(places), dtype=np.int64)
    at[order] = places[order] + np.arange(np.size(places))
    old = np.ones(np.shape(rows)[0] + np.size(places), dtype=bool)
    old[at] = False
    r = np.zeros((np.shape(rows)[0] + np.size(places),) + np.shape(rows)[1:], dtype=rows.dtype)
    r[np.flatnonzero(old)] = rows
    r[at] = values
    return np.moveaxis(r, 0, axis)


@composite(np.delete)
def delete(arr, obj, axis=None):
    if axis is None:
        return np.delete(np.ravel(arr), obj, 0)
    n = np.shape(arr)[axis]
    if isinstance(obj, slice) or np.ndim(obj) > 0:
        kept = np.ones(n, dtype=bool)
        kept[obj if isinstance(obj, slice) else np.asarray(obj)] = False
        return np.take(arr, np.flatnonzero(kept), axis=axis)
    if obj < -n or obj >= n:
        raise IndexError("an index is out of bounds")
    at = obj + n if obj < 0 else obj
    return np.concatenate((part(arr, 0, at, axis), part(arr, at + 1, n, axis)), axis=axis)


@composite(np.block)
def block(arrays):
    """Nested tuples: the innermost are joined along the last axis, those around them along the axes before it."""
    return joined(arrays, depth(arrays), max(depth(arrays), rank(arrays)))


def depth(arrays):
    return 1 + depth(arrays[0]) if isinstance(arrays, (tuple, list)) else 0


def rank(arrays):
    return max([rank(a) for a in arrays]) if isinstance(arrays, (tuple, list)) else np.ndim(arrays)


def joined(arrays, level, axes):
    """All blocks have as many axes as the result."""
    if level == 0:
        return raised(arrays, max(axes, 1))
    return np.concatenate(tuple(joined(a, level - 1, axes) for a in arrays), axis=-level)


@samples(np.concatenate)
def _(rng):
    yield ((rng.normal(size=(2, 3)), rng.normal(size=(1, 3))),), {}
    yield ((rng.normal(size=(2, 1, 2)), rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 2, 2))),), {"axis": 1}
    yield ((rng.normal(size=(2, 1)), rng.normal(size=(2, 3))),), {"axis": -1}
    yield ((rng.normal(size=(2, 1)), rng.normal(size=3)),), {"axis": None}


@samples(np.stack)
def _(rng):
    for axis in (0, 1, -1):
        yield ((rng.normal(size=(2, 3)), rng.normal(size=(2, 3))),), {"axis": axis}


@samples(np.vstack, np.hstack, np.dstack, np.column_stack)
def _(rng):
    yield ((rng.normal(size=3), rng.normal(size=3)),), {}
    yield ((rng.normal(size=(2, 3)), rng.normal(size=(2, 3))),), {}


@samples(np.append)
def _(rng):
    yield (rng.normal(size=3), 2.0), {}
    yield (rng.normal(size=(2, 3)), rng.normal(size=(2, 1)), 1), {}


@samples(np.insert)
def _(rng):
    yield (rng.normal(size=3), 1, 2.0), {}
    yield (rng.normal(size=(2, 3)), -1, rng.normal(size=2), 1), {}
    yield (rng.normal(size=4), np.array([3, 1, 1]), rng.normal(size=3)), {}
    yield (rng.normal(size=(2, 3)), [0, 2], 1.5, 1), {}


@samples(np.delete)
def _(rng):
    yield (rng.normal(size=3), -1), {}
    yield (rng.normal(size=(2, 3)), 1, 1), {}
    yield (rng.normal(size=(4, 3)), [0, -1], 0), {}
    yield (rng.normal(size=(4, 3)), slice(0, 2), 0), {}
    yield (rng.normal(size=3), np.array([True, False, True])), {}


@samples(np.block)
def _(rng):
    a, b = rng.normal(size=(2, 2)), rng.normal(size=(2, 1))
    yield ([[a, b], [np.ones((1, 2)), np.ones((1, 1))]],), {}
    yield ([a, b],), {}
    yield ([[a, b], [np.ones((1, 2)), 2.0]],), {}
    yield ([[rng.normal(size=2), 1.5], [1.0, rng.normal(size=2)]],), {}
    yield ([rng.normal(size=3), 2.0, rng.normal(size=(1, 2))],), {}


# ------------------------------------------------------------------ cutting and repeating


@composite(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    n = np.shape(ary)[axis]
    if np.ndim(indices_or_sections) > 0:
        cuts = (0, *indices_or_sections, n)
    else:
        if indices_or_sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        size, extra = n // indices_or_sections, n % indices_or_sections
        cuts = tuple(i * size + min(i, extra) for i in range(indices_or_sections + 1))
    return [part(ary, cuts[i], cuts[i + 1], axis) for i in range(len(cuts) - 1)]


@composite(np.split)
def split(ary, indices_or_sections, axis=0):
    if np.ndim(indices_or_sections) == 0 and indices_or_sections == 0:
        raise ZeroDivisionError("integer modulo by zero")
    if np.ndim(indices_or_sections) == 0 and np.shape(ary)[axis] % indices_or_sections != 0:
        raise ValueError("array split does not result in an equal division")
    return np.array_split(ary, indices_or_sections, axis)


@composite(np.unstack)
def unstack(x, /, *, axis=0):
    """As many arrays as the axis is long: its extent is static."""
    rows = x if axis == 0 else np.moveaxis(x, axis, 0)
    return tuple(rows[i] for i in range(np.shape(rows)[0]))


@composite(np.vsplit)
def vsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 0)


@composite(np.hsplit)
def hsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


@composite(np.dsplit)
def dsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 2)


@linear(np.tile)
def tile(y, y_bar, A, reps):
    """Each axis of `y` is (copies, extent): sum over the copies."""
    rank = np.ndim(y)
    wanted = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    copies = (1,) * (rank - len(wanted)) + wanted
    shape = (1,) * (rank - np.ndim(A)) + np.shape(A)
    pairs = tuple(copies[k // 2] if k % 2 == 0 else shape[k // 2] for k in range(2 * rank))
    return np.reshape(np.sum(np.reshape(y_bar, pairs), axis=tuple(range(0, 2 * rank, 2))), np.shape(A))


@linear(np.repeat)
def repeat(y, y_bar, a, repeats, axis=None):
    source = np.ravel(a) if axis is None else last(a, axis)
    rows = y_bar if axis is None else last(y_bar, axis)
    if np.ndim(repeats) == 0:
        r = np.sum(np.reshape(rows, np.shape(source) + (repeats,)), axis=-1)
    else:
        r = np.zeros_like(source)
        np.add.at(r, (..., np.repeat(np.arange(np.shape(source)[-1]), repeats)), rows)
    return np.reshape(r, np.shape(a)) if axis is None else back(r, axis)


@samples(np.split, np.array_split)
def _(rng):
    x = rng.normal(size=(4, 6, 2))
    yield (x, 2), {}
    yield (x, 3, 1), {}
    yield (x, (1, 4), 1), {}


@samples(np.unstack)
def _(rng):
    yield (rng.normal(size=(2, 3)),), {"axis": 1}


@samples(np.array_split)
def _(rng):
    yield (rng.normal(size=7), 3), {}


@samples(np.vsplit, np.hsplit, np.dsplit)
def _(rng):
    yield (rng.normal(size=(4, 6, 2)), 2), {}


@samples(np.tile)
def _(rng):
    yield (rng.normal(size=3), 2), {}
    yield (rng.normal(size=3), (2, 3)), {}
    yield (rng.normal(size=(2, 3)), (2,)), {}
    yield (2.0, (2, 2)), {}


@samples(np.repeat)
def _(rng):
    yield (rng.normal(size=(2, 3)), 2), {}
    yield (rng.normal(size=(2, 3)), 2, 0), {}
    yield (rng.normal(size=(2, 3)), np.array([1, 0, 2]), 1), {}
    yield (rng.normal(size=(2, 2)), np.array([1, 0, 2, 1])), {}


# ------------------------------------------------------------------ diagonals and triangles


@linear(np.diagonal, views=0)
def diagonal(y, y_bar, a, offset=0, axis1=0, axis2=1):
    if np.ndim(a) == 2 and axis1 == 0 and axis2 == 1:
        return on_diagonal(y_bar, a, offset)
    return np.moveaxis(on_diagonal(y_bar, np.moveaxis(a, (axis1, axis2), (-2, -1)), offset), (-2, -1), (axis1, axis2))


def on_diagonal(values, a, offset):
    """Zeros in the shape of `a` (..., m, n) with `values` (..., k) on a diagonal."""
    rows = np.arange(np.shape(values)[-1])
    r = np.zeros_like(a)
    if offset == 0:
        r[..., rows, rows] = values
    elif offset > 0:
        r[..., rows, rows + offset] = values
    else:
        r[..., rows - offset, rows] = values
    return r


@linear(np.diag, views=0)
def diag(y, y_bar, v, k=0):
    """A vector becomes a diagonal, a matrix gives its diagonal."""
    if np.ndim(v) == 1:
        return np.diag(y_bar, k)
    return diagonal(y, y_bar, v, k)


@composite(np.diagflat)
def diagflat(v, k=0):
    return np.diag(np.ravel(v), k)


@composite(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@linear(np.tril)
def tril(y, y_bar, m, k=0):
    return np.tril(y_bar, k)


@linear(np.triu)
def triu(y, y_bar, m, k=0):
    return np.triu(y_bar, k)


@samples(np.diagonal, np.trace)
def _(rng):
    yield (rng.normal(size=(3, 4)),), {}
    yield (rng.normal(size=(3, 4)), 1), {}
    yield (rng.normal(size=(3, 4)), -1), {}
    yield (rng.normal(size=(2, 3, 4)), 0, -1, 1), {}


@samples(np.trace)
def _(rng):
    yield (rng.normal(size=(3, 4)),), {"dtype": np.float64}


@samples(np.diag)
def _(rng):
    yield (rng.normal(size=3),), {}
    yield (rng.normal(size=3), -1), {}


@samples(np.diag, np.tril, np.triu)
def _(rng):
    yield (rng.normal(size=(3, 4)),), {}
    yield (rng.normal(size=(3, 4)), 1), {}
    yield (rng.normal(size=(3, 4)), -2), {}


@samples(np.diagflat)
def _(rng):
    yield (rng.normal(size=(2, 2)), 1), {}
