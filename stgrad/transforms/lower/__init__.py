"""Lowering: a typed array program to explicit loops over scalars.

The result is the same program in the same language, fit for Numba and for plain Python: elementwise statements, slices and
reductions are loop nests, temporaries are locals, stacks are preallocated arrays. What cannot be proved stays a NumPy call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from stgrad.ir import Function
from stgrad.transforms.lower.agree import agree
from stgrad.transforms.lower.casts import casts
from stgrad.transforms.lower.columns import columns
from stgrad.transforms.lower.growable import growable
from stgrad.transforms.lower.hits import hits
from stgrad.transforms.lower.hoist import hoist
from stgrad.transforms.lower.invariants import invariants
from stgrad.transforms.lower.layouts import layouts
from stgrad.transforms.lower.masked import masked
from stgrad.transforms.lower.neighbours import neighbours
from stgrad.transforms.lower.nests import to_loops
from stgrad.transforms.lower.packed import packed
from stgrad.transforms.lower.reciprocals import reciprocals
from stgrad.transforms.lower.registers import registers
from stgrad.transforms.lower.settle import settle
from stgrad.transforms.lower.storage import storage
from stgrad.transforms.lower.tables import tables

Pass = Callable[[Function], Function]


# Bound here: several passes have the name of their file, and importing the file alone would put the module in the function's place.
_PASSES: dict[str, Pass] = {
    "settle": settle,
    "agree": agree,
    "storage": storage,
    "hoist": hoist,
    "casts": casts,
    "loops": to_loops,
    "invariants": invariants,
    "registers": registers,
    "neighbours": neighbours,
    "columns": columns,
    "layouts": layouts,
    "tables": tables,
    "hits": hits,
    "reciprocals": reciprocals,
    "masked": masked,
    "packed": packed,
    "growable": growable,
}


def lowering(without: Collection[str] = ()) -> dict[str, Pass]:
    """The passes by name and in order; `without` names parts of `to_loops` that it does without."""
    return {**_PASSES, "loops": partial(to_loops, without=frozenset(without))}


def lower(fn: Function) -> Function:
    """Run all passes."""
    for step in lowering().values():
        fn = step(fn)
    return fn
