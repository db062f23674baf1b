"""Loops of few trips over small arrays, written out: then every index is a constant, and the elements can be variables (see `stgrad.transforms.small`).

What a trip binds for itself has a name of its own in each: bound once, it can be computed again where it would be kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import is_unknown
from stgrad.contents import SHORT, is_short
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    For,
    Function,
    Operand,
    Pop,
    Push,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    assigns,
    map_blocks,
    map_operands,
    operand_vars,
    reads,
    rename,
    walk,
)
from stgrad.names import Names

STATEMENTS = 64  # of what is written out


def is_small(type_: Type) -> bool:
    """Whether an array has a few elements, and of how many is known."""
    extents = [d.constant for d in type_.dims]
    known = all(e is not None and is_short(e) for e in extents)
    return type_.array and type_.dtype in ("float64", "bool") and 0 < len(extents) <= 2 and known


def unrolled(fn: Function) -> Function:
    """The program with loops of few trips written out whose counter indexes a small array."""
    names, types = Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)

    def block(statements: Block) -> Block:
        result: list[Stmt] = []
        for stmt in statements:
            stmt = map_blocks(block, stmt)
            trips = _trips(stmt) if isinstance(stmt, For) and _indexes(fn, stmt, types) else None
            if not isinstance(stmt, For) or trips is None or len(trips) * sum(1 for _ in walk(stmt.body)) > STATEMENTS:
                result.append(stmt)
                continue
            own = _own(fn, stmt)
            for trip in trips:
                called = {name: names.fresh(name) if trip != trips[0] else name for name in own}
                types.update({new: types[old] for old, new in called.items()})
                result += rename(_with_counter(stmt.body, stmt.var.name, Const(trip)), called)
        return tuple(result)

    return fn.with_body(block(fn.body), types=types)


def _own(fn: Function, loop: For) -> list[str]:
    """Names that each trip binds before it reads them, and that nothing outside of the loop knows."""
    known, bound = definitions(fn), Counter(n for s in walk(loop.body) for n in assigns(s))
    read = Counter(n for s in walk(loop.body) for n in reads(s))
    found: list[str] = []
    before: set[str] = set()
    for stmt in loop.body:
        before.update(n for s in walk((stmt,)) for n in reads(s))
        names = assigns(stmt) if isinstance(stmt, Assign) else ()
        alone = [n for n in names if n not in before and bound[n] == 1]
        found += [n for n in alone if n not in known.made or n in known.once and known.reads[n] == read[n]]  # written out of an inner loop, or here alone
    return found


def _trips(loop: For) -> range | None:
    bounds = [o.value if isinstance(o, Const) else None for o in (loop.start, loop.stop, loop.step)]
    if not all(isinstance(b, int) for b in bounds):
        return None
    trips = range(*bounds)  # type: ignore[arg-type]
    return trips if len(trips) <= SHORT else None


def _indexes(fn: Function, loop: For, types: Mapping[str, Type]) -> bool:
    """Whether the counter is part of an index of a small array, and serves nothing outside of the loop."""
    name = loop.var.name
    inside = Counter(n for s in walk(loop.body) for n in reads(s))[name]
    if definitions(fn).reads[name] != inside or any(isinstance(s, (Custom, Push, Pop)) for s in walk(loop.body)):
        return False
    if any(is_unknown(d) for n in assigned(loop.body) for d in types[n].dims):  # one symbol is another extent in each trip
        return False
    return any(isinstance(array, Var) and is_small(types[array.name]) and name in operand_vars(index) for array, index in map(_element, walk(loop.body)))


def _element(stmt: Stmt) -> tuple[Operand, Operand]:
    """The array of which a statement reads or writes a part, and the index."""
    if isinstance(stmt, Store):
        return stmt.target, stmt.index
    return (stmt.args[0], stmt.args[1]) if isinstance(stmt, Assign) and stmt.op == "getitem" else (Const(None), Const(None))


def _with_counter(block: Block, name: str, value: Const) -> Block:
    def leaf(o: Operand) -> Operand:
        return value if o == Var(name) else o

    return tuple(map_blocks(lambda b: _with_counter(b, name, value), map_operands(leaf, s)) for s in block)


__all__ = ["is_small", "unrolled"]
