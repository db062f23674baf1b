"""Elementary functions of elements that never change in an outer loop are tabulated before it.

    for p in range(n):                        for j in range(d):
        for j in range(d):                        exp_table[j] = math.exp(a[j])
            q += math.exp(a[j]) * x[p, j]  -> for p in range(n):
                                                  for j in range(d):
                                                      q += exp_table[j] * x[p, j]

The usual case: parameters that are kept as logarithms, and used for every point of the data. The table is filled only if the outer loop has a
trip, by the loops that its first trip would run.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def weighted(a, x):
    ...     s = 0.0
    ...     for i in range(len(x)):
    ...         for j in range(len(a)):
    ...             s += np.exp(a[j]) * x[i]
    ...     return s
    >>> show_pass("tables", stgrad.jit(weighted), np.ones(2), np.ones(3))
    s = 0.0
    for i in range(x.shape[0]):
        x_i = x[i]
        for j in range(a.shape[0]):
            s += np.exp(a[j]) * x_i
    return s
    ->
    s = 0.0
    n_x = x.shape[0]
    n = a.shape[0]
    exp_table = np.empty(n)
    if 0 < n_x:
        for j_2 in range(n):
            exp_table[j_2] = np.exp(a[j_2])
    for i in range(n_x):
        x_i = x[i]
        for j in range(a.shape[0]):
            a_j = a[j]
            s += exp_table[j] * x_i
    return s
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.bounds import Bounds
from stgrad.analysis.definitions import definitions
from stgrad.analysis.statements import total
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    For,
    Function,
    If,
    Operand,
    Pack,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    map_blocks,
    operand_vars,
    reads,
    rename,
    walk,
)
from stgrad.ir.ops import FUNCTION, operation
from stgrad.names import Names

BOOL = Type("bool")
Path = tuple[For, ...]


def costly(op: str) -> bool:
    known = operation(op)
    return known.kind == "function" and known.cost is not None and known.cost >= FUNCTION


def tables(fn: Function) -> Function:
    """The program with invariant functions of elements in tables."""
    state = _Tables(dict(fn.types), Names([*fn.types, *(p.name for p in fn.params)]), aliases(fn), definitions(fn).once, Bounds(definitions(fn)))
    body = tuple(s for stmt in fn.body for s in state.statement(stmt))
    return replace(fn, body=body, types=state.types)


@dataclass
class _Tables:
    types: dict[str, Type]
    names: Names
    classes: Classes
    once: Mapping[str, Stmt]
    bounds: Bounds

    def statement(self, stmt: Stmt) -> list[Stmt]:
        if not isinstance(stmt, For) or stmt.step not in (Const(1), Const(-1)) or any(isinstance(s, Custom) for s in walk((stmt,))):
            return [stmt]
        moving = assigned((stmt,))
        written = {self.classes.find(s.target.name) for s in walk(stmt.body) if isinstance(s, Store)}
        ahead: list[Stmt] = []
        found: dict[int, Stmt] = {}
        for path, costly in nested(stmt.body, ()):
            chain = self.chain(costly, path, moving, written)
            if chain is not None:
                table, filled = self.filled(costly, chain, path, stmt)
                ahead += filled
                found[id(costly)] = replace(costly, op="getitem", args=(Var(table), place(path)))
        return [*ahead, replace(stmt, body=_replaced(stmt.body, found))] if found else [stmt]

    # ---------------------------------------------------------------- legality

    def chain(self, stmt: Assign, path: Path, moving: set[str], written: set[str]) -> list[Assign] | None:
        """The statements that make the operands of a function, if inner counters alone tell its value."""
        counters = {loop.var.name for loop in path}
        regular = all(loop.start == Const(0) and loop.step == Const(1) and self.stands(loop.stop, moving) for loop in path)
        if (
            not regular
            or len(counters) != len(path)
            or stmt.target.name not in self.once
            or self.types[stmt.target.name].dtype != "float64"
        ):
            return None
        needed: list[Assign] = []
        used: set[str] = set()
        waiting = list(reads(stmt))
        while waiting:
            name = waiting.pop()
            if name in counters:
                used.add(name)
            elif name in moving:
                made = self.once.get(name)
                if not isinstance(made, Assign) or not any(s is made for s in path[-1].body) or not self.repeatable(made, moving, written):
                    return None
                needed.append(made)
                waiting += [n for n in reads(made) if not self.types[n].array]
            elif self.types[name].array:
                return None
        order = {id(s): k for k, s in enumerate(path[-1].body)}
        unique = {id(s): s for s in needed}
        return sorted(unique.values(), key=lambda s: order[id(s)]) if used == counters else None

    def stands(self, stop: Operand, moving: set[str]) -> bool:
        """Whether a bound is the same in every trip of the outer loop."""
        if not moving.intersection(operand_vars(stop)):
            return True
        made = self.once.get(stop.name) if isinstance(stop, Var) else None
        return isinstance(made, Assign) and made.op == "shape" and not moving.intersection(reads(made))

    def repeatable(self, stmt: Assign, moving: set[str], written: set[str]) -> bool:
        """Whether a statement reads an element of an array that never changes, or calculates."""
        if len(stmt.targets) != 1 or stmt.kwargs or self.types[stmt.target.name].array:
            return False
        if stmt.op == "getitem":
            array = stmt.args[0]
            own = isinstance(array, Var) and array.name not in moving and self.classes.find(array.name) not in written
            return own and not any(self.types[n].array for n in operand_vars(stmt.args[1]))
        return total(stmt.op) and not any(self.types[n].array for n in reads(stmt))

    # --------------------------------------------------------------- rewriting

    def filled(self, stmt: Assign, chain: list[Assign], path: Path, outer: For) -> tuple[str, list[Stmt]]:
        """A table's name, and the statements that fill it."""
        table = self.names.fresh(f"{stmt.op.split('.')[-1]}_table")
        self.types[table] = Type("float64", tuple(Dim(self.names.fresh("trips")) for _ in path), array=True)
        sizes, counted = self.sizes(path)
        made = Assign((Var(table),), "np.empty", (sizes[0] if len(sizes) == 1 else Pack(sizes),))
        again = {n: self.again(n) for s in (*chain, stmt) for n in (s.target.name,)} | {
            loop.var.name: self.again(loop.var.name) for loop in path
        }
        body: Block = (*chain, stmt, Store(Var(table), place(path), stmt.target))
        for loop, size in zip(reversed(path), reversed(sizes), strict=True):
            body = (For(loop.var, Const(0), size, Const(1), body),)
        test = Var(self.names.fresh("_t"))
        self.types[test.name] = BOOL
        any_trip = Assign((test,), "np.less" if outer.step == Const(1) else "np.greater", (outer.start, outer.stop))
        return table, [*counted, made, any_trip, If(test, rename(body, again))]

    def sizes(self, path: Path) -> tuple[tuple[Operand, ...], list[Stmt]]:
        """The trips of each loop, and the statements that count them."""
        sizes: list[Operand] = []
        counted: list[Stmt] = []
        for loop in path:
            least = self.bounds.least(loop.stop)
            made = self.once.get(loop.stop.name) if isinstance(loop.stop, Var) else None
            shape = made if isinstance(made, Assign) and made.op == "shape" else None
            if shape is None and least is not None and least >= 0:
                sizes.append(loop.stop)
                continue
            size = Var(self.names.fresh("n"))
            self.types[size.name] = Type("int64", weak=True)
            counted.append(Assign((size,), "max", (loop.stop, Const(0))) if shape is None else replace(shape, targets=(size,)))
            sizes.append(size)
        return tuple(sizes), counted

    def again(self, name: str) -> str:
        new = self.names.fresh(name)
        self.types[new] = self.types[name]
        return new


def nested(block: Block, path: Path) -> Iterator[tuple[Path, Assign]]:
    """Costly functions that every trip of the loops around them computes."""
    for stmt in block:
        if isinstance(stmt, For):
            yield from nested(stmt.body, (*path, stmt))
        elif path and isinstance(stmt, Assign) and costly(stmt.op) and len(stmt.targets) == 1:
            yield path, stmt


def place(path: Path) -> Operand:
    counters = tuple(loop.var for loop in path)
    return counters[0] if len(counters) == 1 else Pack(counters)


def _replaced(block: Block, found: dict[int, Stmt]) -> Block:
    return tuple(found.get(id(s)) or map_blocks(lambda b: _replaced(b, found), s) for s in block)
