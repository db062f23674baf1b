"""Convolution of two vectors: Numba's overload takes three seconds to compile, and goes over a long factor once for each of its items.

Here the long factor is added once for each item of the short one, in one piece of memory; where a few items of the result are wanted alone, each is a sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from stgrad.runtime.memory import empty
from stgrad.runtime.shared import share, vector

__all__ = ["convolve"]

MODES = {"valid": 0, "same": 1, "full": 2}
EMPTY_A, EMPTY_V = "a cannot be empty", "v cannot be empty"  # NumPy's words
FEW = 4  # items of the result that are summed one by one


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """`np.convolve(a, v, mode)` of two vectors, (n,) and (m,), both float64 or both float32."""
    return np.convolve(a, v, mode)


@overload(convolve, strict=False, prefer_literal=True)
def _convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    code = MODES[getattr(mode, "literal_value", mode)]
    return lambda a, v, mode="full": _convolved(a, v, code)


@share(lambda x: (types.Array(x, 1, "C"), vector(x), vector(x), types.int64))
def _convolved(a: Any, v: Any, mode: Any) -> Any:
    if a.size == 0:
        raise ValueError(EMPTY_A)
    if v.size == 0:
        raise ValueError(EMPTY_V)
    swapped = v.size > a.size
    long, short = np.ascontiguousarray(v if swapped else a), np.ascontiguousarray(a if swapped else v)
    n, m = long.size, short.size
    first = m - 1 if mode == 0 else (m - 1) // 2 if mode == 1 else 0
    count = n - m + 1 if mode == 0 else n if mode == 1 else n + m - 1
    y = empty(count, a.dtype)
    y[:] = 0.0
    if count <= FEW:
        for j in range(first, first + count):
            low, high = max(0, j - n + 1), min(m, j + 1)
            for k in range(low, high):
                y[j - first] += short[k] * long[j - k]
        return y
    for k in range(m):
        low, high = max(first, k), min(first + count, k + n)
        _add(y[low - first : high - first], short[k], long[low - k : high - k])
    return y


@register_jitable
def _add(y: Any, factor: Any, x: Any) -> None:
    """From the first item on, so that LLVM sees that no index counts from the end."""
    for j in range(y.size):
        y[j] += factor * x[j]
