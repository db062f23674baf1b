"""`sorted`, `list.sort`, and `max` and `min` with a key: by numbers of the running program.

    sorted(items, key=f)     ->     keys = np.array([f(v) for v in items]); order = np.argsort(keys); [items[k] for k in order]
    max(items, key=f)        ->     items[np.argmax(keys)]

Which place an item goes to has no derivative; the item itself is taken from its place. Keys that are known at compile time are compared there.
"""

from __future__ import annotations

from collections.abc import Callable

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import growing, growth, objects, operations, places
from stgrad.frontend.builtins import NO_DEFAULT
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import load
from stgrad.frontend.iteration import Counted, count_items, known_items
from stgrad.frontend.library import means
from stgrad.frontend.loops import counted_loop
from stgrad.frontend.optionals import unwrapped
from stgrad.frontend.values import Growing, Method, Record, Sym, Value, is_number, is_static, leaves, static_of


@means()
def order_of(keys, reverse):  # type: ignore[no-untyped-def]
    """The places of the items in their order, those of equal keys as they are; of rows of keys, the first ones decide."""
    n = len(keys)
    if np.ndim(keys) == 1:
        return n - 1 - np.argsort(keys[::-1], kind="stable")[::-1] if reverse else np.argsort(keys, kind="stable")
    order = np.arange(n)[::-1] if reverse else np.arange(n)
    for j in range(np.shape(keys)[1]):
        order = order[np.argsort(keys[order, np.shape(keys)[1] - 1 - j], kind="stable")]
    return order[::-1] if reverse else order


@means()
def comparable(keys):  # type: ignore[no-untyped-def]
    """Keys of which each is less than another one, greater or equal: where some are NaN, Python's order depends on how it sorts."""
    if np.any(np.isnan(keys)):
        raise ValueError("stgrad: NaN is among what is sorted; where Python leaves the other items depends on how it compares them")
    return keys


def in_order(frame: Frame, values: Value, key: Value, reverse: Value) -> Value:
    """A list of the items in order."""
    reverse = static_of(reverse)
    if not isinstance(reverse, (bool, int)):
        raise errors.NeedStaticError("`reverse` must be known at compile time", frame.builder.loc)
    items = _items(frame, values)
    if items is not None:
        objects.check_order(frame, items if key is None else ())
        if key is None and any(isinstance(v, Record) for v in items):
            return frame.call(_by_comparing, (items, bool(reverse)), {})
        return _of_known(frame, items, key, bool(reverse))
    counted = count_items(frame, values, None)
    keys = _keys(frame, counted, key)
    order = frame.call(order_of, (sortable(frame, keys), bool(reverse)), {})
    return _listed(frame, Counted(counted.length, lambda k: counted.item(load(frame, order, k, None))), lambda v: v)


def _by_comparing(items, reverse):  # type: ignore[no-untyped-def]
    """Objects in the order that their class defines; those that are equal stay as they are."""
    items = list(items)
    for i in range(1, len(items)):
        j = i
        while j > 0 and (items[j - 1] < items[j] if reverse else items[j] < items[j - 1]):
            items[j - 1], items[j] = items[j], items[j - 1]
            j -= 1
    return items


def _items(frame: Frame, values: Value) -> list[Value] | None:
    """The items where their number is known, those of ranges among them."""
    items = known_items(frame, values, None)
    if items is not None or isinstance(values, (Sym, Growing)):
        return items
    counted = count_items(frame, values, None)
    return [counted.item(k) for k in range(counted.length)] if isinstance(counted.length, int) else None


def _of_known(frame: Frame, items: list[Value], key: Value, reverse: bool) -> list[Value]:
    found = [v if key is None else frame.call(key, (v,), {}) for v in items]
    keys = [static_of(k) for k in found]
    if not is_static(keys):
        first = [k[0] if isinstance(k, tuple) and k else None for k in keys]
        if not is_static(first) or None in first or len(set(first)) < len(first):
            return _moved(frame, items, found, reverse)
        keys = first
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)]


def _moved(frame: Frame, items: list[Value], keys: list[Value], reverse: bool) -> list[Value]:
    """As many items as there are, from the places that the running program finds."""
    order = frame.call(order_of, (sortable(frame, _as_keys(frame, keys)), reverse), {})
    counted = _reached(frame, items)
    return [frame.keep(counted.item(load(frame, order, k, None))) for k in range(len(items))]


