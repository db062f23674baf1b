"""Values that a program takes from outside: where each was found, and what it was."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stgrad.source import Scope


@dataclass(frozen=True)
class Capture:
    """A value from outside the program: `owner` is a Scope (then `name` is a free name), a container that is followed (an index or
    a key), or an object (an attribute).

    `variable` is the parameter that carries it, for arrays; other values are compiled in, and the compiled program is used only
    while they stay the same.
    """

    owner: Any
    name: Any
    value: Any
    variable: str | None
    was: Any = field(init=False, compare=False, repr=False)  # what a container held

    def __post_init__(self) -> None:
        object.__setattr__(self, "was", snapshot(self.value))

    def current(self) -> Any:
        """The value that is there now; None where a container has no such item any more."""
        if isinstance(self.owner, Scope):
            return self.owner.resolve(self.name)
        if not is_followed(self.owner):
            return getattr(self.owner, self.name)
        known = self.name in self.owner if isinstance(self.owner, dict) else self.name < len(self.owner)
        return self.owner[self.name] if known else None


# --------------------------------------------------------------------------- what containers hold


def is_numeric(value: Any) -> bool:
    """Whether a value is an array that can be a parameter."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fciub"


def is_followed(value: Any) -> bool:
    """Whether a container is one whose arrays are parameters of the program: a list or deque, a tuple or NamedTuple, a dict."""
    return type(value) in (list, deque, dict, OrderedDict, defaultdict) or isinstance(value, tuple)


def items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    """The items of a container with their keys."""
    return value.items() if isinstance(value, dict) else enumerate(value)


def holds_arrays(value: Any) -> bool:
    """Whether there are arrays in a container, or in the containers in it.

    >>> holds_arrays({"w": (np.ones(2), 1.0)}), holds_arrays([1.0, "l2"])
    (True, False)
    """
    return is_followed(value) and any(is_numeric(item) or holds_arrays(item) for _, item in items_of(value))


def is_container(value: Any) -> bool:
    """Whether a value can change and stay the same object, and is compiled in."""
    if isinstance(value, tuple):
        return any(isinstance(v, np.ndarray) or is_container(v) for v in value)
    return isinstance(value, (list, deque, dict, set)) or isinstance(value, np.ndarray) and not is_numeric(value)


def snapshot(value: Any) -> Any:
    """What a container holds now, through the containers in it; other values as they are.

    Arrays that are parameters are the same while they are the same objects, whatever is in them.

    >>> held = {"w": [1.0, 2.0]}
    >>> was = snapshot(held)
    >>> held["w"][0] = 3.0
    >>> unchanged(held, was)
    False
    """
    if not is_container(value):
        return value
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, np.ndarray):
        return _Contents(value)
    followed = is_followed(value)
    return tuple((key, item if not isinstance(item, np.ndarray) or followed and is_numeric(item) else _Contents(item)) for key, item in _snapshots(value))


def _snapshots(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, item in items_of(value):
        yield key, item if isinstance(item, np.ndarray) else snapshot(item)


class _Contents:
    """What an array holds that is compiled in."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array.copy()

    def same(self, other: Any) -> bool:
        return isinstance(other, np.ndarray) and other.dtype == self.array.dtype and np.array_equal(other, self.array)


def unchanged(value: Any, was: Any) -> bool:
    """Whether a container still holds what it held."""
    if isinstance(was, _Contents):
        return was.same(value)
    if isinstance(value, set):
        return bool(value == was)
    if not is_container(value):
        return value is was or type(value) in (int, float, str, bool, complex) and type(value) is type(was) and bool(value == was)
    return len(value) == len(was) and all(key == k and unchanged(item, w) for (key, item), (k, w) in zip(items_of(value), was, strict=True))
