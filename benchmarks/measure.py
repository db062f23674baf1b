"""Interleaved timing: every round calls each variant in turn, and ratios are taken within a round.

Machines drift and neighbours make noise; a ratio of two times of one round cancels most of it. Reported are the median and the
quartiles over the rounds. Where neighbours take the processor away for long, count its seconds (`cpu`) instead of the wall's:
everybody is pinned to one thread, so on a quiet machine both agree.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

BATCH = {"wall": 2e-3, "cpu": 2e-2}  # seconds that one timing should take at least: other threads' time is booked late
PATIENCE = 4.0  # seconds for all rounds of one variant
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Spread:
    """A median between quartiles."""

    low: float
    median: float
    high: float


def spread(samples: list[float]) -> Spread:
    low, median, high = np.percentile(samples, [25, 50, 75])
    return Spread(float(low), float(median), float(high))


def interleaved(calls: Mapping[str, Callable[[], object]], rounds: int, clock: str = "wall") -> dict[str, list[float]]:
    """Seconds a call, for each variant and round; slow variants sit out the later rounds.

    All calls must have been made once before (compiled).
    """
    now = CLOCKS[clock]
    repeats, limits = {}, {}
    for name, call in calls.items():
        seconds = _timed(call, 1, now)
        if seconds < PATIENCE / 10:
            seconds = min(seconds, _timed(call, 1, now))
        repeats[name] = max(1, min(10_000, int(BATCH[clock] / max(seconds, 1e-7))))
        limits[name] = max(1 if seconds > PATIENCE / 4 else 3, min(rounds, int(PATIENCE / (seconds * repeats[name]))))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            for name in order[number % len(order) :] + order[: number % len(order)]:
                if number < limits[name]:
                    samples[name].append(_timed(calls[name], repeats[name], now))
    finally:
        gc.enable()
    return samples


def _timed(call: Callable[[], object], repeats: int, now: Callable[[], float]) -> float:
    start = now()
    for _ in range(repeats):
        call()
    return (now() - start) / repeats


def ratio(samples: Mapping[str, list[float]], above: str, below: str) -> Spread | None:
    """The ratio of two variants, round by round."""
    if above not in samples or below not in samples:
        return None
    return spread([a / b for a, b in zip(samples[above], samples[below], strict=False)])
