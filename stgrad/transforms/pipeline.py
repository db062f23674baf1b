"""The passes in order, as data: what each stage is called, and the program after it."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from stgrad import errors, progress
from stgrad.analysis.activity import Activity, activity
from stgrad.ir import Block, Function, Stack, Stmt, Store, assigns, map_blocks, walk
from stgrad.request import DEFAULT, Options
from stgrad.transforms.accumulate import accumulate
from stgrad.transforms.budget import BUDGET, at_fault, within
from stgrad.transforms.buffers import buffered
from stgrad.transforms.checkpoints import marked, unmarked
from stgrad.transforms.countdown import countdown
from stgrad.transforms.counters import counted
from stgrad.transforms.expand import expand
from stgrad.transforms.foreign import foreign
from stgrad.transforms.forward import forward
from stgrad.transforms.halves import Halves, halves, repeated
from stgrad.transforms.handovers import handed_over
from stgrad.transforms.inverses import inverses
from stgrad.transforms.libm import libm
from stgrad.transforms.lower import lowering
from stgrad.transforms.lower.carried import carried
from stgrad.transforms.lower.invariants import invariants
from stgrad.transforms.lower.jam import jam
from stgrad.transforms.lower.memory import huge_pages
from stgrad.transforms.lower.nests import SWITCHES
from stgrad.transforms.lower.products import products
from stgrad.transforms.lower.rotations import rotations
from stgrad.transforms.lower.slots import slots
from stgrad.transforms.lower.states import states
from stgrad.transforms.motion import move_invariants
from stgrad.transforms.nans import check_nans
from stgrad.transforms.needs import settle_budget
from stgrad.transforms.parallel import parallel
from stgrad.transforms.records import records
from stgrad.transforms.regions import without_rules
from stgrad.transforms.registry import REGISTRY, PassInfo, check, facts, sparing
from stgrad.transforms.reverse import reverse
from stgrad.transforms.series import series
from stgrad.transforms.simplify import simplify
from stgrad.transforms.sink import sink
from stgrad.transforms.small import small_arrays
from stgrad.transforms.sweeps import unite_sweeps
from stgrad.transforms.tallies import Pushed, filled, pushed
from stgrad.transforms.tidy import tidy
from stgrad.transforms.uniform import uniform
from stgrad.transforms.units import with_gradients, without_repeats
from stgrad.verify import verify

CHECK = os.environ.get("STGRAD_CHECK", "") not in ("", "0")


@dataclass
class Trace:
    """The programs after each stage, kept only where somebody wants to see them."""

    keep: bool = False
    stages: dict[str, Function] = field(default_factory=dict)
    primal: tuple[Function, Sequence[str]] | None = None  # what is differentiated, and in what
    activity: Activity | None = None  # of the names of the program that is differentiated, where stages are kept
    verified: Function | None = None  # a pass that changes nothing gives back what it took

    def add(self, name: str, fn: Function) -> Function:
        progress.at(name)
        if CHECK and fn is not self.verified:
            verify(fn)
            self.verified = fn
        if self.keep:
            self.stages[name] = fn
        return fn


def differentiate(fn: Function, wrt: Sequence[str], splice: Any, trace: Trace, **options: Any) -> Function:
    """The array-level gradient program of a program just read, or of another gradient program."""
    trace.add("anf", fn)
    fn = prepared(fn)
    if trace.keep:
        trace.activity = activity(fn, wrt)
        trace.add("activity", annotate(fn, trace.activity.active))
    fn = with_gradients(fn, wrt)
    fn = trace.add("reverse", backward(fn, lambda fn: reverse(fn, wrt, splice, **options)))
    return trace.add("optimised", handed_over(simplified(fn)))


def simplified(fn: Function) -> Function:
    """A derivative as its rules wrote it, without what they did not need to say."""
    return simplify(uniform(simplify(fn)))


def backward(fn: Function, reversal: Pass) -> Function:
    """The gradient program; within the memory budget, where one is set."""
    budget = BUDGET.get()
    if budget is None:
        return reversal(fn)
    fn = counted(fn)
    plain = reversal(fn)
    kept = keeps(simplify(plain))
    left: frozenset[str] = frozenset()
    while True:
        split = within(fn, budget, kept, left)
        try:
            return reversal(split) if split is not fn else plain
        except (errors.AliasingError, errors.UnsupportedSyntaxError) as problem:
            refused = at_fault(split, problem.loc)
            if not refused:
                raise
            left |= refused


def keeps(fn: Function) -> list[Pushed]:
    """What the loops of a gradient program keep as it runs: some passes keep less than the program says, and one more."""
    found: list[Pushed] = []
    for name, step in passes(DEFAULT).items():
        before, fn = fn, step(fn)
        if name == "sweeps":
            found = pushed(fn)
        if name == "hoist":
            return [*found, *filled(fn, frozenset(fn.types) - frozenset(before.types))]
    return found


def prepared(fn: Function) -> Function:
    """A program just read, as it is differentiated."""
    return move_invariants(small_arrays(sink(inverses(simplify(fn)))), elements=True)


def push_forward(fn: Function, directions: Sequence[Sequence[str]], splice: Any, trace: Trace, **options: Any) -> Function:
    """The array-level tangent program of a program just read, or of another derivative's."""
    trace.add("anf", fn)
    fn = prepared(fn)
    if trace.keep:
        trace.activity = activity(fn, sorted({name for direction in directions for name in direction}))
        trace.add("activity", annotate(fn, trace.activity.active))
    fn = trace.add("forward", forward(fn, directions, splice, **options))
    return trace.add("optimised", simplified(without_repeats(fn)))


