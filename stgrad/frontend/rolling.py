"""Loops over constants: the trips are one loop of the program, and the constants stand in tables.

    for x, w in NODES:                  for k in range(64):
        s += w * f(x)         ->            s += w_table[k] * f(x_table[k])

The items are numbers of one class, or tuples of one structure of such, and a trip for each would be too much to write: there are many of them, or a
trip is long. In the loop an item is a number of the running program. Where it has to be known while the program is made (a position in a list, an exponent,
a shape), or where the trips do not treat all items alike, the trips are written out after all. So they are where a trip leaves nothing for the
running program to do, and where one changes what the loop runs over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend.certainties import RAISED
from stgrad.frontend.departures import Leaves
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import State, contents
from stgrad.frontend.indexing import above
from stgrad.frontend.iteration import Enumerate, Mapped, Range, Reversed, Zip, count_items, known_items
from stgrad.frontend.operations import binary
from stgrad.frontend.selection import SELECTS
from stgrad.frontend.values import DictView, Growing, Sym, Value, is_number, leaves, rebuild, scalar_type
from stgrad.ir import Assign, Const, Stmt, walk

FEW = 16  # trips that are written out where they make no more than so many statements:
MUCH = 160
SHORTEST = 3


@dataclass(frozen=True)
class Long:
    """What a loop over constants runs over: how many items there are, and the k-th, for numbers that are known and for those of the running program."""

    length: Value
    item: Callable[[Value], Value]
    held: tuple[tuple[Value, dict[Any, Value]], ...] = ()  # the lists and dicts that the items are in, and what they held before
    few: int = 0  # how many, where they are so few that it is for the trips to say whether they are written out
    before: State | None = None  # with `few`, what it was before anything was asked of the items


def long(frame: Frame, value: Value, node: Any, *, ranges: bool = False) -> Long | None:
    """What a loop over constants runs over; None where there are too few of them, or where they are not of one kind. `ranges`: one may be a loop or not."""
    many = _known_length(value, ranges)
    if ASSUMPTION.get().written_out or frame.unroll or many < SHORTEST:
        return None
    if many > FEW:
        return _items(frame, value, node)
    state = State(frame)
    found = _items(frame, value, node)
    if found is None:
        state.restore()
    return None if found is None else replace(found, few=many, before=state)


def _known_length(value: Value, ranges: bool) -> int:
    """How many constants a loop runs over; 0 where it runs over something else."""
    if isinstance(value, (Enumerate, Reversed)):
        return _known_length(value.inner, ranges)
    if isinstance(value, Mapped):
        return _known_length(value.inners, ranges)
    if isinstance(value, Zip):
        return max((_known_length(v, False) for v in value.inners), default=0)
    if isinstance(value, Growing):
        return value.count if type(value.count) is int else 0
    if isinstance(value, Range):
        return len(value.known) if ranges and value.known is not None else 0
    return len(value) if isinstance(value, (list, tuple, dict)) else 0


def _items(frame: Frame, value: Value, node: Any) -> Long | None:
    if isinstance(value, Enumerate):
        inner = _items(frame, value.inner, node)
        return None if inner is None else Long(inner.length, lambda k: (_numbered(frame, k, value.start), inner.item(k)), inner.held)
    if isinstance(value, Mapped):
        inner = _items(frame, value.inners, node)
        return None if inner is None else Long(inner.length, lambda k: frame.call(value.function, tuple(inner.item(k)), {}), inner.held)
    if isinstance(value, Zip):
        return _zipped(frame, [_items(frame, v, node) for v in value.inners])
    owner = value.owner if isinstance(value, DictView) else value
    held = ((owner, contents(owner)),) if isinstance(owner, (list, dict, Growing)) else ()
    if isinstance(value, Growing):
        return Long(value.count, lambda k: above("growing").item(frame, value, k), held)
    items = known_items(frame, value, node)
    if items is not None:
        item = _constants(frame, items)
        return None if item is None else Long(len(items), item, held)
    counted = count_items(frame, value, node)
    return None if counted.length is None else Long(counted.length, counted.item)


def _zipped(frame: Frame, columns: Sequence[Long | None]) -> Long | None:
    if any(c is None for c in columns):
        return None
    found = [c for c in columns if c is not None]
    known = [c.length for c in found if isinstance(c.length, int)]
    ends = [*([min(known)] if known else []), *(c.length for c in found if not isinstance(c.length, int))]
    length = ends[0] if len(ends) == 1 else frame.call(min, tuple(ends), {})
    return Long(length, lambda k: tuple(c.item(k) for c in found), tuple(h for c in found for h in c.held))


def _numbered(frame: Frame, k: Value, start: Value) -> Value:
    if isinstance(k, Sym):
        frame.builder.tabled[k.name] = None
    return k if isinstance(start, int) and start == 0 else binary(frame, gast.Add, k, start)


# --------------------------------------------------------------------------- tables


def _constants(frame: Frame, items: Sequence[Value]) -> Callable[[Value], Value] | None:
    """The k-th of constants of one kind; None for others."""
    kinds = [_kind(item) for item in items]
    if not items or kinds[0] is None or any(kind != kinds[0] for kind in kinds):
        return None
    columns = [_Column(column) for column in zip(*map(leaves, items), strict=True)]
    if any(isinstance(c.first, int) and c.table.dtype == object for c in columns):
        return None  # integers that no word holds

    def item(k: Value) -> Value:
        if not isinstance(k, Sym):
            return items[k]
        made = _filled(items[0], iter([column.at(frame, k) for column in columns]))
        frame.captured.protect("an item of a loop", made)
        return made

    return item


def _kind(value: Value) -> Any:
    """Equal for constants that a loop may treat alike: the class of a number, the structure of a tuple; None where there is something else."""
    if isinstance(value, (tuple, list)):
        kinds = tuple(map(_kind, value))
        return None if None in kinds else (type(value), kinds)
    if is_number(value) and np.dtype(type(value)).kind in "biufc":
        return type(value)
    return ("the same", value) if isinstance(value, str) else None


def _filled(like: Value, values: Any) -> Value:
    """A structure with other leaves."""
    return rebuild(like, [_filled(v, values) for v in like]) if isinstance(like, (tuple, list)) else next(values)


class _Column:
    """What one number of an item is in each of the trips."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values, self.first = values, values[0]
        self.alike = isinstance(self.first, str) or len({repr(v) for v in values}) == 1
        self.table = np.array(values) if isinstance(self.first, (bool, int, str)) else np.array(values, scalar_type(self.first).dtype)

    def at(self, frame: Frame, k: Sym) -> Value:
        if self.alike:
            return self.first
        builder, type_ = frame.builder, replace(scalar_type(self.first), value=None)
        table = frame.captured.table(builder, self.table)
        found: Sym = builder.call("getitem", (table, k), type_)
        builder.tabled[found.name] = tuple(self.values)
        return found


