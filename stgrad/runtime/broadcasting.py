"""The adjoint of broadcasting, where it was not lowered to a loop."""

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
