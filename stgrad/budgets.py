"""Memory budgets as users write them: bytes, or a text such as "2 GB"; the environment variable STGRAD_MEMORY is the default."""

from __future__ import annotations

import os
import re

from stgrad import errors

VARIABLE = "STGRAD_MEMORY"
UNITS = {"": 1, "b": 1, **{f"{p}b": 1000**i for i, p in enumerate("kmgtp", 1)}, **{f"{p}ib": 1024**i for i, p in enumerate("kmgtp", 1)}}
_TEXT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", re.IGNORECASE)


def budget_of(memory: int | str | None) -> int | None:
    """The bytes that a derivative may take; None where nothing is said, here or in the environment.

    Units are B, kB, MB, GB, TB, PB (powers of 1000) and KiB, MiB, GiB, TiB, PiB (powers of 1024), in letters of any size.

    Raises:
        MemoryBudgetError: the text is no size, or the size is not positive.

    >>> budget_of("2 GB"), budget_of("1.5MiB"), budget_of(4096)
    (2000000000, 1572864, 4096)
    """
    where = "memory="
    if memory is None:
        memory, where = os.environ.get(VARIABLE) or None, f"{VARIABLE}="
    if memory is None:
        return None
    found = _bytes(memory)
    if found is None or found < 1:
        raise errors.MemoryBudgetError(f"{where}{memory!r} is no size of memory", hint='write a number of bytes, or a text such as "100 MB" or "2 GiB"')
    return found


def _bytes(memory: int | str) -> int | None:
    if isinstance(memory, bool) or not isinstance(memory, (int, str)):
        return None
    if isinstance(memory, int):
        return memory
    match = _TEXT.fullmatch(memory)
    unit = UNITS.get(match[2].lower()) if match else None
    return int(float(match[1]) * unit) if match and unit else None


def spoken(size: float) -> str:
    """A size in words.

    >>> spoken(8), spoken(12_345), spoken(2e9)
    ('8 B', '12.3 kB', '2 GB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"


__all__ = ["VARIABLE", "budget_of", "spoken"]
