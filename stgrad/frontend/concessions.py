"""What a reading of a program may give up where the function is refused otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from stgrad import errors

LONGEST = 4000  # statements of a program that is made for the extents or integers of one call: a longer one takes minutes to compile


@dataclass
class Concessions:
    """Of the readings of one program.

    `exits`: sides of branches that cannot be compiled may end the program; `made`: one does; `missed`: one might have. `longest` is how
    many statements the program may have; None where it is as long as the user's text.
    """

    exits: bool = False
    made: bool = False
    missed: bool = False
    longest: int | None = None

    def begin(self, *, exits: bool, known: bool) -> None:
        """Before another reading; `known`: what the call is given is compiled in, so that loops may be written out."""
        self.exits, self.made, self.longest = exits, False, LONGEST if known else None

    def refuse_long(self, count: int) -> None:
        """Raise UnsupportedSyntaxError for a program that gets too long."""
        if self.longest is not None and count > self.longest:
            what = f"with what this call is given compiled in, the program has more than {self.longest} statements"
            raise errors.UnsupportedSyntaxError(what, None)


CONCESSIONS: ContextVar[Concessions] = ContextVar("concessions", default=Concessions())  # noqa: B039  (one for what nobody reads again)


@contextmanager
def conceding() -> Iterator[Concessions]:
    """Readings of one program."""
    token = CONCESSIONS.set(Concessions())
    try:
        yield CONCESSIONS.get()
    finally:
        CONCESSIONS.reset(token)
