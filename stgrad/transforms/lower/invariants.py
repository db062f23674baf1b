"""Numbers that every trip of a loop computes alike are computed before it, as `stgrad.transforms.motion` does it for arrays.

    for i in range(n):               t = a + b * a
        s += (a + b * a) * x[i]  ->  for i in range(n):
                                         s += t * x[i]

Only operations that cannot fail move, since a loop may have no trip: sums and products of numbers, no divisions, out of innermost loops. LLVM
would move them too; but what a subscript moves with must be plain to see for the passes behind this one. Loops of one block share what they
move. Memory that each trip asks for moves as well, where no trip leaves it to another, and extents do, which it has: out of all loops.
So do tests that raise: in the first trip or never (`x[i] / c` of Python's numbers, where c is 0), which stand in the way of packing.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def scaled(x, a, b):
    ...     s = 0.0
    ...     for i in range(len(x)):
    ...         s += (a + b * a) * x[i]
    ...     return s
    >>> show_pass("invariants", stgrad.jit(scaled), np.ones(3), 2.0, 3.0)
    s = 0.0
    for i in range(x.shape[0]):
        s += (a + b * a) * x[i]
    return s
    ->
    s = 0.0
    s_part = a + b * a
    for i in range(x.shape[0]):
        s += s_part * x[i]
    return s
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from stgrad.analysis.bounds import Bounds
from stgrad.analysis.definitions import definitions
from stgrad.analysis.statements import never_fails, still
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    Function,
    If,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    entries_of,
    map_blocks,
    operand_vars,
    read,
    reads,
    rename,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names


def invariants(fn: Function, allocations: bool = True) -> Function:
    """The program with invariant arithmetic before its loops, and invariant `allocations` too (not where trips run on threads)."""
    known = definitions(fn)
    names, types = Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)
    computed = frozenset(name for s in walk(fn.body) if not isinstance(s, For) for name in reads(s))
    state = _Invariants(fn, known.once, computed, Bounds(known), unshared(fn) if allocations else frozenset(), names, types)
    body = state.block(fn.body)
    return fn.with_body(rename(body, state.same) if state.same else body, types=types)


@dataclass
class _Invariants:
    fn: Function
    once: Mapping[str, Stmt]  # names that are bound once
    computed: Set[str]  # names that are more than the bounds of loops
    bounds: Bounds
    unshared: frozenset[str]  # arrays that have one name
    names: Names
    types: dict[str, Type]
    same: dict[str, str] = field(default_factory=dict)  # names of what has a name already

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        moved: list[Assign] = []  # arithmetic that stands before a loop of this block
        for stmt in statements:
            stmt = map_blocks(self.block, stmt)
            if isinstance(stmt, For) and not any(isinstance(s, Custom) for s in walk(stmt.body)):
                ahead, stmt = self.split(stmt)
                result += self.unnamed(ahead, moved)
                tests, stmt = self.tests(stmt)
                result += tests
            changed = assigned((stmt,))
            moved = [m for m in moved if not changed.intersection(reads(m))]
            result.append(stmt)
        return tuple(result)

    def unnamed(self, ahead: list[Assign], moved: list[Assign]) -> list[Assign]:
        """What has no name yet of statements that are to stand here."""
        new: list[Assign] = []
        for stmt in ahead:
            stmt = rename((stmt,), self.same)[0] if self.same else stmt  # type: ignore[assignment]
            twin = next((m for m in moved if self.alike(m, stmt)), None) if self.settled(stmt) else None
            if twin is not None:
                self.same = {a: twin.target.name if b == stmt.target.name else b for a, b in self.same.items()}
                self.same[stmt.target.name] = twin.target.name
                continue
            new.append(stmt)
            if self.settled(stmt):
                moved.append(stmt)
        return new

    def settled(self, stmt: Assign) -> bool:
        """Whether a statement makes the same number of the same names, and no more."""
        return stmt.op == "shape" or never_fails(stmt, self.fn.types)

    def alike(self, a: Assign, b: Assign) -> bool:
        types = self.fn.types
        return (a.op, a.args) == (b.op, b.args) and types[a.target.name] == types[b.target.name]

    def split(self, loop: For) -> tuple[list[Assign], For]:
        moving = assigned((loop,))
        innermost = not any(isinstance(s, (For, While)) for s in walk(loop.body))
        ahead: list[Assign] = []
        for stmt in loop.body:
            if not isinstance(stmt, Assign) or stmt.targets[0].name not in self.once or not still(stmt, moving):
                continue
            if innermost and never_fails(stmt, self.fn.types) or stmt.op == "shape" and stmt.target.name in self.computed or self.allocates(stmt):
                ahead.append(stmt)
                moving.discard(stmt.target.name)
        return ahead, replace(loop, body=tuple(s for s in loop.body if not any(s is a for a in ahead)))

    def tests(self, loop: For) -> tuple[list[Stmt], For]:
        """Tests that raise in the first trip or in none, before anything else does: they stand before the loop, where it has a trip."""
        moving = assigned((loop,))
        asked: dict[str, Assign] = {}
        taken: list[Stmt] = []
        tests: list[Stmt] = []
        for stmt in loop.body:
            if isinstance(stmt, If) and isinstance(stmt.cond, Var) and stmt.cond.name in asked and _only_raises(stmt) and still(stmt.then[0], moving):
                tests.append(stmt)
                taken += [asked.pop(stmt.cond.name), stmt]
            elif not _computes(stmt):  # a store, too: who catches what is raised may see it
                break
            elif isinstance(stmt, Assign) and self.compares(stmt, moving):
                asked[stmt.target.name] = stmt
        rest = tuple(s for s in loop.body if not any(s is t for t in taken))
        if not taken or not isinstance(loop.step, Const) or any(s.targets[0].name in read(rest) for s in taken if isinstance(s, Assign)):
            return [], loop
        runs = Var(self.names.fresh("_t"))
        self.types[runs.name] = Type("bool", weak=True)
        some = Assign((runs,), "np.less" if loop.step.value > 0 else "np.greater", (loop.start, loop.stop))
        conditions = [s for s in taken if isinstance(s, Assign)]
        return [*conditions, some, If(runs, tuple(tests))], replace(loop, body=rest)

    def compares(self, stmt: Assign, moving: Set[str]) -> bool:
        """Whether a statement is a comparison that every trip makes alike."""
        alike = operation(stmt.op).kind == "comparison" and still(stmt, moving)
        return alike and stmt.target.name in self.once and not self.fn.types[stmt.target.name].array

    def allocates(self, stmt: Assign) -> bool:
        """Whether a statement asks for memory that serves nothing but the trip."""
        if stmt.op != "np.empty" or len(stmt.targets) != 1 or stmt.target.name not in self.unshared:
            return False
        sizes = entries_of(stmt.args[0])
        return all((low := self.bounds.least(size)) is not None and low >= 0 for size in sizes)


def _computes(stmt: Stmt) -> bool:
    """Whether a statement gives one result of an operation that does not raise by itself."""
    return isinstance(stmt, Assign) and len(stmt.targets) == 1 and operation(stmt.op).kind not in ("call", "rule", "solver", "unknown", "stack")


def _only_raises(stmt: If) -> bool:
    return not stmt.orelse and len(stmt.then) == 1 and isinstance(stmt.then[0], Effect) and stmt.then[0].op == "raise"


def unshared(fn: Function) -> frozenset[str]:
    """Arrays of numbers that are read and written element by element alone."""
    plain: set[str] = set()
    for stmt in walk(fn.body):
        if isinstance(stmt, Store):
            plain.update(operand_vars(stmt.value))
        elif not (isinstance(stmt, Assign) and (stmt.op == "shape" or stmt.op == "getitem" and not fn.types[stmt.targets[0].name].array)):
            plain.update(reads(stmt))
    plain.update(operand_vars(fn.result))
    return frozenset(n for n, t in fn.types.items() if t.array and n not in plain)
