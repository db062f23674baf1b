"""Derivatives of the discrete Fourier transforms of numpy.fft.

A transform is linear: its adjoint is the inverse transform with the normalisation at the other end, cropped or padded back to the
length of the input. For complex arrays the adjoint is that of the real inner product Re <y_bar, y_dot>.
"""

from __future__ import annotations

import numpy as np

from .core import composite, linear, samples, static
from .reductions import axes as normal_axes
from .reductions import back, last

# ------------------------------------------------------------------ lengths and norms


@static
def dual(norm):
    """The normalisation of the adjoint transform."""
    return {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]


@static
def fft_axes(s, axes, rank):
    if axes is not None:
        return normal_axes(tuple(axes), rank)
    return tuple(range(rank)) if s is None else tuple(range(rank - len(s), rank))


def fitted(x, length, axis):
    """Crop or pad with zeros to a length along an axis."""
    r = last(x, axis)[..., :length]
    missing = length - np.shape(r)[-1]
    return back(np.pad(r, ((0, 0),) * (np.ndim(x) - 1) + ((0, missing),)), axis)


def realised(x_bar, x):
    return x_bar if np.iscomplexobj(x) else np.real(x_bar)


# ------------------------------------------------------------------ complex transforms


@linear(np.fft.fft)
def fft(y, y_bar, a, n=None, axis=-1, norm=None):
    a_bar = np.fft.ifft(y_bar, axis=axis, norm=dual(norm))
    return realised(a_bar if n is None else fitted(a_bar, np.shape(a)[axis], axis), a)


@linear(np.fft.ifft)
def ifft(y, y_bar, a, n=None, axis=-1, norm=None):
    a_bar = np.fft.fft(y_bar, axis=axis, norm=dual(norm))
    return realised(a_bar if n is None else fitted(a_bar, np.shape(a)[axis], axis), a)


@linear(np.fft.fftn)
def fftn(y, y_bar, a, s=None, axes=None, norm=None):
    which = fft_axes(s, axes, np.ndim(a))
    a_bar = np.fft.ifftn(y_bar, axes=which, norm=dual(norm))
    return realised(a_bar if s is None else all_fitted(a_bar, a, which), a)


@linear(np.fft.ifftn)
def ifftn(y, y_bar, a, s=None, axes=None, norm=None):
    which = fft_axes(s, axes, np.ndim(a))
    a_bar = np.fft.fftn(y_bar, axes=which, norm=dual(norm))
    return realised(a_bar if s is None else all_fitted(a_bar, a, which), a)


def all_fitted(x, like, which):
    for axis in which:
        x = fitted(x, np.shape(like)[axis], axis)
    return x


@composite(np.fft.fft2)
def fft2(a, s=None, axes=(-2, -1), norm=None):
    return np.fft.fftn(a, s, axes, norm)


@composite(np.fft.ifft2)
def ifft2(a, s=None, axes=(-2, -1), norm=None):
    return np.fft.ifftn(a, s, axes, norm)


# ------------------------------------------------------------------ transforms of real arrays


def edges(y, n):
    """Where a half spectrum (..., n // 2 + 1) holds a frequency that is its own mirror image."""
    k = np.arange(np.shape(y)[-1])
    return np.logical_or(k == 0, 2 * k == n)


@linear(np.fft.rfft)
def rfft(y, y_bar, a, n=None, axis=-1, norm=None):
    """irfft counts every frequency but the edges twice, so they enter half."""
    length = np.shape(a)[axis] if n is None else n
    half = last(y_bar, axis)
    half = np.where(edges(half, length), half, 0.5 * half)
    a_bar = back(np.fft.irfft(half, length, norm=dual(norm)), axis)
    return a_bar if n is None else fitted(a_bar, np.shape(a)[axis], axis)


@linear(np.fft.irfft)
def irfft(y, y_bar, a, n=None, axis=-1, norm=None):
    half = np.fft.rfft(last(y_bar, axis), norm=dual(norm))
    half = np.where(edges(half, np.shape(y)[axis]), half, 2.0 * half)
    a_bar = back(half, axis)
    return a_bar if n is None else fitted(a_bar, np.shape(a)[axis], axis)


