"""The array-level program as people read it: the same values, with less to read. It is shown, and never compiled: loops make short work of this themselves.

    (x ** 2).shape[0]                   ->   x.shape[0]
    np.full((x.shape[0],), c) * y       ->   c * y          where y has that shape
    2 * (1 * x ** 0) * y                ->   2.0 * y        where x has that shape
    if a.shape[1] != x.shape[0]: raise  ->                  where NumPy's own operation raises the same
    x ** 1.0, x ** 0                    ->   x, 1.0         of numbers; the printer leaves out `** 1` inside of an expression

Each change is exact; a name that is bound twice is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stgrad.analysis.alias import Classes
from stgrad.errors import NO_COMMON_SHAPE
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Dim,
    Effect,
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
    kept = (s for s in block if not _is_tested_by_numpy(s))
    return tuple(_assign(s, facts) if isinstance(s, Assign) else map_blocks(lambda b: _block(b, facts), s) for s in kept)


def _is_tested_by_numpy(stmt: Stmt) -> bool:
    """Whether a statement compares extents as the operation behind it does by itself."""
    if not isinstance(stmt, Effect) or stmt.op != "check_equal" or not isinstance(stmt.args[2], Const):
        return False
    return str(stmt.args[2].value).startswith((NO_COMMON_SHAPE, "matmul: shapes do not fit"))


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
        number = _everywhere(full, facts)
        if number is None or not isinstance(full, Var):
            continue
        one = facts.types[full.name]
        if not isinstance(other, Var):
            continue
        two = facts.types[other.name]
        if one.dtype == two.dtype and _same_extents(one.dims, two.dims):
            return _times(stmt, number, other, facts)
    return stmt


def _everywhere(operand: Operand, facts: _Facts) -> Operand | None:
    """The number that every element of an array is."""
    made = facts.made.get(operand.name) if isinstance(operand, Var) else None
    if made is None or made.kwargs or len(made.args) != 2 or made.target.name in facts.overwritten:
        return None
    if made.op == "np.power" and made.args[1] in (Const(0), Const(0.0)) and facts.types[made.target.name].dtype == "float64":
        return Const(1.0)
    if made.op == "np.multiply":
        found = [_everywhere(a, facts) or a for a in made.args]
        plain = all(isinstance(v, Const) and type(v.value) in (int, float) for v in found)
        return Const(found[0].value * found[1].value) if plain and facts.types[made.target.name].dtype == "float64" else None  # type: ignore[union-attr, operator]
    if made.op != "np.full" or not isinstance(made.args[0], Pack):
        return None
    number = made.args[1]
    return None if isinstance(number, Var) and (number.name not in facts.fixed or facts.types[number.name].array) else number


def _times(stmt: Assign, number: Operand, other: Var, facts: _Facts) -> Assign:
    one = isinstance(number, Const) and type(number.value) in (int, float) and number.value == 1
    own = facts.uses.get(other.name) == 1 and other.name in facts.made and operation(facts.made[other.name].op).kind in _BY_ELEMENT
    if one and own:
        return replace(stmt, op="alias", args=(other,))
    return replace(stmt, args=(number, other))


def _power(stmt: Assign, facts: _Facts) -> Assign:
    """What is computed, to the power of one; a number to the power of nothing."""
    base, exponent = stmt.args
    t = facts.types[stmt.target.name]
    if not isinstance(exponent, Const) or type(exponent.value) not in (int, float) or not isinstance(base, Var):
        return stmt
    if t.array:
        made = facts.made.get(base.name)
        fresh = made is not None and operation(made.op).kind in _BY_ELEMENT and not {base.name, stmt.target.name} & facts.overwritten
        same = exponent.value == 1 and facts.types[base.name].dtype == t.dtype and stmt.target.name in facts.fixed
        return replace(stmt, op="alias", args=(base,)) if fresh and same else stmt
    if exponent.value == 0 and t.dtype == "float64":
        return replace(stmt, op="alias", args=(Const(1.0),))
    return replace(stmt, op="alias", args=(base,)) if exponent.value == 1 and facts.types[base.name].dtype == t.dtype else stmt
