"""`collections.defaultdict`: a dict whose factory makes the entries that it lacks."""

from __future__ import annotations

import collections
from typing import Any

from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Value


class DefaultDict(dict[Any, Value]):
    """A `collections.defaultdict`: missing entries are made by its factory, in what it is joined with, too."""

    factory: Value = None

    def __or__(self, other: Any) -> DefaultDict:
        return made_by(self.factory, {**self, **other})

    def __ror__(self, other: Any) -> DefaultDict:
        return made_by(self.factory, {**other, **self})


def made_by(factory: Value, items: dict[Any, Value]) -> DefaultDict:
    made = DefaultDict(items)
    made.factory = factory
    return made


@handles(collections.defaultdict)
def _defaultdict(frame: Frame, factory: Value = None, *values: Value, **named: Value) -> Value:
    return made_by(factory, frame.call(dict, values, named))


def missing(frame: Frame, owner: Value, key: Value) -> None:
    """Make the entry that a `defaultdict` lacks."""
    if isinstance(owner, DefaultDict) and owner.factory is not None and key not in owner:
        frame.mutate(owner)
        owner[key] = frame.call(owner.factory, (), {})


__all__ = ["DefaultDict", "missing"]
