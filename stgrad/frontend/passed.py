"""The lists, dicts and objects among the arguments of a program.

It is read with a container of its own for each. A caller may pass one object at two places, which nobody can tell from two as long as the program
changes none and does not ask which of them are one. Where it does, it is for arguments that are different objects: `stgrad.calls.distinct` tests a call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from stgrad import errors
from stgrad.frontend.heap import MUTABLE, containers, key
from stgrad.frontend.values import Value


def note(builder: Any, values: Iterable[Value]) -> None:
    """The arguments of the program, before its first statement."""
    builder.passed = {id(c): c for v in values for c in containers(v) if isinstance(c, MUTABLE)}


def changing(builder: Any, container: Value) -> None:
    """Before a change of a container: others among the arguments would see it if they were this one."""
    if len(builder.passed) > 1 and _is_passed(builder, container):
        builder.distinct = True


def one_object(frame: Any, a: Value, b: Value) -> bool | None:
    """Whether two containers are one object; None where that is not certain."""
    if a is b:
        return True
    if isinstance(a, tuple) or isinstance(b, tuple):  # they have no identity here
        return None if type(a) is type(b) else False
    passed = [_is_passed(frame.builder, v) for v in (a, b)]
    if all(passed):
        frame.builder.distinct = True
    elif any(passed) and any(frame.captured.is_outside(v) for v in (a, b)):
        return None
    return False


def refuse(loc: Any) -> NoReturn:
    """Say that `is` is not known, here or in plain Python, where containers of arguments are copies."""
    refused = errors.UnsupportedSyntaxError(
        "`is` of tuples, or of an argument and something from outside, is not supported", loc, hint="compare them with `==`, or pass a flag"
    )
    refused.plainly = False
    raise refused


def inlined(frame: Any, reading: Any, arguments: Iterable[Value]) -> None:
    """Before a finished program is written in place of its call, with these arguments."""
    if not reading.distinct:
        return
    frame.builder.distinct = True
    seen: set[int] = set()
    for value in arguments:
        for c in containers(value):
            if isinstance(c, MUTABLE) and key(c) in seen:
                raise errors.AliasingError(
                    "a list, dict or object is two arguments of a derivative, and the function changes one of them",
                    frame.builder.loc,
                    hint="pass a copy of one of them",
                )
            seen.add(key(c))


def _is_passed(builder: Any, container: Value) -> bool:
    _, origin, _ = builder.merged.get(id(container), (None, container, False))
    return key(container) in builder.passed or key(origin) in builder.passed
