"""Structures of numbers as one vector, and back: what optimisers, samplers and solvers work on.

The order of the numbers is that of the structure: items left to right, dicts and attributes in their own order, arrays row by row. A complex number
takes two places, real part first, so that the gradient of a real function in the vector is that in the structure. What is no float (ints, bools,
strings, None) is part of the structure and takes no place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from stgrad.errors import ShapeError
from stgrad.values import Value, closed, leaves, map_leaves, opened

T = TypeVar("T")
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def flatten(tree: T) -> tuple[Vector, Callable[[Any], T]]:
    """The floats of a structure as a vector of float64, and the function that makes such a structure of a vector.

    Args:
        tree: numbers and arrays, and tuples, lists, dicts, named tuples and dataclasses of them, of any depth.

    Returns:
        The vector, and `unflatten(vector)`: new arrays, with shapes and dtypes of those in the tree.

    Raises:
        ShapeError: `unflatten` is given a vector of another length.

    >>> vector, unflatten = flatten({"w": np.ones((2, 2)), "b": 0.5, "name": "layer"})
    >>> vector
    array([1. , 1. , 1. , 1. , 0.5])
    >>> unflatten(2.0 * vector)["b"]
    1.0
    """
    shape = opened(tree)
    parts = [_numbers(leaf) for leaf in leaves(shape) if _is_float(leaf)]
    vector = np.concatenate([np.zeros(0), *parts])

    def unflatten(given: Any) -> Any:
        numbers = np.asarray(given, np.float64)
        if numbers.shape != vector.shape:
            raise ShapeError(f"the vector has shape {numbers.shape}, the structure {len(vector)} numbers")
        return closed(_filled(shape, numbers))

    return vector, unflatten


def _filled(shape: Value, numbers: Vector) -> Value:
    at = 0

    def leaf(old: Value, _: str) -> Value:
        nonlocal at
        if not _is_float(old):
            return old
        count = np.size(old) * (1 + np.iscomplexobj(old))
        part = numbers[at : at + count]
        at += count
        return _like(old, part)

    return map_leaves(leaf, shape)


def _is_float(leaf: Value) -> bool:
    return isinstance(leaf, (float, complex, np.inexact)) or isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"


def _numbers(leaf: Any) -> Vector:
    """The numbers of a leaf, in a vector of its own."""
    if not np.iscomplexobj(leaf):
        return np.array(leaf, np.float64).ravel()
    return np.array(leaf, np.complex128).ravel().view(np.float64)


def _like(old: Any, part: Vector) -> Any:
    """A leaf of the type of an old one."""
    wide = part.copy().view(np.complex128) if np.iscomplexobj(old) else part
    if isinstance(old, np.ndarray):
        return wide.astype(old.dtype).reshape(old.shape)  # a copy
    return type(old)(wide[0])
