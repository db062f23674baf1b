"""Arrays that lists of run-time length hold: a write that the array and the list would both see is refused.

In Python a list holds the array itself. A list whose length the program decides keeps a copy of each item in a buffer, which is the same
as long as neither side is written to while the other is read later:

    rows.append(v)
    v[0] = 5.0                  # the list sees it, the copy does not: AliasingError
    total = np.sum(rows)

The walk goes forward from the place where an item is put in, through loops and branches, with the names that may still mean the array. The same is asked
of items that were taken out of a list, which are views of its buffer, when the items move to a larger one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stgrad import errors
from stgrad.analysis.alias import Classes, sharing, viewed
from stgrad.analysis.liveness import Liveness
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    Effect,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Var,
    While,
    assigns,
    map_blocks,
    operand_vars,
    operands,
    walk,
)
from stgrad.ir.ops import read_operands

ROUNDS = 3  # of a loop: names reach names from one iteration to the next


@dataclass(frozen=True)
class _State:
    """Behind a put: the names that may mean the array, and writes that the list or the array would have to see."""

    names: frozenset[str]  # that may mean the array
    array_written: Store | None = None
    list_written: Store | None = None


State = _State | None  # None before any put


def check_held(fn: Function, puts: Sequence[tuple[Stmt, str]], moves: Sequence[Stmt]) -> None:
    """Refuse programs in which a list and an array that was put into it would have to see each other's changes.

    Args:
        fn: the program.
        puts: the statements that put items into buffers, with the array that each of them copies.
        moves: the statements that only move items to a larger buffer.

    Raises:
        AliasingError: at the write.
    """
    if not puts:
        return
    classes = sharing(fn)
    ours = {id(s) for s, _ in puts} | {id(s) for s in moves}
    steps = [(classes.find(name), classes.find(_buffer(put, name))) for put, name in puts]
    for put, name in puts:
        holding = _reached(classes.find(_buffer(put, name)), steps)
        same = frozenset(n for n, t in fn.types.items() if t.array and classes.find(n) == classes.find(name))
        buffers = frozenset(n for n, t in fn.types.items() if t.array and classes.find(n) in holding)
        shared = bool(same & buffers)  # an item of the list itself was put in again: two places hold one array
        walk = _Walk(fn, put, same - buffers, same - buffers, buffers, ours, shared)
        walk.reads((fn.result,), walk.block(fn.body, None))
    _check_taken(fn, [s for s in moves if isinstance(s, Store) and fn.types[s.target.name].rank > 1], classes, ours)


def _check_taken(fn: Function, moves: Sequence[Store], classes: Classes, ours: set[int]) -> None:
    """Refuse programs in which items taken out of a list, and the list with its larger buffer, would have to see each other's changes."""
    live = Liveness(fn.body, operand_vars(fn.result)) if moves else None
    for move in moves:
        old = next(iter(operand_vars(move.value)))
        sources = [n for n, t in fn.types.items() if t.array and classes.same(n, old)]
        views = frozenset(n for n in sources if fn.types[n].rank < fn.types[old].rank)
        taken = views & live.after.get(id(move), frozenset()) if live is not None else frozenset()  # moves that are read twice are in the program once
        if taken:
            buffers = frozenset(n for n, t in fn.types.items() if t.array and classes.same(n, move.target.name)) | frozenset(sources)
            walk = _Walk(fn, move, taken, views, buffers, ours, False)
            walk.reads((fn.result,), walk.block(fn.body, None))


def _buffer(put: Stmt, name: str) -> str:
    """The buffer that a put fills."""
    return put.target.name if isinstance(put, Store) else next(iter(assigns(put)), name)


def _reached(first: str, steps: Sequence[tuple[str, str]]) -> set[str]:
    """The buffers that hold what one of them does: a list may be copied into another, as `tuple(rows)` does."""
    found = {first}
    while more := {to for at, to in steps if at in found} - found:
        found |= more
    return found


