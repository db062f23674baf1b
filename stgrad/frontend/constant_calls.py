"""Calls with constants alone, which are run as the program is read: the result is the same in each call, and has no derivative.

SciPy's own Python code (`signal.butter(4, 0.2, output="sos")`, `special.roots_hermite(8)`) is read as any code is, and run where it cannot be read.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.captured import refuse_own_class
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import State
from stgrad.frontend.values import Value, rebuild, static_of
from stgrad.lookups import called

_PURE = tuple(f"scipy.{part}." for part in ("constants", "fft", "interpolate", "linalg", "ndimage", "signal", "spatial", "special")) + ("numpy.polynomial.",)
_INSIDE: ContextVar[bool] = ContextVar("inside a constant call", default=False)


def computed(frame: Frame, function: Any, args: Any, kwargs: Any) -> Value:
    """The result of a call whose arguments are all known."""
    try:
        return called(function, *args, **kwargs)
    except errors.StgradError:
        raise
    except (TypeError, ValueError, IndexError, ArithmeticError) as problem:
        raise errors.TypeInferenceError(f"{type(problem).__name__}: {problem}", frame.builder.loc) from problem


def read_or_run(frame: Frame, function: types.FunctionType, args: tuple[Value, ...], kwargs: dict[str, Value], reading: Callable[[], Value]) -> Value:
    """The value of a call: by `reading` its code or, where that is refused, and only constants go in and numbers come out, by running it."""
    if _INSIDE.get() or not f"{function.__globals__.get('__name__')}.".startswith(_PURE):
        return reading()
    known, options = static_of(tuple(args)), {k: static_of(v) for k, v in kwargs.items()}
    if not all(map(_is_plain, (*known, *options.values()))):
        return reading()
    state, token = State(frame), _INSIDE.set(True)
    try:
        return reading()
    except errors.StgradError as problem:
        try:
            found = computed(frame, function, known, options)
        except errors.StgradError:  # what the call raises is told by reading it
            raise problem from None
        if not _is_numeric(found):
            raise
        state.restore()
    finally:
        _INSIDE.reset(token)
    return with_arrays(frame, found, every=True)


def with_arrays(frame: Frame, found: Any, *, every: bool) -> Value:
    """What a call gave that was made while the program is read, with arrays of the program for those of numbers; those of integers may be indices."""
    if isinstance(found, (tuple, list)) and has_arrays(found):
        return rebuild(found, [with_arrays(frame, item, every=every) for item in found])
    if isinstance(found, np.ndarray) and found.dtype.kind in "fciub":
        refuse_own_class(frame.builder, found, "the result")
    return frame.call(np.array, (found,), {}) if isinstance(found, np.ndarray) and (every or found.dtype.kind in "fc") else found


def has_arrays(value: Any) -> bool:
    """Whether there are arrays in a tuple, or in tuples in it."""
    return isinstance(value, tuple) and any(isinstance(v, np.ndarray) or has_arrays(v) for v in value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    kinds = (bool, int, float, complex, str, np.generic, np.dtype, type(None))
    return isinstance(value, kinds) or isinstance(value, type) and issubclass(value, np.generic)


def _is_numeric(found: Any) -> bool:
    if isinstance(found, tuple):
        return all(map(_is_numeric, found))
    return isinstance(found, (bool, int, float, complex, np.number)) or type(found) is np.ndarray and found.dtype.kind in "fciub"
