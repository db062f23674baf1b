"""`globals()["name"]`: a global name that the function finds by its text, read like one that stands in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stgrad import errors
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Value, static_of
from stgrad.lookups import ABSENT, Lookup, look
from stgrad.source import Source

_HINT = 'of `globals()` the items are read, by names that are known while the function is compiled: globals()["name"]'


@dataclass(frozen=True)
class Globals:
    """The names of a function's module."""

    source: Source

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"`{name}` of `globals()` is not supported: {_HINT}")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and look("name", self.source.function, name) is not ABSENT and name in self.source.function.__globals__

    def _stgrad_item_(self, frame: Frame, index: Value, node: Any) -> Value:
        name, function = static_of(index), self.source.function
        if not isinstance(name, str) or name in function.__code__.co_freevars:
            raise errors.NeedStaticError("a name that the program computes is looked up in `globals()`", frame.loc(node), hint=_HINT)
        if name not in function.__globals__:
            raise errors.UndefinedNameError(f"KeyError: {name!r}", frame.loc(node)) from KeyError(name)
        return frame.stand_in(Lookup("name", function, name, look("name", function, name)))


@handles(globals)
def _globals(frame: Frame) -> Value:
    return Globals(frame.source)
