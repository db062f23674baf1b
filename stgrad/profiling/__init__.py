"""Where the time of a derivative goes, by the user's lines: its program runs with clocks around its loops and long statements.

Contract: what a region takes is measured; how it is shared among the lines that meet in one region is estimated from their operations, and said to be
(`LineCost.estimated`). A loop is opened, so that what stands in it is measured by itself, where a trip takes a hundred times what its clocks do.
Times are those of the program without clocks, shared out as measured with them; `overhead` says how much slower it is with them.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from stgrad import errors
from stgrad.line_costs import LineCost, Times, duration, percent

if TYPE_CHECKING:
    from stgrad.explain import Explanation
    from stgrad.explain.derived import Row
    from stgrad.profiling.regions import Cut, Region
    from stgrad.transformed import Transformed

LEAST = 0.1  # seconds that a program runs for a measurement
MOST_CALLS = 10_000
WORTH = 100.0  # clocks that a trip of a loop takes at least, if the loop is opened
ROUNDS = 4  # times that loops are opened
SMALL = 0.02  # of the whole: a loop below is not opened


@dataclass(frozen=True)
class Profile:
    """Where the time of a program goes; prints as a table, and `explain()` is a page that shows it beside the lines.

    `lines` are in the order of the source, `seconds` is what a call of compiled code takes.
    """

    name: str
    seconds: float
    overhead: float  # with clocks, it takes so much more, as a fraction
    resolution: float  # seconds that reading the clock twice takes, which is left out
    lines: tuple[LineCost, ...]
    _picture: Callable[[], Explanation] = field(repr=False, compare=False)

    @property
    def times(self) -> Times:
        return Times(self.seconds, self.lines)

    def explain(self) -> Explanation:
        """The picture of the derivative (see `stgrad help explain`) with what each line costs."""
        return self._picture().measured(self.times)

    def __str__(self) -> str:
        title = f"{self.name}: {duration(self.seconds)} a call; with clocks {self.overhead:+.0%}, which resolve {duration(self.resolution)}"
        head = ("line", "share", "forward", "back", "stored", "vectorised", "")
        rows = [self._row(line) for line in self.lines]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        cells = ["  ".join(c.rjust(w) if i < 5 else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))).rstrip() for row in (head, *rows)]
        note = ["~ shares a loop with other lines: its part is estimated"] if any(line.estimated for line in self.lines) else []
        return "\n".join([title, *cells, *note])

    def _row(self, line: LineCost) -> tuple[str, ...]:
        from stgrad.explain.sizes import spoken

        stored = "?" if line.stored is None else spoken(line.stored) if line.stored else ""
        files = len({each.file for each in self.lines}) > 1
        place = f"{PurePath(line.file).name}:{line.line}" if files else str(line.line)
        return place, percent(line, self.times), duration(line.forward), duration(line.backward), stored, line.vectorised, line.text.strip()


@errors.presents
def profile(g: Any, *args: Any, **kwargs: Any) -> Profile:
    """Measure where a gradient spends its time, line by line of the function that it is of.

    Args:
        g: what `grad`, `value_and_grad`, `jit`, or another function of stgrad returned.
        args: the arguments of the call to measure. They are not changed.
        kwargs: those that are given by name.

    Returns:
        A `Profile`, which prints as a table. It compiles its program with clocks in it, a few times where there are loops in loops, and runs it for some
        tenths of a second each time.

    Raises:
        NotDifferentiableError: g is no function of stgrad.
        StgradError: as a call of g would.

    >>> import stgrad
    >>> print(stgrad.profile(stgrad.grad(loss), np.ones(1000)))  # doctest: +SKIP
    """
    from stgrad.transformed import Transformed

    if not isinstance(g, Transformed):
        raise errors.NotDifferentiableError(f"`profile` takes what grad or jit returned, not {g!r:.60}", hint="profile(stgrad.grad(f), x)")
    return _Measurement(g, args, kwargs).profile()


@dataclass(frozen=True)
class _Run:
    """What the clocks of a program said: of a call, the ticks, runs and trips of each region; the seconds of the quickest call, and of a tick."""

    cut: Cut
    ticks: Any
    runs: Any
    trips: Any
    seconds: float
    unit: float
    llvm: str


class _Measurement:
    """One program, compiled with clocks around more and more of its loops."""

    def __init__(self, g: Transformed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        from stgrad.explain.derived import rows_of

        self._g = g
        self._picture = functools.partial(g.explain, *args, **kwargs)
        self._compiled, self._given, self._arguments = g.program_and_leaves(args, kwargs)
        self._rows: list[Row] = rows_of(self._compiled.function, g.options)
        self._text = "".join(f"{row.text}\n" for row in self._rows)
        self._back = next((i for i, row in enumerate(self._rows, 1) if row.text.lstrip().startswith("# grad of")), len(self._rows) + 1)

    def profile(self) -> Profile:
        from stgrad.profiling.packing import packed

        plain = self._plain_time()
        opened: frozenset[int] = frozenset()
        clock = _clock_ticks()
        for _ in range(ROUNDS):
            run = self._run(opened)
            more = _worth_opening(run, clock)
            if not more - opened:
                break
            opened |= more
        own = np.maximum(run.ticks[:-1] - clock * run.runs, 0.0)
        share = own / (own.sum() or 1.0)
        lines = self._lines(run.cut.regions, share * plain, packed(run.llvm, len(run.cut.regions)))
        return Profile(self._g.__name__, plain, run.seconds / plain - 1.0, clock * run.unit, lines, self._picture)

    # ------------------------------------------------------------- running

    def _function(self, text: str, name: str) -> Any:
        """A function of a module's text, compiled as programs are, and kept nowhere."""
        import numba

        from stgrad import loader
        from stgrad.stack_slots import Compiler

        scope: dict[str, Any] = {"__name__": "stgrad_profile"}
        exec(compile(text, f"<stgrad profile of {name}>", "exec"), scope)  # noqa: S102
        options = {"parallel": self._g.options.parallel}
        return numba.njit(**(loader.OPTIONS | options), pipeline_class=Compiler)(loader.compiled_units(scope[name], options))

    def _leaves(self) -> list[Any]:
        """The arguments of a call; arrays that the program writes to are copies."""
        params = self._compiled.function.params
        written = [p.name in self._compiled.function.written for p in params]
        return [a.copy() if w and isinstance(a, np.ndarray) else a for a, w in zip(self._given, written, strict=True)]

    def _plain_time(self) -> float:
        from stgrad import loader

        run = loader.load(self._text, self._compiled.function.name, parallel=self._g.options.parallel)
        run(*self._leaves())
        seconds, _, _ = self._timed(run, ())
        return seconds

    def _timed(self, run: Any, more: tuple[Any, ...]) -> tuple[float, float, int]:
        """Seconds of the quickest call, of all, and how many there were."""
        total, calls, least = 0.0, 0, math.inf
        while calls < 3 or total < LEAST and calls < MOST_CALLS:
            leaves = self._leaves()
            start = time.perf_counter()
            run(*leaves, *more)
            spent = time.perf_counter() - start
            total, calls, least = total + spent, calls + 1, min(least, spent)
        return least, total, calls

    def _run(self, opened: frozenset[int]) -> _Run:
        """Compile and run with clocks, those loops opened."""
        from stgrad.profiling.regions import cut

        parts = cut(self._text, self._compiled.function.name, opened)
        run = self._function(parts.text, self._compiled.function.name)
        ticks, runs, trips = (np.zeros(len(parts.regions) + 1, np.int64) for _ in range(3))
        run(*self._leaves(), ticks, runs, trips)
        for array in (ticks, runs, trips):
            array[:] = 0
        least, seconds, calls = self._timed(run, (ticks, runs, trips))
        unit = seconds / max(float(ticks[-1]), 1.0)
        llvm = "\n".join(run.inspect_llvm().values())
        return _Run(parts, ticks / calls, runs[:-1] / calls, trips[:-1] / calls, least, unit, llvm)

    # ------------------------------------------------------------- by line

    def _lines(self, regions: Sequence[Region], seconds: Any, vectors: list[str]) -> tuple[LineCost, ...]:
        costs: dict[tuple[str, int], _Sum] = {}
        for region, spent, vector in zip(regions, seconds, vectors, strict=True):
            vector = "" if region.loop is None else "some" if vector == "yes" and region.loops > 1 else vector
            whole = sum(cost for _, cost in region.costs) or 1.0
            parts = [(place, line, cost / whole / len(self._places(line))) for line, cost in region.costs for place in self._places(line)]
            estimated = len({place for place, _, _ in parts}) > 1
            for place, line, share in parts:
                costs.setdefault(place, _Sum()).add(float(spent) * share, line >= self._back, vector, estimated)
        stored = self._stored()
        for place in stored:
            costs.setdefault(place, _Sum())
        return tuple(costs[place].line(place, stored.get(place, 0)) for place in sorted(costs) if place[1])

    def _places(self, line: int) -> Sequence[tuple[str, int]]:
        return self._rows[line - 1].places or [("", 0)]

    def _stored(self) -> dict[tuple[str, int], int | None]:
        """Bytes that are kept for the way back, by line."""
        from stgrad.explain.sizes import names_of, total
        from stgrad.memory import memory_report

        stages = self._compiled.trace.stages
        found: dict[tuple[str, int], int | None] = {}
        for row in memory_report(stages["optimised"], stages["specialised"]).kept:
            size, place = total(row, names_of(self._arguments)), (row.file, row.line or 0)
            before = found.get(place, 0)
            found[place] = None if size is None or before is None else before + size
        return found


