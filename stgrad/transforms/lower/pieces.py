"""Pieces of programs that several passes write: zeros of a type, memory that is taken in turn."""

from __future__ import annotations

import numpy as np

from stgrad.ir import Assign, Const, Type, Var
from stgrad.names import Names


def zero(type_: Type) -> Const:
    """A zero of a scalar type."""
    value = np.dtype(type_.dtype).type(0)
    return Const(value.item() if type_.dtype in ("float64", "int64", "bool", "complex128") else value)


def turned(ring: list[Var], names: Names, types: dict[str, Type]) -> list[Assign]:
    """The piece that was used longest ago comes first."""
    if len(ring) == 1:
        return []
    spare = Var(names.fresh("_t"))
    types[spare.name] = types[ring[0].name]
    moves = zip((spare, *ring[:0:-1], ring[0]), (ring[-1], *ring[-2::-1], spare), strict=True)
    return [Assign((to,), "alias", (source,)) for to, source in moves]
