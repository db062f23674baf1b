"""What Python itself is certain to raise at a place, for reasons that are known while the program is read.

Where the running program may never come to the place, a side of a branch, the exception becomes its own: `raise`, with nothing behind it. A `try`
around it catches it. Anywhere else it is an error of the program, with its place.
"""

from __future__ import annotations

import traceback
from typing import Any

from stgrad import errors
from stgrad.frontend.frame import Frame, Leaves
from stgrad.ir import Const, Effect
from stgrad.lookups import called

RAISED = (KeyError, IndexError, AttributeError, ImportError, TypeError, ValueError, ArithmeticError)


def raised_by_python(error: Exception) -> Exception | None:
    """The exception that Python raises where reading found an error, None where the error is that of the front end alone."""
    if not isinstance(error, errors.StgradError):
        return error if isinstance(error, RAISED) and _in_a_call(error) else None
    cause = error.__cause__
    kinds = (errors.ShapeError, errors.TypeInferenceError, errors.UndefinedNameError, errors.UnknownFunctionError)
    ours = isinstance(cause, errors.StgradError) or not isinstance(error, kinds)
    return cause if error.certain and not ours and isinstance(cause, RAISED) else None


def _in_a_call(error: Exception) -> bool:
    """Whether a function raised it that was called with what is known, as the program calls it."""
    return any(frame.f_code is called.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))


def emit_raise(frame: Frame, kind: str, message: str) -> None:
    frame.builder.emit(Effect("raise", (Const(kind), Const(message)), (), frame.builder.loc, frame.builder.note))


def left(frame: Frame, error: Exception) -> Leaves:
    """The end of a side of a branch by what Python raises there; the error goes on where Python raises nothing."""
    cause = raised_by_python(error)
    if cause is None:
        raise error
    kind = next(c for c in type(cause).__mro__ if c.__module__ == "builtins")
    emit_raise(frame, kind.__name__, str(cause))
    return Leaves(type(cause), str(cause))


def closed(owner: Any) -> bool:
    """Whether neither an object nor its class, which is written in C, can get attributes: None, `...`, numbers, texts, slices."""
    return not type(owner).__flags__ & _HEAP_TYPE and not hasattr(owner, "__dict__")


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
