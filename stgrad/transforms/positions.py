"""Positions that may lie outside of an array, tested before anything is computed.

    for i in range(n): s += x[i + 2]     ->     if n + 1 >= x.shape[0]: raise IndexError; for i in range(n): s += x[i + 2]

Compiled code tests no index, so a wrong one would read, and in the reverse sweep write, memory that is not the array's. Where a position is a
sum of constants, extents, integer arguments and counters of loops, one comparison before the loops decides it for all trips.
Positions that are proved to be inside cost nothing. Those in branches, in `while` loops, and in loops whose bounds change with a loop around
them are left as they are: they may never be reached. Nothing is tested before a line of the user's that may raise.

    >>> import numpy as np
    >>> import stgrad
    >>> def total(x, n):
    ...     s = 1.0
    ...     for i in range(n):
    ...         s = s * x[i] / x[i + 2]
    ...     return s
    >>> print(stgrad.jit(total).source(np.ones(5), 3))
    def total(x, n):
        if n > 0:
            if n + 1 >= x.shape[0]:
                raise IndexError('an index is out of bounds for axis 0 of `x` (line 4: s = s * x[i] / x[i + 2])')
        s = 1.0
        for i in range(n):
            s = s * x[i] / x[i + 2]
        return s
    <BLANKLINE>
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from stgrad import errors
from stgrad.ir import Assign, Block, Const, Dim, Effect, For, Function, If, Loc, Operand, Slice, Stmt, Store, Type, Var, assigns, walk
from stgrad.names import Names
from stgrad.transforms.lower.extents import Extents, fixed_parameters, parameter_extents
from stgrad.transforms.lower.integers import EXTENT, Integers, Sum, number
from stgrad.transforms.lower.trips import Definitions
from stgrad.transforms.lower.views import items_of

INT, BOOL = Type("int64", weak=True), Type("bool", weak=True)


def guard_positions(fn: Function) -> Function:
    """The program with a test, as early as may be, of each position that is not known to be inside."""
    sources = parameter_extents(fn)
    extents = Extents(Names(), dict(fn.types), sources, frozenset(sources))
    search = _Search(fn, Integers(fn.types, Definitions.of(fn), extents))
    search.program()
    if not search.found:
        return fn
    writer = _Writer(Names(fn.types), dict(fn.types), extents)
    body: list[Stmt] = []
    for at, stmt in enumerate((*fn.body, None)):
        for runs, tests in groupby(search.tests(at), key=lambda test: test.runs):
            body += writer.tests(runs, list(tests))
        body += [] if stmt is None else [stmt]
    return fn.with_body(tuple(body), types=writer.types)


@dataclass(frozen=True)
class _Test:
    """`wrong` is at least 0 where a position is outside; it matters where all of `trips` are at least 1, of which `runs` are to be tested."""

    wrong: Sum
    runs: tuple[Sum, ...]
    trips: frozenset[Sum]
    message: str
    loc: Loc | None


@dataclass
class _Search:
    fn: Function
    integers: Integers
    found: dict[int, list[_Test]] = field(default_factory=dict)  # by the statement before which they stand
    early: int = 0  # the first statement before which a test may stand
    known: set[str] = field(default_factory=set)  # names that have their only value there
    here: int = 0

    def tests(self, at: int) -> list[_Test]:
        """The tests before a statement, those under one condition side by side."""
        order = {runs: k for k, runs in enumerate(dict.fromkeys(test.runs for test in self.found.get(at, ())))}
        return sorted(self.found.get(at, ()), key=lambda test: order[test.runs])

    def program(self) -> None:
        fixed = fixed_parameters(self.fn)
        self.known |= fixed
        once = {n for n, count in self.integers.definitions.counts.items() if count == 1}
        for at, stmt in enumerate(self.fn.body):
            self.here = at
            self.statement(stmt)
            self.known |= once.intersection(assigns(stmt)) if isinstance(stmt, Assign) else set()
            if any(isinstance(s, Effect) and s.op == "raise" for s in walk((stmt,))):
                self.early = self.here + 1

    def statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, For) and isinstance(stmt.step, Const) and stmt.step.value in (1, -1):
            around = self.integers.loops
            self.integers.loops = (*around, stmt)
            for inner in stmt.body:
                self.statement(inner)
            self.integers.loops = around
        elif isinstance(stmt, Assign) and stmt.op == "getitem" and isinstance(stmt.args[0], Var):
            self.access(stmt.args[0].name, stmt.args[1], stmt.loc)
        elif isinstance(stmt, Store):
            self.access(stmt.target.name, stmt.index, stmt.loc)

    def access(self, array: str, index: Operand, loc: Loc | None) -> None:
        items = items_of(index, self.integers.types[array].rank) or []
        arrays = any(isinstance(i, Var) and self.integers.types[i.name].array for i in items)
        places = [i for i in items if i != Const(None)]
        for axis, item in enumerate(() if arrays else places):
            total, extent = None if isinstance(item, Slice) else self.integers.value(item), self.integers.shape(array, axis)
            if total is not None and extent is not None:
                self.position(total, extent, f"{_said(item)} is out of bounds for axis {axis} of {self.named(array)}{_line(loc)}", loc)

    def named(self, array: str) -> str:
        name, _, count = array.rpartition("_")
        return "an array" if array.startswith("_") else f"`{name if count.isdigit() and name in self.integers.types else array}`"

    def position(self, total: Sum, extent: Sum, message: str, loc: Loc | None) -> None:
        """A position must be below the extent, and at least minus the extent."""
        above, below = self.extreme(total, 1), self.extreme(total, -1)
        for wrong in (above - extent if above is not None else None, number(-1) - below - extent if below is not None else None):
            if wrong is None or self.integers.nonnegative(number(-1) - wrong):
                continue
            if not wrong.terms and not self.integers.loops:
                raise errors.ShapeError(message, loc, reason=f"the extent is {extent.constant}")
            trips = self.trips()
            if trips is None or any(self.integers.nonnegative(wrong.scaled(-1) - t) for t in trips):
                continue  # not known, or no trip where the position would be wrong
            runs = tuple(t for t in trips if not self.integers.nonnegative(t - number(1) - wrong))
            self.add(_Test(wrong, runs, frozenset(trips), message, loc))

    def extreme(self, total: Sum, sign: int) -> Sum | None:
        """The largest or smallest value that a position has in the trips of the loops around; None where that is not certain."""
        for loop in reversed(self.integers.loops):
            terms = dict(total.terms)
            factor = terms.pop(loop.var.name, None)
            if factor is not None:
                bounds = self.bounds(loop)
                if bounds is None:
                    return None
                total = Sum(tuple(terms.items()), total.constant) + bounds[factor * sign > 0].scaled(factor)
        return None if self.counts(total) else total

    def bounds(self, loop: For) -> tuple[Sum, Sum] | None:
        """The first and last values of a counter, smaller one first; None where they change with a loop around."""
        start, stop = self.integers.value(loop.start), self.integers.value(loop.stop)
        if start is None or stop is None or self.counts(start) or self.counts(stop):
            return None
        return (start, stop - number(1)) if loop.step == Const(1) else (stop + number(1), start)

    def counts(self, total: Sum) -> bool:
        """Whether a sum has the counter of a loop around in it."""
        counters = {loop.var.name for loop in self.integers.loops}
        return any(counters.intersection(key.split("*")) for key, _ in total.terms)

    def trips(self) -> list[Sum] | None:
        """How often each loop around runs, where it may not run at all; None where that is not known."""
        found = []
        for loop in self.integers.loops:
            bounds = self.bounds(loop)
            if bounds is None:
                return None
            found.append(bounds[1] - bounds[0] + number(1))
        return [t for t in dict.fromkeys(found) if not self.integers.nonnegative(t - number(1))]

    def add(self, test: _Test) -> None:
        """Put a test as early as the names in it allow, unless one that is there is enough."""
        needed = {part for total in (test.wrong, *test.runs) for key, _ in total.terms for part in key.split("*")}
        names = {part for part in needed if not part.startswith(EXTENT)}
        if not names <= self.known or any(f.denominator != 1 for _, f in test.wrong.terms):
            return
        place = self.early if names <= fixed_parameters(self.fn) else self.here
        here = self.found.setdefault(place, [])
        if not any(_covers(known, test) for known in here):
            here[:] = [*(known for known in here if not _covers(test, known)), test]


def _covers(a: _Test, b: _Test) -> bool:
    """Whether a test raises wherever another one does: the positions differ by a constant, and it has no further loops around."""
    return a.wrong.terms == b.wrong.terms and a.wrong.constant >= b.wrong.constant and a.trips <= b.trips


def _said(item: Operand) -> str:
    if isinstance(item, Const):
        return f"index {item.value}"
    return f"index `{item.name}`" if isinstance(item, Var) and item.name[0] != "_" else "an index"


def _line(loc: Loc | None) -> str:
    return "" if loc is None else f" (line {loc.line}: {textwrap.shorten(loc.text.strip(), 60)})"


@dataclass
class _Writer:
    names: Names
    types: dict[str, Type]
    extents: Extents

    def tests(self, runs: Sequence[Sum], tests: Sequence[_Test]) -> Block:
        """Tests under one condition."""
        inner: list[Stmt] = []
        for test in tests:
            condition = self.nonnegative(test.wrong, inner)
            inner.append(If(condition, (Effect("raise", (Const("IndexError"), Const(test.message)), (), test.loc),), (), test.loc))
        for run in runs:
            outer: list[Stmt] = []
            condition = self.nonnegative(run - number(1), outer)
            inner = [*outer, If(condition, tuple(inner), (), tests[0].loc)]
        return tuple(replace(stmt, loc=tests[0].loc) for stmt in inner)

    def nonnegative(self, total: Sum, out: list[Stmt]) -> Operand:
        """Whether a sum is at least 0, as a comparison of what it adds with what it takes away."""
        more = [(key, int(f)) for key, f in total.terms if f > 0]
        less = [(key, -int(f)) for key, f in total.terms if f < 0]
        constant = int(total.constant)
        if not more:
            return self.made("np.less", (self.sum(less, 0, out), Const(constant + 1)), BOOL, out)
        if constant == -1:
            return self.made("np.greater", (self.sum(more, 0, out), self.sum(less, 0, out)), BOOL, out)
        return self.made("np.greater_equal", (self.sum(more, max(constant, 0), out), self.sum(less, max(-constant, 0), out)), BOOL, out)

    def sum(self, terms: Sequence[tuple[str, int]], constant: int, out: list[Stmt]) -> Operand:
        found: Operand | None = None
        for key, factor in terms:
            term = self.product([self.value(part, out) for part in key.split("*")] + ([Const(factor)] if factor != 1 else []), out)
            found = term if found is None else self.made("np.add", (found, term), INT, out)
        if found is None:
            return Const(constant)
        return found if not constant else self.made("np.add", (found, Const(constant)), INT, out)

    def product(self, factors: list[Operand], out: list[Stmt]) -> Operand:
        found = factors[0]
        for factor in factors[1:]:
            found = self.made("np.multiply", (found, factor), INT, out)
        return found

    def value(self, key: str, out: list[Stmt]) -> Operand:
        """A name, or an extent where it is read."""
        if not key.startswith(EXTENT):
            return Var(key)
        symbol = key.removeprefix(EXTENT)
        holder, axis, offset = self.extents.sources[symbol]
        if axis is None:
            return Var(holder) if not offset else self.made("np.add", (Var(holder), Const(offset)), INT, out)
        extent = self.made("shape", (Var(holder), Const(axis)), replace(INT, value=Dim(symbol, -offset)), out)
        return extent if not offset else self.made("np.add", (extent, Const(offset)), INT, out)

    def made(self, op: str, args: tuple[Operand, ...], type_: Type, out: list[Stmt]) -> Var:
        target = Var(self.names.fresh("_t"))
        self.types[target.name] = type_
        out.append(Assign((target,), op, args))
        return target
