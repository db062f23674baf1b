"""Containers that are one of several: `t = a if c else b` of lists, dicts and objects.

What such a name holds was joined where the paths met, number by number, in a container of its own. As long as none of them changes nobody can tell. A
change of one would have to be seen in the others, so it is refused while something that may be the same object is still there, and `t is a` is not known.

    t = a if c else b        may be a, may be b
    t.append(x)              refused: a or b is longer now
    a[0] = x                 refused: t[0] may be x now
    del a, b; t.append(x)    nobody else sees it
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stgrad import errors
from stgrad.frontend.heap import MUTABLE, containers, frames_of, key
from stgrad.frontend.values import Value


def note(builder: Any, new: Value, sources: tuple[Value, ...]) -> None:
    """A container stands for one of some others from here on; of one, where a loop goes on with it."""
    may_be = frozenset().union(*(_may_be(builder, s) for s in sources))
    builder.alternatives[id(new)] = (new, sources, may_be)
    builder.several = builder.several or len(may_be) > 1


def refuse_unseen(frame: Any, container: Value, node: Any) -> None:
    """Raise UnsupportedSyntaxError where a change of a container would have to be seen in another one that is still there."""
    builder = frame.builder
    if builder.several and any(may_be_one(builder, container, other) for other in _held(frame)):
        raise errors.UnsupportedSyntaxError(
            "a list, dict or object changes that is one of several, and others of them are still there",
            builder.loc if node is None else frame.loc(node),
            reason="which of them it is, only the running program tells",
            hint="make the change on each path: if c: a.append(x), else: b.append(x); or work on a copy",
        )


def may_be_one(builder: Any, a: Value, b: Value) -> bool:
    """Whether two containers may be one object, where they are not."""
    if a is b or not builder.several or not (isinstance(a, MUTABLE) and isinstance(b, MUTABLE)):
        return False
    first, second = _may_be(builder, a), _may_be(builder, b)
    return len(first) + len(second) > 2 and not first.isdisjoint(second)


def may_be_one_object(builder: Any, a: Value, b: Value) -> bool:
    """The same, of what `is` asks: a container that a loop goes on with is the one before the loop in the first trip, and may be another in later ones."""
    if a is b or not (isinstance(a, MUTABLE) and isinstance(b, MUTABLE)) or not builder.alternatives.keys() & {id(a), id(b)}:
        return False
    return not _may_be(builder, a).isdisjoint(_may_be(builder, b))


def apart(a: Value, b: Value) -> bool:
    """Whether two values hold containers that are not the same objects, however equal."""
    mine, theirs = ([c for c in containers(v) if isinstance(c, MUTABLE)] for v in (a, b))
    return len(mine) != len(theirs) or any(x is not y for x, y in zip(mine, theirs, strict=True))


def _may_be(builder: Any, container: Value) -> frozenset[int]:
    known = builder.alternatives.get(id(container)) or builder.alternatives.get(key(container))
    return known[2] if known is not None else frozenset({key(container)})


def _held(frame: Any) -> Iterator[Value]:
    for one in frames_of(frame):
        for value in one.env.values():
            yield from (c for c in containers(value) if isinstance(c, MUTABLE))
