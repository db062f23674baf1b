"""Arrays of run-time extents come from `runtime.empty`, which has huge pages for large ones and memory known to be apart.

An array that a loop fills while it reads neighbours (`x[i]` and `x[i + 1]`) is a `runtime.empty_near`, for the reason given there.

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

from collections.abc import Mapping
from dataclasses import replace

from stgrad.analysis.affine import Number, Positions
from stgrad.analysis.definitions import definitions
from stgrad.analysis.orders import accesses
from stgrad.ir import Assign, Block, Const, For, Function, Operand, Stmt, While, entries_of, map_blocks, stored, walk


def huge_pages(fn: Function) -> Function:
    """`np.empty((n, m))` becomes `runtime.empty((n, m))`; arrays of constant extents are small and stay."""
    near = filled_near(fn)

    def block(statements: Block) -> Block:
        return tuple(one(map_blocks(block, s)) for s in statements)

    def one(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Assign) and stmt.op == "np.empty" and not stmt.kwargs and not constant(stmt.args[0]):
            return replace(stmt, op="runtime.empty_near" if stmt.target.name in near else "runtime.empty")
        return stmt

    return fn.with_body(block(fn.body))


def constant(shape: Operand) -> bool:
    return all(isinstance(n, Const) for n in entries_of(shape))


def filled_near(fn: Function) -> frozenset[str]:
    """Arrays that innermost loops write in which neighbours are read."""
    loops = [s for s in walk(fn.body) if isinstance(s, For) and not any(isinstance(t, (For, While)) for t in walk(s.body))]
    once = definitions(fn).once
    return frozenset(name for loop in loops if reads_neighbours(loop, once) for name in stored(loop.body))


def reads_neighbours(loop: For, once: Mapping[str, Stmt]) -> bool:
    """Whether a loop reads elements that are a constant distance apart, the same in all iterations. `once`: names that are bound once."""
    positions = Positions.of(loop, once)
    seen: dict[tuple[object, ...], tuple[Number, ...]] = {}
    for access in accesses(loop):
        if access.kind == "write":
            continue
        entries = entries_of(access.index)
        forms = [(i, positions.form(i)) for i in entries]
        line = (access.array, *(i if f is None else f if positions.still(f) else f.terms for i, f in forms))
        at = tuple(f.constant for _, f in forms if f is not None and not positions.still(f))
        if seen.setdefault(line, at) != at:
            return True
    return False
