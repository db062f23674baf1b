"""Walks over statements: what they read, bind and store, and maps that keep what does not change."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from stgrad.ir.core import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    If,
    Operand,
    Pack,
    Pop,
    Push,
    Slice,
    Stack,
    Statement,
    Stmt,
    Store,
    Type,
    Var,
    While,
)

R = TypeVar("R")
S = TypeVar("S", bound=Statement)


def _once(walk: Callable[[Any], R]) -> Callable[[Any], R]:
    """A function of a statement that keeps its answer with the statement."""
    member = getattr(Statement, f"_{walk.__name__.strip('_')}")
    get, put = member.__get__, member.__set__

    @functools.wraps(walk)
    def kept(stmt: Any) -> R:
        try:
            return get(stmt)  # type: ignore[no-any-return]
        except AttributeError:
            found = walk(stmt)
            put(stmt, found)
            return found

    return kept


def entries_of(operand: Operand) -> tuple[Operand, ...]:
    """The entries of an index, a shape or a result; one that is no tuple is its own."""
    return operand.items if isinstance(operand, Pack) else (operand,)


def operand_vars(operand: Operand) -> tuple[str, ...]:
    """Names that an operand reads, left to right."""
    kind = type(operand)
    if kind is Var:
        return (operand.name,)  # type: ignore[union-attr]
    if kind is Const:
        return ()
    if kind is Pack:
        return tuple(name for part in operand.items for name in operand_vars(part))  # type: ignore[union-attr]
    if isinstance(operand, Slice):
        return operand_vars(operand.lower) + operand_vars(operand.upper) + operand_vars(operand.step)
    return ()


def gathers(index: Operand, types: Mapping[str, Type]) -> bool:
    """Whether an index holds an array, so that reading with it copies."""
    return any(types[n].array for n in operand_vars(index) if n in types)


@_once
def operands(stmt: Stmt) -> tuple[Operand, ...]:
    """Operands that a statement itself reads, not those of its blocks."""
    match stmt:
        case Assign() | Effect():
            return stmt.args + tuple(v for _, v in stmt.kwargs)
        case Store():
            return (stmt.target, stmt.index, stmt.value)
        case Push():
            return (stmt.value,)
        case If():
            return (stmt.cond,)
        case For():
            bounds = (stmt.start, stmt.stop, stmt.step)
            return bounds if stmt.snapshots is None else (*bounds, stmt.snapshots)
        case Custom():
            return stmt.inputs + stmt.fixed
        case While():
            return () if stmt.snapshots is None else (stmt.snapshots,)
        case Stack() | Pop():
            return ()
    raise AssertionError(stmt)


@_once
def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks that run as part of a statement."""
    match stmt:
        case If():
            return (stmt.then, stmt.orelse)
        case For():
            return (stmt.body,)
        case While():
            return (stmt.head, stmt.body)
        case Custom():
            return (stmt.body,)
    return ()


@_once
def reads(stmt: Stmt) -> tuple[str, ...]:
    """Names that a statement reads, without those of its blocks; the condition of a `While` included."""
    own = tuple(name for operand in operands(stmt) for name in operand_vars(operand))
    return own + operand_vars(stmt.cond) if isinstance(stmt, While) else own


@_once
def assigns(stmt: Stmt) -> tuple[str, ...]:
    """Names that a statement itself binds (a store binds none)."""
    match stmt:
        case Assign():
            return tuple(t.name for t in stmt.targets)
        case Pop():
            return (stmt.target.name,)
        case For():
            return (stmt.var.name,)
    return ()


@_once
def _walk(stmt: Stmt) -> tuple[Stmt, ...]:
    inner = blocks(stmt)
    return (stmt, *(s for block in inner for s in walk(block))) if inner else (stmt,)


def walk(block: Block) -> Iterator[Stmt]:
    """Every statement, in program order, a compound one before its blocks."""
    return itertools.chain.from_iterable(map(_walk, block))


@_once
def _assigned(stmt: Stmt) -> frozenset[str]:
    return frozenset(assigns(stmt)).union(*[_assigned(s) for block in blocks(stmt) for s in block])


def assigned(block: Block) -> set[str]:
    """Names bound anywhere in a block."""
    return set().union(*map(_assigned, block))


