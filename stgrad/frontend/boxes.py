"""Arrays without axes that NumPy makes of numbers: `np.array(x)`, `np.where` of numbers, `np.zeros_like(x)`, `x[0, ...]`.

Such an array can be changed in place, and other names see it. Hardly any program does: it is read as a number, in variables that are noted here.
Where the program changes one after all, it is read again, with an array in memory for each. One that looks into the memory of a longer array stays
a number, and a change is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from stgrad import errors
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.values import Known, Sym, Value, is_number, type_of
from stgrad.ir import Var

VIEWS: tuple[Any, ...] = (
    np.reshape, np.ravel, np.squeeze, np.expand_dims, np.broadcast_to, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.transpose, np.moveaxis, np.swapaxes,
)  # fmt: skip


ITEMS = "[]"  # said of the buffer of a list whose items are such numbers
MAKERS: tuple[Any, ...] = (np.select,)  # written as rules, which give numbers


class ChangedInPlace(errors.Signal):
    """A number that stands for an array without axes is changed: the program is to be read again, with arrays."""


def read_twice(read: Callable[[], Any]) -> Any:
    """What `read()` gives; where numbers do not do, it runs again with arrays without axes."""
    assumption = ASSUMPTION.get()
    if assumption.boxes:
        return read()
    try:
        return read()
    except ChangedInPlace:
        pass
    with_arrays = replace(assumption, boxes=True)  # what it notes is noted of both
    token = ASSUMPTION.set(with_arrays)
    try:
        return read()
    finally:
        ASSUMPTION.reset(token)
        vars(assumption).update(vars(replace(with_arrays, boxes=False)))


def made(frame: Any, value: Value) -> Value:
    """The array without axes that a function of NumPy makes of a number; a rule's own arithmetic has none."""
    from stgrad.frontend.operations import operation

    if frame.unroll:
        return value
    t = replace(type_of(value), weak=False)  # `~(np.asarray(x) < 1.0)` is a bool, of Python's own it is an integer
    if ASSUMPTION.get().boxes:
        return operation(frame, np.full, ((), value, np.dtype(t.dtype)))
    copy = frame.builder.variable("_t", t)
    frame.builder.copy_to(copy, value)
    frame.builder.boxed[copy.name] = ""
    return Known(copy.operand, t, np.dtype(t.dtype).type(value)) if is_number(value) else copy


def note_view(frame: Any, call: Any, args: tuple[Value, ...], result: Value) -> None:
    """Note what looks into the memory of a number that stands for an array, and numbers that look into an array."""
    if call not in VIEWS or not args or not isinstance(result, Sym) or not isinstance(args[0], Sym) or not isinstance(args[0].operand, Var):
        return
    if not args[0].type.rank and is_box(frame, args[0]) or args[0].type.rank and not result.type.rank:
        frame.builder.boxed[result.name] = args[0].name


def view(frame: Any, owner: Sym, result: Sym) -> Sym:
    """A number that is a view of an array: `x[0, ...]`."""
    if isinstance(owner.operand, Var):
        frame.builder.boxed[result.name] = owner.name
    return result


def loaded(frame: Any, owner: Sym, result: Sym, dotted: bool) -> Sym:
    """Note what `owner[index]` gives; `dotted`: with `...` in the index."""
    boxed = frame.builder.boxed
    if isinstance(owner.operand, Var) and boxed.get(owner.name) == ITEMS:
        boxed[result.name] = ITEMS if result.type.rank else ""
    elif dotted and not result.type.array or result.type.rank and is_box(frame, owner):
        view(frame, owner, result)
    return result


def as_positions(frame: Any, index: Value) -> tuple[Value, bool]:
    """An index with numbers in place of integers in arrays without axes, and whether there are such: what they pick is a copy, as of any array."""
    entries = index if isinstance(index, tuple) else (index,)
    found = [isinstance(e, Sym) and not e.type.rank and e.type.dtype.startswith(("int", "uint")) and (e.type.array or is_box(frame, e)) for e in entries]
    if not any(found):
        return index, False
    numbers = tuple(frame.call(operator.getitem, (e, ()), {}) if held and e.type.array else e for e, held in zip(entries, found, strict=True))
    return numbers if isinstance(index, tuple) else numbers[0], True


def put_in(frame: Any, buffer: Sym, item: Value) -> None:
    """Before an item is put into the buffer of a list of run-time length."""
    if is_box(frame, item):
        frame.builder.boxed[buffer.name] = ITEMS
    elif isinstance(item, Sym) and item.type.array and not item.type.rank:
        refuse(frame)


def is_box(frame: Any, value: Value) -> bool:
    """Whether a value is a number that stands for an array, or looks into one."""
    return isinstance(value, Sym) and isinstance(value.operand, Var) and frame.builder.boxed.get(value.name, ITEMS) != ITEMS


def changing(frame: Any, value: Value) -> None:
    """Before a change in place of a value that may be a number."""
    if not is_box(frame, value):
        return
    if not ASSUMPTION.get().boxes:
        raise ChangedInPlace
    refuse(frame)


def refuse(frame: Any) -> NoReturn:
    raise errors.AliasingError(
        "an array without axes is changed in place",
        frame.builder.loc,
        reason="it is read as a number, and the array that it looks into, or the list that holds it, would not see the change",
        hint="index the array itself: x[i] += ..., or use numbers: float(...)",
    )
