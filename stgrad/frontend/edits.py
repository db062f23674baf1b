"""Changes in the middle of a list of run-time length: what stands behind the place moves along the buffers.

    xs.insert(i, v)     ->      xs[i + 1 : n + 1] = xs[i:n]; xs[i] = v; n = n + 1
    xs.pop(i)           ->      v = xs[i]; xs[i : n - 1] = xs[i + 1 : n]; n = n - 1

A slice that gets another number of items makes new buffers. Places are those of Python: negative ones count from the end, `insert` and slices
clip them, and an item that is not there is an IndexError.
"""

from __future__ import annotations

from typing import Any

import gast

from stgrad import errors
from stgrad.frontend import instance_dicts, objects, operations, places
from stgrad.frontend.frame import Frame
from stgrad.frontend.growing import again, buffers, copy, detached, get_item, item, loaded, make_room, set_item_at
from stgrad.frontend.growth import of_run_time
from stgrad.frontend.heap import contents, put
from stgrad.frontend.indexing import load, store, table_for
from stgrad.frontend.items import fits
from stgrad.frontend.iteration import known_items
from stgrad.frontend.list_sums import concatenated
from stgrad.frontend.values import Growing, Record, Value, is_static, static_of

# --------------------------------------------------------------------------- places, as Python


def place_of_item(index: Any, count: Any, message: str) -> Any:
    """Where an item stands, counted from the start."""
    at = index + count if index < 0 else index
    if at < 0 or at >= count:
        raise IndexError(message)
    return at


def place_between(index: Any, count: Any) -> Any:
    """The place that a bound of a slice stands for."""
    return max(index + count, 0) if index < 0 else min(index, count)


def place_of_value(values: Any, wanted: Any, message: str = "the value is not in the list") -> Any:
    """`values.index(wanted)`."""
    for k in range(len(values)):
        if values[k] == wanted:
            return k
    raise ValueError(message)


def number_of(values: Any, wanted: Any) -> Any:
    """`values.count(wanted)`."""
    found = 0
    for k in range(len(values)):
        if values[k] == wanted:
            found += 1
    return found


# --------------------------------------------------------------------------- items


def insert(frame: Frame, growing: Growing, index: Value, value: Value) -> None:
    """`xs.insert(index, value)`."""
    if not fits(frame, growing, value) or growing.trip is not None:
        again(frame, growing, value, False)
    at = frame.keep(frame.call(place_between, (index, growing.count), {}))
    places.removed(frame, growing)
    frame.mutate(growing)
    make_room(frame, growing, value)
    up = operations.binary(frame, gast.Add, at, 1)
    _move(frame, growing, at, growing.count, up)
    set_item_at(frame, growing, at, value)
    growing.count = operations.binary(frame, gast.Add, growing.count, 1)


def pop_at(frame: Frame, growing: Growing, index: Value) -> Value:
    """`xs.pop(index)`."""
    at = _item_at(frame, growing, index, "pop index out of range")
    found = detached(frame, loaded(frame, growing.structure, at))
    _close(frame, growing, at, operations.binary(frame, gast.Add, at, 1))
    places.removed(frame, growing, found)
    return found


def drop(frame: Frame, growing: Growing, index: Value) -> None:
    """`del xs[index]` of an item or of a slice."""
    if isinstance(index, slice):
        lower, upper = _bounds(frame, growing, index)
        _close(frame, growing, lower, upper)
    else:
        at = _item_at(frame, growing, index, "list assignment index out of range")
        _close(frame, growing, at, operations.binary(frame, gast.Add, at, 1))
    places.removed(frame, growing)


def remove(frame: Frame, growing: Growing, value: Value) -> None:
    """`xs.remove(value)`."""
    drop(frame, growing, frame.call(place_of_value, (growing, value, "list.remove(x): x not in list"), {}))


def _item_at(frame: Frame, growing: Growing, index: Value, message: str) -> Value:
    _ready(frame, growing)
    return frame.keep(frame.call(place_of_item, (index, growing.count, message), {}))


def _ready(frame: Frame, growing: Growing) -> None:
    """A list to which a loop appends once in each trip is none of which items are taken."""
    if growing.trip is not None:
        again(frame, growing, item(frame, growing, 0), False)
    frame.mutate(growing)


