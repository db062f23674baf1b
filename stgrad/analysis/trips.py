"""Integer facts about loops: bounds as affine forms, trip counts as statements.

Only names with one definition count as known; a loop counter of the forward sweep and that of the mirrored loop are one symbol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from stgrad.analysis.affine import Affine, combined, named, number
from stgrad.ir import (
    Assign,
    Const,
    For,
    Function,
    Operand,
    Stmt,
    Type,
    Var,
    assigns,
    operand_vars,
    operands,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names

INT = Type("int64", weak=True)


@dataclass
class Definitions:
    """Who defines each name of a function."""

    counts: Counter[str] = field(default_factory=Counter)
    only: dict[str, Stmt] = field(default_factory=dict)

    @classmethod
    def of(cls, fn: Function) -> Definitions:
        found = cls()
        for param in fn.params:
            found.counts[param.name] += 1
        for stmt in walk(fn.body):
            for name in assigns(stmt):
                found.counts[name] += 1
                found.only[name] = stmt
        return found

    def pure(self, name: str) -> Assign | None:
        """The one definition of a name, if it is integer arithmetic."""
        stmt = self.only.get(name)
        return stmt if self.counts[name] == 1 and isinstance(stmt, Assign) and _counts(stmt.op) and not stmt.kwargs else None


def _counts(op: str) -> bool:
    """Whether an operation is arithmetic on integers, or an extent."""
    known = operation(op)
    return op in ("int", "alias", "shape") or known.kind == "arithmetic" and known.cost is not None


def affine(operand: Operand, definitions: Definitions, counters: Mapping[str, str]) -> Affine | None:
    """An integer as a sum of names and a constant; None where it is something else."""
    if isinstance(operand, Const):
        return number(operand.value) if isinstance(operand.value, int) else None
    if not isinstance(operand, Var):
        return None
    if operand.name in counters:
        return named(counters[operand.name])
    stmt = definitions.pure(operand.name)
    if stmt is not None and operation(stmt.op).signs:
        parts = [p for p in (affine(a, definitions, counters) for a in stmt.args) if p is not None]
        if len(parts) == len(stmt.args):
            return combined(stmt.op, parts)
    if stmt is not None and stmt.op == "shape":
        array, axis = stmt.args
        if isinstance(array, Var) and isinstance(axis, Const) and definitions.counts[array.name] == 1:
            return named(f"{array.name}.shape[{axis.value}]")
    return named(operand.name) if definitions.counts[operand.name] == 1 else None


def mirrored(forward: list[For], reverse: list[For], definitions: Definitions) -> bool:
    """Whether loops of the reverse sweep run through the counters of the forward ones backwards."""
    ahead: dict[str, str] = {}
    back: dict[str, str] = {}
    for level, (f, r) in enumerate(zip(forward, reverse, strict=True)):
        step = f.step.value if isinstance(f.step, Const) else None
        if step not in (1, -1) or r.step != Const(-step):
            return False
        first, last = affine(f.start, definitions, ahead), affine(f.stop, definitions, ahead)
        begin, end = affine(r.start, definitions, back), affine(r.stop, definitions, back)
        if first is None or last is None or begin != last - number(step) or end != first - number(step):
            return False
        ahead[f.var.name] = back[r.var.name] = f"counter {level}"
    return True


@dataclass
class Counting:
    """Writes trip counts. `fixed`: names that may be read as they are; `out`: the statements so far."""

    definitions: Definitions
    types: dict[str, Type]
    names: Names
    moving: set[str]  # names that change in the loops
    renamed: dict[str, Operand] = field(default_factory=dict)
    out: list[Stmt] = field(default_factory=list)

    def value(self, operand: Operand) -> Operand | None:
        """An operand computed again here, or None."""
        if not isinstance(operand, Var):
            return operand if isinstance(operand, Const) else None
        if operand.name in self.renamed:
            return self.renamed[operand.name]
        if operand.name not in self.moving:
            return operand
        stmt = self.definitions.pure(operand.name)
        if stmt is None or stmt.op == "shape" and any(n in self.moving for o in operands(stmt) for n in operand_vars(o)):
            return None
        args = [self.value(a) for a in stmt.args]
        known = tuple(a for a in args if a is not None)
        return self.assign(stmt.op, *known) if len(known) == len(args) else None

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
        stmt = self.definitions.only.get(operand.name) if isinstance(operand, Var) else None
        return isinstance(stmt, Assign) and stmt.op == "shape" and self.definitions.counts[stmt.target.name] == 1
