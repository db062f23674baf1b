"""Where the entries of sparse matrices stand: what joins, turns and multiplies them asks this of integers alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload, register_jitable

__all__ = ["diagonal_places", "entry_lines", "last_places", "paired_places", "united_places"]


def entry_lines(indptr: Any) -> Any:
    """The row of each entry of a matrix that is stored row after row, `indptr` being where these begin.

    >>> entry_lines(np.array([0, 2, 2, 3]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def united_places(major: Any, minor: Any, width: int) -> Any:
    """Entries at places (major, minor), minor below `width`: for each the number of its place among all, in order, and these places.

    >>> united_places(np.array([1, 0, 1]), np.array([0, 2, 0]), 3)
    (array([1, 0, 1]), array([0, 1]), array([2, 0]))
    """
    places, slot = np.unique(np.asarray(major, np.int64) * width + minor, return_inverse=True)
    return slot, places // max(width, 1), places % max(width, 1)


def diagonal_places(rows: int, columns: int, width: int, offsets: Any) -> Any:
    """The elements of diagonals in a matrix of so many rows and columns: row, column and place in `data (diagonals, width)`.

    >>> diagonal_places(2, 2, 2, np.array([1, 0]))
    (array([0, 0, 1]), array([1, 0, 1]), array([1, 2, 3]))
    """
    spans = [np.arange(max(0, k), max(0, k, min(columns, rows + k, width))) for k in offsets]
    column = np.concatenate([np.zeros(0, np.int64), *spans])
    line = np.repeat(np.arange(len(offsets)), [len(s) for s in spans])
    return column - np.asarray(offsets, np.int64)[line], column, line * width + column


def paired_places(indices: Any, indptr: Any) -> Any:
    """The pairs of which the product of two matrices is made, both row after row: each entry of the first with those of the row that it meets.

    >>> paired_places(np.array([1, 0]), np.array([0, 1, 3]))
    (array([0, 0, 1]), array([1, 2, 0]))
    """
    counts = np.diff(indptr)[indices]
    left = np.repeat(np.arange(len(indices)), counts)
    return left, np.arange(len(left)) - (np.cumsum(counts) - counts)[left] + np.asarray(indptr)[indices][left]


def last_places(major: Any, minor: Any, width: int) -> Any:
    """Of entries that were set one after the other at places (major, minor), those that are there in the end, by place.

    >>> last_places(np.array([1, 0, 1]), np.array([0, 2, 0]), 3)
    array([1, 2])
    """
    places, back = np.unique((np.asarray(major, np.int64) * width + minor)[::-1], return_index=True)
    return len(major) - 1 - back


@register_jitable  # type: ignore[untyped-decorator]
def _keys(major: Any, minor: Any, width: Any) -> Any:
    """One number for each place, in their order."""
    keys = np.empty(len(major), np.int64)
    for k in range(len(major)):
        keys[k] = np.int64(major[k]) * width + minor[k]
    return keys


@overload(last_places, strict=False)
def _last_places(major: Any, minor: Any, width: Any) -> Any:
    def last(major: Any, minor: Any, width: Any) -> Any:
        keys = _keys(major, minor, width)
        n, order = len(keys), np.argsort(keys, kind="mergesort")
        kept = np.empty(n, np.int64)
        count = 0
        for k in range(n):
            if k + 1 == n or keys[order[k]] != keys[order[k + 1]]:
                kept[count] = order[k]
                count += 1
        return kept[:count].copy()

    return last


@overload(entry_lines, strict=False)
def _entry_lines(indptr: Any) -> Any:
    def lines(indptr: Any) -> Any:
        y = np.empty(max(0, indptr[-1] - indptr[0]) if len(indptr) else 0, np.int64)
        k = 0
        for i in range(len(indptr) - 1):
            for _ in range(indptr[i], indptr[i + 1]):
                if k < len(y):
                    y[k] = i
                k += 1
        if k != len(y):
            raise ValueError("the index pointer of a sparse matrix does not ascend")
        return y

    return lines


@overload(united_places, strict=False)
def _united_places(major: Any, minor: Any, width: Any) -> Any:
    def united(major: Any, minor: Any, width: Any) -> Any:
        keys = _keys(major, minor, width)
        n, order = len(keys), np.argsort(keys, kind="mergesort")
        slot = np.empty(n, np.int64)
        count = 0
        for k in range(n):
            if k == 0 or keys[order[k]] != keys[order[k - 1]]:
                count += 1
            slot[order[k]] = count - 1
        majors, minors = np.empty(count, np.int64), np.empty(count, np.int64)
        for k in range(n):
            majors[slot[k]], minors[slot[k]] = keys[k] // max(width, 1), keys[k] % max(width, 1)
        return slot, majors, minors

    return united


@overload(diagonal_places, strict=False)
def _diagonal_places(rows: Any, columns: Any, width: Any, offsets: Any) -> Any:
    def places(rows: Any, columns: Any, width: Any, offsets: Any) -> Any:
        total = 0
        for k in offsets:
            total += max(0, min(columns, rows + k, width) - max(0, k))
        row, column, place = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
        n = 0
        for d in range(len(offsets)):
            for j in range(max(0, offsets[d]), min(columns, rows + offsets[d], width)):
                row[n], column[n], place[n] = j - offsets[d], j, d * width + j
                n += 1
        return row, column, place

    return places


@overload(paired_places, strict=False)
def _paired_places(indices: Any, indptr: Any) -> Any:
    def pairs(indices: Any, indptr: Any) -> Any:
        total = 0
        for j in indices:
            if j < 0 or j + 1 >= len(indptr):
                raise IndexError("an index of a sparse matrix is out of bounds")
            total += max(0, indptr[j + 1] - indptr[j])
        left, right = np.empty(total, np.int64), np.empty(total, np.int64)
        n = 0
        for k in range(len(indices)):
            for m in range(indptr[indices[k]], indptr[indices[k] + 1]):
                left[n], right[n] = k, m
                n += 1
        return left, right

    return pairs
