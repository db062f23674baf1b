"""What arrays tell of their memory: `x.flags`, `x.strides` and `as_strided`.

`as_strided` is read where it gives views whose axes run along axes of the array, each axis once, or twice as a window that slides.

    n = len(x) - w + 1
    y = as_strided(x, (n, w), x.strides + (x.strides[-1],))        ->        y = sliding_window_view(x, w)[:n]

A stride is no number here but a part of what axis it steps along, and how far: what it is in bytes is known to the running program alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend.arrays import ATTRIBUTES, METHODS
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import load
from stgrad.frontend.library import refuse
from stgrad.frontend.operations import binary, shape_of
from stgrad.frontend.values import Record, Sym, Value, static_of
from stgrad.lookups import root_of


class Flags:
    """`x.flags`: what does not depend on where the array lies in memory."""

    of_arrays = True  # none of it leaves the program

    def __init__(self, array: Any, may_be_written: bool) -> None:
        self.array = array
        self.may_be_written = may_be_written
        self.aligned = True

    @property
    def writeable(self) -> Any:
        return self.may_be_written

    @writeable.setter
    def writeable(self, value: Any) -> None:
        self.array.setflags(write=value)
        self.may_be_written = value

    def __getitem__(self, name: Any) -> Any:
        return self.writeable if name in ("W", "WRITEABLE") else self.aligned if name in ("A", "ALIGNED") else self.of_memory(name)

    def __getattr__(self, name: Any) -> Any:
        return self.of_memory(name)

    def of_memory(self, name: Any) -> Any:
        refuse(True, f"the flag `{name}` of an array is known to the running program alone", "use np.ascontiguousarray(...), which copies where it has to")


def _of_a_library(frame: Frame) -> bool:
    return root_of(frame.source.function) in ("numpy", "scipy")


class AskedByLibraries(Flags):
    """Flags as NumPy and SciPy ask for them: to choose how they call native code, which a program that is read does not. No value depends on it."""

    def of_memory(self, name: Any) -> Any:
        return name.lower() not in ("fortran", "f_contiguous", "f", "fnc") or np.ndim(self.array) < 2


def _flags(frame: Frame, x: Sym) -> Value:
    sealed = x.name in frame.builder.readonly
    uncertain = frame.builder.regions and not sealed and x.name in frame.builder.sealing
    if uncertain:
        raise errors.UnsupportedSyntaxError("whether this array can be written to is not known here", frame.builder.loc, hint="copy it: y = y.copy()")
    return Record(AskedByLibraries if _of_a_library(frame) else Flags, {"array": x, "may_be_written": not sealed, "aligned": True})


def _setflags(frame: Frame, x: Sym, write: Value = None, align: Value = None, uic: Value = None) -> None:
    """What is written to behind `setflags(write=False)` raises, as in NumPy."""
    known = static_of(write)
    if known is not None and frame.builder.regions and _of_a_library(frame):
        return  # it seals an array of its own, and does not write to it
    if isinstance(known, Sym) or known and x.name in frame.builder.readonly:
        raise errors.UnsupportedSyntaxError("`setflags` of what is not known to own its memory", frame.builder.loc, hint="copy the array")
    if known is not None and frame.builder.regions:
        raise errors.UnsupportedSyntaxError("`setflags` in a branch or a loop", frame.builder.loc, hint="call it before or behind that")
    if known is not None and not known:
        frame.builder.readonly = frame.builder.readonly | {x.name}


ATTRIBUTES["flags"] = _flags
METHODS["setflags"] = _setflags


def _conjugate(frame: Frame, x: Sym, *out: Value) -> Value:
    """Of real numbers the array itself, where `np.conj` makes another one."""
    return x if x.type.rank and not out and not x.type.dtype.startswith("complex") else frame.call(np.conj, (x, *out), {})


METHODS["__array__"] = lambda frame, x, *how, **options: frame.call(np.asarray, (x, *how), options)
METHODS["conj"] = METHODS["conjugate"] = _conjugate


class Stride:
    """So many steps along an axis of an array."""

    of_arrays = True  # none of it leaves the program

    def __init__(self, array: Any, axis: Any, times: Any) -> None:
        self.array = array
        self.axis = axis
        self.times = times

    def __mul__(self, times: Any) -> Any:
        return Stride(self.array, self.axis, self.times * times)

    __rmul__ = __mul__


def _strides(frame: Frame, x: Sym) -> Value:
    return tuple(Record(Stride, {"array": x.name, "axis": axis, "times": 1}) for axis in range(x.type.rank))


ATTRIBUTES["strides"] = _strides


@handles(np.lib.stride_tricks.as_strided)
def _as_strided(frame: Frame, x: Value, shape: Value = None, strides: Value = None, **_: Value) -> Value:
    if not isinstance(x, Sym) or not x.type.rank:
        _refuse(frame)
    shape = shape_of(frame, x) if shape is None else shape
    steps = _strides(frame, x) if strides is None else strides
    if not isinstance(shape, (tuple, list)) or not isinstance(steps, (tuple, list)) or len(shape) != len(steps):
        _refuse(frame)
    if not all(isinstance(s, Record) and s.cls is Stride and s.fields["array"] == x.name for s in steps):
        _refuse(frame)
    places = [[m for m, s in enumerate(steps) if s.fields["axis"] == axis] for axis in range(x.type.rank)]
    inner = [found[1] for found in places if len(found) == 2]
    if any(len(found) not in (1, 2) for found in places) or any(static_of(steps[m].fields["times"]) != 1 for m in inner):
        _refuse(frame)
    return _windows(frame, x, shape, [s.fields["times"] for s in steps], places)


def _windows(frame: Frame, x: Sym, shape: Sequence[Value], times: Sequence[Value], places: list[list[int]]) -> Value:
    """The view with axis `places[k][0]` along axis k, and `places[k][1]` along windows of it."""
    slid = [axis for axis, found in enumerate(places) if len(found) == 2]
    inner = [places[axis][1] for axis in slid]
    wide: Value = x
    if slid:
        wide = frame.call(np.lib.stride_tricks.sliding_window_view, (x, tuple(shape[m] for m in inner), tuple(slid)), {})
        frame.builder.seal(wide, "a view by `as_strided`, of which items share memory,")
    outer = [found[0] for found in places]
    entries = []
    for m in outer:
        one = static_of(times[m]) == 1
        entries.append(slice(None, shape[m] if one else binary(frame, gast.Mult, shape[m], times[m]), None if one else times[m]))
    wide = load(frame, wide, tuple(entries), None)
    order = [*outer, *inner]
    return wide if order == sorted(order) else frame.call(np.transpose, (wide, tuple(order.index(m) for m in range(len(order)))), {})


def _refuse(frame: Frame) -> NoReturn:
    raise errors.UnsupportedSyntaxError(
        "`as_strided` is understood where each axis steps along an axis of the array, once, or twice for windows",
        frame.builder.loc,
        reason="other strides read memory by what lies there",
        hint="use np.lib.stride_tricks.sliding_window_view, or index arrays",
    )


__all__ = ["Flags", "Stride"]
