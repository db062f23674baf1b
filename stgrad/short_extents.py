"""Whether a program that knows short extents is worth it: it may be much longer than the one for any, since loops over them are written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from stgrad import errors

T = TypeVar("T")
LONG = 400  # lines, each of which takes Numba some milliseconds
TIMES = 2  # as long as the program for any extents


def worth_it(short: Callable[[], T], general: Callable[[], T], text: Callable[[T], str]) -> T:
    """The program for short extents; the one for any where there is none, or where it is long for nothing but these.

    >>> worth_it(lambda: "a = 1", lambda: "b = 2", str), worth_it(lambda: 999 * "a = 1" + 999 * chr(10), lambda: "b = 2", str)
    ('a = 1', 'b = 2')
    """
    from stgrad.frontend.captured import KNOWS_SHORT

    token = KNOWS_SHORT.set(True)
    try:
        known: T | None = short()
    except errors.StgradError:  # the program for any extents may be right, or tells what is wrong
        known = None
    finally:
        KNOWS_SHORT.reset(token)
    if known is None:
        return general()
    lines = text(known).count("\n")
    if lines <= LONG:
        return known
    try:
        other = general()
    except errors.StgradError:
        return known
    partly = errors.NOT_COMPILED in text(other)  # a path of it ends where it comes to it
    return known if partly or lines <= TIMES * text(other).count("\n") else other


__all__ = ["worth_it"]
