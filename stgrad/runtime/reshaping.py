"""Arrays in other shapes: Numba reshapes arrays that it knows to be contiguous, generated code meets others, too."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

__all__ = ["reshape"]


def reshape(x: Any, shape: Any) -> Any:
    """`np.reshape(x, shape)`: in compiled code a view where `x` has the type of a contiguous array, else a copy."""
    return np.reshape(x, shape)


@overload(reshape, strict=False)
def _reshape(x: Any, shape: Any) -> Any:
    if x.layout == "C":
        return lambda x, shape: np.reshape(x, shape)
    return lambda x, shape: np.reshape(x.copy(), shape)
