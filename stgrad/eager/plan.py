"""How a recording of a known structure is swept: compiled programs for runs of nodes, the interpreter for what lies between them.

A run ends at a node that the compiler does not take, at a source inside the recording, and after `LONGEST` nodes. Between runs cotangents
are handed on in a dictionary by tensor id, as in the interpreted sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stgrad.eager.statements import Fact, Facts
from stgrad.eager.sweep import pull_back
from stgrad.ir import Operand, Type, Var, map_operand, operand_vars
from stgrad.straight import Layout, Step, Straight, Sweep, layout_of, load, reverse_sweep, warm

LONGEST = 100  # nodes in one program: native code is made in a time that grows faster than its length
LINES = 300  # of one program, beyond which its nodes are divided
SHORTEST = 3  # nodes that are worth a program
LAYOUTS = 4  # native versions of one program

Grads = dict[int, Any]


class OtherLayoutError(Exception):
    """Arrays lie in memory in another way than native code was made for."""


@dataclass
class Run:
    """Consecutive nodes as one compiled program."""

    indices: tuple[int, ...]
    sweep: Sweep
    collect: Callable[[Any], tuple[Any, ...]]  # from the nodes: the values that are parameters
    results: Callable[[Any], tuple[Any, ...]]  # the tensors whose cotangents come in
    wrt: Callable[[Any], tuple[Any, ...]]  # the tensors whose cotangents go out
    passed: tuple[int, ...]  # which of the incoming cotangents are parameters
    casts: tuple[Any, ...]  # NumPy's class of each outgoing scalar, None for arrays
    layouts: list[tuple[Layout, ...]] = field(default_factory=list)
    function: Any = None

    def pull_back(self, nodes: Any, grads: Grads, sources: Container[int]) -> None:
        """One sweep over the nodes of this run. Raises OtherLayoutError where there is no native code for the arrays at hand."""
        outputs = self.results(nodes)
        bars = [grads.get(y._id) if y._id in sources else grads.pop(y._id, None) for y in outputs]
        if None in map(type_or_none, bars):
            if all(bar is None for bar in bars):
                return
            bars = [np.zeros_like(y._a) if bar is None else bar for bar, y in zip(bars, outputs)]
        arguments = (*self.collect(nodes), *[bars[i] for i in self.passed])
        try:
            found = self.function(*arguments)
        except TypeError:
            wanted = tuple(map(layout_of, arguments))
            if wanted in self.layouts:
                raise
            raise OtherLayoutError(self, wanted) from None
        if len(self.casts) == 1:
            found = (found,)
        for x, g, cast in zip(self.wrt(nodes), found, self.casts):
            key = x._id
            before = grads.get(key)
            if cast is not None:
                g = cast(g)
            grads[key] = g if before is None else before + g

    def make(self, layouts: tuple[Layout, ...]) -> None:
        """Native code for arguments of these layouts."""
        if len(self.layouts) < LAYOUTS:
            warm(self.function, layouts)
            self.layouts.append(layouts)


def type_or_none(x: Any) -> Any:
    return None if x is None else type(x)


@dataclass
class Plan:
    """The steps of a sweep, last node first: runs, and indices of nodes that the interpreter pulls back."""

    steps: list[Run | int]

    @property
    def text(self) -> str:
        """The programs, in the order in which they run."""
        return "\n\n".join(step.sweep.text for step in self.steps if isinstance(step, Run))

    def pull_back(self, nodes: Any, followed: Container[int], grads: Grads, sources: Container[int]) -> None:
        for step in self.steps:
            if type(step) is int:
                pull_back(nodes[step], followed, grads, sources)
            else:
                step.pull_back(nodes, grads, sources)

    def compile(self, jit: bool = True) -> None:
        for step in self.steps:
            if isinstance(step, Run):
                step.function = load(step.sweep, jit=jit)
                if jit:
                    step.make(step.layouts.pop())


# ------------------------------------------------------------------ making a plan


def make_plan(facts: Facts, refused: set[Any]) -> Plan:
    """A plan, not compiled yet. Operations on types that the compiler turns out not to take are added to `refused`.

    Raises StgradError where a run is refused though none of its operations is.
    """
    while True:
        pieces = list(_pieces(facts, refused))
        try:
            return Plan([step for piece in pieces for step in ([piece] if isinstance(piece, int) else _runs(facts, piece))][::-1])
        except refusals():
            culprits = _culprits(facts, [p for p in pieces if isinstance(p, list)]) - refused
            if not culprits:
                raise
            refused |= culprits


def described(plan: Plan) -> list[Any]:
    """A plan for another process: its steps without the functions."""
    return [step if isinstance(step, int) else (step.indices, step.sweep) for step in plan.steps]


def plan_of(facts: Facts, steps: list[Any]) -> Plan:
    """The plan that another process described."""
    by_index = {fact.index: fact for fact in facts.facts}
    return Plan([step if isinstance(step, int) else _run(facts, [by_index[i] for i in step[0]], step[1]) for step in steps])


def refusals() -> tuple[type[Exception], ...]:
    """What the compiler raises for a program that it does not take."""
    from numba.core.errors import NumbaError

    from stgrad.errors import StgradError

    return (StgradError, NumbaError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError)


def _culprits(facts: Facts, runs: list[list[Fact]]) -> set[Any]:
    """The kinds of operations of which one alone is refused."""
    found: set[Any] = set()
    tried: set[Any] = set()
    for fact in (f for run in runs for f in run):
        trial = _trial(facts, fact)
        if trial in tried:
            continue
        tried.add(trial)
        try:
            reverse_sweep(_straight(facts, [fact], fact.made, fact.read)[0])
        except refusals():
            found.add(trial)
    return found


def _trial(facts: Facts, fact: Fact) -> Any:
    """An operation and the kinds of values that it was seen with."""
    types = [facts.types[n] for n in (*fact.made, *fact.read)]
    return (fact.kind, *[(t.dtype, t.weak, *[d.constant for d in t.dims]) for t in types])


def _pieces(facts: Facts, refused: set[Any]) -> Iterator[list[Fact] | int]:
    """Runs of nodes, and single nodes by their index, in the order of the recording."""
    run: list[Fact] = []
    inside = set(facts.sources)
    for fact in facts.facts:
        if fact.step is None or _trial(facts, fact) in refused:
            yield from _whole(run)
            run = []
            yield fact.index
            continue
        run.append(fact)
        if len(run) == LONGEST or not inside.isdisjoint(fact.made):
            yield from _whole(run)
            run = []
    yield from _whole(run)


def _whole(run: list[Fact]) -> Iterator[list[Fact] | int]:
    if len(run) < SHORTEST:
        yield from [fact.index for fact in run]
    else:
        yield run


def _runs(facts: Facts, run: list[Fact]) -> list[Run]:
    """Consecutive nodes as one program, or as several where it would be too long to compile."""
    whole, half = _run(facts, run), len(run) // 2
    if whole.sweep.text.count("\n") <= LINES or half < SHORTEST:
        return [whole]
    return [*_runs(facts, run[:half]), *_runs(facts, run[half:])]


def _run(facts: Facts, run: list[Fact], sweep: Sweep | None = None) -> Run:
    made = {name for fact in run for name in fact.made}
    last = run[-1].index
    later = {name for fact in facts.facts if fact.index > last for name in fact.read}
    results = [name for fact in run for name in fact.made if name in later or name in facts.targets]
    active = set(facts.sources) | {name for fact in facts.facts for name in fact.made if facts.types[name].is_float}
    wrt = [name for name in dict.fromkeys(n for fact in run for n in fact.read) if name in active and name not in made]
    program, names = _straight(facts, run, results, wrt)
    if sweep is None:
        sweep = reverse_sweep(program)
    passed = tuple([i for i, seed in enumerate(sweep.seeds) if seed in sweep.params])
    values = [names[p] for p in sweep.params if p in names]
    known = [facts.layouts[names[p]] if p in names else _in_order(facts.layouts[results[sweep.seeds.index(p)]]) for p in sweep.params]
    return Run(
        tuple([fact.index for fact in run]), sweep, _getter([facts.access[v] for v in values]), _tensors(facts, results), _tensors(facts, wrt), passed,
        tuple([_cast(facts.types[n]) for n in wrt]), [tuple(known)],
    )  # fmt: skip


def _in_order(layout: Layout) -> Layout:
    """C order: what a cotangent has, as far as can be told."""
    return layout if len(layout) == 1 else (layout[0], layout[1], "C", True)


def _cast(type_: Type) -> Any:
    return None if type_.array else np.dtype(type_.dtype).type


def _tensors(facts: Facts, names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    return _getter([facts.access[n].removesuffix("[()]").removesuffix("._a") for n in names])


def _getter(expressions: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function of the nodes that gathers values from them."""
    listed = "".join(f"{e}, " for e in expressions)
    function: Callable[[Any], tuple[Any, ...]] = eval(compile(f"lambda n: ({listed})", "<stgrad tape>", "eval"), {})  # noqa: S307
    return function


