"""Operations of the eager API in NumPy, for the compiler: what it reads where their rules speak of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import indexing


def take(x, index):  # type: ignore[no-untyped-def]
    return x[index]


def put(values, index, shape):  # type: ignore[no-untyped-def]
    whole = np.zeros(shape, values.dtype)
    whole[index] = values
    return whole


def put_repeatedly(values, index, shape):  # type: ignore[no-untyped-def]
    """An element may be named more than once."""
    whole = np.zeros(shape, values.dtype)
    np.add.at(whole, index, values)
    return whole


def written(x, index, values):  # type: ignore[no-untyped-def]
    y = np.copy(x)
    y[index] = values
    return y


_BODIES: dict[Any, Callable[..., Any]] = {indexing.take_at: take, indexing.put_at: put, indexing.written: written}


def body_of(function: Any, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """What to read in place of a call of an operation's function; None where its rule is read."""
    if function is indexing.put_at and _names_elements(args[1]):
        return put_repeatedly
    return _BODIES.get(function)


def _names_elements(index: Any) -> bool:
    return any(isinstance(i, np.ndarray) and i.dtype.kind != "b" for i in (index if isinstance(index, tuple) else (index,)))
