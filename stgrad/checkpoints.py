"""Marks in user code that trade time for memory in its gradient: `checkpointed`.

Run as they stand, they change nothing.
"""

from __future__ import annotations


def checkpointed(trips: range, snapshots: int | None = None) -> range:
    """The range itself; a gradient keeps snapshots of what the loop over it carries, and runs the trips between them again.

        for t in stgrad.checkpointed(range(n)):
            u = step(u, w)

    The loop's reversal needs memory for `snapshots` copies of the numbers and arrays that the loop carries, and for what one trip keeps. The trips
    are run again in the order that costs least (binomial checkpointing, Griewank & Walther 2000, algorithm 799: with s snapshots and t(n, s) = r n -
    C(s + r, r - 1) trips done again). Without a number, about √n snapshots are kept, and the trips between two of them run once more, with what
    they keep: memory for √n trips, and at most one more run of the loop.

    Args:
        trips: what the loop runs over, `range(...)` of run-time numbers.
        snapshots: how many states may be kept, at least 1; a number known at compile time or an integer of the program.

    Raises (where a gradient is asked for):
        UnsupportedSyntaxError: the loop has a `break` or a `return`, or stands in an expression.
        AliasingError: arrays that the loop carries may share memory with one another, or with arrays that it reads.

    >>> [i for i in checkpointed(range(3))]
    [0, 1, 2]
    """
    return trips


__all__ = ["checkpointed"]
