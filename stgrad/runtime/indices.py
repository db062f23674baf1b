"""Tests of positions: compiled loops test none, so one sweep over an array of positions does it before them."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

__all__ = ["clipped", "outside"]


def clipped(bound: int, extent: int) -> int:
    """The position for which a bound of a slice stands: negative ones count from the end, none is past an end.

    >>> clipped(-2, 5), clipped(-9, 5), clipped(9, 5)
    (3, 0, 5)
    """
    return min(max(bound + extent if bound < 0 else bound, 0), extent)


@overload(clipped, strict=False)
def _clipped(bound: Any, extent: Any) -> Any:
    return lambda bound, extent: min(max(bound + extent if bound < 0 else bound, 0), extent)


def outside(indices: Any, extent: int) -> bool:
    """Whether a position is not valid for an axis of this extent (negative ones count from the end).

    >>> import numpy as np
    >>> outside(np.array([0, -3]), 3), outside(np.array([0, 3]), 3)
    (False, True)
    """
    return bool(indices.size and (indices.min() < -extent or indices.max() >= extent))


@overload(outside, strict=False)
def _outside(indices: Any, extent: Any) -> Any:
    def sweep(indices: Any, extent: Any) -> bool:
        bad = False
        for index in indices.flat:
            bad |= (index < -extent) | (index >= extent)
        return bad

    return sweep
