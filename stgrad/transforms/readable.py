"""The array-level program as people read it: the same values, with less to read. It is shown, and never compiled: loops make short work of this themselves.

    (x ** 2).shape[0]                   ->   x.shape[0]
    np.copy(y[1:]) * x                  ->   y[1:] * x      where nothing is written to y
    g * np.where(logical_and(g == 0.0, logical_not(isfinite(p))), 0.0, p)    ->   runtime.safe_product(g, p)
    if a.shape[1] != x.shape[0]: raise  ->                  where NumPy's own operation raises the same
    x ** 1.0, x ** 0                    ->   x, 1.0         of numbers; the printer leaves out `** 1` inside of an expression

Each change is exact; a name that is bound twice is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stgrad.analysis.alias import sharing
from stgrad.errors import NO_COMMON_SHAPE
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Dim,
    Effect,
    Function,
    Pop,
    Push,
    Stmt,
    Type,
    Var,
    assigns,
    blocks,
    map_blocks,
    operand_vars,
    reads,
    stored,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.transforms.guards import choices, guarded
from stgrad.transforms.simplify import simplify
from stgrad.transforms.uniform import same_extents, uniform

_ANY = Dim("~any")  # the extent of every axis
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
        changed = simplify(uniform(replace(fn, body=_block(fn.body, facts))))
        if changed.body == fn.body:
            break
        fn = changed
    return _named_at_once(changed)


def _named_at_once(fn: Function) -> Function:
    """Results under the names that they get, whatever is known of their extents: no pass behind this one asks for them."""
    alike = {name: replace(t, dims=(_ANY,) * t.rank) for name, t in fn.types.items()}
    named = simplify(replace(fn, types=alike))
    return replace(named, types={name: fn.types[name] for name in named.types})


@dataclass(frozen=True)
class _Facts:
    types: Mapping[str, Type]
    made: Mapping[str, Assign]  # by the name that it makes, where nothing else binds that name
    guards: Mapping[str, Assign]  # those, and what branches choose between two numbers
    fixed: frozenset[str]  # names that are bound once
    uses: Mapping[str, int]
    overwritten: frozenset[str]  # names whose memory is written to, by whatever name
    results: frozenset[str]  # names that share memory with results

    @property
    def settled(self) -> frozenset[str]:
        """The names of which the values never change."""
        return self.fixed - self.overwritten


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
    classes = sharing(fn)
    written = {classes.find(name) for name in stored(fn.body)}
    overwritten = frozenset(n for n in fn.types if classes.find(n) in written)
    returned = {classes.find(name) for name in operand_vars(fn.result)}
    results = frozenset(n for n in fn.types if classes.find(n) in returned)
    guards = made | choices(fn.body, {n: len(s) for n, s in bound.items()})
    return _Facts(fn.types, made, guards, frozenset({*once, *(p for p in params if not bound[p])}), uses, overwritten, results)


def _block(block: Block, facts: _Facts) -> Block:
    kept = [s for s in block if not _is_tested_by_numpy(s)]
    return tuple(_assign(s, kept, k, facts) if isinstance(s, Assign) else map_blocks(lambda b: _block(b, facts), s) for k, s in enumerate(kept))


def _is_tested_by_numpy(stmt: Stmt) -> bool:
    """Whether a statement compares extents as the operation behind it does by itself."""
    if not isinstance(stmt, Effect) or stmt.op != "check_equal" or not isinstance(stmt.args[2], Const):
        return False
    return str(stmt.args[2].value).startswith((NO_COMMON_SHAPE, "matmul: shapes do not fit"))


def _assign(stmt: Assign, block: Sequence[Stmt], at: int, facts: _Facts) -> Assign:
    if len(stmt.targets) != 1 or stmt.kwargs:
        return stmt
    if stmt.op == "shape":
        return _extent(stmt, facts)
    if stmt.op == "np.multiply":
        return guarded(stmt, block[:at], facts.guards, facts.settled)
    if stmt.op == "np.copy":
        return _copied(stmt, block[at + 1 :], facts)
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
        if isinstance(operand, Var) and operand.name in facts.fixed and same_extents(facts.types[operand.name].dims, dims):
            return replace(stmt, args=(operand, axis))
    return stmt


def _copied(stmt: Assign, behind: Sequence[Stmt], facts: _Facts) -> Assign:
    """A copy that protects nothing: of what nobody else reads, or of memory that is not written to, for a name that is no result and never written to."""
    source, target = stmt.args[0], stmt.target.name
    if not isinstance(source, Var) or target not in facts.fixed:
        return stmt
    t, like = facts.types[target], facts.types[source.name]
    own = facts.uses.get(source.name) == 1 and _fresh(source, facts)
    idle = not {source.name, target} & facts.overwritten and target not in facts.results or _at_once(target, behind, facts)
    return replace(stmt, op="alias") if (own or idle) and (like.dtype, like.rank, like.array) == (t.dtype, t.rank, t.array) else stmt


def _at_once(name: str, behind: Sequence[Stmt], facts: _Facts) -> bool:
    """Whether all that reads an array is one operation on its elements, before anything is written."""
    for stmt in behind:
        if name in reads(stmt):
            return isinstance(stmt, Assign) and operation(stmt.op).kind in _BY_ELEMENT and facts.uses.get(name) == 1
        if blocks(stmt) or not isinstance(stmt, (Assign, Push, Pop)):
            return False
    return False


def _fresh(operand: Var, facts: _Facts) -> bool:
    """Whether an array is what an operation on elements has just made."""
    return operand.name in facts.made and operation(facts.made[operand.name].op).kind in _BY_ELEMENT


def _power(stmt: Assign, facts: _Facts) -> Assign:
    """What is computed, to the power of one; a number to the power of nothing."""
    base, exponent = stmt.args
    t = facts.types[stmt.target.name]
    if not isinstance(exponent, Const) or type(exponent.value) not in (int, float) or not isinstance(base, Var):
        return stmt
    if t.array:
        fresh = _fresh(base, facts) and not {base.name, stmt.target.name} & facts.overwritten
        same = exponent.value == 1 and facts.types[base.name].dtype == t.dtype and stmt.target.name in facts.fixed
        return replace(stmt, op="alias", args=(base,)) if fresh and same else stmt
    if exponent.value == 0 and t.dtype == "float64":
        return replace(stmt, op="alias", args=(Const(1.0),))
    return replace(stmt, op="alias", args=(base,)) if exponent.value == 1 and facts.types[base.name].dtype == t.dtype else stmt
