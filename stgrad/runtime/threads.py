"""In how many parts a loop is shared out between threads. It depends on sizes alone, so that results do not depend on the machine."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

__all__ = ["chunks", "strips"]

PARTS = 16
MEMORY = 1 << 25  # numbers in all private copies together


def chunks(trips: int, work: int, size: int) -> int:
    """Parts of a loop that adds to private copies of `size` numbers each; `work` is that of one trip. At least one part.

    >>> chunks(10_000, 100, 50), chunks(10_000, 1, 10_000)
    (16, 1)
    """
    return max(1, min(PARTS, trips, trips * work // (4 * size + 1), MEMORY // (size + 1)))


def strips(trips: int, width: int) -> int:
    """Parts of a loop whose trips reach `width` further than their own place.

    >>> strips(100, 2), strips(3, 2)
    (16, 1)
    """
    return max(1, min(PARTS, trips // max(2 * width, 1)))


@overload(chunks, strict=False)
def _chunks(trips: Any, work: Any, size: Any) -> Any:
    return lambda trips, work, size: max(1, min(PARTS, trips, trips * work // (4 * size + 1), MEMORY // (size + 1)))


@overload(strips, strict=False)
def _strips(trips: Any, width: Any) -> Any:
    return lambda trips, width: max(1, min(PARTS, trips // max(2 * width, 1)))