class _Sum:
    """What a line costs, added up over the regions that it is in."""

    def __init__(self) -> None:
        self.forward = self.backward = 0.0
        self.vectors: set[str] = set()
        self.estimated = False

    def add(self, seconds: float, back: bool, vector: str, estimated: bool) -> None:
        self.backward += seconds if back else 0.0
        self.forward += 0.0 if back else seconds
        self.vectors |= {vector} - {""}
        self.estimated |= estimated and seconds > 0.0

    def line(self, place: tuple[str, int], stored: int | None) -> LineCost:
        import linecache

        vector = self.vectors.pop() if len(self.vectors) == 1 else "some" if "yes" in self.vectors or "some" in self.vectors else "no" if self.vectors else ""
        return LineCost(*place, linecache.getline(*place).rstrip("\n"), self.forward, self.backward, stored, vector, self.estimated)


def _worth_opening(run: _Run, clock: float) -> frozenset[int]:
    """The lines of loops of which a trip takes much longer than clocks in it would."""
    ticks, trips = run.ticks, run.trips
    chosen = [r for r in run.cut.regions if r.can_open and trips[r.number] and ticks[r.number] > SMALL * ticks[-1]]
    return frozenset(r.nodes[0].lineno for r in chosen if ticks[r.number] / trips[r.number] > WORTH * clock)


def _clock_ticks() -> float:
    """What a region without anything in it takes, in units of the clock."""
    import numba

    from stgrad.runtime import clock

    def empty(ticks: Any, n: Any) -> None:
        for _ in range(n):
            start = clock.now(0)
            ticks[0] += clock.now(1) - start

    run, ticks = numba.njit(empty), np.zeros(1, np.int64)
    run(ticks, 1)
    ticks[0] = 0
    run(ticks, 10_000)
    return float(ticks[0]) / 10_000
