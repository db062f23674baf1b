"""Numbers in structures, and directions in them: what differences and inner products are taken of."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stgrad import values
from stgrad.values import closed, opened


def leaves(value: Any) -> Iterator[Any]:
    """The leaves of a structure; attributes of instances too."""
    return values.leaves(opened(value))


def map_leaves(f: Callable[[Any, str], Any], value: Any) -> Any:
    return closed(values.map_leaves(f, opened(value)))


def is_float(leaf: Any) -> bool:
    """Whether a leaf of an argument can carry a derivative."""
    return isinstance(leaf, (float, complex, np.floating, np.complexfloating)) or isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"


def noise(rng: np.random.Generator, leaf: Any) -> Any:
    """A random direction for a leaf: None for what has no derivative."""
    if not is_float(leaf):
        return None
    v = rng.uniform(0.3, 1.0, np.shape(leaf)) * rng.choice([-1.0, 1.0], np.shape(leaf))
    if np.iscomplexobj(leaf):
        v = v + 1j * rng.uniform(0.3, 1.0, np.shape(leaf))
    return v


def moved(value: Any, direction: Any, step: complex) -> Any:
    """`value + step * direction`, leaf by leaf, in double precision."""
    steps = iter(list(leaves(direction)))

    def leaf(x: Any, _: str) -> Any:
        v = next(steps)
        if v is None:
            return copy.copy(x)
        wide = np.asarray(x, np.result_type(x, np.float64)) + step * v
        return wide if isinstance(x, np.ndarray) else wide[()].item()

    return map_leaves(leaf, value)


def inner(a: Any, b: Any) -> float:
    """The real inner product of a gradient and a direction; leaves that are None in either count nothing."""
    total = 0.0
    for u, v in zip(leaves(a), leaves(b), strict=True):
        if u is not None and v is not None:
            total += float(np.real(np.sum(np.conj(np.asarray(u, np.result_type(u, np.float64))) * v)))
    return total


__all__ = ["inner", "is_float", "leaves", "map_leaves", "moved", "noise"]