@_once
def _stored(stmt: Stmt) -> frozenset[str]:
    own = frozenset((stmt.target.name,)) if isinstance(stmt, Store) else frozenset()
    return own.union(*[_stored(s) for block in blocks(stmt) for s in block])


def stored(block: Block) -> set[str]:
    """Names written through by a `Store` anywhere in a block."""
    return set().union(*map(_stored, block))


@_once
def _read(stmt: Stmt) -> frozenset[str]:
    return frozenset(reads(stmt)).union(*[_read(s) for block in blocks(stmt) for s in block])


def read(block: Block) -> set[str]:
    """Names read anywhere in a block."""
    return set().union(*map(_read, block))


@_once
def _raises(stmt: Stmt) -> bool:
    return isinstance(stmt, Effect) and stmt.op == "raise" or isinstance(stmt, If) and raises(stmt.then) and raises(stmt.orelse)


def raises(block: Block) -> bool:
    """Whether every path through a block ends in a `raise`, so that nothing behind the block runs."""
    return any(map(_raises, block))


@_once
def _certain(stmt: Stmt) -> frozenset[str]:
    match stmt:
        case If():
            arms = [certain(block) for block in (stmt.then, stmt.orelse) if not raises(block)] or [frozenset(assigned((stmt,)))]
            return arms[0].intersection(*arms[1:])
        case For():
            return frozenset()  # it may have no iteration
        case While():
            return certain(stmt.head)
        case Custom():
            return certain(stmt.body)
    return frozenset(assigns(stmt))


def certain(block: Block) -> frozenset[str]:
    """Names that a block binds on every path to its end; a path that raises has none."""
    return frozenset(name for stmt in block for name in _certain(stmt))


@_once
def _exposed(stmt: Stmt) -> frozenset[str]:
    own = frozenset(name for operand in operands(stmt) for name in operand_vars(operand))
    match stmt:
        case If():
            return own | exposed(stmt.then) | exposed(stmt.orelse)
        case For():
            return own | exposed(stmt.body) - {stmt.var.name}
        case While():
            return own | exposed(stmt.head) | (exposed(stmt.body) | set(operand_vars(stmt.cond))) - certain(stmt.head)
        case Custom():
            return own | exposed(stmt.body) | rule_reads((stmt,)) - certain(stmt.body)
        case Push() | Pop():
            return own | {stmt.stack}
    return own


def exposed(block: Block) -> frozenset[str]:
    """Names that a block reads before it binds them, on some path, and stacks that it uses: what is live before it whatever is live behind it."""
    found: set[str] = set()
    for stmt in reversed(block):
        if _raises(stmt):
            found.clear()
        found.difference_update(_certain(stmt))
        found |= _exposed(stmt)
    return frozenset(found)


def runs_once(stmt: Stmt) -> bool:
    """Whether a statement is a loop of one trip, as a call that is run again is."""
    return isinstance(stmt, For) and (stmt.start, stmt.stop, stmt.step) == (Const(0), Const(1), Const(1))


def rule_reads(block: Block) -> set[str]:
    """Names that the derivative rules in a block read, and those in them."""
    found: set[str] = set()
    for stmt in walk(block):
        if isinstance(stmt, Custom):
            found |= read(stmt.pullback) | rule_reads(stmt.pullback)
            found.update(n for r in stmt.results for n in operand_vars(r))
    return found


def rule_binds(block: Block) -> set[str]:
    """Names that a block binds, with those that the derivative rules in it bind."""
    found = assigned(block)
    for stmt in walk(block):
        if isinstance(stmt, Custom):
            found |= {v.name for v in (*stmt.outputs, *stmt.bars)} | rule_binds(stmt.pullback)
    return found


def changed(stmt: S, **parts: Any) -> S:
    """The statement with other parts; the same object where each part is what it was, so that what is known of it stays."""
    for name, new in parts.items():
        old = getattr(stmt, name)
        if new is not old and not (type(new) is tuple and len(new) == len(old) and all(map(operator.is_, new, old))):
            return replace(stmt, **parts)  # type: ignore[type-var]
    return stmt


