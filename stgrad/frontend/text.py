"""Texts that show values of the running program: they can be printed and raised, and asked for letters that no number has."""

from __future__ import annotations

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Value

UNKNOWN = "{...}"
NUMBERS = "{0.0}"  # what `str` makes of a number or an array
_OF_NUMBERS = frozenset("0123456789+-.,:()[] \n\te" "nanifjTrueFals")


class RunTimeText(str):
    """A text with parts that only the running program knows. It is no key: two of them may be equal, or not."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise _unknown()


def known_text(frame: Frame, *values: Value) -> None:
    """Refuse texts that are not known: what is computed from them would be wrong."""
    if any(isinstance(v, RunTimeText) for v in values):
        raise _unknown().at(frame.builder.loc)


def known_texts(frame: Frame, *values: Value) -> None:
    """Refuse texts that are not known in containers, too, where these are compared item by item."""
    if any(map(has_unknown, values)):
        raise _unknown().at(frame.builder.loc)


def has_unknown(value: Value) -> bool:
    """Whether a text of the running program is a value, or in it."""
    if isinstance(value, (tuple, list)):
        return any(map(has_unknown, value))
    if isinstance(value, dict):
        return any(map(has_unknown, value.values()))
    return isinstance(value, RunTimeText)


def _unknown() -> errors.StgradError:
    return errors.NeedStaticError("a text made of values of the running program is used for more than printing", hint="compare the values themselves")


def holds(frame: Frame, text: RunTimeText, part: str) -> bool:
    """`part in text`, where that does not depend on what the running program knows."""
    pieces = text.split(NUMBERS)
    if any(part in piece and UNKNOWN not in piece for piece in pieces):
        return True
    begun = [(part[k:], pieces[i + 1 :]) for i, piece in enumerate(pieces[:-1]) for k in range(len(part) + 1) if piece.endswith(part[:k])]
    if UNKNOWN in text or any(_goes_on(rest, behind) for rest, behind in begun):
        known_text(frame, text)
    return False


def _goes_on(part: str, pieces: list[str]) -> bool:
    """Whether a text may begin in the middle of numbers that stand before these pieces."""
    for k in range(len(part) + 1):
        rest = part[k:]
        if pieces[0].startswith(rest) or len(pieces) > 1 and rest.startswith(pieces[0]) and _goes_on(rest[len(pieces[0]) :], pieces[1:]):
            return True
        if k < len(part) and part[k] not in _OF_NUMBERS:
            return False
    return False