def _close(frame: Frame, growing: Growing, lower: Value, upper: Value) -> None:
    """Let the items from `upper` on follow those before `lower`."""
    _move(frame, growing, upper, growing.count, lower)
    gone = operations.binary(frame, gast.Sub, upper, lower)
    growing.count = frame.keep(operations.binary(frame, gast.Sub, growing.count, gone))


def _move(frame: Frame, growing: Growing, first: Value, stop: Value, to: Value) -> None:
    """Move the items of places `first` to `stop` to places from `to` on."""
    size = operations.binary(frame, gast.Sub, stop, first)
    end = operations.binary(frame, gast.Add, to, size)
    for buffer in buffers(growing):
        store(frame, buffer, slice(to, end, None), load(frame, buffer, slice(first, stop, None), None), None)
        frame.builder.moves.append(frame.builder.out[-1])
        if buffer.type.rank > 1:
            frame.builder.replaced.append(frame.builder.out[-1])


# --------------------------------------------------------------------------- slices


def _bounds(frame: Frame, growing: Growing, index: slice) -> tuple[Value, Value]:
    if static_of(index.step) not in (None, 1):
        frame.unsupported(None, "a slice with a step of a list that grows is changed", hint="write a loop over its places")
    _ready(frame, growing)
    lower, upper = (
        end if bound is None else frame.call(place_between, (bound, growing.count), {})
        for bound, end in ((index.start, 0), (index.stop, growing.count))
    )
    return frame.keep(lower), frame.keep(frame.call(max, (lower, upper), {}))


def store_slice(frame: Frame, growing: Growing, index: slice, values: Value) -> None:
    """`xs[lower:upper] = values`."""
    lower, upper = _bounds(frame, growing, index)
    new = frame.call(list, (values,), {})
    for part, first in ((slice(None, lower), True), (slice(upper, growing.count), False)):
        kept = get_item(frame, growing, part, None)
        new = concatenated(frame, *((kept, new) if first else (new, kept)))
    _replace(frame, growing, new)


def items_for(frame: Frame, owner: list[Value], index: slice, values: Value, node: Any) -> Value:
    """The items that `owner[index] = values` puts into a list of known items; None where only the program knows how many, which has put them there."""
    items = values if isinstance(values, (list, tuple)) else known_items(frame, values, node)
    if items is None and owner and index.step in (None, 1):
        store_slice(frame, of_run_time(frame, owner), index, values)
        return None
    if items is None and isinstance(values, Growing):
        frame.unsupported(node, "giving a list of known items those of one that grows is not supported", hint="make a new list of them: items = list(...)")
    return values if items is None else items


def reverse(frame: Frame, growing: Growing) -> None:
    """`xs.reverse()`."""
    _ready(frame, growing)
    _replace(frame, growing, get_item(frame, growing, slice(None, None, -1), None))


def _replace(frame: Frame, growing: Growing, new: Growing) -> None:
    """Give a list the items of another one."""
    places.removed(frame, growing)
    made = copy(frame, new)
    growing.structure, growing.count = made.structure, made.count


# --------------------------------------------------------------------------- of what is known


def delete(frame: Frame, owner: Value, index: Value, node: Any) -> None:
    """`del owner[index]` of a list or dict whose entries are known."""
    if isinstance(owner, Record):
        objects.special(frame, owner, "__delitem__", (index,), "does not support item deletion")
        return
    if isinstance(owner, Growing) and issubclass(owner.cls, list):
        drop(frame, owner, static_of(index))
        return
    known = static_of(index)
    if instance_dicts.is_one(owner) and isinstance(known, str):
        instance_dicts.changed(frame, owner, lambda held: delete(frame, held, known, node), node)
        return
    if isinstance(owner, list) and owner and not is_static(known):
        drop(frame, of_run_time(frame, owner), known)
        return
    table = None if is_static(known) else table_for(frame, owner, known)
    if table is not None:
        delete(frame, table, index, node)
        return
    if not isinstance(owner, (list, dict)) or not is_static(known):
        frame.unsupported(node, "`del` of an element is supported for lists and dicts of known entries alone", hint="make a new array, or a new list")
    held = contents(owner) if isinstance(owner, dict) else list(owner)
    try:
        del held[known]
    except (KeyError, IndexError, TypeError) as problem:
        raise errors.ShapeError(f"{type(problem).__name__}: {problem}", frame.loc(node)) from problem
    if isinstance(owner, list) and len(held) < len(owner):
        frame.grow(owner, owner[-1])
    else:
        frame.mutate(owner)
    put(owner, held if isinstance(owner, dict) else dict(enumerate(held)))
