"""Stacks that one program fills and another empties: a growing array and a running position, which can be passed on.

    s = []                             s = np.empty(64); top = 0
    while ...:                         while ...:
        s.append(x)            ->          if top == len(s):
    for k in range(trips):                     more = np.empty(2 * top); more[:top] = s; s = more
        x = s.pop()                        s[top] = x; top += 1
                                       for k in range(trips):
                                           top -= 1; x = s[top]

Arrays are put there number by number, and their extents into a second such array. They are references on a stack: where something writes to one of
them, or to what may be a view of it, the stack stays.

A stack that a second call of the emptying program would find empty is thus never taken off: the position starts where the filling program left it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.analysis.alias import aliases
from stgrad.analysis.binding_times import divided, stacks_of
from stgrad.analysis.trips import INT
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    Dim,
    For,
    Function,
    If,
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
    map_blocks,
    stored,
    walk,
)
from stgrad.names import Names

FIRST = 64  # items of a new buffer


def buffered(fn: Function, late: Sequence[str]) -> Function:
    """The program with arrays for the stacks that statements which do not depend on the parameters `late` fill for those that do."""
    early, behind = divided(fn, late)
    classes = aliases(fn)
    written = {classes.find(n) for n in stored(fn.body)}
    other = {s.stack for s in walk(early) if isinstance(s, Pop)} | {s.stack for s in walk(behind) if isinstance(s, Push)}
    shared = {s for s in stacks_of(early) & stacks_of(behind) - other if not fn.types[s].array or fn.types[s].rank and classes.find(s) not in written}
    if not shared:
        return fn
    plan = _Buffers(fn, {}, {}, dict(fn.types))
    for stack in sorted(shared):
        plan.add(stack)
    return replace(fn, body=plan.block(fn.body), types=plan.types)


@dataclass
class _Buffers:
    """The buffers of some stacks and the positions in them."""

    fn: Function
    tops: dict[str, Var]
    more: dict[str, Var]
    types: dict[str, Type]
    sizes: dict[str, str] = field(default_factory=dict)  # of stacks of arrays: where their extents are
    names: Names = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names([*self.types, *(p.name for p in self.fn.params)])

    def add(self, stack: str) -> None:
        item = self.types[stack]
        if item.array:
            self.sizes[stack] = self.names.fresh(f"{stack}_sizes")
            self.types[self.sizes[stack]] = INT
            self.add(self.sizes[stack])
        top, more = Var(self.names.fresh(f"{stack}_top")), Var(self.names.fresh(f"{stack}_more"))
        self.tops[stack], self.more[stack] = top, more
        self.types[top.name] = INT
        for name in (stack, more.name):
            self.types[name] = Type(item.dtype, (Dim(self.names.fresh("room")),), array=True)

    def block(self, block: Block) -> Block:
        return tuple(new for stmt in block for new in self.statement(stmt))

    def statement(self, stmt: Stmt) -> Sequence[Stmt]:
        if isinstance(stmt, Stack) and stmt.name in self.tops:
            return self._declared(stmt.name)
        if isinstance(stmt, Push) and stmt.stack in self.sizes:
            return self._put_array(stmt)
        if isinstance(stmt, Push) and stmt.stack in self.tops:
            return (*self._room(stmt.stack, Const(1)), *self._put(stmt.stack, stmt.value, stmt))
        if isinstance(stmt, Pop) and stmt.stack in self.sizes:
            return self._taken_array(stmt)
        if isinstance(stmt, Pop) and stmt.stack in self.tops:
            return self._taken(stmt.stack, stmt.target, stmt)
        return (map_blocks(self.block, stmt),)

    def _declared(self, stack: str) -> tuple[Stmt, ...]:
        inner = self._declared(self.sizes[stack]) if stack in self.sizes else ()
        return (self._empty(stack, Var(stack), Const(FIRST)), Assign((self.tops[stack],), "alias", (Const(0),)), *inner)

    # ------------------------------------------------------------- numbers

    def _put(self, stack: str, value: Operand, at: Push | None = None) -> tuple[Stmt, ...]:
        top = self.tops[stack]
        loc, note = (None, None) if at is None else (at.loc, at.note)
        return (Store(Var(stack), top, value, "set", loc, note), Assign((top,), "np.add", (top, Const(1))))

    def _taken(self, stack: str, target: Var, at: Pop) -> tuple[Stmt, ...]:
        top = self.tops[stack]
        return (Assign((top,), "np.subtract", (top, Const(1))), Assign((target,), "getitem", (Var(stack), top), (), at.loc, at.note))

    def _room(self, stack: str, count: Operand) -> tuple[Stmt, ...]:
        """Twice as much as is needed where so many items more do not fit."""
        buffer, more, top = Var(stack), self.more[stack], self.tops[stack]
        size, length, needed, at = (self._number(INT) for _ in range(4))
        full, item = self._number(Type("bool", weak=True)), self._number(replace(self.types[stack], dims=(), array=False))
        larger = (
            Assign((length,), "np.multiply", (needed, Const(2))),
            self._empty(stack, more, length),
            For(at, Const(0), top, Const(1), (Assign((item,), "getitem", (buffer, at)), Store(more, at, item))),
            Assign((buffer,), "alias", (more,)),
        )
        test = (Assign((needed,), "np.add", (top, count)), Assign((full,), "np.greater", (needed, size)))
        return (Assign((size,), "shape", (buffer, Const(0))), *test, If(full, larger))

    # ------------------------------------------------------------- arrays

    def _put_array(self, stmt: Push) -> tuple[Stmt, ...]:
        assert isinstance(stmt.value, Var)
        rank, sizes = self.types[stmt.value.name].rank, self.sizes[stmt.stack]
        extents = [self._number(INT) for _ in range(rank)]
        asked = [Assign((n,), "shape", (stmt.value, Const(k))) for k, n in enumerate(extents)]
        kept = [s for n in extents for s in (*self._room(sizes, Const(1)), *self._put(sizes, n))]
        total, counting = self._product(extents)
        at = [self._number(INT) for _ in extents]
        item = self._number(replace(self.types[stmt.stack], dims=(), array=False))
        inner: Block = (Assign((item,), "getitem", (stmt.value, at[0] if rank == 1 else Pack(tuple(at)))), *self._put(stmt.stack, item, stmt))
        for counter, n in zip(reversed(at), reversed(extents), strict=True):
            inner = (For(counter, Const(0), n, Const(1), inner),)
        return (*asked, *kept, *counting, *self._room(stmt.stack, total), *inner)

    def _taken_array(self, stmt: Pop) -> tuple[Stmt, ...]:
        """A view of the numbers on top; nothing writes to it."""
        top, end = self.tops[stmt.stack], self._number(INT)
        extents = [self._number(INT) for _ in range(self.types[stmt.target.name].rank)]
        known = [s for n in reversed(extents) for s in self._taken(self.sizes[stmt.stack], n, stmt)]
        total, counting = self._product(extents)
        down = (Assign((end,), "alias", (top,)), Assign((top,), "np.subtract", (top, total)))
        part = stmt.target if len(extents) == 1 else self._number(replace(self.types[stmt.stack], dims=(Dim(self._fresh("items")),)))
        taken = Assign((part,), "getitem", (Var(stmt.stack), Slice(top, end, NONE)), (), stmt.loc, stmt.note)
        shaped = () if part == stmt.target else (Assign((stmt.target,), "np.reshape", (part, Pack(tuple(extents))), (), stmt.loc, stmt.note),)
        return (*known, *counting, *down, taken, *shaped)

    def _product(self, extents: Sequence[Var]) -> tuple[Var, list[Stmt]]:
        """How many numbers there are in an array, and the statements that tell."""
        total, out = extents[0], list[Stmt]()
        for n in extents[1:]:
            more = self._number(INT)
            out.append(Assign((more,), "np.multiply", (total, n)))
            total = more
        return total, out

    # ------------------------------------------------------------- names

    def _empty(self, stack: str, target: Var, size: Operand) -> Assign:
        return Assign((target,), "np.empty", (size, Const(np.dtype(self.types[stack].dtype).type)))

    def _number(self, t: Type) -> Var:
        name = Var(self._fresh("_t"))
        self.types[name.name] = replace(t, value=None)
        return name

    def _fresh(self, wish: str) -> str:
        return self.names.fresh(wish)
