"""Reading and writing `x[index]`: which extents result, and what is a scalar, a view or a gather."""

from __future__ import annotations

import importlib
import operator
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import boxes, sparse_objects
from stgrad.frontend.broadcasting import agreed, fitted, without_ones
from stgrad.frontend.builder import Builder
from stgrad.frontend.departures import Leaves
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import current
from stgrad.frontend.infer import broadcast
from stgrad.frontend.text import known_text
from stgrad.frontend.values import (
    Growing,
    Known,
    Method,
    Record,
    Sym,
    Value,
    a_kind,
    is_constant,
    is_number,
    is_static,
    operand_of,
    static_of,
    type_of,
)  # fmt: skip
from stgrad.ir import Const, Dim, Effect, If, Store, Type
from stgrad.lookups import called


def load(frame: Frame, owner: Value, index: Value, node: Any) -> Value:
    """`owner[index]`."""
    if any(owner is o for o in (np.r_, np.c_, np.mgrid, np.ogrid)):
        from stgrad.frontend.sequences import indexed

        return indexed(frame, owner, index)
    hook = getattr(type(owner), "_stgrad_item_", None)
    if hook is not None:
        return hook(owner, frame, index, node)
    if isinstance(owner, Method) and owner.name == "flat":
        return above("scattered").load_flat(frame, owner, index)
    owner = current(owner)
    if not is_static(static_of(index)):
        owner = sparse_objects.record_of(frame, owner)
    if isinstance(owner, Sym):
        return _element(frame, owner, index, node)
    if isinstance(owner, Growing):
        return above("growing").get_item(frame, owner, index, node)
    if type(owner).__name__ == "Range":
        return _range_item(frame, owner, static_of(index), node)
    if isinstance(owner, Record):
        return above("objects").special(frame, owner, "__getitem__", (index,), "cannot be indexed")
    if isinstance(owner, (tuple, list, dict, str, range)) or is_static(owner):
        return above("objects").item(frame, owner, index, lambda: _known_item(frame, owner, static_of(index), node))
    frame.no_bare_method((owner,))
    frame.unsupported(node, f"indexing {a_kind(owner)} is not supported")


def _element(frame: Frame, owner: Sym, index: Value, node: Any) -> Value:
    """What an index picks from an array, or from a NumPy scalar."""
    if not owner.type.array and isinstance(index, tuple) and not index:
        return owner
    if owner.type.rank or owner.type.array or not owner.type.weak or boxes.is_box(frame, owner):
        as_array = above("axisless").load(frame, owner, index)
        if as_array is not None:
            return as_array
    if not owner.type.array:
        refused = errors.TypeInferenceError("a scalar cannot be indexed", frame.loc(node), reason=f"its type is {owner.type}")
        raise _of_number(frame, owner, refused, "is not subscriptable") if owner.type.weak else refused
    index, picked = boxes.as_positions(frame, index)
    whole = isinstance(index, tuple) and not index and not owner.type.rank
    entries = () if whole else normalise(frame, owner, index, node)
    type_ = indexed_type(frame.builder, owner.type, entries)
    found = frame.builder.call("getitem", (owner, entries if len(entries) != 1 else entries[0]), type_)
    if picked and found.type.rank:
        return frame.call(np.copy, (found,), {})
    return boxes.loaded(frame, owner, found, index is Ellipsis or isinstance(index, tuple) and any(e is Ellipsis for e in index))


def _known_item(frame: Frame, owner: Any, index: Any, node: Any) -> Value:
    """An item, or a slice, of what is known when compiling."""
    if isinstance(owner, np.ndarray) and isinstance(index, str) and index in (owner.dtype.names or ()):
        return frame.captured.field(frame.builder, owner, index)
    if not is_static(index):
        if (found := above("rolling").picked(frame, owner, index)) is not None:
            return found
        if above("selection").selectable(owner, index):
            return above("selection").select(frame, owner, index, lambda key: owner[key])
        if (table := table_for(frame, owner, index)) is not None:
            return load(frame, table, index, node)
        empty = isinstance(owner, list) and not owner
        if empty and frame.builder.regions and frame.builder.regions[-1].conditional:  # not in a first trip, before the list gets items
            above("selection").emit_raise(frame, "IndexError", "list index out of range")
            raise Leaves(IndexError)
        raise errors.NeedStaticError(
            "the index of a tuple, list or dict must be known at compile time", frame.loc(node), hint="use an array, or loop over the items themselves"
        )
    known_text(frame, owner, index)
    if isinstance(owner, dict):
        above("default_dicts").missing(frame, owner, index)
    try:
        found = owner[index] if isinstance(owner, (tuple, list, dict)) else called(operator.getitem, owner, index)
        return _kept_slice(frame, found) if isinstance(index, slice) else found
    except (KeyError, IndexError, TypeError) as problem:
        raise errors.ShapeError(f"{type(problem).__name__}: {problem}", frame.loc(node)) from problem


