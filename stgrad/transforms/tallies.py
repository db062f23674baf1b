"""How many bytes the trips of loops keep for the reverse sweep: statements that count them before a loop, from the extents of arrays and from bounds.

What is kept is read off the gradient program without a budget (`pushed`): the values that it pushes on lists, each by the loops around it. A size is told
where its extents and the bounds of inner loops are those of something that is there when the loop is entered; else it is unknown (None).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.ir import Assign, Block, Const, Dim, For, Function, If, Operand, Push, Stmt, Store, Type, Var, While, blocks, walk
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.checkpoints import carried
from stgrad.transforms.counters import counter

INT = Type("int64", weak=True)
GROWS = 3  # what a list takes of its items' size while it grows: the old memory, and new one of twice its size


@dataclass(frozen=True)
class Pushed:
    """A value that each trip keeps: its type, the counters of the loops around it, outermost first (None: there is none).

    `branched`: not each trip keeps one. `open`: the counters of those loops that are `while`s.
    """

    type: Type
    loops: tuple[str | None, ...]
    branched: bool
    open: frozenset[str | None] = frozenset()

    @property
    def grows(self) -> bool:
        """Whether its list grows as it is filled, as nobody knows its length."""
        return not self.type.array and (self.branched or any(name in self.open for name in self.loops))


def pushed(fn: Function) -> list[Pushed]:
    """What the loops of a gradient program push on lists."""
    found = []
    for path in _paths(fn.body):
        push = path[-1]
        if isinstance(push, Push):
            loops = tuple(counter(s) for s in path if isinstance(s, (For, While)))
            whiles = frozenset(counter(s) for s in path if isinstance(s, While))
            found.append(Pushed(fn.types[push.stack], loops, any(isinstance(s, If) for s in path), whiles))
    return found


def filled(fn: Function, arrays: frozenset[str]) -> list[Pushed]:
    """What the loops of a program write to rows of some arrays, one for each trip: factors of a product that is done behind the loop."""
    found = []
    for path in _paths(fn.body):
        store = path[-1]
        if isinstance(store, Store) and store.target.name in arrays:
            type_ = fn.types[store.target.name]
            loops = tuple(counter(s) for s in path if isinstance(s, (For, While)))
            found.append(Pushed(replace(type_, dims=type_.dims[1:]), loops, False))
    return found


def _paths(block: Block) -> Iterator[tuple[Stmt, ...]]:
    for stmt in block:
        yield (stmt,)
        for inner in blocks(stmt):
            for path in _paths(inner):
                yield (stmt, *path)


def witnesses(stmt: Stmt, types: Mapping[str, Type]) -> Iterator[tuple[str, str, int | None, int]]:
    """The symbols that a statement's results tell: symbol, name, axis (None: the number itself) and offset."""
    if isinstance(stmt, Assign):
        for target in stmt.targets:
            yield from told(target.name, types)


def told(name: str, types: Mapping[str, Type]) -> Iterator[tuple[str, str, int | None, int]]:
    type_ = types[name]
    for axis, dim in enumerate(type_.dims):
        if dim.symbol is not None:
            yield dim.symbol, name, axis, dim.offset
    if not type_.array and type_.value is not None and type_.value.symbol is not None:
        yield type_.value.symbol, name, None, type_.value.offset


