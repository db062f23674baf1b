"""Derivatives of convolutions of any rank, from scipy.signal."""

from __future__ import annotations

import numpy as np
import scipy.signal as ss

from .core import _register, adjoint, composite, samples, tangent
from .products import conj
from .reductions import last


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


# Which of the two is the longer decides what `valid` leaves, so samples of equal length prove nothing.
_register((ss.convolve, ss.fftconvolve, ss.oaconvolve), "", fresh_shape=True)


@tangent(ss.convolve, ss.fftconvolve, ss.oaconvolve, multilinear=True)
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


# ------------------------------------------------------------------ recursive filters


def lags(y_bar, x, count, axis):
    """The sums over time of y_bar[n] x[n - k], for k up to `count`."""
    later, earlier = last(y_bar, axis), last(conj(x), axis)
    n = np.shape(later)[-1]
    sums = np.zeros(count, dtype=np.result_type(y_bar, x))
    for k in range(min(count, n)):
        sums[k] = np.sum(later[..., k:] * earlier[..., : n - k])
    return sums


def from_rest(b, a, x, axis=-1):
    """`scipy.signal.lfilter` without a state; `frontend.filters` makes of it what has one."""
    return ss.lfilter(b, a, x, axis)


_register((ss.lfilter, from_rest), "adjoint", name="scipy.signal.lfilter")


@adjoint(ss.lfilter)
def lfilter(y, y_bar, b, a, x, axis=-1):
    """a * y = b * x, from rest: x_bar is y_bar filtered backwards in time."""
    driven = np.flip(ss.lfilter(np.ones(1, dtype=y.dtype), conj(a), np.flip(y_bar, axis), axis), axis)
    x_bar = np.flip(ss.lfilter(conj(b), conj(a), np.flip(y_bar, axis), axis), axis)
    return lags(driven, x, np.size(b), axis), -lags(driven, y, np.size(a), axis), x_bar


@tangent(ss.lfilter)
def lfilter_dot(y, b, a, x, b_dot, a_dot, x_dot, axis=-1):
    moved = last(x, axis)
    change = np.zeros_like(last(y, axis))
    n = np.shape(moved)[-1]
    for k in range(min(np.size(b), n)):
        change[..., k:] += b_dot[k] * moved[..., : n - k] + b[k] * last(x_dot, axis)[..., : n - k]
    for k in range(min(np.size(a), n)):
        change[..., k:] -= a_dot[k] * last(y, axis)[..., : n - k]
    return ss.lfilter(np.ones(1, dtype=y.dtype), a, np.moveaxis(change, -1, axis), axis)


@samples(ss.lfilter)
def _(rng):
    yield (rng.normal(size=3), np.array([1.0, 0.3, -0.2]), rng.normal(size=6)), {}
    yield (rng.normal(size=2), np.array([2.0, 0.3, -0.2]), rng.normal(size=(5, 3)), 0), {}
    yield (rng.normal(size=4), np.array([1.5]), rng.normal(size=(2, 3))), {}
