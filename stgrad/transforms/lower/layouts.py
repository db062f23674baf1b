"""Matrices that inner loops walk down column by column are turned once, before all trips of the loop around.

    for t in range(n):                        for j in range(m):
        for j in range(m):                        for i in range(m):
            for i in range(m):          ->            A_turned[j, i] = A[i, j]
                s += A[i, j] * x[i]           for t in range(n):
                                                  ... s += A_turned[j, i] * x[i]

A walk along the last axis is packed, and reads each line of memory once. A matrix that the loop only adds to is summed up turned, and added
behind it. Only where the outer loop's trips all see the same elements, so that the turn is paid back.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def columns(a, x, y):
    ...     for t in range(len(y)):
    ...         for j in range(a.shape[1]):
    ...             s = 0.0
    ...             for i in range(a.shape[0]):
    ...                 s += np.exp(a[i, j] * x[i])
    ...             y[t] += s
    ...     return y
    >>> show_pass("layouts", stgrad.jit(columns), np.ones((2, 2)), np.ones(2), np.ones(3))
    if y.shape[0] > 0:
        if a.shape[1] > 0:
            if a.shape[0] > x.shape[0]:
                raise IndexError('index `i` is out of bounds for axis 0 of `x` (line 6: s += np.exp(a[i, j] * x[i]))')
    for t in range(y.shape[0]):
        y_t = 0.0
        for j in range(a.shape[1]):
            s = 0.0
            for i in range(a.shape[0]):
                s += np.exp(a[i, j] * x[i])
            y_t = runtime.radd(y_t, s)
        y[t] += y_t
    return y
    ->
    if y.shape[0] > 0:
        if a.shape[1] > 0:
            if a.shape[0] > x.shape[0]:
                raise IndexError('index `i` is out of bounds for axis 0 of `x` (line 6: s += np.exp(a[i, j] * x[i]))')
    n = a.shape[1]
    n_2 = a.shape[0]
    a_turned = np.empty((n, n_2))
    n_3 = a_turned.shape[0]
    n_4 = a_turned.shape[1]
    for j_2 in range(n_3):
        for i_2 in range(n_4):
            a_turned[j_2, i_2] = a[i_2, j_2]
    for t in range(y.shape[0]):
        y_t = 0.0
        for j in range(a.shape[1]):
            s = 0.0
            for i in range(a.shape[0]):
                s += np.exp(a_turned[j, i] * x[i])
            y_t = runtime.radd(y_t, s)
        y[t] += y_t
    return y
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from stgrad.analysis.affine import Affine, Positions
from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.definitions import definitions
from stgrad.analysis.elements import index_of, moves, paths
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    For,
    Function,
    Pack,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    map_blocks,
    operand_vars,
    reads,
    walk,
)
from stgrad.names import Names
from stgrad.transforms.lower.pieces import zero

INT = Type("int64", weak=True)


def layouts(fn: Function) -> Function:
    """The program with matrices turned for the loops that walk down their columns."""
    state = _Layouts(dict(fn.types), Names([*fn.types, *(p.name for p in fn.params)]), aliases(fn), definitions(fn).once)
    body = tuple(s for stmt in fn.body for s in state.statement(stmt))
    return replace(fn, body=body, types=state.types)


@dataclass
class _Layouts:
    types: dict[str, Type]
    names: Names
    classes: Classes
    once: Mapping[str, Stmt]

    def statement(self, stmt: Stmt) -> list[Stmt]:
        if not isinstance(stmt, For) or any(isinstance(s, Custom) for s in walk((stmt,))):
            return [stmt]
        touched = {n for s in walk(stmt.body) for n in reads(s) if self.types[n].array}
        before: list[Stmt] = []
        after: list[Stmt] = []
        for name in sorted(n for n in touched if self.types[n].rank == 2 and self.types[n].dims):
            kind = self.suits(stmt, name, touched)
            if kind:
                turned = self.turned(name)
                stmt = replace(stmt, body=_swapped(stmt.body, name, turned))
                before += self.start(name, turned, kind)
                after += self.nest(name, turned, "back") if kind == "add" else []
        return [*before, stmt, *after]

    # ---------------------------------------------------------------- legality

    def suits(self, loop: For, name: str, touched: set[str]) -> str:
        """How a loop uses a matrix that should be turned for it: 'read' or 'add'; '' if it should not."""
        own = self.classes.find(name)
        if name in assigned((loop,)) or any(n != name and self.classes.find(n) == own for n in touched):
            return ""
        found = [
            (path, s) for path, s in paths(loop.body, (loop,)) if name in set(reads(s)) and not (isinstance(s, Assign) and s.op == "shape")
        ]
        kinds = {self.kind(s, name) for _, s in found}
        if len(kinds) != 1 or "" in kinds:
            return ""
        counters = {f.var.name for path, _ in found for f in path[1:]} - {loop.var.name}
        inner = [(path, s) for path, s in found if not any(isinstance(x, For) for x in walk(path[-1].body))]
        down = [moves(Positions.of(path[-1], self.once), s) == (True, False) for path, s in inner]
        deep = any(len(path) > 2 and d for (path, _), d in zip(inner, down, strict=True))
        whole = Positions.of(loop, self.once)
        same = all(counts(whole.form(i), counters) for _, s in inner for i in index_of(s))
        return kinds.pop() if down and all(down) and deep and same else ""

    def kind(self, stmt: Stmt, name: str) -> str:
        if isinstance(stmt, Assign) and stmt.op == "getitem" and stmt.args[0] == Var(name):
            whole = not self.types[stmt.target.name].array and isinstance(stmt.args[1], Pack) and len(stmt.args[1].items) == 2
            return "read" if whole and name not in operand_vars(stmt.args[1]) else ""
        if isinstance(stmt, Store) and stmt.target == Var(name) and stmt.mode == "add" and self.types[name].dtype == "float64":
            own = isinstance(stmt.index, Pack) and len(stmt.index.items) == 2 and all(isinstance(i, (Var, Const)) for i in stmt.index.items)
            alone = own and name not in {n for o in (stmt.value, stmt.index) for n in operand_vars(o)}
            return "add" if alone and not any(self.types[n].array for n in operand_vars(stmt.value)) else ""
        return ""

    # --------------------------------------------------------------- rewriting

    def turned(self, name: str) -> str:
        type_ = self.types[name]
        turned = self.names.fresh(f"{name.strip('_')}_turned")
        self.types[turned] = Type(type_.dtype, type_.dims[::-1], array=True)
        return turned

    def start(self, name: str, turned: str, kind: str) -> list[Stmt]:
        """The turned copy, or zeros."""
        sizes = [self.extent(name, axis) for axis in (1, 0)]
        dtype = () if self.types[name].dtype == "float64" else (Const(np.dtype(self.types[name].dtype).type),)
        made = Assign((Var(turned),), "np.empty", (Pack(tuple(s.target for s in sizes)), *dtype))
        return [*sizes, made, *self.nest(name, turned, "zero" if kind == "add" else "copy")]

    def extent(self, name: str, axis: int) -> Assign:
        size = Var(self.names.fresh("n"))
        self.types[size.name] = INT
        return Assign((size,), "shape", (Var(name), Const(axis)))

    def nest(self, name: str, turned: str, what: str) -> list[Stmt]:
        """Loops over all elements: `turned[j, i]` from or to `name[i, j]`, or zero."""
        outer, inner = (self.extent(turned if what != "back" else name, axis) for axis in (0, 1))
        j, i = Var(self.names.fresh("j")), Var(self.names.fresh("i"))
        self.types |= {j.name: INT, i.name: INT}
        body: tuple[Stmt, ...]
        if what == "zero":
            body = (Store(Var(turned), Pack((j, i)), zero(self.types[turned])),)
        else:
            source, target = (turned, name) if what == "back" else (name, turned)
            value = Var(self.names.fresh("_t"))
            self.types[value.name] = Type(self.types[name].dtype)
            load = Assign((value,), "getitem", (Var(source), Pack((i, j))))
            body = (load, Store(Var(target), Pack((j, i)), value, "add" if what == "back" else "set"))
        nested = For(i, Const(0), inner.target, Const(1), body)
        return [outer, inner, For(j, Const(0), outer.target, Const(1), (nested,))]


def counts(position: Affine | None, counters: set[str]) -> bool:
    """Whether inner counters alone tell a position."""
    return position is not None and bool(position.terms) and position.names() <= counters


def _swapped(block: Block, name: str, turned: str) -> Block:
    def one(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Assign) and stmt.op == "getitem" and stmt.args[0] == Var(name):
            return replace(stmt, args=(Var(turned), Pack(index_of(stmt)[::-1])))
        if isinstance(stmt, Store) and stmt.target == Var(name):
            return replace(stmt, target=Var(turned), index=Pack(index_of(stmt)[::-1]))
        return map_blocks(lambda b: _swapped(b, name, turned), stmt)

    return tuple(map(one, block))
