"""Loops that run again, measured: time and memory of gradients with checkpointed loops beside those that keep everything.

    python -m benchmarks.budget --steps 100000

Peaks are the growth of the process's resident memory (`VmHWM`) in a call, each in a process of its own.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import stgrad
from stgrad import checkpointed


def scalars(x, n, s, loop):
    """Two numbers a step."""
    v = 0.0
    for _ in loop(range(n), s):
        v = v - 0.001 * math.sin(x) - 0.0001 * v
        x = x + 0.001 * v
    return x


def array(x, n, s, loop):
    """A state of so many numbers."""
    for _ in loop(range(n), s):
        x = x + 0.001 * np.sin(x) * x
    return np.sum(x)


def stencil(u, n, s, loop):
    """A grid that is written in place."""
    for _ in loop(range(n), s):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * np.sin(u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
    return np.sum(u * u)


def until(x, n, s, loop):
    """Two numbers a step, of which nobody knows how many there will be."""
    v = 0.0
    for _ in range(n):
        v = v - 0.001 * math.sin(x) - 0.0001 * v
        x = x + 0.001 * v
        if abs(x) > 100.0:
            break
    return x


def open_stencil(u, n, s, loop):
    """The same grid in a `while`."""
    k = 0
    while k < n:
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * np.sin(u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
        k += 1
    return np.sum(u * u)


def keeping(trips, snapshots):
    """A loop that keeps everything."""
    return trips


def choosing(trips, snapshots):
    """A checkpointed loop without a number."""
    return checkpointed(trips)


def resident() -> tuple[int, int]:
    """Bytes of this process in memory: now, and at most."""
    with open("/proc/self/status") as status:
        found = {line.split(":")[0]: line.split()[1] for line in status if line.startswith(("VmRSS", "VmHWM"))}
    return 1024 * int(found["VmRSS"]), 1024 * int(found["VmHWM"])


def growth_of(call: Callable[[], Any]) -> float:
    """Bytes by which the process's memory grows in a call, at its peak."""
    with open("/proc/self/clear_refs", "w") as peaks:
        peaks.write("5")
    before = resident()[0]
    call()
    return float(resident()[1] - before)


def measured(f: Callable[..., Any], x: Any, n: int, snapshots: int, loop: Any, memory: str | stgrad.Budget | None) -> tuple[float, float, int | None, float]:
    """Seconds, bytes at the peak, those that `.memory(...)` tells before, and a number of the gradient."""
    gradient = stgrad.grad(f, memory=memory)
    # Small, so that the process holds no memory that serves again, and stored as x is, so that nothing is compiled in the call that is measured.
    small = np.ascontiguousarray(x[(slice(16),) * x.ndim]) if isinstance(x, np.ndarray) else x
    gradient(small, 3, snapshots, loop)
    gradient(small, 3, snapshots, loop)
    predicted = gradient.memory(x, n, snapshots, loop).peak
    found = []
    start = time.perf_counter()
    peak = growth_of(lambda: found.append(gradient(x, n, snapshots, loop)))
    return time.perf_counter() - start, peak, predicted, float(np.sum(found[0]))


def row(name: str, *case: Any, memory: str | None = None, disk: str | None = None) -> None:
    """Print one measurement, made in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, peak, predicted, checksum = pool.apply(measured, (*case, stgrad.Budget(memory, disk) if memory and disk else memory))
    told = "         ?" if predicted is None else f"{predicted / 1e6:7.1f} MB"
    print(f"{name:<52} {memory or '':>8} {seconds:8.2f} s {peak / 1e6:8.1f} MB, predicted {told}   {checksum:.15g}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10**6, help="of the loop over a thousand numbers (a million)")
    steps = parser.parse_args().steps
    numbers, grid = np.linspace(0.1, 1.0, 1000), np.random.default_rng(1).random((512, 512))
    row("10^7 steps of 2 numbers, everything kept", scalars, 1.0, 10**7, 1, keeping)
    row("10^7 steps of 2 numbers, within", scalars, 1.0, 10**7, 1, keeping, memory="1 GB")
    row("10^7 steps of 2 numbers, within", scalars, 1.0, 10**7, 1, keeping, memory="8 MB")
    row("10^7 steps of 2 numbers, checkpointed by hand", scalars, 1.0, 10**7, 1, choosing)
    row("10^7 steps with a break, everything kept", until, 1.0, 10**7, 1, keeping)
    row("10^7 steps with a break, within", until, 1.0, 10**7, 1, keeping, memory="2 GB")
    row("10^7 steps with a break, within", until, 1.0, 10**7, 1, keeping, memory="8 MB")
    row("20,000 steps of 1,000 numbers, everything kept", array, numbers, 20_000, 1, keeping)
    row("20,000 steps of 1,000 numbers, within", array, numbers, 20_000, 1, keeping, memory="1 GB")
    row("20,000 steps of 1,000 numbers, within", array, numbers, 20_000, 1, keeping, memory="10 MB")
    row("20,000 steps of 1,000 numbers, within", array, numbers, 20_000, 1, keeping, memory="1 MB")
    row(f"{steps:,} steps of 1,000 numbers, within", array, numbers, steps, 1, keeping, memory="100 MB")
    row(f"{steps:,} steps of 1,000 numbers, within", array, numbers, steps, 1, keeping, memory="10 MB")
    row("200 steps of a grid of 512 x 512, everything kept", stencil, grid, 200, 1, keeping)
    row("200 steps of a grid of 512 x 512, within", stencil, grid, 200, 1, keeping, memory="1 GB")
    row("200 steps of a grid of 512 x 512, within", stencil, grid, 200, 1, keeping, memory="200 MB")
    row("2,000 steps of a grid of 512 x 512, within", stencil, grid, 2000, 1, keeping, memory="200 MB")
    row("2,000 steps of it in a while, within", open_stencil, grid, 2000, 1, keeping, memory="200 MB")
    for memory in ("50 MB", "35 MB"):
        row("2,000 steps of a grid of 512 x 512, within", stencil, grid, 2000, 1, keeping, memory=memory)
        row("2,000 steps of it, snapshots on disk", stencil, grid, 2000, 1, keeping, memory=memory, disk=tempfile.gettempdir())
        row("2,000 steps of it in a while, within", open_stencil, grid, 2000, 1, keeping, memory=memory)
        row("2,000 steps of it in a while, snapshots on disk", open_stencil, grid, 2000, 1, keeping, memory=memory, disk=tempfile.gettempdir())
    row("2,000 steps of a grid of 512 x 512, 70 snapshots", stencil, grid, 2000, 70, checkpointed)


if __name__ == "__main__":
    main()
