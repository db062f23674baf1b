"""Tests of sizes that only the running program knows, for `stgrad.transforms.refusals`.

    y = np.zeros(n)           ->  if n < 0: raise ValueError('negative dimensions are not allowed')
    y = x.reshape(n, 2)       ->  if n < 0: (NumPy finds the extent: what is compiled is made for one that is given)
    y = np.bincount(k)        ->  if np.any(k < 0): raise ValueError("'list' argument must have no negative elements")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.analysis.conditions import BOOL, Maker
from stgrad.analysis.intervals import Interval, operand_interval
from stgrad.ir import Assign, Const, Effect, If, Operand, Stmt, Var, entries_of
from stgrad.ir.ops import operation

TESTED = ("np.reshape", "np.bincount")  # beside those that make an array of a shape


def tests(stmt: Assign, maker: Maker, ranges: Mapping[str, Interval], known: set[tuple[Any, ...]], *, ours: bool) -> list[Stmt]:
    """The tests before a statement. `known` are conditions that have been tested, `ours` whether limits of the compiler are among them."""
    if stmt.op == "np.bincount":
        return _counted(stmt, maker)
    if stmt.op == "np.reshape":
        if not ours or len(stmt.args) < 2:
            return []
        what = errors.render("an extent of -1 that only the running program knows", stmt.loc, "", "write -1 itself, or compute the extent")
        return _none_below(stmt.args[1], f"{errors.NOT_COMPILED}UnsupportedSyntaxError: {what}", stmt, maker, ranges, known)
    shape = stmt.args[operation(stmt.op).shape or 0] if stmt.args else None
    return [] if shape is None else _none_below(shape, "negative dimensions are not allowed", stmt, maker, ranges, known)


def _none_below(
    shape: Operand, message: str, stmt: Assign, maker: Maker, ranges: Mapping[str, Interval], known: set[tuple[Any, ...]]
) -> list[Stmt]:
    """A test of each extent of a shape that may be negative."""
    out: list[Stmt] = []
    for item in entries_of(shape):
        number = isinstance(item, Var) and item.name in maker.types or isinstance(item, Const) and type(item.value) is int and stmt.op != "np.reshape"
        if number and operand_interval(item, ranges)[0] < 0 and ("extent", item) not in known:
            known.add(("extent", item))
            below = maker.made("np.less", (item, Const(0)), BOOL, out)
            out.append(If(below, (_raise(message, stmt),), (), stmt.loc))
    return out


def _counted(stmt: Assign, maker: Maker) -> list[Stmt]:
    """Numbers that are counted are none below 0: compiled code would count in front of the array."""
    out: list[Stmt] = []
    counts = stmt.args[0]
    type_ = maker.types[counts.name] if isinstance(counts, Var) else None
    if type_ is not None and np.dtype(type_.dtype).kind == "i":
        below = maker.made("np.less", (counts, Const(0)), replace(type_, dtype="bool", value=None), out)
        negative = maker.made("np.any", (below,), BOOL, out)
        out.append(If(negative, (_raise("'list' argument must have no negative elements", stmt),), (), stmt.loc))
    return out


def _raise(message: str, stmt: Assign) -> Effect:
    return Effect("raise", (Const("ValueError"), Const(message)), (), stmt.loc)


__all__ = ["TESTED", "tests"]
