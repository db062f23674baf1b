"""The intermediate representation: typed, structured, in A-normal form.

Grammar::

    Function  = name params body result types
    Block     = Stmt*
    Stmt      = Assign(targets, op, args, kwargs)      y = op(a, b, k=c)
              | Store(target, index, value, mode)      y[index] = v   y[index] += v
              | Stack(name) | Push(stack, value) | Pop(target, stack)
              | If(cond, then, orelse)
              | For(var, start, stop, step, body)      the counter is bound by the loop alone
              | While(head, cond, body)                run head; leave unless cond; run body; again
              | Custom(outputs, inputs, body, bars, pullback, results)
              | Effect(op, args)                       print, raise: no value
    Operand   = Var(name) | Const(value) | Pack(items) | Slice(lower, upper, step)

Invariants, checked by `stgrad.verify`: operands hold no calls; every name that is read is in `Function.types`
and assigned before; a loop counter is not assigned in its loop; a name has one kind and one rank for its whole life.
Names are mutable, as in Python: this is no SSA form, and that is what lets every stage print as Python with the
user's own names.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, Union

from stgrad.types import Dim as Dim
from stgrad.types import Type as Type

# --------------------------------------------------------------------------- operands


@dataclass(frozen=True, slots=True)
class Var:
    name: str


@dataclass(frozen=True, slots=True)
class Const:
    """A literal: number, bool, str, None, Ellipsis, or a dtype object such as `np.float64`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Pack:
    """A tuple of operands: a shape, an index, the list of arrays that `np.stack` takes, a tuple result."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    lower: Operand
    upper: Operand
    step: Operand


Operand = Union[Var, Const, Pack, Slice]
NONE = Const(None)
ALL = Const(Ellipsis)

# --------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Loc:
    """Where a statement comes from: the user's file, position and source line."""

    file: str
    line: int
    col: int
    end_col: int
    text: str
    scope: str = ""  # the function it stands in


Block = tuple["Stmt", ...]


class Statement:
    """What all statements have: room for what the walks below find out about each, once, since none ever changes."""

    __slots__ = ("_assigned", "_assigns", "_blocks", "_operands", "_read", "_reads", "_stored", "_walk")


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """`targets = op(*args, **kwargs)`.

    `op` is a name of the rule table ('np.tanh', 'math.exp', 'np.linalg.solve') or one of `BUILTIN_OPS`.
    """

    targets: tuple[Var, ...]
    op: str
    args: tuple[Operand, ...]
    kwargs: tuple[tuple[str, Operand], ...] = ()
    loc: Loc | None = None
    note: str | None = None

    @property
    def target(self) -> Var:
        (only,) = self.targets
        return only


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """`target[index] = value`; mode 'add': `target[index] += value`; 'add_at': `np.add.at(target, index, value)`."""

    target: Var
    index: Operand
    value: Operand
    mode: str = "set"
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Stack(Statement):
    """Declares an empty stack for values of one type (`Function.types[name]` is the type of its items)."""

    name: str
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Push(Statement):
    """Arrays are pushed by reference."""

    stack: str
    value: Operand
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Pop(Statement):
    target: Var
    stack: str
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class If(Statement):
    cond: Operand
    then: Block
    orelse: Block = ()
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class For(Statement):
    """`for var in range(start, stop, step)`. Bounds are read once, before the loop. `parallel`: trips may run on threads."""

    var: Var
    start: Operand
    stop: Operand
    step: Operand
    body: Block
    loc: Loc | None = None
    note: str | None = None
    parallel: bool = False


@dataclass(frozen=True, slots=True)
class While(Statement):
    head: Block
    cond: Operand
    body: Block
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Custom(Statement):
    """A region with its own derivative (`custom_gradient`).

    Forward: run `body`, which assigns `outputs`. Reverse: bind the adjoints of `outputs` to `bars`, run `pullback`,
    add its `results` (one operand for each of `inputs`, `NONE` for no contribution) to the adjoints of `inputs`.
    """

    outputs: tuple[Var, ...]
    inputs: tuple[Operand, ...]
    body: Block
    bars: tuple[Var, ...]
    pullback: Block
    results: tuple[Operand, ...]
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Effect(Statement):
    """A call for its effect only: 'print', 'raise' (class name, message), 'check_equal' (extents, message).

    'check_position' and 'check_index' (position or array of positions, extent, message): raise where it does not fit an axis.
    """

    op: str
    args: tuple[Operand, ...]
    kwargs: tuple[tuple[str, Operand], ...] = ()
    loc: Loc | None = None
    note: str | None = None


Stmt = Union[Assign, Store, Stack, Push, Pop, If, For, While, Custom, Effect]

# Operations that are no functions of NumPy: `alias` y = x, the same object; `getitem` (x, index): a scalar, a view or, with arrays in the
# index, a gather; `shape` (x, Const(axis)): an extent; casts of Python, and `cast` (x, Const(dtype name)); `unbroadcast` (g, like);
# `joint` (a, b): an extent, b where a is 1; `stretch` (x, shape) and its adjoint `shrink` (g, like), where extents decide at run time.
BUILTIN_OPS = frozenset(
    {"alias", "getitem", "shape", "float", "int", "bool", "complex", "not", "cast", "stop_gradient", "unbroadcast", "joint", "stretch", "shrink"}
)


@dataclass(frozen=True, eq=False)
class Function:
    """A program. `result` may nest `Pack`s. `defaults` are the values of trailing parameters.

    Two programs are never equal: what is known of one is kept with it.
    """

    name: str
    params: tuple[Var, ...]
    body: Block
    result: Operand
    types: Mapping[str, Type] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    doc: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)  # captured arrays, by the name that stands for them
    written: frozenset[str] = frozenset()  # array parameters that the user's code writes to (the program copies them first)

    def with_body(self, body: Block, **changes: Any) -> Function:
        return replace(self, body=tuple(body), **changes)


# --------------------------------------------------------------------------- walks

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
            return (stmt.start, stmt.stop, stmt.step)
        case Custom():
            return stmt.inputs
        case While() | Stack() | Pop():
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
        case If() | While():
            return changed(stmt, cond=go(stmt.cond))
        case For():
            return changed(stmt, start=go(stmt.start), stop=go(stmt.stop), step=go(stmt.step))
        case Custom():
            return changed(stmt, inputs=map_all(f, stmt.inputs))
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
