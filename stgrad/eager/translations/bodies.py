"""The table of translations, and the decorator that fills it. What bodies compute on static values is here, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import dtypes
from stgrad.rules.core import static

BODIES: dict[str, Callable[..., Any]] = {}


def body(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a body for functions of `stgrad.eager`, by their dotted names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            BODIES[name] = function
        return function

    return register


@static
def as_numpy(dtype: Any) -> Any:
    """A dtype for NumPy."""
    return dtypes.as_dtype(dtype).dtype.type


@static
def constant_dtype(value: Any) -> Any:
    """The dtype of a tensor of Python numbers."""
    array = np.asarray(value)
    kinds = {"f": np.float32, "i": np.int32, "b": np.bool_}
    return kinds[array.dtype.kind] if not isinstance(value, (np.ndarray, np.generic)) else array.dtype.type


@static
def is_known(value: Any) -> bool:
    return True


@static
def is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


@static
def as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@static
def is_float(dtype: Any) -> bool:
    return np.dtype(dtype).kind in "fc"


@static
def sizes(value: Any, rank: int) -> Any:
    """A number for each spatial axis of channels-last data, from an int, a list of them, or one with batch and channel."""
    listed = [value] if isinstance(value, int) else list(value)
    if len(listed) == 1:
        return (int(listed[0]),) * rank
    if len(listed) == rank + 2:
        listed = listed[1:-1]
    if len(listed) != rank:
        raise ValueError(f"expected 1, {rank} or {rank + 2} numbers, got {value}")
    return tuple(int(v) for v in listed)


@static
def positions(rank: int, axis: int) -> int:
    return axis % rank


@static
def as_list(values: Any) -> Any:
    """The variables of a loop as a list; one alone in a list of its own."""
    return list(values) if isinstance(values, (list, tuple)) else [values]
