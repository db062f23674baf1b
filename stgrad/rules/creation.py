"""Derivatives of operations that make arrays: of what they are filled with, and of the ends of a range."""

from __future__ import annotations

import numpy as np

from .broadcasting import unbroadcast
from .core import adjoint, composite, linear, nondiff, refuse, samples, tangent

# ------------------------------------------------------------------ copies


def unpacked(y_bar, like):
    """The cotangents of nested sequences of scalars or arrays."""
    if isinstance(like, (tuple, list)):
        return tuple(unpacked(y_bar[i], item) for i, item in enumerate(like))
    return y_bar


@linear(np.array)
def array(y, y_bar, object, dtype=None, *, copy=True, order="K", ndmin=0):
    return unpacked(np.reshape(y_bar, np.shape(y)[np.ndim(y) - np.ndim(object) :]) if ndmin > 0 else y_bar, object)


@linear(np.asarray, np.ascontiguousarray, np.asfortranarray, np.asanyarray, views=0)
def asarray(y, y_bar, a, dtype=None, order=None, *, copy=None):
    return unpacked(np.reshape(y_bar, np.shape(a)), a)


@linear(np.copy)
def copy(y, y_bar, a, order="K"):
    return y_bar


@linear(np.astype)
def astype(y, y_bar, x, dtype, *, copy=True):
    return np.astype(np.real(y_bar) if np.iscomplexobj(y_bar) and not np.iscomplexobj(x) else y_bar, x.dtype)


@samples(np.array)
def _(rng):
    yield (rng.normal(size=(2, 3)),), {}
    yield (rng.normal(size=3),), {"ndmin": 2}
    yield ((1.0, 2.0, 3.0),), {}
    yield (((1.0, 2.0), (3.0, 4.0)),), {}


@samples(np.asarray, np.ascontiguousarray, np.asfortranarray, np.asanyarray)
def _(rng):
    yield (rng.normal(size=(2, 3)),), {}
    yield (2.0,), {}


@samples(np.copy)
def _(rng):
    yield (rng.normal(size=(2, 3)),), {}


@samples(np.astype)
def _(rng):
    yield (rng.normal(size=(2, 3)), np.float64), {}


# ------------------------------------------------------------------ constants


@adjoint(np.full)
def full(y, y_bar, shape, fill_value, dtype=None, order="C"):
    return None, unbroadcast(y_bar, fill_value)


@tangent(np.full)
def full_dot(y, shape, fill_value, fill_value_dot, dtype=None, order="C"):
    return np.full(shape, fill_value_dot)


@adjoint(np.full_like)
def full_like(y, y_bar, a, fill_value, dtype=None, order="K", subok=True, shape=None):
    return 0.0, unbroadcast(y_bar, fill_value)


@tangent(np.full_like)
def full_like_dot(y, a, fill_value, a_dot, fill_value_dot, dtype=None, order="K", subok=True, shape=None):
    return np.full_like(y, fill_value_dot)


@samples(np.full)
def _(rng):
    yield ((2, 3), 1.5), {}
    yield ((2, 3), rng.normal(size=3)), {}
    yield (3, 1.5), {}


@samples(np.full_like)
def _(rng):
    yield (rng.normal(size=(2, 3)), 1.5), {}
    yield (np.arange(3), 1.5), {"dtype": float}


nondiff(np.zeros, np.ones, np.empty, np.zeros_like, np.ones_like, np.empty_like, np.eye, np.identity, np.tri, np.indices)
nondiff(np.triu_indices, np.tril_indices, np.diag_indices, np.triu_indices_from, np.tril_indices_from, np.diag_indices_from)
nondiff(np.promote_types, np.min_scalar_type, np.mask_indices)
nondiff(np.unravel_index, np.ravel_multi_index, np.ndim, np.shape, np.size, np.result_type, np.can_cast, np.issubdtype)


def positions(mask_or_indices):
    """Indices along one axis, from a mask of it too."""
    given = np.asarray(mask_or_indices)
    if not isinstance(mask_or_indices, np.ndarray) and np.size(given) == 0:
        given = given.astype(int)  # an empty list is an array of floats
    refuse(np.ndim(given) != 1, "the indices of np.ix_ have one axis each", "give lists, or arrays of one axis")
    return np.nonzero(given)[0] if given.dtype == bool else given


@composite(np.ix_)
def ix_(*args):
    """Each along its own axis."""
    n = len(args)
    return tuple(np.reshape(positions(given), (1,) * k + (-1,) + (1,) * (n - 1 - k)) for k, given in enumerate(args))


# ------------------------------------------------------------------ ranges


