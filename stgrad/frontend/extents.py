"""Which extents are equal: by their symbols, or because the program has tested it on the way here.

One place answers for the whole front end. A symbol that a test has found equal to another extent is one with it from there on, within the
block in which the test stands: that is a union-find whose unions are undone at the end of the block.

Extents of arguments are never 1: where one is, the program is another one, with the constant 1 in its types. Every other extent that is no
constant (of a slice, a mask, `np.zeros(n)`) may be 1 as the program runs.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from stgrad.ir import Dim


@dataclass
class Assumption:
    """What a program is read under: extents are taken to be as they look and tested, or broadcast as the program runs.

    `made`: some test is there that a valid program may fail; `inside`: one of them behind the start of the program, where it may have written
    to its arguments already. `short`: a test fails for arrays shorter than what a slice leaves out, which
    NumPy takes. `boxes`: what NumPy makes of numbers are arrays without axes (see `stgrad.frontend.boxes`).
    `written_out`: the trips of loops over constants are; without it, `rolled` tells that there is a loop of which they are not
    (see `stgrad.frontend.rolling`). `squeezed`: axes are taken to stay that `np.squeeze` drops where they have one item;
    `dropped`: they are taken to have one, as a program in which they stay was refused.
    `caught`: one of the tests stands in a `try` whose handler would take its ValueError for one of Python (`around`: there are such here).
    """

    run_time: bool = False
    made: bool = False
    inside: bool = False
    short: bool = False
    boxes: bool = False
    written_out: bool = False
    rolled: bool = False
    squeezed: bool = False
    dropped: bool = False
    caught: bool = False
    around: int = 0

    def note(self, *, inside: bool) -> None:
        """There is a test."""
        self.made = True
        self.inside |= inside
        self.caught |= inside and self.around > 0


ASSUMPTION: ContextVar[Assumption] = ContextVar("assumption", default=Assumption(written_out=True))  # noqa: B039  (one for what nobody runs again)


@dataclass
class Extents:
    """What is known of symbols at a place of the program being read."""

    wide: set[str] = field(default_factory=set)  # of arguments and captured arrays
    least: dict[str, int] = field(default_factory=dict)  # what the program tests at its start that extents of arguments reach
    parents: dict[str, Dim] = field(default_factory=dict)

    def find(self, dim: Dim) -> Dim:
        """The extent that stands for all that equal this one here.

        >>> extents = Extents()
        >>> extents.unite(Dim("n", 1), Dim("m"))
        >>> extents.find(Dim("n", 3)), extents.same(Dim("n"), Dim("m", -1))
        (Dim(symbol='m', offset=2), True)
        """
        while dim.symbol is not None and dim.symbol in self.parents:
            parent = self.parents[dim.symbol]
            dim = Dim(parent.symbol, parent.offset + dim.offset)
        return dim

    def same(self, a: Dim, b: Dim) -> bool:
        return self.find(a) == self.find(b)

    def unite(self, a: Dim, b: Dim) -> None:
        """Note that two extents are equal from here on. The second one stands for both, where it is no constant and the first is none."""
        a, b = self.find(a), self.find(b)
        if a.symbol is None:
            a, b = b, a
        if a.symbol is not None and a.symbol != b.symbol:
            self.parents[a.symbol] = Dim(b.symbol, b.offset - a.offset)

    def may_be_one(self, dim: Dim) -> bool:
        """Whether an axis of this extent may be one that NumPy stretches.

        >>> extents = Extents(wide={"x.0"}, least={"x.0": 3})
        >>> [extents.may_be_one(d) for d in (Dim("x.0"), Dim("x.0", -1), Dim("x.0", -2), Dim("~1"), Dim(None, 2))]
        [False, False, True, True, False]
        """
        dim = self.find(dim)
        if dim.symbol is None:
            return dim.offset == 1
        if dim.symbol not in self.wide:
            return True
        at_one = 1 - dim.offset  # the extent of the argument that would make this one 1
        return at_one != 1 and at_one >= max(self.least.get(dim.symbol, 0), 0)
