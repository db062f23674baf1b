"""Snapshots of loops on disk: arrays in memory-mapped files, of which only the row at hand is in memory.

    kept = runtime.new_snapshots((slots, n), far, "/scratch")     np.empty, or where it is `far`, a file of that folder without a name
    kept[top] = x
    runtime.page_out(kept, top, far)                          row `top` is written by the system in its own time, and leaves memory
    runtime.page_in(kept, latest - 1, far)                    row `latest - 1` is read ahead, while the program goes on

A file takes its blocks when it is made, so that a full disk is an error then and not the end of the process later. It has no name from the start, and goes
with the array, or the process. Rows leave memory by `madvise` (MADV_DONTNEED: of a shared mapping of a file it drops pages, not what is in them) and come
back by it (MADV_WILLNEED). Where the system has no such call they stay until it wants their memory.
"""

from __future__ import annotations

import math
import mmap
import os
import sys
import tempfile
from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils
from numba.core.errors import RequireLiteralValue
from numba.core.typing.npydecl import parse_dtype
from numba.extending import intrinsic, overload, register_jitable
from numba.np.numpy_support import as_dtype

from stgrad.errors import MemoryBudgetError
from stgrad.runtime.call import call_python

__all__ = ["new_snapshots", "page_in", "page_out", "room_on_disk"]

PAGE = mmap.PAGESIZE
MADV_WILLNEED, MADV_DONTNEED = 3, 4
MOST = 1 << 12  # snapshots of a loop of which nobody knows the trips


def new_snapshots(shape: Any, far: bool, folder: str, dtype: Any = np.float64) -> Any:
    """A new array for snapshots, one a row: on disk where it is `far`, else in memory.

    Raises MemoryBudgetError where the disk has no room for it.
    """
    return mapped(shape, np.dtype(dtype).name, folder) if far else np.empty(shape, dtype)


def page_out(kept: Any, row: int, far: bool) -> None:
    """Let go of a row that will not be read or written soon; nothing happens where it is not `far`."""


def page_in(kept: Any, row: int, far: bool) -> None:
    """Ask for a row that will be read soon; nothing happens where it is not `far`, or there is no such row."""


def room_on_disk(state: int, going: bool, folder: str) -> int:
    """How many snapshots of `state` bytes a loop may keep of which nobody knows the trips: they get half of the disk that is free; 1 for none (`not going`).

    Raises MemoryBudgetError where there is no room for two.
    """
    return room(state, folder) if going else 1


# --------------------------------------------------------------------------- in Python


def mapped(shape: Any, dtype: str, folder: str) -> np.ndarray[Any, Any]:
    """An array in a file of a folder that has no name."""
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    if size == 0:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(dir=folder, prefix="stgrad-") as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            block = mmap.mmap(file.fileno(), size)
        except OSError as problem:
            raise MemoryBudgetError(f"no room for {size} bytes of snapshots in {folder} ({problem.strerror})") from problem
    return np.frombuffer(block, dtype).reshape(shape)


def room(state: int, folder: str) -> int:
    """How many snapshots of so many bytes half of what is free holds."""
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize if hasattr(os, "statvfs") else state * MOST * 2
    if free < 4 * state:
        raise MemoryBudgetError(f"no room for two snapshots of {state} bytes in {folder}")
    return min(MOST, free // (2 * state))


# --------------------------------------------------------------------------- in compiled code


@overload(new_snapshots, strict=False)
def _snapshots_compiled(shape: Any, far: Any, folder: Any, dtype: Any = np.float64) -> Any:
    if isinstance(folder, types.UnicodeType):
        raise RequireLiteralValue("new_snapshots: the folder is a literal string")
    kind = types.float64 if dtype is np.float64 else parse_dtype(dtype)
    rank = len(shape) if isinstance(shape, types.BaseTuple) else 1
    text = f"lambda shape: runtime.disk.mapped(shape, '{as_dtype(kind)}', {folder.literal_value!r})"
    result = f"{as_dtype(kind)}[{', '.join(':' * rank)}]"

    def make(shape: Any, far: Any, folder: Any, dtype: Any = np.float64) -> Any:
        return call_python(text, result, shape) if far else np.empty(shape, kind)

    return make


@overload(room_on_disk, strict=False)
def _room_compiled(state: Any, going: Any, folder: Any) -> Any:
    if isinstance(folder, types.UnicodeType):
        raise RequireLiteralValue("room_on_disk: the folder is a literal string")
    text = f"lambda state: runtime.disk.room(state, {folder.literal_value!r})"

    def rooms(state: Any, going: Any, folder: Any) -> Any:
        return call_python(text, "int64", state) if going else 1

    return rooms


@intrinsic
def _advise(typingctx: Any, address: Any, size: Any, advice: Any) -> Any:
    """`madvise`, which may fail: then nothing is won."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if sys.platform.startswith("linux"):
            byte = cgutils.voidptr_t
            kind = llvm.FunctionType(llvm.IntType(32), [byte, args[1].type, llvm.IntType(32)])
            call = cgutils.get_or_insert_function(builder.module, kind, "madvise")
            builder.call(call, [builder.inttoptr(args[0], byte), args[1], builder.trunc(args[2], llvm.IntType(32))])
        return context.get_dummy_value()

    return types.none(types.intp, types.intp, types.intp), codegen


@register_jitable
def _pages(kept: Any, row: Any, advice: Any) -> None:
    """Advise on the pages that begin in a row."""
    size = kept.itemsize * (kept.size // kept.shape[0])
    start = kept.ctypes.data + row * size
    first, end = -(-start // PAGE) * PAGE, -(-(start + size) // PAGE) * PAGE
    if end > first:
        _advise(first, min(end, kept.ctypes.data + kept.nbytes) - first, advice)


@overload(page_out, strict=False)
def _page_out_compiled(kept: Any, row: Any, far: Any) -> Any:
    def out(kept: Any, row: Any, far: Any) -> None:
        if far:
            _pages(kept, row, MADV_DONTNEED)

    return out


@overload(page_in, strict=False)
def _page_in_compiled(kept: Any, row: Any, far: Any) -> Any:
    def ahead(kept: Any, row: Any, far: Any) -> None:
        if far and row >= 0:
            _pages(kept, row, MADV_WILLNEED)

    return ahead
