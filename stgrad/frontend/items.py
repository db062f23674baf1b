"""What the items of a list that grows are made of: structures with types for the numbers and arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import current, refuse_circles
from stgrad.frontend.joins import MOST
from stgrad.frontend.values import (
    Chosen,
    Closure,
    Growing,
    Nested,
    Optional,
    Record,
    Sym,
    Texts,
    Value,
    a_kind,
    is_number,
    is_static,
    leaves,
    map_leaves,
    rebuild,
    static_of,
    type_of,
)
from stgrad.ir import Dim, Type

ANY = Dim("?")
UNSET = object()  # what a slot holds that is None


class Slot(NamedTuple):
    """An item that may be None, as a list holds it: a value, and a flag."""

    value: Value
    none: Value


class Coded(NamedTuple):
    """An item that is one of several texts, as a list holds it: its number among them."""

    code: Value
    texts: Texts


class Bounds(NamedTuple):
    """A slice as an item, with bounds that the running program decides."""

    start: Value
    stop: Value
    step: Value


def bounds(value: Value) -> Value:
    """A slice as a list holds it; other values as they are."""
    return Bounds(value.start, value.stop, value.step) if isinstance(value, slice) else value


def coded(value: Value) -> Coded | None:
    """A text, or one of several, as an item; None where it is something else."""
    if isinstance(value, Coded):
        return value
    options = value.options if isinstance(value, Chosen) else (value,)
    return Coded(Type("int64"), Texts(options)) if all(type(v) is str for v in options) else None


def slot(value: Value) -> Slot:
    """A value, None, or one of both, as an item."""
    if isinstance(value, Slot):
        return value
    if isinstance(value, Optional):
        return Slot(value.value, value.none)
    return Slot(UNSET, True) if value is None else Slot(value, False)


def taken(item: Value) -> Value:
    """An item as the program reads it: what may be None is an `Optional`."""
    if isinstance(item, Slot):
        return Optional(taken(item.value), item.none)
    if isinstance(item, Coded):
        return Chosen(item.code, item.texts.options, errors.TypeInferenceError("an item of a list is one of several texts", None))
    if isinstance(item, Bounds):
        return slice(*map(taken, item))
    if isinstance(item, (tuple, list)):
        return rebuild(item, [taken(v) for v in item]) if any(isinstance(v, (tuple, list, dict, Record)) for v in item) else item
    if isinstance(item, dict):
        return {k: taken(v) for k, v in item.items()}
    return Record(item.cls, taken(item.fields)) if isinstance(item, Record) else item


def beside(structure: Value, item: Value) -> Iterator[tuple[Value, Value]]:
    """Each leaf of the structure of a list, and what an item has in its place."""
    if isinstance(structure, Slot):
        item = slot(item)
    item = bounds(item) if isinstance(structure, Bounds) else item
    if isinstance(structure, Coded):
        yield structure.code, 0
    elif isinstance(structure, (tuple, list)):
        for k, part in enumerate(structure):
            yield from beside(part, UNSET if item is UNSET else item[k])
    elif isinstance(structure, (dict, Record)):
        parts, items = (v.fields if isinstance(v, Record) else v for v in (structure, item))
        for name, part in parts.items():
            yield from beside(part, UNSET if item is UNSET else items[name])
    else:
        yield structure, item


def described(frame: Frame, value: Value) -> Value:
    """What an item is made of: its structure with types for numbers and arrays; extents stay where they are constants."""

    value = current(value)
    refuse_circles(frame, [value])

    def leaf(v: Value, _: str) -> Value:
        if isinstance(v, Growing):
            return Nested(_rows(frame, v))
        if isinstance(v, Optional):
            return Slot(described(frame, v.value), Type("bool"))
        if isinstance(v, Chosen):
            texts = coded(v)
            if texts is None:
                raise v.error
            return texts
        if isinstance(v, slice) and not is_static(static_of(v)):
            return map_leaves(leaf, bounds(v))
        if isinstance(v, Sym) or is_number(v):
            t = type_of(v)
            return Type(t.dtype, tuple(d if d.constant is not None else ANY for d in t.dims), array=t.array)
        return v

    return map_leaves(leaf, value)


def _rows(frame: Frame, growing: Growing) -> Value:
    """What a list of numbers is as an item of another one."""
    found = row_type(growing.structure, whole=True)
    if not all(isinstance(v, (Type, Nested)) for v in leaves(found)):
        held = next(v for v in leaves(found) if not isinstance(v, (Type, Nested)))
        message = f"a list of lists holds {a_kind(held)}, and their lengths are known only as the program runs"
        raise errors.NeedStaticError(message, frame.builder.loc, hint="begin with numbers: [[0.0] * n for _ in range(m)]")
    return found


def joined(frame: Frame, a: Value, b: Value) -> Value:
    """The description that fits two items."""
    if isinstance(a, slice) and isinstance(b, (slice, Bounds)) or isinstance(a, Bounds) and isinstance(b, slice):
        a, b = (v if a == b else described(frame, bounds(v)) for v in (a, b))
    if isinstance(a, Slot) or isinstance(b, Slot) or (a is None) is not (b is None):
        both = [v.value if isinstance(v, Slot) else v for v in (a, b) if v is not None]
        held = joined(frame, *both) if len(both) == 2 else both[0]
        if all(isinstance(v, Type) for v in leaves(held)):
            return Slot(held, Type("bool"))
    if isinstance(a, Type) and isinstance(b, Type) and a.rank == b.rank:
        dims = tuple(x if x == y else ANY for x, y in zip(a.dims, b.dims, strict=True))
        return Type(str(np.result_type(a.dtype, b.dtype)), dims, a.array or b.array)
    if isinstance(a, Coded) or isinstance(b, Coded) or type(a) is type(b) is str and a != b:
        both = [coded(a), coded(b)]
        options = tuple(dict.fromkeys(text for v in both if v is not None for text in v.texts.options))
        if None not in both and len(options) <= MOST:
            frame.builder.chosen = True
            return Coded(Type("int64"), Texts(options))
    if isinstance(a, Nested) and isinstance(b, Nested):
        return Nested(joined(frame, a.buffer, b.buffer))
    if isinstance(a, Nested) and isinstance(b, list) or isinstance(a, list) and isinstance(b, Nested):
        rows, items = (a, b) if isinstance(a, Nested) else (b, a)
        inner = items[0] if items else replace(rows.buffer, dims=rows.buffer.dims[1:])
        return joined(frame, rows, Nested(replace(inner, dims=(ANY, *inner.dims), array=True)))
    if isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):
        return rebuild(a, [joined(frame, x, y) for x, y in zip(a, b, strict=True)])
    if isinstance(a, list) and isinstance(b, list) and all(isinstance(v, Type) for v in (*a, *b)):
        inner = functools.reduce(lambda x, y: joined(frame, x, y), a + b)
        return Nested(replace(inner, dims=(ANY, *inner.dims), array=True))
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return {k: joined(frame, a[k], b[k]) for k in a}
    if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls and list(a.fields) == list(b.fields):
        return Record(a.cls, joined(frame, a.fields, b.fields))
    if not isinstance(a, (Type, Nested)) and (a is b or a == b):
        return a
    known = isinstance(a, Closure) or isinstance(b, Closure)
    raise (errors.NeedStaticError if known else errors.TypeInferenceError)(  # a loop of known trips is unrolled then
        f"a list that grows holds {_say(a)} and {_say(b)}", frame.builder.loc, reason="its items must be of one kind", hint="use two lists"
    )


def _say(v: Value) -> str:
    return f"a {v}" if isinstance(v, Type) else "lists" if isinstance(v, (Nested, list)) else a_kind(v)


def fits(frame: Frame, growing: Growing, value: Value) -> bool:
    """Whether an item can be stored as the list is now."""
    have = map_leaves(lambda b, _: row_type(b), growing.structure)
    return same_kind(joined(frame, have, described(frame, value)), have)


def row_type(buffer: Value, whole: bool = False) -> Value:
    """The type of an item of a buffer, or of the whole."""
    if isinstance(buffer, Nested):
        inner = row_type(buffer.buffer, whole)
        return inner if whole else Nested(inner)
    if isinstance(buffer, (tuple, list)) and whole and all(isinstance(b, Sym) for b in buffer):
        return Type(str(np.result_type(*(b.type.dtype for b in buffer))), (ANY, Dim(None, len(buffer))), array=True)
    if isinstance(buffer, Sym):
        rest = tuple(d if d.constant is not None else ANY for d in buffer.type.dims[1:])
        return Type(buffer.type.dtype, (ANY, *rest) if whole else rest, array=whole or bool(rest))
    return buffer


def same_kind(a: Value, b: Value) -> bool:
    """Whether two descriptions of items are one."""
    if isinstance(a, Type):
        return isinstance(b, Type) and a.dtype == b.dtype and a.dims == b.dims
    if isinstance(a, Nested):
        return isinstance(b, Nested) and same_kind(a.buffer, b.buffer)
    if isinstance(a, (tuple, list)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(map(same_kind, a, b))
    if isinstance(a, (dict, Record)):
        return isinstance(b, type(a)) and all(map(same_kind, leaves(a), leaves(b)))
    return not isinstance(b, Coded) and (not isinstance(a, Texts) or a == b)
