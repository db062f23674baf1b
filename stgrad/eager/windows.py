"""Convolution and pooling over sliding windows.

`windows_of(x, size, stride, dilation)` reads all windows of the spatial axes, and its adjoint adds windows back where they came
from: `fold`. Convolution is windows and a matrix product, pooling windows and a reduction; so every order of derivative is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager.calling import pair, run
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import apply, bind
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.ops_reduce import reduce_mean, reduce_sum
from stgrad.eager.tensor import Tensor
from stgrad.rules.core import linear

Sizes = tuple[int, ...]


def windows_of(x: Any, size: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    """x (b, *space, c) -> (b, *positions, *size, c)."""
    positions = _positions(x.shape[1:-1], size, stride, dilation)
    step = x.strides
    space = tuple(step[1 + i] * stride[i] for i in range(len(size)))
    inside = tuple(step[1 + i] * dilation[i] for i in range(len(size)))
    shape = (x.shape[0], *positions, *size, x.shape[-1])
    return np.lib.stride_tricks.as_strided(x, shape, (step[0], *space, *inside, step[-1]), writeable=False)


def _positions(space: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> Sizes:
    return tuple((n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(space, size, stride, dilation))


def fold(w: Any, shape: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    """Windows (b, *positions, *size, c) added into zeros of `shape` at their places."""
    whole = np.zeros(shape, w.dtype)
    rank = len(size)
    positions = w.shape[1 : 1 + rank]
    for offset in np.ndindex(*size):
        place = tuple(slice(o * d, o * d + (p - 1) * s + 1, s) for o, d, p, s in zip(offset, dilation, positions, stride))
        whole[(slice(None), *place)] += w[(slice(None), *[slice(None)] * rank, *offset)]
    return whole


@linear(windows_of)
def windows_adjoint(y: Any, y_bar: Any, x: Any, size: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    args = (y_bar, tuple(x.shape), size, stride, dilation)
    return apply(FOLD, args) if type(y_bar) is Tensor else fold(*args)


@linear(fold)
def fold_adjoint(y: Any, y_bar: Any, w: Any, shape: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    args = (y_bar, size, stride, dilation)
    return apply(WINDOWS, args) if type(y_bar) is Tensor else windows_of(*args)


WINDOWS, FOLD = bind(windows_of), bind(fold)

# ------------------------------------------------------------------ arguments


def _sizes(value: Any, rank: int, channels_first: bool) -> Sizes:
    """A size for each spatial axis, from an int, a list of them, or a list with batch and channel entries."""
    listed = [value] if isinstance(value, int) else list(value)
    if len(listed) == 1:
        return (int(listed[0]),) * rank
    if len(listed) == rank + 2:
        listed = listed[2:] if channels_first else listed[1:-1]
    if len(listed) != rank:
        raise ValueError(f"expected 1, {rank} or {rank + 2} numbers, got {value}")
    return tuple(int(v) for v in listed)


def _padding(kind: Any, space: Sizes, size: Sizes, stride: Sizes, dilation: Sizes, first: bool) -> list[tuple[int, int]]:
    """What to add before and after each spatial axis."""
    if not isinstance(kind, str):
        explicit = [tuple(p) for p in kind]
        return (explicit[2:] if first else explicit[1:-1]) if len(explicit) == len(space) + 2 else explicit
    if kind.upper() == "VALID":
        return [(0, 0)] * len(space)
    if kind.upper() != "SAME":
        raise ValueError(f'`padding` must be "SAME", "VALID" or a list of pairs, got {kind!r}')
    found = []
    for n, k, s, d in zip(space, size, stride, dilation):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        found.append((total // 2, total - total // 2))
    return found


def _channels_last(t: Tensor, first: bool) -> Any:
    return run(np.moveaxis, t, 1, -1) if first else t


def _back(t: Tensor, first: bool) -> Any:
    return run(np.moveaxis, t, -1, 1) if first else t


def _windows(x: Any, size: Sizes, stride: Sizes, dilation: Sizes, padding: list[tuple[int, int]], fill: float) -> Any:
    if any(p != (0, 0) for p in padding):
        x = run(np.pad, x, ((0, 0), *padding, (0, 0)), mode="constant", constant_values=fill)
    positions = _positions(x._a.shape[1:-1], size, stride, dilation)
    if min(positions, default=1) < 0:
        raise InvalidArgumentError(
            f"Computed output size would be negative: {list(positions)} [input_size: {list(x._a.shape)}, window: {list(size)}]"
        )
    return apply(WINDOWS, (x, size, stride, dilation))


# ------------------------------------------------------------------ convolution


def convolution(
    input: Any, filters: Any, strides: Any = None, padding: Any = "VALID", data_format: str | None = None, dilations: Any = None,  # noqa: A002
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (b, *space, c) with filters (*size, c // groups, k)."""
    x, w = pair(input, filters, "Conv2D")
    first = data_format is not None and data_format.startswith("NC")
    rank = w._a.ndim - 2
    if x._a.ndim != rank + 2:
        raise InvalidArgumentError(f"input must be {rank + 2}-dimensional: {list(x._a.shape)}", "Conv2D")
    x = _channels_last(x, first)
    size = w._a.shape[:rank]
    stride, dilation = _sizes(1 if strides is None else strides, rank, first), _sizes(1 if dilations is None else dilations, rank, first)
    padding = _padding(padding, x._a.shape[1:-1], size, stride, dilation, first)
    windows = _windows(x, size, stride, dilation, padding, 0.0)
    channels, per_group = x._a.shape[-1], w._a.shape[-2]
    if channels == per_group:
        return _back(run(np.tensordot, windows, w, axes=rank + 1), first)
    if per_group == 0 or channels % per_group:
        raise InvalidArgumentError(f"input depth must be evenly divisible by filter depth: {channels} vs {per_group}", "Conv2D")
    return _back(_grouped(windows, w, channels // per_group, rank), first)


def _grouped(windows: Any, w: Any, groups: int, rank: int) -> Any:
    """Each group of channels with its own filters."""
    inner, outer = w._a.shape[-2], w._a.shape[-1] // groups
    parts = [
        run(np.tensordot, windows[..., g * inner : (g + 1) * inner], w[..., g * outer : (g + 1) * outer], axes=rank + 1)
        for g in range(groups)
    ]
    return run(np.concatenate, tuple(parts), axis=-1)


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    """2-D convolution of images (b, h, w, c) with filters (h, w, c, k)."""
    return convolution(input, filters, strides, padding, data_format, dilations)


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    """1-D convolution of (b, w, c) with filters (w, c, k)."""
    return convolution(input, filters, stride, padding, data_format, dilations)


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Tensor:
    """2-D convolution with holes in the filters."""
    return convolution(value, filters, 1, padding, "NHWC", rate)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    """Each channel with filters (h, w, c, m) of its own; m results for each."""
    x, w = pair(input, filter, "DepthwiseConv2dNative")
    h, wide, channels, m = w._a.shape
    return convolution(x, run(np.reshape, w, (h, wide, 1, channels * m)), strides, padding, data_format, dilations)


def conv2d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME", data_format: str = "NHWC", dilations: Any = None,  # noqa: A002
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The adjoint of conv2d: (b, h, w, k) with filters (h, w, c, k) gives `output_shape`."""
    y, w = pair(input, filters, "Conv2DBackpropInput")
    first = data_format.startswith("NC")
    y = _channels_last(y, first)
    shape = tuple(int(n) for n in (getattr(output_shape, "_a", output_shape)))
    shape = (shape[0], *shape[2:], shape[1]) if first else shape
    size, stride = w._a.shape[:2], _sizes(strides, 2, first)
    dilation = _sizes(1 if dilations is None else dilations, 2, first)
    padding = _padding(padding, shape[1:-1], size, stride, dilation, first)
    windows = run(np.tensordot, y, w, axes=((3,), (3,)))  # (b, p, q, h, w, c)
    padded = (shape[0], *(n + sum(p) for n, p in zip(shape[1:-1], padding)), shape[-1])
    whole = apply(FOLD, (windows, padded, size, stride, dilation))
    inner = tuple(slice(p[0], p[0] + n) for n, p in zip(shape[1:-1], padding))
    return _back(whole[(slice(None), *inner)], first)


# ------------------------------------------------------------------ pooling


def _pool(x: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None, rank: int, average: bool) -> Tensor:
    t = convert_to_tensor(x)
    if t._a.ndim != rank + 2:
        raise InvalidArgumentError(f"tensor_in must be {rank + 2}-dimensional: {list(t._a.shape)}", "AvgPool" if average else "MaxPool")
    first = data_format is not None and data_format.startswith("NC")
    t = _channels_last(t, first)
    size, stride, one = _sizes(ksize, rank, first), _sizes(strides, rank, first), (1,) * rank
    pads = _padding(padding, t._a.shape[1:-1], size, stride, one, first)
    over = tuple(range(1 + rank, 1 + 2 * rank))
    if not average:
        windows = _windows(t, size, stride, one, pads, -np.inf if t._a.dtype.kind == "f" else t.dtype.min)
        return _back(_first_max(windows, rank), first)
    windows = _windows(t, size, stride, one, pads, 0.0)
    if all(p == (0, 0) for p in pads):
        return _back(reduce_mean(windows, over), first)
    counts = np.sum(_windows(Tensor(np.ones((1, *t._a.shape[1:-1], 1), t._a.dtype)), size, stride, one, pads, 0.0)._a, axis=over)
    return _back(reduce_sum(windows, over) / Tensor(counts), first)


def _first_max(windows: Any, rank: int) -> Any:
    """The maximum of each window; the first of equals gets the gradient."""
    shape = windows._a.shape
    moved = run(np.moveaxis, windows, -1, 1 + rank)
    flat = run(np.reshape, moved, (*shape[: 1 + rank], shape[-1], -1))
    best = np.argmax(flat._a, axis=-1)[..., None]
    return run(np.squeeze, run(np.take_along_axis, flat, best, axis=-1), axis=-1)


def max_pool2d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None) -> Tensor:  # noqa: A002
    """The maximum over windows of (b, h, w, c)."""
    return _pool(input, ksize, strides, padding, data_format, 2, False)


def max_pool1d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: str | None = None) -> Tensor:  # noqa: A002
    """The maximum over windows of (b, w, c)."""
    return _pool(input, ksize, strides, padding, data_format, 1, False)


def max_pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """The maximum over windows, for any number of spatial axes."""
    return _pool(input, ksize, strides, padding, data_format, convert_to_tensor(input)._a.ndim - 2, False)


def avg_pool2d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None) -> Tensor:  # noqa: A002
    """The mean over windows of (b, h, w, c); padding does not count."""
    return _pool(input, ksize, strides, padding, data_format, 2, True)


def avg_pool1d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: str | None = None) -> Tensor:  # noqa: A002
    """The mean over windows of (b, w, c); padding does not count."""
    return _pool(input, ksize, strides, padding, data_format, 1, True)


def avg_pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """The mean over windows, for any number of spatial axes."""
    return _pool(input, ksize, strides, padding, data_format, convert_to_tensor(input)._a.ndim - 2, True)


def conv3d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NDHWC", dilations: Any = None, name: str | None = None,  # noqa: A002
) -> Tensor:  # fmt: skip
    """3-D convolution of volumes (b, d, h, w, c) with filters (d, h, w, c, k)."""
    return convolution(input, filters, strides, padding, data_format, dilations)


def max_pool3d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC", name: str | None = None) -> Tensor:  # noqa: A002
    """The maximum over windows of (b, d, h, w, c)."""
    return _pool(input, ksize, strides, padding, data_format, 3, False)


def avg_pool3d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC", name: str | None = None) -> Tensor:  # noqa: A002
    """The mean over windows of (b, d, h, w, c)."""
    return _pool(input, ksize, strides, padding, data_format, 3, True)
