"""Broadcasting where it is not lowered to a loop: to extents that only the running program knows, and the adjoints of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from stgrad.runtime.call import call_python


def unbroadcast(g: Any, like: Any) -> Any:
    """`g` summed over the axes in which `like` was broadcast to the shape of `g`; a new value of the shape of `like`."""
    shape = np.shape(like)
    extra = np.ndim(g) - len(shape)
    stretched = tuple(i + extra for i, extent in enumerate(shape) if extent == 1 and np.shape(g)[i + extra] != 1)
    total = np.reshape(np.sum(g, axis=(*range(extra), *stretched)), shape)
    return total if isinstance(like, np.ndarray) else total[()]


def joint(a: int, b: int) -> int:
    """The extent that an axis of extent `a` has beside one of extent `b`: it stretches where it is 1.

    >>> joint(1, 4), joint(3, 1), joint(1, 0)
    (4, 3, 0)
    """
    return b if a == 1 else a


@overload(joint, strict=False)
def _joint(a: Any, b: Any) -> Any:
    return lambda a, b: b if a == 1 else a


def stretch(x: Any, shape: Any) -> Any:
    """`np.broadcast_to(x, shape)`, for a shape of the rank of `x`, in memory of its own."""
    return np.broadcast_to(x, shape).copy()


@overload(stretch, strict=False)
def _stretch(x: Any, shape: Any) -> Any:
    return lambda x, shape: np.broadcast_to(x, shape).copy()


def shrink(g: Any, like: Any) -> Any:
    """The adjoint of `stretch`: `g` summed over the axes in which `like`, of the same rank, has one item."""
    axes = tuple(k for k, n in enumerate(np.shape(like)) if n == 1)
    return np.sum(g, axis=axes, keepdims=True) if axes else np.array(g)


@overload(shrink, strict=False)
def _shrink(g: Any, like: Any) -> Any:
    def sums(g: Any, like: Any) -> Any:
        total = np.zeros(like.shape, g.dtype)
        flat = total.reshape(-1)
        for index in np.ndindex(g.shape):
            place = 0
            for axis in range(g.ndim):
                place = place * like.shape[axis] + (index[axis] if like.shape[axis] != 1 else 0)
            flat[place] += g[index]
        return total

    return sums


def description(dtype: str, rank: int) -> str:
    """An array's description in the language of `call_python`.

    >>> description("float64", 2), description("bool", 0)
    ('float64[:, :]', 'bool[()]')
    """
    return f"{dtype}[{', '.join(':' * rank) or '()'}]"


@overload(unbroadcast)
def _unbroadcast_overload(g, like):  # type: ignore[no-untyped-def]
    if not isinstance(g, types.Array):
        return lambda g, like: g
    dtype = as_dtype(g.dtype).name
    result = description(dtype, like.ndim) if isinstance(like, types.Array) else dtype
    return lambda g, like: call_python("lambda g, like: runtime.unbroadcast(g, like)", result, g, like)
