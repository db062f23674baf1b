"""The class that a value has in the program, whatever class the compiler knows it by: what `type`, `isinstance` and `hasattr` are asked of."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from typing import Any

from stgrad import errors
from stgrad.frontend import iteration
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import Attributes
from stgrad.frontend.iterators import Cursor, DefaultDict
from stgrad.frontend.tables import View
from stgrad.frontend.text import RunTimeText
from stgrad.frontend.values import Closure, DictView, Generator, Growing, ListOrTuple, Queue, Record, Value
from stgrad.lookups import look, ours

_SEEN: dict[type, type] = {
    Queue: deque,
    DefaultDict: defaultdict,
    Attributes: dict,
    RunTimeText: str,
    Closure: type(lambda: None),
    Cursor: type(iter([])),
    iteration.Range: range,
    iteration.Enumerate: enumerate,
    iteration.Zip: zip,
    iteration.Reversed: type(reversed([])),
    iteration.Mapped: map,
    iteration.Product: itertools.product,
    iteration.Combinations: itertools.combinations,
    iteration.Chain: itertools.chain,
}
_ONE_KIND = "make both paths give the same kind of value"
_GENERATOR = type(_ for _ in ())
_MADE_BY = {"mapped": map, "filtered": filter, "iterator": type(iter([]))}


def class_of(frame: Frame, value: Value) -> Any:
    """`type(value)` of what is no number and no array of the running program."""
    if id(value) in frame.builder.once:
        return _GENERATOR
    if isinstance(value, ListOrTuple):
        raise errors.TypeInferenceError("the class of what is a list on one path and a tuple on another is asked for", frame.builder.loc, hint=_ONE_KIND)
    if isinstance(value, DictView):
        return type(getattr({}, value.name)())
    if isinstance(value, Record) and value.cls is View:
        return type(getattr({}, value.fields["name"])())
    if isinstance(value, Generator):
        return _MADE_BY.get(value.source.name, _GENERATOR) if ours(value.source.function) else _GENERATOR
    cls = value.cls if isinstance(value, (Record, Growing)) else type(value)
    if cls in _SEEN:
        return _SEEN[cls]
    return getattr(cls, "stands_for", cls) if isinstance(value, (Record, Growing)) else look("class", value)


def is_own(frame: Frame, value: Value) -> bool:
    """Whether the compiler knows a value by a class of its own."""
    return id(value) in frame.builder.once or isinstance(value, (Record, Growing, DictView, Generator, ListOrTuple)) or type(value) in _SEEN


__all__ = ["class_of", "is_own"]
