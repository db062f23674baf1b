"""Pullbacks on bare arrays for the operations that tapes are full of: what their rules give, without the generality.

A shortcut gets `(y_bar, args, kwargs, followed)` and gives one cotangent for each tensor among the arguments, None for those that nobody
follows; or None where the rule has to be asked. Rules are what counts: a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from stgrad.eager.tensor import Tensor

_SMALL = 4096  # elements: up to here it is quicker to fill an array than to make a view that looks like it

Bars = list[Any] | None
Shortcut = Callable[[Any, tuple[Any, ...], Any, Container[int]], Bars]


def summed_to(g: Any, shape: tuple[int, ...]) -> Any:
    """An array summed over the axes along which an argument of this shape was stretched."""
    if g.shape == shape:
        return g
    extra = g.ndim - len(shape)
    axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1))
    return np.add.reduce(g, axis=axes).reshape(shape)[()] if axes else np.broadcast_to(g, shape)


def stretched(g: Any, shape: tuple[int, ...]) -> Any:
    if math.prod(shape) > _SMALL:
        return np.broadcast_to(g, shape)
    whole = np.empty(shape, g.dtype)
    whole[...] = g
    return whole


def add(y_bar: Any, args: tuple[Any, ...], kwargs: Any, followed: Container[int]) -> Bars:
    return [summed_to(y_bar, x._a.shape) if x._id in followed else None for x in args if type(x) is Tensor]


def subtract(y_bar: Any, args: tuple[Any, ...], kwargs: Any, followed: Container[int]) -> Bars:
    signs = (y_bar, None)
    return [
        summed_to(-y_bar if sign is None else sign, x._a.shape) if x._id in followed else None
        for x, sign in zip(args, signs)
        if type(x) is Tensor
    ]


def multiply(y_bar: Any, args: tuple[Any, ...], kwargs: Any, followed: Container[int]) -> Bars:
    a, b = args
    if y_bar.dtype.kind == "c":
        return None
    return [
        summed_to(y_bar * (other._a if type(other) is Tensor else other), x._a.shape) if x._id in followed else None
        for x, other in ((a, b), (b, a))
        if type(x) is Tensor
    ]


def matmul(y_bar: Any, args: tuple[Any, ...], kwargs: Any, followed: Container[int]) -> Bars:
    a, b = args
    if type(a) is not Tensor or type(b) is not Tensor or a._a.ndim != 2 or b._a.ndim != 2 or y_bar.dtype.kind == "c":
        return None
    return [y_bar @ b._a.T if a._id in followed else None, a._a.T @ y_bar if b._id in followed else None]


def sum_(y_bar: Any, args: tuple[Any, ...], kwargs: Any, followed: Container[int]) -> Bars:
    if len(args) != 1 or not kwargs or set(kwargs) != {"axis", "keepdims"}:
        return None
    shape, axis = args[0]._a.shape, kwargs["axis"]
    if axis is not None and not kwargs["keepdims"]:
        over = {i % len(shape) for i in (axis if type(axis) is tuple else (axis,))}
        y_bar = np.reshape(y_bar, [1 if i in over else n for i, n in enumerate(shape)])
    return [stretched(y_bar, shape)]


def mean(y_bar: Any, args: tuple[Any, ...], kwargs: Any, followed: Container[int]) -> Bars:
    if y_bar.dtype.itemsize < 4:
        return None
    size, count = args[0]._a.size, y_bar.size
    return sum_(y_bar / y_bar.dtype.type(size // count), args, kwargs, followed) if size else None


SHORTCUTS: dict[Any, Shortcut] = {
    np.add: add, np.subtract: subtract, np.multiply: multiply, np.matmul: matmul, np.sum: sum_, np.mean: mean,
}  # fmt: skip
