"""Images at other places, of scipy.ndimage: interpolation of order 0 and 1 as compositions. Its splines run over whole lines, and are refused.

Borders are those of `map_coordinate` in scipy/ndimage/src/ni_interpolation.c: "wrap" has the period n - 1, "constant" interpolates to nothing outside.
"""

from __future__ import annotations

import numpy as np
import scipy.ndimage as nd
import scipy.signal as ss

from .core import composite, refuse, samples, static
from .ndimage import bordered, check

MODES = ("reflect", "grid-mirror", "mirror", "nearest", "wrap", "grid-wrap", "constant")


@static
def check_order(order, mode, complex_input):
    refuse(order not in (0, 1), f"interpolation of order {order} has no derivative here", "ask for order=1, which is linear")
    refuse(mode not in MODES, f"scipy.ndimage with mode={mode!r} has no derivative here", 'use one mode, as "nearest"')
    refuse(complex_input, "interpolation of complex images is not supported", "interpolate .real and .imag")


def inside(c, n, mode):
    """Coordinates as a border mode maps them to an axis of n items."""
    if mode == "nearest" or mode == "constant":
        return np.clip(c, 0.0, n - 1.0)
    if mode == "mirror":
        period = np.maximum(2.0 * n - 2.0, 1.0)
        t = np.abs(c) - period * np.floor(np.abs(c) / period)
        return np.where(t > n - 1, period - t, t)
    if mode == "wrap" or mode == "grid-wrap":
        period = np.maximum(n - 1.0, 1.0) if mode == "wrap" else 1.0 * n
        below = c + period * (np.floor(-c / period) + 1.0)
        return np.where(c < 0.0, below, np.where(c > n - 1, c - period * np.floor(c / period), c))
    t = c - 2.0 * n * np.floor(c / (2.0 * n))
    return np.where(t >= n, 2.0 * n - 1.0 - t, t)


def placed(i, n, mode):
    """Positions beside a coordinate on the axis."""
    if mode == "grid-wrap":
        return i % n
    if mode == "reflect" or mode == "grid-mirror":
        t = i % (2 * n)
        return np.where(t >= n, 2 * n - 1 - t, t)
    return np.clip(i, 0, n - 1)


def interpolated(x, coordinates, order, mode, cval):
    """The values at coordinates, of which there is an array for each axis."""
    rank = len(coordinates)
    refuse(np.iscomplexobj(coordinates[0]), "there is no image at complex places", "pass real numbers")
    sizes = np.shape(x)
    c = [inside(1.0 * coordinates[k], sizes[k], mode) for k in range(rank)]
    low = [np.floor(c[k] + 0.5 * (1 - order)).astype(np.int64) for k in range(rank)]
    items = np.ravel(x)
    total = 0.0
    for corner in range(2**rank if order else 1):
        weight = 1.0
        place = 0
        for k in range(rank):
            up = (corner >> k) & 1
            if order:
                share = c[k] - np.floor(c[k])
                weight = weight * (share if up else 1.0 - share)
            place = place * sizes[k] + placed(low[k] + up, sizes[k], mode)
        total = total + weight * items[place]
    if mode == "constant":
        for k in range(rank):
            total = np.where((coordinates[k] < 0.0) | (coordinates[k] > sizes[k] - 1), cval, total)
    return total


def along(x, rank):
    """A number for each axis; raises RuntimeError where there are more, or less, as SciPy does."""
    if np.ndim(x) and np.shape(x)[0] != rank:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return [x[k] if np.ndim(x) else x for k in range(rank)]


def grid(shape):
    """The positions along each axis of an array of this shape."""
    rank = len(shape)
    return [np.reshape(np.arange(shape[k]), tuple(shape[k] if i == k else 1 for i in range(rank))) + np.zeros(shape) for k in range(rank)]


@composite(nd.map_coordinates)
def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    check(input.dtype, output, 0)
    check_order(order, mode, np.iscomplexobj(input))
    return interpolated(input, along(np.asarray(coordinates), np.ndim(input)), order, mode, cval)


@composite(nd.shift)
def shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    check(input.dtype, output, 0)
    check_order(order, mode, np.iscomplexobj(input))
    places = grid(np.shape(input))
    by = along(np.asarray(shift), np.ndim(input))
    return interpolated(input, [places[k] - by[k] for k in range(np.ndim(input))], order, mode, cval)


@composite(nd.zoom)
def zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False):
    check(input.dtype, output, 0)
    check_order(order, mode, np.iscomplexobj(input))
    refuse(grid_mode, "scipy.ndimage.zoom with grid_mode=True has no derivative here", "map_coordinates takes the places")
    by, old = along(np.asarray(zoom), np.ndim(input)), np.shape(input)
    new = tuple([int(np.rint(old[k] * by[k])) for k in range(np.ndim(input))])
    places = grid(new)
    return interpolated(input, [places[k] * ((old[k] - 1) / (new[k] - 1) if new[k] > 1 else 1.0) for k in range(np.ndim(input))], order, mode, cval)