@adjoint(np.arange)
def arange(y, y_bar, start_or_stop, stop=None, step=1.0, *, dtype=None):
    """start + i step; the number of elements is piecewise constant in all of them, and so is the stop."""
    if stop is None:
        return 0.0
    return np.sum(y_bar), 0.0, np.sum(y_bar * np.arange(np.size(y)))


@tangent(np.arange)
def arange_dot(y, start_or_stop, stop, step, start_or_stop_dot, stop_dot, step_dot, *, dtype=None):
    if stop is None:
        return np.zeros_like(y)
    return start_or_stop_dot + step_dot * np.arange(np.size(y))


def fractions(y, num, endpoint, dtype):
    """How far each element of np.linspace is on its way, as a column before the axes of its ends."""
    way = np.linspace(0.0, 1.0, num, endpoint=endpoint, dtype=dtype)
    return np.reshape(way, (-1,) + (1,) * (np.ndim(y) - 1))


@adjoint(np.linspace)
def linspace(y, y_bar, start, stop, num=50, endpoint=True, *, dtype=None):
    """Rows first and without the step: `axis` and `retstep` are the front end's."""
    way = fractions(y, num, endpoint, y.dtype)
    return unbroadcast(np.sum((1.0 - way) * y_bar, axis=0), start), unbroadcast(np.sum(way * y_bar, axis=0), stop)


@tangent(np.linspace)
def linspace_dot(y, start, stop, start_dot, stop_dot, num=50, endpoint=True, *, dtype=None):
    way = fractions(y, num, endpoint, y.dtype)
    return (1.0 - way) * start_dot + way * stop_dot


@composite(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0):
    return base ** np.linspace(start, stop, num, endpoint=endpoint)


@composite(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True):
    """A spiral, where the numbers are complex: seen from the direction of the first one."""
    if np.iscomplexobj(start) or np.iscomplexobj(stop):
        direction = start / np.abs(start)
        return direction * np.exp(np.linspace(np.log(np.abs(start)) + 0j, np.log(stop / direction + 0j), num, endpoint=endpoint))
    way = np.linspace(np.log(np.abs(start)), np.log(np.abs(stop)), num, endpoint=endpoint)
    return np.sign(start) * np.exp(way)


@composite(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    rank = len(xi)
    order = (1, 0, *tuple(range(2, rank))) if indexing == "xy" and rank > 1 else tuple(range(rank))
    columns = tuple(np.reshape(np.copy(x) if copy and sparse else x, tuple(-1 if order[i] == k else 1 for k in range(rank))) for i, x in enumerate(xi))
    if sparse:
        return columns
    shape = tuple(np.size(xi[order[k]]) for k in range(rank))
    grids = tuple(np.broadcast_to(c, shape) for c in columns)
    return tuple(np.copy(g) for g in grids) if copy else grids


@composite(np.vander)
def vander(x, N=None, increasing=False):
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    if N is not None and N < 0:
        raise ValueError("negative dimensions are not allowed")
    powers = np.arange(np.size(x) if N is None else N)
    return np.reshape(x, (-1, 1)) ** (powers if increasing else powers[::-1])


@composite(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    refuse(full or cov or rcond is not None, "np.polyfit gives its coefficients alone here", "leave out full, cov and rcond")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    powers = np.vander(x, int(deg) + 1)
    if w is not None:
        powers = powers * np.expand_dims(w, 1)
        y = y * (w if np.ndim(y) == 1 else np.expand_dims(w, 1))
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    c = np.linalg.lstsq(powers / scale, y)[0]
    return c / (scale if np.ndim(y) == 1 else np.expand_dims(scale, 1))


@samples(np.arange)
def _(rng):
    yield (0.5, 3.2, 0.7), {}


@samples(np.linspace)
def _(rng):
    yield (0.5, 2.0, 5), {}
    yield (0.5, 2.0, 5), {"endpoint": False}
    yield (rng.normal(size=2), rng.normal(size=(3, 1)), 4), {}
    yield (0.5, 2.0), {}


@samples(np.logspace, np.geomspace)
def _(rng):
    yield (0.5, 2.0, 5), {}
    yield (0.5, 2.0), {"endpoint": False}


@samples(np.geomspace)
def _(rng):
    yield (0.5 + 0.3j, 2.0 - 0.4j, 5), {}
    yield (-0.5, -2.0, 5), {}


@samples(np.meshgrid)
def _(rng):
    x, y, z = rng.normal(size=3), rng.normal(size=2), rng.normal(size=4)
    yield (x, y), {}
    yield (x, y, z), {"indexing": "ij"}
    yield (x, y, z), {"sparse": True}
    yield (x,), {}


@samples(np.vander)
def _(rng):
    yield (rng.normal(size=3),), {}
    yield (rng.normal(size=3), 2), {"increasing": True}
