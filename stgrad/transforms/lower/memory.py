"""Arrays of run-time extents come from `runtime.empty`, which has huge pages for large ones.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def twice(x):
    ...     return 2.0 * x
    >>> show_pass("pages", stgrad.jit(twice), np.ones(3))
    n = x.shape[0]
    t = np.empty(n)
    for i in range(n):
        t[i] = 2.0 * x[i]
    return t
    ->
    n = x.shape[0]
    t = runtime.empty(n)
    for i in range(n):
        t[i] = 2.0 * x[i]
    return t
"""

from __future__ import annotations

from dataclasses import replace

from stgrad.ir import Assign, Block, Const, Function, Operand, Pack, Stmt, map_blocks


def huge_pages(fn: Function) -> Function:
    """`np.empty((n, m))` becomes `runtime.empty((n, m))`; arrays of constant extents are small and stay."""

    def block(statements: Block) -> Block:
        return tuple(one(map_blocks(block, s)) for s in statements)

    def one(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Assign) and stmt.op == "np.empty" and not stmt.kwargs and not constant(stmt.args[0]):
            return replace(stmt, op="runtime.empty")
        return stmt

    return fn.with_body(block(fn.body))


def constant(shape: Operand) -> bool:
    return all(isinstance(n, Const) for n in (shape.items if isinstance(shape, Pack) else (shape,)))
