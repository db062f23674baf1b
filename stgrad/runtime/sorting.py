"""Vectors in order: short ones natively, long ones by NumPy, whose sorts use vector instructions (J. Bramas, 2017; Intel x86-simd-sort).

Compiled by Numba, quicksort takes as long as NumPy's up to some hundred items, and 13 (`argsort`) to 34 times as long for ten thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from stgrad.runtime.call import call_python

__all__ = ["argsort", "sort"]

FEW = 400  # items; calling Python takes 1 to 2 us


def sort(x: Any) -> Any:
    """`np.sort(x)` of a vector."""
    return np.sort(x)


def argsort(x: Any) -> Any:
    """`np.argsort(x)` of a vector."""
    return np.argsort(x)


@overload(sort, strict=False)
def _sort(x: Any) -> Any:
    result = f"{'bool' if str(x.dtype) == 'bool' else x.dtype}[:]"
    return lambda x: np.sort(x) if x.size < FEW else call_python("lambda x: np.sort(x)", result, x)


@overload(argsort, strict=False)
def _argsort(x: Any) -> Any:
    return lambda x: np.argsort(x) if x.size < FEW else call_python("lambda x: np.argsort(x)", "int64[:]", x)
