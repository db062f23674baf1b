"""Lists whose length the running program decides: buffers and a count.

    xs = []                             xs = np.empty(n)
    for i in range(n):          ->      for i in range(n):
        xs.append(f(i))                     xs[i] = f(i)

That is the form where a loop appends once in every trip. Otherwise the count is a variable, and a buffer that is full is
replaced by one of twice its size. Items are numbers, arrays of equal shape, tuples and records of those (one buffer for each
part), or such lists themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import Grows, path_of, reachable, replace_container
from stgrad.frontend.indexing import load, store
from stgrad.frontend.items import ANY, described, fits, joined
from stgrad.frontend.loops import counted_loop
from stgrad.frontend.values import Growing, Nested, Record, Sym, Value, leaves, map_leaves, rebuild, static_of, type_of
from stgrad.ir import Dim, Type, Var


@dataclass
class Trip:
    """The one loop that fills a list: its depth among the open regions, and whether this trip has appended."""

    depth: int
    before: int
    item: Value
    seen: int = 0


@dataclass
class Growth:
    """What is known of a list before it is made to grow: examples of its items, and whether one loop appends once per trip."""

    origin: list[Value]
    items: list[Value]
    exact: bool


def _buffers(growing: Growing) -> list[Sym]:
    return [b.buffer if isinstance(b, Nested) else b for b in leaves(growing.structure) if isinstance(b, (Sym, Nested))]


# --------------------------------------------------------------------------- making one


def begin(frame: Frame, growths: list[Growth], trips: Any = None) -> list[Growing]:
    """Make lists grow from here on.

    Args:
        growths: the lists, which names still mean.
        trips: the number of trips of the loop that appends, where that is known; then exact ones get a buffer of just that size.
    """
    plans = []
    for growth in growths:
        if not isinstance(reachable(frame).get(id(growth.origin), growth.origin), list):
            raise errors.TypeInferenceError(
                "a list that was filled in a loop gets items of another kind", frame.builder.loc, hint="use a second list, or float items from the start"
            )
        shape = described(frame, growth.items[0])
        for v in (*growth.items[1:], *growth.origin):
            shape = joined(frame, shape, described(frame, v))
        plans.append((growth, shape, _extents(frame, growth.items[-1], shape)))
    made = []
    for growth, shape, extents in plans:
        exact = growth.exact and trips is not None and extents is not None
        made.append(_begin(frame, growth, shape, extents, trips() if exact else None))
    return made


def _begin(frame: Frame, growth: Growth, shape: Value, extents: Any, trips: Value) -> Growing:
    origin = growth.origin
    count = len(origin)
    capacity: Value = count
    if trips is not None:
        capacity = operations.binary(frame, gast.Add, trips, count) if count else trips
    sizes = iter(extents or ())

    def buffer(t: Value, path: str) -> Value:
        if isinstance(t, Nested):
            return Nested(buffer(t.buffer, path))
        if not isinstance(t, Type):
            return t
        inner = next(sizes) if extents is not None else tuple(0 if d == ANY else d.offset for d in t.dims)
        made = _empty(frame, capacity, inner, t)
        return frame.builder.named(made if extents is not None else _open(frame, made, t), f"{what}{path}")

    what = path_of(frame, origin)
    items = list(origin)
    growing = Growing(map_leaves(buffer, shape), count, origin)
    if extents is None:
        growing.count = 0
    replace_container(frame, origin, growing)
    if trips is not None:
        growing.trip = Trip(len(frame.builder.regions) + 1, count, growth.items[-1])
    for k, v in enumerate(items):
        if extents is None:
            _append(frame, growing, v)
        else:
            _set(frame, growing, k, v)
    return growing


def _empty(frame: Frame, capacity: Value, inner: tuple[Value, ...], t: Type) -> Sym:
    return frame.call(np.empty, ((capacity, *inner) if inner else capacity, np.dtype(t.dtype)), {})


def _open(frame: Frame, buffer: Sym, t: Type) -> Sym:
    """An empty buffer whose extents the first item will tell."""
    dims = (buffer.type.dims[0], *(frame.builder.fresh_dim() if d == ANY else d for d in t.dims))
    opened = frame.builder.variable("_t", replace(buffer.type, dims=dims))
    frame.builder.copy_to(opened, buffer)
    return opened


def _extents(frame: Frame, item: Value, shape: Value) -> list[tuple[Value, ...]] | None:
    """The extents of the items, as values that are known before the first one is; None where one is not."""
    found = []
    for v, t in zip(leaves(item), leaves(shape), strict=False):
        if isinstance(t, Nested):
            if not isinstance(v, Growing) or not isinstance(v.structure, Sym):
                return None
            t = t.buffer
            dims = (type_of(v.count).value or ANY, *v.structure.type.dims[1:])
        elif isinstance(t, Type):
            dims = type_of(v).dims
        else:
            continue
        sizes = tuple(_size(frame, d) if w != d else w.offset for d, w in zip(dims, t.dims, strict=False))
        if len(sizes) != t.rank or any(s is None for s in sizes):
            return None
        found.append(sizes)
    return found


def _size(frame: Frame, dim: Dim) -> Value:
    """A value equal to an extent, from the names there are."""
    if dim.constant is not None:
        return dim.constant
    scope: Frame | None = frame
    while scope is not None:
        for value in scope.env.values():
            for leaf in leaves(value):
                if isinstance(leaf, Sym) and leaf.type.value == dim:
                    return leaf
                if isinstance(leaf, Sym) and dim in leaf.type.dims:
                    return operations.extent(frame, leaf, leaf.type.dims.index(dim))
        scope = scope.parent
    return None


def note(grown: dict[int, Growth], found: Grows) -> None:
    """Add to what is known of the lists that grow."""
    old = grown.get(id(found.origin))
    items = [found.item] if old is None else [*old.items, found.item]
    grown[id(found.origin)] = Growth(found.origin, items, found.exact and (old is None or old.exact))


def enter_trip(frame: Frame, filled: list[Growing], position: Any) -> None:
    """At the start of a trip of the loop that fills lists: as many items are there as trips were made."""
    for growing in filled:
        growing.trip.seen = 0
        before, k = growing.trip.before, position()
        growing.count = k if not before else operations.binary(frame, gast.Add, k, before)


def leave_trip(filled: list[Growing]) -> None:
    """At its end: the item must have been appended."""
    for growing in filled:
        if not growing.trip.seen:
            raise Grows(growing.origin, growing.trip.depth - 1, growing.trip.item, False)


def finish(frame: Frame, growing: Growing, trips: Any) -> None:
    """After the loop."""
    growing.trip = None
    growing.count = operations.extent(frame, _buffers(growing)[0], 0)


# --------------------------------------------------------------------------- changing one


def append(frame: Frame, growing: Growing, value: Value) -> None:
    """`xs.append(value)`."""
    if not fits(frame, growing, value):
        again(frame, growing, value, growing.trip is not None)
    trip = growing.trip
    if trip is not None:
        if trip.seen or len(frame.builder.regions) != trip.depth:
            again(frame, growing, value, False)
        trip.seen = 1
        _set(frame, growing, growing.count, value)
        growing.count = operations.binary(frame, gast.Add, growing.count, 1)
        return
    frame.mutate(growing)
    _append(frame, growing, value)


def again(frame: Frame, growing: Growing, value: Value, exact: bool) -> None:
    """The loop that began the list is read again, with what is now known of it."""
    for depth, region in enumerate(frame.builder.regions):
        if id(growing.origin) in region.outside:
            raise Grows(growing.origin, depth, value, exact)
    raise errors.TypeInferenceError(
        "an item of another kind is appended to a list that was filled in a loop", frame.builder.loc, hint="use a second list, or float items from the start"
    )


def _append(frame: Frame, growing: Growing, value: Value) -> None:
    full = operations.binary(frame, gast.Eq, growing.count, operations.extent(frame, _buffers(growing)[0], 0))
    if isinstance(full, Sym):
        branch(frame, full, lambda: _enlarge(frame, growing, value), lambda: None, "_t")
    elif full:
        _enlarge(frame, growing, value)
    _set(frame, growing, growing.count, value)
    growing.count = operations.binary(frame, gast.Add, growing.count, 1)


def _enlarge(frame: Frame, growing: Growing, value: Value) -> None:
    frame.mutate(growing)
    count = growing.count
    size = operations.binary(frame, gast.Add, operations.binary(frame, gast.Mult, count, 2), 4)

    def bigger(buffer: Value, item: Value) -> Value:
        if isinstance(buffer, Nested):
            return Nested(bigger(buffer.buffer, as_array(frame, item)))
        if not isinstance(buffer, Sym):
            return buffer
        inner = operations.shape_of(frame, item) if buffer.type.rank > 1 else ()
        new = _empty(frame, size, tuple(inner), replace(buffer.type, dims=buffer.type.dims[1:]))
        _copy_items(frame, new, buffer, count)
        return new

    growing.structure = _paired(bigger, growing.structure, value)


def _copy_items(frame: Frame, new: Sym, old: Sym, count: Value) -> None:
    def copy() -> None:
        whole, before = slice(None, count, None), len(frame.builder.out)
        store(frame, new, whole, load(frame, old, whole, None), None)
        frame.builder.moves += frame.builder.out[before:]

    some = operations.binary(frame, gast.Gt, count, 0)
    if isinstance(some, Sym) and old.type.rank > 1:
        branch(frame, some, copy, lambda: None, "_t")
    elif isinstance(some, Sym) or some:
        copy()


def _paired(f: Any, structure: Value, value: Value) -> Value:
    """`f(buffer, item)` for each buffer and what it takes of an item."""
    if isinstance(structure, (tuple, list)):
        return rebuild(structure, [_paired(f, s, v) for s, v in zip(structure, value, strict=True)])
    if isinstance(structure, dict):
        return {k: _paired(f, s, value[k]) for k, s in structure.items()}
    if isinstance(structure, Record):
        return Record(structure.cls, _paired(f, structure.fields, value.fields))
    return f(structure, value)


def _set(frame: Frame, growing: Growing, index: Value, value: Value, *, replaces: bool = False) -> None:
    def put(buffer: Value, item: Value) -> Value:
        if isinstance(buffer, Nested):
            store(frame, buffer.buffer, index, as_array(frame, item), None)
        elif isinstance(buffer, Sym):
            store(frame, buffer, index, item, None)
            if replaces and buffer.type.rank > 1:
                frame.builder.replaced.append(frame.builder.out[-1])
            if isinstance(item, Sym) and item.type.rank and isinstance(item.operand, Var):
                frame.builder.puts.append((frame.builder.out[-1], item.name))
        return buffer

    _paired(put, growing.structure, value)


def pop(frame: Frame, growing: Growing, *index: Value) -> Value:
    """`xs.pop()`."""
    if index and static_of(index[0]) != -1:
        raise errors.UnsupportedSyntaxError("`pop` of an item in the middle of a list that grows", frame.builder.loc, hint="use `pop()`")
    if growing.trip is not None:
        again(frame, growing, item(frame, growing, 0), False)
    frame.mutate(growing)
    growing.count = operations.binary(frame, gast.Sub, growing.count, 1)
    found = item(frame, growing, growing.count)
    return map_leaves(lambda v, _: frame.call(np.copy, (v,), {}) if isinstance(v, Sym) and v.type.rank else v, found)


def extend(frame: Frame, add: Any, counted: Any) -> None:
    """`xs.extend(values)` for values of unknown number."""
    counted_loop(frame, counted.length, lambda k: add(counted.item(k)), "k")


# --------------------------------------------------------------------------- reading one


def item(frame: Frame, growing: Growing, index: Value) -> Value:
    """`xs[index]`; the index counts from the start."""

    def one(buffer: Value, _: str) -> Value:
        if isinstance(buffer, Nested):
            row = load(frame, buffer.buffer, index, None)
            return Growing(row, operations.extent(frame, row, 0))
        return load(frame, buffer, index, None) if isinstance(buffer, Sym) else buffer

    return map_leaves(one, growing.structure)


def get_item(frame: Frame, growing: Growing, index: Value, node: Any) -> Value:
    """`xs[index]` as Python means it."""
    known = static_of(index)
    if isinstance(known, slice):
        cut = map_leaves(lambda b, _: _same_items(frame, load(frame, b, index, node)) if isinstance(b, Sym) else b, view(frame, growing))
        first = next(v for v in leaves(cut) if isinstance(v, Sym))
        return Growing(cut, operations.extent(frame, first, 0))
    if isinstance(known, int):
        return item(frame, growing, index if known >= 0 else operations.binary(frame, gast.Add, growing.count, known))
    return item(frame, Growing(view(frame, growing), growing.count), index)


def set_item(frame: Frame, growing: Growing, index: Value, value: Value, node: Any) -> None:
    """`xs[index] = value`."""
    known = static_of(index)
    if isinstance(known, slice):
        frame.unsupported(node, "assigning to a slice of a list that grows is not supported", hint="use an array")
    if not fits(frame, growing, value):
        again(frame, growing, value, growing.trip is not None)
    if isinstance(known, int) and known < 0:
        index = operations.binary(frame, gast.Add, growing.count, known)
    target = growing if isinstance(known, int) else Growing(view(frame, growing), growing.count)
    _set(frame, target, index, value, replaces=True)


def view(frame: Frame, growing: Growing) -> Value:
    """The structure with the first `count` items of each buffer."""

    def cut(buffer: Value, _: str) -> Value:
        if isinstance(buffer, Nested):
            return Nested(cut(buffer.buffer, _))
        if not isinstance(buffer, Sym) or _full(growing, buffer):
            return buffer
        return load(frame, buffer, slice(None, growing.count, None), None)

    return map_leaves(cut, growing.structure)


def _full(growing: Growing, buffer: Sym) -> bool:
    value = type_of(growing.count).value
    return value is not None and value == buffer.type.dims[0]


def as_array(frame: Frame, value: Value) -> Value:
    """The array that NumPy makes of a list; other values as they are. It may share memory with the list."""
    if not isinstance(value, Growing):
        return frame.call(np.array, (value,), {}) if isinstance(value, (list, tuple)) else value
    whole = view(frame, value)
    if isinstance(whole, Nested):
        return whole.buffer
    if isinstance(whole, Sym):
        return whole
    if isinstance(whole, (tuple, list)):
        return frame.call(np.stack, ([as_array(frame, Growing(part, value.count)) for part in whole],), {"axis": 1})
    raise errors.TypeInferenceError(f"a list of {type(whole).__name__} is no array", frame.builder.loc, hint="append numbers or arrays")


def copy(frame: Frame, growing: Growing) -> Growing:
    """A list with the same items."""

    def one(b: Value, path: str) -> Value:
        if isinstance(b, Nested):
            return Nested(one(b.buffer, path))
        return _same_items(frame, b) if isinstance(b, Sym) else b

    return Growing(map_leaves(one, view(frame, growing)), growing.count)


def _same_items(frame: Frame, array: Sym) -> Sym:
    """A buffer for a list that holds the items of another list, or the rows of an array."""
    whole: Sym = frame.call(np.copy, (array,), {})
    if array.type.rank > 1:
        frame.builder.puts.append((frame.builder.out[-1], array.name))
    return whole


def from_array(frame: Frame, array: Sym, *, rows: bool) -> Growing:
    """`list(array)`: the numbers, or the rows, which are views; `array.tolist()` makes lists of its own for them."""
    whole = _same_items(frame, array) if rows else frame.call(np.copy, (array,), {})
    return Growing(whole, operations.extent(frame, whole, 0))


def concatenated(frame: Frame, a: Value, b: Value) -> Growing:
    """`a + b` of two lists of which one grows."""
    arrays = [as_array(frame, v) for v in (a, b) if isinstance(v, Growing) or len(v)]
    whole = frame.call(np.concatenate, (arrays,), {}) if len(arrays) > 1 else frame.call(np.copy, (arrays[0],), {})
    frame.builder.puts += [(frame.builder.out[-1], v.name) for v in arrays if isinstance(v, Sym) and v.type.rank > 1]
    return Growing(whole, operations.extent(frame, whole, 0))