def push_series(fn: Function, directions: Sequence[Sequence[str]], splice: Any, trace: Trace, **options: Any) -> Function:
    """The array-level program of the power series of a program's results; directions are its orders."""
    trace.add("anf", fn)
    fn = trace.add("series", series(prepared(fn), directions, splice, **options))
    return trace.add("optimised", simplified(fn))


Pass = Callable[[Function], Function]
FORWARD, REVERSE = "forward sweep", "reverse sweep"  # of a derivative in two programs
CUT = "storage"  # behind it sweeps can part: what one keeps for the other is in arrays, and statements work on arrays still
OPTIONAL = frozenset({*(p.name for p in REGISTRY if p.optional), *SWITCHES})


def passes(options: Options) -> dict[str, Pass]:
    """The passes from the array-level program to the one that is compiled, by name and in order.

    Raises ValueError where `options.without` names something else than a pass that can be left out.
    """
    unknown = options.without - OPTIONAL
    if unknown:
        raise ValueError(f"without={', '.join(sorted(unknown))}: what can be left out is {', '.join(sorted(OPTIONAL))}")
    steps = _bound(options.without)
    chosen = _chosen(frozenset(name for name in ("precise", "parallel") if getattr(options, name)))
    for info, spared in chosen.items():
        if "apart" in spared:
            steps[info.name] = partial(invariants, allocations=False) if info.name == "invariants" else partial(products, reuse=False)
    return {info.name: partial(_step, steps[info.name]) for info in chosen if info.name not in options.without}


def _step(step: Pass, fn: Function) -> Function:
    """The program after a pass; the same object where the pass has changed nothing, so that what is known of it stays."""
    after = step(fn)
    same = len(after.body) == len(fn.body) and all(map(operator.is_, after.body, fn.body)) and after.constants is fn.constants
    parts = (after.params, after.result, after.written, after.types)
    return fn if same and parts == (fn.params, fn.result, fn.written, fn.types) else after


@cache
def _chosen(asked: frozenset[str]) -> dict[PassInfo, frozenset[str]]:
    """The passes that some options ask for, in a legal order, each with the facts that it must spare."""
    chosen = sparing(info for info in REGISTRY if not info.asked or info.asked in asked)
    check(replace(info, destroys=" ".join(facts(info.destroys) - spared)) for info, spared in chosen.items())
    return chosen


