"""The class that a value has in the program, whatever class the compiler knows it by: what `type`, `isinstance` and `hasattr` are asked of."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from stgrad import errors
from stgrad.frontend import iteration
from stgrad.frontend.default_dicts import DefaultDict
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import Attributes
from stgrad.frontend.iterators import Cursor
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
    iteration.Range: range,
    iteration.Enumerate: enumerate,
    iteration.Zip: zip,
    iteration.Reversed: type(reversed([])),
    iteration.Mapped: map,
    iteration.Product: itertools.product,
    iteration.Combinations: itertools.combinations,
    iteration.Chain: itertools.chain,
}
_GENERATOR = type(_ for _ in ())
_MADE_BY = {"mapped": map, "filtered": filter, "iterator": type(iter([]))}


def classes_of(frame: Frame, value: Value) -> tuple[Any, ...]:
    """What `type(value)` may be of what is no number and no array of the running program."""
    if id(value) in frame.builder.once:
        return _GENERATOR, filter, type(iter([]))
    if isinstance(value, Record) and value.cls is Cursor:
        return _GENERATOR, type(iter([]))
    if isinstance(value, ListOrTuple):
        return list, tuple
    if isinstance(value, DictView):
        return (type(getattr({}, value.name)()),)
    if isinstance(value, Record) and value.cls is View:
        return (type(getattr({}, value.fields["name"])()),)
    if isinstance(value, Generator):
        return (_MADE_BY.get(value.source.name, _GENERATOR) if ours(value.source.function) else _GENERATOR,)
    cls = value.cls if isinstance(value, (Record, Growing)) else type(value)
    if cls in _SEEN:
        return (_SEEN[cls],)
    return (getattr(cls, "stands_for", cls) if isinstance(value, (Record, Growing)) else look("class", value),)


def agreed(frame: Frame, value: Value, question: Callable[[Any], Any]) -> Any:
    """What a question about the class of a value gives, which must be the same for all that it may be."""
    classes = classes_of(frame, value)
    first, *others = [question(cls) for cls in classes]
    if any(other != first for other in others):
        names = " or ".join(dict.fromkeys(cls.__name__ for cls in classes))
        message = f"the class of what may be a {names} is asked for"
        raise errors.TypeInferenceError(message, frame.builder.loc, hint="make it one kind on all paths: list(...) or tuple(...)")
    return first


def class_of(frame: Frame, value: Value) -> Any:
    """`type(value)` of what is no number and no array of the running program."""
    return agreed(frame, value, lambda cls: cls)


def is_own(frame: Frame, value: Value) -> bool:
    """Whether the compiler knows a value by a class of its own."""
    return id(value) in frame.builder.once or isinstance(value, (Record, Growing, DictView, Generator, ListOrTuple)) or type(value) in _SEEN


__all__ = ["agreed", "class_of", "classes_of", "is_own"]
