"""Where a value stands among others, and how often: `index`, `count` and `remove` of lists and tuples, and what ranges hold.

Python's own methods compare the objects that stand for values, so they are asked only where all of those are known; the others are compared one by
one as the program runs.
"""

from __future__ import annotations

from typing import Any

from stgrad import errors
from stgrad.frontend import edits
from stgrad.frontend.comparisons import equal
from stgrad.frontend.frame import Frame
from stgrad.frontend.growth import of_run_time
from stgrad.frontend.iteration import Range
from stgrad.frontend.values import Growing, Value, is_static, static_of


def search(frame: Frame, owner: Value, name: str, *args: Value) -> Value:
    """`index`, `count` or `remove` of a list, a tuple or a range."""
    if isinstance(owner, Range):
        return frame.call(_place_in_range if name == "index" else _number_in_range, (*args, owner.start, owner.stop, owner.step), {})
    if isinstance(owner, Growing):
        if name == "remove":
            return edits.remove(frame, owner, *args)
        return frame.call(_SEARCHES[name], (owner, *args), {})
    known, wanted = [static_of(v) for v in owner], [static_of(a) for a in args]
    if not is_static(known) or not is_static(wanted):
        known, wanted = [equal(frame, None, item, args[0]) for item in owner], [True, *wanted[1:]]
    if not is_static(known) and name in _SEARCHES and len(args) == 1:
        return frame.call(_SEARCHES[name], (owner, *args), {})
    if name == "remove" and isinstance(owner, list) and owner and not is_static(known):
        return edits.remove(frame, of_run_time(frame, owner), *args)
    if not is_static(known) or not is_static(wanted):
        raise errors.NeedStaticError(f"`{name}` of a list needs items that are known at compile time", frame.builder.loc)
    at = known.index(wanted[0]) if name == "remove" and wanted[0] in known else 0
    try:
        found = getattr(known if isinstance(owner, list) else tuple(known), name)(*wanted)
    except ValueError as problem:
        raise errors.ShapeError("ValueError: the value is not in the list", frame.builder.loc) from problem
    if name == "remove":
        frame.mutate(owner)
        del owner[at]
    return found


def in_range(frame: Frame, value: Value, of: range | Range) -> Value:
    """`value in range(...)`."""
    return frame.call(_is_in_range, (value, of.start, of.stop, of.step), {})


def _is_in_range(value: Any, start: Any, stop: Any, step: Any) -> Any:
    between = (start <= value and value < stop) if step > 0 else (stop < value and value <= start)
    return between and (value - start) % step == 0


def _number_in_range(value: Any, start: Any, stop: Any, step: Any) -> Any:
    return int(_is_in_range(value, start, stop, step))


def _place_in_range(value: Any, start: Any, stop: Any, step: Any) -> Any:
    if not _is_in_range(value, start, stop, step):
        raise ValueError("the value is not in the range")
    return int((value - start) // step)


_SEARCHES = {"index": edits.place_of_value, "count": edits.number_of}
