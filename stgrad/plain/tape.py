"""What is recorded while a program runs in plain Python: which numbers of which memory were made from which, and in what order.

A `Buffer` stands for one piece of memory, or for one number. Every array over it knows the places of its elements there, so arrays that share
memory share cotangents too: a view needs no rule, and what is written through one name is seen through all others. A `Step` reads places, and
writes places; going back, the cotangents of what it wrote are taken out of the memory, and those of what it read are added to it, which is
right also where both are the same places. What a step's pullback needs was copied when the step ran.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from stgrad.errors import InternalError, StgradError, UnsupportedSyntaxError
from stgrad.ir import Loc


@dataclass(eq=False)
class Buffer:
    """Memory of a running program; `active` once a number in it depends on what is differentiated."""

    tape: Tape
    size: int
    dtype: Any
    active: bool = False


Places = tuple[Buffer, Any]  # numbers of a buffer, in the shape of the array that they make


@dataclass(frozen=True, eq=False)
class Step:
    """`pull` takes a cotangent for each entry of `written` and gives one for each entry of `read`, None for zeros."""

    written: tuple[Places, ...]
    read: tuple[Places, ...]
    pull: Callable[[list[Any]], Sequence[Any]]


@dataclass
class Tape:
    """The steps of one run, in order; `refused` is the first thing that could not be followed, even if the program caught the error."""

    steps: list[Step] = field(default_factory=list)
    refused: StgradError | None = None
    texts: bool = False  # whether a text was made of a number that is followed
    changed: list[tuple[Any, Any]] = field(default_factory=list)  # objects and their attributes that were set, containers and None

    def refuse(self, why: str | StgradError) -> StgradError:
        """The error of something that cannot be followed, at its place in the user's program; the run as a whole is refused."""
        if isinstance(why, str):
            why = UnsupportedSyntaxError(why, reason="the program runs in plain Python here, and what it does must be followed")
        self.refused = self.refused or why.at(_here())
        return self.refused

    def add(self, written: Sequence[Places], read: Sequence[Places], pull: Callable[[list[Any]], Sequence[Any]]) -> None:
        """Record a step, and that what it writes is active."""
        if any(buffer.tape is not self for buffer, _ in (*written, *read)):
            raise self.refuse("a number of one recorded run is used in another")
        for buffer, _ in written:
            buffer.active = True
        self.steps.append(Step(tuple(written), tuple(read), pull))

    def pulled_back(self, seeds: Sequence[tuple[Places, Any]]) -> Callable[[Places], Any]:
        """Go back from the cotangents of results; gives what tells the cotangent of any places before the first step."""
        bars = _Bars()
        for places, bar in seeds:
            bars.add(places, bar)
        for step in reversed(self.steps):
            found = [bars.take(places) for places in step.written]
            if any(bar is not None for bar in found):
                zeros = [np.zeros(np.shape(at), buffer.dtype) if bar is None else bar for bar, (buffer, at) in zip(found, step.written, strict=True)]
                for places, bar in zip(step.read, _pulled(step, zeros), strict=True):
                    bars.add(places, bar)
        return bars.look


def _here() -> Loc | None:
    """Where the user's program is; None if it does not run now."""
    frame = sys._getframe(2)
    while (name := frame.f_globals.get("__name__") or "").startswith(("stgrad.", "numpy")) or frame.f_code.co_filename.startswith("<"):
        if name == "stgrad.plain.running" or frame.f_back is None:
            return None
        frame = frame.f_back
    line, last, start, end = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    text = linecache.getline(frame.f_code.co_filename, line or 0).rstrip("\n")
    if line is None or not text:
        return None
    raw = text.encode()
    columns = [len(raw[:at].decode(errors="replace")) for at in (start or 0, end if end and last == line else len(raw))]
    return Loc(frame.f_code.co_filename, line, columns[0], columns[1], text, frame.f_code.co_name)


def _pulled(step: Step, bars: list[Any]) -> Sequence[Any]:
    try:
        with np.errstate(all="ignore"):
            return step.pull(bars)
    except (TypeError, ValueError, IndexError) as error:
        raise InternalError(f"the pullback of an operation raised {type(error).__name__}: {error}") from error


class _Bars:
    """The cotangents of all memory, flat."""

    def __init__(self) -> None:
        self.of: dict[Buffer, Any] = {}

    def add(self, places: Places, bar: Any) -> None:
        buffer, at = places
        if bar is None or not buffer.active:
            return
        if buffer not in self.of:
            self.of[buffer] = np.zeros(buffer.size, buffer.dtype)
        bar = np.asarray(bar)
        if bar.dtype.kind == "c" and buffer.dtype.kind != "c":
            bar = bar.real
        np.add.at(self.of[buffer], at, bar)

    def take(self, places: Places) -> Any:
        """The cotangents of places that are overwritten in this step: before it, they are zero."""
        buffer, at = places
        if buffer not in self.of:
            return None
        bar = self.of[buffer][at]
        if np.size(at) > 1:
            bar = np.where(_last(at), bar, 0.0)
        self.of[buffer][at] = 0.0
        return bar

    def look(self, places: Places) -> Any:
        buffer, at = places
        return np.zeros(np.shape(at), buffer.dtype) if buffer not in self.of else self.of[buffer][at]


def _last(at: Any) -> Any:
    """Which of the places are not written again behind them, in the order of the elements.

    >>> _last(np.array([2, 0, 2])).tolist()
    [False, True, True]
    """
    flat = at.ravel()
    found = np.zeros(flat.size, bool)
    found[flat.size - 1 - np.unique(flat[::-1], return_index=True)[1]] = True
    return found.reshape(at.shape)
