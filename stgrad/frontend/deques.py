"""`collections.deque`: without a bound it is a list, with one an instance of a class that is read like any other.

A bounded deque is a list, and the place in it at which the deque begins: what falls out at the left stays in the list, before that place.
So a window that moves along a series appends to a list, and every item keeps its place.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from stgrad.frontend.arrays import call_method
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.objects import construct
from stgrad.frontend.values import Growing, Method, Queue, Value


class Deque:
    """`collections.deque(values, maxlen)` with a bound."""

    stands_for: type = collections.deque

    def __init__(self, values, maxlen):  # type: ignore[no-untyped-def]
        self.maxlen = maxlen
        self.items = list(values)
        self.start = max(0, len(self.items) - maxlen)

    def append(self, value: Any) -> None:
        self.items.append(value)
        if len(self.items) - self.start > self.maxlen:
            self.start += 1

    def extend(self, values):  # type: ignore[no-untyped-def]
        for value in values:
            self.append(value)

    def appendleft(self, value: Any) -> None:
        self.items.insert(self.start, value)
        if len(self.items) - self.start > self.maxlen:
            self.items.pop()

    def extendleft(self, values):  # type: ignore[no-untyped-def]
        for value in values:
            self.appendleft(value)

    def pop(self):  # type: ignore[no-untyped-def]
        if len(self.items) == self.start:
            raise IndexError("pop from an empty deque")
        return self.items.pop()

    def popleft(self):  # type: ignore[no-untyped-def]
        if len(self.items) == self.start:
            raise IndexError("pop from an empty deque")
        self.start += 1
        return self.items[self.start - 1]

    def rotate(self, n=1):  # type: ignore[no-untyped-def]
        held = self.items[self.start :]
        rotate(held, n)  # type: ignore[no-untyped-call]
        self.items[self.start :] = held

    def clear(self):  # type: ignore[no-untyped-def]
        self.start = len(self.items)

    def __len__(self):  # type: ignore[no-untyped-def]
        return len(self.items) - self.start

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        size = len(self.items) - self.start
        if index < -size or index >= size:
            raise IndexError("deque index out of range")
        return self.items[self.start + index] if index >= 0 else self.items[self.start + size + index]

    def __setitem__(self, index, value):  # type: ignore[no-untyped-def]
        size = len(self.items) - self.start
        if index < -size or index >= size:
            raise IndexError("deque index out of range")
        self.items[self.start + index if index >= 0 else self.start + size + index] = value

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.items[self.start :])

    def __array__(self, dtype=None, copy=None):  # type: ignore[no-untyped-def]
        return np.array(self.items[self.start :])


def rotate(values, n=1):  # type: ignore[no-untyped-def]
    """`values.rotate(n)`."""
    if len(values) > 0:
        first = -n % len(values)
        values[:] = values[first:] + values[:first]


def method(frame: Frame, owner: Value, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """What a deque does at its left end."""
    if name == "rotate":
        return frame.call(rotate, (owner, *args), kwargs)
    if name == "popleft":
        return call_method(frame, Method(owner, "pop"), (0,), {})
    for v in args if name == "appendleft" else args[0]:
        call_method(frame, Method(owner, "insert"), (0, v), {})
    return None


@handles(collections.deque)
def _deque(frame: Frame, iterable: Value = (), maxlen: Value = None) -> Value:
    if maxlen is not None:
        return construct(frame, Deque, (iterable, maxlen), {})
    made = frame.call(list, (iterable,), {})
    if not isinstance(made, Growing):
        return Queue(made)
    made.cls = Queue
    return made
