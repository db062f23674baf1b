"""Loops of few trips over small arrays, written out: then every index is a constant, and the elements can be variables (see `stgrad.transforms.small`)."""

from __future__ import annotations

from collections import Counter

from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import is_unknown
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
    map_blocks,
    map_operands,
    operand_vars,
    reads,
    walk,
)

EXTENT, STATEMENTS = 4, 64  # of a small array along an axis, and trips of a loop; and of what is written out


def is_small(type_: Type) -> bool:
    """Whether an array has a few elements, and of how many is known."""
    extents = [d.constant for d in type_.dims]
    known = all(e is not None and 0 < e <= EXTENT for e in extents)
    return type_.array and type_.dtype == "float64" and 0 < len(extents) <= 2 and known


def unrolled(fn: Function, block: Block) -> Block:
    """A block of a program in which loops of few trips are written out whose counter indexes a small array."""
    result: list[Stmt] = []
    for stmt in block:
        stmt = map_blocks(lambda b: unrolled(fn, b), stmt)
        trips = _trips(stmt) if isinstance(stmt, For) and _indexes(fn, stmt) else None
        if not isinstance(stmt, For) or trips is None or len(trips) * sum(1 for _ in walk(stmt.body)) > STATEMENTS:
            result.append(stmt)
            continue
        for trip in trips:
            result += _with_counter(stmt.body, stmt.var.name, Const(trip))
    return tuple(result)


def _trips(loop: For) -> range | None:
    bounds = [o.value if isinstance(o, Const) else None for o in (loop.start, loop.stop, loop.step)]
    if not all(isinstance(b, int) for b in bounds):
        return None
    trips = range(*bounds)  # type: ignore[arg-type]
    return trips if len(trips) <= EXTENT else None


def _indexes(fn: Function, loop: For) -> bool:
    """Whether the counter is part of an index of a small array, and serves nothing outside of the loop."""
    name = loop.var.name
    inside = Counter(n for s in walk(loop.body) for n in reads(s))[name]
    if definitions(fn).reads[name] != inside or any(isinstance(s, (Custom, Push, Pop)) for s in walk(loop.body)):
        return False
    if any(is_unknown(d) for n in assigned(loop.body) for d in fn.types[n].dims):  # one symbol is another extent in each trip
        return False
    return any(isinstance(array, Var) and is_small(fn.types[array.name]) and name in operand_vars(index) for array, index in map(_element, walk(loop.body)))


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
