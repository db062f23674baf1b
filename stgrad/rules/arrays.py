"""Derivatives of operations that reshape, permute and view arrays. Ranks and axes are static, extents run-time integers."""

from __future__ import annotations

import numpy as np

from .broadcasting import unbroadcast
from .core import composite, linear, refuse, samples, static

# ------------------------------------------------------------------ shapes and orders


@static
def inverse(permutation):
    """The permutation that undoes `permutation`."""
    rank = len(permutation)
    positive = [p % rank for p in permutation]
    return tuple(positive.index(i) for i in range(rank))


@linear(np.reshape, views=0)
def reshape(y, y_bar, a, shape, order="C"):
    return np.reshape(y_bar, np.shape(a), order=order)


@linear(np.ravel, views=0)
def ravel(y, y_bar, a, order="C"):
    return np.reshape(y_bar, np.shape(a), order=order)


@linear(np.transpose, views=0)
def transpose(y, y_bar, a, axes=None):
    if axes is None:
        return np.transpose(y_bar)
    return np.transpose(y_bar, inverse(axes))


@composite(np.matrix_transpose)
def matrix_transpose(x):
    return np.swapaxes(x, -1, -2)


@linear(np.swapaxes, views=0)
def swapaxes(y, y_bar, a, axis1, axis2):
    return np.swapaxes(y_bar, axis1, axis2)


@linear(np.moveaxis, views=0)
def moveaxis(y, y_bar, a, source, destination):
    return np.moveaxis(y_bar, destination, source)


@static
def rolled_to(axis, start, rank):
    axis, start = axis % rank, start + rank if start < 0 else start
    return start - 1 if start > axis else start


@composite(np.rollaxis)
def rollaxis(a, axis, start=0):
    return np.moveaxis(a, axis, rolled_to(axis, start, np.ndim(a)))


@linear(np.squeeze, views=0)
def squeeze(y, y_bar, a, axis=None):
    return np.reshape(y_bar, np.shape(a))


@linear(np.expand_dims, views=0)
def expand_dims(y, y_bar, a, axis):
    return np.reshape(y_bar, np.shape(a))


@linear(np.broadcast_to, views=0)
def broadcast_to(y, y_bar, array, shape):
    return unbroadcast(y_bar, array)


@composite(np.broadcast_shapes)
def broadcast_shapes(*args):
    whole = np.zeros((), bool)
    for shape in args:
        whole = np.equal(whole, np.zeros(shape, bool))  # only its shape is used: nothing computes it
    return np.shape(whole)


