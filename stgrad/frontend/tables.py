"""Dicts and sets whose keys the running program decides: classes over two lists, which are read like any other class.

    d = {}                              keys, values = [], []
    for k, v in zip(ks, x):     ->      for k, v in zip(ks, x):
        d[k] = v                            place = ...                 # where keys holds k
                                            values[place] = v           # or both get an item

A dict of which only known keys are used stays what it is: it costs nothing. The part of the program that asks for a key which is not known is
read again with a table, as lists are that begin to grow there. Keys are numbers, and tuples of them. They are in the order of their first use, as
Python has it; those of a set have no order, and are only counted, looked for and sorted.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from stgrad import errors
from stgrad.frontend import selection, sparse_objects
from stgrad.frontend.builtins import handles
from stgrad.frontend.default_dicts import DefaultDict
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import Grows, replace_container
from stgrad.frontend.indexing import store
from stgrad.frontend.items import described, joined
from stgrad.frontend.iteration import known_items, static_items
from stgrad.frontend.objects import construct
from stgrad.frontend.values import DictView, Record, Sym, Value, is_number, is_static, static_of

_NOTHING = object()


class Keys:
    """Keys in the order of their first use: what dicts and sets have in common."""

    stands_for: type = dict

    def __init__(self, keys: Any) -> None:
        self.names = keys

    def place(self, key: Any) -> Any:
        """Where a key stands; -1 where it does not."""
        found = -1
        for i in range(len(self.names)):
            if found < 0 and self.names[i] == key:
                found = i
        return found

    def __len__(self) -> Any:
        return len(self.names)

    def __contains__(self, key: Any) -> Any:
        return self.place(key) >= 0


class Table(Keys):
    """A `dict`."""

    def __init__(self, keys: Any, values: Any) -> None:
        self.names = keys
        self.held = values

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, dict) and _same_entries(self, other)

    def reach(self, key: Any) -> Any:
        """Where the entry stands that `self[key]` reads."""
        at = self.place(key)
        if at < 0:
            raise KeyError("a key that the dict does not have")
        return at

    def made(self, key: Any, value: Any) -> Any:
        """Where the entry of a key stands, which is made with this value where there is none."""
        at = self.place(key)
        if at < 0:
            at = len(self.names)
            self.names.append(key)
            self.held.append(value)
        return at

    def __getitem__(self, key: Any) -> Any:
        return self.held[self.reach(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held[self.made(key, value)] = value

    def __delitem__(self, key: Any) -> None:
        at = self.place(key)
        if at < 0:
            raise KeyError("a key that the dict does not have")
        del self.names[at]
        del self.held[at]

    def get(self, key: Any, default: Any = None) -> Any:
        at = self.place(key)
        return default if at < 0 else self.held[at]

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self.held[self.made(key, default)]

    def pop(self, key, default=_NOTHING):  # type: ignore[no-untyped-def]
        at = self.place(key)
        if at < 0:
            if default is _NOTHING:
                raise KeyError("a key that the dict does not have")
            return default
        del self.names[at]
        return self.held.pop(at)

    def update(self, other: Any = None, **named: Any) -> None:
        for part in (named,) if other is None else (other, named):
            for key, value in part.items():
                self[key] = value

    def __or__(self, other: Any) -> Any:
        found = self.copy()
        found.update(other)
        return found

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def popitem(self) -> Any:
        if not self.names:
            raise KeyError("popitem(): dictionary is empty")
        return self.names.pop(), self.held.pop()

    def clear(self) -> None:
        self.names.clear()
        self.held.clear()

    def copy(self) -> Any:
        return Table(list(self.names), list(self.held))

    def keys(self) -> Any:
        return self

    def values(self) -> Any:
        return View(self, "values")

    def items(self) -> Any:
        return View(self, "items")


def _same_entries(table: Any, other: Any) -> Any:
    same = len(table) == len(other)
    for key in table.names:
        same = same and key in other and other[key] == table[key]
    return same


class View:
    """`d.values()` or `d.items()`."""

    stands_for: type = dict

    def __init__(self, table: Any, name: Any) -> None:
        self.table = table
        self.name = name

    def __len__(self) -> Any:
        return len(self.table)

    def __contains__(self, item: Any) -> Any:
        return any(one == item for one in self)


def _of_pairs(pairs: Any) -> Any:
    table = Table([], [])
    for key, value in pairs:
        table[key] = value
    return table


def _united(parts: Any) -> Any:
    table = Table([], [])
    for part in parts:
        table.update(part)
    return table


class DefaultTable(Table):
    """A `collections.defaultdict`."""

    stands_for = collections.defaultdict

    def __init__(self, keys: Any, values: Any, factory: Any) -> None:
        self.names = keys
        self.held = values
        self.default_factory = factory

    def copy(self) -> Any:
        return DefaultTable(list(self.names), list(self.held), self.default_factory)

    def reach(self, key: Any) -> Any:
        at = self.place(key)
        if at < 0:
            at = len(self.names)
            self.names.append(key)
            self.held.append(self.default_factory())
        return at


class Tally(Table):
    """A `collections.Counter`."""

    stands_for = collections.Counter

    def __init__(self, values: Any) -> None:
        self.names = []
        self.held = []
        for value in values:
            self[value] += 1

    def reach(self, key: Any) -> Any:
        return self.made(key, 0)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, collections.Counter):
            return isinstance(other, dict) and _same_entries(self, other)
        return all(other[key] == self[key] for key in self.names) and all(other[key] == self[key] for key in other.names)

    def __getitem__(self, key: Any) -> Any:
        return self.get(key, 0)

    def update(self, values: Any) -> None:  # type: ignore[override]
        for value in values:
            self[value] += 1

    def total(self) -> Any:
        return sum(self.held)

    def most_common(self, n=None):  # type: ignore[no-untyped-def]
        pairs = sorted(zip(self.names, self.held, strict=True), key=lambda pair: -pair[1])
        return pairs if n is None else pairs[:n]


# --------------------------------------------------------------------------- what becomes a table


def keyed(owner: Value, key: Value) -> bool:
    """Whether a dict can be made a table for a key of the running program: all keys are numbers, or tuples of them."""

    return selection.SELECTS.get() and type(owner) in (dict, DefaultDict, collections.OrderedDict) and _number(key) and all(map(_number, owner))


def _number(key: Value) -> bool:
    return is_number(key) or isinstance(key, Sym) and not key.type.rank or isinstance(key, tuple) and all(map(_number, key))


def can_be_table(frame: Frame, owner: Value, sides: Sequence[dict[Any, Value]]) -> bool:
    """Whether a dict can be a table of all the entries that several paths leave in it: keys are numbers or texts, values of one kind."""
    keys = [key for side in sides for key in side]
    if type(owner) not in (dict, DefaultDict, collections.OrderedDict) or not (all(map(_number, keys)) or all(isinstance(k, str) for k in keys)):
        return False
    return _shape_of(frame, [v for side in sides for v in side.values()]) is not None


def _shape_of(frame: Frame, values: Sequence[Value]) -> Value:
    """What a list that holds all these values holds; None where there is none."""
    try:
        shapes = [described(frame, v) for v in values]
        found = shapes[0] if shapes else None
        for shape in shapes[1:]:
            found = joined(frame, found, shape)
    except errors.StgradError:
        return None
    return found


def begins_at(frame: Frame, owner: Value) -> tuple[Value, int]:
    """What would be made a table for a dict, and the outermost open region outside of which that exists."""
    origin = frame.builder.merged.get(id(owner), (None, owner, False))[1]
    regions = frame.builder.regions
    return origin, next((depth for depth, region in enumerate(regions) if id(owner) in region.outside or id(origin) in region.outside), len(regions))


def changed(frame: Frame, owner: dict[Any, Value]) -> Record | None:
    """The table that a dict is from here on, where its values are of one kind; the part of the program outside of which it exists is read again."""
    if owner and _shape_of(frame, list(owner.values())) is None:
        return None
    frame.mutate(owner)
    origin, depth = begins_at(frame, owner)
    if depth < len(frame.builder.regions):
        raise Grows(origin, depth, None, False)
    table = made(owner)
    replace(frame, owner, table)
    return table


def replace(frame: Frame, owner: dict[Any, Value], table: Record) -> None:
    """Let all that holds a dict, or a view of it, hold the table that it becomes."""
    replace_container(frame, owner, table, lambda name: table if name == "keys" else Record(View, {"table": table, "name": name}))


def of_pairs(frame: Frame, pairs: Value) -> Value:
    """The dict with these keys and values, of which the keys or the number may be known as the program runs."""
    items = known_items(frame, pairs, None)
    known = None if items is None else [static_items(frame, item, None) for item in items]
    if known is not None and all(len(pair) == 2 and is_static(static_of(pair[0])) for pair in known):
        return {static_of(k): v for k, v in known}
    if not selection.SELECTS.get() or known is not None and not all(len(pair) == 2 and _number(static_of(pair[0])) for pair in known):
        raise errors.NeedStaticError("the keys of this dict must be known at compile time", frame.builder.loc, hint="use numbers as keys, or two lists")
    return frame.call(_of_pairs, (pairs if items is None else items,), {})


def united(frame: Frame, parts: Sequence[Value]) -> Value:
    """`{**a, "k": v, **b}` of tables and dicts."""
    return frame.call(_united, (tuple(parts),), {})


def is_table(value: Value) -> bool:
    return isinstance(value, Record) and isinstance(value.cls, type) and issubclass(value.cls, Table)


def entry(frame: Frame, owner: Value, key: Value) -> tuple[Value, Value]:
    """Where `owner[key] += value` reads and writes: of a table the list of what it holds, and the place in it, which is looked for once."""
    if isinstance(owner, dict) and not is_static(static_of(key)) and not selection.selectable(owner, key) and keyed(owner, static_of(key)):
        owner = changed(frame, owner) or owner
    if isinstance(owner, Record) and issubclass(owner.cls, Table):
        place = frame.keep(frame.call(owner.cls.reach, (owner, key), {}))
        return owner.fields["held"], place
    return owner, key


def made(owner: dict[Any, Value]) -> Record:
    """A table with the entries of a dict."""
    fields = {"names": list(owner), "held": list(owner.values())}
    if isinstance(owner, DefaultDict):
        return Record(DefaultTable, {**fields, "default_factory": owner.factory})
    return Record(Table, fields)


@handles(dict)
def _dict(frame: Frame, values: Value = (), **named: Value) -> Value:
    if isinstance(values, Record) and issubclass(values.cls, Table):
        found = frame.call(Table.copy, (values,), {})
    else:
        found = of_pairs(frame, values) if not isinstance(values, dict) else dict(values)
    for name, value in named.items():
        store(frame, found, name, value, None)
    return {k: frame.keep(v) for k, v in found.items()} if isinstance(found, dict) else found


@handles(collections.OrderedDict)
def _ordered(frame: Frame, values: Value = (), **named: Value) -> Value:
    made = frame.call(dict, (values,), named)
    return collections.OrderedDict(made) if isinstance(made, dict) else made


@handles(dict.fromkeys)
def _fromkeys(frame: Frame, keys: Value, value: Value = None) -> Value:
    return {static_of(k): frame.keep(value) for k in static_items(frame, keys, None)}


@handles(collections.Counter)
def _counter(frame: Frame, values: Value = ()) -> Value:
    if isinstance(values, (dict, Record)):
        raise errors.UnsupportedSyntaxError("a `Counter` of a dict is not supported", frame.builder.loc, hint="count the items of a list")
    return construct(frame, Tally, (values,), {})


def of_keys(value: Value) -> Value:
    """`d.keys()` beside an operator is a set."""
    return set(value) if isinstance(value, DictView) and value.name == "keys" else value


def refuse_result(frame: Frame, value: Value) -> None:
    """A table is no dict: it cannot leave the program."""
    if isinstance(value, Record) and hasattr(value.cls, "stands_for"):
        name = value.cls.stands_for.__name__
        if sparse_objects.stands_for_one(value):
            raise errors.TypeInferenceError(f"the function returns a {name}", None, hint="return its arrays (`data`, and where they stand), or `toarray()`")
        raise errors.TypeInferenceError(f"the function returns a {name} whose keys it decides as it runs", None, hint="return lists of its keys and values")
    if isinstance(value, Record) and getattr(value.cls, "of_arrays", False):
        raise errors.TypeInferenceError("the function returns strides or flags of an array", None, hint="return numbers and arrays")
    if isinstance(value, tuple) and not all(map(is_static, getattr(value, "__dict__", {}).values())):
        raise errors.TypeInferenceError(
            f"the function returns a `{type(value).__name__}`, which keeps more than its items", None, hint="return a plain tuple of what is needed"
        )
    inner = value.fields if isinstance(value, Record) else value
    if isinstance(inner, (tuple, list, dict)):
        for item in inner.values() if isinstance(inner, dict) else inner:
            refuse_result(frame, item)


__all__ = ["Keys", "Table", "changed", "entry", "keyed", "made", "refuse_result"]