def is_flag(index: Value) -> bool:
    """Whether an index is a mask without axes."""
    return isinstance(index, Sym) and not index.type.rank and index.type.dtype == "bool" or isinstance(index, (bool, np.bool_))


def _of_number(frame: Frame, owner: Sym, found: errors.StgradError, what: str) -> errors.StgradError:
    """`found`, which Python raises too where it is a number: arrays without axes are read as numbers, but noted."""
    if not boxes.is_box(frame, owner) and owner.operand not in frame.builder.either:
        kind = {"float64": "float", "int64": "int", "complex128": "complex"}.get(owner.type.dtype, owner.type.dtype)
        found.__cause__ = TypeError(f"'{kind if owner.type.weak else f'numpy.{owner.type.dtype}'}' object {what}")
    return found


def above(name: str) -> Any:
    """A module that is built on this one."""
    return importlib.import_module(f"stgrad.frontend.{name}")


def table_for(frame: Frame, owner: Value, key: Value) -> Record | None:
    """The table that a dict becomes for a key that the running program finds."""
    from stgrad.frontend import tables

    return tables.changed(frame, owner) if tables.keyed(owner, key) else None


def _range_item(frame: Frame, owner: Any, index: Value, node: Any) -> Value:
    """An item of a `range`."""
    if owner.known is not None and is_static(index):
        return owner.known[index]
    frame.unsupported(node, "an item of a range of unknown bounds", hint="compute it: start + index * step")


def _kept_slice(frame: Frame, found: Value) -> Value:
    return [frame.keep(v) for v in found] if isinstance(found, list) else frame.keep(found)


def normalise(frame: Frame, owner: Sym, index: Value, node: Any) -> tuple[Value, ...]:
    """The entries of an index, lists as arrays, Ellipsis spelled out where other entries are there."""
    entries = (index or (Ellipsis,)) if isinstance(index, tuple) else (index,)
    entries = _together(frame, tuple(_entry(frame, e, node) for e in entries))
    used = sum(axes_of(e) for e in entries)
    if used > owner.type.rank:
        raise errors.ShapeError(f"too many indices: {used} for an array of rank {owner.type.rank}", frame.loc(node)) from IndexError("too many indices")
    if any(e is Ellipsis for e in entries):
        at = next(i for i, e in enumerate(entries) if e is Ellipsis)
        entries = entries[:at] + (slice(None),) * (owner.type.rank - used) + entries[at + 1 :] or (Ellipsis,)
    if ASSUMPTION.get().run_time:
        return _clipped(frame, owner, entries)
    _check_single(frame, owner, entries)
    return entries


def _together(frame: Frame, entries: tuple[Value, ...]) -> tuple[Value, ...]:
    """The entries with index arrays of extents that agree: they broadcast."""
    at = [i for i, e in enumerate(entries) if isinstance(e, Sym) and e.type.rank and e.type.dtype != "bool"]
    arrays = dict(zip(at, agreed(frame, [entries[i] for i in at], "shape mismatch: indexing arrays"), strict=True))
    return tuple(arrays.get(i, e) for i, e in enumerate(entries))


def _clipped(frame: Frame, owner: Sym, entries: tuple[Value, ...]) -> tuple[Value, ...]:
    """The entries with constant bounds of slices moved into the axis, where an array may be shorter than they ask for."""
    axis, found = 0, []
    for entry in entries:
        dim = owner.type.dims[axis] if isinstance(entry, slice) else Dim(None, 0)
        known = isinstance(entry, slice) and all(v is None or isinstance(v, int) for v in (entry.start, entry.stop, entry.step))
        if dim.symbol is not None and known and entry.step in (None, 1):
            n = frame.builder.call("shape", (owner, axis), Type("int64", weak=True, value=dim))
            entry = slice(_inside(frame, entry.start, n), _inside(frame, entry.stop, n), None)
        found.append(entry)
        axis += axes_of(entry)
    return tuple(found)


