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
lowered (`stgrad.transforms.needs`). Of a `while` nobody knows the trips: first ones keep everything as long as they fit in half of the share, all others
run again.

    while going:                        while going and done < runtime.budget_trips(kept, share):
        trip                                trip
                                ->      while going:        checkpointed, in the other half
                                            trip

Loops that cannot be split (they have stacks, or arrays that may share memory) count what they keep, against `room`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from stgrad import errors
from stgrad.budgets import Budget as Asked
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
    While,
    assigned,
    assigns,
    operand_vars,
    reads,
    rename,
    walk,
)
from stgrad.names import Names
from stgrad.transforms.counters import apart, counter
from stgrad.transforms.tallies import INT, Pushed, Tally, counts, told, witnesses

BOOL = Type("bool", weak=True)
SMALL = 16  # trips of an inner loop that is never split
There = dict[str, tuple[str, int | None, int]]


@dataclass(frozen=True)
class Budget:
    """Bytes for a program; each value that its reverse sweep keeps takes its size so many times, where the program is differentiated again.

    `folder`: where snapshots go that do not fit into them.
    """

    bytes: int
    folder: str | None = None
    copies: int = 1

    @property
    def mark(self) -> tuple[Const, ...]:
        """What the mark of a loop says of it, beside bytes."""
        return () if self.folder is None else (Const(self.folder),)


BUDGET: ContextVar[Budget | None] = ContextVar("BUDGET", default=None)  # of the reverse sweep that is being made


@contextmanager
def budgeted(memory: Asked | None) -> Iterator[None]:
    """While a program is made whose reverse sweep has a budget."""
    token = BUDGET.set(None if memory is None else Budget(memory.bytes, memory.folder))
    try:
        yield
    finally:
        BUDGET.reset(token)


@contextmanager
def within_derivative(mode: str, directions: int) -> Iterator[None]:
    """While the program is made that is differentiated in some mode: what it keeps has tangents as large; a sweep back over it keeps all that it reads."""
    if mode == "primal":
        yield
        return
    copies = _COPIES.get() * (1 + directions) if mode in ("jvp", "series") else 0
    budget = BUDGET.get()
    tokens = BUDGET.set(replace(budget, copies=copies) if budget is not None and copies else None), _COPIES.set(copies)
    try:
        yield
    finally:
        BUDGET.reset(tokens[0])
        _COPIES.reset(tokens[1])


_COPIES: ContextVar[int] = ContextVar("COPIES", default=1)  # how often a value is kept; 0 where everything is, in a sweep back over another one


@contextmanager
def within_own(memory: Asked | None) -> Iterator[None]:
    """While a derivative is read that a program calls, which may have a budget of its own: the smaller one holds."""
    budget, copies = BUDGET.get(), _COPIES.get()
    if memory is None or not copies or budget is not None and budget.bytes <= memory.bytes:
        yield
        return
    token = BUDGET.set(Budget(memory.bytes, memory.folder, copies))
    try:
        yield
    finally:
        BUDGET.reset(token)


@dataclass
class Scope:
    """What is known at a place: where the value of each symbol is read, and the names that are bound."""

    there: There
    bound: set[str]

    def copy(self) -> Scope:
        return Scope(dict(self.there), set(self.bound))

    def behind(self, stmt: Stmt, types: Mapping[str, Type]) -> None:
        """Go past a statement."""
        self.bound |= assigned((stmt,))
        self.there.update({symbol: (name, axis, offset) for symbol, name, axis, offset in witnesses(stmt, types) if symbol not in self.there})


def within(fn: Function, budget: Budget, kept: Sequence[Pushed], excluded: frozenset[str] = frozenset()) -> Function:
    """The program whose loops keep within a budget.

    Args:
        fn: a program that is to be differentiated, with a counter of its own in each loop.
        kept: what the loops of its gradient push.
        excluded: counters of loops that are not to be split.
    """
    work = _Split(fn, kept, excluded, budget.mark)
    loops = work.loops(fn.body)
    if not loops:
        return fn
    there: There = {symbol: (name, axis, offset) for p in fn.params for symbol, name, axis, offset in told(p.name, fn.types)}
    room = work.new("room")
    body = work.block(fn.body, Scope(there, {p.name for p in fn.params}), room, loops)
    first: Block = (Assign((room,), "runtime.budget_left", (Const(budget.bytes), Const(0))),)
    if budget.copies > 1:
        left = work.new("left")
        first = (Assign((left,), "runtime.budget_left", (Const(budget.bytes), Const(0))), Assign((room,), "np.floor_divide", (left, Const(budget.copies))))
    return replace(fn, body=(*first, *body), types=work.types)


def at_fault(fn: Function, place: Location | None) -> frozenset[str]:
    """The counters of split loops of a program at a place; without such a loop, of the last one of all."""
    split = [s for s in walk(fn.body) if isinstance(s, (For, While)) and isinstance(s.snapshots, Pack)]
    here = [s for s in split if s.loc is not None and s.loc == place] or split[-1:]
    return frozenset(name for name in map(counter, here) if name is not None)


