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

from collections.abc import Mapping
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


class Statement:
    """What all statements have: room for what the walks below find out about each, once, since none ever changes."""

    __slots__ = ("_assigned", "_assigns", "_blocks", "_certain", "_exposed", "_operands", "_raises", "_read", "_reads", "_stored", "_walk")


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
    """`for var in range(start, stop, step)`. Bounds are read once, before the loop. `parallel`: trips may run on threads.

    `snapshots` marks a loop whose reversal keeps so many states and runs trips again (`stgrad.transforms.checkpoints`); Const(None): it chooses.
    """

    var: Var
    start: Operand
    stop: Operand
    step: Operand
    body: Block
    loc: Loc | None = None
    note: str | None = None
    parallel: bool = False
    snapshots: Operand | None = None


@dataclass(frozen=True, slots=True)
class While(Statement):
    """`trips`: a variable that is 0 before the loop, and has 1 added to it by the last statement of the body. `snapshots`: as in `For`."""

    head: Block
    cond: Operand
    body: Block
    loc: Loc | None = None
    note: str | None = None
    trips: Var | None = None
    snapshots: Operand | None = None


@dataclass(frozen=True, slots=True)
class Custom(Statement):
    """A region with its own derivative (`custom_gradient`).

    Forward: run `body`, which assigns `outputs`. Reverse: bind the adjoints of `outputs` to `bars`, run `pullback`,
    add its `results` (one operand for each of `inputs`, `NONE` for no contribution) to the adjoints of `inputs`.
    That is a `rule` "pullback". One of "vjp" is refused in forward mode; once it has been reversed it is "linear": transposed there, and refused unless
    it is linear. One of "once" is refused there, too, but once it has been reversed its body is as any code. A "refused" one has no derivative. With
    "tangent" it is the other way round: `bars` are the tangents of `inputs`, `pullback` makes of them those of `outputs`, its `results`.
    Whose rule it is stands in `owner`, what it takes as constants in `fixed`.
    """

    outputs: tuple[Var, ...]
    inputs: tuple[Operand, ...]
    body: Block
    bars: tuple[Var, ...]
    pullback: Block
    results: tuple[Operand, ...]
    loc: Loc | None = None
    note: str | None = None
    rule: str = "pullback"
    owner: str = ""
    fixed: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect(Statement):
    """A call for its effect only: 'print', 'raise' (class name, message), 'check_equal' (extents, message).

    'check_rows' (array, message): raises where an array is not stored row after row.
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
# `joint` (a, b): an extent, b where a is 1; `stretch` (x, shape) and its adjoint `shrink` (g, like), where extents decide at run time;
# `with_room` (buffer, count, size): the buffer, or a larger one with its items.
BUILTIN_OPS = frozenset(
    {"alias", "getitem", "shape", "float", "int", "bool", "complex", "not", "cast", "stop_gradient", "unbroadcast", "joint", "stretch", "shrink", "with_room"}
)


@dataclass(frozen=True, eq=False)
class Function:
    """A program. `result` may nest `Pack`s. `defaults` are the values of trailing parameters.

    Two programs are never equal: what is known of one is kept with it, in `answers` (`stgrad.analysis.manager`).
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
    answers: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)  # of analyses; no part of the program, and of no copy of it

    def with_body(self, body: Block, **changes: Any) -> Function:
        return replace(self, body=tuple(body), **changes)