def picked(frame: Frame, owner: Value, index: Value) -> Value | None:
    """The item of a long list or tuple of constants at a position that the running program knows; None for other lists."""
    assumption = ASSUMPTION.get()
    position = isinstance(index, Sym) and not index.type.array and index.type.dtype == "int64" and index.name not in frame.builder.tabled
    if not position or assumption.written_out or frame.unroll or not isinstance(owner, (list, tuple)) or len(owner) <= FEW:
        return None
    item = _constants(frame, owner)
    if item is None:
        return None
    assumption.rolled = True
    return item(index)


# --------------------------------------------------------------------------- reading the loop


def roll(frame: Frame, found: Long, trip: Callable[[Value], None], read: Callable[[], None]) -> bool:
    """Whether `read` has read a loop as one of the running program; where it cannot be one, nothing has been read."""
    state = State(frame)
    before = found.before or state
    token = SELECTS.set(False)  # a position in a list is cheaper where it is known
    try:
        if not _works(frame, found, trip):
            before.restore()
            return False
        state.restore()
        read()
        if all(_same(contents(container), before) for container, before in found.held):
            ASSUMPTION.get().rolled = True
            return True
    except (errors.StgradError, Leaves, *RAISED):
        pass
    finally:
        SELECTS.reset(token)
    before.restore()
    return False


def _works(frame: Frame, found: Long, trip: Callable[[Value], None]) -> bool:
    """Whether the first trip leaves something for the running program to do, and with few trips, whether all of them would be much to write."""
    trying, frame.builder.trying = frame.builder.trying, True
    try:
        with frame.builder.block() as block:
            trip(found.item(0))
    finally:
        frame.builder.trying = trying
    if found.few and found.few * sum(1 for _ in walk(tuple(block))) <= MUCH:
        return False
    return not all(map(_is_known, block))


def _is_known(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and stmt.op == "alias" and all(isinstance(a, Const) for a in stmt.args)


def _same(now: dict[Any, Value], before: dict[Any, Value]) -> bool:
    return list(now) == list(before) and all(now[k] is before[k] for k in now)
