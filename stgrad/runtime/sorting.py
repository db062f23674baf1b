"""Vectors in order: short ones natively, long ones by NumPy, whose sorts use vector instructions (J. Bramas, 2017; Intel x86-simd-sort).

Numba's own quicksorts (one for values, one for places) take as long as NumPy's up to some hundred items, and two to three seconds to compile.
The merge of short runs here (D. Knuth, The Art of Computer Programming, volume 3, 5.2.4) gives the places for both, and is compiled once a machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from stgrad.runtime.call import call_python
from stgrad.runtime.memory import empty
from stgrad.runtime.shared import DTYPES, share, vector

__all__ = ["argsort", "isin", "sort"]

FEW = 120  # items; calling Python takes 1 to 2 us
PASSES = 32  # items that are compared with one by one; a search of one takes as long as 70 to 100 such comparisons
RUN = 8  # items that are put in their places one by one


def sort(x: Any) -> Any:
    """`np.sort(x)` of a vector of float64, float32 or int64."""
    return np.sort(x)


def argsort(x: Any) -> Any:
    """`np.argsort(x)` of a vector of float64, float32 or int64."""
    return np.argsort(x)


def isin(x: Any, among: Any) -> Any:
    """`np.isin(x, among)` of two vectors, (n,) and (m,), both of float64, float32 or int64."""
    return np.isin(x, among)


@overload(sort, strict=False)
def _sort(x: Any) -> Any:
    result = f"{x.dtype}[:]"
    return lambda x: x[_order(x)] if x.size < FEW else call_python("lambda x: np.sort(x)", result, x)


@overload(argsort, strict=False)
def _argsort(x: Any) -> Any:
    return lambda x: _order(x) if x.size < FEW else call_python("lambda x: np.argsort(x)", "int64[:]", x)


@overload(isin, strict=False)
def _isin(x: Any, among: Any) -> Any:
    return lambda x, among: _found(x, among[_order(among)])


@share(lambda x: (types.Array(types.boolean, 1, "C"), vector(x), vector(x)), (*DTYPES, types.int64))
def _found(x: Any, among: Any) -> Any:
    """Which items of `x` are among those of a vector in order; what is no number equals nothing."""
    found = empty(x.size, np.bool_)
    if among.size <= PASSES:
        found[:] = False
        _compare(np.ascontiguousarray(x), among, found)
        return found
    for k in range(x.size):
        low, high = 0, among.size
        while low < high:
            middle = (low + high) // 2
            if _behind(x[k], among[middle]):
                low = middle + 1
            else:
                high = middle
        found[k] = low < among.size and among[low] == x[k]
    return found


@register_jitable
def _compare(x: Any, among: Any, found: Any) -> None:
    """One pass for each item, which LLVM makes of vector instructions."""
    for item in among:
        for k in range(x.size):
            found[k] |= x[k] == item


@register_jitable
def _behind(a: Any, b: Any) -> Any:
    """Whether a number stands behind another one; what is no number stands behind all."""
    return b < a or a != a and b == b  # noqa: PLR0124


@share(lambda x: (types.Array(types.int64, 1, "C"), vector(x)), (*DTYPES, types.int64))
def _order(x: Any) -> Any:
    """The places of the items of a vector in their order; of equal ones the first comes first."""
    n = x.size
    order, merged = empty(n, np.int64), empty(n, np.int64)
    for k in range(n):
        at, start = k, k - k % RUN
        while at > start and _behind(x[order[at - 1]], x[k]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    width = RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for k in range(start, end):
                if left < middle and (right >= end or not _behind(x[order[left]], x[order[right]])):
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order
