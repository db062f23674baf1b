"""How a list begins to grow: what is known of its items before the loop or branch that appends to it, and its first buffers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.frame import Frame
from stgrad.frontend.growing import append_item, buffers, empty, loaded, set_item_at
from stgrad.frontend.heap import Grows, path_of, reachable, replace_container
from stgrad.frontend.items import ANY, UNSET, Coded, Slot, beside, described, joined, row_type, same_kind
from stgrad.frontend.values import Growing, Nested, Queue, Record, Sym, Value, leaves, map_leaves, rebuild, type_of
from stgrad.ir import Dim, Type


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
    table: Value = None  # of a dict: what it becomes, and its fields then
    fields: dict[str, Value] | None = None


def begin(frame: Frame, growths: list[Growth], trips: Any = None) -> list[Growing]:
    """Make lists grow from here on.

    Args:
        growths: the lists, which names still mean.
        trips: the number of trips of the loop that appends, where that is known; then exact ones get a buffer of just that size.
    """
    plans = []
    for growth in growths:
        if isinstance(growth.origin, dict):
            _open_table(frame, growth)
            continue
        there = reachable(frame).get(id(growth.origin), growth.origin)
        if isinstance(there, Growing) and there.structure is None:
            fill_slots(frame, there, *growth.items)
            continue
        if not isinstance(there, list):
            widen(frame, there, *growth.items)
            continue
        shape = described(frame, growth.items[0])
        for v in (*growth.items[1:], *growth.origin):
            shape = joined(frame, shape, described(frame, v))
        examples = (_extents(frame, v, shape) for v in (growth.items[-1], *growth.origin[:1]))
        plans.append((growth, shape, next((e for e in examples if e is not None), None)))
    made = []
    for growth, shape, extents in plans:
        exact = growth.exact and trips is not None and extents is not None and any(isinstance(t, (Type, Nested)) for t in leaves(shape))
        made.append(_begin(frame, growth, shape, extents, trips() if exact else None))
    return made


def of_run_time(frame: Frame, owner: list[Value], *items: Value, mixed: bool = False) -> Growing:
    """A list of known items as one of run-time length from here on: the program decides which of them it keeps, or where another one comes.

    Args:
        frame: the activation.
        owner: the list.
        items: what it gets.
        mixed: whether integers among floats may become floats.
    """
    first, *others = [described(frame, v) for v in (*owner, *items)]
    if not mixed and not all(same_kind(first, other) and same_kind(other, first) for other in others):
        what = "which of the items of a list a place means must be known at compile time, where they are of several kinds"
        raise errors.NeedStaticError(what, frame.builder.loc, hint="keep items of one kind in a list: floats, integers, arrays of one shape")
    examples = [*owner[:1], *items]
    frame.grow(owner, examples[-1])
    return begin(frame, [Growth(owner, examples, False)])[0]


def widen(frame: Frame, growing: Growing, *items: Value) -> None:
    """Let a list that was filled in a loop hold items like these, too: other texts, floats beside integers."""
    have = shape = map_leaves(lambda b, _: row_type(b), growing.structure)
    for v in items:
        shape = joined(frame, shape, described(frame, v))
    held = buffers(growing)
    capacity = operations.extent(frame, held[0], 0) if held else growing.count

    def wider(structure: Value, have: Value, shape: Value) -> Value:
        if same_kind(have, shape):
            return structure
        if isinstance(shape, Coded) and isinstance(structure, Coded):
            return Coded(structure.code, shape.texts)
        if isinstance(shape, Coded) and isinstance(structure, str):
            return Coded(frame.call(np.full, (capacity, shape.texts.options.index(structure)), {}), shape.texts)
        if isinstance(shape, Type) and isinstance(structure, Sym) and shape.dims == have.dims:
            return frame.call(np.astype, (structure, np.dtype(shape.dtype)), {})
        if isinstance(shape, (tuple, list)) and not isinstance(shape, Slot):
            return rebuild(structure, [wider(*parts) for parts in zip(structure, have, shape, strict=True)])
        if isinstance(shape, Record):
            return Record(shape.cls, wider(structure.fields, have.fields, shape.fields))
        if isinstance(shape, dict):
            return {k: wider(structure[k], have[k], v) for k, v in shape.items()}
        raise errors.TypeInferenceError(
            "a list that was filled in a loop gets items of another kind", frame.builder.loc, hint="use a second list, or float items from the start"
        )

    frame.mutate(growing)
    growing.structure = wider(growing.structure, have, shape)


def _open_table(frame: Frame, growth: Growth) -> None:
    """Replace a dict by its table, which has the entries that the dict has here."""
    from stgrad.frontend import tables

    fresh = tables.made(growth.origin)
    if growth.table is None:
        growth.table, growth.fields = fresh, dict(fresh.fields)
    for name in ("names", "held"):  # the same lists in each reading: it is noted of them that they grow
        growth.fields[name][:] = fresh.fields[name]
    growth.table.fields.update(growth.fields)
    tables.replace(frame, growth.origin, growth.table)


def _begin(frame: Frame, growth: Growth, shape: Value, extents: Any, trips: Value) -> Growing:
    origin = growth.origin
    count = len(origin)
    capacity: Value = count if extents is not None else 0  # the first item makes room, as wide as it is
    if trips is not None:
        capacity = operations.binary(frame, gast.Add, trips, count) if count else trips
    sizes = iter(extents or ())

    def buffer(t: Value, path: str) -> Value:
        if isinstance(t, Nested):
            return Nested(buffer(t.buffer, path))
        if not isinstance(t, Type):
            return t
        inner = next(sizes) if extents is not None else tuple(0 if d == ANY else d.offset for d in t.dims)
        made = empty(frame, capacity, inner, t)
        return frame.builder.named(made if extents is not None else _open(frame, made, t), f"{what}{path}")

    what = path_of(frame, origin)
    items = list(origin)
    growing = Growing(map_leaves(buffer, shape), count, origin, cls=Queue if isinstance(origin, Queue) else list)
    if extents is None:
        growing.count = 0
    replace_container(frame, origin, growing)
    if trips is not None:
        growing.trip = Trip(len(frame.builder.regions) + 1, count, growth.items[-1])
    for k, v in enumerate(items):
        if extents is None:
            append_item(frame, growing, v)
        else:
            set_item_at(frame, growing, k, v)
    return growing


def at_run_time(frame: Frame, value: Value, shape: Value) -> Growing:
    """A list of numbers, or of tuples of them, as one whose length the program decides; `shape` describes its items."""
    if isinstance(value, Growing):
        return value
    grown = Growing(map_leaves(lambda t, _: empty(frame, len(value), (), t) if isinstance(t, Type) else t, shape), len(value))
    for k, v in enumerate(value):
        set_item_at(frame, grown, k, v)
    return grown


def of_two_lengths(frame: Frame, a: Value, b: Value) -> Value | None:
    """What describes the items of two lists of numbers of which one name means either; None for anything else."""
    if not all(isinstance(v, list) or isinstance(v, Growing) and issubclass(v.cls, list) and v.structure is not None for v in (a, b)):
        return None
    items = [described(frame, v) for side in (a, b) if isinstance(side, list) for v in side]
    items += [map_leaves(lambda b, _: row_type(b), side.structure) for side in (a, b) if isinstance(side, Growing)]
    if not items or not all(isinstance(t, Type) and not t.rank for v in items for t in leaves(v)):
        return None
    shape = items[0]
    for v in items[1:]:
        shape = joined(frame, shape, v)
    return shape


def settled(frame: Frame, before: Value, head: Value, after: Value) -> Value:
    """The list that a trip leaves in a name. Where it had another length at the start of the trip, the program decides it, from `before` the loop on."""
    known = isinstance(head, list) and isinstance(after, list) and len(head) == len(after)
    shape = None if known or isinstance(head, Growing) and isinstance(after, Growing) else of_two_lengths(frame, head, after)
    if shape is None:
        return after
    if isinstance(head, Growing):
        return at_run_time(frame, after, shape)
    item = next(v[0] if isinstance(v, list) else loaded(frame, v.structure, 0) for v in (after, head) if isinstance(v, Growing) or v)
    raise Grows(before, len(frame.builder.regions) - 1, item, False)


def fill_slots(frame: Frame, growing: Growing, *items: Value) -> None:
    """Give a list of nothing but None buffers for items like these."""
    shape: Value = None
    for v in items:
        shape = joined(frame, shape, described(frame, v))
    sizes = next((found for v in items if (found := _extents(frame, v, shape)) is not None), None)
    if sizes is None:
        raise errors.NeedStaticError(
            "a list of None gets arrays whose extents are not known where it is made", frame.builder.loc, hint="fill an array: np.zeros((n, m))"
        )
    frame.mutate(growing)
    size = iter(sizes)
    growing.structure = map_leaves(lambda t, _: empty(frame, growing.count, next(size), t) if isinstance(t, Type) else t, shape)
    growing.structure = growing.structure._replace(none=frame.call(np.full, (growing.count, True), {}))


def _open(frame: Frame, buffer: Sym, t: Type) -> Sym:
    """An empty buffer whose extents the first item will tell."""
    dims = (buffer.type.dims[0], *(frame.builder.fresh_dim() if d == ANY else d for d in t.dims))
    opened = frame.builder.variable("_t", replace(buffer.type, dims=dims))
    frame.builder.copy_to(opened, buffer)
    return opened


def _extents(frame: Frame, item: Value, shape: Value) -> list[tuple[Value, ...]] | None:
    """The extents of the items, as values that are known before the first one is; None where one is not."""
    found = []
    for t, v in beside(shape, item):
        if v is UNSET:
            if not isinstance(t, Type) or t.rank:
                return None
            found.append(())
            continue
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
    if isinstance(found.origin, dict):
        grown.setdefault(id(found.origin), Growth(found.origin, [], False))
        return
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
    before, growing.trip = growing.trip.before, None
    held = buffers(growing)
    growing.count = operations.extent(frame, held[0], 0) if held else operations.binary(frame, gast.Add, trips(), before)
