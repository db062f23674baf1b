"""Element forms of indexing with arrays: gathers, scatters, and stores under a mask.

`y = x[p]` becomes `y[i] = x[p[i]]`. Positions are inside: `positions` tests them where the user's program reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stgrad.ir import NONE, Assign, Const, Dim, Operand, Pack, Slice, Store, Type, Var
from stgrad.transforms.lower.nest import Axis, Call, Entry, Gather, Given, Index, Kernel, Load, Position
from stgrad.transforms.lower.numeric import as_dtype, element
from stgrad.transforms.lower.scalarise import Scalariser
from stgrad.transforms.lower.views import compose, items_of, position_of


def gather(state: Scalariser, stmt: Assign, source: Var, index: Operand) -> bool:
    """`y = x[p]` with integer arrays among the index."""
    dims = _result_dims(state, source, index)
    if dims is None or not state.types[stmt.target.name].array:
        return False
    positions = _positions(state, source, index, dims)
    if positions is None:
        return False
    return state.define(stmt.target.name, Load(state.view(source.name).base, positions, state.types[source.name].dtype), dims, stmt)


def scatter(state: Scalariser, stmt: Store) -> bool:
    """`x[p] = v`, `x[p] += v`, `np.add.at(x, p, v)`, and stores of a scalar under a mask."""
    if _is_mask(state, stmt):
        return _masked(state, stmt)
    dims = _result_dims(state, stmt.target, stmt.index)
    if dims is None:
        return False
    positions = _positions(state, stmt.target, stmt.index, dims)
    space, places = state.layout(dims)
    value = state.element_of(stmt.value, dims, places)
    target = state.types[stmt.target.name]
    base = state.view(stmt.target.name).base
    if positions is None or value is None or not state.extents.known(space) or target.dtype == "bool" and stmt.mode != "set":
        return False
    value = as_dtype(value, target.dtype)
    if stmt.mode == "add":  # NumPy reads everything before it writes
        total = element("np.add", (Load(base, positions, target.dtype), value), target.dtype)
        if total is None:
            return False
        value = _kept(state, stmt, total, dims, places)
    elif isinstance(value, Load) and value.index and (value.buffer == base or state.shares(value.buffer, base)):
        value = _kept(state, stmt, value, dims, places)
    mode = "add" if stmt.mode == "add_at" else "set"
    state.units.append(Kernel(space, base, positions, value, mode, target.dtype, stmt.loc, stmt.note))
    return True


def _kept(state: Scalariser, stmt: Store, value: object, dims: tuple[Dim, ...], places: list[Entry]) -> Load:
    """A value computed for all elements before the store."""
    dtype = value.dtype  # type: ignore[attr-defined]
    name = state.temporary("_t", Type(dtype, dims, array=True))
    state.new_buffer(name, dims)
    state.units.append(Kernel(state.layout(dims)[0], name, tuple(places), value, "def", dtype, stmt.loc, stmt.note))  # type: ignore[arg-type]
    return Load(name, tuple(places), dtype)


# ------------------------------------------------------------------- positions


@dataclass(frozen=True)
class _Form:
    """The items of an index: integer arrays, and numbers among them, which NumPy reads as arrays of one; `rank` axes of the result are theirs.

    They stand where the first of them is, or before all others where slices part them.
    """

    items: list[Operand]
    arrays: tuple[int, ...]
    slices: tuple[int, ...]
    before: int  # slices whose axes come before those of the arrays
    rank: int = 0

    def axis(self, k: int) -> int:
        """The axis of the result that a slice gives."""
        place = self.slices.index(k)
        return place if place < self.before else place + self.rank


def _form(state: Scalariser, index: Operand, rank: int) -> _Form | None:
    """The form of an index with integer arrays; None where it has something else among them."""
    items = items_of(index, rank)
    if items is None or NONE in items:
        return None
    arrays = tuple(k for k, i in enumerate(items) if isinstance(i, Var) and state.types[i.name].array)
    slices = tuple(k for k, i in enumerate(items) if isinstance(i, Slice))
    if not arrays or any(np.dtype(state.types[items[k].name].dtype).kind not in "iu" for k in arrays):  # type: ignore[union-attr]
        return None
    advanced = [k for k in range(len(items)) if k not in slices]
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    gathered = state.broadcast([items[k] for k in arrays])
    return _Form(items, arrays, slices, sum(k < advanced[0] for k in slices) if together else 0, len(gathered))


def _result_dims(state: Scalariser, source: Var, index: Operand) -> tuple[Dim, ...] | None:
    """The extents of `x[index]`; None where the index has no simple form."""
    view = state.view(source.name)
    form = _form(state, index, len(view.dims))
    if form is None:
        return None
    parts = [state.slice_of(form.items[k], view.dims[k], 0) for k in form.slices]  # type: ignore[arg-type]
    sliced = [part[1] for part in parts if part is not None]
    if len(sliced) < len(parts):
        return None
    return (*sliced[: form.before], *state.broadcast([form.items[k] for k in form.arrays]), *sliced[form.before :])


def _positions(state: Scalariser, source: Var, index: Operand, dims: tuple[Dim, ...]) -> Index | None:
    """Where the element at the loops' position stands in the base of `source`."""
    view = state.view(source.name)
    form = _form(state, index, len(view.dims))
    if form is None:
        return None
    _, places = state.layout(dims)
    mine = slice(form.before, form.before + form.rank)
    at: list[Entry] = []
    for k, (item, extent) in enumerate(zip(form.items, view.dims, strict=True)):
        if isinstance(item, Slice):
            part = state.slice_of(item, extent, 0)
            moved = compose((part[0],), [places[form.axis(k)]]) if part is not None else None
            if moved is None:
                return None
            at += moved
            continue
        entry = _gathered(state, item, dims[mine], places[mine], extent) if k in form.arrays else position_of(item, extent, state.types, state)
        if entry is None or isinstance(entry, (Gather, Given)) and not state.whole(view, k):
            return None
        at.append(entry)
    return compose(view.index, at)


