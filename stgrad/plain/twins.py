"""Copies of arguments that a program cannot tell from them, but by writing to them.

Arrays lie in memory as theirs do: in the same order, with the same steps, over one piece of memory where theirs are, and as writeable. A list, dict or
object that stands at two places is one in the copy, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from stgrad.calls.calling import overlap, overlaps_itself
from stgrad.instances import attributes_of, make
from stgrad.values import rebuild

Array = np.ndarray[Any, Any]


def laid_out(like: Array, dtype: Any = None) -> Array:
    """New memory for an array of this shape whose elements lie as those of `like` do.

    >>> laid_out(np.zeros((2, 6))[:, ::2]).strides
    (48, 16)
    """
    dtype = np.dtype(like.dtype if dtype is None else dtype)
    if like.flags.c_contiguous or like.flags.f_contiguous or any(s % like.itemsize for s in like.strides):
        return np.empty_like(like, dtype)
    low, high = byte_bounds(like)
    scaled = [s // like.itemsize * dtype.itemsize for s in like.strides]
    start = (_address(like) - low) // like.itemsize * dtype.itemsize
    return np.ndarray(like.shape, dtype, _memory((high - low) // like.itemsize * dtype.itemsize, 0), start, scaled)


def _memory(size: int, low: int) -> Array:
    """Bytes that lie at a multiple of 64 where those at `low` do; what is not written to takes no memory."""
    memory = np.empty(size + 128, np.uint8)
    start = (low - _address(memory)) % 64
    return memory[start : start + size]


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


@dataclass
class Twins:
    """Copies of some arguments, and what tells whether a run wrote to what stands at two places of them."""

    value: Any = None
    _shared: list[Callable[[], bool]] = field(default_factory=list)
    _met: set[int] = field(default_factory=set)

    def shows_sharing(self) -> bool:
        """Whether something that stands at two places of the arguments is no longer what it was."""
        return any(changed() for changed in self._shared)


def twins(value: Any) -> Twins:
    """Copies of what a structure of arguments holds."""
    found = Twins()
    arrays = {id(a): a for a in _arrays(value, set())}
    found.value = _copied(value, _copies_of(list(arrays.values()), found), found)
    return found


def _arrays(value: Any, seen: set[int]) -> Iterator[Array]:
    if type(value) is np.ndarray:
        yield value
    elif (items := _items(value)) is not None and id(value) not in seen:
        seen.add(id(value))
        for item in items:
            yield from _arrays(item, seen)


def _items(value: Any) -> list[Any] | None:
    """What a container or an object holds; None for what is neither."""
    if isinstance(value, (tuple, list)):
        return list(value)
    if type(value) is dict:
        return list(value.values())
    attributes = attributes_of(value)
    return None if attributes is None else list(attributes.values())


def _copied(value: Any, made: dict[int, Any], found: Twins) -> Any:
    """A copy, with those of `made` for what was met before."""
    items = _items(value)
    if items is None and id(value) not in made:
        return value
    if id(value) in found._met and not isinstance(value, tuple):
        found._shared.append(_change_of(made[id(value)]))
    found._met.add(id(value))
    if items is None or id(value) in made:
        return made[id(value)]
    copies = [_copied(item, made, found) for item in items]
    if isinstance(value, (tuple, list)):
        made[id(value)] = rebuild(value, copies)
    elif type(value) is dict:
        made[id(value)] = dict(zip(value, copies, strict=True))
    else:
        made[id(value)] = make(type(value), dict(zip(attributes_of(value) or {}, copies, strict=True)))
    return made[id(value)]


def _change_of(copy: Any) -> Callable[[], bool]:
    """What tells, later, whether a copy was written to."""
    if type(copy) is np.ndarray:
        before = copy.copy()
        return lambda: before.tobytes() != copy.tobytes()
    items, keys = _items(copy) or [], list(copy) if type(copy) is dict else None

    def changed() -> bool:
        now = _items(copy) or []
        return len(now) != len(items) or any(a is not b for a, b in zip(now, items, strict=True)) or keys is not None and list(copy) != keys

    return changed


def _copies_of(arrays: list[Array], found: Twins) -> dict[int, Any]:
    """Copies of arrays by identity; those of which memory overlaps lie over one piece."""
    made: dict[int, Any] = {}
    for group in _overlapping(arrays):
        if len(group) == 1:
            made[id(group[0])] = laid_out(group[0])
        else:
            low, high = min(byte_bounds(a)[0] for a in group), max(byte_bounds(a)[1] for a in group)
            memory = _memory(high - low, low)
            for a in group:
                made[id(a)] = np.ndarray(a.shape, a.dtype, memory, _address(a) - low, a.strides)
    for a in arrays:
        made[id(a)][...] = a
    for group in _overlapping(arrays):
        found._shared += [_change_of(made[id(a)]) for a in group if overlaps_itself(a) or any(overlap(a, b) for b in group if b is not a)]
    for a in arrays:
        made[id(a)].flags.writeable = a.flags.writeable
    return made


def _overlapping(arrays: list[Array]) -> list[list[Array]]:
    """Arrays in groups whose memory has bytes between one another."""
    groups = [[a] for a in arrays if not a.size]
    end = -1
    for a in sorted((a for a in arrays if a.size), key=lambda a: byte_bounds(a)[0]):
        low, high = byte_bounds(a)
        if low >= end:
            groups.append([])
        groups[-1].append(a)
        end = max(end, high)
    return groups
