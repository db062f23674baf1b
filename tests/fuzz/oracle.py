"""Whether a program is right: its value, gradient and what it raises, against plain Python and differences.

A program is right where it gives Python's value and the derivative that differences see, or raises what Python raises, or is refused by a StgradError
with a place. All else is a fault.
"""

from __future__ import annotations

import contextlib
import copy
import os
import re
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import stgrad
from stgrad.errors import InternalError, StgradError
from stgrad.plain import recorded

from .generator import Draft
from .poison import poisoned
from .reference import Reference, arguments, direction, floats, inner, load, moved

GOOD = ("ok", "raised", "refused", "skipped")


@dataclass(frozen=True)
class Outcome:
    """What became of a program.

    `kind` is 'ok'; 'raised', as under Python; 'refused'; 'skipped', where differences tell nothing; or a fault: 'wrong' (a number), 'crashed' (an exception
    that is not Python's), 'passed' (a number where Python raises), 'placeless' (refused without a place), 'changed' (the caller's arrays), 'killed'.
    """

    kind: str
    detail: str = ""

    @property
    def is_fault(self) -> bool:
        return self.kind not in GOOD

    @property
    def signature(self) -> str:
        """The same for outcomes of one kind that differ in names, numbers and places alone."""
        first = self.detail.splitlines()[0] if self.detail else ""
        rest = [line.split(":")[0] if line.startswith("Python") else line for line in self.detail.splitlines()[1:] if line.startswith(("in ", "Python "))]
        return " ".join([f"{self.kind}: {normal(first)}", *(f"({line})" for line in rest)])


def normal(text: str) -> str:
    """A message without the names and numbers of its program."""
    if "has no derivative rule" in text:
        return text
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "_", text)
    text = re.sub(r"\b[a-zA-Z]\w*\d+\b|-?\b\d[\d.e+-]*\b|\b0x\w+", "#", text)
    return text[:110]


def place_of(problem: BaseException) -> str:
    """The innermost function of the package that an exception came through."""
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if f"{os.sep}stgrad{os.sep}" in f.filename]
    known = [f"{f.filename.rpartition(f'{os.sep}stgrad{os.sep}')[2]}:{f.name}" for f in frames]
    return f"in {known[-1]}" if known else "in the generated program"


@dataclass(frozen=True)
class Mode:
    """How a program is run: with Numba, in parallel, to which order; or recorded in plain Python, as refused programs are, whatever the compiler does."""

    jit: bool = False
    parallel: bool = False
    order: int = 1
    recorded: bool = False


def check(draft: Draft, mode: Mode = Mode(), seed: int = 0) -> Outcome:
    """What becomes of a program; `seed` chooses the direction and what is asked for."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            reference = Reference(draft)
        except Exception as problem:  # noqa: BLE001  (what is left of a program while it is made small)
            return Outcome("skipped", f"the module raises {type(problem).__name__}")
        raised: Exception | None = None
        value: Any = None
        try:
            value = reference.value()
        except Exception as problem:  # noqa: BLE001  (whatever the program raises is what ours has to raise)
            raised = problem
        if raised is None and not (isinstance(value, (float, int, np.number)) and abs(value) < 1e6):
            return Outcome("skipped", "the value is large or not a number")
        return _compared(draft, mode, seed, reference, value, raised)


def _compared(draft: Draft, mode: Mode, seed: int, reference: Reference, value: Any, raised: Exception | None) -> Outcome:
    names = load(draft.text)
    given = arguments(draft, names)
    try:
        found = _run(names["f"], given, mode, seed)
    except StgradError as refusal:
        if raised is not None and isinstance(refusal, type(raised)) and not mode.recorded:
            return Outcome("raised", type(refusal).__name__)
        return Outcome("refused", f"{type(refusal).__name__}: {refusal}") if mode.recorded else _refused(refusal)  # users see the compiler's refusal
    except Exception as problem:  # noqa: BLE001
        if raised is not None and _same_class(problem, raised):
            return Outcome("raised", type(problem).__name__)
        if isinstance(problem, OverflowError) and " (line " in str(problem):
            return Outcome("refused", str(problem))  # an integer that is not Python's is known as the program runs
        wanted = "" if raised is None else f"\nPython raises {type(raised).__name__}: {raised}"
        return Outcome("crashed", f"{type(problem).__name__}: {problem}{wanted}\n{place_of(problem)}")
    if raised is not None:
        return Outcome("passed", f"gives {found[0]!r}, Python raises {type(raised).__name__}: {raised}")
    if not _same(given, arguments(draft, names)):
        return Outcome("changed", "the caller's arrays were changed")
    return _judged(draft, mode, seed, reference, value, *found)


def _same_class(found: Exception, wanted: Exception) -> bool:
    """Whether an exception is Python's; which of two faults of a program comes first is not told, since tests of positions stand before loops."""
    if isinstance(found, type(wanted)) or isinstance(wanted, type(found)) and type(wanted).__module__ == "numpy.exceptions":
        return True
    return {type(found), type(wanted)} == {IndexError, ValueError}


