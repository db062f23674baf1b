"""Extents that must agree: where they are not known to, they get one test at run time, and are one from there on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stgrad.analysis.extents import Extents
from stgrad.frontend.extents import ASSUMPTION
from stgrad.ir import Dim
from stgrad.transforms.lower.nest import Floors, Guard

if TYPE_CHECKING:
    from stgrad.transforms.lower.scalarise import Scalariser

NO_BROADCAST = "operands could not be broadcast together"


class TestedExtents(Extents):
    """The extents of a run of statements that is lowered: what is not known to be equal is tested."""

    def require(self, a: Dim, b: Dim, state: Scalariser, message: str = NO_BROADCAST) -> bool:
        """Make two extents equal, by a check at run time where they are not known to be; False where that is impossible."""
        a, b = self.canonical(a), self.canonical(b)
        if a == b:
            return True
        if a.symbol == b.symbol or not self.known((a, b)):
            return False
        self.check(a, b, state, message)
        return True

    def check(self, a: Dim, b: Dim, state: Scalariser, message: str = NO_BROADCAST, floors: Floors = (None, None)) -> None:
        """Emit a check that two extents are equal; from here on they are one. `floors`: see `Guard`.

        `x[1:]` of nothing is nothing, but its extent less one says -1: the check fails there, if a program that broadcasts as it runs can go on.
        """
        a, b = self.canonical(a), self.canonical(b)
        if a.symbol is None:
            a, b, floors = b, a, floors[::-1]
        common = min(a.offset, b.offset) if b.symbol is not None else 0
        left, right = Dim(a.symbol, a.offset - common), Dim(b.symbol, b.offset - common)
        least: Floors = (-common if a.offset < 0 else floors[0], -common if b.offset < 0 else floors[1])
        if least != (None, None) and not ASSUMPTION.get().run_time:
            ASSUMPTION.get().short = True
            least = (None, None)
        state.units.append(Guard(left, right, message, self.witnesses((a, b)), floors=least))
        self.assume(a, b)
