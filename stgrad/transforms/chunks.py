"""Loops whose trips add to the same places are shared out in parts, each with a copy of its own, or in strips that do not touch.

    for i in range(n):                    parts = runtime.chunks(n, work, x_bar.size)
        x_bar[index[i]] += f(i)    ->     x_bar_parts = np.zeros((parts, x_bar.shape[0]))
                                          for part in numba.prange(parts):
                                              x_bar_part = x_bar_parts[part]
                                              for i in range(part * n // parts, (part + 1) * n // parts):
                                                  x_bar_part[index[i]] += f(i)
                                          for part in range(parts): x_bar += x_bar_parts[part]

Where trips differ in length, as in a triangle, they are dealt out in turn. Where all places are the counter plus constants on one axis, as in
a stencil, no copies are needed: the even parts run together, then the odd ones, each wider than the stencil. The parts depend on sizes
alone and are added up in order: results do not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.ir import (
    Assign,
    Block,
    Const,
    Dim,
    For,
    If,
    Operand,
    Pack,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    blocks,
    operand_vars,
    rename,
    walk,
)
from stgrad.names import Names

INT = Type("int64", weak=True)
INNER = 16  # trips of an inner loop, where work is compared
WHOLE = Slice(Const(None), Const(None), Const(None))


@dataclass
class Chunks:
    """Writes one loop in parts. `sums` are scalars that trips add to, `copied` arrays; `reach` is the width of strips instead of copies."""

    loop: For
    sums: Sequence[str]
    copied: Sequence[str]
    reach: int | None
    types: dict[str, Type]
    names: Names
    out: list[Stmt] = field(default_factory=list)

    def statements(self) -> list[Stmt]:
        """What stands in place of the loop."""
        trips = self.make("np.subtract", self.loop.stop, self.loop.start) if self.loop.start != Const(0) else self.loop.stop
        parts = self.parts(trips)
        copies = {n: self.zeros(n, parts) for n in (*self.sums, *(self.copied if self.reach is None else ()))}
        if self.reach is None:
            part = self.fresh("part", INT)
            self.out.append(self.shared(part, parts, self.part(part, parts, trips, copies)))
        else:
            self.out.append(self.phases(parts, trips, copies))
        self.gather(parts, copies)
        return self.out

    def parts(self, trips: Operand) -> Var:
        if self.reach is not None:
            return self.make("runtime.strips", trips, Const(self.reach), wish="parts")
        total: Operand = Const(max(len(self.sums), 1))
        for name in self.copied:
            total = self.make("np.add", total, self.size(name)) if total != Const(1) else self.size(name)
        return self.make("runtime.chunks", trips, Const(work(self.loop.body)), total, wish="parts")

    def size(self, name: str) -> Operand:
        extents = self.extents(name)
        total = extents[0]
        for extent in extents[1:]:
            total = self.make("np.multiply", total, extent)
        return total

    def extents(self, name: str) -> list[Operand]:
        return [self.make("shape", Var(name), Const(axis)) for axis in range(self.types[name].rank)]

    def zeros(self, name: str, parts: Var) -> Var:
        """Room for what each part adds."""
        type_ = self.types[name]
        shape = Pack((parts, *self.extents(name))) if type_.array else parts
        target = self.fresh(f"{name}_parts", Type(type_.dtype, (Dim(self.names.fresh("parts")), *type_.dims), array=True))
        dtype = () if type_.dtype == "float64" else (Const(np.dtype(type_.dtype).type),)
        self.out.append(Assign((target,), "np.zeros", (shape, *dtype)))
        return target

    def shared(self, part: Var, stop: Operand, body: Block) -> For:
        return For(part, Const(0), stop, Const(1), body, self.loop.loc, self.loop.note, parallel=True)

    def phases(self, parts: Var, trips: Operand, copies: dict[str, Var]) -> For:
        """The even parts, then the odd ones."""
        phase, pair, part = self.fresh("phase", INT), self.fresh("pair", INT), self.fresh("part", INT)
        outer, self.out = self.out, []
        more = self.make("np.subtract", parts, phase)
        stop = self.make("np.floor_divide", self.make("np.add", more, Const(1)), Const(2))
        before, self.out = self.out, []
        twice = self.make("np.multiply", Const(2), pair)
        self.out.append(Assign((part,), "np.add", (twice, phase)))
        ahead, self.out = self.out, outer
        body = (*ahead, *self.part(part, parts, trips, copies))
        return For(phase, Const(0), Const(2), Const(1), (*before, self.shared(pair, stop, body)))

    def part(self, part: Var, parts: Var, trips: Operand, copies: dict[str, Var]) -> Block:
        """One part of the loop on its own copies."""
        outer, self.out = self.out, []
        loop = self.every_nth(part, parts) if self.uneven() else self.stretch(part, parts, trips)
        own: dict[str, str] = {}
        for name, copy in copies.items():
            type_ = replace(self.types[name], value=None)
            own[name] = self.fresh(f"{name}_part", type_).name
            if type_.array:
                index: Operand = Pack((part, *(WHOLE for _ in type_.dims)))
                self.out.append(Assign((Var(own[name]),), "getitem", (copy, index)))
            else:
                self.out.append(Assign((Var(own[name]),), "alias", (Const(_zero(type_)),)))
        self.out.append(replace(loop, body=rename(self.loop.body, own), note=None, parallel=False))
        self.out += [Store(copies[n], part, Var(own[n])) for n in self.sums]
        body, self.out = tuple(self.out), outer
        return body

    def stretch(self, part: Var, parts: Var, trips: Operand) -> For:
        """Neighbouring trips."""
        first = self.bound(part, parts, trips)
        last = self.bound(self.make("np.add", part, Const(1)), parts, trips)
        return replace(self.loop, start=first, stop=last)

    def every_nth(self, part: Var, parts: Var) -> For:
        """Trips dealt out in turn."""
        first: Operand = part if self.loop.start == Const(0) else self.make("np.add", self.loop.start, part)
        return replace(self.loop, start=first, step=parts)

    def uneven(self) -> bool:
        """Whether an inner loop is longer in some trips than in others."""
        inner = [s for s in walk(self.loop.body) if isinstance(s, For)]
        moving = assigned((self.loop,))
        return self.reach is None and any(moving.intersection(operand_vars(o)) for s in inner for o in (s.start, s.stop))

    def bound(self, part: Operand, parts: Var, trips: Operand) -> Operand:
        before = self.make("np.floor_divide", self.make("np.multiply", part, trips), parts)
        return before if self.loop.start == Const(0) else self.make("np.add", self.loop.start, before)

    def gather(self, parts: Var, copies: dict[str, Var]) -> None:
        """Add what the parts added, in their order."""
        if not copies:
            return
        part = self.fresh("part", INT)
        body: list[Stmt] = []
        for name, copy in copies.items():
            body += self.added(name, copy, part)
        self.out.append(For(part, Const(0), parts, Const(1), tuple(body)))

    def added(self, name: str, copy: Var, part: Var) -> list[Stmt]:
        type_ = replace(self.types[name], array=False, dims=(), value=None)
        value = self.fresh("_t", type_)
        if not self.types[name].array:
            return [Assign((value,), "getitem", (copy, part)), Assign((Var(name),), "np.add", (Var(name), value))]
        counters = [self.fresh(wish, INT) for wish in "ijklmn"[: self.types[name].rank]]
        outer, self.out = self.out, []
        extents = self.extents(name)
        block: Block = (
            Assign((value,), "getitem", (copy, Pack((part, *counters)))),
            Store(Var(name), counters[0] if len(counters) == 1 else Pack(tuple(counters)), value, "add"),
        )
        for counter, extent in reversed(list(zip(counters, extents, strict=True))):
            block = (For(counter, Const(0), extent, Const(1), block),)
        before, self.out = self.out, outer
        return [*before, *block]

    def make(self, op: str, *args: Operand, wish: str = "_t") -> Var:
        target = self.fresh(wish, INT)
        self.out.append(Assign((target,), op, args))
        return target

    def fresh(self, wish: str, type_: Type) -> Var:
        name = self.names.fresh(wish)
        self.types[name] = type_
        return Var(name)


def work(body: Iterable[Stmt]) -> int:
    """Statements of a trip, those of inner loops as often as these may run."""
    total = 0
    for stmt in body:
        inner = sum(work(b) for b in blocks(stmt))
        total += inner * INNER if isinstance(stmt, (For, While)) else max(inner, 1) if isinstance(stmt, If) else 1
    return total


def _zero(type_: Type) -> object:
    return 0.0 if type_.dtype == "float64" else np.dtype(type_.dtype).type(0)
