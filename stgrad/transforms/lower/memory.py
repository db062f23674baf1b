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

from collections.abc import Iterator, Mapping
from dataclasses import replace

from stgrad.ir import Assign, Block, Const, For, Function, Operand, Pack, Stmt, Store, Var, While, assigned, map_blocks, stored, walk
from stgrad.transforms.lower.registers import definitions

Root = tuple[Operand, int]  # what a position is counted from, and how far


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
    return all(isinstance(n, Const) for n in (shape.items if isinstance(shape, Pack) else (shape,)))


def filled_near(fn: Function) -> frozenset[str]:
    """Arrays that innermost loops write in which neighbours are read."""
    loops = [s for s in walk(fn.body) if isinstance(s, For) and not any(isinstance(t, (For, While)) for t in walk(s.body))]
    once = definitions(fn)
    return frozenset(name for loop in loops if reads_neighbours(loop, once) for name in stored(loop.body))


def reads_neighbours(loop: For, once: Mapping[str, Stmt]) -> bool:
    """Whether a loop reads elements that are a constant distance apart, the same in all trips. `once`: names that are bound once."""
    moving = assigned((loop,))
    seen: dict[tuple[object, ...], tuple[int, ...]] = {}
    for array, index in elements(loop):
        roots = [root(i, once) for i in (index.items if isinstance(index, Pack) else (index,))]
        moves = [isinstance(r, Var) and r.name in moving for r, _ in roots]
        line = (array, *((r, 0 if m else at) for (r, at), m in zip(roots, moves, strict=True)))
        at = tuple(at for (_, at), m in zip(roots, moves, strict=True) if m)
        if seen.setdefault(line, at) != at:
            return True
    return False


def elements(loop: For) -> Iterator[tuple[str, Operand]]:
    """Array and index of each element that a loop reads."""
    for stmt in walk(loop.body):
        if isinstance(stmt, Assign) and stmt.op == "getitem" and isinstance(stmt.args[0], Var):
            yield stmt.args[0].name, stmt.args[1]
        elif isinstance(stmt, Store) and stmt.mode == "add":
            yield stmt.target.name, stmt.index


def root(position: Operand, once: Mapping[str, Stmt]) -> Root:
    """`i + 1` is 1 from `i`."""
    at = 0
    for _ in once:  # a name that is counted from itself has no end
        match once.get(position.name) if isinstance(position, Var) else None:
            case Assign(op="np.add", args=(inner, Const(int() as step)) | (Const(int() as step), inner)):
                position, at = inner, at + step
            case Assign(op="np.subtract", args=(inner, Const(int() as step))):
                position, at = inner, at - step
            case Assign(op="runtime.unsigned" | "alias", args=(inner,)):
                position = inner
            case _:
                break
    return position, at
