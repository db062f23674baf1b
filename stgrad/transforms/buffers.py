"""Stacks of numbers that one program fills and another empties: a growing array and a running position, which can be passed on.

    s = []                             s = np.empty(64); top = 0
    while ...:                         while ...:
        s.append(x)            ->          if top == len(s):
    for k in range(trips):                     more = np.empty(2 * top); more[:top] = s; s = more
        x = s.pop()                        s[top] = x; top += 1
                                       for k in range(trips):
                                           top -= 1; x = s[top]

A stack that a second call of the emptying program would find empty is thus never taken off: the position starts where the filling program left it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stgrad.analysis.binding_times import divided, stacks_of
from stgrad.analysis.trips import INT
from stgrad.ir import Assign, Block, Const, Dim, For, Function, If, Operand, Pop, Push, Stack, Stmt, Store, Type, Var, map_blocks, walk
from stgrad.names import Names

FIRST = 64  # items of a new buffer


def buffered(fn: Function, late: Sequence[str]) -> Function:
    """The program with arrays for the stacks of numbers that statements which do not depend on the parameters `late` fill for those that do."""
    early, behind = divided(fn, late)
    other = {s.stack for s in walk(early) if isinstance(s, Pop)} | {s.stack for s in walk(behind) if isinstance(s, Push)}
    shared = {s for s in stacks_of(early) & stacks_of(behind) - other if not fn.types[s].array}
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

    def add(self, stack: str) -> None:
        item = self.types[stack]
        names = Names([*self.types, *(p.name for p in self.fn.params)])
        top, more = Var(names.fresh(f"{stack}_top")), Var(names.fresh(f"{stack}_more"))
        self.tops[stack], self.more[stack] = top, more
        self.types[top.name] = INT
        for name in (stack, more.name):
            self.types[name] = Type(item.dtype, (Dim(names.fresh("room")),), array=True)

    def block(self, block: Block) -> Block:
        return tuple(new for stmt in block for new in self.statement(stmt))

    def statement(self, stmt: Stmt) -> Sequence[Stmt]:
        if isinstance(stmt, Stack) and stmt.name in self.tops:
            return (self._empty(stmt.name, Var(stmt.name), Const(FIRST)), Assign((self.tops[stmt.name],), "alias", (Const(0),)))
        if isinstance(stmt, Push) and stmt.stack in self.tops:
            top = self.tops[stmt.stack]
            put = Store(Var(stmt.stack), top, stmt.value, "set", stmt.loc, stmt.note)
            return (*self._room(stmt.stack), put, Assign((top,), "np.add", (top, Const(1))))
        if isinstance(stmt, Pop) and stmt.stack in self.tops:
            top = self.tops[stmt.stack]
            taken = Assign((stmt.target,), "getitem", (Var(stmt.stack), top), (), stmt.loc, stmt.note)
            return (Assign((top,), "np.subtract", (top, Const(1))), taken)
        return (map_blocks(self.block, stmt),)

    def _room(self, stack: str) -> tuple[Stmt, ...]:
        """Twice the buffer where it is full."""
        buffer, more, top = Var(stack), self.more[stack], self.tops[stack]
        size, length, at = (self._number(INT) for _ in range(3))
        full, item = self._number(Type("bool", weak=True)), self._number(replace(self.fn.types[stack], value=None))
        larger = (
            Assign((length,), "np.multiply", (top, Const(2))),
            self._empty(stack, more, length),
            For(at, Const(0), top, Const(1), (Assign((item,), "getitem", (buffer, at)), Store(more, at, item))),
            Assign((buffer,), "alias", (more,)),
        )
        return (Assign((size,), "shape", (buffer, Const(0))), Assign((full,), "np.equal", (top, size)), If(full, larger))

    def _empty(self, stack: str, target: Var, size: Operand) -> Assign:
        return Assign((target,), "np.empty", (size, Const(np.dtype(self.types[stack].dtype).type)))

    def _number(self, t: Type) -> Var:
        name = Var(Names([*self.types, *(p.name for p in self.fn.params)]).fresh("_t"))
        self.types[name.name] = t
        return name
