"""The C library's elementary functions in place of the vectorised ones: `precise=True`.

    y = runtime.exp(x)     ->     y = np.exp(x)

Those of the library are right to less than one unit in the last place, and are called once for each number.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def total(x):
    ...     return np.sum(np.exp(x))
    >>> show_pass("libm", stgrad.jit(total, precise=True), np.ones(3))
    n = x.shape[0]
    sum_exp_x = 0.0
    for i in range(n):
        sum_exp_x = runtime.radd(sum_exp_x, runtime.exp(x[i]))
    return sum_exp_x
    ->
    n = x.shape[0]
    sum_exp_x = 0.0
    for i in range(n):
        sum_exp_x = runtime.radd(sum_exp_x, np.exp(x[i]))
    return sum_exp_x
"""

from __future__ import annotations

from dataclasses import replace

from stgrad.ir import Assign, Block, Function, Stmt, map_blocks
from stgrad.ir.ops import operation


def libm(fn: Function) -> Function:
    """The program with every vectorised function replaced."""

    def block(statements: Block) -> Block:
        return tuple(one(map_blocks(block, s)) for s in statements)

    def one(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Assign):
            return stmt
        precise = operation(stmt.op).precise
        return replace(stmt, op=precise) if precise else stmt

    return fn.with_body(block(fn.body))
