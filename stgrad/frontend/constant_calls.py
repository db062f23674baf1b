"""Calls of NumPy's and SciPy's own Python code with numbers and texts alone: `signal.butter(4, 0.2, output="sos")`, `special.roots_hermite(8)`.

They are read as any code is. What cannot be read is run instead, as the program is read: the result is the same in each call, and has no derivative.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import State
from stgrad.frontend.values import Value, static_of
from stgrad.lookups import called, root_of

_LIBRARIES = ("numpy", "scipy")
_CHANGING = ("numpy.random", "numpy.testing", "scipy.stats", "scipy.io", "scipy.datasets", "scipy.optimize")  # draw, read files, or call functions of users
_INSIDE: ContextVar[bool] = ContextVar("inside a constant call", default=False)


def read_or_run(frame: Frame, function: types.FunctionType, args: tuple[Value, ...], kwargs: dict[str, Value], reading: Callable[[], Value]) -> Value:
    """The value of a call: by `reading` its code or, where that is refused, and only constants go in and numbers come out, by running it."""
    if _INSIDE.get() or root_of(function) not in _LIBRARIES or str(function.__globals__.get("__name__")).startswith(_CHANGING):
        return reading()
    known, options = static_of(tuple(args)), {k: static_of(v) for k, v in kwargs.items()}
    if not all(map(_is_plain, (*known, *options.values()))):
        return reading()
    state, token = State(frame), _INSIDE.set(True)
    try:
        return reading()
    except errors.StgradError as problem:
        try:
            found = called(function, *known, **options)
        except Exception:  # noqa: BLE001  (what the call raises is told by reading it)
            raise problem from None
        if not _is_numeric(found):
            raise
        state.restore()
    finally:
        _INSIDE.reset(token)
    return _in_program(frame, found)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    kinds = (bool, int, float, complex, str, np.generic, np.dtype, type(None))
    return isinstance(value, kinds) or isinstance(value, type) and issubclass(value, np.generic)


def _is_numeric(found: Any) -> bool:
    if isinstance(found, tuple):
        return all(map(_is_numeric, found))
    return isinstance(found, (bool, int, float, complex, np.number)) or type(found) is np.ndarray and found.dtype.kind in "fciub"


def _in_program(frame: Frame, found: Any) -> Value:
    if isinstance(found, tuple):
        items = [_in_program(frame, item) for item in found]
        return type(found)(*items) if hasattr(found, "_fields") else tuple(items)
    return frame.call(np.array, (found,), {}) if isinstance(found, np.ndarray) else found
