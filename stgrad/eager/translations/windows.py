"""Convolution and pooling: sums and maxima over the places in a window, each a slice of the whole image."""

from __future__ import annotations

import numpy as np

from stgrad.eager.translations.bodies import body, sizes
from stgrad.frontend.library import refuse


def outside(n, size, step, padding):  # type: ignore[no-untyped-def]
    """How much padding one axis gets before it, and in all."""
    if padding == "VALID":
        return 0, 0
    total = max((-(-n // step) - 1) * step + size - n, 0)
    return total // 2, total


def padded(x, height, width, steps, padding, fill):  # type: ignore[no-untyped-def]
    """An image (b, h, w, c) with a border."""
    if padding == "VALID":
        return x
    top, high = outside(x.shape[1], height, steps[0], padding)
    left, wide = outside(x.shape[2], width, steps[1], padding)
    y = np.full((x.shape[0], x.shape[1] + high, x.shape[2] + wide, x.shape[3]), fill, x.dtype)
    y[:, top : top + x.shape[1], left : left + x.shape[2], :] = x
    return y


@body("nn.conv2d", "nn.convolution")
def conv2d(input, filters, strides=1, padding="VALID", data_format="NHWC", dilations=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    refuse(np.ndim(input) != 4, "a convolution in one or three dimensions")
    refuse(data_format is not None and data_format.startswith("NC"), "a convolution with channels first")
    refuse(padding not in ("SAME", "VALID"), "a convolution with a padding of its own")
    refuse(dilations is not None and sizes(dilations, 2) != (1, 1), "a convolution with dilations")
    steps = sizes(1 if strides is None else strides, 2)
    height, width = filters.shape[0], filters.shape[1]
    if filters.shape[2] != input.shape[3]:
        raise ValueError("the filters have another number of channels")
    x = padded(input, height, width, steps, padding, 0.0)
    rows, columns = (x.shape[1] - height) // steps[0] + 1, (x.shape[2] - width) // steps[1] + 1
    if rows < 0 or columns < 0:
        raise ValueError("Computed output size would be negative")
    y = np.zeros((x.shape[0], rows, columns, filters.shape[3]), x.dtype)
    for i in range(height):
        for j in range(width):
            part = x[:, i : i + (rows - 1) * steps[0] + 1 : steps[0], j : j + (columns - 1) * steps[1] + 1 : steps[1], :]
            y[...] += part @ filters[i, j]
    return y


@body("nn.max_pool2d", "nn.max_pool")
def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    refuse(np.ndim(input) != 4, "pooling in one or three dimensions")
    refuse(data_format is not None and data_format.startswith("NC"), "pooling with channels first")
    size, steps = sizes(ksize, 2), sizes(strides, 2)
    x = padded(input, size[0], size[1], steps, padding, -np.inf)
    rows, columns = (x.shape[1] - size[0]) // steps[0] + 1, (x.shape[2] - size[1]) // steps[1] + 1
    y = x[:, : (rows - 1) * steps[0] + 1 : steps[0], : (columns - 1) * steps[1] + 1 : steps[1], :]
    for i in range(size[0]):
        for j in range(size[1]):
            part = x[:, i : i + (rows - 1) * steps[0] + 1 : steps[0], j : j + (columns - 1) * steps[1] + 1 : steps[1], :]
            y = np.where(y >= part, y, part)
    return y


@body("nn.avg_pool2d", "nn.avg_pool")
def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    refuse(np.ndim(input) != 4, "pooling in one or three dimensions")
    refuse(data_format is not None and data_format.startswith("NC"), "pooling with channels first")
    refuse(padding != "VALID", "tf.nn.avg_pool with padding")
    size, steps = sizes(ksize, 2), sizes(strides, 2)
    rows, columns = (input.shape[1] - size[0]) // steps[0] + 1, (input.shape[2] - size[1]) // steps[1] + 1
    y = np.zeros((input.shape[0], rows, columns, input.shape[3]), input.dtype)
    for i in range(size[0]):
        for j in range(size[1]):
            y[...] += input[:, i : i + (rows - 1) * steps[0] + 1 : steps[0], j : j + (columns - 1) * steps[1] + 1 : steps[1], :]
    return y / (size[0] * size[1])
