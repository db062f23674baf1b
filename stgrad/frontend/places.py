"""The places that lists, dicts and objects have in a list of run-time length.

Python's list holds the object itself; a list whose length the program decides holds the numbers of each item in buffers. An object that was put
into such a list, or taken out of it, is therefore tied to its place, and three things keep the two the same:

    rows.append(p)              # p is tied to the last place
    p.x = 2.0                   # what is written to it goes to the buffer too
    q = rows[k]                 # tied to the k-th place
    q.x = 5.0                   # whatever else is tied to the list is read again: p may be q

Where an object has no one place, a change is refused: it stands in the list twice, was put in by some paths only, or is one of several objects.
Items that move leave objects of which nobody knows the place. When an item of their list is changed then, it may be one of them: they are not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from stgrad import errors
from stgrad.frontend.heap import MUTABLE, containers, contents, frames_of, key, reachable
from stgrad.frontend.heap import put as hold
from stgrad.frontend.values import Growing, Maybe, Record, Value, rebuild

REASON = "a list whose length the program decides keeps the numbers of each item, and not the item itself"


@dataclass(frozen=True, eq=False)
class Place:
    """Where a container stands: in the item of a list at an index, down a path of indices, keys and attributes."""

    holder: Value
    owner: Growing
    index: Value
    path: tuple[Any, ...]
    serial: int


def _inner(value: Value, path: tuple[Any, ...] = ()) -> Iterator[tuple[Value, tuple[Any, ...]]]:
    """The mutable containers of an item, and where they stand in it."""
    if isinstance(value, MUTABLE):
        yield value, path
    if isinstance(value, (tuple, list, dict, Record)):
        parts = dict(enumerate(value)) if isinstance(value, tuple) else contents(value)
        for k, v in parts.items():
            yield from _inner(v, (*path, k))


# --------------------------------------------------------------------------- ties


def taken(frame: Any, owner: Growing, index: Value, value: Value) -> Value:
    """An item that was read from a list, tied to its place."""
    for holder, path in _inner(value):
        _tie(frame, holder, owner, index, path)
    return value


def put_in(frame: Any, owner: Growing, index: Value, value: Value, path: tuple[Any, ...] = ()) -> None:
    """Tie an item that a list gets to its place."""
    builder = frame.builder
    for holder, inner in _inner(value, path):
        others = [p.owner for p in builder.places if p.holder is holder]
        around = [r for r in builder.regions if key(holder) in r.outside]
        if any(not r.conditional and key(holder) in r.changed for r in around):
            _refuse(frame, "an object is put into a list in a loop that changes it as well", "put a copy of it into the list")
        if others or around or id(holder) in builder.loose:
            for one in (owner, *others):
                builder.doubled[id(one)] = one
            _loosen(builder, holder)
        else:
            _tie(frame, holder, owner, index, inner)


def _tie(frame: Any, holder: Value, owner: Growing, index: Value, path: tuple[Any, ...]) -> None:
    builder = frame.builder
    builder.serial += 1
    builder.places.append(Place(holder, owner, frame.keep(index), path, builder.serial))


def _loosen(builder: Any, holder: Value) -> None:
    builder.loose[id(holder)] = holder
    builder.loose_of.setdefault(id(holder), set()).update(id(p.owner) for p in builder.places if p.holder is holder)
    builder.places[:] = [p for p in builder.places if p.holder is not holder]


def copied(frame: Any, *owners: Value) -> None:
    """Lists hold the same items from here on."""
    for owner in owners:
        if isinstance(owner, Growing) and any(True for _ in _inner(owner.structure)):
            frame.builder.doubled[id(owner)] = owner


def removed(frame: Any, owner: Growing, value: Value = None) -> None:
    """Items left their places, or got other ones: who was tied to the list may be tied no more. `value` is an item that left it."""
    builder = frame.builder
    for place in [p for p in builder.places if p.owner is owner]:
        _loosen(builder, place.holder)
    for holder, _ in _inner(value) if id(owner) in builder.doubled or builder.loose else ():
        _loosen(builder, holder)


def uncertain(frame: Any, *values: Value) -> bool:
    """Whether one of these containers is, or may be, an item of a list of run-time length."""
    builder = frame.builder
    return any(id(v) in builder.loose or any(p.holder is v for p in builder.places) for v in values)


# --------------------------------------------------------------------------- changes


def changing(frame: Any, container: Value, through: bool) -> None:
    """Before a change of a container: refuse it where the lists that hold it would not see it; `through`: `wrote` is called behind it."""
    builder = frame.builder
    if not builder.places and not builder.loose:
        return
    if id(container) in builder.loose:
        _refuse(frame, "an object is changed that may be an item of a list", "make the change before it is put into the list, or put a copy into it")
    places = [p for p in builder.places if p.holder is container]
    if not places:
        return
    if not through:
        _refuse(frame, "an item of a list gets other entries", "make the item anew, and store it in its place: rows[i] = ...")
    known = {id(c) for c in reachable(frame).values()}
    for place in places:
        if id(place.owner) in builder.doubled:
            _refuse(frame, "an item of a list is changed that may stand in two places", "make a copy of each item first")
        if id(place.owner) not in known:
            _refuse(frame, "an item is changed of a list that no name means any more", "keep the list under one name")
    _outdate(frame, container, {id(p.owner) for p in places})


def _outdate(frame: Any, container: Value, owners: set[int]) -> None:
    """An item of lists is changed: those who may be the same object, and are tied to no place, do not see it."""
    builder = frame.builder
    for other in list(builder.loose.values()):
        if other is container or owners.isdisjoint(builder.loose_of.get(id(other), ())):
            continue
        values = [v.value if isinstance(v, Maybe) else v for one in frames_of(frame) for v in one.env.values()]
        held = any(c is other for value in values if value is not other for c in containers(value))
        read = bool(builder.loops) and (id(builder.loops[0]), id(other)) in builder.read_in_loops
        if held or read:
            what = "an item of a list is changed that may be another object of the program"
            _refuse(frame, what, "change it by the name that is read, or put a copy into the list")
        builder.stale[id(other)] = other


def note_read(frame: Any, value: Value, name: str) -> None:
    """A name is read that stands for a container."""
    builder = frame.builder
    if id(value) in builder.stale:
        _refuse(frame, f"`{name.split('@')[0]}` may be an item of a list that was changed behind its back", "read the item from the list")
    if builder.loops and (builder.places or builder.loose):
        builder.read_in_loops.add((id(builder.loops[0]), id(value)))


def wrote(frame: Any, container: Value, entry: Any, value: Value, write: Callable[..., None], read: Callable[..., Value]) -> None:
    """Behind `container[entry] = value`: write to the buffers, and read again what may be the same object.

    Args:
        frame: the activation.
        container: what was changed.
        entry: its index, key or attribute.
        value: what it holds now.
        write: `write(owner, index, path, value)` writes to a place of a list.
        read: `read(owner, index, path)` reads it.
    """
    mine = [p for p in frame.builder.places if p.holder is container]
    whole = any(True for _ in _inner(value))
    for place in mine:
        path = (*place.path, entry)
        if whole:
            _replace_part(frame, place, path)
            put_in(frame, place.owner, place.index, value, path)
        write(place.owner, place.index, path, value)
    for other in _others(frame, container, {id(p.owner) for p in mine}):
        held = contents(other.holder)
        now = {k: v if any(True for _ in _inner(v)) else read(other.owner, other.index, (*other.path, k)) for k, v in held.items()}
        frame.mutate(other.holder, through=True)
        hold(other.holder, now)


def _others(frame: Any, container: Value, owners: set[int]) -> list[Place]:
    """The places of other containers that may be the same object: those that names mean, and those that open statements have read."""
    builder = frame.builder
    near = [p for p in builder.places if id(p.owner) in owners and p.holder is not container and not isinstance(p.holder, Growing)]
    if not near:
        return []
    known = {id(c) for c in reachable(frame).values()}
    first, last = (builder.marks[0], builder.marks[-1]) if builder.marks else (0, 0)
    return [p for p in near if id(p.holder) in known or first < p.serial <= last]


def _replace_part(frame: Any, place: Place, path: tuple[Any, ...]) -> None:
    """An item gets another list, dict or object as a part: who is tied to the old one is tied no more."""
    builder = frame.builder
    for p in list(builder.places):
        if p.owner is place.owner and p.path[: len(path)] == path:
            _loosen(builder, p.holder)
    if any(p.path == place.path for p in _others(frame, place.holder, {id(place.owner)})):
        _refuse(frame, "an item of a list gets a new part, and has two names", "change the part in place")


def part(structure: Value, path: tuple[Any, ...]) -> Value:
    """What stands down a path in a structure.

    >>> part([1.0, (2.0, {"x": 3.0})], (1, 1, "x"))
    3.0
    """
    for k in path:
        structure = structure.fields[k] if isinstance(structure, Record) else structure[k]
    return structure


def with_part(item: Value, path: tuple[Any, ...], value: Value) -> Value:
    """An item of a list with another value at the end of a path.

    >>> with_part([1.0, (2.0, {"x": 3.0})], (1, 1, "x"), 4.0)
    [1.0, (2.0, {'x': 4.0})]
    """
    if not path:
        return value
    first, *rest = path
    if isinstance(item, Record):
        return Record(item.cls, {**item.fields, first: with_part(item.fields[first], tuple(rest), value)})
    if isinstance(item, dict):
        return {**item, first: with_part(item[first], tuple(rest), value)}
    return rebuild(item, [with_part(v, tuple(rest), value) if k == first else v for k, v in enumerate(item)])


def _refuse(frame: Any, what: str, hint: str) -> NoReturn:
    raise errors.AliasingError(what, frame.builder.loc, reason=REASON, hint=hint)
