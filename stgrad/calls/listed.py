"""Lists of run-time length as results: programs return the arrays that hold their items, callers get and give the lists.

    return xs, len(xs)     ->     return xs[:count], count     ->     xs[:count].tolist(), count

The structure of such a result has a `Listed` in the place of the list. Around it stand `items_of`, which makes the list of the arrays, and
`stacked`, which makes the arrays of a list: that of cotangents, and of the value that they belong to.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from stgrad.errors import ShapeError
from stgrad.values import Listed, Sym, Value, rebuild


class Ragged(ShapeError):
    """The arrays of a list have different shapes, which only plain Python holds."""


def items_of(listed: Listed, arrays: Iterator[Any]) -> list[Any]:
    """The items of a list, of the arrays that its leaves stand for in order."""
    return list(_items(listed.structure, arrays))


def _items(structure: Value, arrays: Iterator[Any]) -> Any:
    if isinstance(structure, Sym):
        array = next(arrays)
        return array.tolist() if array.ndim == 1 and array.dtype.itemsize in (1, 8, 16) else list(array)
    if isinstance(structure, Listed):  # rows of one array
        return [_items(structure.structure, iter((row,))) for row in next(arrays)]
    if isinstance(structure, (tuple, list)):
        columns = [_items(part, arrays) for part in structure]
        return [rebuild(structure, list(row)) for row in zip(*columns, strict=False)]
    if isinstance(structure, dict):
        columns = [_items(part, arrays) for part in structure.values()]
        return [dict(zip(structure, row, strict=True)) for row in zip(*columns, strict=False)]
    return itertools.repeat(structure)


def has_lists(result: Value) -> bool:
    """Whether a result has a list of run-time length in it."""
    if isinstance(result, dict):
        return any(map(has_lists, result.values()))
    return isinstance(result, Listed) or isinstance(result, (tuple, list)) and any(map(has_lists, result))


def stacked(result: Value, given: Any) -> Any:
    """A value, or its cotangents, with the arrays of a list in its place.

    Raises TypeError where the structure is another one, Ragged where arrays have different shapes.
    """
    if isinstance(result, Listed):
        if not isinstance(given, (list, tuple, np.ndarray)):
            raise TypeError(f"the value has a list where there is a {type(given).__name__}")
        return Listed(_columns(result.structure, given))
    if isinstance(result, dict) and has_lists(result):
        return {key: stacked(part, given[key]) for key, part in result.items()}
    if isinstance(result, (tuple, list)) and has_lists(result):
        return rebuild(result, [stacked(part, value) for part, value in zip(result, given, strict=True)])
    return given


def _columns(structure: Value, items: Any) -> Value:
    if isinstance(structure, Sym):
        if len({np.shape(item) for item in items if item is not None}) > 1:
            raise Ragged("the items of a list that is returned have different shapes", hint="return a tuple, or lists of numbers")
        return np.array([0 if item is None else item for item in items], dtype=np.dtype(structure.type.dtype))
    if isinstance(structure, Listed):
        return Listed(np.array([list(_columns(structure.structure, item)) for item in items]))
    if isinstance(structure, (tuple, list)):
        return rebuild(structure, [_columns(part, [item[i] for item in items]) for i, part in enumerate(structure)])
    if isinstance(structure, dict):
        return {key: _columns(part, [item[key] for item in items]) for key, part in structure.items()}
    return structure
