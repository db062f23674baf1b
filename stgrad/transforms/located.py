"""Masks among other items of an index, as the positions of what they select.

    y = x[mask, 1:3]             ->       p = np.flatnonzero(mask); y = x[p, 1:3]
    image[mask] += colours       ->       i, j = np.nonzero(mask); np.add.at(image, (i, j), colours)

Reads and writes at positions become loops; with masks, Numba has vectors only. A mask of a whole array stays one: what it selects is counted by a pass
over it (`runtime.take_where`). A mask selects nothing twice, so that a sum may be added at once.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def rows(a, mask):
    ...     return a[mask] * 2.0
    >>> show_pass("expand", stgrad.jit(rows), np.ones((3, 2)), np.ones(3, bool))
    if mask.shape[0] != a.shape[0]:
        raise IndexError('boolean index did not match indexed array along axis 0 (line 2: return a[mask] * 2.0)')
    return a[mask] * 2.0
    ->
    if mask.shape[0] != a.shape[0]:
        raise IndexError('boolean index did not match indexed array along axis 0 (line 2: return a[mask] * 2.0)')
    flat = np.flatnonzero(mask)
    return a[flat] * 2.0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad.frontend import splice
from stgrad.frontend.builder import Builder, continuing
from stgrad.frontend.values import Sym, leaves
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    Dim,
    Function,
    Operand,
    Pack,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    entries_of,
    map_blocks,
    walk,
)


def positions_of(mask: Any) -> Any:
    """Read into the program."""
    return np.nonzero(mask)


def located(fn: Function) -> Function:
    """The program with positions for masks that are not the whole of an index."""
    if not any(_mixed(s, fn.types) for s in walk(fn.body)):
        return fn
    builder = continuing(fn)

    def block(statements: Block) -> Block:
        return tuple(s for stmt in statements for s in one(map_blocks(block, stmt)))

    def one(stmt: Stmt) -> Block:
        if not _mixed(stmt, builder.types):
            return (stmt,)
        assert isinstance(stmt, (Assign, Store))
        builder.out, builder.loc, builder.note = [], stmt.loc, stmt.note
        items: list[Operand] = []
        for item in entries_of(_index(stmt)):
            items += _positions(builder, item, _selected(stmt, builder.types)) if _is_mask(item, builder.types) else (item,)
        return (*builder.out, _at(stmt, Pack(tuple(items)) if len(items) > 1 else items[0], builder.types))

    return replace(fn, body=block(fn.body), types=builder.types)


def _positions(builder: Builder, mask: Operand, selected: Dim | None) -> list[Operand]:
    """Arrays of positions, one for each axis of a mask; they are as long as what is known to be."""
    assert isinstance(mask, Var)
    before = set(builder.types)
    found = [v for v in leaves(splice(builder, positions_of, (Sym(mask, builder.types[mask.name]),))) if isinstance(v, Sym)]
    own = found[0].type.dims[0]
    if selected is not None and own.symbol is not None and not own.offset:
        for name in builder.types.keys() - before:
            builder.types[name] = _renamed(builder.types[name], own.symbol, selected)
    return [v.operand for v in found]


def _renamed(type_: Type, symbol: str, by: Dim) -> Type:
    return replace(type_, dims=tuple(replace(by, offset=by.offset + d.offset) if d.symbol == symbol else d for d in type_.dims))


def _mixed(stmt: Stmt, types: Mapping[str, Type]) -> bool:
    """Whether a statement reads or writes with a mask that is not one of the whole array."""
    if not isinstance(stmt, Store) and not (isinstance(stmt, Assign) and stmt.op == "getitem"):
        return False
    array, items = stmt.target if isinstance(stmt, Store) else stmt.args[0], entries_of(_index(stmt))
    if not isinstance(array, Var) or NONE in items or not any(_is_mask(i, types) for i in items):
        return False
    return len(items) > 1 or any(isinstance(i, Var) and types[i.name].rank < types[array.name].rank for i in items)


def _is_mask(item: Operand, types: Mapping[str, Type]) -> bool:
    return isinstance(item, Var) and types[item.name].array and types[item.name].dtype == "bool" and types[item.name].rank > 0


def _index(stmt: Assign | Store) -> Operand:
    return stmt.index if isinstance(stmt, Store) else stmt.args[1]


def _at(stmt: Assign | Store, index: Operand, types: Mapping[str, Type]) -> Stmt:
    if isinstance(stmt, Assign):
        return replace(stmt, args=(stmt.args[0], index))
    once = len([i for i in entries_of(stmt.index) if isinstance(i, Var) and types[i.name].array]) == 1
    return replace(stmt, index=index, mode="add_at" if stmt.mode == "add" and once else stmt.mode)


def _selected(stmt: Assign | Store, types: Mapping[str, Type]) -> Dim | None:
    """The extent of what the arrays of an index select, where they stand side by side and the program knows it."""
    value = stmt.target if isinstance(stmt, Assign) else stmt.value
    items, array = entries_of(_index(stmt)), stmt.args[0] if isinstance(stmt, Assign) else stmt.target
    if not isinstance(value, Var) or not isinstance(array, Var) or Const(Ellipsis) in items:
        return None
    advanced = [k for k, i in enumerate(items) if not isinstance(i, Slice)]
    if advanced != list(range(advanced[0], advanced[-1] + 1)) or any(isinstance(i, Var) and types[i.name].rank > 1 and not _is_mask(i, types) for i in items):
        return None
    used = sum(types[i.name].rank if isinstance(i, Var) and _is_mask(i, types) else 1 for i in items)
    behind = len(items) - 1 - advanced[-1] + types[array.name].rank - used
    dims = types[value.name].dims
    if len(dims) <= behind or dims[-1 - behind].constant == 1:
        return None
    return dims[-1 - behind]
