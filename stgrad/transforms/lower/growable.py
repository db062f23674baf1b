"""Stacks of scalars that are left: growable memory of the run-time.

Before: `Stack(s)`, `Push(s, x)`, `Pop(x, s)`; after: `s = runtime.new_stack(0.0)`, `runtime.push(s, x)`, `x =
runtime.pop(s)`. Stacks of arrays stay lists, which hold references. Numba knows the type of a list from what is put into it, and drops branches and
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

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stgrad.ir import Assign, Block, Const, Custom, Effect, For, Function, Pack, Pop, Push, Stack, Stmt, Type, Var, map_blocks
from stgrad.names import Names
from stgrad.transforms.lower.pieces import zero


def growable(fn: Function) -> Function:
    """Give the stacks of scalars that are left growable memory, and lists of arrays a type."""
    seen, types, names = set(_seen(fn.body)), dict(fn.types), Names(fn.types)

    def block(statements: Block) -> Block:
        return tuple(new for s in statements for new in (one(map_blocks(block, s)), *shown(s)))

    def shown(stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Stack) or stmt.name in seen or stmt.name not in types or scalar(types[stmt.name]):
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


def _seen(block: Block) -> Iterator[str]:
    """The stacks on which something is put wherever `for` loops run: Numba drops none of these."""
    for stmt in block:
        if isinstance(stmt, Push):
            yield stmt.stack
        if isinstance(stmt, (For, Custom)):
            yield from _seen(stmt.body)


def scalar(type_: Type | None) -> bool:
    return type_ is not None and not type_.array
