"""Integer facts about loops: bounds as affine forms, trip counts as statements.

Only names with one definition count as known; a loop counter of the forward sweep and that of the mirrored loop are one symbol.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from stgrad.analysis.affine import Affine, combined, named, number
from stgrad.analysis.definitions import Definitions
from stgrad.ir import (
    Assign,
    Const,
    Dim,
    For,
    Operand,
    Stmt,
    Type,
    Var,
    assigned,
    operand_vars,
    operands,
)
from stgrad.ir.ops import operation
from stgrad.names import Names

INT = Type("int64", weak=True)


def shape_of(array: Var, axis: int) -> str:
    """The name of an extent of an array that is made once."""
    return f"{array.name}.shape[{axis}]"


Counters = Mapping[str, tuple[str, For]]  # what stands for the counter of a loop, and the loop


def affine(
    operand: Operand, definitions: Definitions, counters: Counters, standing: Container[str] = (), within: str = ""
) -> Affine | None:
    """An integer as a sum of names and a constant; None where it is something else.

    `standing`: all names that a run of statements does not bind: they have one value in it, and in the definitions that it makes. `within`: the name
    whose definition has the operand, which is one of the counters of loops only where these bind it.
    """
    if isinstance(operand, Const):
        return number(operand.value) if isinstance(operand.value, int) else None
    if not isinstance(operand, Var):
        return None
    if operand.name in counters:
        key, loop = counters[operand.name]
        return named(key) if not within or within in assigned(loop.body) else None
    stmt = definitions.agreed(operand.name)
    if stmt is not None and operation(stmt.op).signs:
        standing_there = standing if operand.name not in standing and operand.name in definitions.once else ()
        parts = [p for p in (affine(a, definitions, counters, standing_there, operand.name) for a in stmt.args) if p is not None]
        if len(parts) == len(stmt.args):
            return combined(stmt.op, parts)
    if stmt is not None and stmt.op == "shape":
        array, axis = stmt.args
        if isinstance(array, Var) and isinstance(axis, Const) and definitions.counts[array.name] == 1:
            return named(shape_of(array, axis.value))
    return named(operand.name) if definitions.counts[operand.name] == 1 or operand.name in standing else None


def mirrored(forward: list[For], reverse: list[For], definitions: Definitions, around: Sequence[For] = (), standing: Container[str] = ()) -> bool:
    """Whether loops of the reverse sweep run through the counters of the forward ones backwards.

    `around`: loops around both; `standing`: names that have one value where the outermost ones begin.
    """
    ahead = {loop.var.name: (f"around {k}", loop) for k, loop in enumerate(around)}
    back = dict(ahead)
    for level, (f, r) in enumerate(zip(forward, reverse, strict=True)):
        step = f.step.value if isinstance(f.step, Const) else None
        if step not in (1, -1) or r.step != Const(-step):
            return False
        first, last = (affine(o, definitions, ahead, standing) for o in (f.start, f.stop))
        begin, end = (affine(o, definitions, back, standing) for o in (r.start, r.stop))
        if first is None or last is None or begin != last - number(step) or end != first - number(step):
            return False
        ahead[f.var.name], back[r.var.name] = (f"counter {level}", f), (f"counter {level}", r)
        standing = ()
    return True


@dataclass
class Counting:
    """Writes trip counts. `fixed`: names that may be read as they are; `out`: the statements so far; `extents`: where those of parameters are read."""

    definitions: Definitions
    types: dict[str, Type]
    names: Names
    moving: set[str]  # names that change in the loops
    renamed: dict[str, Operand] = field(default_factory=dict)
    out: list[Stmt] = field(default_factory=list)
    extents: Mapping[str, tuple[str, int | None, int]] = field(default_factory=dict)

    def value(self, operand: Operand) -> Operand | None:
        """An operand computed again here, or None."""
        if not isinstance(operand, Var):
            return operand if isinstance(operand, Const) else None
        if operand.name in self.renamed:
            return self.renamed[operand.name]
        if operand.name not in self.moving:
            return operand
        stmt = self.definitions.pure(operand.name)
        if stmt is None:
            return None
        if stmt.op == "shape" and any(n in self.moving for o in operands(stmt) for n in operand_vars(o)):
            return self.shape(stmt)
        args = [self.value(a) for a in stmt.args]
        known = tuple(a for a in args if a is not None)
        return self.assign(stmt.op, *known) if len(known) == len(args) and all(map(self.whole, known)) else None

    def whole(self, operand: Operand) -> bool:
        """Whether an operand is an integer, or an array whose extent is asked for: one made of a float may not exist, or be any number, where no path asks."""
        if isinstance(operand, Const):
            return isinstance(operand.value, int)
        return not isinstance(operand, Var) or self.types[operand.name].array or not self.types[operand.name].is_float

    def shape(self, stmt: Assign) -> Operand | None:
        """The extent of an array that the loops make, where a parameter has it too."""
        array, axis = stmt.args
        if not isinstance(array, Var) or not isinstance(axis, Const):
            return None
        dim = self.types[array.name].dims[axis.value]
        return self.extent(dim) if dim.symbol is None or dim.symbol in self.extents else None

    def extent(self, dim: Dim) -> Operand:
        """An extent that is a number, or that a parameter has."""
        if dim.symbol is None:
            return Const(dim.offset)
        name, axis, offset = self.extents[dim.symbol]
        size: Operand = Var(name) if axis is None else self.assign("shape", Var(name), Const(axis))
        offset += dim.offset
        if offset:
            size = self.assign("np.add" if offset > 0 else "np.subtract", size, Const(abs(offset)))
        return self.assign("max", size, Const(0)) if dim.offset < 0 else size

    def assign(self, op: str, *args: Operand, wish: str = "_t") -> Var:
        target = Var(self.names.fresh(wish))
        self.types[target.name] = INT
        self.out.append(Assign((target,), op, args))
        return target

    def trips(self, loop: For) -> Operand | None:
        """`len(range(start, stop, step))`."""
        start, stop = self.value(loop.start), self.value(loop.stop)
        step = loop.step.value if isinstance(loop.step, Const) else 0
        if start is None or stop is None or not step:
            return None
        low, high = (start, stop) if step > 0 else (stop, start)
        if isinstance(low, Const) and isinstance(high, Const):
            return Const(len(range(low.value, high.value, abs(step))))
        span = high if low == Const(0) else self.assign("np.subtract", high, low)
        if abs(step) > 1:
            span = self.assign("np.add", span, Const(abs(step) - 1))
            span = self.assign("np.floor_divide", span, Const(abs(step)))
        return span if self.nonnegative(span) else self.assign("max", span, Const(0))

    def nonnegative(self, operand: Operand) -> bool:
        stmt = self.definitions.once.get(operand.name) if isinstance(operand, Var) else None
        return isinstance(stmt, Assign) and stmt.op == "shape"
