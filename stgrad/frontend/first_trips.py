"""Loops of which the first trip is not like the others: it finds a number in a name that it leaves an array in.

    total = 0                           if not len(rows) > 0: raise ValueError(...)
    for r in rows:              ->      total = 0 + rows[0]
        total = total + r               for k in range(1, len(rows)): total = total + rows[k]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.certainties import emit_raise
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import State
from stgrad.frontend.loops import counted_loop
from stgrad.frontend.values import Sym, Value, is_number


def or_first_alone(frame: Frame, read: Callable[[], None], apart: Callable[[], None]) -> None:
    """Read a loop; where its first trip finds a number in a name that it leaves an array in, read `apart`: the first trip, and the loop of the others."""
    state = State(frame)
    try:
        read()
    except errors.TypeInferenceError as error:
        if not error.first:
            raise
        state.restore()
        apart()


def must_run(frame: Frame, trip: Value) -> None:
    """A loop that makes no trip leaves a number where the program is written for an array."""
    message = f"{errors.NO_TRIP}, and a name that it makes an array of stays a number"
    if isinstance(trip, Sym):
        branch(frame, trip, lambda: None, lambda: emit_raise(frame, "ValueError", message), "_t")
    elif not trip:
        raise errors.TypeInferenceError(message, frame.builder.loc, hint="start with an array")


def folded(frame: Frame, counted: Any, step: Callable[[Value, Value], Value], first: Value, start: int = 0) -> Value:
    """`step(step(first, items[start]), items[start + 1])`, and so on: of items of unknown count."""
    name = frame.hidden_name("total")
    frame.counts[name] = 2
    frame.bind(name, first)
    if is_number(first):
        frame.env[name] = frame.lookup(name)

    def trip(k: Value) -> None:
        frame.bind(name, step(frame.lookup(name), counted.item(k)))

    def trips(done: int) -> None:
        counted_loop(frame, counted.length, trip, "k", {name}, start=done)

    def apart() -> None:
        must_run(frame, operations.binary(frame, gast.Gt, counted.length, start))
        trip(start)
        trips(start + 1)

    or_first_alone(frame, lambda: trips(start), apart)
    return frame.lookup(name)
