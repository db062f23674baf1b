"""What lines of a program cost: what `stgrad.profile` measures, and `explain` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LineCost:
    """What a line of the user's program costs, in seconds for each call.

    `forward` is before the first adjoint, `backward` from there on, with what runs again. `stored` is in bytes, None where only the running program knows.
    `vectorised` tells of the loops that it runs in: 'yes', 'no', 'some', 'unknown', or '' for none. `estimated`: it shares a loop or a row of
    statements with other lines.
    """

    file: str
    line: int
    text: str
    forward: float
    backward: float
    stored: int | None
    vectorised: str
    estimated: bool

    @property
    def seconds(self) -> float:
        return self.forward + self.backward

    def share(self, costs: Sequence[LineCost]) -> float:
        """Its part of what all lines take."""
        return self.seconds / max(sum(each.seconds for each in costs), 1e-300)


@dataclass(frozen=True)
class Times:
    """The measured times of a picture: of a call, and of each line."""

    call: float
    costs: Sequence[LineCost]


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(0.0), duration(2.5e-7), duration(0.0123)
    ('', '250 ns', '12.3 ms')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns" if seconds >= 5e-10 else ""


def percent(cost: LineCost, times: Times) -> str:
    """The share of a line; `~` says that it is estimated."""
    return f"{'~' if cost.estimated else ''}{cost.share(times.costs):.0%}"
