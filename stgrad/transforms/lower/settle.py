"""Extents that always equal one of an argument take its symbol."""

from __future__ import annotations

from dataclasses import replace

from stgrad.analysis.definitions import definitions
from stgrad.ir import Dim, Function, Type
from stgrad.transforms.lower.settled import as_dim, settled


def settle(fn: Function) -> Function:
    """The program with symbols of arguments for those that always equal one."""
    known = {symbol: one for symbol, total in settled(fn).items() if (one := as_dim(total)) is not None}
    if not known:
        return fn

    def extent(dim: Dim) -> Dim:
        found = known.get(dim.symbol) if dim.symbol is not None else None
        return dim if found is None else Dim(found.symbol, found.offset + dim.offset)

    def settled_type(t: Type) -> Type:
        return replace(t, dims=tuple(map(extent, t.dims))) if t.dims else t

    counts = definitions(fn).counts  # a name with several definitions may stand for arrays of several extents
    return replace(fn, types={name: settled_type(t) if counts[name] <= 1 else t for name, t in fn.types.items()})