def _refused(refusal: StgradError) -> Outcome:
    detail = f"{type(refusal).__name__}: {refusal}"
    if isinstance(refusal, InternalError):
        return Outcome("crashed", f"{detail}\n{place_of(refusal)}")
    return Outcome("refused" if refusal.loc is not None else "placeless", detail)


def _run(f: Any, args: list[Any], mode: Mode, seed: int) -> tuple[Any, Any, Any, Any]:
    """The value (None where it was not asked for), the gradients, the tangent and the second derivative along a direction (None at order one)."""
    chosen = [i for i, a in enumerate(args) if any(True for _ in floats(a))]
    if mode.recorded:
        found = recorded(f, tuple(args), {}, tuple([(0, i) for i in chosen]))
        return found.value, found.pullback(1.0), None, None
    asked = stgrad.grad if seed % 2 else stgrad.value_and_grad
    with contextlib.nullcontext() if mode.jit else poisoned():
        found = asked(f, chosen, jit=mode.jit, parallel=mode.parallel)(*args)
        value, gradients = found if asked is stgrad.value_and_grad else (None, found)
        pushed = stgrad.jvp(f, copy.deepcopy(args), direction(args, seed + 2), jit=mode.jit, parallel=mode.parallel)
        second = None
        if mode.order > 1:
            second = stgrad.hvp(f, copy.deepcopy(args), direction(args, seed + 1), jit=mode.jit)
    return value, gradients, pushed, second


def _judged(draft: Draft, mode: Mode, seed: int, reference: Reference, want: Any, value: Any, gradients: Any, pushed: Any, second: Any) -> Outcome:
    tolerance = 2e-3 if draft.float32 else 1e-6
    if value is not None and not abs(value - want) <= tolerance * 1e-2 * max(1.0, abs(want)):
        return Outcome("wrong", f"value: {value!r}, should be {want!r}")
    leaves, found = [w for a in draft.args.values() for w in floats(a)], list(floats(gradients))
    if len(leaves) != len(found):
        return Outcome("wrong", f"structure: {len(found)} gradients of {len(leaves)} floats")
    for a, g in zip(leaves, found, strict=True):
        if np.shape(a) != np.shape(g) or isinstance(a, np.ndarray) and a.dtype != g.dtype:
            return Outcome("wrong", f"shape: a gradient of {np.shape(g)}, its argument has {np.shape(a)}")
    v = direction(reference.args, seed)
    outcome = _slopes(reference, v, list(gradients), tolerance)
    if outcome.kind == "ok" and pushed is not None:
        outcome = _pushed(direction(reference.args, seed + 2), found, want, pushed, tolerance)
    if outcome.kind != "ok" or second is None:
        return outcome
    return _second(draft, mode, seed, v, second)


