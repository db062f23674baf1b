"""Tapes that come round again: their reverse sweep is compiled in the background, and run compiled from then on.

`sweep_again` stands where the interpreted sweep of a tape would stand, and gives the same gradients to rounding. Each structure (see
`fingerprint`) has an entry here. It is swept by the interpreter until it was seen often and long enough to pay; then a plan is made
and compiled by another process, for which a thread waits. The first sweeps by a plan are compared with those of the interpreter, and the
next ones are timed. What is refused, differs or is no faster stays with the interpreter, silently and for good.

STGRAD_TAPE_COMPILE=0 switches all of this off; 'now' compiles at the first sight, on the calling thread; 'plain' does the same without Numba.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from stgrad.eager.background import worker
from stgrad.eager.fingerprint import Key, fingerprint
from stgrad.eager.record import QUIET, loud, quiet, state

Grads = dict[int, Any]
Seeds = list[tuple[int, Any]]

_TOLERANCE = {"f4": 1e-3, "f8": 1e-8, "c8": 1e-3, "c16": 1e-8}


@dataclass
class Settings:
    """When a structure is compiled."""

    enabled: bool = True
    seen: int = 3  # times
    seconds: float = 0.2  # of interpreted sweeps, all together: native code takes seconds to make
    shortest: int = 4  # nodes
    longest: int = 5000
    structures: int = 256  # kept, the least recently used ones go
    programs: int = 512  # compiled in the life of the process
    checks: int = 3  # sweeps that are compared with the interpreter's, where no gradient is all zeros
    patience: int = 8  # sweeps that are compared in any case
    trials: int = 8  # timed runs of a plan
    wait: bool = False  # compile on the calling thread
    jit: bool = True
    strict: bool = False  # for tests: raise what would be a silent return to the interpreter


def _from_environment() -> Settings:
    mode = os.environ.get("STGRAD_TAPE_COMPILE", "1").lower()
    if mode in ("0", "off", "false", "no"):
        return Settings(enabled=False)
    if mode in ("now", "plain"):
        return Settings(seen=0, seconds=0.0, shortest=1, trials=0, wait=True, jit=mode == "now")
    return Settings()


settings = _from_environment()
_entries: dict[Key, Entry] = {}
_lock = threading.Lock()
_clock = itertools.count().__next__
_REST = 32  # new structures in a row, after which only one tape in eight is looked at


@dataclass
class Entry:
    """What is known of one structure. Threads may race in it: at worst something is counted or checked once more."""

    seen: int = 0
    seconds: float = 0.0
    best: float = np.inf  # seconds of an interpreted sweep
    used: int = 0
    status: str = "new"  # then 'waiting', 'made', 'checked'; or 'refused'
    reason: str = ""
    plan: Any = None
    connected: frozenset[int] = frozenset()  # positions of sources that get a gradient
    checks: int = 0  # comparisons so far, and how many of them told something: no gradient was all zeros
    telling: int = 0
    trials: list[float] = field(default_factory=list)

    def refuse(self, reason: str) -> None:
        self.status, self.reason, self.plan = "refused", reason, None


class _Count:
    """Compiled programs so far."""

    programs = 0


def sweep_again(
    nodes: Sequence[Any], followed: Any, seeds: Seeds, sources: Sequence[int], interpret: Callable[[], Grads], keep: Callable[[Entry], None]
) -> Grads:
    """The gradients of the tensors with ids `sources`, by a compiled plan where there is one, else by `interpret()`.

    Args:
        nodes: of the recording.
        followed: the ids that the recording follows.
        seeds: ids of targets and their cotangents, arrays.
        sources: ids, each once.
        interpret: the interpreted sweep; it is called last, and may use the nodes up.
        keep: gets the entry.
    """
    entry = _entry(nodes, seeds, sources)
    if entry is None:
        return interpret()
    keep(entry)
    if entry.status == "new" and entry.seen >= settings.seen and entry.seconds >= settings.seconds:
        _submit(entry, nodes, seeds, sources)
    if entry.status == "checked" or entry.status == "made":
        found = _planned(entry, nodes, followed, seeds, sources, interpret)
        if found is not None:
            return found
    start = perf_counter()
    grads = interpret()
    seconds = perf_counter() - start
    entry.seen += 1
    entry.seconds += seconds
    entry.best = min(entry.best, seconds)
    return grads


def _entry(nodes: Sequence[Any], seeds: Seeds, sources: Sequence[int]) -> Entry | None:
    """The entry of a recording's structure; None where it is not worth a look."""
    if not settings.shortest <= len(nodes) <= settings.longest:
        return None
    if state.new_structures > _REST and _clock() % 8:
        return None
    key = fingerprint(nodes, [target for target, _ in seeds], sources)
    if key is None:
        return None
    entry = _entries.get(key)
    if entry is None:
        state.new_structures += 1
        entry = _remember(key)
    else:
        state.new_structures = 0
    entry.used = _clock()
    return entry