@composite(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    """Views of the arguments, each of its own."""
    shape = np.broadcast_shapes(*tuple(np.shape(a) for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


@static
def backwards(axis, ndim):
    """The index that reverses the given axes; all of them for None."""
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for a in axes:
        refuse(not -ndim <= a < ndim, f"axis {a} is out of bounds for an array of dimension {ndim}")
    return tuple(slice(None, None, -1) if k in [a % ndim for a in axes] else slice(None) for k in range(ndim))


@composite(np.flip)
def flip(m, axis=None):
    return m[backwards(axis, np.ndim(m))]


@composite(np.fliplr)
def fliplr(m):
    return np.flip(m, 1)


@composite(np.flipud)
def flipud(m):
    return np.flip(m, 0)


@composite(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    if k % 4 == 0:
        return m
    if k % 4 == 1:
        return np.swapaxes(np.flip(m, axes[1]), axes[0], axes[1])
    if k % 4 == 2:
        return np.flip(m, axes)
    return np.flip(np.swapaxes(m, axes[0], axes[1]), axes[1])


@linear(np.roll)
def roll(y, y_bar, a, shift, axis=None):
    if np.ndim(shift) == 0:
        return np.roll(y_bar, -shift, axis)
    return np.roll(y_bar, tuple(-s for s in shift), axis)


def overlapped(y_bar, shape, axis):
    """Add windows, which stand along the last axis, to the places along `axis` that they show."""
    windows = np.moveaxis(y_bar, axis, 0)
    rows = np.copy(np.moveaxis(np.zeros(shape, dtype=y_bar.dtype), axis, 0))
    for k in range(np.shape(y_bar)[-1]):
        rows[k : k + np.shape(windows)[0]] += windows[..., k]
    return np.moveaxis(rows, 0, axis)


@static
def window_axes(window_shape, axis, rank):
    """The axes that windows slide along, in the order of the windows."""
    if axis is None:
        return tuple(range(rank))
    return tuple(a % rank for a in (axis if isinstance(axis, tuple) else (axis,)))


@linear(np.lib.stride_tricks.sliding_window_view, views=0)
def sliding_window_view(y, y_bar, x, window_shape, axis=None, *, subok=False, writeable=False):
    refuse(writeable, "a writeable sliding_window_view is not supported", "write to the array itself")
    r = y_bar
    for axis_ in window_axes(window_shape, axis, np.ndim(x))[::-1]:
        place = np.ndim(r) - 1
        shape = tuple(np.shape(r)[i] + (np.shape(r)[place] - 1 if i == axis_ else 0) for i in range(place))
        r = overlapped(r, shape, axis_)
    return r


@samples(np.lib.stride_tricks.sliding_window_view)
def _(rng):
    yield (rng.normal(size=6), 3), {}
    yield (rng.normal(size=(4, 5)), (2, 3)), {}
    yield (rng.normal(size=(4, 5)), 2, -1), {}
    yield (rng.normal(size=(4, 5)), (2, 3), (1, 0)), {}


def raised(x, rank):
    """What np.atleast_1d, 2d and 3d do to one array."""
    x = np.asarray(x)
    if np.ndim(x) >= rank:
        return x
    if np.ndim(x) == 0:
        return np.reshape(x, (1,) * rank)
    if np.ndim(x) == 1:
        return np.expand_dims(x, 0) if rank == 2 else np.expand_dims(x, (0, 2))
    return np.expand_dims(x, 2)


@composite(np.atleast_1d)
def atleast_1d(*arys):
    return raised(arys[0], 1) if len(arys) == 1 else tuple(raised(a, 1) for a in arys)


@composite(np.atleast_2d)
def atleast_2d(*arys):
    return raised(arys[0], 2) if len(arys) == 1 else tuple(raised(a, 2) for a in arys)


@composite(np.atleast_3d)
def atleast_3d(*arys):
    return raised(arys[0], 3) if len(arys) == 1 else tuple(raised(a, 3) for a in arys)


@samples(np.reshape)
def _(rng):
    yield (rng.normal(size=(2, 3)), (3, 2)), {}
    yield (rng.normal(size=(2, 3)), -1), {"order": "F"}
    yield (2.0, (1, 1)), {}


@samples(np.ravel, np.squeeze, np.fliplr, np.flipud, np.flip, np.rot90, np.transpose, np.matrix_transpose)
def _(rng):
    yield (rng.normal(size=(1, 3, 1)),), {}
    yield (rng.normal(size=(2, 3)),), {}


@samples(np.ravel)
def _(rng):
    yield (rng.normal(size=(2, 3)),), {"order": "F"}


@samples(np.transpose)
def _(rng):
    yield (rng.normal(size=(2, 3, 4)), (1, -1, 0)), {}
    yield (rng.normal(size=(2, 3)) + 1j,), {}


@samples(np.swapaxes, np.moveaxis, np.rollaxis)
def _(rng):
    for pair in ((0, 2), (-1, 1), (2, 0), (1, 1), (2, 1)):
        yield (rng.normal(size=(2, 3, 4)), *pair), {}


@samples(np.moveaxis)
def _(rng):
    yield (rng.normal(size=(2, 3, 4)), (0, 1), (-1, 0)), {}


@samples(np.squeeze)
def _(rng):
    yield (rng.normal(size=(1, 3, 1)), -1), {}


@samples(np.expand_dims)
def _(rng):
    yield (rng.normal(size=3), 0), {}
    yield (rng.normal(size=(2, 3)), (0, -1)), {}


@samples(np.broadcast_to)
def _(rng):
    yield (rng.normal(size=(3, 1)), (2, 3, 4)), {}
    yield (2.0, (2, 3)), {}


@samples(np.broadcast_arrays)
def _(rng):
    yield (rng.normal(size=(3, 1)), rng.normal(size=2)), {}


@samples(np.flip)
def _(rng):
    yield (rng.normal(size=(2, 3, 4)), (0, -1)), {}


@samples(np.rot90)
def _(rng):
    for k in (-1, 0, 2, 3):
        yield (rng.normal(size=(2, 3, 4)), k, (0, 2)), {}


@samples(np.roll)
def _(rng):
    yield (rng.normal(size=(2, 3)), 2), {}
    yield (rng.normal(size=(2, 3)), -1, 1), {}
    yield (rng.normal(size=(2, 3)), (1, 2), (0, 1)), {}


@samples(np.atleast_1d, np.atleast_2d, np.atleast_3d)
def _(rng):
    yield (2.0,), {}
    yield (rng.normal(size=3), rng.normal(size=(2, 3))), {}
    yield (rng.normal(size=(2, 3, 4)),), {}
