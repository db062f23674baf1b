"""Texts that show values of the running program: they can be printed and raised, and nothing else."""

from __future__ import annotations

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Value

UNKNOWN = "{...}"


class RunTimeText(str):
    """A text with parts that only the running program knows."""

    __slots__ = ()


def known_text(frame: Frame, *values: Value) -> None:
    """Refuse texts that are not known: what is computed from them would be wrong."""
    if any(isinstance(v, RunTimeText) for v in values):
        raise errors.NeedStaticError(
            "a text made of values of the running program is used for more than printing", frame.builder.loc, hint="compare the values themselves"
        )
