"""Temporaries of the compiler go into the one statement that reads them; cheap ones that are read at neighbours into all.

Before: `_t[i] = b[i] + b[i+1]; _t_2[i] = _t[i] + b[i+2]; a[i] = 0.2 * _t_2[i]`; after: `a[i] = 0.2 * (b[i] + b[i+1] +
b[i+2])`. The reader meets each element once. `flux[i] = 0.5 * u[i] * u[i]; new[i] = flux[i+1] - flux[i]` computes the two products twice
then, which takes less than a loop of its own. What the temporary reads must not change before the reader runs, nor while.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def blur(x):
    ...     y = x[1:] + x[:-1]
    ...     z = y[1:] + y[:-1]
    ...     return z
    >>> show_pass("substitute", stgrad.jit(blur), np.ones(9))
    n = x.shape[0]
    y = np.empty(max(n - 1, 0))
    for i in range(n - 1):
        y[i] = x[i + 1] + x[i]
    z = np.empty(max(n - 2, 0))
    for i in range(n - 2):
        z[i] = y[i + 1] + y[i]
    return z
    ->
    n = x.shape[0]
    z = np.empty(max(n - 2, 0))
    for i in range(n - 2):
        t = x[i + 1]
        z[i] = x[i + 2] + t + (t + x[i])
    return z
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from stgrad.ir.ops import operation
from stgrad.transforms.lower.fuse import Memory, disjoint
from stgrad.transforms.lower.nest import (
    Axis,
    Buffer,
    Call,
    Expr,
    Fixed,
    Gather,
    Given,
    Index,
    Kernel,
    Load,
    Position,
    Unit,
    loads,
    map_loads,
)
from stgrad.transforms.lower.views import compose

SMALL = 6  # nodes of an expression that may be written twice
WORK = 12  # operations that all readers of a temporary together may repeat


def substitute(units: list[Unit], buffers: Mapping[str, Buffer], shares: Memory) -> list[Unit]:
    """Write single-use temporaries where they are read."""
    state = _Substitution(buffers, shares, count_readers(units), loads_of(units))
    for unit in units:
        state.unit(unit)
    return [u for u in state.result if u is not None]


def count_readers(units: list[Unit]) -> dict[str, int]:
    """How many statements touch each buffer, its definition included."""
    counts: dict[str, int] = {}
    for unit in units:
        for name in {a.buffer for a in unit.accesses()}:
            counts[name] = counts.get(name, 0) + 1
    return counts


def loads_of(units: list[Unit]) -> Counter[str]:
    """How many elements of each buffer expressions read."""
    return Counter(load.buffer for u in units if isinstance(u, Kernel) for load in loads(u.expr))


def work(expr: Expr) -> int:
    """Operations of an expression; too many where one of them is not cheap."""
    if not isinstance(expr, Call):
        return 0
    cost = operation(expr.op).cost
    return (1 if cost is not None and cost <= 1 else WORK + 1) + sum(map(work, expr.args))


@dataclass
class _Substitution:
    """`counts`: how often each buffer is read; `pending`: definitions that may still be written elsewhere; `place`: where they stand in `result`."""

    buffers: Mapping[str, Buffer]
    shares: Memory
    readers: dict[str, int]
    counts: Counter[str]
    pending: dict[str, Kernel] = field(default_factory=dict)
    reads: dict[str, set[Hashable]] = field(default_factory=dict)  # where the operands of a definition are
    place: dict[str, int] = field(default_factory=dict)
    result: list[Unit | None] = field(default_factory=list)

    def unit(self, unit: Unit) -> None:
        if isinstance(unit, Kernel):
            unit = self.absorb(unit)
        self.displace(unit)
        if isinstance(unit, Kernel) and self.candidate(unit):
            self.pending[unit.target] = unit
            self.reads[unit.target] = {self.shares.place(load.buffer) for load in loads(unit.expr)}
            self.place[unit.target] = len(self.result)
        self.result.append(unit)

    def candidate(self, unit: Kernel) -> bool:
        if unit.mode != "def" or unit.target not in self.buffers or self.buffers[unit.target].escapes:
            return False
        single = unit.target.startswith("_") and self.readers[unit.target] == 2
        return (single or self.repeatable(unit)) and bool(unit.space) and all(isinstance(e, (Axis, Fixed)) for e in unit.index)

    def repeatable(self, unit: Kernel) -> bool:
        """Whether a temporary is so cheap, with all that went into it, that each reader may compute what it needs."""
        return unit.mode == "def" and work(unit.expr) * self.counts[unit.target] <= WORK

    def displace(self, unit: Unit) -> None:
        """Temporaries whose operands a statement writes must stay where they are."""
        written = {a.buffer for a in unit.accesses() if a.write}
        places = self.shares.of(unit).written
        for name in [n for n in self.pending if n in written or not places.isdisjoint(self.reads[n])]:
            del self.pending[name]

    def absorb(self, unit: Kernel) -> Kernel:
        """The statement with the expressions of temporaries in place of them."""
        for name in dict.fromkeys(load.buffer for load in loads(unit.expr) if load.buffer in self.pending):
            source = self.pending[name]
            found = [x for x in loads(unit.expr) if x.buffer == name]
            if not self.suits(source, unit, found) or any(isinstance(e, Gather) for x in loads(unit.expr) for e in x.index):
                continue
            moved = {x: shift(source.expr, source.index, x.index) for x in found}
            if any(m is None or _clash(source, unit, x.index, self.shares) for x, m in moved.items()):
                continue
            unit = replace(unit, expr=map_loads(lambda x, moved=moved: moved.get(x) or x, unit.expr))  # type: ignore[misc]
            self.readers[name] -= 1
            if self.readers[name] == 1:
                self.result[self.place[name]] = None
                del self.pending[name]
        return unit

    def suits(self, source: Kernel, unit: Kernel, found: list[Load]) -> bool:
        """Whether to write a temporary into a statement that reads it at these places."""
        if not all(_once(x.index, source, unit) for x in found):
            return False
        same = all(x.index == found[0].index for x in found)
        if source.target.startswith("_") and self.readers[source.target] == 2 and same:
            return len(found) == 1 or size(source.expr) <= SMALL
        apart = unit.space != source.space or any(x.index != source.index for x in found)
        return apart and self.repeatable(source)


def _once(index: Index, source: Kernel, reader: Kernel) -> bool:
    """Whether the reader meets each element of the temporary at most once."""
    depths = {e.depth for e in index if isinstance(e, Axis)}
    return len(depths) == len(reader.space)


def _clash(source: Kernel, reader: Kernel, index: Index, shares: Memory) -> bool:
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
            if any(isinstance(e, Axis) and isinstance(self.places[e.depth], (Given, Gather)) for e in expr.index):
                return None  # it may count from the end, and this buffer may end elsewhere
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