def _pushed(v: list[Any], gradients: list[Any], want: Any, pushed: Any, tolerance: float) -> Outcome:
    """Forward mode against the gradients that were found right: <x_bar, x_dot> = y_dot."""
    value, tangent = pushed
    if not abs(value - want) <= tolerance * 1e-2 * max(1.0, abs(want)):
        return Outcome("wrong", f"value in forward mode: {value!r}, should be {want!r}")
    along = [d for a in v for d in floats(a)]
    size = 1.0 + sum(float(np.sum(np.abs(np.asarray(g, np.float64) * d))) for g, d in zip(gradients, along, strict=True))
    slope = inner(gradients, along)
    if not abs(float(tangent) - slope) <= tolerance * 1e-1 * size:
        return Outcome("wrong", f"tangent in forward mode: {tangent!r}, the gradient says {slope!r}")
    return Outcome("ok", "")


def _slopes(reference: Reference, v: list[Any], gradients: list[Any], tolerance: float) -> Outcome:
    """The gradients along a direction against differences."""
    along = [d for a in v for d in floats(a)]
    flat = list(floats(gradients))
    got = inner(flat, along)
    size = 1e-3 + sum(float(np.sum(np.abs(np.asarray(g, np.float64) * d))) for g, d in zip(flat, along, strict=True))
    try:
        slope = reference.slope(v)
        if not np.isfinite(slope.value) or not abs(slope.value) < 1e8:
            return Outcome("skipped", "the derivative is large or not a number")
        size = max(abs(slope.value), size if np.isfinite(size) else 0.0, 1e-3)
        if slope.doubt > 1e-3 * max(1.0, abs(slope.value)) or slope.doubt > 1e-5 * size and tolerance < 1e-3:
            return Outcome("skipped", "differences do not agree")
        if abs(got - slope.value) <= tolerance * size + 20 * slope.doubt:
            return Outcome("ok")
        if not reference.is_smooth(v, size):
            return Outcome("skipped", "a kink")
    except (ArithmeticError, ValueError, IndexError, TypeError, UnboundLocalError) as problem:  # off the point the program may fail
        return Outcome("skipped", f"differences raise {type(problem).__name__}")
    what = "nan" if not np.isfinite(got) else "number"
    return Outcome("wrong", f"gradient ({what}): {got!r}, should be {slope.value!r}")


def _second(draft: Draft, mode: Mode, seed: int, v: list[Any], product: Any) -> Outcome:
    """The product with the Hessian, against differences of the gradient that the first order found right.

    What `stop_gradient` gives is a constant of the second derivative too, but differences of the gradient move it.
    """
    if "stop_gradient" in draft.text:
        return Outcome("skipped", "differences of the gradient do not stop")
    names = load(draft.text)
    args = arguments(draft, names)
    u = direction(args, seed + 1)
    chosen = [i for i, a in enumerate(args) if any(True for _ in floats(a))]
    gradient = stgrad.grad(names["f"], chosen, jit=mode.jit)
    got = inner([p for p in product if p is not None], [d for a in v for d in floats(a)])
    candidates = []
    for h in (1e-3, 1e-4, 1e-5):
        sides = [gradient(*moved(args, u, s * h)) for s in (1, -1)]
        ends = [inner(list(floats(g)), [d for a in v for d in floats(a)]) for g in sides]
        candidates.append((ends[0] - ends[1]) / (2 * h))
    spread = max(candidates) - min(candidates)
    size = max(1.0, abs(candidates[1]))
    if not np.isfinite(spread) or spread > 1e-3 * size or size > 1e7:
        return Outcome("skipped", "differences of the gradient do not agree")
    if abs(got - candidates[1]) <= 1e-4 * size + 5 * spread:
        return Outcome("ok")
    return Outcome("wrong", f"second order: {got!r}, should be {candidates[1]!r}")


def _same(a: Any, b: Any) -> bool:
    """Whether two structures hold equal numbers."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if hasattr(a, "__dataclass_fields__"):
        return _same(vars(a), vars(b))
    return bool(np.array_equal(a, b))
