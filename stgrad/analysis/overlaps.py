"""Copies within one array whose result depends on the order: `x[::2] = x[:3]` reads items that it has written.

NumPy copies one axis item by item, in memory order, from the end if the source begins before the target (and makes no copy of the source first,
as it does for more axes and for opposite directions). That is as if the source were read first while both sides have one step; with two steps,
an item may be written before it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from stgrad.analysis.definitions import definitions
from stgrad.ir import NONE, Assign, Const, Function, Operand, Slice, Store, Var, entries_of, walk
from stgrad.ir.ops import operation


@dataclass(frozen=True)
class _Line:
    """Items of an array along one axis: its name, the rest of the index, and what is known of where they stand."""

    array: str
    rest: tuple[Operand, ...]
    lower: int | None
    step: int
    count: int | None  # there are no more


def unordered(fn: Function) -> Iterator[Store]:
    """The stores of which NumPy would read what it has written."""
    for stmt in walk(fn.body):
        if not (isinstance(stmt, Store) and stmt.mode == "set" and isinstance(stmt.value, Var) and fn.types[stmt.value.name].rank == 1):
            continue
        to, source = _of_index(fn, stmt.target, stmt.index), _of(fn, stmt.value)
        if to is not None and source is not None and (to.array, to.rest) == (source.array, source.rest) and not _in_order(to, source):
            yield stmt


def _of(fn: Function, var: Var) -> _Line | None:
    """The items that a view of one axis has."""
    made = definitions(fn).once.get(var.name)
    if isinstance(made, Assign) and made.op == "alias" and isinstance(made.args[0], Var):
        return _of(fn, made.args[0])
    if isinstance(made, Assign) and operation(made.op).kind == "element" and isinstance(made.args[0], Var):
        return _of_index(fn, made.args[0], made.args[1])
    if fn.types[var.name].rank != 1:
        return None
    return _Line(var.name, (), 0, 1, fn.types[var.name].dims[0].constant)


def _of_index(fn: Function, array: Var, index: Operand) -> _Line | None:
    entries = entries_of(index)
    cuts = [i for i, e in enumerate(entries) if isinstance(e, Slice)]
    if len(cuts) != 1:
        return None
    at, cut = cuts[0], entries[cuts[0]]
    assert isinstance(cut, Slice)
    rank = fn.types[array.name].rank
    rest = (*entries[:at], NONE, *entries[at + 1 :])
    extent = fn.types[array.name].dims[at].constant if len(entries) == rank else None
    whole = _of(fn, array) if rank == 1 else _Line(array.name, rest, 0, 1, extent)
    return None if whole is None else _cut(whole, cut)


def _cut(whole: _Line, cut: Slice) -> _Line | None:
    """A part of a line; None where it goes backwards, or nobody knows which way."""
    lower, upper, step = (None if part == NONE else _number(part) for part in (cut.lower, cut.upper, cut.step))
    step = 1 if cut.step == NONE else step
    if step is None or step <= 0:
        return None
    if (lower is None and cut.lower != NONE) or (lower or 0) < 0 and whole.count is None:
        return replace(whole, lower=None, step=whole.step * step, count=None)
    if whole.count is not None and (upper is not None or cut.upper == NONE):
        kept = range(whole.count)[slice(lower, upper, step)]
        return replace(whole, lower=_there(whole, kept.start), step=whole.step * step, count=len(kept))
    first = lower or 0
    count = None if upper is None or upper < 0 else len(range(first, upper, step))
    return replace(whole, lower=_there(whole, first), step=whole.step * step, count=count)


def _there(whole: _Line, number: int) -> int | None:
    return None if whole.lower is None else whole.lower + whole.step * number


def _number(operand: Operand) -> int | None:
    return operand.value if isinstance(operand, Const) and type(operand.value) is int else None


def _in_order(to: _Line, source: _Line) -> bool:
    """Whether every item is read before it is written."""
    if to.step == source.step:
        return True
    if to.lower is None or source.lower is None:
        return False
    backwards = source.lower < to.lower
    counts = [n for n in (to.count, source.count) if n is not None]
    if not counts:
        return to.step >= source.step if backwards else source.step >= to.step
    moves = [(to.lower + i * to.step, source.lower + i * source.step) for i in range(min(counts))]
    if backwards and moves and moves[-1][1] < to.lower:  # they do not overlap
        return True
    written: set[int] = set()
    for target, item in reversed(moves) if backwards else moves:
        if item in written:
            return False
        written.add(target)
    return True