def keep_taken(fn: Function, replaced: Sequence[Stmt], ours: set[int]) -> Function:
    """The program in which items that were taken out of a list stay what they are when the list gets others in their places.

    An item of a list of run-time length is a view of its buffer: what is read later is copied before the place gets another item.

        first = rows[0]
        rows[0] = 2.0 * first       # first = np.copy(first) stands before it
        total = np.sum(first)

    Raises:
        AliasingError: items are written to as well: then a copy would not see it.
    """
    if not replaced:
        return fn
    classes, live, ids = sharing(fn), Liveness(fn.body, operand_vars(fn.result)), {id(s) for s in replaced}
    written = {classes.find(s.target.name) for s in walk(fn.body) if isinstance(s, Store) and id(s) not in ours | ids}

    def block(b: Block) -> Block:
        return tuple(new for s in b for new in (*copies(s), map_blocks(block, s)))

    def copies(stmt: Stmt) -> tuple[Stmt, ...]:
        if id(stmt) not in ids or not isinstance(stmt, Store):
            return ()
        buffer, rank = stmt.target.name, fn.types[stmt.target.name].rank
        taken = [n for n in sorted(live.after[id(stmt)]) if fn.types[n].array and fn.types[n].rank < rank and classes.same(n, buffer)]
        if taken and classes.find(buffer) in written:
            raise errors.AliasingError(
                "an item of a list is replaced that was taken out of it, and items are written to",
                stmt.loc,
                reason="a list whose length the program decides keeps a copy of each item",
                hint="take a copy of the item out of the list",
            )
        return tuple(Assign((Var(n),), "np.copy", (Var(n),), (), stmt.loc) for n in taken)

    return fn.with_body(block(fn.body))


@dataclass
class _Walk:
    fn: Function
    put: Stmt
    start: frozenset[str]  # names that mean the array when it is put in
    same: frozenset[str]  # names that may mean the array, anywhere
    buffers: frozenset[str]
    ours: set[int]
    shared: bool

    def block(self, block: Block, state: State) -> State:
        for stmt in block:
            state = self.statement(stmt, state)
        return state

    def statement(self, stmt: Stmt, state: State) -> State:
        match stmt:
            case If():
                self.reads((stmt.cond,), state)
                return _join(self.block(stmt.then, state), self.block(stmt.orelse, state))
            case For() | While():
                for _ in range(ROUNDS):
                    state = _join(state, self.iteration(stmt, state))
                return state
            case Custom():
                return self.block(stmt.body, state)
        if stmt is self.put:
            return _join(state, _State(self.start))
        if state is None:
            return None
        if id(stmt) not in self.ours:
            self.reads(operands(stmt)[1:] if isinstance(stmt, Store) else _read(stmt), state)
        return self.written(stmt, state) if isinstance(stmt, Store) else self.bound(stmt, state)

    def iteration(self, loop: For | While, state: State) -> State:
        if isinstance(loop, While):
            state = self.block(loop.head, state)
        return self.block(loop.body, state)

    def reads(self, read: Iterable[Operand], state: State) -> None:
        names = {n for o in read for n in operand_vars(o)}
        if state is None:
            return
        if state.array_written is not None and (names - state.names) & self.buffers:
            raise errors.AliasingError(
                "an array is written to that a list holds, and the list is read later",
                state.array_written.loc,
                reason="a list whose length the program decides keeps a copy of each item",
                hint="append a copy of the array, or write to a copy of it",
            )
        if state.list_written is not None and names & state.names:
            raise errors.AliasingError(
                "an item of a list is written to, and the array that was put into the list is read later",
                state.list_written.loc,
                reason="a list whose length the program decides keeps a copy of each item",
                hint="append a copy of the array, or write to the array itself",
            )

    def written(self, stmt: Store, state: _State) -> State:
        if id(stmt) in self.ours:
            return state
        item_of_two_places = self.shared and stmt.target.name in self.buffers
        if (stmt.target.name in state.names or item_of_two_places) and state.array_written is None:
            state = replace(state, array_written=stmt)
        if stmt.target.name in self.buffers - state.names and state.list_written is None:
            state = replace(state, list_written=stmt)
        return state

    def bound(self, stmt: Stmt, state: _State) -> State:
        """The names that mean the array behind an assignment."""
        names = set(assigns(stmt)) & self.same
        if not names:
            return state
        kept = isinstance(stmt, Assign) and viewed(stmt, self.fn.types) in state.names
        return replace(state, names=state.names | names if kept else state.names - names)


def _read(stmt: Stmt) -> tuple[Operand, ...]:
    return read_operands(stmt) if isinstance(stmt, (Assign, Effect)) else operands(stmt)


def _join(a: State, b: State) -> State:
    if a is None or b is None:
        return b if a is None else a
    return _State(a.names | b.names, a.array_written or b.array_written, a.list_written or b.list_written)

