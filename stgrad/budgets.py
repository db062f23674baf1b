"""Memory budgets as users write them: bytes, a text such as "2 GB", or a `Budget` with a folder; STGRAD_MEMORY and STGRAD_DISK are the defaults."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from stgrad import errors

VARIABLE, FOLDER = "STGRAD_MEMORY", "STGRAD_DISK"
UNITS = {"": 1, "b": 1, **{f"{p}b": 1000**i for i, p in enumerate("kmgtp", 1)}, **{f"{p}ib": 1024**i for i, p in enumerate("kmgtp", 1)}}
_TEXT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Budget:
    """What a reverse sweep may take: for `memory=` of `grad`, `value_and_grad`, `vjp`, `hvp`, `jacobian` and their neighbours.

    Args:
        memory: bytes beside arguments and results, as a number or a text ("100 MB", "2 GiB").
        disk: a folder for the snapshots of loops that do not fit into them, on a disk that is fast and large. They are memory-mapped files without
            a name, which are gone when the call ends, or its process. The trips between two snapshots run again once, however many there are.

    Raises:
        MemoryBudgetError: `memory` is no size, or `disk` is no folder in which files can be made.

    >>> Budget("1.5 MB").memory
    1500000
    """

    memory: int | str
    disk: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory", _size(self.memory, "memory="))
        if self.disk is not None:
            object.__setattr__(self, "disk", _folder(self.disk, "disk="))

    @property
    def bytes(self) -> int:
        assert isinstance(self.memory, int)
        return self.memory

    @property
    def folder(self) -> str | None:
        return None if self.disk is None else str(self.disk)

    def __str__(self) -> str:
        return f"{self.memory}" if self.disk is None else f"{self.memory} disk={self.disk}"


def budget_of(memory: int | str | Budget | None) -> Budget | None:
    """The budget that a derivative has; None where nothing is said, here or in the environment.

    Units are B, kB, MB, GB, TB, PB (powers of 1000) and KiB, MiB, GiB, TiB, PiB (powers of 1024), in letters of any size.

    Raises:
        MemoryBudgetError: the text is no size, or the size is not positive; STGRAD_DISK is no folder.

    >>> budget_of("2 GB").bytes, budget_of("1.5MiB").bytes, budget_of(4096).bytes
    (2000000000, 1572864, 4096)
    """
    if isinstance(memory, Budget):
        return memory
    where = "memory="
    if memory is None:
        memory, where = os.environ.get(VARIABLE) or None, f"{VARIABLE}="
    if memory is None:
        return None
    disk = os.environ.get(FOLDER) or None
    return Budget(_size(memory, where), None if disk is None else _folder(disk, f"{FOLDER}="))


def _size(memory: object, where: str) -> int:
    found = _bytes(memory)
    if found is None or found < 1:
        raise errors.MemoryBudgetError(f"{where}{memory!r} is no size of memory", hint='write a number of bytes, or a text such as "100 MB" or "2 GiB"')
    return found


def _folder(disk: str | os.PathLike[str], where: str) -> str:
    path = os.path.abspath(os.fspath(disk))
    if not os.path.isdir(path) or not os.access(path, os.W_OK | os.X_OK):
        raise errors.MemoryBudgetError(f"{where}{str(disk)!r} is no folder in which files can be made", hint="name a folder on a disk with room for snapshots")
    return path


def _bytes(memory: object) -> int | None:
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


__all__ = ["FOLDER", "VARIABLE", "Budget", "budget_of", "spoken"]