def _inside(frame: Frame, bound: int | None, n: Value) -> Value:
    """The position that a constant bound of a slice stands for in an axis of n items."""
    if bound is None or bound == 0:
        return bound
    if bound > 0:
        return frame.builder.call("np.minimum", (bound, n), Type("int64", weak=True))
    return frame.builder.call("np.maximum", (frame.builder.call("np.add", (n, bound), Type("int64", weak=True)), 0), Type("int64", weak=True))


def _check_single(frame: Frame, owner: Sym, entries: tuple[Value, ...]) -> None:
    """A run-time check that slices such as `[:1]` and `[-1:]`, which count as one item long, are."""
    axis = 0
    for entry in entries:
        least = _single(entry) if isinstance(entry, slice) else 0
        dim = owner.type.dims[axis] if least else Dim(None, 0)
        if dim.symbol is not None:
            ASSUMPTION.get().note(inside=True)
            n = frame.builder.call("shape", (owner, axis), Type("int64", weak=True, value=dim))
            short = frame.builder.call("np.less", (n, least), Type("bool", weak=True))
            message = Effect("raise", (Const("ValueError"), Const("a slice of one item is past the end of its axis")), (), frame.builder.loc)
            frame.builder.emit(If(short.operand, (message,), (), frame.builder.loc))
        axis += axes_of(entry)


def _single(entry: slice) -> int:
    """For a slice of one item, the extent that it needs; 0 for other slices."""
    lower, upper = 0 if entry.start is None else entry.start, entry.stop
    if entry.step not in (None, 1) or not isinstance(lower, int) or not (isinstance(upper, int) or lower == -1 and upper is None):
        return 0
    if lower == -1 and upper is None:
        return 1
    assert isinstance(upper, int)
    one = upper - lower == 1 and (lower < 0) == (upper < 0)
    return 0 if not one else lower + 1 if lower >= 0 else -lower


def axes_of(entry: Value) -> int:
    """How many axes of the array an entry uses."""
    if entry is None or entry is Ellipsis:
        return 0
    if isinstance(entry, Sym) and entry.type.array and entry.type.dtype == "bool":
        return entry.type.rank
    return 1


def _entry(frame: Frame, entry: Value, node: Any) -> Value:
    if isinstance(entry, slice):
        return slice(*(None if v is None else _whole(frame, _keep_static(v), node) for v in (entry.start, entry.stop, entry.step)))
    if isinstance(entry, Growing):
        return above("growing").as_array(frame, entry)
    if type(entry).__name__ == "Range":
        entry = frame.call(np.arange, (entry.start, entry.stop, entry.step), {})
    if isinstance(entry, (list, tuple)) and not entry:  # of no type, which is that of places
        entry = frame.call(np.zeros, (0, np.dtype("int64")), {})
    elif isinstance(entry, (list, tuple, np.ndarray)):
        entry = frame.call(np.array, (entry,), {})
    if isinstance(entry, Known):
        entry = entry if entry.type.array else entry.const
    return entry if entry is None or entry is Ellipsis else _whole(frame, entry, node)


def _whole(frame: Frame, entry: Value, node: Any) -> Value:
    """An entry or a bound of a slice: an integer, or an array of integers or bools."""
    if isinstance(entry, int) and not isinstance(entry, bool):
        return int(entry)  # members of an IntEnum are integers
    if not isinstance(entry, Sym) and not is_number(entry):
        raise errors.TypeInferenceError("an index must be an integer", frame.loc(node), reason=f"it is {a_kind(entry)}")
    t = type_of(entry)
    if t.dtype == "bool" and not t.array:
        raise errors.TypeInferenceError(
            "an index is a bool", frame.loc(node), reason="it would select all or nothing along a new axis", hint="write int(...), or an array of bools"
        )
    if t.dtype.startswith(("float", "complex")):
        raise errors.TypeInferenceError("an index must be an integer", frame.loc(node), reason=f"it is a {t}", hint="write int(...)")
    return entry


def _keep_static(value: Value) -> Value:
    return static_of(value)