def map_operand(f: Callable[[Operand], Operand], operand: Operand) -> Operand:
    """Apply f to the leaves (`Var`, `Const`). What does not change is the same object."""
    kind = type(operand)
    if kind is Pack:
        items = map_all(f, operand.items)  # type: ignore[union-attr]
        return operand if items is operand.items else Pack(items)  # type: ignore[union-attr]
    if kind is Slice:
        old = (operand.lower, operand.upper, operand.step)  # type: ignore[union-attr]
        new = map_all(f, old)
        return operand if new is old else Slice(*new)
    return f(operand)


def map_all(f: Callable[[Operand], Operand], operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """`map_operand` of each; the same tuple where nothing changes."""
    new = tuple([map_operand(f, o) for o in operands])
    return operands if all(map(operator.is_, new, operands)) else new


def map_operands(f: Callable[[Operand], Operand], stmt: Stmt) -> Stmt:
    """Apply f to the leaves of the operands that a statement itself reads. What does not change is the same object."""

    def go(operand: Operand) -> Operand:
        return map_operand(f, operand)

    match stmt:
        case Assign() | Effect():
            if not stmt.kwargs:
                return changed(stmt, args=map_all(f, stmt.args))
            values = map_all(f, tuple(v for _, v in stmt.kwargs))
            kwargs = tuple((k, v) for (k, _), v in zip(stmt.kwargs, values, strict=True))
            return changed(stmt, args=map_all(f, stmt.args), kwargs=stmt.kwargs if kwargs == stmt.kwargs else kwargs)
        case Store():
            target = go(stmt.target)
            assert isinstance(target, Var)
            return changed(stmt, target=target, index=go(stmt.index), value=go(stmt.value))
        case Push():
            return changed(stmt, value=go(stmt.value))
        case If():
            return changed(stmt, cond=go(stmt.cond))
        case While():
            return changed(stmt, cond=go(stmt.cond), snapshots=None if stmt.snapshots is None else go(stmt.snapshots))
        case For():
            snapshots = None if stmt.snapshots is None else go(stmt.snapshots)
            return changed(stmt, start=go(stmt.start), stop=go(stmt.stop), step=go(stmt.step), snapshots=snapshots)
        case Custom():
            return changed(stmt, inputs=map_all(f, stmt.inputs), fixed=map_all(f, stmt.fixed))
    return stmt


def map_blocks(f: Callable[[Block], Block], stmt: Stmt) -> Stmt:
    """Apply f to the blocks of a statement (those of `blocks`). What does not change is the same object."""
    match stmt:
        case If():
            return changed(stmt, then=f(stmt.then), orelse=f(stmt.orelse))
        case For() | Custom():
            return changed(stmt, body=f(stmt.body))
        case While():
            return changed(stmt, head=f(stmt.head), body=f(stmt.body))
    return stmt


def rename(block: Block, names: Mapping[str, str]) -> Block:
    """Rename variables, read and bound ones, and stacks, everywhere in a block (a pullback's too)."""

    def leaf(operand: Operand) -> Operand:
        return Var(names.get(operand.name, operand.name)) if isinstance(operand, Var) else operand

    def var(v: Var) -> Var:
        return Var(names.get(v.name, v.name))

    def one(stmt: Stmt) -> Stmt:
        stmt = map_blocks(lambda b: rename(b, names), map_operands(leaf, stmt))
        match stmt:
            case Assign():
                return replace(stmt, targets=tuple(map(var, stmt.targets)))
            case Pop():
                return replace(stmt, target=var(stmt.target), stack=names.get(stmt.stack, stmt.stack))
            case Push():
                return replace(stmt, stack=names.get(stmt.stack, stmt.stack))
            case Stack():
                return replace(stmt, name=names.get(stmt.name, stmt.name))
            case For():
                return replace(stmt, var=var(stmt.var))
            case While() if stmt.trips is not None:
                return changed(stmt, trips=var(stmt.trips))
            case Custom():
                return replace(
                    stmt,
                    outputs=tuple(map(var, stmt.outputs)),
                    bars=tuple(map(var, stmt.bars)),
                    pullback=rename(stmt.pullback, names),
                    results=tuple(map_operand(leaf, r) for r in stmt.results),
                )
        return stmt

    return tuple(one(stmt) for stmt in block)
