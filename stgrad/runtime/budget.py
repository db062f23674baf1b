"""How a loop keeps within its share of a memory budget: decided when it is entered, from its trips and their bytes.

A loop whose trips all fit keeps everything. Any other one keeps snapshots of its state, and what one part of so many trips keeps while that is
reversed: `slots * state + length * kept <= share`. Of the lengths of a part the one is taken with which the fewest trips run again, counted by the
theorem for binomial checkpointing (Griewank & Walther, Algorithm 799: Revolve, ACM TOMS 26, 2000): r n - C(s + r, r - 1) for n parts and s snapshots.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload, register_jitable

from stgrad.errors import MemoryBudgetError

__all__ = [
    "budget_check", "budget_cut", "budget_far", "budget_left", "budget_length", "budget_rest", "budget_slots", "budget_trips", "open_length", "open_slots",
]  # fmt: skip

MESSAGE = (
    "the memory budget is too small for this call: raise it, pass smaller arrays, or split loops whose single trips keep much into more trips; "
    "`.memory(...)` of the gradient tells what is kept"
)


def budget_left(budget: int, base: int) -> int:
    """Bytes for what loops keep, of a budget; `base` is what the program needs without it.

    Raises MemoryBudgetError where nothing is left.

    >>> budget_left(1000, 200)
    800
    """
    left: int = _left(budget, base)
    return left


def budget_cut(start: int, stop: int, trips: int, kept: int, share: int) -> int:
    """Where trips begin that keep everything: at the start if all of them fit in a share, else none.

    >>> budget_cut(0, 100, 100, 8, 800), budget_cut(0, 100, 100, 8, 799)
    (0, 100)
    """
    cut: int = _cut(start, stop, trips, kept, share)
    return cut


def budget_check(kept: int, left: int) -> None:
    """Raise MemoryBudgetError where what a loop that cannot run again keeps is more than what is left."""
    _check(kept, left)


def budget_rest(left: int, trips: int, kept: int, share: int) -> int:
    """Bytes that remain for other loops.

    >>> budget_rest(1000, 100, 8, 900), budget_rest(1000, 100, 8, 500)
    (200, 500)
    """
    rest: int = _rest(left, trips, kept, share)
    return rest


def budget_length(trips: int, state: int, kept: int, share: int, disk: bool = False) -> int:
    """Trips of a part: a snapshot has `state` bytes, a trip keeps `kept`. With a disk, a part is as long as memory has room for two, unless all snapshots fit.

    Raises MemoryBudgetError where not even one snapshot and one trip fit.

    >>> budget_length(1_000_000, 8, 8, 1_000_000), budget_length(1000, 80, 80, 800), budget_length(0, 8, 8, 0)
    (1000, 2, 1)
    >>> budget_length(1_000_000, 8, 8, 1_000_000, True), budget_length(1000, 80, 80, 800, True)
    (1000, 5)
    """
    length: int = _length(trips, state, kept, share, disk)
    return length


def budget_slots(trips: int, length: int, state: int, kept: int, share: int, disk: bool = False) -> int:
    """Snapshots that fit beside what a part of so many trips keeps, as many as there are parts at most; with a disk all of them.

    The last part may be shorter. It is the first that is reversed, and its memory is counted for itself: it may not serve the others.

    >>> budget_slots(1000, 1, 80, 80, 800), budget_slots(3, 1, 80, 80, 800), budget_slots(29, 3, 80, 80, 800), budget_slots(29, 3, 80, 80, 800, True)
    (9, 3, 5, 10)
    """
    slots: int = _slots(trips, length, state, kept, share, disk)
    return slots


def budget_far(trips: int, length: int, slots: int, state: int, kept: int, share: int) -> bool:
    """Whether so many snapshots do not fit into memory, beside what parts keep, and go to disk.

    >>> budget_far(29, 3, 10, 80, 80, 800), budget_far(29, 3, 5, 80, 80, 800)
    (True, False)
    """
    far: bool = _far(trips, length, slots, state, kept, share)
    return far


def budget_trips(kept: int, share: int) -> int:
    """How many first trips of a `while` keep everything: as many as fit in half of its share, so that the other half is there for all others.

    >>> budget_trips(8, 1000), budget_trips(0, 8) > 10**9
    (62, True)
    """
    trips: int = _trips(kept, share)
    return trips


def open_length(state: int, kept: int, share: int, going: bool, disk: bool = False) -> int:
    """Trips of a part of a `while`, of which nobody knows how many there will be: half of the share for what two parts keep, half for snapshots.

    Where these are on disk, the two parts have all of it.

    Raises MemoryBudgetError where not even one snapshot and one trip fit, and the loop has a trip (`going`).

    >>> open_length(8, 8, 1000, True), open_length(800, 80, 900, True), open_length(8, 8, 0, False)
    (31, 1, 1)
    """
    length: int = _open_length(state, kept, share, going, disk)
    return length


def open_slots(length: int, state: int, kept: int, share: int, going: bool) -> int:
    """Snapshots that fit beside two parts of so many trips, the last one being the shorter; none are needed where the loop has no trip.

    >>> open_slots(31, 8, 8, 1000, True), open_slots(1, 800, 80, 900, True), open_slots(1, 8, 8, 1000, False)
    (64, 1, 1)
    """
    slots: int = _open_slots(length, state, kept, share, going)
    return slots


def _trips(kept: Any, share: Any) -> Any:
    return share // (2 * kept) if kept > 0 else 1 << 60


def _open_length(state: Any, kept: Any, share: Any, going: Any, disk: Any = False) -> Any:
    if not going:
        return 1
    if state + kept > share:
        raise MemoryBudgetError(MESSAGE)
    if disk:
        return max(1, share // (2 * max(kept, 1)))
    length = max(1, share // (4 * max(kept, 1)))
    while length > 1 and (2 * length - 1) * kept + state > share:
        length -= 1
    return length


def _open_slots(length: Any, state: Any, kept: Any, share: Any, going: Any) -> Any:
    return max(1, (share - (2 * length - 1) * kept) // state) if going else 1


def _left(budget: Any, base: Any) -> Any:
    if base >= budget:
        raise MemoryBudgetError(MESSAGE)
    return budget - base


def _cut(start: Any, stop: Any, trips: Any, kept: Any, share: Any) -> Any:
    return start if kept <= 0 or trips <= share // kept else stop


def _check(kept: Any, left: Any) -> Any:
    if kept > left:
        raise MemoryBudgetError(MESSAGE)


def _rest(left: Any, trips: Any, kept: Any, share: Any) -> Any:
    return left - trips * kept if kept <= 0 or trips <= share // kept else left - share


def _far(trips: Any, length: Any, slots: Any, state: Any, kept: Any, share: Any) -> Any:
    return slots * state > share - (length + trips % length) * kept


def _slots(trips: Any, length: Any, state: Any, kept: Any, share: Any, disk: Any = False) -> Any:
    if disk:
        return max(1, (trips + length - 1) // length)
    return max(1, min((trips + length - 1) // length, (share - (length + trips % length) * kept) // state))


def _again(parts: Any, snapshots: Any) -> Any:
    """How many parts run, until all are reversed, before their own reversal: the theorem's number."""
    runs, reach = 1, snapshots + 1
    while reach < parts:
        runs += 1
        reach = reach * (snapshots + runs) // runs
    return runs * parts - reach * runs // (snapshots + 1)


