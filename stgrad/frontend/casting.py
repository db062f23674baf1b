"""What NumPy lets operators in place (`a += v`), `out=` and np.copyto write to an array: numbers of the same kind, and no more axes than it has.

An assignment `a[i] = v` casts whatever it is given, and drops leading axes of one item; reductions with `out=` cast, too, and want the very shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Sym, Value
from stgrad.types import Type


def castable(frame: Frame, target: Type, given: Type, node: Any = None) -> None:
    """Refuses what NumPy raises a TypeError for (UFuncTypeError): floats into integers, numbers into truth values, complex numbers into real ones."""
    if np.can_cast(given.dtype, target.dtype, "same_kind"):
        return
    raise refused(given.dtype, target.dtype, frame.builder.loc if node is None else frame.loc(node))


def refused(given: Any, target: Any, loc: Any = None) -> errors.TypeInferenceError:
    """What is said where numbers of one dtype are written in place to an array of another."""
    return errors.TypeInferenceError(
        f"{given} is written in place to an array of {target}",
        loc,
        reason="NumPy raises a TypeError there: it does not cast so",
        hint=f"make it an array of {given}, or a new one: a = a + b; a[...] = b casts",
    )


def in_place(frame: Frame, target: Type, given: Type, node: Any = None) -> None:
    """Refuses a result that NumPy does not write to the array that an operator changes."""
    castable(frame, target, given, node)
    if given.rank > target.rank:
        loc = frame.builder.loc if node is None else frame.loc(node)
        raise errors.ShapeError(f"a result of rank {given.rank} is written in place to an array of rank {target.rank}", loc)


_NARROW = frozenset({"int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32"})


def widened(frame: Frame, operands: tuple[Value, ...], result: Any) -> tuple[Value, ...]:
    """Narrow numbers in the type of the result: beside one of an array, which may be one of Python's in plain text, they would overflow, or round."""
    if not isinstance(result, Type) or np.dtype(result.dtype).kind not in "iuf" or result.dtype in _NARROW or frame.unroll:
        return operands

    def wide(v: Value) -> Value:
        if isinstance(v, np.generic) and v.dtype.name in _NARROW:
            return np.dtype(result.dtype).type(v)
        narrow = isinstance(v, Sym) and not v.type.array and not v.type.weak and v.type.dtype in _NARROW
        return frame.builder.call("cast", (v, result.dtype), Type(result.dtype)) if narrow else v

    return tuple(map(wide, operands)) if any(isinstance(v, Sym) and v.type.array for v in operands) else operands


__all__ = ["castable", "in_place", "refused", "widened"]
