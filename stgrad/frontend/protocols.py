"""What Python's functions ask of the class of an instance: `round(o)` of `__round__`, `reversed(o)` of `__reversed__`, `value in o` of `__contains__`.

Source: the data model of Python, "Emulating container types" and "Emulating numeric types".
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

from stgrad.frontend import objects
from stgrad.frontend.frame import Frame
from stgrad.frontend.iterated_objects import gives_items
from stgrad.frontend.operations import truth
from stgrad.frontend.values import Record, Value
from stgrad.lookups import look

_METHODS: dict[Any, str] = {
    round: "__round__", math.floor: "__floor__", math.ceil: "__ceil__", math.trunc: "__trunc__", complex: "__complex__", divmod: "__divmod__",
    reversed: "__reversed__",
}  # fmt: skip


def asks(function: Any, args: tuple[Value, ...]) -> bool:
    """Whether a function of Python's asks a method of its first argument."""
    return bool(args) and isinstance(args[0], Record) and isinstance(function, (type, type(len))) and function in _METHODS


def answer(frame: Frame, function: Any, record: Record, *args: Value) -> Value:
    """What `function(record, *args)` gives."""
    if function is reversed and not _has(record.cls, "__reversed__"):
        return frame.call(_backwards, (record,), {})
    return objects.special(frame, record, _METHODS[function], args, f"is nothing that `{function.__name__}` takes")


def contains(frame: Frame, record: Record, value: Value) -> Value:
    """`value in record`: by its `__contains__`, else by its items."""
    if gives_items(record.cls) and not _has(record.cls, "__contains__"):
        return frame.call(_is_among, (value, record), {})
    return truth(frame, objects.special(frame, record, "__contains__", (value,), "is no container"))


def _has(cls: type, name: str) -> bool:
    return isinstance(look("raw", cls, name), FunctionType)


def _backwards(values):  # type: ignore[no-untyped-def]
    for k in range(len(values) - 1, -1, -1):
        yield values[k]


def _is_among(value, items):  # type: ignore[no-untyped-def]
    for item in items:  # noqa: SIM110  (`any` takes the items of an iterator that stays)
        if item == value:
            return True
    return False


__all__ = ["answer", "asks", "contains"]
