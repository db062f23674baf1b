"""Colours for the columns of sparse matrices, so that columns of one colour can be computed as one.

`columns`: no two columns of one colour have an entry in the same row. `star`: of a symmetric matrix, fewer colours, as an entry
may be read from its own column or from its mirror image's. Both are greedy, after Gebremedhin, Manne and Pothen, What color is your
Jacobian? (SIAM Review 47, 2005), algorithms 3.1 and 4.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Colours = Any  # an array of int64, one for each column


def columns(pattern: Any) -> Colours:
    """Colours of the columns of a CSR pattern; columns with many neighbours come first."""
    by_column = pattern.tocsc()
    rows = np.split(pattern.indices, pattern.indptr[1:-1])
    degrees = np.diff(pattern.indptr)
    of_column = np.split(by_column.indices, by_column.indptr[1:-1])[: pattern.shape[1]]  # one of none is one piece
    weight = np.array([degrees[r].sum() for r in of_column]) if of_column else np.zeros(0)
    colours = np.full(pattern.shape[1], -1)
    for j in np.argsort(-weight, kind="stable"):
        near = np.concatenate([rows[i] for i in of_column[j]]) if len(of_column[j]) else np.zeros(0, dtype=np.int64)
        colours[j] = _first_free(colours[near])
    return colours


def _first_free(taken: Any) -> int:
    used = set(taken.tolist())
    colour = 0
    while colour in used:
        colour += 1
    return colour


def star(pattern: Any) -> Colours:
    """Colours of the columns of a symmetric CSR pattern: neighbours differ, and no path of four has two colours."""
    rows = np.split(pattern.indices, pattern.indptr[1:-1])[: pattern.shape[0]]
    near = [[int(k) for k in row if k != i] for i, row in enumerate(rows)]
    colours = [-1] * pattern.shape[0]
    for v in sorted(range(len(near)), key=lambda v: -len(near[v])):
        colours[v] = _first_free(np.array(list(_forbidden(v, near, colours)), dtype=np.int64))
    return np.array(colours, dtype=np.int64)


def _forbidden(v: int, near: list[list[int]], colours: list[int]) -> set[int]:
    found = {colours[w] for w in near[v]}
    for w in near[v]:
        for x in near[w]:
            if x == v or colours[x] < 0 or colours[x] in found:
                continue
            if colours[w] < 0 or any(y != w and colours[y] == colours[w] for y in near[x]):
                found.add(colours[x])
    return found


def seeds(colours: Colours) -> Any:
    """For each colour a row with ones at its columns."""
    made = np.zeros((int(colours.max(initial=-1)) + 1, len(colours)))
    made[colours, np.arange(len(colours))] = 1.0
    return made


def positions(pattern: Any, colours: Colours) -> Any:
    """Where the entries of a CSR pattern, in its order, stand in an array that has a row for each colour, the sum of its columns."""
    return colours[pattern.indices] * pattern.shape[0] + _rows(pattern)


def row_positions(pattern: Any, colours: Colours) -> Any:
    """The same where a colour stands for the sum of some rows."""
    return colours[_rows(pattern)] * pattern.shape[1] + pattern.indices


def mirrored_positions(pattern: Any, colours: Colours) -> Any:
    """The same for a star colouring: where a row has several columns of a colour, the mirror image is read."""
    rows, cols = _rows(pattern), pattern.indices
    place = rows * (int(colours.max(initial=0)) + 1) + colours[cols]
    _, inverse, counts = np.unique(place, return_inverse=True, return_counts=True)
    alone = counts[inverse.reshape(-1)] == 1
    return np.where(alone, colours[cols] * pattern.shape[0] + rows, colours[rows] * pattern.shape[0] + cols)


def _rows(pattern: Any) -> Any:
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))


__all__ = ["columns", "mirrored_positions", "positions", "row_positions", "seeds", "star"]
