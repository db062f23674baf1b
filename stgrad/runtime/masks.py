"""Elements that a mask selects: compiled code of its own, since Numba has masks of vectors only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

__all__ = ["add_where", "put_where", "take_where"]


def take_where(x: Any, mask: Any) -> Any:
    """`x[mask]` for a mask of the shape of `x`.

    >>> take_where(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[True, False], [True, True]]))
    array([1., 3., 4.])
    """
    return x[mask]


def put_where(x: Any, mask: Any, values: Any) -> None:
    """`x[mask] = values` for a mask of the shape of `x`, and a number or a vector."""
    x[mask] = values


def add_where(x: Any, mask: Any, values: Any) -> None:
    """`x[mask] += values` for a mask of the shape of `x`, and a number or a vector."""
    x[mask] += values


@register_jitable
def _count(x: Any, mask: Any) -> int:
    if x.shape != mask.shape:
        raise IndexError("boolean index did not match the shape of the array")
    count = 0
    for hit in mask.flat:
        count += hit
    return count


@register_jitable
def _fit(x: Any, mask: Any, values: Any) -> int:
    """How far a position among the values moves from one to the next."""
    count = _count(x, mask)
    if len(values) != count and len(values) != 1:
        raise ValueError("boolean index assignment: as many values are needed as the mask selects")
    return int(len(values) > 1)


@overload(take_where, strict=False)
def _take_where(x: Any, mask: Any) -> Any:
    def take(x: Any, mask: Any) -> Any:
        y = np.empty(_count(x, mask), x.dtype)
        k = 0
        for index, hit in np.ndenumerate(mask):
            if hit:
                y[k] = x[index]
                k += 1
        return y

    return take


@overload(put_where, strict=False)
def _put_where(x: Any, mask: Any, values: Any) -> Any:
    def put(x: Any, mask: Any, values: Any) -> None:
        step, k, given = _fit(x, mask, values), 0, values.copy()  # it may be a part of x
        for index, hit in np.ndenumerate(mask):
            if hit:
                x[index] = given[k]
                k += step

    def put_number(x: Any, mask: Any, values: Any) -> None:
        _count(x, mask)
        for index, hit in np.ndenumerate(mask):
            if hit:
                x[index] = values

    return put if isinstance(values, types.Array) else put_number


@overload(add_where, strict=False)
def _add_where(x: Any, mask: Any, values: Any) -> Any:
    def add(x: Any, mask: Any, values: Any) -> None:
        step, k, given = _fit(x, mask, values), 0, values.copy()  # it may be a part of x
        for index, hit in np.ndenumerate(mask):
            if hit:
                x[index] += given[k]
                k += step

    def add_number(x: Any, mask: Any, values: Any) -> None:
        _count(x, mask)
        for index, hit in np.ndenumerate(mask):
            if hit:
                x[index] += values

    return add if isinstance(values, types.Array) else add_number
