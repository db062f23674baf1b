"""Matrix products that use the same memory in every trip of a loop.

    for t in range(n):                         y_work = runtime.empty(m)
        y = A @ x                      ->      for t in range(n):
        s += y[0]                                  y = runtime.matmul(A, x, out=y_work)

Two pieces of memory in turn where the result of the last trip is still needed when the next one is computed (see `ages`). The extents must
be known before the loop. A product with a matrix as result is `runtime.matmul` everywhere: it does the smallest in loops and has huge pages for large ones.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def power(a, x, n):
    ...     for _ in range(n):
    ...         x = np.tanh(a @ x)
    ...     return x
    >>> show_pass("products", stgrad.jit(power), np.ones((2, 2)), np.ones(2), 3)
    n_2 = a.shape[0]
    x_2 = x
    x_3 = np.empty(n_2)
    for t in range(n):
        a_x_2 = a @ x_2
        for i in range(n_2):
            x_3[i] = runtime.tanh(a_x_2[i])
        x_2 = x_3
    return x_2
    ->
    n_2 = a.shape[0]
    x_2 = x
    x_3 = np.empty(n_2)
    a_x_2_work = np.empty(n_2)
    for t in range(n):
        a_x_2 = runtime.matmul(a, x_2, out=a_x_2_work)
        for i in range(n_2):
            x_3[i] = runtime.tanh(a_x_2[i])
        x_2 = x_3
    return x_2
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.analysis.ages import ages
from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import parameter_extents
from stgrad.analysis.statements import multiplies
from stgrad.analysis.trips import INT
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    For,
    Function,
    Operand,
    Pack,
    Stmt,
    Type,
    Var,
    While,
    map_blocks,
    reads,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.lower.pieces import turned


def products(fn: Function, reuse: bool = True) -> Function:
    """Matrix products as calls of `runtime.matmul`; with `reuse`, into memory that all trips of a loop share."""
    if any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    bound = definitions(fn).counts
    needed = ages(fn, lambda s: multiplies(s, fn.types)) if reuse else {}
    state = _Products(dict(fn.types), Names(fn.types), needed, parameter_extents(fn), bound)
    return replace(fn, body=state.block(fn.body, False), types=state.types)


@dataclass
class _Products:
    types: dict[str, Type]
    names: Names
    needed: dict[int, int]  # the age of the memory that a product may not touch, by its id
    sources: Mapping[str, tuple[str, int | None, int]]
    once: Counter[str]  # how often each name is bound
    known: dict[tuple[str, tuple[Operand, ...]], Var] = field(default_factory=dict)  # integers that stand before the loop
    before: list[Stmt] = field(default_factory=list)  # what the outermost loop needs before it

    def block(self, statements: Block, in_loop: bool) -> Block:
        result: list[Stmt] = []
        known = dict(self.known)
        for stmt in statements:
            loop = in_loop or isinstance(stmt, (For, While))
            if not in_loop and isinstance(stmt, Assign) and _size(stmt.op) and self.once[stmt.target.name] == 1:
                self.known[stmt.op, stmt.args] = stmt.target
            made = [map_blocks(lambda b, loop=loop: self.block(b, loop), s) for s in self.product(stmt, in_loop)]  # type: ignore[misc]
            if not in_loop:
                result += self.before
                self.before = []
            result += made
        if not in_loop:
            self.known = known  # what one arm of a branch makes, nothing behind it has
        return tuple(result)

    def product(self, stmt: Stmt, in_loop: bool) -> list[Stmt]:
        if not isinstance(stmt, Assign) or not multiplies(stmt, self.types):
            return [stmt]
        shape = self.shape(stmt) if in_loop and id(stmt) in self.needed else None
        if shape is not None:
            ring = [self.workspace(stmt, shape) for _ in range(self.needed[id(stmt)] + 1)]
            return [*turned(ring, self.names, self.types), replace(stmt, op="runtime.matmul", kwargs=(("out", ring[0]),))]
        matrix = self.types[stmt.target.name].rank >= 2
        return [replace(stmt, op="runtime.matmul") if in_loop or matrix else stmt]

    # ---------------------------------------------------------------- memory

    def shape(self, stmt: Assign) -> Operand | None:
        """The extents of a product as operands that stand before the loop."""
        left, right = (self.types[n] for n in reads(stmt))
        made = self.types[stmt.target.name].dims
        dims = (*left.dims[: left.rank - 1], *right.dims[right.rank - 1 :][: right.rank - 1]) if len(made) <= 2 else made
        dims = tuple(b if self.knows(b) else a for a, b in zip(dims, made, strict=True))
        if not all(map(self.knows, dims)):
            return None
        if self.once[stmt.target.name] == 1:
            self.types[stmt.target.name] = replace(self.types[stmt.target.name], dims=dims)
        sizes = tuple(map(self.size, dims))
        return sizes[0] if len(sizes) == 1 else Pack(sizes)

    def knows(self, dim: Dim) -> bool:
        return dim.symbol is None or dim.symbol in self.sources

    def size(self, dim: Dim) -> Operand:
        if dim.symbol is None:
            return Const(dim.offset)
        name, axis, offset = self.sources[dim.symbol]
        whole = Var(name) if axis is None else self.assign("shape", (Var(name), Const(axis)), "n")
        offset += dim.offset
        if not offset:
            return whole
        return self.assign("max", (self.assign("np.add", (whole, Const(offset))), Const(0)))

    def assign(self, op: str, args: tuple[Operand, ...], wish: str = "_t") -> Var:
        if (op, args) in self.known:
            return self.known[op, args]
        target = Var(self.names.fresh(wish))
        self.types[target.name] = INT
        self.before.append(Assign((target,), op, args))
        self.known[op, args] = target
        return target

    def workspace(self, stmt: Assign, shape: Operand) -> Var:
        type_ = self.types[stmt.target.name]
        work = Var(self.names.fresh(f"{stmt.target.name.strip('_')}_work"))
        self.types[work.name] = type_
        dtype = () if type_.dtype == "float64" else (Const(np.dtype(type_.dtype).type),)
        self.before.append(Assign((work,), "np.empty", (shape, *dtype)))
        return work


def _size(op: str) -> bool:
    """Whether an operation gives an extent, or computes with extents."""
    known = operation(op)
    return known.kind == "extent" or known.kind == "arithmetic" and known.total