def indexed_type(builder: Builder, t: Type, entries: tuple[Value, ...]) -> Type:
    """The type of `x[entries]`."""
    if entries == (Ellipsis,):
        return t
    arrays = [e for e in entries if isinstance(e, Sym) and e.type.array]
    dims: list[Dim] = []
    gathered_at: int | None = None
    axis = 0
    separated, last_array = False, None
    for position, entry in enumerate(entries):
        if entry is None:
            dims.append(Dim(None, 1))
        elif isinstance(entry, slice):
            dims.append(slice_dim(builder, t.dims[axis], entry))
            axis += 1
        elif isinstance(entry, Sym) and entry.type.array:
            separated |= last_array is not None and last_array != position - 1
            last_array = position
            gathered_at = len(dims) if gathered_at is None else gathered_at
            axis += axes_of(entry)
        else:  # an integer: with arrays in the index it takes part in their broadcast
            if arrays:
                separated |= last_array is not None and last_array != position - 1
                last_array = position
                gathered_at = len(dims) if gathered_at is None else gathered_at
            axis += 1
    dims += t.dims[axis:]
    if not arrays:
        return Type(t.dtype, tuple(dims), array=bool(dims)) if dims else Type(t.dtype)
    gathered = _gathered(builder, arrays)
    at = 0 if separated or gathered_at is None else gathered_at
    return Type(t.dtype, (*dims[:at], *gathered, *dims[at:]), array=True)


def _gathered(builder: Builder, arrays: list[Sym]) -> tuple[Dim, ...]:
    shapes = [(builder.fresh_dim(),) if a.type.dtype == "bool" else a.type.dims for a in arrays]
    return broadcast(shapes)


def slice_dim(builder: Builder, n: Dim, entry: slice) -> Dim:
    """The extent of a slice of an axis of extent n. Only what holds for every n is claimed; else a symbol of its own."""
    lower, upper, step = entry.start, entry.stop, 1 if entry.step is None else entry.step
    if lower is None and upper is None and step in (1, -1):
        return n
    if n.constant is not None and is_static((lower, upper, step)):
        return Dim(None, len(range(*slice(lower, upper, step).indices(n.constant))))
    if n.symbol is not None and ASSUMPTION.get().run_time:  # an array may be shorter than a slice asks for
        return _memo(builder, n, (lower, upper, step))
    if n.symbol is not None and _single(entry):
        return Dim(None, 1)
    if n.symbol in builder.windows:  # it may well be empty, and so is each slice of it then
        return _memo(builder, n, (lower, upper, step))
    if step == 1 and (lower is None or _natural(lower)) and (upper is None or (isinstance(upper, int) and upper < 0)):
        rest = Dim(n.symbol, n.offset - (lower or 0) + (upper or 0))
        builder.cut.setdefault(rest, builder.loc)
        return rest if _long_enough(builder, rest) else _memo(builder, n, (lower, upper, step))
    if step == 1 and (lower is None or lower == 0) and isinstance(upper, Sym) and upper.type.value == n:
        return n
    return _memo(builder, n, (lower, upper, step))


def _long_enough(builder: Builder, rest: Dim) -> bool:
    """Whether an axis may be taken to be as long as a slice leaves out; the program tests that at its start where it is more than two items."""
    if rest.symbol is None or rest.offset >= -2:
        return True
    if builder.extents.least.get(rest.symbol, 0) < -rest.offset:
        if any(region.conditional for region in builder.regions):
            return False
        builder.extents.least[rest.symbol] = -rest.offset
        ASSUMPTION.get().note(inside=False)
    return True


def _natural(value: Value) -> bool:
    return isinstance(value, int) and value >= 0


def _memo(builder: Builder, n: Dim, bounds: tuple[Value, ...]) -> Dim:
    """One symbol for equal slices of equal extents."""
    key: list[Any] = []
    for b in bounds:
        if isinstance(b, Sym):
            if b.type.value is None:
                return _window(builder)
            key.append(b.type.value)
        else:
            key.append(b)
    if (n, *key) not in builder.slices:
        builder.slices[(n, *key)] = _window(builder)
    return builder.slices[(n, *key)]


def _window(builder: Builder) -> Dim:
    """The extent of a slice with run-time bounds."""
    dim = builder.fresh_dim()
    builder.windows.add(dim.symbol)
    return dim