def _reached(frame: Frame, items: list[Value]) -> Counted:
    """Items whose number is known, by places that the running program finds."""
    name = frame.hidden_name("items")
    frame.env[name] = list(items)
    (grown,) = growth.begin(frame, [growth.Growth(frame.env[name], [items[0]], False)])
    del frame.env[name]
    return Counted(len(items), lambda k: growing.item(frame, grown, k))


def _as_keys(frame: Frame, keys: Value) -> Value:
    array = growing.as_array(frame, keys)
    if not isinstance(array, Sym) or not 0 < array.type.rank < 3 or array.type.dtype.startswith("complex"):
        raise errors.NeedStaticError("values without an order of numbers are not sorted", frame.builder.loc, hint="give a key that is a number")
    return array


def sortable(frame: Frame, keys: Value) -> Value:
    """An array of keys, tested as the program runs where some of them may be NaN."""
    return frame.call(comparable, (keys,), {}) if keys.type.is_float else keys


def _keys(frame: Frame, counted: Counted, key: Value) -> Value:
    return _as_keys(frame, _listed(frame, counted, lambda v: v if key is None else unwrapped(frame, frame.call(key, (v,), {}))))


def _listed(frame: Frame, counted: Counted, of: Callable[[Value], Value]) -> Growing:
    """The list of what `of` gives for the items."""
    name = frame.hidden_name("list")
    frame.env[name] = []
    counted_loop(frame, counted.length, lambda k: frame.call(Method(frame.env[name], "append"), (of(counted.item(k)),), {}), "k")
    found: Growing = frame.env.pop(name)
    return found


def times(frame: Frame, items: list[Value], count: Value) -> Growing:
    """`[a, b] * n`."""
    if items == [None] or len(items) == 1 and type(items[0]) is str:
        return Growing(items[0], frame.call(max, (count, 0), {}), [])
    if not any(isinstance(v, Sym) or is_number(v) for v in leaves(items)):
        raise errors.NeedStaticError("the length of a list must be known at compile time", frame.builder.loc, hint="start with numbers: [0.0] * n")
    counted, length = _reached(frame, items), operations.binary(frame, gast.Mult, count, len(items))
    return _listed(frame, Counted(length, lambda k: counted.item(operations.binary(frame, gast.Mod, k, len(items)))), lambda v: v)


def sort(frame: Frame, owner: Value, *, key: Value = None, reverse: Value = False) -> None:
    """`xs.sort()`."""
    ordered = in_order(frame, owner, key, reverse)
    frame.mutate(owner)
    if isinstance(owner, Growing):
        places.removed(frame, owner)
        owner.structure, owner.count = ordered.structure, ordered.count
    else:
        owner[:] = ordered


def extreme(frame: Frame, values: Value, key: Value, name: str, default: Value) -> Value:
    """`max(values, key=key)`: the first of the items with the greatest key; of tuples without a key, as many as the running program has."""
    items = known_items(frame, values, None)
    if items is not None:
        keys: Value = [unwrapped(frame, frame.call(key, (v,), {})) for v in items]
        known = static_of(keys)
        if is_static(known) and known:
            return items[(min if name == "min" else max)(range(len(items)), key=known.__getitem__)]
        if not items:
            if default is NO_DEFAULT:
                cause = ValueError(f"{name}() arg is an empty sequence")
                raise errors.ShapeError(f"ValueError: {cause}", frame.builder.loc) from cause
            return default
        counted = _reached(frame, items)
        return counted.item(_first(frame, _as_keys(frame, keys), name))
    counted = count_items(frame, values, None)

    def item() -> Value:
        return counted.item(_first(frame, _keys(frame, counted, key), name))

    some = operations.binary(frame, gast.Gt, counted.length, 0)
    return branch(frame, some, item, lambda: default, "_t") if default is not NO_DEFAULT and isinstance(some, Sym) else item()


def _first(frame: Frame, keys: Value, name: str) -> Value:
    if keys.type.rank > 1:
        return load(frame, frame.call(order_of, (keys, name == "max"), {}), 0, None)
    return frame.call(np.argmin if name == "min" else np.argmax, (keys,), {})


__all__ = ["extreme", "in_order", "sort", "sortable"]