_again_compiled = register_jitable(_again)
_slots_again = register_jitable(_slots)


def _length(trips: Any, state: Any, kept: Any, share: Any, disk: Any = False) -> Any:
    if trips < 2:
        return 1
    if state + kept > share:
        raise MemoryBudgetError(MESSAGE)
    least = max(1, min(trips, int((trips * (state / max(kept, 1))) ** 0.5)))  # the least memory for a single run of each trip
    if (trips + least - 1) // least <= (share - (least + trips % least) * kept) // state:
        return least
    if disk:
        return max(1, min(trips, share // (2 * max(kept, 1))))
    best, fewest, length = 1, -1, 1
    while length <= trips and (length + trips % length) * kept + state <= share:
        parts = (trips + length - 1) // length
        runs = _again_compiled(parts, _slots_again(trips, length, state, kept, share)) * length
        if fewest < 0 or runs < fewest:
            best, fewest = length, runs
        length *= 2
    return best


@overload(budget_left, strict=False)
def _left_compiled(budget: Any, base: Any) -> Any:
    return _left


@overload(budget_check, strict=False)
def _check_compiled(kept: Any, left: Any) -> Any:
    return _check


@overload(budget_cut, strict=False)
def _cut_compiled(start: Any, stop: Any, trips: Any, kept: Any, share: Any) -> Any:
    return _cut


@overload(budget_rest, strict=False)
def _rest_compiled(left: Any, trips: Any, kept: Any, share: Any) -> Any:
    return _rest


@overload(budget_length, strict=False)
def _length_compiled(trips: Any, state: Any, kept: Any, share: Any, disk: Any = False) -> Any:
    return _length


@overload(budget_slots, strict=False)
def _slots_compiled(trips: Any, length: Any, state: Any, kept: Any, share: Any, disk: Any = False) -> Any:
    return _slots


@overload(budget_far, strict=False)
def _far_compiled(trips: Any, length: Any, slots: Any, state: Any, kept: Any, share: Any) -> Any:
    return _far


@overload(budget_trips, strict=False)
def _trips_compiled(kept: Any, share: Any) -> Any:
    return _trips


@overload(open_length, strict=False)
def _open_length_compiled(state: Any, kept: Any, share: Any, going: Any, disk: Any = False) -> Any:
    return _open_length


@overload(open_slots, strict=False)
def _open_slots_compiled(length: Any, state: Any, kept: Any, share: Any, going: Any) -> Any:
    return _open_slots
