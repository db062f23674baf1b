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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Union

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


@dataclass(frozen=True, slots=True)
class Assign:
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
class Store:
    """`target[index] = value`; mode 'add': `target[index] += value`; 'add_at': `np.add.at(target, index, value)`."""

    target: Var
    index: Operand
    value: Operand
    mode: str = "set"
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """Declares an empty stack for values of one type (`Function.types[name]` is the type of its items)."""

    name: str
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Push:
    """Arrays are pushed by reference."""

    stack: str
    value: Operand
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Pop:
    target: Var
    stack: str
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class If:
    cond: Operand
    then: Block
    orelse: Block = ()
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class For:
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
class While:
    head: Block
    cond: Operand
    body: Block
    loc: Loc | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Custom:
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
class Effect:
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


@dataclass(frozen=True)
class Function:
    """A program. `result` may nest `Pack`s. `defaults` are the values of trailing parameters."""

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


def operand_vars(operand: Operand) -> Iterator[str]:
    """Names that an operand reads, left to right."""
    if isinstance(operand, Var):
        yield operand.name
    elif isinstance(operand, Pack):
        for item in operand.items:
            yield from operand_vars(item)
    elif isinstance(operand, Slice):
        for item in (operand.lower, operand.upper, operand.step):
            yield from operand_vars(item)


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


def reads(stmt: Stmt) -> Iterator[str]:
    """Names that a statement reads, without those of its blocks; the condition of a `While` included."""
    for operand in operands(stmt):
        yield from operand_vars(operand)
    if isinstance(stmt, While):
        yield from operand_vars(stmt.cond)


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


def walk(block: Block) -> Iterator[Stmt]:
    """Every statement, in program order, a compound one before its blocks."""
    for stmt in block:
        yield stmt
        for inner in blocks(stmt):
            yield from walk(inner)


def assigned(block: Block) -> set[str]:
    """Names bound anywhere in a block."""
    return {name for stmt in walk(block) for name in assigns(stmt)}


def stored(block: Block) -> set[str]:
    """Names written through by a `Store` anywhere in a block."""
    return {s.target.name for s in walk(block) if isinstance(s, Store)}


def read(block: Block) -> set[str]:
    """Names read anywhere in a block."""
    return {name for stmt in walk(block) for name in reads(stmt)}


def map_operand(f: Callable[[Operand], Operand], operand: Operand) -> Operand:
    """Apply f to the leaves (`Var`, `Const`)."""
    if isinstance(operand, Pack):
        return Pack(tuple(map_operand(f, item) for item in operand.items))
    if isinstance(operand, Slice):
        return Slice(map_operand(f, operand.lower), map_operand(f, operand.upper), map_operand(f, operand.step))
    return f(operand)


def map_operands(f: Callable[[Operand], Operand], stmt: Stmt) -> Stmt:
    """Apply f to the leaves of the operands that a statement itself reads."""

    def go(operand: Operand) -> Operand:
        return map_operand(f, operand)

    match stmt:
        case Assign() | Effect():
            return replace(stmt, args=tuple(map(go, stmt.args)), kwargs=tuple((k, go(v)) for k, v in stmt.kwargs))
        case Store():
            target = go(stmt.target)
            assert isinstance(target, Var)
            return replace(stmt, target=target, index=go(stmt.index), value=go(stmt.value))
        case Push():
            return replace(stmt, value=go(stmt.value))
        case If() | While():
            return replace(stmt, cond=go(stmt.cond))
        case For():
            return replace(stmt, start=go(stmt.start), stop=go(stmt.stop), step=go(stmt.step))
        case Custom():
            return replace(stmt, inputs=tuple(map(go, stmt.inputs)))
    return stmt


def map_blocks(f: Callable[[Block], Block], stmt: Stmt) -> Stmt:
    """Apply f to the blocks of a statement (those of `blocks`)."""
    match stmt:
        case If():
            return replace(stmt, then=f(stmt.then), orelse=f(stmt.orelse))
        case For():
            return replace(stmt, body=f(stmt.body))
        case While():
            return replace(stmt, head=f(stmt.head), body=f(stmt.body))
        case Custom():
            return replace(stmt, body=f(stmt.body))
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
