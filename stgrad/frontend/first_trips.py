"""Loops of which the first trip is not like the others: it finds a number in a name that it leaves an array in, or an array of other elements.

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
from stgrad.frontend.values import Maybe, Sym, Value, is_number


def or_first_alone(frame: Frame, read: Callable[[], None], apart: Callable[[], None], node: Any = None) -> None:
    """Read a loop; where its first trip finds a number in a name that it leaves an array in, read `apart`: the first trip, and the loop of the others.

    So, too, where what stands behind the loop (`node`) reads such a name.
    """
    state, before = State(frame), _widened(frame)
    try:
        read()
    except errors.TypeInferenceError as error:
        if not error.first:
            raise
        state.restore()
        apart()
        return
    found = _widened(frame) - before
    if found and node is not None and found & _read_behind(frame.source.tree, node):
        state.restore()
        apart()


def _widened(frame: Frame) -> set[str]:
    """Names that hold a number, or an array, of another kind where a loop makes no trip."""
    return {name for name, value in frame.env.items() if isinstance(value, Maybe) and getattr(value.error, "widens", False)}


def _read_behind(tree: Any, node: Any) -> set[str]:
    """The names that a function reads below the last line of a statement, before they are assigned there."""
    last = max(getattr(n, "lineno", 0) for n in gast.walk(node))
    first: dict[tuple[str, bool], int] = {}
    for n in gast.walk(tree):
        if isinstance(n, gast.Name) and getattr(n, "lineno", 0) > last:
            key = n.id, isinstance(n.ctx, gast.Load)
            first[key] = min(n.lineno, first.get(key, n.lineno))
    return {name for (name, read), line in first.items() if read and line <= first.get((name, False), line)}


def must_run(frame: Frame, trip: Value) -> None:
    """A loop that makes no trip leaves a number where the program is written for an array."""
    message = f"{errors.NO_TRIP}, and a name that it makes an array of stays what it was"
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
