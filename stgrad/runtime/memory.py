"""Memory of generated arrays.

The first touch of each 4 KB page costs about as much as computing with it. Linux gives pages of 2 MB to memory that asks for them
(`madvise`, MADV_HUGEPAGE); NumPy asks for its own large arrays, Numba does not. Elsewhere this is `np.empty`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils
from numba.core.typing.npydecl import parse_dtype
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import _empty_nd_impl, _parse_shape

__all__ = ["empty"]

LARGE = 1 << 20  # bytes; asking costs less than the pages of such an array
PAGE = 1 << 12
MADV_HUGEPAGE = 14


def empty(shape: Any, dtype: Any = np.float64) -> Any:
    """`np.empty`; large arrays are in huge pages where the system has them."""
    return np.empty(shape, dtype)


@type_callable(empty)
def _type_empty(context: Any) -> Any:
    def typed(shape: Any, dtype: Any = None) -> Any:
        rank = 1 if isinstance(shape, types.Integer) else len(shape)
        return types.Array(types.float64 if dtype is None else parse_dtype(dtype), rank, "C")

    return typed


@lower_builtin(empty, types.Any)
@lower_builtin(empty, types.Any, types.Any)
def _lower_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    shape = _parse_shape(context, builder, signature.args[0], args[0])
    array = _empty_nd_impl(context, builder, signature.return_type, shape)
    if sys.platform.startswith("linux"):
        size = builder.mul(array.nitems, array.itemsize)
        with builder.if_then(builder.icmp_signed(">=", size, size.type(LARGE)), likely=False):
            _advise(builder, array.data, size)
    return array._getvalue()


def _advise(builder: Any, pointer: Any, size: Any) -> None:
    """Ask for huge pages behind the whole pages of a block of memory."""
    word = size.type
    data = builder.ptrtoint(pointer, word)
    first = builder.and_(builder.add(data, word(PAGE - 1)), word(-PAGE))
    length = builder.and_(builder.sub(builder.add(data, size), first), word(-PAGE))
    kind = llvm.FunctionType(llvm.IntType(32), [word, word, llvm.IntType(32)])
    call = cgutils.get_or_insert_function(builder.module, kind, "madvise")
    builder.call(call, [first, length, llvm.IntType(32)(MADV_HUGEPAGE)])  # it may fail: then nothing is won
