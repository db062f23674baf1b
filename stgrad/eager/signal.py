"""`tf.signal`: Fourier transforms over the last axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import ops_math
from stgrad.eager.calling import run, static
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dtypes import as_dtype
from stgrad.eager.tensor import Tensor


def _transform(fn: Any, x: Any, axes: tuple[int, ...] | None, lengths: Any = None) -> Tensor:
    """NumPy computes some transforms in double precision; the result is in the precision of the argument."""
    t = convert_to_tensor(x)
    single = t._a.dtype.itemsize <= (8 if t._a.dtype.kind == "c" else 4)
    lengths = static(lengths)
    if axes is None:
        y = run(fn, t, None if lengths is None else lengths[0] if isinstance(lengths, tuple) else lengths)
    else:
        y = run(fn, t, lengths, axes)
    if y._a.dtype.kind == "c":
        return ops_math.cast(y, np.complex64 if single else np.complex128)
    return ops_math.cast(y, np.float32 if single else np.float64)


def _complex(x: Any) -> Tensor:
    t = convert_to_tensor(x)
    if t._a.dtype.kind == "c":
        return t
    return ops_math.cast(t, np.complex64 if t._a.dtype.itemsize <= 4 else np.complex128)


def fft(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Discrete Fourier transform over the last axis."""
    return _transform(np.fft.fft, _complex(input), None)


def ifft(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Inverse discrete Fourier transform over the last axis."""
    return _transform(np.fft.ifft, _complex(input), None)


def fft2d(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Discrete Fourier transform over the last two axes."""
    return _transform(np.fft.fftn, _complex(input), (-2, -1))


def ifft2d(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Inverse discrete Fourier transform over the last two axes."""
    return _transform(np.fft.ifftn, _complex(input), (-2, -1))


def fft3d(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Discrete Fourier transform over the last three axes."""
    return _transform(np.fft.fftn, _complex(input), (-3, -2, -1))


def ifft3d(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Inverse discrete Fourier transform over the last three axes."""
    return _transform(np.fft.ifftn, _complex(input), (-3, -2, -1))


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Fourier transform of a real signal over the last axis."""
    return _transform(np.fft.rfft, input_tensor, None, fft_length)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The real signal of a half spectrum, over the last axis."""
    return _transform(np.fft.irfft, input_tensor, None, fft_length)


def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Fourier transform of real signals over the last two axes."""
    return _transform(np.fft.rfftn, input_tensor, (-2, -1), fft_length)


def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The real signals of half spectra, over the last two axes."""
    return _transform(np.fft.irfftn, input_tensor, (-2, -1), fft_length)


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The zero frequency moved to the middle."""
    return run(np.fft.fftshift, convert_to_tensor(x), axes=static(axes))


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of fftshift."""
    return run(np.fft.ifftshift, convert_to_tensor(x), axes=static(axes))


def hann_window(window_length: int, periodic: bool = True, dtype: Any = np.float32, name: str | None = None) -> Tensor:
    """0.5 - 0.5 cos(2 pi n / N)."""
    n = window_length if periodic else window_length - 1
    return Tensor((0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_length) / max(n, 1))).astype(as_dtype(dtype).dtype))


def frame(
    signal: Any, frame_length: int, frame_step: int, pad_end: bool = False, pad_value: Any = 0, axis: int = -1, name: str | None = None
) -> Tensor:
    """Overlapping pieces of the last axis."""
    t = convert_to_tensor(signal)
    n = t._a.shape[-1]
    count = -(-n // frame_step) if pad_end else max(0, (n - frame_length) // frame_step + 1)
    missing = (count - 1) * frame_step + frame_length - n
    if pad_end and missing > 0:
        t = run(np.pad, t, ((0, 0),) * (t._a.ndim - 1) + ((0, missing),), mode="constant", constant_values=pad_value)
    index = np.arange(count)[:, None] * frame_step + np.arange(frame_length)
    return run(np.take, t, index, axis=t._a.ndim - 1)