@dataclass
class _Split:
    fn: Function
    kept: Sequence[Pushed]
    excluded: frozenset[str]
    mark: tuple[Const, ...] = ()  # of the outermost loops; those that run again keep their snapshots in memory
    names: Names = field(init=False)
    types: dict[str, Type] = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names([*self.fn.types, *(p.name for p in self.fn.params)])
        self.types = dict(self.fn.types)

    def new(self, wish: str, type_: Type = INT) -> Var:
        name = self.names.fresh(wish)
        self.types[name] = type_
        return Var(name)

    def keeps(self, loop: Stmt) -> list[Pushed]:
        """What the trips of a loop keep, by the loops from it inwards."""
        name = counter(loop)
        return [replace(p, loops=p.loops[p.loops.index(name) :]) for p in self.kept if name is not None and name in p.loops]

    def loops(self, block: Block) -> int:
        """The outermost loops of a block that keep something."""
        found = 0
        for stmt in block:
            if isinstance(stmt, If):
                found += self.loops(stmt.then) + self.loops(stmt.orelse)
            elif self.keeps(stmt):
                found += 1
        return found

    def block(self, block: Block, scope: Scope, room: Var, loops: int) -> Block:
        """A block whose outermost loops that keep something share the bytes of `room`."""
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, If):
                inner = [self.block(b, scope.copy(), room, loops) for b in (stmt.then, stmt.orelse)]
                out.append(replace(stmt, then=inner[0], orelse=inner[1]))
                loops -= self.loops((stmt,))
            elif isinstance(stmt, (For, While)) and self.keeps(stmt):
                out += self.loop(stmt, scope, room, loops) if self.splittable(stmt) else self.charged(stmt, scope, room)
                loops -= 1
            else:
                out.append(stmt)
            scope.behind(stmt, self.types)
        return tuple(out)

    def tally(self, scope: Scope, inside: Block = ()) -> Tally:
        """Counts what is kept at some place, before what stands `inside` of a loop there."""
        bound = assigned(inside)
        there = {s: w for s, w in scope.there.items() if w[1] is not None or w[0] not in bound}
        return Tally(self.names, self.types, there, frozenset(scope.bound - bound))

    # ------------------------------------------------------------- loops that run again

    def loop(self, loop: For | While, scope: Scope, room: Var, loops: int) -> list[Stmt]:
        values = self.keeps(loop)
        tally = self.tally(scope, loop.body)
        share: Operand = tally.make("np.floor_divide", room, Const(loops), wish="share") if loops > 1 else tally.make("alias", room, wish="share")
        kept = tally.kept(loop, values)
        if isinstance(loop, While):
            new = self.unbounded(loop, values, scope, share, tally, kept)
            return [*new[:-1], *self.left(room, share, loops), new[-1]]
        half = tally.make("np.floor_divide", share, Const(2), wish="half")
        again, part = self.again(loop, values, scope, half, tally, kept)
        rerun = replace(loop, body=again, snapshots=Pack((part, share, *self.mark)))
        if kept is None:  # then nobody can tell whether they fit
            return [*tally.out, *self.left(room, share, loops), rerun]
        trips = tally.count(loop.start, loop.stop, loop.step)
        cut = tally.make("runtime.budget_cut", loop.start, loop.stop, trips, kept, share, wish="cut")
        if loops > 1:
            tally.out.append(Assign((room,), "runtime.budget_rest", (room, trips, kept, share)))
        own = self.new(loop.var.name)
        self.types[own.name] = self.types[loop.var.name]
        whole = replace(loop, var=own, start=cut, body=rename(apart(loop.body), {loop.var.name: own.name}))
        return [*tally.out, replace(rerun, stop=cut), whole]

    def left(self, room: Var, share: Operand, loops: int) -> list[Stmt]:
        """What remains for other loops behind one that may use all of its share."""
        return [Assign((room,), "np.subtract", (room, share))] if loops > 1 else []

    def unbounded(self, loop: While, values: list[Pushed], scope: Scope, share: Operand, tally: Tally, kept: Operand | None) -> list[Stmt]:
        """A `while`: its first trips keep everything, in one half of the share, and what runs again has the other."""
        assert loop.trips is not None
        mine = share if kept is None else tally.make("np.floor_divide", share, Const(2), wish="half")
        half = tally.make("np.floor_divide", mine, Const(2), wish="half")
        placed = [replace(v, open=v.open - {loop.trips.name}) for v in values]  # trips that run again are counted by then: no list grows
        again, part = self.again(loop, placed, scope, half, tally, None if kept is None else tally.kept(loop, placed))
        rerun = replace(loop, body=again, snapshots=Pack((part, mine, *self.mark)))
        if kept is None:
            return [*tally.out, rerun]
        most = tally.make("runtime.budget_trips", kept, share, wish="most")
        done, fits, going = self.new(loop.trips.name), self.new("_c", BOOL), self.new("_c", BOOL)
        head = (Assign((fits,), "np.less", (done, most)), Assign((going,), "np.logical_and", (loop.cond, fits)))
        body = rename(apart(loop.body), {loop.trips.name: done.name})
        first = replace(loop, head=head, cond=going, body=body, trips=done)
        return [*tally.out, Assign((done,), "alias", (Const(0),)), first, rerun]

    def splittable(self, loop: For | While) -> bool:
        stacks = any(isinstance(s, (Push, Pop, Stack)) for s in walk(loop.body))
        steps = not isinstance(loop, For) or isinstance(loop.step, Const)
        return counter(loop) not in self.excluded and loop.snapshots is None and steps and not stacks

    def again(
        self, loop: For | While, values: Sequence[Pushed], scope: Scope, half: Var, tally: Tally, kept: Operand | None
    ) -> tuple[Block, Operand]:
        """The body of trips that run again, and what one of them keeps: its own inner loops get half of the share."""
        inner = [s for s in loop.body if self.long(s)]
        names = {counter(s) for s in inner}
        own = tally.kept(loop, [v for v in values if not names & set(v.loops)]) if inner else None
        room = self.new("room")
        start: Stmt = Assign((room,), "alias", (half,))
        if own is None:
            return (loop.body, kept) if kept is not None else ((start, *self.charged_trip(loop, scope, room)), half)
        body = _Split(replace(self.fn, types=self.types), [v for v in self.kept if names & set(v.loops)], self.excluded)
        body.names, body.types = self.names, self.types
        part = tally.plus(own, half)
        before, again = self.moved(loop, (start, *body.block(loop.body, scope.copy(), room, len(inner))))
        tally.out += before
        return again, part if kept is None else tally.make("min", kept, part)

    # ------------------------------------------------------------- loops that do not

    def charged(self, loop: For | While, scope: Scope, room: Var) -> list[Stmt]:
        """A loop that keeps everything: what it keeps is taken off `room`, and tested."""
        tally = self.tally(scope, loop.body)
        kept = tally.kept(loop, self.keeps(loop))
        if kept is None:
            return [replace(loop, body=self.charged_trip(loop, scope, room))]
        if isinstance(loop, For):
            total = tally.times(tally.count(loop.start, loop.stop, loop.step), kept)
            return [*tally.out, *self.charge(room, total, loop), loop]
        return [*tally.out, replace(loop, body=(*self.charge(room, kept, loop), *loop.body))]

    def charged_trip(self, loop: For | While, scope: Scope, room: Var) -> Block:
        """A trip that keeps nobody knows how much before it has run: inner loops count for themselves, and the rest where it ends."""
        scope = scope.copy()
        out: list[Stmt] = []
        last = loop.body[-1:] if isinstance(loop, While) else ()
        for stmt in loop.body[: len(loop.body) - len(last)]:
            out += self.charged_inside(stmt, scope, room)
            scope.behind(stmt, self.types)
        tally = self.tally(scope)
        own = tally.kept(loop, [v for v in self.keeps(loop) if len(v.loops) == 1])
        if own is None:
            raise errors.MemoryBudgetError(
                "nobody can tell how much memory a trip of this loop keeps for the reverse sweep",
                loop.loc,
                reason="it keeps arrays of sizes that depend on numbers in them, or in a branch",
                hint="leave `memory=` out, or make arrays of known sizes",
            )
        return (*out, *tally.out, *(self.charge(room, own, loop) if own != Const(0) else ()), *last)

    def charged_inside(self, stmt: Stmt, scope: Scope, room: Var) -> list[Stmt]:
        if isinstance(stmt, If):
            arms = []
            for block in (stmt.then, stmt.orelse):
                inner = scope.copy()
                arm: list[Stmt] = []
                for s in block:
                    arm += self.charged_inside(s, inner, room)
                    inner.behind(s, self.types)
                arms.append(tuple(arm))
            return [replace(stmt, then=arms[0], orelse=arms[1])]
        return self.charged(stmt, scope, room) if isinstance(stmt, (For, While)) and self.keeps(stmt) else [stmt]

    def charge(self, room: Var, size: Operand, loop: For | While) -> Block:
        return Effect("runtime.budget_check", (size, room), (), loop.loc), Assign((room,), "np.subtract", (room, size))

    def moved(self, loop: For | While, body: Block) -> tuple[list[Stmt], Block]:
        """Numbers of ours that a trip computes from none of its own, which stand before the loop; and the trip without them."""
        bound = [*assigns(loop), *(n for s in walk(body) for n in assigns(s))]
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
        if not isinstance(stmt, (For, While)) or not self.keeps(stmt) or not self.splittable(stmt):
            return False
        if isinstance(stmt, While):
            return True
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


__all__ = ["BUDGET", "at_fault", "budgeted", "within", "within_derivative", "within_own"]
