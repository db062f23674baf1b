"""Arithmetic of truth values: of Python's own it is that of integers, of NumPy's `+` is "or" and `*` is "and".

Native code has one kind of truth value, and what the program holds in plain Python need not be of the kind that the user's has. So neither is left
to the operator: Python's become integers, and for NumPy's the operation is written that is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Sym, Value, operand_of, type_of
from stgrad.ir import Type, Var
from stgrad.rules import op_name

_LOGICAL = {op_name(np.add): op_name(np.bitwise_or), op_name(np.multiply): op_name(np.bitwise_and)}


def _is_flag(value: Value) -> bool:
    kind = type_of(value)
    return kind.dtype == "bool" and not kind.array


def _is_numpys(frame: Frame, value: Value) -> bool:
    return type_of(value).array or not type_of(value).weak and not may_be_either(frame, value)


def may_be_either(frame: Frame, value: Value) -> bool:
    """Whether a number may be Python's in one run, and NumPy's in another."""
    if not isinstance(value, Sym) or value.type.weak or value.type.array:
        return False
    name = frame.owned.get(value.name) if isinstance(value.operand, Var) else None
    carried = any(name in names for _, names, _ in frame.builder.loops) and not any(f is frame and name in names for f, names in frame.builder.in_trips)
    return carried or operand_of(value) in frame.builder.flags


def asked(frame: Frame, value: Sym, question: Callable[[Any], Any], example: Any) -> Any:
    """What a question about the class of a value gives, which must be the same for Python's and NumPy's numbers where it may be either."""
    found = question(example)
    if isinstance(example, np.generic) and may_be_either(frame, value) and question(example.item()) != found:
        message = "the class of what may be a number of Python or of NumPy is asked for"
        raise errors.UnsupportedSyntaxError(message, frame.builder.loc, hint="write float(...) of it first, or isinstance(x, float)")
    return found


def counted(frame: Frame, name: str, args: tuple[Value, ...], result: Any, *, operator: bool = True) -> tuple[str, tuple[Value, ...]]:
    """The operation `name` and its operands, with truth values that count as they do in the user's program; `result` is its type."""
    if not any(map(_is_flag, args)) or not isinstance(result, Type):
        return name, args
    if name in _LOGICAL and result.dtype == "bool":
        if operator and not any(_is_numpys(frame, a) for a in args):
            raise errors.UnsupportedSyntaxError(
                "arithmetic of what may be truth values of Python or of NumPy is not supported",
                frame.builder.loc,
                reason="of Python's, True + True is 2; of NumPy's, it is True",
                hint="write int(a) + int(b), or `a or b`",
            )
        return _LOGICAL[name], args
    if result.weak and result.dtype == "int64":
        integer = Type("int64", weak=True)
        return name, tuple(frame.builder.call("int", (a,), integer) if isinstance(a, Sym) and _is_flag(a) else a for a in args)
    return name, args
