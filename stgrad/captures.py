"""Values that a program takes from outside: where each was found, and what it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stgrad.source import Scope


@dataclass(frozen=True)
class Capture:
    """A value from outside the program: `owner` is a Scope (then `name` is a free name) or an object (an attribute).

    `variable` is the parameter that carries it, for arrays; other values are compiled in, and the compiled program is used only
    while they stay the same.
    """

    owner: Any
    name: str
    value: Any
    variable: str | None
    was: Any = field(init=False, compare=False, repr=False)  # what a container held

    def __post_init__(self) -> None:
        object.__setattr__(self, "was", snapshot(self.value))

    def current(self) -> Any:
        return self.owner.resolve(self.name) if isinstance(self.owner, Scope) else getattr(self.owner, self.name)


# --------------------------------------------------------------------------- what containers hold


def is_container(value: Any) -> bool:
    """Whether a value can change and stay the same object, and is compiled in."""
    return isinstance(value, (list, dict, set)) or isinstance(value, tuple) and any(isinstance(v, np.ndarray) or is_container(v) for v in value)


def snapshot(value: Any) -> Any:
    """What a container holds now, through the containers in it; other values as they are.

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
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return tuple((key, item.copy() if isinstance(item, np.ndarray) else snapshot(item)) for key, item in items)


def unchanged(value: Any, was: Any) -> bool:
    """Whether a container still holds what it held."""
    if isinstance(value, set):
        return bool(value == was)
    if not is_container(value):
        return value is was or type(value) in (int, float, str, bool, complex) and type(value) is type(was) and bool(value == was)
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return len(value) == len(was) and all(key == k and _holds(item, w) for (key, item), (k, w) in zip(items, was, strict=True))


def _holds(item: Any, was: Any) -> bool:
    if isinstance(item, np.ndarray):
        return isinstance(was, np.ndarray) and item.dtype == was.dtype and np.array_equal(item, was)
    return unchanged(item, was)
