"""Stacks of scalars that are left: growable memory of the run-time.

Before: `Stack(s)`, `Push(s, x)`, `Pop(x, s)`; after: `s = runtime.new_stack(0.0)`, `runtime.push(s, x)`, `x =
runtime.pop(s)`. Where each trip of a `for` loop stores one item, and each of another one takes one, a run of the loop has a span of the stack, an array
that it fills. Stacks of arrays stay lists, which hold references. Numba knows the type of a list from what is put into it, and drops branches and
`while` loops that its constants tell never to run: a list that is filled in these alone is shown an item first.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def halve(x):
    ...     while x > 1.0:
    ...         x = x * x * 0.3
    ...     return x
    >>> show_pass("growable", stgrad.grad(halve), 2.0)
    x_2_stack = []
    x_2 = x
    trips = 0
    while x_2 > 1.0:
        x_2_stack.append(x_2)
        x_2 = x_2 * x_2 * 0.3
        trips += 1
    x_2_bar = 1.0
    for k in range(trips):
        # grad of line 3: x = x * x * 0.3
        x_part_bar = x_2_bar * 0.3
        x_2_2 = x_2_stack.pop()
        x_2_bar = x_part_bar * x_2_2
        x_2_bar += x_part_bar * x_2_2
    return x_2_bar
    ->
    x_2_stack = runtime.new_stack(0.0)
    x_2 = x
    trips = 0
    while x_2 > 1.0:
        runtime.push(x_2_stack, x_2)
        x_2 = x_2 * x_2 * 0.3
        trips += 1
    x_2_bar = 1.0
    for k in range(trips):
        # grad of line 3: x = x * x * 0.3
        x_part_bar = x_2_bar * 0.3
        x_2_2 = runtime.pop(x_2_stack)
        x_2_bar = x_part_bar * x_2_2
        x_2_bar += x_part_bar * x_2_2
    return x_2_bar
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stgrad.analysis.trips import INT
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    Function,
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
    map_blocks,
    walk,
)
from stgrad.names import Names
from stgrad.transforms.lower.pieces import zero

_OURS = tuple(map(Const, ("IndexError", "OverflowError", "ZeroDivisionError")))  # what tests of the compiler raise


def growable(fn: Function) -> Function:
    """Give the stacks of scalars that are left growable memory, and lists of arrays a type."""
    seen, types, names = set(_seen(fn.body)), dict(fn.types), Names([*fn.types, *(s.name for s in walk(fn.body) if isinstance(s, Stack))])
    spans = _spanned(fn)
    for stack in spans:
        types[stack] = _items(fn.types[stack], names)

    def block(statements: Block) -> Block:
        return tuple(new for s in statements for new in (*loop(s), *shown(s)))

    def loop(stmt: Stmt) -> Block:
        own = [s for s in stmt.body if isinstance(s, (Push, Pop)) and s.stack in spans] if isinstance(stmt, For) else []
        if not isinstance(stmt, For) or not own:
            return (one(map_blocks(block, stmt)),)
        ahead, by = _by_spans(stmt, own, types, names)
        inner = tuple(new for s in stmt.body for new in (by[id(s)] if id(s) in by else block((s,))))
        return (*ahead, replace(stmt, body=inner))

    def shown(stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Stack) or stmt.name in seen or stmt.name not in fn.types or scalar(fn.types[stmt.name]):
            return ()
        first, taken, item = Var(names.fresh("_t")), Var(names.fresh("_t")), types[stmt.name]
        types[first.name] = types[taken.name] = item
        made = Assign((first,), "np.empty", (Pack((Const(0),) * item.rank), Const(np.dtype(item.dtype).type)), loc=stmt.loc)
        return made, Push(stmt.name, first, stmt.loc), Pop(taken, stmt.name, stmt.loc)

    def one(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Stack) and scalar(fn.types.get(stmt.name)):
            return Assign((Var(stmt.name),), "runtime.new_stack", (zero(fn.types[stmt.name]),), loc=stmt.loc, note=stmt.note)
        if isinstance(stmt, Push) and scalar(fn.types.get(stmt.stack)):
            return Effect("runtime.push", (Var(stmt.stack), stmt.value), loc=stmt.loc, note=stmt.note)
        if isinstance(stmt, Pop) and scalar(fn.types.get(stmt.stack)):
            return Assign((stmt.target,), "runtime.pop", (Var(stmt.stack),), loc=stmt.loc, note=stmt.note)
        return stmt

    return replace(fn, body=block(fn.body), types=types)


def _items(item: Type, names: Names) -> Type:
    return Type(item.dtype, (Dim(names.fresh("trips")),), array=True)


def _spanned(fn: Function) -> frozenset[str]:
    """The stacks of scalars that a loop of counted trips fills, one item in each trip, and another one empties so."""
    pushes, pops = (Counter(s.stack for s in walk(fn.body) if isinstance(s, kind)) for kind in (Push, Pop))
    at: dict[type, set[str]] = {Push: set(), Pop: set()}
    for loop in walk(fn.body):
        if isinstance(loop, For) and _comes_to_its_end(loop):
            for stmt in loop.body:
                if isinstance(stmt, (Push, Pop)):
                    at[type(stmt)].add(stmt.stack)
    inside = {s.name for c in walk(fn.body) if isinstance(c, Custom) for s in walk(c.body) if isinstance(s, Stack)}
    return frozenset(n for n in at[Push] & at[Pop] - inside if pushes[n] == pops[n] == 1 and scalar(fn.types.get(n)))


@dataclass
class _Arithmetic:
    """Differences of integers, as statements."""

    names: Names
    types: dict[str, Type]

    def difference(self, a: Operand, b: Operand, out: list[Stmt]) -> Operand:
        if b == Const(0):
            return a
        made = Var(self.names.fresh("_t"))
        self.types[made.name] = INT
        out.append(Assign((made,), *(("np.add", (a, Const(1))) if b == Const(-1) else ("np.subtract", (a, b)))))
        return made

    def trips(self, loop: For, out: list[Stmt]) -> Operand:
        return self.difference(loop.stop, loop.start, out) if loop.step == Const(1) else self.difference(loop.start, loop.stop, out)

    def trip(self, loop: For, out: list[Stmt]) -> Operand:
        """The number of a trip."""
        return self.difference(loop.var, loop.start, out) if loop.step == Const(1) else self.difference(loop.start, loop.var, out)

    def left(self, loop: For, ahead: list[Stmt], out: list[Stmt]) -> Operand:
        """How many trips are left behind a trip."""
        if loop.step == Const(1):
            return self.difference(self.difference(loop.stop, Const(1), ahead), loop.var, out)
        return loop.var if loop.stop == Const(-1) else self.difference(self.difference(loop.var, loop.stop, out), Const(1), out)


def _comes_to_its_end(loop: For) -> bool:
    """Whether memory for all trips may be asked for ahead: they are counted, and the program's own exceptions do not end the loop early."""
    raised = (s for s in walk(loop.body) if isinstance(s, Effect) and s.op == "raise" and s.args[0] not in _OURS)
    still = not {loop.var, loop.start, loop.stop} & set(map(Var, assigned(loop.body)))
    return loop.step in (Const(1), Const(-1)) and still and next(raised, None) is None


