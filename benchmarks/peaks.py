"""The memory that gradients take, told before they run and measured, over the benchmark programs at their largest sizes.

    python -m benchmarks.peaks [program ...]

Peaks are the growth of the process's resident memory (`VmHWM`) in one call, each in a process of its own, after a call at the smallest size. Code and tables
that a first call at a size loads come to about a megabyte. Programs that take more than `LARGE` run within parts of it, too.
"""

from __future__ import annotations

import multiprocessing
import sys
from dataclasses import dataclass

import stgrad
from benchmarks import program
from benchmarks.budget import growth_of

LARGE = 8e6
PARTS = (0.5, 0.25)


@dataclass(frozen=True)
class Measured:
    """One call: bytes at its peak, and those that `.memory(...)` told before it, None where nobody can tell; or it is refused."""

    size: str
    peak: float = 0.0
    told: float | None = None
    refused: bool = False


def measured(name: str, memory: int | None) -> Measured:
    """One program at its largest size within a budget."""
    chosen = program.load(name)
    smallest, largest = list(chosen.sizes)[0], list(chosen.sizes)[-1]
    arguments = chosen.sizes[largest]()
    gradient = stgrad.grad(chosen.function, argnums=chosen.wrt, memory=memory)
    try:
        stgrad.compile(gradient, arguments)
        for _ in range(2):
            gradient(*chosen.sizes[smallest]())
        told = gradient.memory(*arguments).peak
        return Measured(largest, growth_of(lambda: gradient(*arguments)), told)
    except stgrad.errors.MemoryBudgetError:
        return Measured(largest, refused=True)


def apart(name: str, memory: int | None = None) -> Measured:
    """The same, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (name, memory))


def line(name: str, memory: int | None, found: Measured) -> str:
    """One line of the table."""
    budget = f"{memory / 1e6:7.1f} MB" if memory else " " * 10
    if found.refused:
        return f"{name:<15} {found.size:<24} {budget}    refused"
    told = "         ?" if found.told is None else f"{found.told / 1e6:7.1f} MB"
    return f"{name:<15} {found.size:<24} {budget} {found.peak / 1e6:7.1f} MB, told {told}"


def main() -> None:
    """Print the table."""
    for name in sys.argv[1:] or program.names():
        found = apart(name)
        print(line(name, None, found), flush=True)
        for part in PARTS if found.peak > LARGE else ():
            memory = int(part * found.peak)
            print(line(name, memory, apart(name, memory)), flush=True)


if __name__ == "__main__":
    main()
