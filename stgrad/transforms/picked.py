"""Where a cotangent that is exactly zero may meet an infinite partial derivative, whose product is zero by definition here, not NaN.

A zero cotangent says that nothing depends on an element. It arises in two ways, and both can be seen in the program:

- a choice leaves elements out: `np.where`, `np.maximum`, a mask that reads or writes. What flows into it is `picked`. So does a constant that is stored over
  what was computed (`np.fill_diagonal(1.0 / d, 0.0)`), behind operations with poles: for `y = x * x; y[0] = 0.0` nothing is guarded; and what a branch does
  not read: `r = x / n; return r if n > 0 else x`, also where that overflows: `e = np.exp(x); return np.log(1.0 + e) if x < 30.0 else x`; and, behind poles,
  what a subscript or a triangle does not read (`np.triu(y, 1)`). What loops fill is guarded for slices behind them alone: for elements that loops read it would
  cost too much;
- an infinity of the program itself makes something exactly zero, such as `exp(-inf)`. What it flows into is `infinite`.

Statements that make the former or read the latter multiply as `y_bar * (0 if y_bar == 0 and partial is not finite else partial)`; no other pays for it.

The other way round, a cotangent that is not finite may meet a choice, whose partials are zero for what it leaves out: arccos(clip(x, -1, 1))
beyond 1. Choices select, they do not multiply (`chosen`).

    >>> import numpy as np
    >>> import stgrad
    >>> with np.errstate(divide="ignore"):
    ...     stgrad.grad(lambda x: np.sum(np.where(x > 0.0, 1.0 / x, 0.0)), jit=False)(np.array([0.0, 2.0]))
    array([ 0.  , -0.25])
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from stgrad.analysis.activity import flows, reached
from stgrad.analysis.alias import Classes, sharing
from stgrad.analysis.liveness import TripLiveness, observed
from stgrad.frontend.values import Sym, Value
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Operand,
    Pack,
    Slice,
    Stmt,
    Store,
    Type,
    While,
    assigned,
    certain,
    entries_of,
    gathers,
    operand_vars,
    raises,
    read,
    reads,
    stored,
    walk,
)
from stgrad.ir.ops import contents, operation
from stgrad.rules import lookup


@dataclass(frozen=True)
class Guards:
    """Which statements multiply with care; of an alias class all names or none."""

    around: frozenset[str] = frozenset()  # those that make or read one of these
    makers: frozenset[str] = frozenset()  # those that make one of these

    def meet(self, stmt: Assign) -> bool:
        targets = {t.name for t in stmt.targets}
        return not (self.makers.isdisjoint(targets) and self.around.isdisjoint(targets.union(*map(operand_vars, stmt.args))))


def guarded(fn: Function, active: Set[str]) -> Guards:
    """The statements of a program that zero cotangents and infinite partials may meet at."""
    classes = sharing(fn)
    forward: dict[str, set[str]] = {}
    backward: dict[str, set[str]] = {}
    for source, target in flows(fn, classes):
        forward.setdefault(source, set()).add(target)
        backward.setdefault(target, set()).add(source)

    def found(names: Iterable[str]) -> set[str]:
        return {classes.find(n) for n in names}

    statements = list(walk(fn.body))
    around = reached(found(n for s in statements for n in _left_out(s, fn.types)), backward)
    singular = [s for s in statements if _singular(s, active)]
    replaced = found(s.target.name for s in statements if isinstance(s, Store) and s.mode == "set" and isinstance(s.value, Const))
    computed = _computed(statements, fn, classes)
    around |= reached(replaced & computed, backward) & reached(found(t.name for s in singular for t in s.targets), forward)
    numpys = [s for s in statements if isinstance(s, Assign) and not fn.types[s.targets[0].name].weak]  # of Python's numbers, the program raises at a pole
    ends = found(s.targets[0].name for s in numpys if _has_pole(s))
    steep = found(s.targets[0].name for s in numpys if operation(s.op).overflows and _singular(s, active))
    makers: set[str] = set()
    if ends | steep:
        around |= reached(found(_on_some_paths(statements, fn)), backward) & reached(ends | steep, forward)
    if ends:
        behind = reached(ends, forward)
        repeated = found(_repeated(statements))
        once = found(_in_loops(statements, fn.types)) | found(_subscripted(statements, fn.types)) & computed
        makers = (reached(once - repeated, backward) & behind) - repeated
        makers |= reached(found(_cut(statements, fn.types)), backward) & behind
    around |= reached(found(n for s in statements for n in _infinities(s)), forward)
    return Guards(*(frozenset(n for n in fn.types if classes.find(n) in names) for names in (around, makers)))


def _left_out(stmt: Stmt, types: Mapping[str, Type]) -> Iterator[str]:
    """Names of which a statement may leave out elements."""
    match stmt:
        case Assign(op="getitem") if types[stmt.target.name].is_float and gathers(stmt.args[1], types):
            yield from operand_vars(stmt.args[0])
        case Assign() if operation(stmt.op).picks and types[stmt.target.name].is_float:
            yield from (n for a in stmt.args for n in operand_vars(a) if types[n].is_float)
        case Store(mode="set") if gathers(stmt.index, types):
            yield stmt.target.name


def _on_some_paths(statements: Sequence[Stmt], fn: Function) -> Iterator[str]:
    """Names whose contents some paths alone read: what they hold is left out on the others.

    A number that is read behind the branch (`if i > 0: a += x`) is read on both. Of an array, other elements may be.
    """
    everywhere, live = _bindings(statements), TripLiveness(fn.body, observed(fn)).after
    for stmt in statements:
        if not isinstance(stmt, If) or raises(stmt.then) or raises(stmt.orelse):  # what raises leaves nothing out: no sweep comes back by it
            continue
        inside = _bindings([*walk(stmt.then), *walk(stmt.orelse)])
        then, orelse = (TripLiveness(arm, live[id(stmt)]).before for arm in (stmt.then, stmt.orelse))
        again = inside.keys() - (certain(stmt.then) & certain(stmt.orelse)) | _contents(stmt.then) ^ _contents(stmt.orelse)
        found = {n for n in again if fn.types[n].array} | {n for n in then ^ orelse if n in fn.types and not fn.types[n].array}
        yield from (n for n in found if everywhere[n] > inside[n] and fn.types[n].is_float)


def _contents(block: Block) -> set[str]:
    """Names whose contents a block reads."""
    return {n for s in walk(block) for n in (contents(s) if isinstance(s, Assign) and operation(s.op).extents else reads(s))}


def _in_loops(statements: Sequence[Stmt], types: Mapping[str, Type]) -> Iterator[str]:
    """Names that trips of loops read: left out where there is no trip."""
    for stmt in statements:
        if isinstance(stmt, (For, While)) and not _has_trips(stmt):
            yield from (n for n in read(stmt.body) if types[n].is_float)


def _subscripted(statements: Sequence[Stmt], types: Mapping[str, Type]) -> Iterator[str]:
    """Arrays of which elements, slices or triangles are read: the others may be left out."""
    for stmt in statements:
        if isinstance(stmt, Assign) and (stmt.op == "getitem" or operation(stmt.op).omits or any(k == "where" for k, _ in stmt.kwargs)):
            yield from _read_from(stmt, types)


def _cut(statements: Sequence[Stmt], types: Mapping[str, Type]) -> Iterator[str]:
    """Arrays that loops fill and of which the program, behind them, reads a slice or overwrites an element."""
    inside = {id(s) for loop in statements if isinstance(loop, (For, While)) for s in walk(loop.body)}
    filled: set[str] = set()
    for stmt in statements:
        if id(stmt) in inside:
            filled |= assigned((stmt,)) | stored((stmt,))
        elif isinstance(stmt, Store) and stmt.mode == "set" and isinstance(stmt.value, Const) and stmt.target.name in filled:
            yield stmt.target.name
        elif isinstance(stmt, Assign) and (operation(stmt.op).omits or stmt.op == "getitem" and any(map(_shortens, entries_of(stmt.args[1])))):
            yield from _read_from(stmt, types)


def _read_from(stmt: Assign, types: Mapping[str, Type]) -> Iterator[str]:
    """The array of floats of which a statement reads some."""
    if types[stmt.targets[0].name].is_float and stmt.args:
        yield from (n for n in operand_vars(stmt.args[0]) if types[n].is_float)


def _shortens(entry: Operand) -> bool:
    """Whether an entry of a subscript is a slice that leaves out an end; `x[:, 1:2]` is a column, of which others are read."""
    if not isinstance(entry, Slice) or entry.lower == entry.upper == NONE:
        return False
    return not (isinstance(entry.lower, Const) and entry.lower.value is not None and entry.upper == Const(entry.lower.value + 1))


def _repeated(statements: Sequence[Stmt]) -> Iterator[str]:
    """Names that trips of loops bind or write to: in them no guard is paid for what another statement may leave out."""
    for stmt in statements:
        if isinstance(stmt, (For, While)):
            yield from assigned(stmt.body) | stored(stmt.body)


def _has_trips(loop: For | While) -> bool:
    """Whether a loop is known to run its body."""
    match loop:
        case For(start=Const(start), stop=Const(stop), step=Const(step)):
            return len(range(start, stop, step)) > 0
    return False


def _bindings(statements: Sequence[Stmt]) -> Counter[str]:
    """How often names are bound to what is computed."""
    return Counter(t.name for s in statements if isinstance(s, Assign) and operation(s.op).kind != "copy" for t in s.targets)


def _computed(statements: Sequence[Stmt], fn: Function, classes: Classes) -> set[str]:
    """Arrays that the program computes as a whole, and their copies: nothing is left out of one that it fills element by element."""
    copies: dict[str, set[str]] = {}
    found: set[str] = set()
    for stmt in statements:
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or not fn.types[stmt.target.name].array or not fn.types[stmt.target.name].is_float:
            continue
        known, read = operation(stmt.op), [n for a in stmt.args for n in operand_vars(a) if fn.types[n].is_float]
        if known.kind == "copy":
            for name in read:
                copies.setdefault(classes.find(name), set()).add(classes.find(stmt.target.name))
        elif known.differentiable and known.kind not in ("creation", "identity", "element") and read:
            found.add(classes.find(stmt.target.name))
    return reached(found, copies)


def _has_pole(stmt: Assign) -> bool:
    """Whether an operation on numbers of common size, or its partials, may be infinite: also by a divisor that has no derivative (`x / w`)."""
    known = operation(stmt.op)
    if not known.poles or known.symbol == "**" and _is_count(stmt.args[1]):
        return False
    return known.symbol != "/" or not isinstance(stmt.args[1], Const) or stmt.args[1].value == 0


def _singular(stmt: Stmt, active: Set[str]) -> TypeGuard[Assign]:
    """Whether an operation on finite numbers, or its partials, may be infinite: quotients, powers, logarithms, exponentials.

    Not so where it is linear in what is active, or a power with a known whole exponent from 1 on: `(a - b) / h`, `x**2`.
    """
    if not isinstance(stmt, Assign):
        return False
    rule, known = lookup(stmt.op), operation(stmt.op)
    if rule is None or rule.partials is None or known.total:
        return False
    if known.symbol == "**" and _is_count(stmt.args[1]):
        return False
    varies = {k for k, a in enumerate(stmt.args) if not active.isdisjoint(operand_vars(a))}
    return not any(varies <= together for together in known.linear)


def _is_count(exponent: Operand) -> bool:
    return isinstance(exponent, Const) and bool(np.real(exponent.value) >= 1 and exponent.value == np.floor(np.real(exponent.value)))


def _infinities(stmt: Stmt) -> Iterator[str]:
    """Names that a statement makes of an infinity which stands in the program."""
    match stmt:
        case Assign() if operation(stmt.op).differentiable and any(map(_infinite, (*stmt.args, *(v for _, v in stmt.kwargs)))):
            yield from (t.name for t in stmt.targets)
        case Store() if _infinite(stmt.value):
            yield stmt.target.name


def _infinite(operand: Operand) -> bool:
    if isinstance(operand, Pack):
        return any(map(_infinite, operand.items))
    return isinstance(operand, Const) and isinstance(operand.value, float) and math.isinf(operand.value)



def chosen(stmt: Assign, p: Value) -> Callable[[Any, Any], Any] | None:
    """The product with a partial of a choice; None where the statement is none."""
    if not isinstance(p, Sym) or not operation(stmt.op).picks:
        return None
    return _select if p.type.dtype == "bool" else _scaled


def _select(g: Any, p: Any) -> Any:
    return np.where(p, g, 0.0)


def _scaled(g: Any, p: Any) -> Any:
    return np.where(p != 0.0, g * p, 0.0)
