"""How instances are iterated over: by what their `__iter__` gives, by their `__next__`, or by the places that their `__getitem__` knows."""

from __future__ import annotations

from types import FunctionType

from stgrad.frontend.cursors import is_cursor
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Record, Value
from stgrad.lookups import ABSENT, look, root_of


def asked(frame: Frame, value: Record) -> Value:
    """What `__iter__` of an instance gives: of one that is its own iterator, the items that its `__next__` gives until it raises StopIteration."""
    if look("raw", value.cls, "__iter__") is ABSENT:
        return frame.call(_by_place, (value,), {})
    given = frame.call(look("raw", value.cls, "__iter__"), (value,), {})
    if isinstance(given, Record) and not is_cursor(given) and isinstance(look("raw", given.cls, "__next__"), FunctionType):
        return frame.call(_stepped, (given,), {})
    return given


def gives_items(cls: type) -> bool:
    """Whether instances are iterated over: by their `__iter__`, or by the places that their `__getitem__` knows."""
    return look("raw", cls, "__iter__") is not ABSENT or root_of(cls) != "stgrad" and isinstance(look("raw", cls, "__getitem__"), FunctionType)


def _by_place(values):  # type: ignore[no-untyped-def]
    k = 0
    while True:
        try:
            item = values[k]
        except IndexError:
            return
        yield item
        k += 1


def _stepped(values):  # type: ignore[no-untyped-def]
    while True:
        try:
            item = next(values)
        except StopIteration:
            return
        yield item


__all__ = ["asked", "gives_items"]