def _by_spans(loop: For, own: list[Push | Pop], types: dict[str, Type], names: Names) -> tuple[list[Stmt], dict[int, Block]]:
    """What stands before a loop that fills or empties spans, and what its pushes and pops become. The item that was pushed last is popped first."""
    ahead: list[Stmt] = []
    arithmetic = _Arithmetic(names, types)
    count = arithmetic.trips(loop, ahead)
    known: dict[type, Operand] = {}  # where a trip stores or loads, computed once
    by: dict[int, Block] = {}
    for stmt in own:
        before: list[Stmt] = []
        if type(stmt) not in known:
            known[type(stmt)] = arithmetic.trip(loop, before) if isinstance(stmt, Push) else arithmetic.left(loop, ahead, before)
        at, part = known[type(stmt)], Var(names.fresh(f"{stmt.stack}_part"))
        types[part.name] = _items(types[stmt.stack], names)
        ahead.append(Assign((part,), "runtime.span" if isinstance(stmt, Push) else "runtime.unspan", (Var(stmt.stack), count), (), stmt.loc))
        if isinstance(stmt, Push):
            by[id(stmt)] = (*before, Store(part, at, stmt.value, loc=stmt.loc, note=stmt.note))
        else:
            by[id(stmt)] = (*before, Assign((stmt.target,), "getitem", (part, at), (), stmt.loc, stmt.note))
    return ahead, by


def _seen(block: Block) -> Iterator[str]:
    """The stacks on which something is put wherever `for` loops run: Numba drops none of these."""
    for stmt in block:
        if isinstance(stmt, Push):
            yield stmt.stack
        if isinstance(stmt, (For, Custom)):
            yield from _seen(stmt.body)


def scalar(type_: Type | None) -> bool:
    return type_ is not None and not type_.array
