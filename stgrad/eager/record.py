"""What is being recorded, by whom: the recorders of each thread, and the step every operation takes to tell them.

A recorder (a tape's recording, a forward accumulator) has `ids`, the tensors whose derivatives it follows, and
`add(op, y, inputs, args, kwargs)`. An operation that has a followed input is added once to each such recorder. Recorders
own what they keep; tensors know nothing of them, so dropping the recorder frees everything (no reference cycles).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np


class Recorder(Protocol):
    """Something that follows operations."""

    passive: bool  # True when it only takes notes, so that derivatives need not be recorded for it

    @property
    def ids(self) -> Container[int]: ...

    def add(self, op: Any, y: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any) -> None: ...

    def watch_variable(self, variable: Any) -> None: ...

    def note(self, reason: str, x: Any, y: Any) -> None: ...


class _State(threading.local):
    """One for each thread: the recorders in the order they were entered."""

    recorders: tuple[Any, ...] = ()
    numpy_promotion = False  # inside derivative rules tensors promote as arrays do
    graph: Any = None  # the `function` being traced, if any
    check_numerics = False
    new_structures = 0  # recordings in a row whose structure was not met before (see `repeats`)


state = _State()
new_id = itertools.count(1).__next__

try:  # an errstate that costs 0.1 us instead of 0.9: TensorFlow's arithmetic never warns
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    QUIET = _make_extobj(all="ignore")
    quiet, loud = _extobj_contextvar.set, _extobj_contextvar.reset
except ImportError:  # another NumPy: the public, slower way
    QUIET = {"all": "ignore"}

    def quiet(setting: dict[str, str]) -> Any:
        return np.seterr(**setting)

    def loud(token: Any) -> None:
        np.seterr(**token)


def record(op: Any, y: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any = None) -> None:
    """Tell the recorders of this thread that `y = op(*args, **kwargs)`, where `inputs` are the tensors among the arguments."""
    for recorder in state.recorders:
        ids = recorder.ids
        for x in inputs:
            if x._id in ids:
                recorder.add(op, y, inputs, args, kwargs)
                break


def note(reason: str, x: Any, y: Any = None) -> None:
    """Tell the recorders that the path from tensor `x` to `y` was cut here, for `GradientTape.explain`."""
    for recorder in state.recorders:
        if x._id in recorder.ids:
            recorder.note(reason, x, y)


def recording_active() -> bool:
    """True when something would record what a derivative computes."""
    recorders = state.recorders
    return bool(recorders) and any(not recorder.passive for recorder in recorders)


@contextmanager
def recorders(active: tuple[Any, ...]) -> Iterator[None]:
    """Run a block under exactly these recorders."""
    before = state.recorders
    state.recorders = active
    try:
        yield
    finally:
        state.recorders = before


@contextmanager
def numpy_promotion(on: bool = True) -> Iterator[None]:
    """Run a block (a derivative rule) in which tensors of different dtypes combine as NumPy's arrays do."""
    before = state.numpy_promotion
    state.numpy_promotion = on
    try:
        yield
    finally:
        state.numpy_promotion = before
