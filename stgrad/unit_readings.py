"""Reading a function with what becomes functions beside it: what recurs by value, and helpers that a long program calls over and over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stgrad import errors
from stgrad.frontend import Reading, outlining, read, read_closure
from stgrad.frontend.boxes import read_twice
from stgrad.frontend.inlining import IN_PLACE
from stgrad.frontend.units import RECURSIVE
from stgrad.ir import Assign, Effect, Function, walk
from stgrad.ir.ops import operation
from stgrad.recursion import array_program_of
from stgrad.values import Closure


def read_with_units(function: Any, specs: Mapping[str, Any], checked: bool | None) -> Reading:
    """The program of a function; of a long one, helpers that it calls over and over become units beside it, where they can be.

    Args:
        function: a function, or one that is defined in a program being read.
        specs: what is known of its arguments, by name.
        checked: the option of that name, for the programs of units.

    Raises:
        StgradError: it cannot be read.
    """
    permission = outlining.ALLOWED.get()
    if not permission.allowed:
        return _read(function, specs)
    with outlining.reading() as state:
        found = _read(function, specs)
    helpers = outlining.worth_it(state, found.function)
    if not helpers:
        return found
    try:
        with outlining.reading(helpers) as state:
            shorter = _read(function, specs)
        effects = any(seen(array_program_of(made.unit, checked)) for made in state.made)
    except errors.StgradError:  # a function must be one for all of its calls; in place of each it may be another
        return found
    permission.used |= not effects
    return found if effects else shorter


def _read(function: Any, specs: Mapping[str, Any]) -> Reading:
    """The program of a function; functions that call themselves too deeply, or too often, to be read in place become units beside it.

    Those that end there, but cannot be units, are read in place however often they call themselves.
    """
    around = recursive = RECURSIVE.get()
    in_place, first = IN_PLACE.get(), None
    while True:
        tokens = RECURSIVE.set(recursive), IN_PLACE.set(in_place)
        try:
            found: Reading = read_twice(lambda: read_closure(function, specs) if isinstance(function, Closure) else read(function, specs))
            return found
        except errors.StgradError as problem:
            more = {id(problem.tree)} - recursive if isinstance(problem, errors.RecursionDepthError) else set()
            if more - in_place:
                recursive |= more
            elif in_place >= recursive:
                raise first or problem from None
            else:
                first, in_place, recursive = problem, in_place | recursive, around
        finally:
            RECURSIVE.reset(tokens[0])
            IN_PLACE.reset(tokens[1])


def seen(fn: Function) -> bool:
    """Whether a run of a program is seen even if its result is not: it prints, or draws."""
    return any(isinstance(s, Effect) and s.op == "print" or isinstance(s, Assign) and operation(s.op).draws for s in walk(fn.body))


__all__ = ["read_with_units", "seen"]
