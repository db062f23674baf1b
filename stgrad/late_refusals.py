"""What a program is refused for as it runs: an exception whose text begins as one of those in `stgrad.errors`, and the refusal that it stands for."""

from __future__ import annotations

import re
from typing import cast

from stgrad import errors
from stgrad.ir import Loc

_PLACE = re.compile(r"\n  at (?P<file>.+):(?P<line>\d+)(?:\n    (?P<text>.*)\n    (?P<before> *)(?P<carets>\^+))?")
_MORE = re.compile(r"\n  (why|instead): +((?:.|\n {11})*)")


def refusal_of(message: str) -> errors.StgradError | None:
    """What a program would have been refused for, had it been known before it ran; None for what Python raises.

    >>> print(refusal_of("np.squeeze drops other axes as the program runs").hint)
    name the axes to drop: np.squeeze(x, axis=0)
    """
    from stgrad.runtime.call import COMPLEX_RESULT

    if message.startswith(errors.NO_COMMON_SHAPE):  # by our test, not NumPy's
        return errors.ShapeError(f"extents differ as the program runs: {message}")
    if message.startswith(errors.SQUEEZED):
        return errors.ShapeError(message, hint="name the axes to drop: np.squeeze(x, axis=0)")
    if message.startswith(errors.RAGGED):
        return errors.TypeInferenceError(message, hint="keep arrays of one shape in a list, or put their numbers into one array, one behind the other")
    if message.startswith(errors.NOT_COMPILED):
        return _read(message.removeprefix(errors.NOT_COMPILED))
    return errors.TypeInferenceError(message) if message.startswith((errors.NO_TRIP, COMPLEX_RESULT)) else None


def _read(text: str) -> errors.StgradError:
    """The error that `NOT_COMPILED` is followed by: its class, and what `errors.render` made of it."""
    kind, _, what = text.partition(": ")
    more = {label: said.replace("\n" + " " * 11, "\n") for label, said in _MORE.findall(what)}
    what = _MORE.sub("", what)
    place, loc = _PLACE.search(what), None
    if place is not None:
        start = len(place["before"] or "")
        loc = Loc(place["file"], int(place["line"]), start, start + len(place["carets"] or ""), place["text"] or "")
        what = what[: place.start()]
    error = cast("type[errors.StgradError]", getattr(errors, kind, errors.UnsupportedSyntaxError))
    return error(what, loc, reason=more.get("why", ""), hint=more.get("instead", ""))


__all__ = ["refusal_of"]
