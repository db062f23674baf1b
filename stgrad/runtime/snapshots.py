"""Where the reversal of a loop takes its snapshots: binomial checkpointing.

With s snapshots, each trip run at most r times before its reversal, C(s + r, s) trips can be reversed; nothing does better (Griewank & Walther,
Algorithm 799: Revolve, ACM TOMS 26, 2000). A stretch of l trips is cut where both parts stay within that bound for one snapshot less behind the cut, one
run less before it. Everything is computed from sizes alone.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

__all__ = ["next_snapshot", "segment"]


def segment(trips: int, snapshots: int) -> int:
    """Trips between two snapshots at least: one where the number of snapshots is given (it is positive), else about √trips.

    >>> segment(1_000_000, 0), segment(10, 3), segment(0, 0)
    (1000, 1, 1)
    """
    length: int = _segment(trips, snapshots)
    return length


def next_snapshot(at: int, end: int, free: int) -> int:
    """Where to go from a snapshot at `at`, to reverse the trips before `end` with `free` more snapshots: there the next one is taken.

    Without room for one it is the last trip, `end - 1`.

    >>> next_snapshot(0, 10, 0), next_snapshot(0, 10, 9), next_snapshot(0, 10, 2)
    (9, 1, 4)
    """
    position: int = _next_snapshot(at, end, free)
    return position


def _segment(trips: Any, snapshots: Any) -> Any:
    if snapshots > 0 or trips < 2:
        return 1
    length = int(trips**0.5)
    return length if length * length >= trips else length + 1


def _next_snapshot(at: Any, end: Any, free: Any) -> Any:
    trips, snapshots = end - at, free + 1
    if free < 1:
        return end - 1
    if trips <= snapshots:
        return at + 1
    # C(snapshots + runs, runs), and the same with one run less, one snapshot less, both less, and two runs less
    runs, reach, shorter = 1, snapshots + 1, 1
    while reach < trips:
        runs += 1
        shorter, reach = reach, reach * (snapshots + runs) // runs
    behind = shorter * snapshots // (snapshots + runs - 1)  # C(snapshots - 1 + runs - 1, runs - 1)
    return at + max(1, min(shorter, trips - behind))


@overload(segment, strict=False)
def _segment_compiled(trips: Any, snapshots: Any) -> Any:
    return _segment


@overload(next_snapshot, strict=False)
def _next_snapshot_compiled(at: Any, end: Any, free: Any) -> Any:
    return _next_snapshot