def _bound(without: frozenset[str]) -> dict[str, Pass]:
    """The functions of the passes by name."""
    return {
        **lowering(without),
        "expand": lambda fn: simplify(expand(fn)),
        "countdown": countdown,
        "records": lambda fn: simplify(records(fn)),
        "sweeps": lambda fn: simplify(unite_sweeps(fn)),
        "small": partial(small_arrays, last=True),
        "motion": move_invariants,
        "states": states,
        "cleanup": simplify,
        "accumulate": lambda fn: simplify(accumulate(fn)),
        "foreign": foreign,
        "slots": slots,
        "carried": carried,
        "rotations": rotations,
        "jam": jam,
        "tidy": tidy,
        "products": products,
        "pages": huge_pages,
        "libm": libm,
        "parallel": parallel,
    }


def specialise(fn: Function, trace: Trace, options: Options = DEFAULT) -> Function:
    """The program as it is compiled: loops over scalars, typed storage."""
    fn = _tested(fn, options)
    lists = frozenset(s.name for s in walk(fn.body) if isinstance(s, Stack))
    for name, step in passes(options).items():
        fn = trace.add(name, step(fn))
    return trace.add("specialised", settle_budget(fn, lists, None if options.memory is None else options.memory.bytes))


def specialise_apart(fn: Function, late: Sequence[str], values: int, trace: Trace, options: Options = DEFAULT) -> Halves:
    """A derivative as two programs: the second is what depends on the parameters `late`, and what the first one keeps for it.

    They part once lists have their places. With a budget of memory, and where lists would have to be passed on that are none of numbers, nothing is
    kept but the arguments: the second program does all over again.
    """
    found = None if options.memory is not None else _parted(fn, late, values, trace, options)
    whole = found is None
    found = found or repeated(_tested(fn, options), late, values)
    trace.add(FORWARD, found.forward)
    trace.add(REVERSE, found.reverse)
    behind = Trace(trace.keep)
    left = {} if whole else _rest(options)
    forward, reverse = (_lowered(half, steps, options, left) for half, steps in ((found.forward, trace), (found.reverse, behind)))
    for name, stage in behind.stages.items():
        trace.add(f"{name} (reverse)", stage)
    return Halves(forward, reverse, found.kept)


def _parted(fn: Function, late: Sequence[str], values: int, trace: Trace, options: Options) -> Halves | None:
    """The two programs before they are lowered; None where they share what cannot be passed on."""
    fn = _tested(fn, options)
    for name, step in passes(_unmixed(options)).items():
        fn = trace.add(name, step(fn))
        if name == CUT:
            return halves(buffered(fn, late), late, values)
    raise AssertionError(CUT)


def _rest(options: Options) -> dict[str, Pass]:
    """The passes behind the cut."""
    steps = passes(_unmixed(options))
    names = list(steps)
    return {name: steps[name] for name in names[names.index(CUT) + 1 :]}


def _unmixed(options: Options) -> Options:
    """Without the pass that unites sweeps, as one of them is to run without the other."""
    return replace(options, without=options.without | {"sweeps"})


def _lowered(fn: Function, trace: Trace, options: Options, rest: dict[str, Pass]) -> Function:
    if not rest:
        return specialise(fn, trace, options)
    for name, step in rest.items():
        fn = trace.add(name, step(fn))
    return trace.add("specialised", fn)


def _tested(fn: Function, options: Options) -> Function:
    fn = without_rules(fn.with_body(unmarked(fn.body)) if marked(fn.body) else fn)
    return check_nans(fn) if options.check_nan else fn


def annotate(fn: Function, active: frozenset[str]) -> Function:
    """The program with a comment on each statement that has an active result."""

    def block(b: Block) -> Block:
        return tuple(_mark(map_blocks(block, s), active) for s in b)

    return fn.with_body(block(fn.body))


def _mark(stmt: Stmt, active: frozenset[str]) -> Stmt:
    written = (stmt.target.name,) if isinstance(stmt, Store) else assigns(stmt)
    names = [n for n in written if n in active]
    return replace(stmt, note=f"active: {', '.join(names)}" if names else None)