@composite(np.fft.hfft)
def hfft(a, n=None, axis=-1, norm=None):
    return np.fft.irfft(np.conjugate(a), n, axis, dual(norm))


@composite(np.fft.ihfft)
def ihfft(a, n=None, axis=-1, norm=None):
    return np.conjugate(np.fft.rfft(a, n, axis, dual(norm)))


@composite(np.fft.rfftn)
def rfftn(a, s=None, axes=None, norm=None):
    which = fft_axes(s, axes, np.ndim(a))
    r = np.fft.rfft(a, None if s is None else s[-1], which[-1], norm)
    return r if len(which) == 1 else np.fft.fftn(r, None if s is None else s[:-1], which[:-1], norm)


@composite(np.fft.irfftn)
def irfftn(a, s=None, axes=None, norm=None):
    which = fft_axes(s, axes, np.ndim(a))
    r = a if len(which) == 1 else np.fft.ifftn(a, None if s is None else s[:-1], which[:-1], norm)
    return np.fft.irfft(r, None if s is None else s[-1], which[-1], norm)


@composite(np.fft.rfft2)
def rfft2(a, s=None, axes=(-2, -1), norm=None):
    return np.fft.rfftn(a, s, axes, norm)


@composite(np.fft.irfft2)
def irfft2(a, s=None, axes=(-2, -1), norm=None):
    return np.fft.irfftn(a, s, axes, norm)


# ------------------------------------------------------------------ orders and frequencies


@composite(np.fft.fftshift)
def fftshift(x, axes=None):
    which = normal_axes(axes, np.ndim(x))
    return np.roll(x, tuple(np.shape(x)[i] // 2 for i in which), which)


@composite(np.fft.ifftshift)
def ifftshift(x, axes=None):
    which = normal_axes(axes, np.ndim(x))
    return np.roll(x, tuple(-(np.shape(x)[i] // 2) for i in which), which)


@composite(np.fft.fftfreq)
def fftfreq(n, d=1.0):
    if np.result_type(n).kind not in "iu":
        raise ValueError("n should be an integer")
    k = np.arange(n)
    return np.where(k < (n + 1) // 2, k, k - n) / (n * d)


@composite(np.fft.rfftfreq)
def rfftfreq(n, d=1.0):
    if np.result_type(n).kind not in "iu":
        raise ValueError("n should be an integer")
    return np.arange(n // 2 + 1) / (n * d)


# ------------------------------------------------------------------ samples


@samples(np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft)
def _(rng):
    for norm in (None, "ortho", "forward"):
        for shape, n, axis in (((5,), None, -1), ((6,), None, -1), ((2, 6), 4, -1), ((5, 2), 8, 0), ((4, 3), 5, 0), ((4, 2), 3, 0)):
            yield (rng.normal(size=shape),), {"n": n, "axis": axis, "norm": norm}


@samples(np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft)
def _(rng):
    for n in (None, 3, 4, 8, 9):
        yield (rng.normal(size=5) + 1j * rng.normal(size=5), n), {}


@samples(np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2, np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)
def _(rng):
    x = rng.normal(size=(4, 5, 6))
    yield (x,), {}
    yield (x,), {"axes": (0, 1), "norm": "ortho"}
    yield (x,), {"axes": (-1, 0), "s": (7, 3)}
    yield (x[0],), {"s": (4, 8), "axes": (0, 1), "norm": "forward"}


@samples(np.fft.fftn, np.fft.ifftn)
def _(rng):
    yield (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)),), {}


@samples(np.fft.fftshift, np.fft.ifftshift)
def _(rng):
    yield (rng.normal(size=5),), {}
    yield (rng.normal(size=(4, 5)),), {}
    yield (rng.normal(size=(4, 5)), 1), {}


@samples(np.fft.fftfreq, np.fft.rfftfreq)
def _(rng):
    yield (5, 0.3), {}
    yield (6,), {}



