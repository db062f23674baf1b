"""An array that a loop changes in place, and restores on the way back, becomes a block of states: each trip writes the next one.

    u = np.copy(start)                         s = np.empty((T + 1, n)); s[0] = start
    for t in range(T):                         for t in range(T):
        push(np.copy(u[1:-1]))                     s[t + 1, 0] = s[t, 0]; s[t + 1, n - 1] = s[t, n - 1]
        u[1:-1] = f(u)                ->           s[t + 1, 1:-1] = f(s[t])
    ... u ...                                  ... s[T] ...
    for t in range(T - 1, -1, -1):             for t in range(T - 1, -1, -1):
        u[1:-1] = pop()                            ... s[t] ...
        ... u ...

What was saved and copied back is stored once, and nothing is restored. That holds where each trip changes the array once, all of it but a
margin, and no other name outlives the change. `settle` and `storage` run on the result.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def wave(u, n):
    ...     for _ in range(n):
    ...         u[1:] = u[1:] * u[:-1]
    ...     return np.sum(u)
    >>> show_pass("states", stgrad.grad(wave), np.ones(4), 3)
    u_2_stack = []
    u_2 = np.copy(u)
    for t in range(n):
        u_2_stack.append(np.copy(u_2[1:]))
        u_2[1:] = u_2[1:] * u_2[:-1]
    # grad of line 4: return np.sum(u)
    u_2_bar = np.full((u_2.shape[0],), 1.0)
    for t in range(n - 1, -1, -1):
        old = u_2_stack.pop()
        u_2[1:] = old
        # grad of line 3: u[1:] = u[1:] * u[:-1]
        u_part_bar = np.copy(u_2_bar[1:])
        u_2_bar[1:] = 0.0
        u_part_bar_2 = u_part_bar * u_2[:-1]
        u_2_bar[:-1] += u_part_bar * u_2[1:]
        u_2_bar[1:] += u_part_bar_2
    return u_2_bar
    ->
    u_2 = np.copy(u)
    t = max(n, 0)
    t2 = u_2.shape[0]
    t3 = min(1, t2)
    u_2_states = np.empty((t + 1, t2))
    u_2_states[0] = u_2
    for t4 in range(n):
        t5 = t4 + 1
        for i in range(t3):
            u_2_states[t5, i] = u_2_states[t4, i]
        u_2_old = u_2_states[t4]
        u_part = u_2_old[1:] * u_2_old[:-1]
        u_2_states[t5, 1:] = u_part
    u_2_last = u_2_states[t]
    # grad of line 4: return np.sum(u)
    u_2_bar = np.full((u_2_last.shape[0],), 1.0)
    for t4 in range(n - 1, -1, -1):
        t6 = t4 + 1
        u_2_old_2 = u_2_states[t4]
        # grad of line 3: u[1:] = u[1:] * u[:-1]
        u_part_bar = np.copy(u_2_bar[1:])
        u_2_bar[1:] = 0.0
        u_part_bar_2 = u_part_bar * u_2_old_2[:-1]
        u_2_bar[:-1] += u_part_bar * u_2_old_2[1:]
        u_2_bar[1:] += u_part_bar_2
    return u_2_bar
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stgrad.analysis.alias import sharing
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.extents import parameter_extents
from stgrad.analysis.liveness import observed
from stgrad.analysis.trips import INT, Counting, mirrored
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    For,
    Function,
    Operand,
    Pack,
    Pop,
    Push,
    Slice,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    entries_of,
    reads,
    rename,
    walk,
)
from stgrad.ir.ops import contents
from stgrad.names import Names

Margin = list[tuple[int, int]]  # of each axis: how much a store leaves out at either end


def states(fn: Function) -> Function:
    """The program with a block of states for each array that is changed in place and restored."""
    if any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    tried: set[str] = set()
    while (found := _first(fn, tried)) is not None:
        tried.add(found.name)
        fn = found.rewrite() if found.legal() else fn
    return fn


def _first(fn: Function, tried: set[str]) -> _State | None:
    """A loop, its reversal, and an array that the reversal restores."""
    loops = [(k, s) for k, s in enumerate(fn.body) if isinstance(s, For) and s.step in (Const(1), Const(-1))]
    known = definitions(fn)
    for at, forward in loops:
        if forward.step != Const(1):
            continue
        pushed = {s.stack for s in forward.body if isinstance(s, Push)}
        for back, reverse in loops:
            popped = {s.target.name: s.stack for s in reverse.body if isinstance(s, Pop) and s.stack in pushed}
            if back < at or not popped or not mirrored([forward], [reverse], known):
                continue
            restores = [s for s in reverse.body if isinstance(s, Store) and s.mode == "set" and s.target.name not in tried]
            for restore in restores:
                if isinstance(restore.value, Var) and restore.value.name in popped:
                    return _State(fn, known, at, back, forward, reverse, restore, popped[restore.value.name])
    return None


@dataclass
class _State:
    fn: Function
    definitions: Definitions
    at: int
    back: int
    forward: For
    reverse: For
    restore: Store
    stack: str

    @property
    def name(self) -> str:
        return self.restore.target.name

    # ------------------------------------------------------------- may it be done?

    def legal(self) -> bool:
        """Whether the array is written here alone, once in a trip, and no view of it sees two states."""
        type_, sources = self.fn.types[self.name], parameter_extents(self.fn)
        if any(d.symbol is not None and d.symbol not in sources for d in type_.dims) or self.definitions.counts[self.name] != 1:
            return False
        made = self.definitions.once[self.name]
        if not any(made is s for s in self.fn.body[: self.at]) or self.stores() is None or self.margin() is None:
            return False
        classes = sharing(self.fn)
        stacks = {s.stack for s in walk(self.fn.body) if isinstance(s, (Push, Pop))}
        mine = {n for n in {*self.fn.types, *stacks} if classes.same(n, self.name)}
        if mine & (observed(self.fn) | stacks | {p.name for p in self.fn.params}):
            return False
        written = [s for s in walk(self.fn.body[self.at :]) if isinstance(s, Store) and s.target.name in mine]
        return len(written) == 2 and all(self.one_state(n) for n in mine - {self.name}) and self.at_rest()

    def stores(self) -> tuple[int, Store, list[Stmt]] | None:
        """Where a trip changes the array, how, and the statements that save what it held."""
        found = [(k, s) for k, s in enumerate(self.forward.body) if isinstance(s, Store) and s.target.name == self.name]
        if len(found) != 1 or found[0][1].mode != "set" or found[0][1].index != self.restore.index:
            return None
        pushes = [s for s in self.forward.body if isinstance(s, Push) and s.stack == self.stack]
        uses = [s for s in walk(self.fn.body) if isinstance(s, (Push, Pop)) and s.stack == self.stack]
        if len(pushes) != 1 or len(uses) != 2 or not isinstance(pushes[0].value, Var):
            return None
        copy = self.definitions.once.get(pushes[0].value.name)
        if not isinstance(copy, Assign) or copy.op != "np.copy" or self.readers(copy) != [pushes[0]]:
            return None
        save: list[Stmt] = [pushes[0], copy]
        if copy.args != (Var(self.name),):
            old = self.definitions.once.get(copy.args[0].name) if isinstance(copy.args[0], Var) else None
            if not isinstance(old, Assign) or old.op != "getitem" or old.args != (Var(self.name), self.restore.index):
                return None
            save += [old] if self.readers(old) == [copy] else []
        home = [next((k for k, other in enumerate(self.forward.body) if other is s), -1) for s in save]
        reader = [s for s in walk(self.fn.body) if isinstance(self.restore.value, Var) and self.restore.value.name in reads(s)]
        return (*found[0], save) if max(home) < found[0][0] and min(home) >= 0 and reader == [self.restore] else None

    def readers(self, made: Assign) -> list[Stmt]:
        return [s for s in walk(self.fn.body) if made.target.name in reads(s)]

    def place(self, stmt: Stmt, block: Block) -> int:
        return next((k for k, s in enumerate(block) if any(inner is stmt for inner in walk((s,)))), -1)

    def margin(self) -> Margin | None:
        """What the store leaves out, if it is a margin of constant width."""
        rank = self.fn.types[self.name].rank
        index = self.restore.index
        items = entries_of(index)
        if index == Const(Ellipsis):
            items = (Slice(NONE, NONE, NONE),) * rank
        found = [_ends(i) for i in (*items, *(Slice(NONE, NONE, NONE),) * (rank - len(items)))]
        known = [f for f in found if f is not None]
        return known if len(known) == len(found) == rank else None

    def one_state(self, view: str) -> bool:
        """Whether a view of the array is made and read while it holds one state."""
        if self.definitions.counts[view] != 1:
            return False
        made = self.definitions.once[view]
        places = [self.phase(s) for s in (made, *(s for s in walk(self.fn.body) if view in reads(s)))]
        return None not in places and len(set(places)) == 1

    def phase(self, stmt: Stmt) -> tuple[str, bool] | None:
        """When a statement runs: between the loops, or in one of them up to the change or behind it."""
        for label, loop in (("forward", self.forward), ("reverse", self.reverse)):
            k = self.place(stmt, loop.body)
            if k >= 0:
                change = self.place(self.restore, loop.body) if label == "reverse" else (self.stores() or (-1,))[0]
                return label, k > change
        return ("between", False) if self.at < self.place(stmt, self.fn.body) < self.back else None

    def at_rest(self) -> bool:
        """Whether nothing asks for the contents after the reversed loop, and no bound of a loop moves with it."""
        rest = (s for s in walk(self.fn.body[self.back + 1 :]) if self.name in reads(s))
        return all(self.name not in contents(s) for s in rest) and not isinstance(self.forward.start, Var)

    # ------------------------------------------------------------- how it is done

    def rewrite(self) -> Function:
        found, margin = self.stores(), self.margin()
        names = Names([*self.fn.types, *(s.name for s in walk(self.fn.body) if isinstance(s, Stack))])
        counting = Counting(self.definitions, dict(self.fn.types), names, assigned((self.forward,)))
        trips = counting.trips(self.forward)
        if found is None or margin is None or trips is None:
            return self.fn
        writer = _Writer(counting, self.name, margin, self.forward.start)
        body = (
            *self.fn.body[: self.at],
            *writer.ahead(trips),
            replace(self.forward, body=writer.forward(self.forward, *found)),
            *writer.seen(self.fn.body[self.at + 1 : self.back], trips, "last"),
            replace(self.reverse, body=writer.backward(self.reverse, self.restore)),
            *self.fn.body[self.back + 1 :],
        )
        kept = tuple(s for s in body if not (isinstance(s, Stack) and s.name == self.stack))
        return replace(self.fn, body=kept, types=counting.types)


class _Writer:
    """Writes the two loops over a block of states."""

    def __init__(self, counting: Counting, name: str, margin: Margin, start: Operand) -> None:
        self.counting, self.types, self.names = counting, counting.types, counting.names
        self.name, self.margin, self.start = name, margin, start
        self.block = Var(self.names.fresh(f"{name}_states"))

    def ahead(self, trips: Operand) -> list[Stmt]:
        """The block, with the first state in it."""
        type_, assign = self.types[self.name], self.counting.assign
        self.extents = [assign("shape", Var(self.name), Const(k)) for k in range(type_.rank)]
        self.low = [assign("min", Const(a), n) if a else Const(0) for (a, _), n in zip(self.margin, self.extents, strict=True)]
        self.high: list[Operand] = []
        for (_, b), n, low in zip(self.margin, self.extents, self.low, strict=True):
            self.high.append(assign("max", assign("np.subtract", n, Const(b)), low) if b else n)
        shape = Pack((assign("np.add", trips, Const(1)), *self.extents))
        self.types[self.block.name] = Type(type_.dtype, (Dim(self.names.fresh("states")), *type_.dims), array=True)
        dtype = () if type_.dtype == "float64" else (Const(np.dtype(type_.dtype).type),)
        return [*self.counting.out, Assign((self.block,), "np.empty", (shape, *dtype)), Store(self.block, Const(0), Var(self.name))]

    def forward(self, loop: For, at: int, store: Store, save: list[Stmt]) -> Block:
        out: list[Stmt] = []
        place, following = self.slots(loop, out)
        out += self.margins(place, following)
        before = tuple(s for s in loop.body[:at] if not any(s is old for old in save))
        *ahead, value = self.seen((*before, replace(store, target=self.block)), place, "old")
        assert isinstance(value, Store)
        out += ahead
        index = store.index if store.index != Const(Ellipsis) else Slice(NONE, NONE, NONE)
        items = entries_of(index)
        out.append(replace(value, index=Pack((following, *items))))
        return (*out, *self.seen(loop.body[at + 1 :], following, "next"))

    def backward(self, loop: For, restore: Store) -> Block:
        out: list[Stmt] = []
        at = next(k for k, s in enumerate(loop.body) if s is restore)
        place, following = self.slots(loop, out)
        popped = restore.value
        head = tuple(s for s in loop.body[:at] if not (isinstance(s, Pop) and s.target == popped))
        return (*out, *self.seen(head, following, "next"), *self.seen(loop.body[at + 1 :], place, "old"))

    def slots(self, loop: For, out: list[Stmt]) -> tuple[Operand, Operand]:
        """The slots of the state before a trip, and after it."""
        place: Operand = loop.var
        if self.start != Const(0):
            place = self.integer()
            out.append(Assign((place,), "np.subtract", (loop.var, self.start)))
        following = self.integer()
        out.append(Assign((following,), "np.add", (place, Const(1))))
        return place, following

    def seen(self, block: Block, slot: Operand, wish: str) -> Block:
        """Statements that see one state of the array."""
        if not any(self.name in reads(s) for s in walk(block)):
            return block
        view = Var(self.names.fresh(f"{self.name}_{wish}"))
        self.types[view.name] = self.types[self.name]
        return (Assign((view,), "getitem", (self.block, slot)), *rename(block, {self.name: view.name}))

    def margins(self, place: Operand, following: Operand) -> Iterator[Stmt]:
        """Copies of what the store leaves out: of each axis both ends, within the middle of those before it."""
        for axis, (a, b) in enumerate(self.margin):
            inner = [(low, high) for low, high in zip(self.low[:axis], self.high[:axis], strict=True)]
            outer: list[tuple[Operand, Operand]] = [(Const(0), n) for n in self.extents[axis + 1 :]]
            if a:
                yield self.copied([*inner, (Const(0), self.low[axis]), *outer], place, following)
            if b:
                yield self.copied([*inner, (self.high[axis], self.extents[axis]), *outer], place, following)

    def copied(self, ranges: list[tuple[Operand, Operand]], place: Operand, following: Operand) -> Stmt:
        counters = [self.integer("i") for _ in ranges]
        value = Var(self.names.fresh("_t"))
        self.types[value.name] = Type(self.types[self.name].dtype)
        body: Block = (
            Assign((value,), "getitem", (self.block, Pack((place, *counters)))),
            Store(self.block, Pack((following, *counters)), value),
        )
        for counter, (low, high) in reversed(list(zip(counters, ranges, strict=True))):
            body = (For(counter, low, high, Const(1), body),)
        return body[0]

    def integer(self, wish: str = "_t") -> Var:
        made = Var(self.names.fresh(wish))
        self.types[made.name] = INT
        return made


def _ends(item: Operand) -> tuple[int, int] | None:
    """How much a slice leaves out at either end, if that is a constant."""
    if not isinstance(item, Slice) or item.step not in (NONE, Const(1)):
        return None
    low = 0 if item.lower == NONE else item.lower.value if isinstance(item.lower, Const) else -1
    high = 0 if item.upper == NONE else -item.upper.value if isinstance(item.upper, Const) else -1
    return (low, high) if low >= 0 and high >= 0 and (item.upper == NONE or high > 0) else None
