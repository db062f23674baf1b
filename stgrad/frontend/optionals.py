"""Names that are None on one path and hold a value on another: the value, and a flag of the running program.

    best = None                           best = nan; best_is_none = True
    for v in x:                    ->     for v in x:
        if best is None or v < best:          if best_is_none or v < best:
            best = v                              best = v; best_is_none = False

Tests (`is None`, `is not None`, truth) look at the flag; behind them the value is used as it is. Elsewhere a use of the value tests
the flag first and raises TypeError, as Python would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend.frame import UNWRAP, Frame
from stgrad.frontend.values import Optional, Sym, Value, is_number, map_leaves, rebuild, static_of
from stgrad.ir import Const, Effect, If

_NONE, _SOME = "none", "some"
BEYOND = 1 << 40  # more items than an array has


def can_be_optional(value: Value) -> bool:
    """Numbers, arrays, and tuples of them."""
    if isinstance(value, tuple):
        return all(map(can_be_optional, value))
    return isinstance(value, (Sym, Optional)) or is_number(value)


def blank(frame: Frame, value: Value) -> Value:
    """A value like another one, which nothing reads."""

    def leaf(v: Value, _: str) -> Value:
        if not isinstance(v, Sym):
            return v
        if v.type.array:
            return frame.call(np.zeros, ((0,) * v.type.rank, np.dtype(v.type.dtype)), {})
        empty = {"b": False, "i": 0, "u": 0}.get(np.dtype(v.type.dtype).kind, float("nan"))
        return empty if v.type.weak else np.dtype(v.type.dtype).type(empty)

    return map_leaves(leaf, value)


def unwrapped(frame: Frame, value: Value, what: str = "None is used as a number") -> Value:
    """The value, which the program raises TypeError without; `what` says of what it is None."""
    if isinstance(value, tuple) and any(isinstance(v, Optional) for v in value):
        return rebuild(value, [unwrapped(frame, v, what) for v in value])
    if not isinstance(value, Optional):
        return value
    if isinstance(value.none, Sym):
        error = Effect("raise", (Const("TypeError"), Const(errors.with_line(what, frame.builder.loc))), (), frame.builder.loc, frame.builder.note)
        frame.builder.emit(If(value.none.operand, (error,), (), frame.builder.loc, frame.builder.note))
    return value.value


def numbers_in(frame: Frame, value: Value) -> Value:
    """A list for a function that only reads its numbers: another one where items may be None; the list itself else."""
    if isinstance(value, (list, tuple)):
        items = [numbers_in(frame, v) for v in value]
        return rebuild(value, items) if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return unwrapped(frame, value)


def bound_or_end(frame: Frame, bound: Value, step: Value, *, last: bool) -> Value:
    """A bound of a slice; where it may be None, a number that lies beyond the end which None stands for."""
    known = static_of(step)
    if not isinstance(bound, Optional) or not (known is None or is_number(known)):
        return unwrapped(frame, bound)
    forward = known is None or known > 0
    beyond = 0 if forward and not last else BEYOND if forward or not last else -BEYOND
    return frame.call(_one_of, (bound.none, beyond, bound.value), {})


def _one_of(first: Any, one: Any, other: Any) -> Any:
    """This function is read."""
    return one if first else other


UNWRAP.append(unwrapped)


def parts(value: Value) -> tuple[Value, Value]:
    """Of a value that may be None: itself, and whether it is."""
    return (value.value, value.none) if isinstance(value, Optional) else (value, value is None)


# --------------------------------------------------------------------------- what a test tells


def told(frame: Frame, test: Any, outcome: bool) -> dict[str, str]:
    """The names of which a test tells whether they are None, where it has this outcome."""
    if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        return told(frame, test.operand, not outcome)
    if isinstance(test, gast.BoolOp) and isinstance(test.op, gast.And) is outcome:
        return {name: what for value in test.values for name, what in told(frame, value, outcome).items()}
    if (name := _asked(test)) is not None:
        return {name: _SOME} if outcome else {}
    if isinstance(test, gast.Compare) and (name := _asked(test.left)) is not None and _is_none(test.comparators[0]):
        if isinstance(test.ops[0], (gast.Is, gast.Eq)):
            return {name: _NONE if outcome else _SOME}
        if isinstance(test.ops[0], (gast.IsNot, gast.NotEq)):
            return {name: _SOME if outcome else _NONE}
    return {}


def _asked(node: Any) -> str | None:
    """The name that a test asks, also as it is bound: `(v := f()) is None`."""
    target = node.target if isinstance(node, gast.NamedExpr) else node
    return target.id if isinstance(target, gast.Name) else None


def _is_none(node: Any) -> bool:
    return isinstance(node, gast.Constant) and node.value is None


def knowing(frame: Frame, test: Any, outcome: bool, read: Callable[[], Value]) -> Callable[[], Value]:
    """`read`, with the names of which the test tells it as None or as plain values."""
    known = told(frame, test, outcome)

    def narrowed() -> Value:
        before = {name: value for name in known if isinstance(value := frame.env.get(name), Optional)}
        now = {name: None if known[name] == _NONE else value.value for name, value in before.items()}
        frame.env.update(now)
        result = read()
        frame.env.update({name: before[name] for name in now if frame.env.get(name) is now[name]})
        return result

    return narrowed if known else read
