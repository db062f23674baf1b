"""Iterators that stand at a place among their items, `iter(items)`, and what `zip` takes of several of them."""

from __future__ import annotations

import gast

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import load
from stgrad.frontend.operations import binary
from stgrad.frontend.values import Record, Sym, Value, is_static


def is_cursor(value: Value) -> bool:
    """Whether a value is an iterator over known items that stands at a known place."""
    return isinstance(value, Record) and hasattr(value.cls, "consumes") and isinstance(value.fields["items"], (list, tuple)) and is_static(value.fields["at"])


def apart(frame: Frame, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """What `zip` is given: of iterators the items that each has left, or, of one that stands there k times alone, every k-th of them.

    How many items it takes of an iterator is not asked for: what reads one again is refused.
    """
    cursors = [v for v in values if isinstance(v, Record) and hasattr(v.cls, "consumes")]
    times = len(cursors) if len({id(v) for v in cursors}) == 1 and len(cursors) == len(values) else 1
    if len(cursors) < 2 or times == 1 and len({id(v) for v in cursors}) < len(cursors):
        return values
    if not all(isinstance(v.fields["items"], (Sym, tuple)) for v in cursors):
        return values  # a list may get other items as they are taken; of an array the part that is left is a view
    return tuple(_left(frame, v, k if times > 1 else 0, times) if any(v is c for c in cursors) else v for k, v in enumerate(values))


def _left(frame: Frame, cursor: Value, first: int, step: int) -> Value:
    """The items that an iterator has left from the k-th on, in steps."""
    if not first:
        refuse_spent(frame, cursor)
        frame.mutate(cursor)
        cursor.fields["begins"], cursor.fields["at"] = cursor.fields["at"], None
    start = binary(frame, gast.Add, cursor.fields["begins"], first)
    return load(frame, cursor.fields["items"], slice(start, None, step), None)


def refuse_spent(frame: Frame, value: Value) -> None:
    """Raise UnsupportedSyntaxError for an iterator of which `zip` has taken items."""
    if isinstance(value, Record) and hasattr(value.cls, "consumes") and value.fields["at"] is None:
        what = "how many items `zip` took of this iterator is known to the running program alone"
        raise errors.UnsupportedSyntaxError(what, frame.builder.loc, hint="make another one: iter(...)")


__all__ = ["apart", "is_cursor", "refuse_spent"]
