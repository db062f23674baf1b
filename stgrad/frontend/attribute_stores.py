"""Attributes that are set: of instances, of arrays, and names of a module."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import boxes, instance_dicts, objects
from stgrad.frontend.arrays import get
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import store
from stgrad.frontend.values import Method, Record, Sym, Value, is_constant
from stgrad.lookups import gives
from stgrad.syntax.refuse import OutsideNames


def attribute_store(frame: Frame, owner: Value, name: str, value: Value, node: Any) -> None:
    """`owner.name = value`."""
    if isinstance(owner, Record):
        if name == "__dict__":
            instance_dicts.replaced(frame, owner, value, node)
        else:
            objects.store(frame, owner, name, value, node)
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
