"""Large arrays are asked for only where the machine has the memory.

Linux gives addresses without memory behind them, and ends a process once it writes to more of them than there is memory. So a gradient that would keep more
than that is refused when it asks, before it starts to write: an array of LARGE bytes or more has to fit into what is free, beside those that were
asked for before and not yet written to. With STGRAD_MEMORY_CHECK=0 nothing is refused.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir as llvm
from numba.core import cgutils

from stgrad.errors import MemoryBudgetError
from stgrad.runtime import memory

__all__ = ["LARGE", "Watch", "available", "fits"]

LARGE = 1 << 28  # bytes; asking takes 0.1 ms, writing to so much 50 ms
PAGE = 1 << 12
SYMBOL = "stgrad_fits"  # by which compiled code finds `_answer`
MESSAGE = (
    'the arrays that this call needs do not fit into the memory of this machine: set a budget, such as memory="4 GB", with which loops keep less, '
    "or pass smaller arrays; `.memory(...)` of the gradient tells what is kept"
)
_asked: dict[int, int] = {}  # bytes of large arrays by their addresses; some may be gone


def available() -> int | None:
    """Bytes that processes may still take, swap included, by the system and by the limits of a container; None where the system does not say.

    >>> available() is None or available() > 0
    True
    """
    try:
        with open("/proc/meminfo") as told:
            found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in told if line.startswith(("MemAvailable", "SwapFree"))}
    except (OSError, ValueError, IndexError):
        return None
    if "MemAvailable" not in found:
        return None
    return min([sum(found.values()), *(left for left in map(_left, _GROUPS) if left is not None)])


_GROUPS = (  # limit, use, and what of that are files that can be given up, for both versions of control groups
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file "),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file "),
)


def _left(group: tuple[str, str, str, str]) -> int | None:
    limit, use, told, files = group
    try:
        texts = []
        for path in (limit, use, told):
            with open(path) as file:
                texts.append(file.read())
        freed = [int(line.split()[1]) for line in texts[2].splitlines() if line.startswith(files)]
        return int(texts[0]) - int(texts[1]) + sum(freed)
    except (OSError, ValueError, IndexError):  # there is no such group, or its limit is "max"
        return None


def fits(size: int) -> bool:
    """Whether there is memory for so many bytes, beside the large arrays that are still to be written."""
    room = None if os.environ.get("STGRAD_MEMORY_CHECK") == "0" else available()
    if room is None:
        return True
    promised = 0
    for address, bytes_ in list(_asked.items()):
        unwritten = _unwritten(address, bytes_)
        if unwritten is None:
            _asked.pop(address, None)
        else:
            promised += unwritten
    return size + promised <= room


def _unwritten(address: int, size: int) -> int | None:
    """Bytes of a block that have no memory yet; None where it is gone."""
    first = -(-address // PAGE) * PAGE
    pages = max((address + size) // PAGE - address // PAGE - 1, 0)
    found = np.zeros(pages + 1, np.uint8)
    mincore = ctypes.CDLL(None).mincore
    if mincore(ctypes.c_void_p(first), ctypes.c_size_t(pages * PAGE), found.ctypes.data_as(ctypes.c_void_p)) != 0:
        return None
    return int(np.count_nonzero(found[:pages] & 1 == 0)) * PAGE


def _answer(address: int, size: int) -> int:
    """What compiled code asks: without an address, whether an array fits; with one, that it is remembered."""
    try:
        if address:
            _asked[address] = size
        return int(bool(address) or fits(size))
    except (OSError, AttributeError, MemoryError):
        return 1


_kind: Any = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_callback = _kind(_answer)
llvmlite.binding.add_symbol(SYMBOL, ctypes.cast(_callback, ctypes.c_void_p).value)


class Watch:
    """Asks for large arrays, in Python (`ask`, `take`) and in code that is compiled."""

    def ask(self, size: int) -> None:
        if size >= LARGE and not fits(size):
            raise MemoryBudgetError(MESSAGE)

    def take(self, address: int, size: int) -> None:
        if size >= LARGE:
            _asked[address] = size

    def lower_ask(self, context: Any, builder: Any, size: Any) -> None:
        with builder.if_then(builder.icmp_signed(">=", size, size.type(LARGE)), likely=False):
            answer = self._call(builder, size.type(0), size)
            with builder.if_then(builder.icmp_signed("==", answer, size.type(0)), likely=False):
                context.call_conv.return_user_exc(builder, MemoryBudgetError, (MESSAGE,))

    def lower_take(self, builder: Any, pointer: Any, size: Any) -> None:
        with builder.if_then(builder.icmp_signed(">=", size, size.type(LARGE)), likely=False):
            self._call(builder, builder.ptrtoint(pointer, size.type), size)

    def _call(self, builder: Any, address: Any, size: Any) -> Any:
        word = llvm.IntType(64)
        return builder.call(cgutils.get_or_insert_function(builder.module, llvm.FunctionType(word, [word, word]), SYMBOL), [address, size])


memory.WATCHES.append(Watch())
