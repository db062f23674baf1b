"""The array-level program as people read it: the same values, with less to read. It is shown, and never compiled: loops make short work of this themselves.

    (x ** 2).shape[0]                   ->   x.shape[0]
    np.full((x.shape[0],), c) * y       ->   c * y          where y has that shape
    x ** 1.0, x ** 0                    ->   x, 1.0         of numbers; the printer leaves out `** 1` inside of an expression

Each change is exact; a name that is bound twice is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stgrad.analysis.alias import Classes
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Dim,
    Function,
    Operand,
    Pack,
    Stmt,
    Type,
    Var,
    assigns,
    map_blocks,
    operand_vars,
    reads,
    stored,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.transforms.simplify import simplify

_BY_ELEMENT = frozenset(("arithmetic", "comparison", "logical", "predicate", "function", "choice"))


def readable(fn: Function) -> Function:
    """The program for people.

    >>> import numpy as np
    >>> import stgrad
    >>> print(stgrad.grad(lambda x: np.sum(x**2)).source(np.ones(3)).splitlines()[-2].strip())
    x_bar = 2 * x
    """
    for _ in range(4):
        facts = _facts(fn)
        changed = simplify(replace(fn, body=_block(fn.body, facts)))
        if changed.body == fn.body:
            break
        fn = changed
    return changed


@dataclass(frozen=True)
class _Facts:
    types: Mapping[str, Type]
    made: Mapping[str, Assign]  # by the name that it makes, where nothing else binds that name
    fixed: frozenset[str]  # names that are bound once
    uses: Mapping[str, int]
    overwritten: frozenset[str]  # names whose memory is written to, by whatever name


def _facts(fn: Function) -> _Facts:
    bound: dict[str, list[Stmt]] = {p.name: [] for p in fn.params}
    uses: dict[str, int] = dict.fromkeys(operand_vars(fn.result), 2)  # a result must stay an array of its own
    for stmt in walk(fn.body):
        for name in assigns(stmt):
            bound.setdefault(name, []).append(stmt)
        for name in reads(stmt):
            uses[name] = uses.get(name, 0) + 1
    params = {p.name for p in fn.params}
    once = {n: s[0] for n, s in bound.items() if len(s) == 1 and n not in params}
    made = {n: s for n, s in once.items() if isinstance(s, Assign) and len(s.targets) == 1}
    classes = Classes(fn.body, fn.types)
    written = {classes.find(name) for name in stored(fn.body)}
    overwritten = frozenset(n for n in fn.types if classes.find(n) in written)
    return _Facts(fn.types, made, frozenset({*once, *(p for p in params if not bound[p])}), uses, overwritten)


def _block(block: Block, facts: _Facts) -> Block:
    return tuple(_assign(s, facts) if isinstance(s, Assign) else map_blocks(lambda b: _block(b, facts), s) for s in block)


def _assign(stmt: Assign, facts: _Facts) -> Assign:
    if len(stmt.targets) != 1 or stmt.kwargs:
        return stmt
    if stmt.op == "shape":
        return _extent(stmt, facts)
    if stmt.op == "np.multiply":
        return _scaled(stmt, facts)
    return _power(stmt, facts) if stmt.op == "np.power" else stmt


def _extent(stmt: Assign, facts: _Facts) -> Assign:
    """The extent of what an operation makes, of one of its operands."""
    array, axis = stmt.args
    made = facts.made.get(array.name) if isinstance(array, Var) else None
    if made is None or not isinstance(axis, Const) or not isinstance(array, Var):
        return stmt
    dims = facts.types[array.name].dims
    if operation(made.op).kind not in _BY_ELEMENT:
        return stmt
    for operand in made.args:
        if isinstance(operand, Var) and operand.name in facts.fixed and _same_extents(facts.types[operand.name].dims, dims):
            return replace(stmt, args=(operand, axis))
    return stmt


def _same_extents(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    return len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))


def _scaled(stmt: Assign, facts: _Facts) -> Assign:
    """An array of one number, times another array of its shape: the number times that array."""
    for full, other in (stmt.args, stmt.args[::-1]):
        made = facts.made.get(full.name) if isinstance(full, Var) else None
        if made is None or made.op != "np.full" or not isinstance(other, Var) or made.kwargs or len(made.args) != 2:
            continue
        one, two = facts.types[full.name], facts.types[other.name]  # type: ignore[union-attr]
        number = made.args[1]
        if isinstance(number, Var) and (number.name not in facts.fixed or facts.types[number.name].array):
            continue
        if one.dtype == two.dtype and _same_extents(one.dims, two.dims) and isinstance(made.args[0], Pack) and full.name not in facts.overwritten:  # type: ignore[union-attr]
            return _times(stmt, number, other, facts)
    return stmt


def _times(stmt: Assign, number: Operand, other: Var, facts: _Facts) -> Assign:
    one = isinstance(number, Const) and type(number.value) in (int, float) and number.value == 1
    own = facts.uses.get(other.name) == 1 and other.name in facts.made and operation(facts.made[other.name].op).kind in _BY_ELEMENT
    if one and own:
        return replace(stmt, op="alias", args=(other,))
    return replace(stmt, args=(number, other))


def _power(stmt: Assign, facts: _Facts) -> Assign:
    """A number to the power of one or nothing."""
    base, exponent = stmt.args
    t = facts.types[stmt.target.name]
    if t.array or not isinstance(exponent, Const) or type(exponent.value) not in (int, float) or not isinstance(base, Var):
        return stmt
    if exponent.value == 0 and t.dtype == "float64":
        return replace(stmt, op="alias", args=(Const(1.0),))
    return replace(stmt, op="alias", args=(base,)) if exponent.value == 1 and facts.types[base.name].dtype == t.dtype else stmt
