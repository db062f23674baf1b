"""Pullbacks as programs of their own: called with what a first program kept, as often as somebody wants.

    value, kept, later = forward(x)         one call of compiled code
    later(kept, y_bar, value)               another: what it reads of the first one is in `kept`, and nothing of that changes
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.calls import calling, wrapper
from stgrad.calls.arguments import seeds
from stgrad.calls.listed import has_lists, stacked
from stgrad.calls.program_cache import Ready
from stgrad.values import Sym, Value

Load = Callable[[Ready, bool], Callable[..., Any]]  # a program, natively or as Python text


class Later:
    """The second program of a derivative. Its first call compiles it, its second one finds the way through native code."""

    def __init__(self, ready: Ready, value: Value, load: Load, *, jit: bool, falls_back: bool) -> None:
        """
        Args:
            ready: the program; it takes what the first one kept, and the cotangents.
            value: the structure of the value that they are cotangents of.
            load: gives what to call.
            jit: whether that is compiled code.
            falls_back: whether plain Python may run what Numba does not compile.
        """
        self._ready, self._value, self._load, self._jit, self._falls_back = ready, value, load, jit, falls_back
        self._listed = has_lists(value)
        self._dtype = np.dtype(value.type.dtype) if isinstance(value, Sym) and value.type.rank and value.type.is_float else None
        self.run: Callable[..., Any] = self._first

    def __call__(self, kept: tuple[Any, ...], cotangents: Any, value: Any) -> Any:
        """The gradients, for cotangents with the structure of the value."""
        if type(cotangents) is np.ndarray and self._dtype is not None and cotangents.dtype == self._dtype and cotangents.shape == value.shape:
            return self.run(*kept, cotangents)
        given = seeds(*(stacked(self._value, part) for part in (cotangents, value))) if self._listed else seeds(cotangents, value)
        return self.run(*kept, *given)

    def _first(self, *flat: Any) -> Any:
        self.run = self._second if self._jit else self._plain(self._jit)
        try:
            return self._plain(self._jit)(*flat)
        except errors.NotCompiledError as problem:
            if not self._falls_back:
                raise
            warnings.warn(f"{problem.message}; it runs in plain Python ({problem.reason})", stacklevel=errors.users_level())
            self.run = self._plain(False)
            return self.run(*flat)

    def _second(self, *flat: Any) -> Any:
        self.run = self._native(flat) or self._plain(True)
        return self.run(*flat)

    def _plain(self, jit: bool) -> calling.Run:
        return calling.Run(self._load(self._ready, jit), [], [], self._ready.result, jit)

    def _native(self, flat: tuple[Any, ...]) -> Callable[..., Any] | None:
        from stgrad.calls import direct

        nodes = [wrapper.describe(v) for v in flat]
        compiled, whole = self._load(self._ready, True), direct.nests(self._ready.result)
        entry = direct.entry(compiled, nodes, flat, self._ready.result if whole else None)
        if entry is None:
            return None
        if whole:
            return entry.function(self._plain(True))
        return calling.Run(entry.function(compiled), [], [], self._ready.result, True)
