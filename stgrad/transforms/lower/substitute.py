"""Temporaries of the compiler go into the one statement that reads them.

Before: `_t[i] = b[i] + b[i+1]; _t_2[i] = _t[i] + b[i+2]; a[i] = 0.2 * _t_2[i]`; after: `a[i] = 0.2 * (b[i] + b[i+1] +
b[i+2])`. Nothing is computed twice: the reader meets each element once. What the temporary reads must not change
before the reader runs, nor while.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stgrad.transforms.lower.fuse import Same, disjoint
from stgrad.transforms.lower.nest import Axis, Buffer, Call, Expr, Fixed, Index, Kernel, Load, Position, Unit, loads, map_loads
from stgrad.transforms.lower.views import compose

SMALL = 6  # nodes of an expression that may be written twice


def substitute(units: list[Unit], buffers: Mapping[str, Buffer], shares: Same) -> list[Unit]:
    """Write single-use temporaries where they are read."""
    readers = count_readers(units)
    pending: dict[str, Kernel] = {}
    result: list[Unit | None] = []
    place: dict[str, int] = {}
    for unit in units:
        if isinstance(unit, Kernel):
            unit = _absorb(unit, pending, place, result, shares)
        _displace(unit, pending, shares)
        if isinstance(unit, Kernel) and _candidate(unit, buffers, readers):
            pending[unit.target] = unit
            place[unit.target] = len(result)
        result.append(unit)
    return [u for u in result if u is not None]


def count_readers(units: list[Unit]) -> dict[str, int]:
    """How many statements touch each buffer, its definition included."""
    counts: dict[str, int] = {}
    for unit in units:
        for name in {a.buffer for a in unit.accesses()}:
            counts[name] = counts.get(name, 0) + 1
    return counts


def _candidate(unit: Kernel, buffers: Mapping[str, Buffer], readers: Mapping[str, int]) -> bool:
    if unit.mode != "def" or not unit.target.startswith("_") or unit.target not in buffers or buffers[unit.target].escapes:
        return False
    return readers[unit.target] == 2 and bool(unit.space) and all(isinstance(e, (Axis, Fixed)) for e in unit.index)


def _displace(unit: Unit, pending: dict[str, Kernel], shares: Same) -> None:
    """Temporaries whose operands a statement writes must stay where they are."""
    written = [a.buffer for a in unit.accesses() if a.write]
    for name, waiting in list(pending.items()):
        if any(load.buffer == w or shares(load.buffer, w) for load in loads(waiting.expr) for w in written):
            del pending[name]


def _absorb(unit: Kernel, pending: dict[str, Kernel], place: dict[str, int], result: list[Unit | None], shares: Same) -> Kernel:
    for load in list(loads(unit.expr)):
        source = pending.get(load.buffer)
        found = [x for x in loads(unit.expr) if x.buffer == load.buffer]
        if source is None or any(x.index != load.index for x in found) or len(found) > 1 and size(source.expr) > SMALL:
            continue
        if not _once(load.index, source, unit) or _clash(source, unit, load.index, shares):
            continue
        moved = shift(source.expr, source.index, load.index)
        if moved is None:
            continue
        expr = map_loads(lambda x, name=load.buffer, by=moved: by if x.buffer == name else x, unit.expr)  # type: ignore[misc]
        unit = Kernel(unit.space, unit.target, unit.index, expr, unit.mode, unit.dtype, unit.loc, unit.note)
        result[place[load.buffer]] = None
        del pending[load.buffer]
    return unit


def _once(index: Index, source: Kernel, reader: Kernel) -> bool:
    """Whether the reader meets each element of the temporary at most once."""
    depths = {e.depth for e in index if isinstance(e, Axis)}
    return len(depths) == len(reader.space)


def _clash(source: Kernel, reader: Kernel, index: Index, shares: Same) -> bool:
    """Whether the reader writes, at another place, what the temporary reads."""
    moved = shift(source.expr, source.index, index)
    if moved is None:
        return True
    for load in loads(moved):
        if load.buffer == reader.target and (load.index != reader.index) and not disjoint(load.index, reader.index):
            return True
        if load.buffer != reader.target and shares(load.buffer, reader.target):
            return True
    return False


def shift(expr: Expr, own: Index, index: Index) -> Expr | None:
    """An expression of the element at `own`, for the element at `index`."""
    places = {e.depth: index[k] for k, e in enumerate(own) if isinstance(e, Axis)}
    return _Shift([places.get(d, Axis(d)) for d in range(max(places, default=-1) + 1)]).expr(expr)


class _Shift:
    def __init__(self, places: list[object]) -> None:
        self.places = places

    def expr(self, expr: Expr) -> Expr | None:
        if isinstance(expr, Load):
            index = compose(expr.index, self.places)  # type: ignore[arg-type]
            return None if index is None or list(_gathers(expr.index)) else Load(expr.buffer, index, expr.dtype, expr.weak)
        if isinstance(expr, Position):
            moved = compose((expr.axis,), self.places)  # type: ignore[arg-type]
            return Position(moved[0]) if moved is not None and isinstance(moved[0], Axis) else None
        if isinstance(expr, Call):
            args = [self.expr(a) for a in expr.args]
            known = tuple(a for a in args if a is not None)
            return Call(expr.op, known, expr.dtype, expr.weak) if len(known) == len(args) else None
        return expr


def _gathers(index: Index) -> Iterator[object]:
    return (e for e in index if not isinstance(e, (Axis, Fixed)) and hasattr(e, "expr"))


def size(expr: Expr) -> int:
    return 1 + sum(map(size, expr.args)) if isinstance(expr, Call) else 1
