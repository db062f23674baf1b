"""Partial derivatives that the program has computed: the cosine beside the sine of one angle.

    s = np.sin(t)         t_bar += s_bar * c
    c = np.cos(t)    ->   t_bar -= c_bar * s

The adjoint of a statement reads what another statement of its block makes of the same values, before it or behind it, as any other value of the
forward sweep: the function is not computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from stgrad.analysis.places import Place
from stgrad.frontend.builder import Builder
from stgrad.frontend.values import Sym
from stgrad.ir import Assign, Operand, Stmt, Var, reads
from stgrad.ir.ops import FUNCTION, operation

Placeholders = Mapping[str, tuple[str, Place, bool]]  # for the values of the forward sweep


def by_twins(builder: Builder, start: int, place: Place, placeholders: Placeholders, value: Callable[[str, bool, Place], Sym]) -> None:
    """Among the statements that the adjoint at a place has emitted from `start` on, let functions that its block computes stand for themselves."""
    for k in range(start, len(builder.out)):
        stmt = builder.out[k]
        if not isinstance(stmt, Assign) or not _costly(stmt):
            continue
        numbers = not any(builder.types[n].array for n in reads(stmt))  # into which nothing is stored in between
        twin = _twin(stmt, place, placeholders) if numbers else None
        if twin is None or builder.types[_made(twin)] != builder.types[stmt.target.name]:
            continue
        before = twin.index < place.index  # read where it is there in the reverse sweep
        found = value(_made(twin), False, place) if before else value(_made(twin), True, twin)
        assert isinstance(found.operand, Var)
        builder.out[k] = replace(stmt, op="alias", args=(found.operand,))


def _made(place: Place) -> str:
    assert isinstance(place.stmt, Assign)
    return place.stmt.target.name


def _costly(stmt: Assign) -> bool:
    known = operation(stmt.op)
    return known.kind == "function" and (known.cost or 0) >= FUNCTION and len(stmt.targets) == 1 and not stmt.kwargs


def _twin(stmt: Assign, place: Place, placeholders: Placeholders) -> Place | None:
    """The statement of a block that computes the same as the adjoint of one of its statements."""
    named = [placeholders.get(arg.name) if isinstance(arg, Var) else (arg, place, False) for arg in stmt.args]
    if any(found is None or found[1] is not place or found[2] for found in named):
        return None
    args = tuple(found[0] for found in named if found is not None)
    return next((p for p in place.region.places if _computes(p.stmt, stmt.op, args) and _same_values(args, place, p) and _stays(p, place)), None)


def _computes(stmt: Stmt, op: str, args: tuple[str | Operand, ...]) -> bool:
    if not isinstance(stmt, Assign) or stmt.op != op or len(stmt.targets) != 1 or stmt.kwargs:
        return False
    return tuple(arg.name if isinstance(arg, Var) else arg for arg in stmt.args) == args


def _same_values(args: tuple[str | Operand, ...], a: Place, b: Place) -> bool:
    """Whether names have the same values before two statements of a block."""
    return all(a.region.last(n, a.index) == a.region.last(n, b.index) for n in args if isinstance(n, str))


def _stays(twin: Place, place: Place) -> bool:
    """Whether what a statement in front of another one makes is still under its name there."""
    return twin.index > place.index or place.region.last(_made(twin), place.index) == twin.index


__all__ = ["by_twins"]
