"""Copies of containers and objects: `copy.copy` keeps the items, `copy.deepcopy` and the dicts of dataclasses copy them, too.

What one container holds twice, its deep copy holds twice (the memo of `copy.deepcopy`); `dataclasses.asdict` copies each place by itself, as Python does.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import boxes
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import contents, current, put
from stgrad.frontend.identities import Apart, one_object
from stgrad.frontend.values import Growing, Record, Sym, Value, leaves, rebuild
from stgrad.lookups import ABSENT, look

_Memo = list[tuple[Value, Value]]


@handles(copy.copy)
def _copy(frame: Frame, x: Value) -> Value:
    value = current(x)
    if isinstance(value, Sym):
        return _array(frame, value)
    if isinstance(value, Growing):
        return _growing(frame, value)
    if isinstance(value, Record):
        _no_own_way(frame, value.cls, "__copy__")
    return frame.copied(value) if isinstance(value, (list, dict, set, Record)) else value


@handles(copy.deepcopy)
def _deepcopy(frame: Frame, x: Value, memo: Value = None) -> Value:
    if memo is not None:
        raise errors.UnsupportedSyntaxError("`copy.deepcopy` with a memo is not supported", frame.builder.loc, hint="leave it out")
    return _deep(frame, x, [])


def _deep(frame: Frame, value: Value, memo: _Memo) -> Value:
    value = current(value)
    if not isinstance(value, (Sym, list, dict, set, Record, Growing, tuple)):
        return value
    doubtful: _Memo = []
    for old, new in memo:
        one = old is value or isinstance(old, Sym) and isinstance(value, Sym) and _one(frame, old, value)
        if one:
            return new
        if one is None:
            doubtful.append((old, new))
    if isinstance(value, tuple):
        return rebuild(value, [_deep(frame, v, memo) for v in value])
    if isinstance(value, (Sym, Growing)):
        copied = _array(frame, value) if isinstance(value, Sym) else _growing(frame, value)
        frame.builder.apart += [Apart(old.name, value.name, frame.builder.loc, (new.name, copied.name)) for old, new in doubtful]
        memo.append((value, copied))
        return copied
    if isinstance(value, Record):
        _no_own_way(frame, value.cls, "__deepcopy__")
    copied = frame.copied(value)
    memo.append((value, copied))
    put(copied, {k: _deep(frame, v, memo) for k, v in contents(value).items()})
    return copied


def own(frame: Frame, value: Value) -> Value:
    """A structure with arrays of its own; where the program writes to these, the arrays they were made of must share no memory."""
    made = _deep(frame, value, [])
    arrays = [(a, b) for a, b in zip(leaves(value), leaves(made), strict=True) if isinstance(a, Sym) and a.type.array and isinstance(b, Sym)]
    for k, (a, first) in enumerate(arrays):
        for b, second in arrays[k + 1 :]:
            if first.operand != second.operand:
                frame.builder.apart.append(Apart(a.name, b.name, frame.builder.loc, (first.name, second.name)))
    return made


def _one(frame: Frame, old: Sym, value: Sym) -> bool | None:
    """Whether two arrays are one object; None where nobody can tell."""
    if not (old.type.array and value.type.array) or (old.type.rank, old.type.dtype) != (value.type.rank, value.type.dtype):
        return False
    return old.operand == value.operand or one_object(frame, old, value)


def _array(frame: Frame, value: Sym) -> Value:
    if not value.type.array:
        return boxes.made(frame, value) if boxes.is_box(frame, value) else value
    return frame.call(np.copy, (value,), {})


def _growing(frame: Frame, value: Growing) -> Value:
    from stgrad.frontend import growing

    return growing.copy(frame, value)


def _no_own_way(frame: Frame, cls: type, method: str) -> None:
    if look("raw", cls, method) is not ABSENT:
        raise errors.UnsupportedSyntaxError(f"`{cls.__name__}` is copied in its own way", frame.builder.loc, hint=f"call its `{method}`")


# --------------------------------------------------------------------------- dataclasses


@handles(dataclasses.asdict)
def _asdict(frame: Frame, obj: Value, *, dict_factory: Value = dict) -> Value:
    return _fields(frame, obj, lambda pairs: frame.call(dict_factory, (pairs,), {}))


@handles(dataclasses.astuple)
def _astuple(frame: Frame, obj: Value, *, tuple_factory: Value = tuple) -> Value:
    return _fields(frame, obj, lambda pairs: frame.call(tuple_factory, ([v for _, v in pairs],), {}))


def _fields(frame: Frame, obj: Value, made: Callable[[list[Any]], Value]) -> Value:
    if not (isinstance(obj, Record) and dataclasses.is_dataclass(obj.cls)):
        raise errors.TypeInferenceError("this is no instance of a dataclass made here", frame.builder.loc)

    def inner(value: Value) -> Value:
        value = current(value)
        if isinstance(value, Record) and dataclasses.is_dataclass(value.cls):
            return made([(f.name, inner(value.fields[f.name])) for f in dataclasses.fields(value.cls)])
        if isinstance(value, tuple):
            return rebuild(value, [inner(v) for v in value])
        if isinstance(value, (list, dict, set)):
            new = frame.copied(value)
            put(new, {k: inner(v) for k, v in contents(value).items()})
            return new
        return _deep(frame, value, [])

    return inner(obj)
