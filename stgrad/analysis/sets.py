"""Arrays of sets, and other values of which not all is known: what `stgrad.analysis.dependence` computes with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad.ir.ops import operation
from stgrad.rules import lookup

Sets = Any  # an array of frozensets
NOTHING: frozenset[int] = frozenset()


class Dynamic(Exception):  # noqa: N818
    """The pattern cannot be told without the values."""


@dataclass(frozen=True)
class Unknown:
    """What depends on the parameters and is no float: a truth value, a position."""

    shape: tuple[int, ...] = ()


def full(shape: tuple[int, ...], item: frozenset[int] = NOTHING) -> Sets:
    made = np.empty(shape, dtype=object)
    made.fill(item) if made.size else None
    return made


def wrapped(value: Any) -> Sets:
    """Sets as an array; numbers that NumPy put there are nothing."""
    if not isinstance(value, np.ndarray):
        return full((), value if isinstance(value, frozenset) else NOTHING)
    return value


def union(value: Sets) -> frozenset[int]:
    return frozenset().union(*value.ravel().tolist())


def either(a: Sets, b: Sets) -> Sets:
    return wrapped(np.bitwise_or(a, b))


def single(i: int) -> frozenset[int]:
    return frozenset((i,))


def is_sets(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object


def is_unknown(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(is_unknown, value))
    return isinstance(value, Unknown) or is_sets(value)


def unknown_place(value: Any) -> bool:
    return any(map(unknown_place, value)) if isinstance(value, tuple) else isinstance(value, Unknown)


def sets_in(value: Any) -> Sets:
    if is_sets(value):
        return value
    return full(value.shape if isinstance(value, Unknown) else np.shape(value))


def stacked(value: Any) -> Sets:
    if isinstance(value, (tuple, list)):
        return np.stack([stacked(v) for v in value]) if value else full((0,))
    return sets_in(value)


def example_of(value: Any) -> Any:
    """A value of the same shape, for its extents alone."""
    if isinstance(value, (tuple, list)):
        return tuple(map(example_of, value))
    if isinstance(value, Unknown):
        return np.zeros(value.shape, dtype=np.int64) if value.shape else 0
    if not is_sets(value):
        return value
    shape = value.shape
    square = len(shape) > 1 and shape[-1] == shape[-2]
    return np.ones(shape) + (np.eye(shape[-1]) * shape[-1] if square else 0.0) if shape else 1.0


def cleaned(value: Sets) -> Sets:
    """Numbers that NumPy put between the sets are nothing."""
    flat = value.reshape(-1)
    if any(not isinstance(v, frozenset) for v in flat):
        value = value.copy()
        for at in np.ndindex(value.shape):
            value[at] = value[at] if isinstance(value[at], frozenset) else NOTHING
    return value


def gathered(value: Sets, axis: Any, keepdims: bool) -> Sets:
    if not value.ndim:
        return value
    axes = tuple(range(value.ndim)) if axis is None else tuple(a % value.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
    kept = [a for a in range(value.ndim) if a not in axes]
    moved = np.transpose(value, (*kept, *axes)).reshape((*(value.shape[a] for a in kept), -1))
    found = full(moved.shape[:-1])
    for at in np.ndindex(found.shape):
        found[at] = frozenset().union(*moved[at])
    return found.reshape([1 if a in axes else n for a, n in enumerate(value.shape)]) if keepdims else found


def shrunk(value: Sets, shape: tuple[int, ...]) -> Sets:
    """What is added up where an array was stretched from `shape`."""
    value = gathered(value, tuple(range(value.ndim - len(shape))), False) if value.ndim > len(shape) else value
    axes = tuple(a for a, n in enumerate(shape) if n == 1 and value.shape[a] != 1)
    return gathered(value, axes, True) if axes else value


def put(target: Any, index: Any, value: Any, mode: str) -> None:
    if mode == "add_at":
        np.add.at(target, index, value)
    elif mode == "add":
        target[index] += value
    else:
        target[index] = value



def evaluated(op: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The operation on values; what it does not take is not known."""
    rule = lookup(op)
    function = rule.op if rule is not None else operation(op).python
    if function is None:
        raise Dynamic
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError):
        raise Dynamic from None


__all__ = [
    "NOTHING", "Dynamic", "Sets", "Unknown", "cleaned", "either", "evaluated", "example_of", "full", "gathered",
    "is_sets", "is_unknown", "put", "sets_in", "shrunk", "single", "stacked", "union", "unknown_place", "wrapped",
]  # fmt: skip
