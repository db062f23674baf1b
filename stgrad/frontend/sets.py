"""Sets whose items the running program decides: their keys in the order of their first use, which nobody may ask for."""

from __future__ import annotations

from typing import Any

from stgrad import errors
from stgrad.frontend import selection
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.iteration import known_items, static_items
from stgrad.frontend.objects import construct
from stgrad.frontend.tables import Keys
from stgrad.frontend.values import Record, Sym, Value, is_number, is_static, static_of


class KeySet(Keys):
    """A `set`."""

    stands_for: type = set

    def __init__(self, values: Any) -> None:
        self.names = []
        for value in values:
            self.add(value)

    def add(self, key: Any) -> None:
        if self.place(key) < 0:
            self.names.append(key)

    def discard(self, key: Any) -> None:
        at = self.place(key)
        if at >= 0:
            del self.names[at]

    def remove(self, key: Any) -> None:
        at = self.place(key)
        if at < 0:
            raise KeyError("a key that the set does not have")
        del self.names[at]

    def update(self, values: Any) -> None:
        for value in set(values).names:
            self.add(value)

    def __or__(self, other: Any) -> Any:
        found = set(self.names)
        found.update(other)
        return found

    def __and__(self, other: Any) -> Any:
        found = set()
        for key in self.names:
            if key in other:
                found.add(key)
        return found

    def __sub__(self, other: Any) -> Any:
        found = set()
        for key in self.names:
            if key not in other:
                found.add(key)
        return found

    def __xor__(self, other: Any) -> Any:
        return (self - other) | (other - self)

    def __ror__(self, other: Any) -> Any:
        return set(other) | self

    def __rand__(self, other: Any) -> Any:
        return set(other) & self

    def __rsub__(self, other: Any) -> Any:
        return set(other) - self

    def __rxor__(self, other: Any) -> Any:
        return set(other) ^ self

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, (set, frozenset)) and len(self) == len(other) and self <= other

    def __le__(self, other: Any) -> Any:
        return len(self - other) == 0

    def __ge__(self, other: Any) -> Any:
        return len(set(other) - self) == 0

    def __lt__(self, other: Any) -> Any:
        return len(self) < len(other) and self <= other

    def __gt__(self, other: Any) -> Any:
        return len(self) > len(other) and self >= other

    def union(self, *others: Any) -> Any:
        found = set(self.names)
        for other in others:
            found.update(other)
        return found

    def intersection(self, *others: Any) -> Any:
        found = set(self.names)
        for other in others:
            found = found & set(other)
        return found

    def difference(self, *others: Any) -> Any:
        found = set(self.names)
        for other in others:
            found = found - set(other)
        return found

    def symmetric_difference(self, other: Any) -> Any:
        return self ^ set(other)

    def issubset(self, other: Any) -> Any:
        return self <= set(other)

    def issuperset(self, other: Any) -> Any:
        return self >= set(other)

    def isdisjoint(self, other: Any) -> Any:
        return len(self & set(other)) == 0

    def copy(self) -> Any:
        return set(self.names)

    def clear(self) -> None:
        self.names.clear()


def key_set(frame: Frame, values: Value) -> Record | None:
    """`set(values)` that may get items of the running program; None for a set of Python, of other things than numbers."""
    if not selection.SELECTS.get():
        return None
    items = list(values) if isinstance(values, (set, frozenset)) else known_items(frame, values, None)
    if items is None or all(isinstance(v, (Sym, tuple)) or is_number(v) for v in items):
        return construct(frame, KeySet, (items if isinstance(values, (set, frozenset)) else values,), {})
    return None


def unordered(value: Value) -> Value:
    """The items of a set, for what does not ask for their order; other values as they are."""
    return value.fields["names"] if isinstance(value, Record) and value.cls is KeySet else value


@handles(set)
def _set(frame: Frame, values: Value = ()) -> Value:
    """Of values that are known at compile time, or of those of the running program."""
    if (made := key_set(frame, unordered(values))) is not None:
        return made
    items = [static_of(v) for v in static_items(frame, values, None)]
    if not is_static(items):
        raise errors.NeedStaticError("the items of a set must be known at compile time", frame.builder.loc, hint="use a list or a tuple")
    return set(items)


@handles(frozenset)
def _frozenset(frame: Frame, values: Value = ()) -> Value:
    items = values if isinstance(values, (set, frozenset)) else known_items(frame, unordered(values), None)
    if items is not None and is_static(known := [static_of(v) for v in items]):
        return frozenset(known)
    made = frame.call(set, (values,), {})
    return frozenset(made) if isinstance(made, set) else made


__all__ = ["KeySet", "key_set", "unordered"]
