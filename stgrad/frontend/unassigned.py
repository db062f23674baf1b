"""Variables that only some of the paths to a place assign, and their first values.

In Python a name that a path leaves unbound raises UnboundLocalError where it is read; so does the program (`frontend.flags`). Native code
wants a value in each variable all the same. That value is given here, once the whole program is known, and under one invariant:

    A first value goes to a variable that no path has assigned yet, before the first statement of the program that mentions it.

So it overwrites nothing, in no iteration, and no container that shares the variable sees it. Nothing uses it: each read of a
name that may be unbound stands behind the test of its flag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Set

import numpy as np

from stgrad.frontend.builder import Builder
from stgrad.frontend.joins import Join
from stgrad.frontend.values import Maybe, Sym, Undefined, Value, operand_of
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    If,
    Operand,
    Pack,
    Stmt,
    Type,
    Var,
    While,
    assigns,
    operand_vars,
    reads,
    rule_reads,
    walk,
)
from stgrad.syntax.assigned import State, meet

INT = Type("int64", weak=True)


def one_sided(join: Join, name: str, x: Value, y: Value) -> Value:
    """A name that not every path binds."""
    if x is y:
        return x
    if isinstance(x, Undefined) or isinstance(y, Undefined):
        bound = y if isinstance(x, Undefined) else x
        return bound if isinstance(bound, Maybe) else Maybe(bound)
    for side in (x, y):
        if isinstance(side, Maybe) and side.error is not None:
            return side
    first, second = (v.value if isinstance(v, Maybe) else v for v in (x, y))
    return join.value(first, second, name)


def first_values(params: Iterable[Var], body: Block, result: Operand, builder: Builder) -> Block:
    """A program in which every variable that is read has a value on every path; arrays have the extents that their types promise.

    >>> builder = Builder(types={"c": Type("bool"), "y": Type("float64")})
    >>> c, y = Var("c"), Var("y")
    >>> body = (If(c, (Assign((y,), "alias", (Const(2.0),)),)),)
    >>> first_values([c], body, y, builder)[0]
    Assign(targets=(Var(name='y'),), op='alias', args=(Const(value=nan),), kwargs=(), loc=None, note=None)
    """
    params = list(params)
    scan = _Scan()
    scan.read(operand_vars(result), scan.block(body, frozenset(p.name for p in params)))
    if not scan.missing:
        return body
    times = Counter(n for s in walk(body) for n in assigns(s))
    known = {p.name for p in params if not times[p.name]}  # whose extents can be asked for from here on
    out: list[Stmt] = []
    for stmt in body:
        mentioned = {n for s in walk((stmt,)) for n in (*reads(s), *assigns(s))} | rule_reads((stmt,))
        for name in sorted(scan.missing & mentioned):
            out += _first(name, builder, known)
            scan.missing.remove(name)
        out.append(stmt)
        known.update(n for n in assigns(stmt) if times[n] == 1)
    return (*out, *(s for name in sorted(scan.missing) for s in _first(name, builder, known)))


class _Scan:
    """One walk over a program; `missing` are the variables that some path reads unassigned."""

    def __init__(self) -> None:
        self.missing: set[str] = set()

    def read(self, names: Iterable[str], known: State) -> None:
        self.missing.update(n for n in names if known is not None and n not in known)

    def block(self, block: Block, known: State) -> State:
        """What has a value behind a block."""
        for stmt in block:
            if not isinstance(stmt, While):  # its condition is read behind its head
                self.read(reads(stmt), known)
            known = self.statement(stmt, known)
        return known

    def statement(self, stmt: Stmt, known: State) -> State:
        match stmt:
            case If():
                return meet([self.block(stmt.then, known), self.block(stmt.orelse, known)])
            case For():
                self.block(stmt.body, _with(known, [stmt.var.name]))
                return known
            case While():
                after = self.block(stmt.head, known)
                self.read(operand_vars(stmt.cond), after)
                self.block(stmt.body, after)
                return after
            case Custom():
                after = self.block(stmt.body, known)
                behind = self.block(stmt.pullback, _with(after, [b.name for b in stmt.bars]))
                self.read((n for r in stmt.results for n in operand_vars(r)), behind)
                return after
            case Effect(op="raise"):
                return None
        return _with(known, assigns(stmt))


def _with(known: State, names: Iterable[str]) -> State:
    return None if known is None else known.union(names)


def _first(name: str, builder: Builder, known: Set[str]) -> Iterator[Stmt]:
    t = builder.types[name]
    if not t.array:
        value = {"b": False, "i": 0, "u": 0}.get(np.dtype(t.dtype).kind, float("nan"))
        yield Assign((Var(name),), "alias", (Const(value),))
        return
    sizes: list[Operand] = []
    for dim in t.dims:
        with builder.block() as steps:
            sizes.append(operand_of(_extent(dim, builder, known)))
        yield from steps
    yield Assign((Var(name),), "np.zeros", (Pack(tuple(sizes)), Const(np.dtype(t.dtype))))


def _extent(dim: Dim, builder: Builder, known: Set[str]) -> Value:
    """An extent, read off what has it; 0 where nothing has."""
    if dim.symbol is None:
        return dim.offset
    for name in sorted(known):
        t = builder.types.get(name)
        if t is not None and t.value == dim:
            return Sym(Var(name), t)
        for axis, other in enumerate(t.dims if t is not None else ()):
            if other.symbol == dim.symbol:
                n = builder.call("shape", (Sym(Var(name), t), axis), INT)
                return n if other == dim else builder.call("np.maximum", (builder.call("np.add", (n, dim.offset - other.offset), INT), 0), INT)
    return 0
