"""What `jvp(f)`, `linearize` and `vjp` give: callables that programs which are read, and `numba.njit` code, can call too.

From Python they run what they were made with. In another program they are a function of that program: its text asks for the derivative again, at the
arguments that they hold, which are constants there as everything that a function captures. Numba is imported when it asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stgrad.request import Derivative, Options
from stgrad.transformed import Transformed


class Called:
    """A derivative at a point, or of one direction. `__call__` is what subclasses bring."""

    __slots__ = ("__weakref__", "_native")

    _native: Transformed

    def in_programs(self) -> Callable[..., Any]:
        """The function that it is where a program is read."""
        raise NotImplementedError

    def options(self) -> Options:
        raise NotImplementedError

    def _stgrad_inside_(self, frame: Any, *args: Any, **kwargs: Any) -> Any:
        return frame.call(self.in_programs(), args, kwargs)

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks a value of a class that it does not know."""
        from stgrad.callable_type import TransformedType

        if not hasattr(self, "_native"):
            self._native = Transformed(Derivative(self.in_programs(), "primal"), self.options())
        return TransformedType(self._native)


__all__ = ["Called"]
