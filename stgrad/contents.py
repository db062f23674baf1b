"""What values from outside hold, and whether they still hold it: exact comparison, containers and arrays taken through.

Two numbers are the same where no program could tell them apart: `0.0` is not `-0.0`, `1` is not `True`, NaN is NaN.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from types import BuiltinMethodType, MethodType, MethodWrapperType
from typing import Any

import numpy as np

_EXACT = (int, str, bytes, bool)
_BOUND = (MethodType, BuiltinMethodType, MethodWrapperType)  # made anew by each look-up


def is_numeric(value: Any) -> bool:
    """Whether a value is an array that can be a parameter."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fciub" and value.dtype.isnative


def is_array_of_own_class(cls: type) -> bool:
    """Whether it is a class of arrays whose operations are its own: `np.matrix`, masked arrays, quantities with units."""
    return issubclass(cls, np.ndarray) and cls not in (np.ndarray, np.memmap) and not hasattr(cls, "__stgrad_function__")


def is_followed(value: Any) -> bool:
    """Whether a container is one whose arrays are parameters of the program: a list or deque, a tuple or NamedTuple, a dict."""
    return type(value) in (list, deque, dict, OrderedDict, defaultdict) or isinstance(value, tuple)


def items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    """The items of a container with their keys."""
    return value.items() if isinstance(value, dict) else enumerate(value)


def holds_arrays(value: Any) -> bool:
    """Whether there are arrays in a container, or in the containers in it.

    >>> holds_arrays({"w": (np.ones(2), 1.0)}), holds_arrays([1.0, "l2"])
    (True, False)
    """
    return is_followed(value) and any(is_numeric(item) or holds_arrays(item) for _, item in items_of(value))


def is_container(value: Any) -> bool:
    """Whether a value can change and stay the same object, and is compiled in."""
    if isinstance(value, tuple):
        return any(isinstance(v, np.ndarray) or is_container(v) for v in value)
    return isinstance(value, (list, deque, dict, set)) or isinstance(value, np.ndarray) and not is_numeric(value)


SHORT = 4  # extents up to which the first program is for these alone: points and vectors of space, matrices of a few states


def is_short(extent: int) -> bool:
    """Whether a program may be for this extent alone."""
    return 0 < extent <= SHORT


def form_of(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """What a program assumes of an array that is a parameter: `resize` and an assigned `shape` or `dtype` change it in place."""
    return array.dtype, *[n if is_short(n) else None for n in array.shape]


def same(value: Any, other: Any) -> bool:
    """Whether no program can tell two values apart that were found in one place, one after the other.

    >>> same(0.0, -0.0), same(float("nan"), float("nan")), same(1, True), same((1.0, "a"), (1.0, "a"))
    (False, True, False, True)
    """
    if value is other:
        return True
    if type(value) is not type(other):
        return False
    if isinstance(value, (float, complex)):
        return repr(value) == repr(other)
    if isinstance(value, _EXACT) or type(value) in _BOUND:
        return bool(value == other)
    if isinstance(value, np.generic):
        return bool(value.dtype == other.dtype) and value.tobytes() == other.tobytes()
    return isinstance(value, tuple) and len(value) == len(other) and all(map(same, value, other))


class _Plain:
    """An instance of a class in Python: all that it knows stands in its `__dict__`."""


def alike(value: Any, other: Any) -> bool:
    """Whether two instances that a call made, one now and one before, hold the same: of a class in Python, with numbers, arrays and the like in them.

    What a program found in the other one, it found by look-ups of their own: of that nothing is asked here.
    """
    return _is_open(value) and type(value) is type(other) and _hold_the_same(vars(value), vars(other), 6)


def _is_open(value: Any) -> bool:
    """Whether all that an instance knows stands in its `__dict__`."""
    cls = type(value)
    return cls.__basicsize__ == _Plain.__basicsize__ and not cls.__itemsize__ and type(getattr(value, "__dict__", None)) is dict


def _hold_the_same(value: Any, other: Any, depth: int) -> bool:
    cls = type(value)
    if same(value, other) or cls is not type(other) or not depth:
        return same(value, other)
    if cls is np.ndarray:
        return _Contents(other).same(value)
    if cls in (list, tuple, deque):
        return len(value) == len(other) and all(_hold_the_same(a, b, depth - 1) for a, b in zip(value, other, strict=True))
    if cls in (dict, OrderedDict):
        return list(value) == list(other) and all(_hold_the_same(v, other[k], depth - 1) for k, v in value.items())
    return _is_open(value) and _hold_the_same(vars(value), vars(other), depth - 1)


# --------------------------------------------------------------------------- what containers hold


def snapshot(value: Any) -> Any:
    """What a container holds now, through the containers in it; other values as they are.

    Arrays that are parameters are the same while they are the same objects, whatever is in them.

    >>> held = {"w": [1.0, 2.0]}
    >>> was = snapshot(held)
    >>> held["w"][0] = 3.0
    >>> unchanged(held, was)
    False
    """
    if not is_container(value):
        return value
    if isinstance(value, set):
        return _members(value)
    if isinstance(value, np.ndarray):
        return _Contents(value)
    followed = is_followed(value)
    return tuple((key, item if not isinstance(item, np.ndarray) or followed and is_numeric(item) else _Contents(item)) for key, item in _snapshots(value))


def _snapshots(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, item in items_of(value):
        yield key, item if isinstance(item, np.ndarray) else snapshot(item)


def _members(values: set[Any]) -> frozenset[Any]:
    """The members of a set, in which 1 and True are two."""
    return frozenset((type(v), repr(v) if isinstance(v, (float, complex)) else v) for v in values)


class _Contents:
    """What an array holds that is compiled in."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array.copy()

    def same(self, other: Any) -> bool:
        alike = isinstance(other, np.ndarray) and other.dtype == self.array.dtype and other.shape == self.array.shape
        if not alike or self.array.dtype.hasobject:
            return alike and bool(np.array_equal(other, self.array))
        return bool(other.tobytes() == self.array.tobytes())


def unchanged(value: Any, was: Any) -> bool:
    """Whether a value is what `snapshot` saw: a container holds the same, another value is the same."""
    if isinstance(was, _Contents):
        return was.same(value)
    if not is_container(value):
        return same(value, was)
    if isinstance(value, set):
        return isinstance(was, frozenset) and _members(value) == was
    return (
        type(was) is tuple
        and len(value) == len(was)
        and all(same(key, k) and unchanged(item, w) for (key, item), (k, w) in zip(items_of(value), was, strict=True))
    )
