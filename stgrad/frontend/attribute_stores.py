"""Attributes that are set: of instances, of arrays, and names of a module."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import boxes, descriptors, instance_dicts, objects
from stgrad.frontend.arrays import get
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import store
from stgrad.frontend.text import RunTimeText
from stgrad.frontend.values import Method, Record, Sym, Value, is_constant
from stgrad.lookups import ABSENT, gives, look
from stgrad.syntax.refuse import OutsideNames


def attribute_store(frame: Frame, owner: Value, name: str, value: Value, node: Any) -> None:
    """`owner.name = value`."""
    if isinstance(owner, Record):
        if name == "__dict__":
            instance_dicts.replaced(frame, owner, value, node)
        else:
            _store(frame, owner, name, value, node)
        return
    if isinstance(owner, Sym) and name == "T":
        frame.unsupported(node, "assigning to `.T` is not supported")
    if isinstance(owner, OutsideNames) and owner.statement == "global":
        _module_variable(frame, name, value, node)
        return
    complex_ = isinstance(owner, Sym) and owner.type.dtype.startswith("complex")
    if isinstance(owner, Sym) and (name == "flat" or name in ("real", "imag") and owner.type.array and complex_ or name == "real" and owner.type.array):
        part, index = (Method(owner, name), slice(None)) if name == "flat" else (get(frame, owner, name, node) if complex_ else owner, Ellipsis)
        store(frame, part, index, value, node)
        return
    what, why = f"assigning to the attribute `{name}`", "the object lives outside the compiled program"
    hint = "return the new value, or keep the state in an array argument"
    if isinstance(owner, OutsideNames):
        what, why = f"`{owner.statement}` of a name that is assigned", f"`{name}` outlives the call"
    elif isinstance(owner, Sym) and name == "shape":
        why, hint = "all names of an array would have another shape", "make another view of it, and use that: y = x.reshape(...)"
    if isinstance(owner, Sym) and not boxes.is_box(frame, owner) and not gives(np.ndarray if owner.type.array else float, name):
        missing = f"'{'numpy.ndarray' if owner.type.array else 'float'}' object has no attribute '{name}'"
        raise errors.UndefinedNameError(missing, frame.loc(node)) from AttributeError(missing)
    refused = errors.UnsupportedSyntaxError(f"{what} is not supported", frame.loc(node), reason=why, hint=hint)
    refused.once = is_constant(value)
    raise refused


def _store(frame: Frame, record: Record, name: str, value: Value, node: Any) -> None:
    """`record.name = value`."""
    params = look("raw", record.cls, "__dataclass_params__")
    if params is not ABSENT and params.frozen:
        place = frame.loc(node) if node is not None else frame.builder.loc
        problem = errors.TypeInferenceError(f"`{record.cls.__name__}` is frozen", place, hint="use dataclasses.replace(...)")
        raise problem from dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    own = look("raw", record.cls, "__setattr__")
    if isinstance(own, types.FunctionType):
        frame.call(own, (record, name, value), {})
    elif record.cls is not types.SimpleNamespace and own is not object.__setattr__:
        frame.unsupported(node, f"`{record.cls.__name__}` sets attributes in its own way")
    else:
        _set(frame, record, name, value)


@handles(object.__setattr__)
def _set(frame: Frame, record: Value, name: Value, value: Value) -> None:
    """What every class does, unless it says something else: frozen dataclasses go this way in `__post_init__`."""
    if not isinstance(record, Record) or not isinstance(name, str) or isinstance(name, RunTimeText):
        raise errors.UnsupportedSyntaxError("`object.__setattr__` of what the function did not make is not supported", frame.builder.loc)
    if not descriptors.asked(frame, look("raw", record.cls, name), "__set__", record, value)[1]:
        objects.set_field(frame, record, name, value)


@handles(object.__setattr__.__get__)
def _setter(frame: Frame, record: Value, *_: Value) -> Value:
    """`object.__setattr__` bound to an instance, as classes of attrs keep it."""
    return types.MethodType(object.__setattr__, record)


@handles(setattr)
def _setattr(frame: Frame, record: Value, name: Value, value: Value) -> None:
    if not isinstance(record, Record) or not isinstance(name, str):
        raise errors.UnsupportedSyntaxError("`setattr` needs an object of the program and a known name", frame.builder.loc)
    _store(frame, record, name, value, None)


@handles(delattr)
def _delattr(frame: Frame, record: Value, name: Value) -> None:
    if not isinstance(record, Record) or not isinstance(name, str):
        raise errors.UnsupportedSyntaxError("`delattr` needs an object of the program and a known name", frame.builder.loc)
    objects.drop(frame, record, name, None)


def _module_variable(frame: Frame, name: str, value: Value, node: Any) -> None:
    """`global name`, `name = value`: it has to be put back before the program ends."""
    try:
        held = frame.captured.of_module(frame.source.function, name)
    except errors.StgradError as refused:
        refused.once = is_constant(value)
        raise refused.at(frame.loc(node)) from None
    frame.mutate(held, node)
    held["value"] = frame.keep(value)


__all__ = ["attribute_store"]
