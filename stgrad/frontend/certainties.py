"""What ends a side of a branch: an exception of Python's, or that the side cannot be compiled.

What Python itself is certain to raise at a place, for reasons that are known while the program is read.

Where the running program may never come to the place, a side of a branch, the exception becomes its own: `raise`, with nothing behind it. A `try`
around it catches it. Anywhere else it is an error of the program, with its place.

A function that is refused for what stands on some side of a branch is read once more with side exits: such a side ends the program as it runs, and
the call goes to plain Python, or is refused there and then. A call that never comes to the side never knows.

    if x.sum() > 9.0: return simulate(x)          if x.sum() > 9.0: raise ValueError("the program comes to ...: `simulate` has no rule")
    return x @ x                           ->     return x @ x
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import exceptions
from stgrad.frontend.concessions import CONCESSIONS
from stgrad.frontend.departures import Chooses, Leaves
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Chosen, Sym, Value, leaves, operand_of
from stgrad.ir import Assign, Const, Effect, If, Store, Var, assigns, reads, walk
from stgrad.ir.ops import operation
from stgrad.lookups import called

RAISED = (KeyError, IndexError, AttributeError, ImportError, TypeError, ValueError, ArithmeticError, AssertionError, NameError, StopIteration)


def raised_by_python(error: Exception) -> Exception | None:
    """The exception that Python raises where reading found an error, None where the error is that of the front end alone."""
    if not isinstance(error, errors.StgradError):
        return error if isinstance(error, RAISED) and in_a_call(error) else None
    cause = error.__cause__
    kinds = (errors.ShapeError, errors.TypeInferenceError, errors.UndefinedNameError, errors.UnknownFunctionError)
    ours = isinstance(cause, errors.StgradError) or not isinstance(error, kinds)
    if not error.certain or ours or not isinstance(cause, RAISED):
        return None
    return cause if isinstance(cause, KeyError) else exceptions.described(cause)  # which carries the key


def in_a_call(error: Exception) -> bool:
    """Whether a function raised it that was called with what is known, as the program calls it."""
    return any(frame.f_code is called.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))


def emit_raise(frame: Frame, kind: str, message: str) -> None:
    frame.builder.emit(Effect("raise", (Const(kind), Const(message)), (), frame.builder.loc, frame.builder.note))


def left(frame: Frame, error: Exception) -> Leaves:
    """The end of a side of a branch by what Python raises there, or by a side exit; else the error goes on."""
    cause = raised_by_python(error)
    if cause is None:
        return _exit(frame, error)
    exceptions.emit_raised(frame, cause)
    return Leaves(type(cause))


def _exit(frame: Frame, error: Exception) -> Leaves:
    """The end of a side that cannot be compiled. In a `try` a handler would take its exception for one of Python's."""
    conceded = CONCESSIONS.get()
    settles = isinstance(error, Chooses) or isinstance(error, errors.TypeInferenceError) and (error.widens or error.first) and bool(frame.builder.loops)
    if not isinstance(error, errors.StgradError) or settles or not (error.plainly and error.left) or error.once or frame.builder.tries:
        raise error
    if not conceded.exits:
        conceded.missed = True
        raise error
    conceded.made = True
    what = errors.render(error.message, error.loc, error.reason, error.hint)
    emit_raise(frame, "ValueError", f"{errors.NOT_COMPILED}{type(error).__name__}: {what}")
    return Leaves(None)


def exit_of(frame: Frame, block: list[Any], error: errors.StgradError) -> Leaves:
    """The end of a side that leaves what cannot be joined with what the other one leaves."""
    outer, frame.builder.out = frame.builder.out, block
    try:
        return _exit(frame, error)
    finally:
        frame.builder.out = outer


def of_one_kind(frame: Frame, value: Chosen) -> Value:
    """A result that is one of several kinds: the last of them that depends on the arguments, where the program ends if it is another one."""
    assert isinstance(value.error, errors.StgradError)
    made = _made_of(frame.builder.out)
    chosen = max((k for k, v in enumerate(value.options) if _depends(v, made)), default=len(value.options) - 1)
    wrong = frame.call(np.not_equal, (value.index, chosen), {})
    with frame.builder.block() as block:
        _exit(frame, value.error)
    frame.builder.emit(If(operand_of(wrong), tuple(block), (), frame.builder.loc, frame.builder.note))
    return value.options[chosen]


def _made_of(block: list[Any]) -> dict[str, set[str]]:
    """What each variable is computed from, on any path."""
    made: dict[str, set[str]] = {}
    for stmt in walk(tuple(block)):
        contents = not isinstance(stmt, Assign) or operation(stmt.op).contents  # an extent tells nothing of the items
        for target in (*assigns(stmt), *((stmt.target.name,) if isinstance(stmt, Store) else ())):
            made.setdefault(target, set()).update(reads(stmt) if contents else ())
    return made


def _depends(value: Value, made: dict[str, set[str]]) -> bool:
    """Whether floats of a value are computed from what the program does not compute: its arguments."""
    open_ = [v.name for v in leaves(value) if isinstance(v, Sym) and isinstance(v.operand, Var) and v.type.is_float]
    seen: set[str] = set()
    while open_:
        name = open_.pop()
        if name not in made:
            return True
        if name not in seen:
            seen.add(name)
            open_ += made[name]
    return False


def closed(owner: Any) -> bool:
    """Whether neither an object nor its class, which is written in C, can get attributes: None, `...`, numbers, texts, slices."""
    return not type(owner).__flags__ & _HEAP_TYPE and not hasattr(owner, "__dict__")


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
