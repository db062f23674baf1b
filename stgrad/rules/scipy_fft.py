"""The transforms of scipy.fft, as those of numpy.fft."""

from __future__ import annotations

import numpy as np
import scipy.fft as sf

from .core import composite, samples


@composite(sf.fft)
def fft(x, n=None, axis=-1, norm=None):
    return np.fft.fft(x, n, axis, norm)


@composite(sf.ifft)
def ifft(x, n=None, axis=-1, norm=None):
    return np.fft.ifft(x, n, axis, norm)


@composite(sf.rfft)
def rfft(x, n=None, axis=-1, norm=None):
    return np.fft.rfft(x, n, axis, norm)


@composite(sf.irfft)
def irfft(x, n=None, axis=-1, norm=None):
    return np.fft.irfft(x, n, axis, norm)


@composite(sf.fft2)
def fft2(x, s=None, axes=(-2, -1), norm=None):
    return np.fft.fftn(x, s, axes, norm)


@composite(sf.ifft2)
def ifft2(x, s=None, axes=(-2, -1), norm=None):
    return np.fft.ifftn(x, s, axes, norm)


@composite(sf.fftn)
def fftn(x, s=None, axes=None, norm=None):
    return np.fft.fftn(x, s, axes, norm)


@composite(sf.ifftn)
def ifftn(x, s=None, axes=None, norm=None):
    return np.fft.ifftn(x, s, axes, norm)


@composite(sf.rfftn)
def rfftn(x, s=None, axes=None, norm=None):
    return np.fft.rfftn(x, s, axes, norm)


@composite(sf.irfftn)
def irfftn(x, s=None, axes=None, norm=None):
    return np.fft.irfftn(x, s, axes, norm)


@samples(sf.fft, sf.ifft, sf.rfft, sf.irfft, sf.fftn, sf.ifftn, sf.fft2, sf.ifft2, sf.rfftn, sf.irfftn)
def _(rng):
    yield (rng.normal(size=(4, 6)),), {}
    yield (rng.normal(size=(4, 6)),), {"norm": "ortho"}
