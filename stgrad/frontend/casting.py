"""What NumPy lets operators in place (`a += v`), `out=` and np.copyto write to an array: numbers of the same kind, and no more axes than it has.

An assignment `a[i] = v` casts whatever it is given, and drops leading axes of one item; reductions with `out=` cast, too, and want the very shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
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


__all__ = ["castable", "in_place", "refused"]
