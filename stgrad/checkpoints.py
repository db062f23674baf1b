"""Marks in user code that trade time for memory in its gradient: `checkpointed` for loops, `checkpoint` for calls.

Run as they stand, they change nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


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


class checkpoint:  # noqa: N801  (a decorator, named as in JAX)
    """A function whose calls keep nothing for the reverse sweep but what they read: there they run once more, as with JAX's `checkpoint` (`remat`).

    Args:
        fun: the function. It may read, but not change, containers of the code around it; what it does not get as an argument is read as it was.

    Raises (where a gradient is asked for):
        AliasingError: arrays that it writes to may share memory with others that it reads.

    >>> @checkpoint
    ... def layer(x):
    ...     return x * x
    >>> layer(3.0)
    9.0
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        if not callable(fun):
            raise TypeError(f"checkpoint takes a function, not {type(fun).__name__}")
        functools.update_wrapper(self, fun)
        self.__name__: str = getattr(fun, "__name__", "function")
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value alone."""
        return self.fun(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> str:
        return self.fun.__qualname__  # found by name, as functions are


__all__ = ["checkpoint", "checkpointed"]