def _straight(facts: Facts, run: list[Fact], results: Sequence[str], wrt: Sequence[str]) -> tuple[Straight, dict[str, str]]:
    """A run as a program of its own, and what its names are in the recording: equal runs give equal programs."""
    steps = [fact.step for fact in run if fact.step is not None]
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    made = {name for step in steps for name in step.targets}
    for name in [*wrt, *(n for s in steps for n in (*_names(s.args), *_names([v for _, v in s.kwargs]), *s.targets))]:
        if name not in names:
            letter = name[0] if name in made or name[0] == "c" else "x"
            counts[letter] = counts.get(letter, -1) + 1
            names[name] = f"{letter}{counts[letter]}"
    operations = list(dict.fromkeys(s.op if isinstance(s.op, str) else s.op.__name__ for s in steps))
    shown = ", ".join(operations[:6]) + (", ..." if len(operations) > 6 else "")
    program = Straight(
        "sweep", tuple([_renamed(s, names) for s in steps]), tuple([names[n] for n in results]), tuple([names[n] for n in wrt]),
        {new: facts.types[old] for old, new in names.items()}, f"Reverse sweep of {len(steps)} recorded operations: {shown}.",
    )  # fmt: skip
    return program, {new: old for old, new in names.items()}


def _renamed(step: Step, names: dict[str, str]) -> Step:
    def leaf(operand: Operand) -> Operand:
        return Var(names[operand.name]) if isinstance(operand, Var) else operand

    args = tuple([map_operand(leaf, a) for a in step.args])
    return Step(step.op, tuple([names[t] for t in step.targets]), args, tuple([(k, map_operand(leaf, v)) for k, v in step.kwargs]))


def _names(operands: Sequence[Operand]) -> list[str]:
    return [name for operand in operands for name in operand_vars(operand)]
