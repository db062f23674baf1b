"""A clock that compiled programs read themselves, and a mark in their code where they do.

On x86-64 it is the time-stamp counter, which counts at a constant rate; elsewhere `clock_gettime`. Its unit is found by comparing it with a clock of Python's.
Only programs of `stgrad.profile` call it.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

MONOTONIC = 6 if platform.system() == "Darwin" else 1
COUNTS = platform.machine() in ("x86_64", "AMD64")
MARK = "i,~{memory}"  # what tells the mark from other statements without instructions


@intrinsic(prefer_literal=True)
def now(typingctx: Any, mark: Any) -> Any:
    """The time, in units of the clock; what stands before it in the program is done before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        builder.asm(ir.FunctionType(ir.VoidType(), [word]), "", MARK, [word(mark.literal_value)], True)  # no instruction, but nothing moves past it
        if COUNTS:
            return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, []), "llvm.readcyclecounter"), [])
        time = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
        form = ir.FunctionType(ir.IntType(32), [ir.IntType(32), time.type])
        builder.call(cgutils.get_or_insert_function(builder.module, form, "clock_gettime"), [ir.IntType(32)(MONOTONIC), time])
        both = builder.load(time)
        return builder.add(builder.mul(builder.extract_value(both, 0), word(10**9)), builder.extract_value(both, 1))

    return types.int64(mark), codegen
