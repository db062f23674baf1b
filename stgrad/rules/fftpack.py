"""The transforms of scipy.fftpack, the older names: those of scipy.fft, and real ones whose results are real and imaginary parts in turn."""

from __future__ import annotations

import numpy as np
import scipy.fft as sf
import scipy.fftpack as fp

from .core import composite, samples


@composite(fp.fft)
def fft(x, n=None, axis=-1, overwrite_x=False):
    return np.fft.fft(x, n, axis)


@composite(fp.ifft)
def ifft(x, n=None, axis=-1, overwrite_x=False):
    return np.fft.ifft(x, n, axis)


@composite(fp.fft2)
def fft2(x, shape=None, axes=(-2, -1), overwrite_x=False):
    return np.fft.fftn(x, shape, axes)


@composite(fp.ifft2)
def ifft2(x, shape=None, axes=(-2, -1), overwrite_x=False):
    return np.fft.ifftn(x, shape, axes)


@composite(fp.fftn)
def fftn(x, shape=None, axes=None, overwrite_x=False):
    return np.fft.fftn(x, shape, axes)


@composite(fp.ifftn)
def ifftn(x, shape=None, axes=None, overwrite_x=False):
    return np.fft.ifftn(x, shape, axes)


@composite(fp.rfft)
def rfft(x, n=None, axis=-1, overwrite_x=False):
    """The first one, then real and imaginary part of each; the last one of an even number is real."""
    y = np.moveaxis(np.fft.rfft(x, n, axis), axis, -1)
    size = np.shape(x)[axis] if n is None else n
    parts = np.stack((np.real(y[..., 1:]), np.imag(y[..., 1:])), axis=-1)
    turned = np.reshape(parts, (*np.shape(y)[:-1], 2 * (size // 2)))
    return np.moveaxis(np.concatenate((np.real(y[..., :1]), turned[..., : size - 1]), axis=-1), -1, axis)


@composite(fp.irfft)
def irfft(x, n=None, axis=-1, overwrite_x=False):
    given = np.moveaxis(np.asarray(x), axis, -1)
    size = np.shape(given)[-1] if n is None else n
    given = given[..., :size]
    given = np.concatenate((given, np.zeros((*np.shape(given)[:-1], size + 1 - np.shape(given)[-1]))), axis=-1)  # one more: the last pair may lack a part
    pairs = np.reshape(given[..., 1 : 1 + 2 * (size // 2)], (*np.shape(given)[:-1], size // 2, 2))
    y = np.concatenate((given[..., :1] + 0j, pairs[..., 0] + 1j * pairs[..., 1]), axis=-1)
    return np.moveaxis(np.fft.irfft(y, size), -1, axis)


@composite(fp.dct)
def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):  # noqa: A002
    return sf.dct(x, type, n, axis, norm)


@composite(fp.idct)
def idct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):  # noqa: A002
    return _unscaled(sf.idct(x, type, n, axis, norm), x, type, n, axis, norm, 1)


@composite(fp.dst)
def dst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):  # noqa: A002
    return sf.dst(x, type, n, axis, norm)


@composite(fp.idst)
def idst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):  # noqa: A002
    return _unscaled(sf.idst(x, type, n, axis, norm), x, type, n, axis, norm, -1)


def _unscaled(y, x, type, n, axis, norm, parity):  # noqa: A002
    """Without the factor that makes it the inverse."""
    if norm is not None:
        return y
    size = np.shape(x)[axis] if n is None else n
    return y * (2.0 * (size - parity) if type == 1 else 2.0 * size)


@samples(fp.fft, fp.ifft, fp.fft2, fp.ifft2, fp.fftn, fp.ifftn)
def _(rng):
    yield (rng.normal(size=(4, 6)),), {}


@samples(fp.rfft, fp.irfft)
def _(rng):
    for n in (5, 6, 1):
        yield (rng.normal(size=n),), {}
    yield (rng.normal(size=(4, 5)),), {"axis": 0}
    yield (rng.normal(size=6),), {"n": 4}
    yield (rng.normal(size=5),), {"n": 8}


@samples(fp.dct, fp.idct, fp.dst, fp.idst)
def _(rng):
    for kind in (1, 2, 3, 4):
        yield (rng.normal(size=6),), {"type": kind}
    yield (rng.normal(size=(4, 6)),), {"type": 2, "norm": "ortho", "axis": 0}
