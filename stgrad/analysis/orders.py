"""Which loops may run in either direction.

    for c in range(n - 1, -1, -1):                for c in range(n):
        for o in range(m):                 ->         for o in range(m):
            k_bar[c, o] += out_bar[o] * x[c]              k_bar[c, o] += out_bar[o] * x[c]

Trips commute if none hands anything but a sum to the next, and what they write is added to elements that no trip reads, or lies where the other
trips neither read nor write. Tests of extents may stand between, if all say the same and the caller sees nothing of what is written. A position
that may be negative counts from the end: two trips may mean one element. Additions commute up to rounding, as everywhere here. Loops that run
up are simpler to read, and processors are built for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stgrad.analysis.affine import Affine, Positions, never_meet
from stgrad.analysis.alias import Classes
from stgrad.analysis.bounds import Bounds
from stgrad.ir import (
    Assign,
    Const,
    Effect,
    For,
    If,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    entries_of,
    exposed,
    operand_vars,
    reads,
    walk,
)
from stgrad.ir.ops import operation


@dataclass(frozen=True)
class Access:
    """An element of an array; `kind` is read, add or write."""

    array: str
    index: Operand
    kind: str


@dataclass(frozen=True)
class Orders:
    """`once`: names that are bound once. `callers`: classes of the arrays that the caller sees."""

    types: Mapping[str, Type]
    classes: Classes
    once: Mapping[str, Stmt]
    bounds: Bounds
    callers: frozenset[str] = frozenset()

    def commute(self, loop: For, live: frozenset[str]) -> bool:
        """Whether the trips of a loop may run in any order. `live`: names that are needed behind it."""
        bound = assigned(loop.body)
        sums = frozenset(n for n in bound.intersection(exposed(loop.body)) if self.sum(n, loop))
        if (bound - sums) & live or loop.var.name in live or bound.intersection(exposed(loop.body)) - sums:
            return False
        statements = [s for s in walk(loop.body) if not isinstance(s, Effect)]
        return all(self.pure(s) for s in statements) and self.apart(loop, adding=True) and self.one_error(loop)

    def sum(self, name: str, loop: For) -> bool:
        """Whether all that the trips of a loop do to a name is to add to it."""
        type_ = self.types[name]
        touching = (s for s in walk(loop.body) if name in reads(s) or not isinstance(s, (For, If, While)) and name in assigned((s,)))
        return not type_.array and type_.dtype.startswith("float") and all(
            isinstance(s, Assign) and is_sum(s) and [t.name for t in s.targets] == [name] for s in touching
        )

    def one_error(self, loop: For) -> bool:
        """Whether it does not matter which trip raises first."""
        effects = [s for s in walk(loop.body) if isinstance(s, Effect)]
        stores = [s for s in walk(loop.body) if isinstance(s, Store)]
        if any(s.op != "check_equal" or s.args[2:] != effects[0].args[2:] for s in effects):
            return False
        return not effects or not any(self.classes.find(s.target.name) in self.callers for s in stores)

    def pure(self, stmt: Stmt) -> bool:
        """Whether a statement makes numbers from numbers and elements, or writes elements, and does nothing else."""
        if isinstance(stmt, Store):
            items = entries_of(stmt.index)
            arrays = [n for o in (*items, stmt.value) for n in operand_vars(o) if self.types[n].array]
            return not arrays and self.types[stmt.target.name].rank == len(items) and stmt.mode != "add_at"
        if not isinstance(stmt, Assign):
            return isinstance(stmt, (For, If))
        read = [n for n in reads(stmt) if self.types[n].array]
        known = operation(stmt.op)
        if not (known.scalar or known.kind in ("element", "extent")) or stmt.kwargs or any(self.types[t.name].array for t in stmt.targets):
            return False
        return not read or stmt.op == "shape" or stmt.op == "getitem" and len(read) == 1

    def apart(self, loop: For, adding: bool = False) -> bool:
        """Whether no iteration writes where another one reads or writes; with `adding`, where another one does more than add."""
        by_class: dict[str, list[Access]] = {}
        for access in accesses(loop):
            by_class.setdefault(self.classes.find(access.array), []).append(access)
        positions = Positions.of(loop, self.once)
        return all(adding and self.only_added(found) or self.elements_apart(found, loop, positions) for found in by_class.values())

    def only_added(self, found: Sequence[Access]) -> bool:
        """Whether all that accesses do is to add to floats."""
        return all(a.kind == "add" and self.types[a.array].dtype.startswith("float") for a in found)

    def elements_apart(self, found: Sequence[Access], loop: For, positions: Positions) -> bool:
        """Whether what one iteration writes, of arrays that may share memory, no other one reads or writes."""
        writes = [a for a in found if a.kind != "read"]
        if len({a.array for a in found}) > 1 and writes:
            return False
        forms = [self.forms(a.index, positions) for a in found]
        step = loop.step.value if isinstance(loop.step, Const) else 1
        pairs = ((f, g) for f, a in zip(forms, found, strict=True) if a.kind != "read" for g in forms)
        return all(any(axis in g and never_meet(form, g[axis], positions.counter, step) for axis, form in f.items()) for f, g in pairs)

    def forms(self, index: Operand, positions: Positions) -> Mapping[int, Affine]:
        """The positions of a subscript, by axis, that are a multiple of the counter plus what stands still, or stand still."""
        found: dict[int, Affine] = {}
        for axis, item in enumerate(entries_of(index)):
            if isinstance(item, Const) and not isinstance(item.value, int):
                break  # a new axis, or an ellipsis: what follows has another number
            form = positions.form(item) if self.from_start(item) else None
            if form is not None and positions.still(form.without(positions.counter)):
                found[axis] = form
        return found

    def from_start(self, position: Operand) -> bool:
        """Whether a position certainly counts from the start of its axis."""
        stmt = self.once.get(position.name) if isinstance(position, Var) else None
        least = self.bounds.least(position)
        return least is not None and least >= 0 or isinstance(stmt, Assign) and stmt.op == "runtime.unsigned"


def is_sum(stmt: Assign) -> bool:
    """`s = s + v`, `s = v + s` or `s = s - v`, with a `v` that is something else."""
    if len(operation(stmt.op).signs) != 2:
        return False
    return stmt.args.count(stmt.target) == 1 and (stmt.op != "np.subtract" or stmt.args[0] == stmt.target)


def accesses(loop: For) -> Iterator[Access]:
    """Each element that a loop reads or writes."""
    for stmt in walk(loop.body):
        if isinstance(stmt, Store):
            yield Access(stmt.target.name, stmt.index, "add" if stmt.mode == "add" else "write")
        elif isinstance(stmt, Assign) and stmt.op == "getitem" and isinstance(stmt.args[0], Var):
            yield Access(stmt.args[0].name, stmt.args[1], "read")
