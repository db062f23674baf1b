"""Positions that may lie outside of an array, tested before memory is touched.

    for i in range(n): s += x[i + 2]     ->     if n + 1 >= x.shape[0]: raise IndexError; for i in range(n): s += x[i + 2]

Compiled code tests no index, so a wrong one would read, and in the reverse sweep write, memory that is not the array's. The invariant that this
pass establishes: every position of the program is inside. It is proved (`known`) from the bounds of loops, from conditions around it and
from all that names are ever assigned; else it is tested. One comparison before the loops decides for all their iterations where the position is a sum
of counters and of what does not change in them, and nothing on the way is conditional; elsewhere the test stands at the place itself, under
a condition that is known before the loops, if there is one: `if short: if i >= x.shape[0]: raise`, with `short = n > x.shape[0]`.
The reverse sweep visits positions that the forward sweep tested. Nothing is tested before a line of the user's that may raise.

    >>> import numpy as np
    >>> import stgrad
    >>> def total(x, n):
    ...     s = 1.0
    ...     for i in range(n):
    ...         s = s * x[i] / x[i + 2]
    ...     return s
    >>> print(stgrad.jit(total).lowered(np.ones(5), 3))
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

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from stgrad import errors
from stgrad.analysis.affine import Affine, named, number
from stgrad.analysis.alias import Classes, sharing
from stgrad.analysis.conditions import Writer, line_of, raised
from stgrad.analysis.extents import Extents, fixed_parameters, parameter_extents
from stgrad.analysis.following import Following
from stgrad.analysis.known import Known, at_start
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    Function,
    If,
    Loc,
    Operand,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    entries_of,
    stored,
    walk,
)
from stgrad.names import Names


def guard_positions(fn: Function, tested: Collection[str] = ()) -> Function:
    """The program with a test, as early as may be, of each position that is not known to be inside.

    Arrays among `tested` belong to programs read in place, which test their own positions.
    """
    sources = dict(parameter_extents(fn))
    extents = Extents(Names(), dict(fn.types), sources, frozenset(sources))
    search = _Search(at_start(fn, extents), fn, Writer(Names(fn.types), dict(fn.types), extents), frozenset(tested), sharing(fn))
    body = search.program()
    return fn.with_body(body, types=search.writer.types) if search.writer.types != fn.types or body != fn.body else fn


@dataclass(frozen=True)
class _Test:
    """`wrong` is at least 0 where a position is outside; it matters where all of `trips` are at least 1, of which `runs` are to be tested."""

    wrong: Affine
    runs: tuple[Affine, ...]
    trips: frozenset[Affine]
    message: str
    loc: Loc | None


@dataclass
class _Level:
    """A loop of which every iteration is complete, between bounds that are what they were when it began."""

    loop: For
    bounds: tuple[Affine, Affine] | None  # the first and the last value of the counter, the smaller one first
    before: Known
    assigned: set[str]
    raises: bool
    tests: list[_Test] = field(default_factory=list)
    statements: list[Stmt] = field(default_factory=list)  # tests of arrays, and what tells whether tests inside are needed
    flags: dict[Affine, Operand] = field(default_factory=dict)  # whether a sum is at least 0, by the sum


@dataclass
class _Search(Following[Known]):
    fn: Function
    writer: Writer
    tested: frozenset[str]
    classes: Classes
    chain: list[_Level] = field(default_factory=list)  # loops around, all of whose iterations come to the statement at hand
    around: list[_Level] = field(default_factory=list)  # all loops around
    passed: list[tuple[tuple[Affine, ...], Affine]] = field(default_factory=list)  # of tests at the start: where these are at least 1, this is at least 0
    depth: int = 0  # of blocks that may not run
    found: dict[int, list[_Test]] = field(default_factory=dict)  # by the statement of the program before which they stand
    early: int = 0  # the first statement before which a test may stand

    # ------------------------------------------------------------------ statements

    def program(self) -> Block:
        self.fixed = fixed_parameters(self.fn)
        blocks = []
        for at, stmt in enumerate(self.fn.body):
            blocks.append(self.statement(stmt))
            if any(isinstance(s, Effect) and s.op == "raise" for s in walk((stmt,))):
                self.early = at + 1
        return tuple(s for at, block in enumerate([*blocks, []]) for s in (*self.written(self.found.get(at, [])), *block))

    def simple(self, stmt: Stmt) -> Block:
        """A statement behind the tests that it needs."""
        out: list[Stmt] = []
        if isinstance(stmt, Assign) and stmt.op == "getitem" and isinstance(stmt.args[0], Var):
            self.access(stmt.args[0].name, stmt.args[1], stmt.loc, out)
        elif isinstance(stmt, Store):
            self.access(stmt.target.name, stmt.index, stmt.loc, out)
        if isinstance(stmt, Store):
            self.written_to((stmt,))
        return (*out, *super().simple(stmt))

    def loop(self, loop: For) -> Block:
        around, changed = self.known, assigned((loop,))
        start, stop = around.value(loop.start), around.value(loop.stop)
        raises = any(isinstance(s, Effect) and s.op == "raise" for s in walk(loop.body))
        level = _Level(loop, self.bounds(loop, start, stop, changed), around.copy(), changed, raises)
        self.written_to(loop.body)
        self.chain.append(level)
        self.around.append(level)
        new = super().loop(loop)
        self.chain.pop()
        self.around.pop()
        return (*self.written(level.tests), *level.statements, *new)

    def bounds(self, loop: For, start: Affine | None, stop: Affine | None, changed: set[str]) -> tuple[Affine, Affine] | None:
        if start is None or stop is None or (self.known.names(start) | self.known.names(stop)) & changed:
            return None
        return (start, stop - number(1)) if loop.step == Const(1) else (stop + number(1), start) if loop.step == Const(-1) else None

    def while_loop(self, loop: While) -> Stmt:
        self.written_to((loop,))
        return super().while_loop(loop)

    def conditional(self, block: Block) -> Block:
        """A block that may not run, or not as often as the loops around say."""
        chain, self.chain = self.chain, []
        self.depth += 1
        new = self.block(block)
        self.depth -= 1
        self.chain = chain
        return new

    def written_to(self, block: Block) -> None:
        """Arrays of positions that a block writes to, under any name, hold others."""
        changed = {n for n, _ in self.known.inside if any(self.classes.same(n, target) for target in stored(block))}
        self.known.inside = frozenset(pair for pair in self.known.inside if pair[0] not in changed)

    # ------------------------------------------------------------------ positions

    def access(self, array: str, index: Operand, loc: Loc | None, out: list[Stmt]) -> None:
        axis = 0
        for item in _entries(index, self.fn.types[array].rank, self.fn.types):
            type_ = self.fn.types[item.name] if isinstance(item, Var) else None
            if self.tested and array in self.tested and (not isinstance(item, Var) or item.name in self.tested):
                pass
            elif type_ is not None and type_.array and type_.rank:
                self.positions(array, axis, item, type_, loc, out)
            elif not isinstance(item, Slice):
                value = self.known.value(item)
                total = named(item.name) if value is None and isinstance(item, Var) else value
                if total is not None:
                    message = f"{_said(item)} is out of bounds for axis {axis} of {self.named(array)}{line_of(loc)}"
                    self.position(total, self.known.extent(array, axis), message, loc, out)
            axis += type_.rank if type_ is not None and type_.dtype == "bool" else 1

    def named(self, array: str) -> str:
        name, _, count = array.rpartition("_")
        return "an array" if array.startswith("_") else f"`{name if count.isdigit() and name in self.fn.types else array}`"

    def position(self, total: Affine, extent: Affine, message: str, loc: Loc | None, out: list[Stmt]) -> None:
        """A position must be below the extent, and at least minus the extent."""
        here: list[Affine] = []
        error = raised("IndexError", message, loc)
        for wrong in (total - extent, number(-1) - total - extent):
            right = number(-1) - wrong
            if self.proves(right):
                continue
            if not wrong.terms and not self.chain and not self.depth:
                raise errors.PositionError(message, loc, reason=f"the extent is {extent.constant}")
            if not self.hoisted(wrong, message, loc):
                here.append(wrong)
            self.known.say(right)
        tests: list[Stmt] = []
        if len(here) == 2:
            sides = (self.writer.total(total, tests), self.writer.total(extent, tests))
            tests.append(Effect("check_position", (*sides, Const(message)), (), loc))
        elif here:
            tests += self.writer.refuse(here[0], error)
        flag = self.flag(here[0]) if len(here) == 1 else Const(True)
        out += [If(flag, tuple(tests), (), loc)] if isinstance(flag, Var) else tests if flag == Const(True) else []

    def proves(self, total: Affine) -> bool:
        """Whether a sum is at least 0, maybe by a test at the start of the program."""
        if self.known.proves(total):
            return True
        told = [right for runs, right in self.passed if all(self.known.proves(run - number(1)) for run in runs)]
        self.known.say(*told)
        return bool(told) and self.known.proves(total)

    def flag(self, wrong: Affine) -> Operand:
        """Whether a sum, of which a test stands in a branch, may be at least 0 in any iteration: known before the loops, it takes the test out of them."""
        for k, level in enumerate(self.around):
            found = self.extreme(wrong, self.around[k:])
            if found is None or self.known.names(found[0]) & level.assigned:
                continue
            if found[0] not in level.flags:
                level.flags[found[0]] = self.writer.nonnegative(found[0], level.statements)
            return level.flags[found[0]]
        return Const(True)

    def custom(self, stmt: Custom) -> Stmt:
        around, self.around = self.around, []
        new = super().custom(stmt)
        self.around = around
        return new

    def hoisted(self, wrong: Affine, message: str, loc: Loc | None) -> bool:
        """Put a test before the outermost loop that allows it."""
        for k, level in enumerate(self.chain):
            found = None if any(lv.raises for lv in self.chain[k:]) else self.extreme(wrong, self.chain[k:])
            if found is None or any(self.known.names(total) & level.assigned for total in found):
                continue
            worst, *trips = found
            before = level.before
            inside = before.copy()
            inside.say(*(t - number(1) for t in trips))
            if inside.proves(number(-1) - worst) or any(before.proves(number(0) - t) for t in trips):
                return True
            trips = [t for t in dict.fromkeys(trips) if not before.proves(t - number(1))]
            runs = tuple(t for t in trips if not before.proves(t - number(1) - worst))
            self.add(_Test(worst, runs, frozenset(trips), message, loc), level)
            return True
        if self.chain or self.depth or not self.known.names(wrong) <= self.fixed:
            return False
        self.add(_Test(wrong, (), frozenset(), message, loc), None)
        return True

    def add(self, test: _Test, level: _Level | None) -> None:
        """Keep a test, unless one that is there is enough."""
        top = not self.depth and (level is None or level is self.chain[0])
        names = {n for total in (test.wrong, *test.runs) for n in self.known.names(total)}
        here = self.found.setdefault(self.early, []) if top and names <= self.fixed or level is None else level.tests
        if not any(_covers(other, test) for other in here):
            here[:] = [*(other for other in here if not _covers(test, other)), test]
        if here is self.found.get(self.early):
            self.passed.append((test.runs, number(-1) - test.wrong))

    def extreme(self, wrong: Affine, levels: Sequence[_Level]) -> tuple[Affine, ...] | None:
        """The largest value that a sum has in the iterations of loops, and how often each loop runs where it has it.

        None where that is not certain: the iteration at which the sum is largest must be there if any is.
        """
        found = [wrong]
        for level in reversed(levels):
            counter = level.loop.var.name
            signs = {s for total in found for s in self.signs(total, counter)} - {0}
            if level.bounds is None or len(signs) > 1 or None in signs:
                return None
            low, high = level.bounds
            found = [_with(total, counter, low if signs == {-1} else high) for total in found]
            found.append(high - low + number(1))
        return tuple(found)

    def signs(self, total: Affine, counter: str) -> Iterator[int | None]:
        """Whether a sum grows or falls with a counter; None where that is not known."""
        for key, factor in total.terms:
            parts = key.split("*")
            if counter in parts:
                parts.remove(counter)
                known = not parts or counter not in parts and self.known.proves(named("*".join(parts)))
                yield (1 if factor > 0 else -1) if known else None

    # ------------------------------------------------------------------ arrays of positions

    def positions(self, array: str, axis: int, item: Operand, type_: Type, loc: Loc | None, out: list[Stmt]) -> None:
        """An array in an index: a mask is as long as the axes it stands for, and positions are inside."""
        assert isinstance(item, Var)
        if type_.dtype == "bool":
            for k in range(type_.rank):
                self.same_extent(self.known.extent(item.name, k), self.known.extent(array, axis + k), axis + k, loc, out)
            return
        steps: list[Stmt] = []
        extent = self.known.extent(array, axis)
        if (item.name, extent) in self.known.inside:
            return
        self.known.within(item.name, extent)
        n = self.writer.total(extent, steps)
        message = f"an index is out of bounds for axis {axis} of {self.named(array)}{line_of(loc)}"
        test = [*steps, Effect("check_index", (item, n, Const(message)), (), loc)]
        level = next((lv for k, lv in enumerate(self.chain) if self.invariant(item.name, extent, self.chain[k:])), None)
        if level is None:
            out += test
        elif not any(isinstance(s, Effect) and s.args[0] == item and s.args[2] == Const(message) for s in level.statements):
            level.statements += test

    def invariant(self, name: str, extent: Affine, levels: Sequence[_Level]) -> bool:
        """Whether an array of positions is there before some loops, which run and do not change it."""
        changed = levels[0].assigned
        if name in changed or self.known.names(extent) & changed or any(lv.raises or lv.bounds is None for lv in levels):
            return False
        if any(self.classes.same(name, other) for other in stored(levels[0].loop.body)):
            return False
        trips = [b[1] - b[0] for b in (lv.bounds for lv in levels) if b is not None]
        return all(not self.known.names(t) & changed and levels[0].before.proves(t) for t in trips)

    def same_extent(self, ours: Affine, theirs: Affine, axis: int, loc: Loc | None, out: list[Stmt]) -> None:
        if ours == theirs:
            return
        steps: list[Stmt] = []
        sides = tuple(self.writer.total(side, steps) for side in (ours, theirs))
        message = f"boolean index did not match indexed array along axis {axis}{line_of(loc)}"
        wrong = self.writer.made("np.not_equal", sides, Type("bool", weak=True), steps)
        out += [*steps, If(wrong, (raised("IndexError", message, loc),), (), loc)]

    # ------------------------------------------------------------------ writing

    def written(self, tests: Iterable[_Test]) -> list[Stmt]:
        """Tests as statements, those under one condition side by side."""
        listed = list(tests)
        order = {runs: k for k, runs in enumerate(dict.fromkeys(test.runs for test in listed))}
        out: list[Stmt] = []
        for runs, group in groupby(sorted(listed, key=lambda test: order[test.runs]), key=lambda test: test.runs):
            same = list(group)
            inner = [s for t in same for s in self.writer.refuse(t.wrong, raised("IndexError", t.message, t.loc))]
            for run in runs:
                outer: list[Stmt] = []
                condition = self.writer.nonnegative(run - number(1), outer)
                inner = [*outer, If(condition, tuple(inner), (), same[0].loc)]
            out += [replace(s, loc=same[0].loc) for s in inner]
        return out


def _entries(index: Operand, rank: int, types: Mapping[str, Type]) -> list[Operand]:
    """What an index says of each axis, the ellipsis written out; a mask stands for as many axes as it has."""
    items = [i for i in entries_of(index) if i != Const(None)]
    used = sum(types[i.name].rank if isinstance(i, Var) and types[i.name].dtype == "bool" else 1 for i in items if i != Const(Ellipsis))
    full: list[Operand] = [Slice(Const(None), Const(None), Const(None))] * (rank - used)
    return [e for i in items for e in (full if i == Const(Ellipsis) else [i])]


def _with(total: Affine, counter: str, value: Affine) -> Affine:
    """A sum with a value for a counter."""
    result = Affine((), total.constant)
    for key, factor in total.terms:
        parts = key.split("*")
        if counter in parts:
            parts.remove(counter)
            rest = named("*".join(parts)) if parts else number(1)
            result += rest.times(value).scaled(factor)
        else:
            result += Affine(((key, factor),))
    return result


def _covers(a: _Test, b: _Test) -> bool:
    """Whether a test raises wherever another one does: the positions differ by a constant, and it has no further loops around."""
    return a.wrong.terms == b.wrong.terms and a.wrong.constant >= b.wrong.constant and a.trips <= b.trips


def _said(item: Operand) -> str:
    if isinstance(item, Const):
        return f"index {item.value}"
    return f"index `{item.name}`" if isinstance(item, Var) and item.name[0] != "_" else "an index"
