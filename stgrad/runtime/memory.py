"""Memory of generated arrays.

The first touch of each 4 KB page costs about as much as computing with it. So memory that a call frees stays with the process for the next
call, up to KEPT bytes, where the C library can be told so (glibc, `mallopt`); arrays from MAPPED bytes on it maps and unmaps each time. Linux
gives pages of 2 MB to memory that asks for them (`madvise`, MADV_HUGEPAGE); NumPy asks for its own large arrays, Numba does not. And LLVM takes
any two arrays of Numba's for possibly one: each time an inner loop starts, it tests whether they overlap. Arrays made here it knows to be apart.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils
from numba.core.typing.npydecl import parse_dtype
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import _empty_nd_impl, _parse_shape

__all__ = ["empty", "empty_near"]

LARGE = 1 << 20  # bytes; asking costs less than the pages of such an array
PAGE = 1 << 12
LINE = 64  # bytes: vectors of AVX-512 that lie across two lines of the cache take twice as long
MADV_HUGEPAGE = 14
KEPT = 1 << 28  # bytes
MAPPED = 1 << 25  # bytes, the most that glibc takes
WATCHES: list[Any] = []  # who is asked before memory is, and told of what was given; nobody in a module without stgrad
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def empty(shape: Any, dtype: Any = np.float64) -> Any:
    """`np.empty`; large arrays are in huge pages where the system has them.

    Raises MemoryBudgetError where the machine has no memory for it (`stgrad.runtime.available`).
    """
    if not WATCHES:
        return np.empty(shape, dtype)
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    for watch in WATCHES:
        watch.ask(size)
    array = np.empty(shape, dtype)
    for watch in WATCHES:
        watch.take(array.ctypes.data, size)
    return array


def empty_near(shape: Any, dtype: Any = np.float64) -> Any:
    """`empty` for arrays that loops fill while they read neighbours (`x[i]`, `x[i + 1]`).

    Where LLVM knows that such a loop writes elsewhere, it carries `x[i + 1]` over to the next trip, which packed loops do slower than to read it again.
    """
    return empty(shape, dtype)


def _type_empty(context: Any) -> Any:
    def typed(shape: Any, dtype: Any = None) -> Any:
        rank = 1 if isinstance(shape, types.Integer) else len(shape)
        return types.Array(types.float64 if dtype is None else parse_dtype(dtype), rank, "C")

    return typed


def _lower_near(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _new(context, builder, signature, args)._getvalue()


def _lower_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = _new(context, builder, signature, args)
    array.data = _apart(builder, array.data)
    return array._getvalue()


def _teach(function: Any, lowering: Any) -> None:
    """Let Numba compile a function that makes an array."""
    type_callable(function)(_type_empty)
    for arguments in ((types.Any,), (types.Any, types.Any)):
        lower_builtin(function, *arguments)(lowering)


_teach(empty, _lower_empty)
_teach(empty_near, _lower_near)


def _new(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    shape = _parse_shape(context, builder, signature.args[0], args[0])
    asked = cgutils.intp_t(context.get_abi_sizeof(context.get_data_type(signature.return_type.dtype)))
    for extent in shape:
        asked = builder.mul(asked, extent)
    for watch in WATCHES:
        watch.lower_ask(context, builder, asked)
    with _aligned(context):
        array = _empty_nd_impl(context, builder, signature.return_type, shape)
    if sys.platform.startswith("linux"):
        size = builder.mul(array.nitems, array.itemsize)
        with builder.if_then(builder.icmp_signed(">=", size, size.type(LARGE)), likely=False):
            _advise(builder, array.data, size)
            for watch in WATCHES:
                watch.lower_take(builder, array.data, size)
    return array


@contextmanager
def _aligned(context: Any) -> Iterator[None]:
    """Numba asks for arrays at multiples of LINE, not of 32, while this is open; it takes no such wish as an argument."""
    context.get_preferred_array_alignment = lambda kind: LINE
    try:
        yield
    finally:
        del context.get_preferred_array_alignment


def _apart(builder: Any, pointer: Any) -> Any:
    """The pointer as one that LLVM knows to be apart from all others, like that of `malloc`: loops need no tests for overlap.

    The second statement says that it may be known elsewhere, so that nothing is moved past the call that frees it.
    """
    kind = pointer.type
    result = builder.asm(llvm.FunctionType(kind, [kind]), "", "=r,0,~{memory}", [pointer], True)
    set.add(result.fastmath, "noalias")  # where an attribute of the result stands; llvmlite knows none for calls
    builder.asm(llvm.FunctionType(llvm.VoidType(), [kind]), "", "r,~{memory}", [result], True)
    return result


def _advise(builder: Any, pointer: Any, size: Any) -> None:
    """Ask for huge pages behind the whole pages of a block of memory."""
    word = size.type
    data = builder.ptrtoint(pointer, word)
    first = builder.and_(builder.add(data, word(PAGE - 1)), word(-PAGE))
    length = builder.and_(builder.sub(builder.add(data, size), first), word(-PAGE))
    kind = llvm.FunctionType(llvm.IntType(32), [word, word, llvm.IntType(32)])
    call = cgutils.get_or_insert_function(builder.module, kind, "madvise")
    builder.call(call, [first, length, llvm.IntType(32)(MADV_HUGEPAGE)])  # it may fail: then nothing is won


def keep_freed(limit: int) -> bool:
    """Let the C library keep up to `limit` bytes of freed memory; False where it does not take the wish, or was told otherwise before the start."""
    decided = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
    if limit <= 0 or not sys.platform.startswith("linux") or any(name in os.environ for name in decided):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(M_TRIM_THRESHOLD, limit) and mallopt(M_MMAP_THRESHOLD, MAPPED))


def mapped_from() -> int:
    """The bytes from which on a block is mapped for itself, and gone when it is freed: all, where the C library was told nothing."""
    return MAPPED if _KEEPS else 0


_KEEPS = keep_freed(int(os.environ.get("STGRAD_KEEP_MEMORY", KEPT)))
