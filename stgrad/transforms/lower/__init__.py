"""Lowering: a typed array program to explicit loops over scalars.

The result is the same program in the same language, fit for Numba and for plain Python: elementwise statements, slices and
reductions are loop nests, temporaries are locals, stacks are preallocated arrays. What cannot be proved stays a NumPy call.
"""

from __future__ import annotations

from collections.abc import Callable

from stgrad.ir import Function
from stgrad.transforms.lower.casts import casts
from stgrad.transforms.lower.growable import growable
from stgrad.transforms.lower.nests import to_loops
from stgrad.transforms.lower.packed import packed
from stgrad.transforms.lower.registers import registers
from stgrad.transforms.lower.storage import storage

PASSES: tuple[Callable[[Function], Function], ...] = (storage, casts, to_loops, registers, packed, growable)


def lower(fn: Function) -> Function:
    """Run all passes."""
    for step in PASSES:
        fn = step(fn)
    return fn
