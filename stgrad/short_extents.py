"""Whether a program that knows short extents is worth it: it may be much longer than the one for any, since loops over them are written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from stgrad import errors
from stgrad.frontend.captured import KNOWS_SHORT

T = TypeVar("T")
LONG = 400  # lines, each of which takes Numba some milliseconds
TIMES = 2  # as long as the program for any extents


def worth_it(read: Callable[[bool], T], arguments: bool, text: Callable[[T], str]) -> T:
    """The program for short extents; the one for any where there is none, or where it is long for nothing but these.

    Args:
        read: reads a program, which knows short extents of arguments or not; those of captured arrays as `KNOWS_SHORT` says.
        arguments: whether those of arguments are to be known.
        text: gives the text of a program.

    >>> worth_it(lambda short: "a = 1" if short else "b = 2", True, str)
    'a = 1'
    >>> worth_it(lambda short: 999 * chr(10) if short else "b = 2", True, str)
    'b = 2'
    """
    token = KNOWS_SHORT.set(True)
    try:
        known: T | None = read(arguments)
    except errors.StgradError:  # the program for any extents may be right, or tells what is wrong
        known = None
    finally:
        KNOWS_SHORT.reset(token)
    if known is None:
        return read(False)
    lines = text(known).count("\n")
    if lines <= LONG:
        return known
    try:
        other = read(False)
    except errors.StgradError:
        return known
    partly = errors.NOT_COMPILED in text(other)  # a path of it ends where it comes to it
    return known if partly or lines <= TIMES * text(other).count("\n") else other


__all__ = ["worth_it"]
