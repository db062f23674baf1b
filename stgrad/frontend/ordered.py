"""Sets as sorted arrays, and Python's modules for lists in order, as plain Python that is read in place of their call.

The formulas are NumPy's own (numpy/lib/_arraysetops_impl.py). `heapq` is the text of the module: what is imported under its names is C code, with the same
places for the same items.
"""

from __future__ import annotations

import bisect
import heapq
from typing import Any

import numpy as np

from stgrad.frontend import growth
from stgrad.frontend.builtins import HANDLERS
from stgrad.frontend.frame import Frame
from stgrad.frontend.library import LIBRARY, means, refuse
from stgrad.frontend.values import Value, is_static, static_of
from stgrad.lookups import called

# --------------------------------------------------------------------------- sets


@means(np.union1d)
def union(ar1, ar2):  # type: ignore[no-untyped-def]
    return np.unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


@means(np.intersect1d)
def intersection(ar1, ar2, assume_unique=False, return_indices=False):  # type: ignore[no-untyped-def]
    refuse(return_indices, "`np.intersect1d` with `return_indices` is not supported", "use np.isin and np.flatnonzero")
    a = np.sort(np.ravel(ar1)) if assume_unique else np.unique(ar1)
    return a[np.isin(a, ar2)]


@means(np.setdiff1d)
def difference(ar1, ar2, assume_unique=False):  # type: ignore[no-untyped-def]
    a = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return a[np.logical_not(np.isin(a, ar2))]


@means(np.setxor1d)
def either(ar1, ar2, assume_unique=False):  # type: ignore[no-untyped-def]
    a = np.ravel(ar1) if assume_unique else np.unique(ar1)
    b = np.ravel(ar2) if assume_unique else np.unique(ar2)
    both = np.sort(np.concatenate((a, b)))
    other = both[1:] != both[:-1]
    alone = np.ones(len(both), dtype=bool)
    alone[1:] = other
    alone[:-1] = np.logical_and(alone[:-1], other)
    return both[alone]


# --------------------------------------------------------------------------- lists in order


@means(bisect.bisect_left)
def place_before(a, x, lo=0, hi=None, *, key=None):  # type: ignore[no-untyped-def]
    """The loop of `bisect`, which asks for no more items than it does."""
    last = len(a) if hi is None else hi
    items = np.asarray(a) if key is None and not isinstance(x, tuple) else a
    while lo < last:
        middle = (lo + last) // 2
        if (items[middle] if key is None else key(items[middle])) < x:
            lo = middle + 1
        else:
            last = middle
    return lo


@means(bisect.bisect_right)
def place_behind(a, x, lo=0, hi=None, *, key=None):  # type: ignore[no-untyped-def]
    last = len(a) if hi is None else hi
    items = np.asarray(a) if key is None and not isinstance(x, tuple) else a
    while lo < last:
        middle = (lo + last) // 2
        if x < (items[middle] if key is None else key(items[middle])):
            last = middle
        else:
            lo = middle + 1
    return lo


@means(bisect.insort_left)
def insert_before(a, x, lo=0, hi=None, *, key=None):  # type: ignore[no-untyped-def]
    a.insert(bisect.bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


@means(bisect.insort_right)
def insert_behind(a, x, lo=0, hi=None, *, key=None):  # type: ignore[no-untyped-def]
    a.insert(bisect.bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


@means(heapq.nsmallest)
def smallest(n, iterable, key=None):  # type: ignore[no-untyped-def]
    return sorted(iterable, key=key)[:n]


@means(heapq.nlargest)
def largest(n, iterable, key=None):  # type: ignore[no-untyped-def]
    return sorted(iterable, key=key, reverse=True)[:n]


# --------------------------------------------------------------------------- heaps


def lower(heap: Any, first: Any, place: Any) -> None:
    """The item at a place moves towards the front until its parent is smaller."""
    item = heap[place]
    going = True
    while going and place > first:
        parent = (place - 1) >> 1
        if item < heap[parent]:
            heap[place] = heap[parent]
            place = parent
        else:
            going = False
    heap[place] = item


def raise_up(heap: Any, place: Any) -> None:
    """Smaller children move up until the end; what was there finds its place from below."""
    end = len(heap)
    first = place
    item = heap[place]
    child = 2 * place + 1
    while child < end:
        right = child + 1
        if right < end and not heap[child] < heap[right]:
            child = right
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    lower(heap, first, place)


@means(heapq.heappush)
def pushed(heap, item):  # type: ignore[no-untyped-def]
    heap.append(item)
    lower(heap, 0, len(heap) - 1)


@means(heapq.heappop)
def popped(heap):  # type: ignore[no-untyped-def]
    last = heap.pop()
    found = last
    if len(heap) > 0:
        found = heap[0]
        heap[0] = last
        raise_up(heap, 0)
    return found


@means(heapq.heapreplace)
def replaced(heap, item):  # type: ignore[no-untyped-def]
    found = heap[0]
    heap[0] = item
    raise_up(heap, 0)
    return found


@means(heapq.heappushpop)
def pushed_and_popped(heap, item):  # type: ignore[no-untyped-def]
    found = item
    if len(heap) > 0 and heap[0] < item:
        found = heap[0]
        heap[0] = item
        raise_up(heap, 0)
    return found


@means(heapq.heapify)
def heaped(x):  # type: ignore[no-untyped-def]
    n = len(x)
    for i in range(n // 2):
        raise_up(x, n // 2 - 1 - i)


def _of_heap(body: Any) -> Any:
    """A list of known length is one of run-time length from here on: which item comes to which place is known as the program runs."""

    def handler(frame: Frame, heap: Value, *args: Value) -> Value:
        if isinstance(heap, list) and heap:
            heap = growth.of_run_time(frame, heap, mixed=True)
        return frame.call(body, (heap, *args), {})

    return handler


for _name in ("heappush", "heappop", "heapreplace", "heappushpop", "heapify"):
    HANDLERS[getattr(heapq, _name)] = _of_heap(LIBRARY.pop(getattr(heapq, _name)))


def _of_places(function: Any, body: Any) -> Any:
    """What is known while the program is read is found there."""

    def handler(frame: Frame, *args: Value, **kwargs: Value) -> Value:
        known = static_of(args)
        return called(function, *known) if is_static(known) and not kwargs else frame.call(body, args, kwargs)

    return handler


for _function in (bisect.bisect_left, bisect.bisect_right):
    HANDLERS[_function] = _of_places(_function, LIBRARY.pop(_function))
