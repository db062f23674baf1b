"""Loops within a memory budget: those that keep something for the reverse sweep are split into trips that run again and trips that keep everything.

    for t in range(n):                  room = runtime.budget_left(budget, base)
        trip                            share = room // loops
                                ->      cut = runtime.budget_cut(0, n, trips, kept, share)
                                        for t in checkpointed(range(0, cut), kept, share):
                                            trip
                                        for t in range(cut, n):
                                            trip

`kept` are the bytes that a trip keeps (`stgrad.transforms.tallies`). Where all of them fit, `cut` is the start: the program is then the one without a
budget, but for a few comparisons. Else it is the stop, and the number of snapshots and the trips between them are chosen when the loop is entered
(`stgrad.runtime.budget`). A loop in a loop that runs again gets half of its share. `base`, the memory that the program needs besides, is filled in when it is
lowered (`settle_budget`). Loops that cannot be split (they have stacks, or arrays that may share memory) are as they were, and count: what they keep is tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.errors import Location
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Effect,
    For,
    Function,
    If,
    Operand,
    Pack,
    Pop,
    Push,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    assigns,
    map_blocks,
    operand_vars,
    reads,
    rename,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.tallies import Pushed, Tally, apart, counts, told, witnesses

SMALL = 16  # trips of an inner loop that is never split
There = dict[str, tuple[str, int | None, int]]


@dataclass(frozen=True)
class Budget:
    """Bytes for a program; each value that its reverse sweep keeps takes its size so many times, where the program is differentiated again."""

    bytes: int
    copies: int = 1


BUDGET: ContextVar[Budget | None] = ContextVar("BUDGET", default=None)  # of the reverse sweep that is being made


@contextmanager
def budgeted(memory: int | None) -> Iterator[None]:
    """While a program is made whose reverse sweep has a budget of so many bytes."""
    token = BUDGET.set(None if memory is None else Budget(memory))
    try:
        yield
    finally:
        BUDGET.reset(token)


@contextmanager
def within_derivative(mode: str, directions: int) -> Iterator[None]:
    """While the program is made that is differentiated in some mode: what it keeps has tangents as large; a sweep back over it keeps all that it reads."""
    budget = BUDGET.get()
    if budget is not None and mode != "primal":
        budget = replace(budget, copies=budget.copies * (1 + directions)) if mode in ("jvp", "series") else None
    token = BUDGET.set(budget)
    try:
        yield
    finally:
        BUDGET.reset(token)


def counted(fn: Function) -> Function:
    """The program with a counter of its own in each loop, so that a loop is known by it."""
    names, seen, types = Names([*fn.types, *(p.name for p in fn.params)]), set[str](), dict(fn.types)

    def block(statements: Block) -> Block:
        return tuple(one(s) for s in statements)

    def one(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            if stmt.var.name in seen:
                fresh = names.fresh(stmt.var.name)
                types[fresh] = types[stmt.var.name]
                stmt = replace(stmt, var=Var(fresh), body=rename(stmt.body, {stmt.var.name: fresh}))
            seen.add(stmt.var.name)
        return map_blocks(block, stmt)

    return replace(fn, body=block(fn.body), types=types)


def within(fn: Function, budget: Budget, kept: Sequence[Pushed], excluded: frozenset[str] = frozenset()) -> Function:
    """The program whose loops keep within a budget.

    Args:
        fn: a program that is to be differentiated, with a counter of its own in each loop.
        kept: what the loops of its gradient push.
        excluded: counters of loops that are not to be split.
    """
    work = _Split(fn, kept, excluded)
    loops = work.loops(fn.body)
    if not loops:
        return fn
    there: There = {symbol: (name, axis, offset) for p in fn.params for symbol, name, axis, offset in told(p.name, fn.types)}
    room = work.new("room")
    body = work.block(fn.body, there, {p.name for p in fn.params}, room, loops)
    first: Block = (Assign((room,), "runtime.budget_left", (Const(budget.bytes), Const(0))),)
    if budget.copies > 1:
        left = work.new("left")
        first = (Assign((left,), "runtime.budget_left", (Const(budget.bytes), Const(0))), Assign((room,), "np.floor_divide", (left, Const(budget.copies))))
    return replace(fn, body=(*first, *body), types=work.types)


def at_fault(fn: Function, place: Location | None) -> frozenset[str]:
    """The counters of split loops of a program at a place; without such a loop, of the last one of all."""
    split = [s for s in walk(fn.body) if isinstance(s, For) and isinstance(s.snapshots, Pack)]
    return frozenset(s.var.name for s in split if s.loc is not None and s.loc == place) or frozenset(s.var.name for s in split[-1:])


@dataclass
class _Split:
    fn: Function
    kept: Sequence[Pushed]
    excluded: frozenset[str]
    names: Names = field(init=False)
    types: dict[str, Type] = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names([*self.fn.types, *(p.name for p in self.fn.params)])
        self.types = dict(self.fn.types)

    def new(self, wish: str) -> Var:
        name = self.names.fresh(wish)
        self.types[name] = Type("int64", weak=True)
        return Var(name)

    def keeps(self, loop: Stmt) -> list[Pushed]:
        """What the trips of a loop keep, by the loops from it inwards."""
        if not isinstance(loop, For):
            return []
        name = loop.var.name
        return [replace(p, loops=p.loops[p.loops.index(name) :]) for p in self.kept if name in p.loops]

    def loops(self, block: Block) -> int:
        """The outermost loops of a block that keep something."""
        found = 0
        for stmt in block:
            if isinstance(stmt, If):
                found += self.loops(stmt.then) + self.loops(stmt.orelse)
            elif self.keeps(stmt):
                found += 1
        return found

    def block(self, block: Block, there: There, bound: set[str], room: Var, loops: int) -> Block:
        """A block whose outermost loops that keep something share the bytes of `room`."""
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, If):
                inner = [self.block(b, dict(there), set(bound), room, loops) for b in (stmt.then, stmt.orelse)]
                out.append(replace(stmt, then=inner[0], orelse=inner[1]))
                loops -= self.loops((stmt,))
            elif isinstance(stmt, For) and self.keeps(stmt):
                out += self.loop(stmt, there, bound, room, loops)
                loops -= 1
            else:
                out.append(stmt)
            bound |= assigned((stmt,))
            there.update({symbol: (name, axis, offset) for symbol, name, axis, offset in witnesses(stmt, self.types) if symbol not in there})
        return tuple(out)

    def loop(self, loop: For, there: There, bound: set[str], room: Var, loops: int) -> list[Stmt]:
        inside = assigned(loop.body)
        values = self.keeps(loop)
        tally = Tally(self.names, self.types, {s: w for s, w in there.items() if w[1] is not None or w[0] not in inside}, frozenset(bound - inside))
        share: Operand = tally.make("np.floor_divide", room, Const(loops), wish="share") if loops > 1 else tally.make("alias", room, wish="share")
        half = tally.make("np.floor_divide", share, Const(2), wish="half")
        kept: Operand = tally.kept(loop, values) or half
        trips = tally.count(loop.start, loop.stop, loop.step)
        again, part = self.again(loop, values, there, bound, half, tally, kept)
        cut = tally.make("runtime.budget_cut", loop.start, loop.stop, trips, kept, share, wish="cut")
        if not self.splittable(loop):
            tally.out.append(Effect("runtime.budget_check", (trips, kept, room), (), loop.loc))
        if loops > 1:
            tally.out.append(Assign((room,), "runtime.budget_rest", (room, trips, kept, share)))
        if not self.splittable(loop):
            return [*tally.out, loop]
        counter = self.new(loop.var.name)
        self.types[counter.name] = self.types[loop.var.name]
        whole = replace(loop, var=counter, start=cut, body=rename(apart(loop.body), {loop.var.name: counter.name}))
        return [*tally.out, replace(loop, stop=cut, body=again, snapshots=Pack((part, share))), whole]

    def splittable(self, loop: For) -> bool:
        stacks = any(isinstance(s, (Push, Pop, Stack)) for s in walk(loop.body))
        return loop.var.name not in self.excluded and loop.snapshots is None and isinstance(loop.step, Const) and not stacks

    def again(self, loop: For, values: Sequence[Pushed], there: There, bound: set[str], half: Var, tally: Tally, kept: Operand) -> tuple[Block, Operand]:
        """The body of trips that run again, and what one of them keeps: its own inner loops get half of the share."""
        inner = [s for s in loop.body if self.long(s)]
        if not inner or kept == half:
            return loop.body, kept
        room = self.new("room")
        names = {s.var.name for s in inner if isinstance(s, For)}
        own = tally.kept(loop, [v for v in values if not names & set(v.loops)])
        if own is None:
            return loop.body, kept
        body = _Split(replace(self.fn, types=self.types), [v for v in self.kept if names & set(v.loops)], self.excluded)
        body.names, body.types = self.names, self.types
        new = body.block(loop.body, dict(there), set(bound), room, len(inner))
        part = tally.make("min", kept, tally.plus(own, half))
        before, again = self.moved((Assign((room,), "alias", (half,)), *new))
        tally.out += before
        return again, part

    def moved(self, body: Block) -> tuple[list[Stmt], Block]:
        """Numbers of ours that a trip computes from none of its own, which stand before the loop; and the trip without them."""
        bound = [n for s in walk(body) for n in assigns(s)]
        before: list[Stmt] = []
        rest: list[Stmt] = []
        for stmt in body:
            mine = isinstance(stmt, Assign) and stmt.target.name not in self.fn.types and bound.count(stmt.target.name) == 1
            if mine and not set(reads(stmt)) & set(bound):
                before.append(stmt)
                bound.remove(stmt.target.name)  # type: ignore[union-attr]
            else:
                rest.append(stmt)
        return before, tuple(rest)

    def long(self, stmt: Stmt) -> bool:
        """Whether an inner loop is worth splitting: its trips are not the elements of an array that it fills, nor few."""
        if not isinstance(stmt, For) or not self.keeps(stmt) or not self.splittable(stmt):
            return False
        bounds = (stmt.start, stmt.stop, stmt.step)
        few = all(isinstance(o, Const) for o in bounds) and len(range(*(o.value for o in bounds))) <= SMALL  # type: ignore[union-attr]
        return not few and not _fills(stmt, self.types)


def _fills(loop: For, types: Mapping[str, Type]) -> bool:
    """Whether a loop writes to places that its counter tells."""
    told_by = {loop.var.name}
    for stmt in walk(loop.body):
        if isinstance(stmt, Assign) and counts(stmt, types) and told_by & {n for a in stmt.args for n in operand_vars(a)}:
            told_by.add(stmt.target.name)
        if isinstance(stmt, Store) and told_by & set(operand_vars(stmt.index)):
            return True
    return False


# --------------------------------------------------------------------------- what a program needs besides


def settle_budget(fn: Function, lists: frozenset[str]) -> Function:
    """Fill in what a lowered program needs besides what its loops keep: the arrays that it makes, but those of `lists`."""
    at = [i for i, s in enumerate(fn.body) if isinstance(s, Assign) and s.op == "runtime.budget_left"]
    if not at:
        return fn
    names, types = Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)
    there: There = {symbol: (name, axis, offset) for p in fn.params for symbol, name, axis, offset in told(p.name, fn.types)}
    tally = Tally(names, types, there, frozenset(p.name for p in fn.params))
    total: Operand = Const(0)
    for name in _made(fn) - lists:
        size = tally.product(np.dtype(types[name].dtype).itemsize, [tally.extent(dim) for dim in types[name].dims])
        total = total if size is None else tally.plus(total, size)
    first = fn.body[at[0]]
    assert isinstance(first, Assign)
    body = (*fn.body[: at[0]], *tally.out, replace(first, args=(first.args[0], total)), *fn.body[at[0] + 1 :])
    return replace(fn, body=body, types=types)


def _made(fn: Function) -> set[str]:
    """Arrays for which a program asks for memory."""
    made = [s for s in walk(fn.body) if isinstance(s, Assign) and (operation(s.op).kind in ("creation", "like") or s.op == "np.copy")]
    return {s.target.name for s in made if fn.types[s.target.name].array}


__all__ = ["BUDGET", "at_fault", "budgeted", "counted", "settle_budget", "within", "within_derivative"]
