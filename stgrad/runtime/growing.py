"""Lists that grow: a buffer that is full is replaced by one of twice its size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

__all__ = ["with_room"]


def with_room(buffer: Any, count: int, size: int) -> Any:
    """`buffer`, which has `size` places, if item `count` has one; else a new one of twice that size with `count` items of it, and zeros behind them.

    >>> with_room(np.array([1.0, 2.0]), 2, 2)
    array([1., 2., 0., 0., 0., 0., 0., 0.])
    """
    if count < size:
        return buffer
    room = np.zeros((2 * count + 4, *buffer.shape[1:]), buffer.dtype)
    room[:count] = buffer[:count]
    return room


@overload(with_room, strict=False)
def _with_room(buffer: Any, count: Any, size: Any) -> Any:
    def found(buffer: Any, count: Any, size: Any) -> Any:
        if count < size:
            return buffer
        room = np.zeros((2 * count + 4,) + buffer.shape[1:], buffer.dtype)
        room[:count] = buffer[:count]
        return room

    return found
