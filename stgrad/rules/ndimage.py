"""Linear filters of scipy.ndimage, as compositions: the array is padded as `mode` says, and correlated where windows are whole."""

from __future__ import annotations

import numpy as np
import scipy.ndimage as nd
import scipy.signal as ss

from .core import composite, refuse, samples, static
from .reductions import axes as normal_axes

# SciPy's names of borders -> NumPy's
BORDERS = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}


@static
def border(mode):
    refuse(not isinstance(mode, str) or mode not in BORDERS, f"scipy.ndimage with mode={mode!r} has no derivative", 'use one mode, as "nearest"')
    return BORDERS[mode]


@static
def axes_of(axis, rank):
    return tuple(range(rank)) if axis is None else normal_axes(axis, rank)


@static
def check(dtype, output, origin):
    refuse(output is not None or origin != 0, "scipy.ndimage with `output` or `origin` has no derivative", "leave it out")
    refuse(np.dtype(dtype).kind not in "fc", "filters of scipy.ndimage round integers: no derivative", "convert the array with astype(float)")


def bordered(x, widths, mode, cval):
    if border(mode) == "constant":
        return np.pad(x, widths, mode="constant", constant_values=cval)
    return np.pad(x, widths, mode=border(mode))


def convolved(x, weights, axis, before, mode, cval):
    """`x` convolved with a vector along an axis."""
    rank, size = np.ndim(x), np.size(weights)
    widths = tuple((before, size - 1 - before) if i == axis % rank else (0, 0) for i in range(rank))
    column = np.reshape(weights, tuple(size if i == axis % rank else 1 for i in range(rank)))
    return ss.convolve(bordered(x, widths, mode, cval), column, "valid", "direct")


@composite(nd.correlate1d)
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    refuse(np.iscomplexobj(weights), "a correlation with complex weights is not supported", "convolve with the conjugate weights, in reverse")
    check(input.dtype, output, origin)
    return convolved(input, weights[::-1], axis, np.size(weights) // 2, mode, cval)


@composite(nd.convolve1d)
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    check(input.dtype, output, origin)
    return convolved(input, weights, axis, (np.size(weights) - 1) // 2, mode, cval)


@composite(nd.convolve)
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    check(input.dtype, output, origin)
    refuse(axes is not None, "scipy.ndimage.convolve with `axes` has no derivative", "leave it out")
    widths = tuple(((n - 1) // 2, n // 2) for n in np.shape(weights))
    return ss.convolve(bordered(input, widths, mode, cval), weights, "valid", "direct")


@composite(nd.correlate)
def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    refuse(np.iscomplexobj(weights), "a correlation with complex weights is not supported", "convolve with the conjugate weights, in reverse")
    check(input.dtype, output, origin)
    refuse(axes is not None, "scipy.ndimage.correlate with `axes` has no derivative", "leave it out")
    widths = tuple((n // 2, n - 1 - n // 2) for n in np.shape(weights))
    return ss.convolve(bordered(input, widths, mode, cval), np.flip(weights), "valid", "direct")


# ------------------------------------------------------------------ filters


def bell(sigma, truncate, radius):
    """The weights of a Gaussian filter; its radius follows sigma in steps."""
    reach = int(truncate * sigma + 0.5) if radius is None else radius
    t = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * t * t)
    return weights / np.sum(weights)


@composite(nd.gaussian_filter1d)
def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None):
    check(input.dtype, output, 0)
    refuse(order != 0, "derivatives of Gaussians as filters are not supported", "filter with order=0, then take differences")
    return correlate1d(input, bell(1.0 * sigma, truncate, radius), axis, None, mode, cval)


@composite(nd.gaussian_filter)
def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None):
    check(input.dtype, output, 0)
    for i, axis in enumerate(axes_of(axes, np.ndim(input))):
        width = sigma[i] if np.ndim(sigma) else sigma
        if width > 1e-15:  # SciPy leaves the other axes as they are
            input = gaussian_filter1d(input, width, axis, order, None, mode, cval, truncate, radius=radius)
    return input


@composite(nd.uniform_filter1d)
def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return correlate1d(input, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


@composite(nd.uniform_filter)
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    for i, axis in enumerate(axes_of(axes, np.ndim(input))):
        input = uniform_filter1d(input, size[i] if np.ndim(size) else size, axis, output, mode, cval, origin)
    return input


@composite(nd.laplace)
def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):
    refuse(np.ndim(input) == 0, "scipy.ndimage.laplace of a number is not supported", "pass an array")
    total = np.zeros_like(input)
    for axis in axes_of(axes, np.ndim(input)):
        total = total + correlate1d(input, np.array([1.0, -2.0, 1.0]), axis, output, mode, cval)
    return total


@composite(nd.sobel)
def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    filtered = correlate1d(input, np.array([-1.0, 0.0, 1.0]), axis, output, mode, cval)
    for other in axes_of(None, np.ndim(input)):
        if other != axis % np.ndim(input):
            filtered = correlate1d(filtered, np.array([1.0, 2.0, 1.0]), other, output, mode, cval)
    return filtered


# ------------------------------------------------------------------ samples


@samples(nd.correlate1d, nd.convolve1d)
def _(rng):
    for mode in ("reflect", "mirror", "nearest", "wrap", "constant"):
        yield (rng.normal(size=(5, 6)), rng.normal(size=4)), {"mode": mode, "cval": 0.3, "axis": 0}
        yield (rng.normal(size=6), rng.normal(size=3)), {"mode": mode}


@samples(nd.convolve, nd.correlate)
def _(rng):
    for mode in ("reflect", "mirror", "nearest", "wrap", "constant"):
        yield (rng.normal(size=(5, 6)), rng.normal(size=(2, 3))), {"mode": mode}


@samples(nd.gaussian_filter, nd.gaussian_filter1d)
def _(rng):
    for mode in ("reflect", "mirror", "nearest", "wrap", "constant"):
        yield (rng.normal(size=(5, 6)), 0.7), {"mode": mode}
    yield (rng.normal(size=(3, 4)), 1.3), {"truncate": 2.0}


@samples(nd.gaussian_filter)
def _(rng):
    yield (rng.normal(size=(5, 6)), (0.7, 0.0)), {}
    yield (rng.normal(size=(5, 6)), (0, 1.2)), {"mode": "wrap"}


@samples(nd.uniform_filter, nd.uniform_filter1d)
def _(rng):
    yield (rng.normal(size=(5, 6)), 3), {}
    yield (rng.normal(size=(5, 6)), 2), {"mode": "wrap"}


@samples(nd.laplace, nd.sobel)
def _(rng):
    yield (rng.normal(size=(5, 6)),), {}
    yield (rng.normal(size=(5, 6)),), {"mode": "wrap"}