def _remember(key: Key) -> Entry:
    with _lock:
        if len(_entries) >= settings.structures:
            oldest = sorted(_entries, key=lambda k: _entries[k].used)
            for old in oldest[: len(_entries) - settings.structures + 1 + settings.structures // 8]:
                del _entries[old]
        return _entries.setdefault(key, Entry())


# ------------------------------------------------------------------ compiling


def _submit(entry: Entry, nodes: Sequence[Any], seeds: Seeds, sources: Sequence[int]) -> None:
    from stgrad.eager.statements import facts_of

    entry.status = "waiting"
    facts = facts_of(nodes, [target for target, _ in seeds], sources)  # holds no tensor
    if settings.wait:
        _make(entry, facts)
    elif not worker.submit(lambda: _make(entry, facts)):
        entry.status = "new"


def _make(entry: Entry, facts: Any) -> None:
    """Make and compile the plan of a structure; what fails is remembered as its reason."""
    from stgrad.eager.aside import make_plan_aside
    from stgrad.eager.plan import Run, make_plan

    with _quietly(entry):
        plan = (make_plan_aside if settings.jit and not settings.wait else make_plan)(facts, _refused)
        runs = [step for step in plan.steps if isinstance(step, Run)]
        if not runs:
            entry.refuse("no three operations in a row that the compiler takes")
            return
        if _Count.programs + len(runs) > settings.programs:
            entry.refuse("enough programs were compiled")
            return
        plan.compile(settings.jit)
        _Count.programs += len(runs)
        entry.plan, entry.status = plan, "made"


_refused: set[Any] = set()  # operations that the compiler turned out not to take


class _quietly:
    """A block of which the failures are those of an entry."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: Any, trace: Any) -> bool:
        if not isinstance(problem, Exception):
            return False
        self.entry.refuse(f"{kind.__name__}: {problem}")
        return not settings.strict


def _other_layout(entry: Entry, problem: Any) -> None:
    """Compile for arrays that lie in memory in another way; the interpreter goes on in the meantime."""
    run, layouts = problem.args
    before, entry.status = entry.status, "waiting"

    def make() -> None:
        with _quietly(entry):
            if layouts not in run.layouts and len(run.layouts) >= _layouts():
                entry.refuse("its arrays lie in memory in too many ways")
                return
            run.make(layouts)
            entry.status = before

    if settings.wait:
        make()
    elif not worker.submit(make):
        entry.status = before


def _layouts() -> int:
    from stgrad.eager.plan import LAYOUTS

    return LAYOUTS


# ------------------------------------------------------------------ running


def _planned(
    entry: Entry, nodes: Sequence[Any], followed: Any, seeds: Seeds, sources: Sequence[int], interpret: Callable[[], Grads]
) -> Grads | None:
    """A sweep by the plan; None where the interpreter must do it."""
    start = perf_counter()
    grads = _run(entry, nodes, followed, seeds, sources)
    if grads is None:
        return None
    if entry.status == "made":
        wanted = interpret()
        _check(entry, grads, wanted, sources)
        return wanted
    if len(entry.trials) < settings.trials:
        entry.trials.append(perf_counter() - start)
        if len(entry.trials) == settings.trials and min(entry.trials) > entry.best:
            entry.refuse("the interpreted sweep is as fast")
    return {s: grads[s] for i, s in enumerate(sources) if i in entry.connected and s in grads}


def _run(entry: Entry, nodes: Sequence[Any], followed: Any, seeds: Seeds, sources: Sequence[int]) -> Grads | None:
    from stgrad.eager.plan import OtherLayoutError

    plan = entry.plan
    if plan is None:
        return None
    for _ in range(1 + _layouts() * settings.wait):
        grads: Grads = {}
        for key, seed in seeds:
            before = grads.get(key)
            grads[key] = seed if before is None else before + seed
        token = quiet(QUIET)
        try:
            plan.pull_back(nodes, followed, grads, set(sources))
            return grads
        except OtherLayoutError as problem:
            _other_layout(entry, problem)
            if entry.status not in ("made", "checked"):
                return None
        except (TypeError, ValueError, ArithmeticError, LookupError, RuntimeError) as problem:
            if settings.strict:
                raise
            entry.refuse(f"{type(problem).__name__}: {problem}")
            return None
        finally:
            loud(token)
    return None


def _check(entry: Entry, found: Grads, wanted: Grads, sources: Sequence[int]) -> None:
    """The first gradients by a plan against those of the interpreter."""
    connected = [i for i, s in enumerate(sources) if s in wanted]
    values = [wanted[sources[i]] for i in connected]
    sizes = [float(np.max(np.abs(v[np.isfinite(v)]), initial=0.0)) for v in map(np.asarray, values)]
    for i, value in zip(connected, values):
        other = found.get(sources[i])
        if other is None or not _equal(np.asarray(other), np.asarray(value), max(sizes)):
            entry.refuse("its gradients differ from those of the interpreted sweep")
            if settings.strict:
                raise AssertionError(f"{entry.reason}: {other} for {value}")
            return
    entry.connected = frozenset(connected) | entry.connected
    entry.checks += 1
    entry.telling += all(np.any(v) for v in values)
    if entry.telling >= settings.checks or entry.checks >= settings.patience:
        entry.status = "checked"


def _equal(a: Any, b: Any, size: float) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    tolerance = _TOLERANCE.get(b.dtype.str[1:], 0.0)
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * size, equal_nan=True))


def source_of(entry: Entry | None) -> str | None:
    """The text of the plan of an entry, if it has one."""
    return None if entry is None or entry.plan is None else str(entry.plan.text)