def store(frame: Frame, owner: Value, index: Value, value: Value, node: Any) -> None:
    """`owner[index] = value`."""
    owner = current(owner)
    if isinstance(owner, Growing):
        above("growing").set_item(frame, owner, index, value, node)
        return
    if above("instance_dicts").is_one(owner):
        above("instance_dicts").store(frame, owner, index, value)
        return
    if isinstance(owner, (list, dict)):
        _store_item(frame, owner, static_of(index), value, node)
        return
    if isinstance(owner, Method) and owner.name == "flat":
        above("scattered").store_flat(frame, owner, index, value)
        return
    if isinstance(owner, Record):
        above("objects").special(frame, owner, "__setitem__", (index, value), "does not support item assignment")
        return
    boxes.changing(frame, owner)
    if isinstance(owner, Sym) and not owner.type.array:
        found = errors.TypeInferenceError("assigning to an item of a scalar", frame.loc(node), reason=f"its type is {owner.type}", hint="use an array")
        raise _of_number(frame, owner, found, "does not support item assignment")
    if isinstance(owner, (tuple, str, range)):
        what = f"'{type(owner).__name__}' object does not support item assignment"
        raise errors.TypeInferenceError(what, frame.loc(node), hint="make a list of it") from TypeError(what)
    if not isinstance(owner, Sym):
        frame.unsupported(node, f"assigning to an item of {a_kind(owner)} is not supported")
    value, index = above("growing").as_array(frame, value), boxes.as_positions(frame, index)[0]
    if above("axisless").flagged(index):
        above("axisless").store(frame, owner, index, value, lambda rest, item: store(frame, owner, rest, item, node))
        return
    entries = normalise(frame, owner, index, node)
    target = indexed_type(frame.builder, owner.type, entries)
    value = without_ones(frame, target, value)
    _fits(frame, target, type_of(value), node)
    index = entries if len(entries) != 1 else entries[0]
    value, builder = fitted(frame, owner, index, target, value), frame.builder
    builder.emit(Store(owner.operand, operand_of(index), operand_of(value), "set", builder.loc, builder.note))  # type: ignore[arg-type]


def _fits(frame: Frame, target: Type, value: Type, node: Any) -> None:
    if value.rank > target.rank and any(d.constant != 1 for d in value.dims[: value.rank - target.rank]):
        message = f"cannot store an array of rank {value.rank} into {target.rank} axes"
        raise errors.ShapeError(message, frame.loc(node)) from ValueError(message)
    if value.dtype.startswith("complex") and not target.dtype.startswith("complex"):
        raise errors.TypeInferenceError("a complex value is stored into a real array", frame.loc(node), hint="take .real")


def _store_item(frame: Frame, owner: Value, index: Value, value: Value, node: Any) -> None:
    if not is_static(index):
        table = table_for(frame, owner, index)
        if table is not None:
            store(frame, table, index, value, node)
            return
        if above("selection").selectable(owner, index):
            frame.mutate(owner, node)
            above("selection").select(frame, owner, index, lambda key: _store_item(frame, owner, key, value, node), _no_new_key(frame, node))
            return
        raise errors.NeedStaticError("the index of a list or dict must be known at compile time", frame.loc(node), hint="use an array")
    if isinstance(owner, list) and isinstance(index, slice) and (value := above("edits").items_for(frame, owner, index, value, node)) is None:
        return
    there = index in owner if isinstance(owner, dict) else not isinstance(index, slice)
    empty = owner[index] is None if there else isinstance(owner, dict)
    frame.mutate(owner, node, through=there, constant=empty and is_constant(value))
    try:
        owner[index] = [frame.keep(v) for v in value] if isinstance(index, slice) else frame.keep(value)
    except (IndexError, TypeError, ValueError) as problem:
        raise errors.ShapeError(f"{type(problem).__name__}: {problem}", frame.loc(node)) from problem
    if there:
        entry = index if isinstance(owner, dict) else range(len(owner))[index]
        above("growing").wrote(frame, owner, entry, owner[entry])


def _no_new_key(frame: Frame, node: Any) -> Any:
    """What a program does that stores under a key which its dict has not: Python makes an entry, and a compiled program has none."""
    def refused() -> None:
        what = (Const("RuntimeError"), Const("stgrad: a dict gets a new key that only the running program knows"))
        frame.builder.emit(Effect("raise", what, (), frame.loc(node)))
        raise Leaves(RuntimeError)

    return refused
