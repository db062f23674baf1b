"""Index maps: views of arrays as positions in the array they look at.

A `View` has one `Entry` for each axis of its base; `Axis.depth` counts the axes of the view itself, or, once placed in a loop
nest, the loops. Only positions that are proved in range are resolved; all others stay NumPy views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from stgrad.ir import Const, Dim, Operand, Slice, Type, Var, entries_of
from stgrad.transforms.lower.nest import (
    ZERO,
    Axis,
    Entry,
    Fixed,
    Given,
    Index,
    plus,
    times,
)

ONE = Dim(None, 1)
Add = Callable[[Dim, Dim], "Dim | None"]


class Reader(Protocol):
    """Knows the integers of the statements around."""

    def slice_of(self, item: Slice, extent: Dim, axis: int) -> tuple[Entry, Dim] | None:
        """Position and extent of a slice of an axis."""

    def position(self, item: Var) -> Entry:
        """Where a scalar points."""

    def whole(self, view: View, axis: int) -> bool:
        """Whether an axis of a view ends where that of its base does: positions that may be negative count from there."""

    def sum_of(self, a: Dim, b: Dim) -> Dim | None: ...


@dataclass(frozen=True)
class View:
    """`base[index]`, of extents `dims`."""

    base: str
    index: Index
    dims: tuple[Dim, ...]


def whole(name: str, dims: tuple[Dim, ...]) -> View:
    return View(name, tuple(Axis(k) for k in range(len(dims))), dims)


def compose(index: Index, places: Sequence[Entry], add: Add = plus) -> Index | None:
    """The positions of `index`, whose axis k stands at `places[k]`; None where that is no known form.

    >>> compose((Axis(0, 1, Dim(None, 1)),), [Axis(2, 1, Dim(None, 1))])
    (Axis(depth=2, scale=1, offset=Dim(symbol=None, offset=2)),)
    """
    result: list[Entry] = []
    for entry in index:
        if isinstance(entry, Axis):
            placed = _compose_axis(entry, places[entry.depth], add)
            if placed is None:
                return None
            result.append(placed)
        else:
            result.append(entry)
    return tuple(result)


def _compose_axis(entry: Axis, place: Entry, add: Add) -> Entry | None:
    if entry.scale == 1 and entry.offset == ZERO:
        return place
    if isinstance(place, (Axis, Fixed)):
        inner = place.offset if isinstance(place, Axis) else place.position
        moved = times(entry.scale, inner)
        offset = add(moved, entry.offset) if moved is not None else None
        if offset is None:
            return None
        return Axis(place.depth, place.scale * entry.scale, offset) if isinstance(place, Axis) else Fixed(offset)
    return None


def items_of(index: Operand, rank: int) -> list[Operand] | None:
    """The items of an index, the ellipsis written out; None where it has too many or an unknown kind."""
    items = list(entries_of(index))
    used = sum(not (isinstance(i, Const) and (i.value is None or i.value is Ellipsis)) for i in items)
    dots = [k for k, i in enumerate(items) if isinstance(i, Const) and i.value is Ellipsis]
    if len(dots) > 1 or used > rank:
        return None
    full: list[Operand] = [Slice(Const(None), Const(None), Const(None))] * (rank - used)
    at = dots[0] if dots else len(items)
    return items[:at] + full + items[at + len(dots) :]


def subscript(view: View, index: Operand, types: Mapping[str, Type], reader: Reader) -> View | None:
    """`view[index]` for integers, slices, None and the ellipsis; None where a position has no form."""
    items = items_of(index, len(view.dims))
    if items is None:
        return None
    places: list[Entry] = []
    dims: list[Dim] = []
    axis = 0
    for item in items:
        if isinstance(item, Const) and item.value is None:
            dims.append(ONE)
            continue
        extent = view.dims[axis]
        axis += 1
        if isinstance(item, Slice):
            part = reader.slice_of(item, extent, len(dims))
            if part is None:
                return None
            places.append(part[0])
            dims.append(part[1])
        else:
            place = position_of(item, extent, types, reader)
            if place is None or isinstance(place, Given) and not reader.whole(view, axis - 1):
                return None
            places.append(place)
    composed = compose(view.index, places, reader.sum_of)
    return None if composed is None else View(view.base, composed, tuple(dims))


def position_of(item: Operand, extent: Dim, types: Mapping[str, Type], reader: Reader) -> Entry | None:
    """Where a number points on an axis of an extent; None where it has no form."""
    if isinstance(item, Const) and isinstance(item.value, int) and not isinstance(item.value, bool):
        if item.value >= 0:
            return Fixed(Dim(None, item.value))
        return Fixed(Dim(extent.symbol, extent.offset + item.value))
    if isinstance(item, Var):
        type_ = types[item.name]
        if not type_.array and type_.dtype.startswith(("int", "uint")):
            return reader.position(item)
    return None


def one_slice(item: Slice, extent: Dim, axis: int, value: Callable[[Operand], Dim | None]) -> tuple[Entry, Dim] | None:
    """Position and extent of a slice. A symbolic result may be negative: then the slice is empty, as in NumPy."""
    step = 1 if item.step == Const(None) else item.step.value if isinstance(item.step, Const) else None
    no_lower, no_upper = item.lower == Const(None), item.upper == Const(None)
    if step == -1 and no_lower and no_upper:
        return Axis(axis, -1, Dim(extent.symbol, extent.offset - 1)), extent
    lower = ZERO if no_lower else value(item.lower)
    upper = extent if no_upper else value(item.upper)
    if step is None or lower is None or upper is None or lower.symbol is not None:
        return None
    if extent.symbol is None and upper.symbol is None:
        bounds = slice(None if no_lower else lower.offset, None if no_upper else upper.offset, step)  # from the end, where the step is negative
        start, stop, stride = bounds.indices(max(extent.offset, 0))  # no run comes to an array of a negative extent
        return Axis(axis, stride, Dim(None, start)), Dim(None, len(range(start, stop, stride)))
    if step != 1 or lower.offset < 0:
        return None
    if upper.symbol is None and upper.offset < 0:
        upper = Dim(extent.symbol, extent.offset + upper.offset)
    elif upper.symbol is not None and extent.offset - upper.offset > lower.offset + 2:
        return None  # `x[0 : n - 4]` counts from the end where n is 3
    if upper.symbol != extent.symbol or upper.offset > extent.offset:
        return None
    return Axis(axis, 1, lower), Dim(upper.symbol, upper.offset - lower.offset)