@dataclass
class Tally:
    """Counts what one loop keeps, in statements for the place before it.

    `there`: where the value of each symbol is read there; `bound`: integers that are there.
    """

    names: Names
    types: dict[str, Type]
    there: Mapping[str, tuple[str, int | None, int]]
    bound: frozenset[str]
    out: list[Stmt] = field(default_factory=list)
    moving: frozenset[str] = frozenset()  # what a loop carries from trip to trip

    # ------------------------------------------------------------- arithmetic

    def make(self, op: str, *args: Operand, wish: str = "_t", type_: Type = INT) -> Var:
        name = self.names.fresh(wish)
        self.types[name] = type_
        self.out.append(Assign((Var(name),), op, args))
        return Var(name)

    def times(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(a.value * b.value)
        return b if a == Const(1) else a if b == Const(1) else self.make("np.multiply", a, b)

    def plus(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(a.value + b.value)
        return b if a == Const(0) else a if b == Const(0) else self.make("np.add", a, b)

    def count(self, start: Operand, stop: Operand, step: Operand) -> Operand:
        """The trips of a range."""
        if not (isinstance(step, Const) and isinstance(step.value, int) and step.value):
            return self.make("max", self.make("np.negative", self.make("np.floor_divide", self.make("np.subtract", start, stop), step)), Const(0))
        by = step.value
        if isinstance(start, Const) and isinstance(stop, Const):
            return Const(len(range(start.value, stop.value, by)))
        span = stop if start == Const(0) and by > 0 else self.make("np.subtract", *((stop, start) if by > 0 else (start, stop)))
        whole = span if abs(by) == 1 else self.make("np.floor_divide", self.plus(span, Const(abs(by) - 1)), Const(abs(by)))
        return self.make("max", whole, Const(0))

    # ------------------------------------------------------------- what is known

    def extent(self, dim: Dim) -> Operand | None:
        if dim.symbol is None:
            return Const(max(dim.offset, 0))
        if dim.symbol not in self.there:
            return None
        name, axis, offset = self.there[dim.symbol]
        value = Var(name) if axis is None else self.make("shape", Var(name), Const(axis))
        if dim.offset == offset:
            return value
        return self.make("max", self.plus(value, Const(dim.offset - offset)), Const(0))

    def integer(self, operand: Operand, body: Block, ends: Mapping[str, Operand]) -> Operand | None:
        """A number that a loop's body computes, as it is told before the loop; counters of loops have the values of `ends`."""
        if not isinstance(operand, Var):
            return operand
        if operand.name in ends:
            return ends[operand.name]
        if operand.name in self.moving:
            return None
        if operand.name in self.bound:
            return operand
        made = [s for s in walk(body) if isinstance(s, Assign) and operand in s.targets]
        type_ = self.types[operand.name]
        if not type_.array and type_.value is not None:
            value = self.extent(type_.value)
            if value is not None:
                return value
        if len(made) != 1 or not counts(made[0], self.types):
            return None
        if operation(made[0].op).kind == "extent":
            array, axis = made[0].args
            assert isinstance(array, Var) and isinstance(axis, Const)
            return self.extent(self.types[array.name].dims[axis.value])
        args = [self.integer(a, body, ends) for a in made[0].args]
        known = [a for a in args if a is not None]
        return self.make(made[0].op, *known) if len(known) == len(args) else None

    def trips(self, loop: For, body: Block, ends: Mapping[str, Operand]) -> Operand | None:
        """The trips of a loop in the body of another one."""
        bounds = [self.integer(o, body, ends) for o in (loop.start, loop.stop, loop.step)]
        known = [o for o in bounds if o is not None]
        return self.count(*known) if len(known) == 3 else None

    def most(self, loop: For, body: Block, around: Sequence[For]) -> Operand | None:
        """The trips of a loop in the longest run, where its bounds move one way with the counters of the loops around it."""
        found: list[Operand] = []
        for last in (False, True):
            ends: dict[str, Operand] = {}
            for outer in around:
                bounds = [self.integer(o, body, ends) for o in (outer.start, outer.stop, outer.step)]
                known = [o for o in bounds if o is not None]
                if len(known) < 3:
                    return None
                ends[outer.var.name] = self.make("np.subtract", known[1], known[2]) if last else known[0]
            trips = self.trips(loop, body, ends)
            if trips is None:
                return None
            if trips not in found:
                found.append(trips)
        return found[0] if len(found) == 1 else self.make("max", *found)

    def kept(self, loop: For | While, values: Sequence[Pushed]) -> Operand | None:
        """The bytes that a trip of a loop keeps; None where nobody can tell before it runs."""
        self.moving = frozenset(carried(loop)).union(*(carried(s) for s in walk(loop.body) if isinstance(s, (For, While))))
        inner = {s.var.name: s for s in walk(loop.body) if isinstance(s, For)}
        total: Operand = Const(0)
        for value in values:
            factors = [self.extent(d) for d in value.type.dims]
            around = [loop] if isinstance(loop, For) else []
            for name in value.loops[1:]:
                if name is None or name not in inner:
                    return None
                factors.append(self.most(inner[name], loop.body, around))
                around.append(inner[name])
            size = self.product(np.dtype(value.type.dtype).itemsize * (GROWS if value.grows else 1), factors)
            if size is None:
                return None
            total = self.plus(total, size)
        return total

    def product(self, size: int, factors: Sequence[Operand | None]) -> Operand | None:
        """So many times each of some numbers; None where one is unknown."""
        found: Operand = Const(size)
        for factor in factors:
            if factor is None:
                return None
            found = self.times(found, factor)
        return found


def counts(stmt: Assign, types: Mapping[str, Type]) -> bool:
    """Whether a statement computes an integer of integers, and cannot raise."""
    if len(stmt.targets) != 1 or types[stmt.target.name].array or not types[stmt.target.name].dtype.startswith("int"):
        return False
    found = operation(stmt.op)
    if found.kind == "extent":
        return stmt.op == "shape"
    total = found.symbol in ("", "+", "-", "*") or isinstance(stmt.args[-1], Const) and found.symbol == "//" and stmt.args[-1].value != 0
    numbers = all(isinstance(a, Const) or isinstance(a, Var) and not types[a.name].array and not types[a.name].is_float for a in stmt.args)
    return found.kind in ("identity", "cast", "arithmetic") and total and numbers


__all__ = ["INT", "Pushed", "Tally", "counts", "filled", "pushed", "told", "witnesses"]
