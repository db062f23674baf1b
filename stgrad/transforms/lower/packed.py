"""Loops whose trips share nothing but sums are written so that the compiler can run several trips at once.

    for i in range(n):                            for i in range(n):
        total += math.exp(x[i]) * y[i]     ->         total = runtime.radd(total, runtime.exp(x[i]) * y[i])

Functions that Numba calls once for each number become those of `runtime.vecmath`, and sums may be reassociated. Both pay only if nothing
else stands in the way, and cost where something does: a call is faster alone. So a loop qualifies if it has no inner loop, branches
of plain arithmetic only, no value that one trip hands to the next, and writes only to elements of its own trip.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def total(x):
    ...     s = 0.0
    ...     for i in range(len(x)):
    ...         s += np.exp(x[i])
    ...     return s
    >>> show_pass("packed", stgrad.jit(total), np.ones(3))
    s = 0.0
    for i in range(x.shape[0]):
        s += np.exp(x[i])
    return s
    ->
    s = 0.0
    for i in range(x.shape[0]):
        s = runtime.radd(s, runtime.exp(x[i]))
    return s
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from stgrad.analysis.affine import Positions
from stgrad.analysis.bounds import Bounds
from stgrad.analysis.liveness import Liveness, liveness
from stgrad.analysis.packing import Packing, down_columns
from stgrad.ir import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    assigns,
    exposed,
    map_blocks,
    map_operand,
    operand_vars,
    read,
    reads,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.lower.branches import sink_sums

INT = Type("int64", weak=True)


def packed(fn: Function) -> Function:
    """The program with its independent loops fit for packing."""
    types = dict(fn.types)
    packing = Packing.of(fn, types)
    state = _Loops(types, Names([*fn.types, *(p.name for p in fn.params)]), packing, packing.orders.bounds, liveness(fn))
    return replace(fn, body=state.block(fn.body), types=state.types)


@dataclass
class _Loops:
    types: dict[str, Type]
    names: Names
    packing: Packing
    bounds: Bounds
    live: Liveness
    storing: set[int] = field(default_factory=set)  # packed loops that write to arrays

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        for stmt in statements:
            result += self.statement(map_blocks(self.block, stmt), result, self.live.after[id(stmt)])
        return tuple(result)

    def statement(self, stmt: Stmt, before: Sequence[Stmt], live: frozenset[str]) -> list[Stmt]:
        if not isinstance(stmt, For):
            return [stmt]
        loop = self.sunk(stmt)
        sums = self.packing.sums(loop)
        if sums is None or not self.packing.plain(loop.body) or not self.packing.apart(loop):
            return self.around(stmt, before, live)
        functions = not down_columns(loop, Positions.of(loop, self.packing.defined))
        body = self.known_positions(tuple(s for inner in loop.body for s in self.rewrite(inner, sums, functions)), loop)
        ahead: list[Stmt] = []
        loop = replace(loop, body=body)
        if not (assigned(body) - sums) & live:  # what is left behind is what the last trip leaves
            ahead, loop = self.upwards(loop, before)
        if any(isinstance(s, Store) for s in walk(body)):
            self.storing.add(id(loop))
        return [*ahead, loop]

    def sunk(self, loop: For) -> For:
        """The loop with its sums behind its branches."""
        if not any(isinstance(s, If) for s in loop.body) or any(isinstance(s, For) for s in loop.body):
            return loop
        return replace(loop, body=sink_sums(loop.body, exposed(loop.body) & assigned(loop.body), self.types, self.names))

    # -------------------------------------------------------------- directions

    def upwards(self, loop: For, before: Sequence[Stmt]) -> tuple[list[Stmt], For]:
        """The loop with step 1. `before`: what runs ahead of it in the same trip of the loops around."""
        if loop.step == Const(1):
            return [], loop
        ahead: list[Stmt] = []
        start, stop = (self.next(bound, before, ahead) for bound in (loop.stop, loop.start))
        return ahead, replace(loop, start=start, stop=stop, step=Const(1))

    def next(self, bound: Operand, before: Sequence[Stmt], ahead: list[Stmt]) -> Operand:
        """`bound + 1`."""
        if isinstance(bound, Const):
            return Const(bound.value + 1)
        made = self.packing.defined.get(bound.name) if isinstance(bound, Var) else None
        if isinstance(made, Assign) and made.op == "np.subtract" and made.args[1] == Const(1):
            base = made.args[0]
            if any(s is made for s in before) or isinstance(base, Var) and base.name in self.packing.defined:
                return base
        result = Var(self.names.fresh("_t"))
        self.types[result.name] = INT
        ahead.append(Assign((result,), "np.add", (bound, Const(1))))
        return result

    def around(self, loop: For, before: Sequence[Stmt], live: frozenset[str]) -> list[Stmt]:
        """A loop that is not packed: run up, if its trips commute and it gains by that."""
        if loop.step != Const(-1) or not (self.stores_in(loop) or goes_on(loop)) or not self.packing.orders.commute(loop, live):
            return [self.hidden(loop)]
        ahead, loop = self.upwards(loop, before)
        return [*ahead, loop]

    def stores_in(self, loop: For) -> bool:
        """Whether packed loops stand in a loop that write to places which move with it."""
        made = {n for s in loop.body if isinstance(s, Assign) for n in assigns(s) if self.types[n].dtype == "int64"}
        moving = {loop.var.name, *made}
        return any(id(s) in self.storing and moving.intersection(read(s.body)) for s in walk(loop.body) if isinstance(s, For))

    def hidden(self, loop: For) -> For:
        """A loop that runs down around packed loops, its counter hidden from LLVM."""
        step = loop.step.value if isinstance(loop.step, Const) else 0
        if step >= 0 or not self.stores_in(loop):
            return loop
        counter = Var(self.names.fresh(re.sub(r"(_\d+)?$", "_down", loop.var.name, count=1)))
        self.types[counter.name] = INT
        return replace(loop, var=counter, body=(Assign((loop.var,), "runtime.opaque", (counter,)), *loop.body))

    def known_positions(self, body: Block, loop: For) -> Block:
        """The body with positions beside the counter marked as not negative, where they are not."""
        marked: dict[str, Var] = {}

        def place(operand: Operand) -> Operand:
            return marked.get(operand.name, operand) if isinstance(operand, Var) else operand

        result: list[Stmt] = []
        for stmt in body:
            result.append(with_places(stmt, place))
            if isinstance(stmt, Assign) and self.markable(stmt, loop):
                mark = marked[stmt.target.name] = Var(self.names.fresh("_t"))
                self.types[mark.name] = Type("uint64")
                result.append(Assign((mark,), "runtime.unsigned", (stmt.target,)))
        return tuple(result)

    def markable(self, stmt: Assign, loop: For) -> bool:
        if stmt.op not in ("np.add", "np.subtract") or loop.var not in stmt.args or any(isinstance(a, Const) for a in stmt.args):
            return False
        return self.types[stmt.target.name].dtype == "int64" and at_least_zero(self.bounds.least(stmt.target))

    # --------------------------------------------------------------- rewriting

    def rewrite(self, stmt: Stmt, sums: frozenset[str], functions: bool) -> list[Stmt]:
        if not isinstance(stmt, Assign):
            return [stmt]
        vector = operation(stmt.op).vector
        if functions and vector not in ("", stmt.op) and all(map(self.packing.is_float, stmt.args)):
            return [replace(stmt, op=vector)]
        if stmt.target.name not in sums or not all(map(self.packing.is_float, stmt.args)):
            return [stmt]
        if stmt.op == "np.add":
            value = stmt.args[1] if stmt.args[0] == stmt.target else stmt.args[0]
            return [replace(stmt, op="runtime.radd", args=(stmt.target, value))]
        if stmt.op == "np.subtract":
            negative = Var(self.names.fresh("_t"))
            self.types[negative.name] = Type("float64")
            added = replace(stmt, op="runtime.radd", args=(stmt.target, negative))
            return [Assign((negative,), "np.negative", (stmt.args[1],), loc=stmt.loc), added]
        return [stmt]


def goes_on(loop: For) -> bool:
    """Whether a loop has no other inside, or each trip walks on where the one before ended: processors look ahead along such a walk, and only along it.

    Others had better run down: what the forward loop left in the cache is at its end.
    """
    inner = [s for s in walk(loop.body) if isinstance(s, For)]
    moving = {loop.var.name}
    for stmt in loop.body:
        if isinstance(stmt, Assign) and moving.intersection(reads(stmt)):
            moving.update(assigns(stmt))
    return not inner or any(_starts_with(s, moving) for s in inner)


def _starts_with(inner: For, moving: set[str]) -> bool:
    """Whether a loop starts at a position that moves with the loop around, or has positions that do."""
    sums = (s for s in walk(inner.body) if isinstance(s, Assign) and s.op == "np.add" and inner.var in s.args)
    return bool(moving.intersection([*operand_vars(inner.start), *(n for s in sums for n in reads(s))]))


def at_least_zero(least: int | None) -> bool:
    return least is not None and least >= 0


def with_places(stmt: Stmt, place: Callable[[Operand], Operand]) -> Stmt:
    """A statement with other operands in its subscripts."""
    if isinstance(stmt, Assign) and stmt.op == "getitem":
        return replace(stmt, args=(stmt.args[0], map_operand(place, stmt.args[1])))
    if isinstance(stmt, Store):
        return replace(stmt, index=map_operand(place, stmt.index))
    return map_blocks(lambda b: tuple(with_places(s, place) for s in b), stmt)