@composite(nd.affine_transform)
def affine_transform(input, matrix, offset=0.0, output_shape=None, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    check(input.dtype, output, 0)
    check_order(order, mode, np.iscomplexobj(input))
    m, rank = np.asarray(matrix), np.ndim(input)
    refuse(np.ndim(m) == 2 and m.shape[1] != rank, "affine_transform with homogeneous coordinates has no derivative here", "pass the matrix and the offset")
    places = grid(np.shape(input) if output_shape is None else tuple(output_shape))
    rows, by = along(m, rank), along(np.asarray(offset), rank)
    return interpolated(input, [moved(rows[k], places, k) + by[k] for k in range(rank)], order, mode, cval)


def moved(row, places, k):
    """Where a row of a matrix, or a factor, takes places along an axis."""
    if np.ndim(row) == 0:
        return row * places[k]
    total = 0.0
    for i in range(len(places)):
        total = total + row[i] * places[i]
    return total


# ------------------------------------------------------------------ ranks in windows


def windows(x, size, mode, cval):
    """The items in the window around each place, along a last axis."""
    sizes = tuple(along(size, np.ndim(x)))
    around = bordered(x, tuple([(n // 2, n - 1 - n // 2) for n in sizes]), mode, cval)
    seen = np.lib.stride_tricks.sliding_window_view(around, sizes)
    return np.reshape(seen, (*np.shape(x), -1))


def ranked(x, size, footprint, output, mode, cval, origin, axes):
    check(x.dtype, output, origin)
    refuse(footprint is not None or axes is not None, "rank filters with `footprint` or `axes` have no derivative here", "give a size for each axis")
    return windows(x, size, mode, cval)


@composite(nd.median_filter)
def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    seen = np.sort(ranked(input, size, footprint, output, mode, cval, origin, axes), axis=-1)
    return seen[..., np.shape(seen)[-1] // 2]


@composite(nd.maximum_filter)
def maximum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    return np.max(ranked(input, size, footprint, output, mode, cval, origin, axes), axis=-1)


@composite(nd.minimum_filter)
def minimum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    return np.min(ranked(input, size, footprint, output, mode, cval, origin, axes), axis=-1)


@composite(ss.medfilt)
def medfilt(volume, kernel_size=None):
    size = along(3 if kernel_size is None else kernel_size, np.ndim(volume))
    for n in size:
        refuse(n % 2 == 0, "a median filter of scipy.signal has an odd size", "use scipy.ndimage.median_filter")
    return median_filter(volume, size, mode="constant", cval=0.0)


# ------------------------------------------------------------------ samples

ALL = ("reflect", "mirror", "nearest", "wrap", "grid-wrap", "constant")


@samples(nd.map_coordinates)
def _(rng):
    for mode in ALL:
        for order in (0, 1):
            yield (rng.normal(size=(4, 5)), rng.uniform(-6.3, 9.7, (2, 3, 2))), {"order": order, "mode": mode, "cval": 0.3}
    yield (rng.normal(size=6), rng.uniform(0.0, 5.0, (1, 4))), {"order": 1}
    yield (rng.normal(size=(2, 3, 2)), rng.uniform(-1.0, 3.0, (3, 4))), {"order": 1, "mode": "nearest"}


@samples(nd.shift)
def _(rng):
    yield (rng.normal(size=(4, 5)), 0.7), {"order": 1}
    yield (rng.normal(size=(4, 5)), rng.normal(size=2)), {"order": 1, "mode": "nearest"}


@samples(nd.zoom)
def _(rng):
    yield (rng.normal(size=(4, 3)), 1.7), {"order": 1}
    yield (rng.normal(size=5), 0.6), {"order": 1, "mode": "nearest"}


@samples(nd.affine_transform)
def _(rng):
    yield (rng.normal(size=(4, 3)), np.eye(2) + 0.1 * rng.normal(size=(2, 2))), {"order": 1, "mode": "nearest"}
    yield (rng.normal(size=(4, 3)), rng.uniform(0.5, 0.9, 2), 0.3), {"order": 1}


@samples(nd.median_filter, nd.maximum_filter, nd.minimum_filter)
def _(rng):
    for mode in ("reflect", "mirror", "nearest", "wrap", "constant"):
        yield (rng.normal(size=(5, 4)), 3), {"mode": mode}
    yield (rng.normal(size=7), 4), {}
    yield (rng.normal(size=(5, 4)), (2, 3)), {}


@samples(ss.medfilt)
def _(rng):
    yield (rng.normal(size=8), 3), {}
    yield (rng.normal(size=(5, 6)), (3, 5)), {}
