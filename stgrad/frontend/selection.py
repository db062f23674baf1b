"""Known lists, tuples and dicts read and written at a place that the running program finds: a branch for each entry.

    table[k]        ->      if k == 0: t = table[0]
                            else:
                                if k == 1: t = table[1]
                                else: raise KeyError

Entries must be of one kind, as those of two paths. Where the program can be compiled for the place itself (an integer argument, the counter
of a short loop), it is: selections are read where that has failed (`SELECTS`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from stgrad.frontend import operations
from stgrad.frontend.certainties import emit_raise
from stgrad.frontend.control import branch
from stgrad.frontend.departures import Leaves
from stgrad.frontend.frame import Frame
from stgrad.frontend.joins import SELECTS
from stgrad.frontend.values import Sym, Value

MOST = 32  # entries


def selectable(owner: Value, index: Value) -> bool:
    """Whether a container has few enough entries, under numbers, and the place is a number."""
    if not SELECTS.get() or not isinstance(index, Sym) or index.type.rank or index.type.array or index.type.dtype.startswith("complex"):
        return False
    if isinstance(owner, dict):
        return type(owner) is dict and 0 < len(owner) <= MOST and all(isinstance(k, (int, float)) for k in owner)
    return isinstance(owner, (list, tuple)) and 0 < len(owner) <= MOST and index.type.dtype == "int64"


def select(frame: Frame, owner: Value, index: Sym, at: Callable[[Any], Value], missing: Callable[[], Value] | None = None) -> Value:
    """`at(key)` for the entry that the running program asks for; else `missing()`, or what Python raises."""
    if isinstance(owner, dict):
        keys, place = list(owner), index
    else:
        _test_ends(frame, index, len(owner))
        keys, place = list(range(len(owner))), operations.binary(frame, gast.Mod, index, len(owner))

    def absent() -> Value:
        if missing is not None:
            return missing()
        emit_raise(frame, "KeyError", "a key that the dict does not have")
        raise Leaves(KeyError)

    def chain(left: list[Any]) -> Value:
        if not left:
            return absent()
        if len(left) == 1 and not isinstance(owner, dict):
            return at(left[0])
        here = operations.binary(frame, gast.Eq, place, left[0])
        assert isinstance(here, Sym)
        return branch(frame, here, lambda: at(left[0]), lambda: chain(left[1:]), "_t")

    return chain(keys)


def _test_ends(frame: Frame, index: Sym, count: int) -> None:
    for outside in (operations.binary(frame, gast.GtE, index, count), operations.binary(frame, gast.Lt, index, -count)):
        if isinstance(outside, Sym):
            branch(frame, outside, lambda: emit_raise(frame, "IndexError", "list index out of range"), lambda: None, "_t")
