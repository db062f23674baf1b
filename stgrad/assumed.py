"""The program for one signature under the assumptions that hold: first those under which it is short and fast, then, where it is refused, others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from stgrad import errors
from stgrad.frontend import outlining
from stgrad.frontend.concessions import CONCESSIONS
from stgrad.frontend.extents import ASSUMPTION, Assumption
from stgrad.ir import Function
from stgrad.printer import to_source
from stgrad.program import Compiled, Spec, compiled_once, last_line
from stgrad.request import DEFAULT, Derivative, innermost
from stgrad.unit_readings import seen


def compile_program(target: Any, specs: Mapping[str, Spec], *, keep: bool = False) -> Compiled:
    """Run the whole pipeline for one signature.

    Where the program that takes extents to be equal would be run twice if they are not, and more is seen of it than its result, it is
    the one that broadcasts as it runs. What cannot be done with helpers as units is done with their bodies in place of their calls.
    """
    try:
        return _with_units(target, specs, keep)
    except RecursionError:
        function = innermost(getattr(target, "derivative", target).function)
    raise errors.UnsupportedSyntaxError(
        f"`{getattr(function, '__name__', function)}` nests too deeply",
        last_line(function),
        reason="a branch that returns holds all that follows it, so a hundred of them are a hundred levels",
        hint="bind the result in the branches and return it once, or loop over a table of the cases",
    )


def _with_units(target: Any, specs: Mapping[str, Spec], keep: bool) -> Compiled:
    """The program with helpers as units where that is of use."""
    if CONCESSIONS.get().exits:  # a unit cannot tell a side exit from what its callers catch
        return _without_effects(target, _settled(target, specs, keep))
    permission = outlining.Permission(_one_program(getattr(target, "derivative", target)))
    token = outlining.ALLOWED.set(permission)
    try:
        return _settled(target, specs, keep)
    except errors.StgradError:
        if not permission.used:
            raise
        outlining.ALLOWED.set(outlining.Permission())
        return _settled(target, specs, keep)
    finally:
        outlining.ALLOWED.reset(token)


def _without_effects(target: Any, compiled: Compiled) -> Compiled:
    """A program that may end half-way, and then runs again: refused where somebody would see that."""
    if CONCESSIONS.get().made and _effects(target, compiled.function):
        raise errors.UnsupportedSyntaxError("a program that may end half-way prints, draws, or writes to its arguments", None)
    return compiled


def _one_program(request: Any) -> bool:
    """Whether a function, or a derivative of one, goes through the transforms that know calls of units."""
    if not isinstance(request, Derivative):
        return True
    return request.mode in ("primal", "grad", "value_and_grad", "vjp", "jvp") and _one_program(getattr(request.function, "derivative", request.function))


def _settled(target: Any, specs: Mapping[str, Spec], keep: bool) -> Compiled:
    """The program of the assumptions on extents that hold."""
    try:
        with _assuming(getattr(target, "options", DEFAULT).broadcast) as assumption:
            compiled = compiled_once(target, specs, keep)
    except errors.StgradError:
        if not assumption.rolled and not assumption.squeezed and not assumption.caught:
            raise
        with _assuming(assumption.run_time or assumption.caught, written_out=assumption.rolled, dropped=assumption.squeezed) as assumption:
            compiled = compiled_once(target, specs, keep)
    seen = (assumption.inside or assumption.short) and _effects(target, compiled.function)
    if assumption.run_time or not (seen and assumption.inside or assumption.caught):
        first = not assumption.run_time
        return replace(compiled, optimistic=first and assumption.made, short=first and assumption.short and not seen)
    with _assuming(run_time=True, written_out=assumption.written_out):
        return compiled_once(target, specs, keep)


def _effects(target: Any, fn: Function) -> bool:
    """Whether a run that is given up half-way has been seen: it printed, drew, or wrote to arrays of the caller (derivatives write to copies)."""
    written = fn.written if getattr(target, "derivative", target).mode == "primal" else frozenset()
    return bool(written) or seen(fn)


@contextmanager
def _assuming(run_time: bool, written_out: bool = False, dropped: bool = False) -> Iterator[Assumption]:
    assumption = Assumption(run_time, written_out=written_out, dropped=dropped)
    token = ASSUMPTION.set(assumption)
    try:
        yield assumption
    finally:
        ASSUMPTION.reset(token)


def array_text(target: Any, specs: Mapping[str, Spec], name: str, doc: str) -> tuple[str, list[Any]]:
    """The program before it is lowered to loops, as the text of one function, and the captured arrays that are its last arguments."""
    compiled = compile_program(target, specs, keep=True)
    text = to_source(replace(compiled.trace.stages["optimised"], name=name, doc=doc))
    return text[text.index("def ") :], [c.value for c in compiled.reading.captures if c.variable is not None]


__all__ = ["array_text", "compile_program"]