def _gathered(state: Scalariser, item: Operand, dims: tuple[Dim, ...], places: list[Entry], extent: Dim) -> Entry | None:
    assert isinstance(item, Var)
    found = state.element_of(item, dims, places)
    if not isinstance(found, Load):
        return None
    counted = _counted(state, found, extent)
    if counted is not None:
        return counted
    return Gather(found)


def _counted(state: Scalariser, load: Load, extent: Dim) -> Entry | None:
    """`np.arange(n)` on an axis of extent n is the loop itself."""
    for unit in state.units:
        if isinstance(unit, Kernel) and unit.target == load.buffer and unit.mode == "def" and isinstance(unit.expr, Position):
            same = bool(unit.space) and state.extents.same(unit.space[0], extent)
            return load.index[0] if same and unit.expr.axis == Axis(0) else None
    return None


# ----------------------------------------------------------------------- masks


def _is_mask(state: Scalariser, stmt: Store) -> bool:
    index = stmt.index.items[0] if isinstance(stmt.index, Pack) and len(stmt.index.items) == 1 else stmt.index
    if not isinstance(index, Var) or not state.types[index.name].array or state.types[index.name].dtype != "bool":
        return False
    scalar = isinstance(stmt.value, Const) or isinstance(stmt.value, Var) and not state.types[stmt.value.name].array
    return scalar and state.types[index.name].rank == state.types[stmt.target.name].rank and stmt.mode in ("set", "add")


def _masked(state: Scalariser, stmt: Store) -> bool:
    """`x[mask] = c` as `x[i] = c if mask[i] else x[i]`."""
    mask = stmt.index.items[0] if isinstance(stmt.index, Pack) else stmt.index
    view, dtype = state.view(stmt.target.name), state.types[stmt.target.name].dtype
    space, places = state.layout(view.dims)
    index, chosen, value = (
        compose(view.index, places),
        state.element_of(mask, view.dims, places),
        state.element_of(stmt.value, view.dims, places),
    )
    if index is None or chosen is None or value is None or not state.extents.known(space) or dtype == "bool" and stmt.mode == "add":
        return False
    old = Load(view.base, index, dtype)
    new = element("np.add", (old, value), dtype) if stmt.mode == "add" else value
    if new is None:
        return False
    expr = Call("select", (chosen, as_dtype(new, dtype), old), dtype)
    state.units.append(Kernel(space, view.base, index, expr, "set", dtype, stmt.loc, stmt.note))
    return True
