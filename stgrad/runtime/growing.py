"""Lists that grow: a buffer that is full is replaced by one of twice its size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

__all__ = ["with_room"]


def with_room(buffer: Any, count: int, size: int, *inner: int) -> Any:
    """`buffer`, which has `size` places, if item `count` has one; else a new one of twice that size with `count` items of it, and zeros behind them.

    Items are numbers, or arrays; of a buffer without items, `inner` are the first extents of what it will hold.

    >>> with_room(np.array([1.0, 2.0]), 2, 2)
    array([1., 2., 0., 0., 0., 0., 0., 0.])
    """
    if count < size:
        return buffer
    extents = buffer.shape[1:] if count else (*inner, *buffer.shape[1 + len(inner) :])
    room = np.zeros((2 * count + 4, *extents), buffer.dtype)
    if count:
        room[:count] = buffer[:count]
    return room


@overload(with_room, strict=False)
def _with_room(buffer: Any, count: Any, size: Any, *inner: Any) -> Any:
    first = 1 + len(inner)

    def found(buffer: Any, count: Any, size: Any, *inner: Any) -> Any:
        if count < size:
            return buffer
        extents = buffer.shape[1:] if count else inner + buffer.shape[first:]
        room = np.zeros((2 * count + 4,) + extents, buffer.dtype)
        if count:
            room[:count] = buffer[:count]
        return room

    return found
