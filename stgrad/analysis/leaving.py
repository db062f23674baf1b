"""Loops that leave native code: each trip calls Python, which costs more than most of what it computes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from stgrad.errors import NativeCodeWarning
from stgrad.ir import Assign, Block, Const, Effect, For, Function, Loc, While, blocks

_told: set[tuple[str, int, str]] = set()


_OWN = "runtime.call_kept('stgrad."  # what SciPy itself computes in Python, and what takes much longer than a call


def calls_in_loops(fn: Function) -> list[tuple[Loc | None, str]]:
    """Where the loops of a lowered program call Python, each place once, and what they call there."""
    return list(dict.fromkeys(_calls(fn.body, None, False)))


def _calls(block: Block, around: Loc | None, inside: bool) -> Iterator[tuple[Loc | None, str]]:
    for stmt in block:
        loc = stmt.loc or around
        if inside and isinstance(stmt, (Assign, Effect)) and stmt.op == "runtime.call_python" and isinstance(stmt.args[0], Const):
            call = str(stmt.args[0].value).partition(": ")[2]
            if not call.startswith(_OWN):
                yield loc, call
        for inner in blocks(stmt):
            yield from _calls(inner, loc, inside or isinstance(stmt, (For, While)))


def warn_of_calls(fn: Function, name: str) -> None:
    """Tell of each place once in a process."""
    for loc, call in calls_in_loops(fn):
        if loc is None or (loc.file, loc.line, call) in _told:
            continue
        _told.add((loc.file, loc.line, call))
        message = (
            f"a loop of `{name}` leaves native code in line {loc.line} ({loc.text.strip()}): each trip calls Python for `{call}`, which takes "
            "microseconds; write it out, or move it out of the loop"
        )
        warnings.warn_explicit(message, NativeCodeWarning, loc.file, loc.line)


__all__ = ["calls_in_loops", "warn_of_calls"]
