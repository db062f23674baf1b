"""Derivatives of convolutions of any rank, from scipy.signal."""

from __future__ import annotations

import numpy as np
import scipy.signal as ss

from .core import adjoint, composite, samples, tangent
from .products import conj


def whole(y_bar, in1, in2, mode):
    """The cotangent of the full convolution: zeros where `mode` cut it."""
    if mode == "full":
        return y_bar
    rank = np.ndim(in1)
    full = tuple(np.shape(in1)[i] + np.shape(in2)[i] - 1 for i in range(rank))
    short = tuple(min(np.shape(in1)[i], np.shape(in2)[i]) if mode == "valid" else np.shape(in2)[i] for i in range(rank))
    before = tuple(n - 1 if mode == "valid" else (n - 1) // 2 for n in short)
    return np.pad(y_bar, tuple((before[i], full[i] - before[i] - np.shape(y_bar)[i]) for i in range(rank)))


@adjoint(ss.convolve, ss.fftconvolve, ss.oaconvolve)
def convolve(y, y_bar, in1, in2, mode="full", method="auto"):
    full_bar = whole(y_bar, in1, in2, mode)
    return ss.correlate(full_bar, in2, mode="valid"), ss.correlate(full_bar, in1, mode="valid")


@tangent(ss.convolve, ss.fftconvolve, ss.oaconvolve)
def convolve_dot(y, in1, in2, in1_dot, in2_dot, mode="full", method="auto"):
    return ss.convolve(in1_dot, in2, mode) + ss.convolve(in1, in2_dot, mode)


@composite(ss.convolve2d)
def convolve2d(in1, in2, mode="full"):
    return ss.convolve(in1, in2, mode)


@composite(ss.correlate)
def correlate(in1, in2, mode="full", method="auto"):
    return ss.convolve(in1, conj(np.flip(in2)), mode)


@samples(ss.convolve, ss.fftconvolve, ss.oaconvolve, ss.correlate, ss.convolve2d)
def _(rng):
    for mode in ("full", "same", "valid"):
        yield (rng.normal(size=(5, 4)), rng.normal(size=(3, 2)), mode), {}
        yield (rng.normal(size=(5, 5)), rng.normal(size=(2, 3)), mode), {}


@samples(ss.convolve, ss.fftconvolve, ss.oaconvolve, ss.correlate)
def _(rng):
    for mode in ("full", "same", "valid"):
        yield (rng.normal(size=3), rng.normal(size=6), mode), {}
        yield (rng.normal(size=6), rng.normal(size=4), mode), {}
        yield (rng.normal(size=4) + 1j * rng.normal(size=4), rng.normal(size=3) + 1j * rng.normal(size=3), mode), {}
