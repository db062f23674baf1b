"""Reading and writing by an index where there are no axes: NumPy scalars, and arrays of one number."""

from __future__ import annotations

import gast
import numpy as np

from stgrad.frontend import indexing, operations
from stgrad.frontend.certainties import emit_raise
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Sym, Value, type_of


def load(frame: Frame, owner: Sym, index: Value) -> Value:
    """`x[...]`, `x[None]` and `x[mask]` of a NumPy scalar or an array without axes; None for other indices, which it has not."""
    entries = index if isinstance(index, tuple) else (index,)
    if all(e is None or e is Ellipsis for e in entries) and not (owner.type.array and None not in entries):
        axes = sum(e is None for e in entries)
        return owner if not axes else frame.call(np.reshape, (owner, (1,) * axes), {})
    if len(entries) == 1 and indexing.is_flag(entries[0]):
        return indexing.load(frame, frame.call(np.atleast_1d, (owner,), {}), frame.call(np.atleast_1d, entries, {}), None)
    return None


def store(frame: Frame, owner: Sym, mask: Value, value: Value) -> None:
    """`owner[mask] = value` where both have no axes: the value, or the only item of an array of one, where the mask is true."""

    def write() -> None:
        item = value
        if type_of(value).rank:
            one = operations.binary(frame, gast.Eq, operations.extent(frame, value, 0), 1)
            if isinstance(one, Sym):
                branch(frame, one, lambda: None, lambda: emit_raise(frame, "ValueError", "NumPy boolean array indexing assignment"), "_t")
            item = indexing.load(frame, value, (0,) * type_of(value).rank, None)
        indexing.store(frame, owner, Ellipsis, item, None)

    branch(frame, mask, write, lambda: None, "_t") if isinstance(mask, Sym) else write() if mask else None
