"""Extents below that of an array: `x[2:]` has n - 2 items where x has at least two, and none where it has fewer.

As bounds of loops both are the same. Where such an extent is computed with, joined to others or divided by, it must be right: so the
program tests at its start that the argument is long enough,

   if x.shape[0] < 2: raise ValueError(...)

or at the place itself where that is in a branch. Of arrays that the program makes nothing is claimed there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Sym, Value, type_of
from stgrad.ir import Const, Dim, Effect, If, Loc, Type, Var

_COUNTING: set[Callable[..., Any]] = {np.mean, np.var, np.std, np.average, np.median, np.quantile, np.percentile, np.nanmean, np.nanvar, np.nanstd}
_COUNTING |= {np.reshape, np.ravel, np.prod, np.pad}


def count_items(frame: Frame, call: Any, args: tuple[Value, ...]) -> None:
    """Assure the extents of arrays whose items an operation counts."""
    if call in _COUNTING and args and isinstance(args[0], Sym):
        for dim in args[0].type.dims:
            assured(frame, dim)


def assured(frame: Frame, dim: Dim) -> bool:
    """Whether the program tests that an extent is not below 0, or need not; False for extents that no argument has."""
    builder = frame.builder
    least = -dim.offset
    if dim.symbol is None or least <= 0 or builder.extents.least.get(dim.symbol, 0) >= least and _owner(frame, dim.symbol) is not None:
        return True
    owner = _owner(frame, dim.symbol)
    if owner is None or ASSUMPTION.get().run_time:
        return False
    conditional = any(region.conditional for region in builder.regions)
    ASSUMPTION.get().note(inside=conditional)
    if conditional:
        _test(frame, owner, dim)
    else:
        builder.extents.least[dim.symbol] = least
    return True


def natural(frame: Frame, stop: Value, dim: Dim) -> bool:
    """Whether so many numbers stand before `stop`: the program tests that there are not fewer than none, or need not.

    Those of an array's extent are counted as the items of a slice are, where they are used.
    """
    if dim.symbol is None or _owner(frame, dim.symbol) is not None:
        return dim.offset >= 0 or not ASSUMPTION.get().run_time
    if ASSUMPTION.get().run_time or not isinstance(stop, Sym):
        return False
    ASSUMPTION.get().note(inside=bool(frame.builder.tries) or any(region.conditional for region in frame.builder.regions))
    below = frame.builder.call("np.less", (stop, (type_of(stop).value or dim).offset - dim.offset), Type("bool", weak=True))
    assert isinstance(below, Sym)
    message = errors.with_line("fewer numbers than none are counted", frame.builder.loc)
    frame.builder.emit(If(below.operand, (Effect("raise", (Const("ValueError"), Const(message))),), (), frame.builder.loc))
    return True


def too_short(name: str, axis: int, least: int, loc: Loc | None) -> Effect:
    """The error of an argument that its slices leave nothing of."""
    message = f"axis {axis} of `{name}` is shorter than {least}: slices of it leave out more than it has"
    return Effect("raise", (Const("ValueError"), Const(errors.with_line(message, loc))))


def _owner(frame: Frame, symbol: str) -> tuple[Sym, int] | None:
    """The argument or captured array that has an extent, and along which axis."""
    types = frame.builder.types
    named = symbol.rpartition(".")[0]
    for name in (named, *frame.builder.pinned):
        t = types.get(name)
        if t is not None and Dim(symbol) in t.dims:
            return Sym(Var(name), t), t.dims.index(Dim(symbol))
    return None


def _test(frame: Frame, owner: tuple[Sym, int], dim: Dim) -> None:
    """The test where the extent is used."""
    array, axis = owner
    n = frame.builder.call("shape", (array, axis), Type("int64", weak=True, value=Dim(dim.symbol)))
    short = frame.builder.call("np.less", (n, -dim.offset), Type("bool", weak=True))
    assert isinstance(short, Sym)
    loc = frame.builder.cut.get(dim, frame.builder.loc)
    frame.builder.emit(If(short.operand, (too_short(array.name, axis, -dim.offset, loc),), (), frame.builder.loc))
