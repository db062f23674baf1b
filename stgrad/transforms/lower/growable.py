"""Stacks of scalars that are left: growable memory of the run-time.

Before: `Stack(s)`, `Push(s, x)`, `Pop(x, s)`; after: `s = runtime.new_stack(0.0)`, `runtime.push(s, x)`, `x =
runtime.pop(s)`. Stacks of arrays stay lists, which hold references.

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
        t = x_2_bar * 0.3
        x_2_2 = x_2_stack.pop()
        x_2_bar = t * x_2_2
        x_2_bar += t * x_2_2
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
        t = x_2_bar * 0.3
        x_2_2 = runtime.pop(x_2_stack)
        x_2_bar = t * x_2_2
        x_2_bar += t * x_2_2
    return x_2_bar
"""

from __future__ import annotations

from stgrad.ir import Assign, Block, Effect, Function, Pop, Push, Stack, Stmt, Type, Var, map_blocks
from stgrad.transforms.lower.storage import zero


def growable(fn: Function) -> Function:
    """Give the stacks of scalars that are left growable memory."""

    def block(statements: Block) -> Block:
        return tuple(one(map_blocks(block, s)) for s in statements)

    def one(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Stack) and scalar(fn.types.get(stmt.name)):
            return Assign((Var(stmt.name),), "runtime.new_stack", (zero(fn.types[stmt.name]),), loc=stmt.loc, note=stmt.note)
        if isinstance(stmt, Push) and scalar(fn.types.get(stmt.stack)):
            return Effect("runtime.push", (Var(stmt.stack), stmt.value), loc=stmt.loc, note=stmt.note)
        if isinstance(stmt, Pop) and scalar(fn.types.get(stmt.stack)):
            return Assign((stmt.target,), "runtime.pop", (Var(stmt.stack),), loc=stmt.loc, note=stmt.note)
        return stmt

    return fn.with_body(block(fn.body))


def scalar(type_: Type | None) -> bool:
    return type_ is not None and not type_.array
