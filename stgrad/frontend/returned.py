"""Lists of run-time length where they leave a program: as results they are `Listed`, the arrays of their items; read in place, they grow again."""

from __future__ import annotations

from types import NoneType

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.frame import Frame
from stgrad.frontend.growing import view
from stgrad.frontend.heap import containers
from stgrad.frontend.items import Slot
from stgrad.frontend.local_classes import reads_around
from stgrad.frontend.partly import whole
from stgrad.frontend.values import Growing, Listed, ListOrTuple, Nested, Record, Sym, Value, leaves, map_leaves, rebuild


def settled(frame: Frame, value: Value) -> Value:
    """A result with the arrays of its lists of run-time length.

    Raises TypeInferenceError where the items of one are no numbers, arrays, texts or structures of them.
    """

    def leaf(v: Value, _: str) -> Value:
        if isinstance(v, Growing) and v.cls is tuple:
            raise errors.TypeInferenceError("a result that is a tuple whose length the program decides", frame.builder.loc, hint="return a list or an array")
        return Listed(_arrays(frame, v)) if isinstance(v, Growing) else v

    whole(value)
    held = list(containers(value))
    own = next((c.cls for c in held if isinstance(c, Record) and reads_around(c.cls)), None)
    if own is not None:
        what = f"a result that is a `{own.__name__}`, a class of the function whose methods read names of it"
        raise errors.UnsupportedSyntaxError(what, frame.builder.loc, hint="return what is in it")
    if any(isinstance(c, ListOrTuple) for c in held):
        what = "a result that is a list on one path and a tuple on another"
        raise errors.TypeInferenceError(what, frame.builder.loc, hint="return list(...) or tuple(...) of it")
    return map_leaves(leaf, value)


def _arrays(frame: Frame, growing: Growing) -> Value:
    if isinstance(growing.structure, Slot):
        raise errors.TypeInferenceError("the function returns a list with items that may be None", None, hint="return np.array(...) of it")
    structure = map_leaves(lambda b, _: Listed(b.buffer) if isinstance(b, Nested) else b, view(frame, growing))
    parts = list(leaves(structure))
    if any(not isinstance(v, (Sym, str, NoneType)) for v in parts) or not any(isinstance(v, Sym) for v in parts):
        raise errors.TypeInferenceError(
            "the function returns a list whose length it decides as it runs, of items that are no numbers or arrays", None, hint="return np.array(...) of it"
        )
    return structure


def grown(frame: Frame, value: Value) -> Value:
    """A result of a program read in place: its lists are lists of the program around it."""
    if isinstance(value, Listed):
        first = next(leaf for leaf in leaves(value) if isinstance(leaf, Sym))
        return Growing(_buffers(value.structure), operations.extent(frame, first, 0))
    if isinstance(value, dict):
        return {k: grown(frame, v) for k, v in value.items()}
    if isinstance(value, Record):
        return Record(value.cls, grown(frame, value.fields))
    return rebuild(value, [grown(frame, v) for v in value]) if isinstance(value, (tuple, list)) else value


def _buffers(structure: Value) -> Value:
    if isinstance(structure, Listed):
        return Nested(structure.structure)
    if isinstance(structure, dict):
        return {k: _buffers(v) for k, v in structure.items()}
    if isinstance(structure, Record):
        return Record(structure.cls, _buffers(structure.fields))
    return rebuild(structure, [_buffers(v) for v in structure]) if isinstance(structure, (tuple, list)) else structure
