"""Matrix products that use the same memory in every trip of a loop.

    for t in range(n):                         y_work = runtime.empty(m)
        y = A @ x                      ->      for t in range(n):
        s += y[0]                                  y = runtime.matmul(A, x, out=y_work)

That holds where nothing still needs the result of the last trip when the next one is computed, and the extents are known before the
loop. A product with a matrix as result is `runtime.matmul` everywhere: it does the smallest in loops and has huge pages for large ones.

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
    for t in range(n):
        t2 = a @ x_2
        x_2_2 = np.empty(n_2)
        for i in range(n_2):
            x_2_2[i] = runtime.tanh(t2[i])
        x_2 = x_2_2
    return x_2
    ->
    n_2 = a.shape[0]
    x_2 = x
    t_3_work = np.empty(n_2)
    for t in range(n):
        t2 = runtime.matmul(a, x_2, out=t_3_work)
        x_2_2 = np.empty(n_2)
        for i in range(n_2):
            x_2_2[i] = runtime.tanh(t2[i])
        x_2 = x_2_2
    return x_2
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

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
    Stack,
    Stmt,
    Type,
    Var,
    While,
    assigns,
    map_blocks,
    reads,
    walk,
)
from stgrad.names import Names
from stgrad.transforms.dataflow import Liveness, observed
from stgrad.transforms.lower.extents import parameter_extents
from stgrad.transforms.lower.facts import Classes, aliases
from stgrad.transforms.lower.trips import INT

SIZES = ("shape", "np.add", "max")
PRODUCTS = ("np.matmul", "np.dot")


def products(fn: Function, reuse: bool = True) -> Function:
    """Matrix products as calls of `runtime.matmul`; with `reuse`, into memory that all trips of a loop share."""
    if any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    bound = Counter(n for s in walk(fn.body) for n in assigns(s))
    stacks = [f"stack {s.name}" for s in walk(fn.body) if isinstance(s, Stack)]
    state = _Products(dict(fn.types), Names(fn.types), Liveness(fn.body, observed(fn)), aliases(fn), stacks, parameter_extents(fn), reuse, bound)
    return replace(fn, body=state.block(fn.body, False), types=state.types)


@dataclass
class _Products:
    types: dict[str, Type]
    names: Names
    live: Liveness
    classes: Classes
    stacks: list[str]
    sources: dict[str, tuple[str, int | None, int]]
    reuse: bool
    once: Counter[str]  # how often each name is bound
    known: dict[tuple[str, tuple[Operand, ...]], Var] = field(default_factory=dict)  # integers that stand before the loop
    before: list[Stmt] = field(default_factory=list)  # what the outermost loop needs before it

    def block(self, statements: Block, in_loop: bool) -> Block:
        result: list[Stmt] = []
        for stmt in statements:
            loop = in_loop or isinstance(stmt, (For, While))
            if not in_loop and isinstance(stmt, Assign) and stmt.op in SIZES and self.once[stmt.target.name] == 1:
                self.known[stmt.op, stmt.args] = stmt.target
            made = map_blocks(lambda b, loop=loop: self.block(b, loop), self.product(stmt, in_loop))  # type: ignore[misc]
            if not in_loop:
                result += self.before
                self.before = []
            result.append(made)
        return tuple(result)

    def product(self, stmt: Stmt, in_loop: bool) -> Stmt:
        if not isinstance(stmt, Assign) or not self.multiplies(stmt):
            return stmt
        if in_loop and self.reuse and self.forgotten(stmt):
            shape = self.shape(stmt.target.name)
            if shape is not None:
                return replace(stmt, op="runtime.matmul", kwargs=(("out", self.workspace(stmt.target.name, shape)),))
        matrix = self.types[stmt.target.name].rank == 2
        return replace(stmt, op="runtime.matmul") if in_loop or matrix else stmt

    def multiplies(self, stmt: Assign) -> bool:
        """Whether a statement is a product of real matrices, or of one with a vector, of one type."""
        if stmt.op not in PRODUCTS or stmt.kwargs or len(stmt.args) != 2 or not all(isinstance(a, Var) for a in stmt.args):
            return False
        a, b = (self.types[n] for n in reads(stmt))
        return a.dtype == b.dtype in ("float64", "float32") and (a.rank, b.rank) in ((2, 2), (2, 1), (1, 2))

    def forgotten(self, stmt: Assign) -> bool:
        """Whether nothing that is needed at a product, or after it, may be what it gave before."""
        name = stmt.target.name
        mine = self.classes.find(name)
        needed = (self.live.after[id(stmt)] | {*reads(stmt)}) - {name}
        return not self.alike(mine, needed) and not self.alike(mine, self.stacks) and name not in reads(stmt)

    def alike(self, mine: str, names: Iterable[str]) -> bool:
        return any(self.classes.find(n) == mine for n in names)

    # ---------------------------------------------------------------- memory

    def shape(self, name: str) -> Operand | None:
        """The extents of an array as operands that stand before the loop."""
        dims = self.types[name].dims
        if not all(d.symbol is None or d.symbol in self.sources for d in dims):
            return None
        sizes = tuple(map(self.size, dims))
        return sizes[0] if len(sizes) == 1 else Pack(sizes)

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

    def workspace(self, name: str, shape: Operand) -> Var:
        type_ = self.types[name]
        work = Var(self.names.fresh(f"{name.strip('_')}_work"))
        self.types[work.name] = type_
        dtype = () if type_.dtype == "float64" else (Const(np.dtype(type_.dtype).type),)
        self.before.append(Assign((work,), "np.empty", (shape, *dtype)))
        return work
