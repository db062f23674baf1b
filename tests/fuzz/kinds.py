"""Kinds of the values of a random program, as its writer knows them: what may be done with a name, and what is left of that at a join.

Extents are those of the arguments that the program will get, so that most programs are valid; the compiler is not told them. An extent that is not
known here either (it changes from trip to trip, or by branch) is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

Shape = tuple[Union[int, None], ...]


@dataclass(frozen=True)
class Float:
    """A float, Python's or NumPy's."""


@dataclass(frozen=True)
class Bool:
    """A truth value."""


@dataclass(frozen=True)
class Int:
    """An integer between `low` and `high`, both included; None where that is not known."""

    low: int | None = None
    high: int | None = None

    @property
    def known(self) -> bool:
        return self.low is not None and self.high is not None

    def inside(self, low: int, high: int) -> bool:
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


@dataclass(frozen=True)
class Array:
    """An array; of int64, its items are positions below `below`."""

    shape: Shape
    dtype: str = "float"
    below: int = 0

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Items:
    """A list or a tuple of items of their own kinds."""

    type: str
    items: tuple[Kind, ...]


@dataclass(frozen=True)
class Many:
    """A list of `least` or more items of one kind."""

    item: Kind
    least: int


@dataclass(frozen=True)
class Keys:
    """A dict."""

    items: tuple[tuple[str, Kind], ...]


@dataclass(frozen=True)
class Record:
    """An object of a dataclass."""

    name: str
    items: tuple[tuple[str, Kind], ...]


@dataclass(frozen=True)
class Closure:
    """A nested function."""

    parameters: tuple[Kind, ...]
    result: Kind


@dataclass(frozen=True)
class Text:
    """One of the texts 'low', 'mid' and 'high'."""


@dataclass(frozen=True)
class Function:
    """One of NumPy's functions of a number or an array."""


Kind = Union[Float, Bool, Int, Array, Items, Many, Keys, Record, Closure, Text, Function]


def join(a: Kind, b: Kind) -> Kind | None:
    """What is sure of a value that is of one kind or of the other; None where that is nothing."""
    if a == b:
        return a
    if isinstance(a, Int) and isinstance(b, Int):
        return Int(_least(a.low, b.low), _most(a.high, b.high))
    if isinstance(a, Array) and isinstance(b, Array) and a.rank == b.rank and a.dtype == b.dtype:
        return Array(tuple(m if m == n else None for m, n in zip(a.shape, b.shape, strict=True)), a.dtype, max(a.below, b.below))
    if isinstance(a, Items) and isinstance(b, Items) and a.type == b.type and len(a.items) == len(b.items):
        items = _joined(a.items, b.items)
        return None if items is None else Items(a.type, items)
    if isinstance(a, Many) and isinstance(b, Many):
        item = join(a.item, b.item)
        return None if item is None else Many(item, min(a.least, b.least))
    if isinstance(a, (Keys, Record)) and type(a) is type(b) and [k for k, _ in a.items] == [k for k, _ in b.items]:  # type: ignore[union-attr]
        items = _joined(tuple(v for _, v in a.items), tuple(v for _, v in b.items))  # type: ignore[union-attr]
        named = None if items is None else tuple(zip((k for k, _ in a.items), items, strict=True))
        if named is not None:
            return Keys(named) if isinstance(a, Keys) else Record(a.name, named)
    return None


def holds(outer: Kind, inner: Kind) -> bool:
    """Whether a value of the kind `inner` is one of the kind `outer`."""
    return join(outer, inner) == outer


def _joined(a: tuple[Kind, ...], b: tuple[Kind, ...]) -> tuple[Kind, ...] | None:
    items = [join(u, v) for u, v in zip(a, b, strict=True)]
    return None if None in items else tuple(items)  # type: ignore[arg-type]


def _least(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)
