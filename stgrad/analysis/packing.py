"""Loops of which the processor can run several trips at once: plain arithmetic, sums, and elements that are a trip's own.

A loop qualifies if it has no inner loop, branches of plain arithmetic only, no value that one trip hands to the next, and writes only to elements of its
own trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stgrad.analysis.affine import Positions
from stgrad.analysis.alias import aliases
from stgrad.analysis.bounds import Bounds
from stgrad.analysis.definitions import definitions
from stgrad.analysis.orders import Orders, is_sum
from stgrad.ir import (
    Assign,
    Block,
    Const,
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
    blocks,
    entries_of,
    exposed,
    reads,
    walk,
)
from stgrad.ir.ops import FUNCTION, operation

MAX_DEPTH = 3  # branches in branches: all arms are computed
MAX_WRITES = 16  # arrays written: LLVM tests each pair for overlap, and gives up beyond


@dataclass
class Packing:
    """What decides for the loops of one program. `types` may grow, `defined` are the names that are bound once."""

    types: Mapping[str, Type]
    defined: Mapping[str, Stmt]
    orders: Orders

    @classmethod
    def of(cls, fn: Function, types: Mapping[str, Type] | None = None) -> Packing:
        known, classes = definitions(fn), aliases(fn)
        types = fn.types if types is None else types
        return cls(types, known.once, Orders(types, classes, known.once, Bounds(known), frozenset(classes.find(p.name) for p in fn.params)))

    def fits(self, loop: For) -> bool:
        """Whether a loop is one, once the sums in its branches are added to behind these."""
        plain = self.sums(loop, branches=True) is not None and self.plain(loop.body) and self.apart(loop)
        return plain and not down_columns(loop, Positions.of(loop, self.defined))

    def sums(self, loop: For, branches: bool = False) -> frozenset[str] | None:
        """Names that trips hand on, if each of them is only added to, and in no branch; None otherwise."""
        carried = exposed(loop.body) & assigned(loop.body)
        for stmt in walk(loop.body):
            touched = (
                carried.intersection([*reads(stmt), *assigned((stmt,))]) if not isinstance(stmt, (If, For)) else carried & set(reads(stmt))
            )
            if touched and not (isinstance(stmt, Assign) and is_sum(stmt) and touched == {stmt.target.name}):
                return None
        inner = {n for s in loop.body for b in blocks(s) for n in assigned(b)}
        return None if carried & inner and not branches or any(not self.is_float(Var(n)) for n in carried) else frozenset(carried)

    def is_float(self, operand: Operand) -> bool:
        if isinstance(operand, Const):
            return isinstance(operand.value, float)
        return isinstance(operand, Var) and self.types[operand.name].dtype == "float64" and not self.types[operand.name].array

    def plain(self, body: Block, depth: int = 0) -> bool:
        """Whether a body is arithmetic on numbers, elements read and written, and a few levels of branches without functions."""
        branch = depth > 0
        for stmt in body:
            if isinstance(stmt, If):
                if depth >= MAX_DEPTH or not (self.plain(stmt.then, depth + 1) and self.plain(stmt.orelse, depth + 1)):
                    return False
            elif isinstance(stmt, Assign) and not any(self.types[t.name].array for t in stmt.targets):
                own = operation(stmt.op)
                known = stmt.op == "getitem" or own.vector and (not branch or own.vector == stmt.op and (own.kind != "function" or (own.cost or 0) < FUNCTION))
                if not known or stmt.kwargs or any(self.types[t.name].dtype not in ("float64", "int64", "bool") for t in stmt.targets):
                    return False
            elif not isinstance(stmt, Store):
                return False
        return True

    def apart(self, loop: For) -> bool:
        """Whether each iteration writes to neighbouring places of its own, and reads no places that others write."""
        positions = Positions.of(loop, self.defined)
        written = set()
        for store in (s for s in walk(loop.body) if isinstance(s, Store)):
            items = entries_of(store.index)
            strides = [positions.stride(i) for i in items]
            moved = [form is not None and abs(form.factor(positions.counter)) == 1 for form in strides]
            fixed = all(m or not positions.moves(i) for m, i in zip(moved, items, strict=True))
            if not fixed or not any(moved) or store.mode == "add_at" or self.types[store.target.name].rank != len(items):
                return False
            written.add((store.target.name, items))
        return len(written) <= MAX_WRITES and loop.step in (Const(1), Const(-1)) and self.orders.apart(loop)


def down_columns(loop: For, positions: Positions) -> bool:
    """Whether iterations move along another axis of an array than its last: LLVM packs such a loop only for a stride of 1, so not at all."""
    for stmt in walk(loop.body):
        index = stmt.args[1] if isinstance(stmt, Assign) and stmt.op == "getitem" else stmt.index if isinstance(stmt, Store) else None
        if isinstance(index, Pack) and any(positions.stride(i) is not None for i in index.items[:-1]):
            return True
    return False


__all__ = ["Packing", "down_columns"]
