"""Reading and writing by an index where there are no axes: NumPy scalars, arrays of one number, and masks that are one flag.

A flag in an index stands for an axis of its own, with one item or none:

    y = x[ok, 0]                y = x[None][np.array([ok]), 0]
    x[ok, 0] = v        ->      if ok: x[0] = v
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from stgrad.frontend import indexing, operations
from stgrad.frontend.certainties import emit_raise
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Sym, Value, type_of


def load(frame: Frame, owner: Sym, index: Value) -> Value:
    """`x[...]` and `x[None]` of a NumPy scalar or an array without axes, `x[ok]` of any; None for other indices."""
    entries = index if isinstance(index, tuple) else (index,)
    if any(map(indexing.is_flag, entries)):
        return _picked(frame, owner, entries)
    if owner.type.rank:
        return None
    if all(e is None or e is Ellipsis for e in entries) and not (owner.type.array and None not in entries):
        axes = sum(e is None for e in entries)
        return owner if not axes else frame.call(np.reshape, (owner, (1,) * axes), {})
    return None


def _picked(frame: Frame, owner: Sym, entries: tuple[Value, ...]) -> Value:
    """What an index with flags picks: each takes an axis of one item that is put where it stands."""
    axes: list[Value] = []
    for e in entries:
        axes += [None] if indexing.is_flag(e) else [Ellipsis] if e is Ellipsis else [slice(None)] * indexing.axes_of(e)
    number = owner if owner.type.rank or not owner.type.array else indexing.load(frame, owner, (), None)
    wide = indexing.load(frame, owner, tuple(axes), None) if owner.type.rank else frame.call(np.reshape, (number, (1,) * axes.count(None)), {})
    masks = tuple(frame.call(np.atleast_1d, (e,), {}) if indexing.is_flag(e) else e for e in entries)
    return indexing.load(frame, wide, masks if len(masks) > 1 else masks[0], None)


def flagged(index: Value) -> bool:
    """Whether a flag stands in an index, beside what is no array."""
    entries = index if isinstance(index, tuple) else (index,)
    arrays = any(isinstance(e, (list, np.ndarray)) or isinstance(e, Sym) and e.type.rank for e in entries)
    return any(map(indexing.is_flag, entries)) and not arrays


def store(frame: Frame, owner: Sym, index: Value, value: Value, write: Callable[[Value, Value], None]) -> None:
    """`owner[ok, rest] = value`: `write(rest, value)` where all flags are up. What has an axis for the flag has one item there."""
    entries = index if isinstance(index, tuple) else (index,)
    rest: Value = tuple(e for e in entries if not indexing.is_flag(e)) or (Ellipsis if owner.type.rank else ())

    def written() -> None:
        target = indexing.indexed_type(frame.builder, owner.type, indexing.normalise(frame, owner, rest, None))
        item, more = value, type_of(value).rank - target.rank
        for axis in range(more):
            one = operations.binary(frame, gast.Eq, operations.extent(frame, value, axis), 1)
            if isinstance(one, Sym):
                branch(frame, one, lambda: None, lambda: emit_raise(frame, "ValueError", "NumPy boolean array indexing assignment"), "_t")
        write(rest, indexing.load(frame, item, (0,) * more, None) if more > 0 else item)

    def under(flags: list[Value]) -> None:
        if not flags:
            written()
        elif isinstance(flags[0], Sym):
            branch(frame, flags[0], lambda: under(flags[1:]), lambda: None, "_t")
        elif flags[0]:
            under(flags[1:])

    under([e for e in entries if indexing.is_flag(e)])


def item(frame: Frame, x: Sym, *index: Value) -> Value:
    """`x.item()` of an array with one item, and `x.item(i)`: a number of Python's."""
    index = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    if not index:
        must_be_one(frame, x, "can only convert an array of size 1 to a Python scalar")
    if len(index) == 1 and x.type.rank > 1:
        x = frame.call(np.ravel, (x,), {})
    scalar = indexing.load(frame, x, tuple(index) if index else (0,) * x.type.rank, None) if x.type.array and x.type.rank else x
    kind = {"f": "float", "i": "int", "u": "int", "b": "bool", "c": "complex"}[np.dtype(x.type.dtype).kind]
    return operations.cast_scalar(frame, scalar, kind)


def must_be_one(frame: Frame, x: Sym, message: str) -> None:
    """Raise NumPy's error where an array has another number of items than one."""
    if any(dim.constant != 1 for dim in x.type.dims):
        frame.call(_demand_one, (x, message), {})


def _demand_one(x: Any, message: str) -> None:
    if np.size(x) != 1:
        raise ValueError(message)
