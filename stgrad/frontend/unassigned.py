"""Names that only some of the paths to a place assign, and the first value that their variables get."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import contents
from stgrad.frontend.joins import Join
from stgrad.frontend.values import Growing, Maybe, Nested, Optional, Record, Sym, Undefined, Value, is_static
from stgrad.ir import Assign, Const, Pack, Stmt, Var


def one_sided(frame: Frame, join: Join, name: str, x: Value, y: Value) -> Value:
    """A name that not every path binds: usable once it has a first value before the branch."""
    if x is y:
        return x
    if isinstance(x, Undefined) or isinstance(y, Undefined):
        bound = y if isinstance(x, Undefined) else x
        if isinstance(bound, Maybe) and bound.initialise is None:
            return bound
        value = bound.value if isinstance(bound, Maybe) else bound
        return Maybe(value, first_value(frame, value))
    for side in (x, y):
        if isinstance(side, Maybe):
            if side.initialise is None:
                return Maybe(side.value, None, side.error)
            side.initialise()
    first, second = (v.value if isinstance(v, Maybe) else v for v in (x, y))
    return join.value(first, second, name)


def first_value(frame: Frame, value: Value) -> Callable[[], None] | None:
    """A function that gives the variables of a value a first value at this place of the program, if that is possible.

    Nothing reads it: where Python would raise UnboundLocalError, so does the program.
    """
    return first_value_later(frame)(value)


def first_value_later(frame: Frame) -> Callable[[Value], Callable[[], None] | None]:
    """`first_value` at the place where the program is now, for a value that is known later."""
    out, at = frame.builder.out, len(frame.builder.out)
    anchor = out[at - 1] if at else None

    def later(value: Value) -> Callable[[], None] | None:
        try:
            variables = _variables(value)
        except TypeError:
            return None

        def initialise() -> None:
            position = next((i + 1 for i, s in enumerate(out) if s is anchor), 0) if anchor is not None else 0
            out[position:position] = [_dummy(v, frame) for v in variables]

        return initialise

    return later


def _variables(value: Value) -> list[Sym]:
    if isinstance(value, Sym):
        return [value] if isinstance(value.operand, Var) else []
    if isinstance(value, Growing):
        return _variables(value.structure) + _variables(value.count)
    if isinstance(value, Nested):
        return _variables(value.buffer)
    if isinstance(value, Optional):
        return _variables(value.value) + _variables(value.none)
    if isinstance(value, (tuple, list)):
        return [s for v in value for s in _variables(v)]
    if isinstance(value, (dict, Record)):
        return [s for v in contents(value).values() for s in _variables(v)]
    if is_static(value):
        return []
    raise TypeError("no first value")


def _dummy(leaf: Sym, frame: Frame) -> Stmt:
    t = leaf.type
    if t.array:
        empty = (Pack((Const(0),) * t.rank), Const(np.dtype(t.dtype)))
        return Assign((Var(leaf.name),), "np.zeros", empty, (), frame.builder.loc, frame.builder.note)
    value = {"b": False, "i": 0, "u": 0}.get(np.dtype(t.dtype).kind, float("nan"))
    return Assign((Var(leaf.name),), "alias", (Const(value),), (), frame.builder.loc, frame.builder.note)
