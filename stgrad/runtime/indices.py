"""Checks of index arrays: compiled loops do not check positions, so one sweep does it before them."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

__all__ = ["check_index", "clipped"]

MESSAGE = "an index is out of bounds"


def clipped(bound: int, extent: int) -> int:
    """The position for which a bound of a slice stands: negative ones count from the end, none is past an end.

    >>> clipped(-2, 5), clipped(-9, 5), clipped(9, 5)
    (3, 0, 5)
    """
    return min(max(bound + extent if bound < 0 else bound, 0), extent)


@overload(clipped, strict=False)
def _clipped(bound: Any, extent: Any) -> Any:
    return lambda bound, extent: min(max(bound + extent if bound < 0 else bound, 0), extent)


def check_index(indices: Any, extent: int) -> None:
    """Raise IndexError unless all positions are valid for an axis of this extent (negative ones count from the end)."""
    if indices.size and (indices.min() < -extent or indices.max() >= extent):
        raise IndexError(MESSAGE)


@overload(check_index, strict=False)
def _check_index(indices: Any, extent: Any) -> Any:
    def sweep(indices: Any, extent: Any) -> None:
        bad = False
        for index in indices.flat:
            bad |= (index < -extent) | (index >= extent)
        if bad:
            raise IndexError(MESSAGE)

    return sweep
