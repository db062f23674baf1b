"""Items that are read when their turn comes.

A list or dict may change while a loop runs over it: what an iteration puts into it, later ones find there, and a list that has got longer runs
longer. So nothing is listed before the loop: `Live` asks the container itself, each time, for its length and for one item. Containers may be
replaced while the program is read (a list begins to grow); a name of the frame holds them, and is found with all other names that do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend.control import branch, raise_where
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import above
from stgrad.frontend.iteration import (
    Enumerate,
    Mapped,
    Reversed,
    Zip,
    count_items,
    entries,
    first_items,
    gives_one_more,
    is_cursor,
    known_items,
)
from stgrad.frontend.operations import binary
from stgrad.frontend.values import DictView, Growing, Record, Sym, Value, is_static

Items = tuple[Callable[[], Value], Callable[[Value], Value]]  # the length and an item, as they are when asked


def may_change(value: Value) -> bool:
    """Whether an iteration could change what later ones get from a value."""
    if isinstance(value, (Enumerate, Reversed)):
        return may_change(value.inner)
    if isinstance(value, Zip):
        return any(map(may_change, value.inners))
    return isinstance(value, (list, dict, Growing)) or is_cursor(value) or entries(value) is not None or isinstance(value, Mapped) and may_change(value.inners)


class Live:
    """What a loop runs over, for values that may change; `close` it behind the loop."""

    def __init__(self, frame: Frame, value: Value, node: Any) -> None:
        self.frame, self.node = frame, node
        self.names: list[str] = []
        self.consumes = False  # whether items are taken off an iterator, which misses them from there on
        self._tables: list[tuple[Callable[[], Value], Value]] = []
        self.length, self.item = self._of(value)
        self._counts = self._growing()

    def close(self) -> None:
        for name in self.names:
            self.frame.env.pop(name, None)

    def check(self, stopped: Value = False) -> None:
        """Raise what Python raises when it asks for an item of a dict that has changed; `stopped`: whether the loop asks for none any more."""
        for length, before in self._tables:
            if (now := length()) is not before:
                other = binary(self.frame, gast.NotEq, now, before)
                other = branch(self.frame, stopped, lambda: False, lambda other=other: other, "_c") if isinstance(stopped, Sym) else not stopped and other
                raise_where(self.frame, other, "RuntimeError", "dictionary changed size during iteration")

    def has_grown(self) -> bool:
        """Whether a list of run-time length is longer or shorter than it was."""
        return any(a is not b for a, b in zip(self._counts, self._growing(), strict=True))

    def _growing(self) -> list[Value]:
        held = [self.frame.env[name] for name in self.names]
        return [v.count if isinstance(v, Growing) else None for v in held]

    def _of(self, value: Value) -> Items:
        frame = self.frame
        if isinstance(value, Enumerate):
            length, item = self._of(value.inner)
            return length, lambda k: (k if is_static(value.start) and value.start == 0 else binary(frame, gast.Add, k, value.start), item(k))
        if isinstance(value, Reversed):
            length, item = self._of(value.inner)
            first = length()
            return lambda: first, lambda k: item(binary(frame, gast.Sub, binary(frame, gast.Sub, first, 1), k))
        if isinstance(value, Mapped):
            length, item = self._of(value.inners)
            return length, lambda k: frame.call(value.function, tuple(item(k)), {})
        if isinstance(value, Zip):
            return self._zip(value)
        if isinstance(value, (dict, DictView)):
            return self._dict(value)
        if isinstance(value, (list, Growing)):
            return self._list(value)
        if (held := entries(value)) is not None:
            return self._table(held)
        if is_cursor(value):
            return self._cursor(value)
        items = known_items(frame, value, self.node)
        if items is not None:
            return lambda: len(items), lambda k: items[k] if is_static(k) else self._mixed()
        counted = count_items(frame, value, self.node)
        return lambda: counted.length, counted.item

    def _list(self, value: Value) -> Items:
        frame, name = self.frame, self.frame.hidden_name("over")
        frame.env[name] = value
        self.names.append(name)

        def length() -> Value:
            now = frame.env[name]
            return now.count if isinstance(now, Growing) else len(now)

        def item(k: Value) -> Value:
            now = frame.env[name]
            if isinstance(now, Growing):
                return above("growing").item(frame, now, k)
            return now[k] if is_static(k) else self._mixed()

        return length, item

    def _dict(self, value: Any) -> Items:
        owner: dict[Any, Value] = value.owner if isinstance(value, DictView) else value
        keys = list(owner)

        def length() -> int:
            if list(owner) != keys:
                raise errors.ShapeError("RuntimeError: dictionary changed size during iteration", self.frame.loc(self.node))
            return len(keys)

        def item(k: Value) -> Value:
            key = keys[k]
            name = value.name if isinstance(value, DictView) else "keys"
            return {"keys": key, "values": owner[key], "items": (key, owner[key])}[name]

        return length, item

    def _cursor(self, value: Record) -> Items:
        """Of an iterator that an iteration may take items from."""
        self.consumes = True
        taken, fields = [0], value.fields

        def length() -> Value:
            if not is_static(fields["at"]):
                self._mixed()
            return taken[0] + len(fields["items"]) - fields["at"]

        def item(k: Value) -> Value:
            self.frame.mutate(value)
            fields["at"], taken[0] = fields["at"] + 1, taken[0] + 1
            return fields["items"][fields["at"] - 1]

        return length, item

    def _table(self, held: Value) -> Items:
        """Of a dict whose keys the running program finds: it must have as many at the end of each iteration as it had before the loop."""
        length, item = self._of(held)
        self._tables.append((length, length()))
        return length, item

    def _zip(self, value: Zip) -> Items:
        frame = self.frame
        if is_cursor(value.inners[0]) and len(value.inners) > 1 and all(inner is value.inners[0] for inner in value.inners):
            return self._shared(value.inners[0], len(value.inners))
        columns = [self._of(inner) for inner in value.inners]
        self._no_item_dropped(value, columns)
        static = [n for length, _ in columns if is_static(n := length()) and n is not None]
        for i, inner in enumerate(value.inners if static else ()):
            if not may_change(inner) and not is_static(columns[i][0]()):
                columns[i] = _listed(first_items(frame, inner, min(static), self.node))  # an array beside known items: its first ones

        def shortest() -> Value:
            ends = [n for n in (length() for length, _ in columns) if n is not None]
            known = [n for n in ends if is_static(n)]
            return min(known) if len(known) == len(ends) else frame.call(min, tuple(ends), {}) if len(ends) > 1 else ends[0]

        return shortest, lambda k: tuple(item(k) for _, item in columns)

    def _shared(self, cursor: Record, width: int) -> Items:
        """Of `zip(it, it)`: each takes the next item of one iterator."""
        length, item = self._cursor(cursor)
        if length() % width:
            raise gives_one_more(self.frame, self.node)
        return lambda: length() // width, lambda k: tuple(item(k) for _ in range(width))

    def _no_item_dropped(self, value: Zip, columns: list[Items]) -> None:
        """An iterator that is asked before something that ends earlier has given an item in vain."""
        lengths = [length() for length, _ in columns]
        shared = [id(inner) for inner in value.inners if is_cursor(inner)]
        if len(set(shared)) < len(shared):
            raise errors.UnsupportedSyntaxError("one iterator stands twice in a `zip`", self.frame.loc(self.node), hint="slice: zip(x[::2], x[1::2])")
        for place, inner in enumerate(value.inners):
            later = [n for n in lengths[place + 1 :] if n is not None]
            if is_cursor(inner) and not all(is_static(n) and is_static(lengths[place]) and n >= lengths[place] for n in later):
                raise gives_one_more(self.frame, self.node)

    def _mixed(self) -> Value:
        raise errors.NeedStaticError("this loop mixes known items and items of unknown number", self.frame.loc(self.node))


def _listed(items: list[Value]) -> Items:
    return lambda: len(items), lambda k: items[k]
