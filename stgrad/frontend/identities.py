"""Which names of the program mean one array object, for `is`.

    y = x           one object: `y is x`
    z = x[1:]       another one: not `z is x`

Every array name has the object that its one assignment gave it. A name that gets a second one, on another path or in a loop around, may mean
either, and so may what an operation gives that hands on its argument (`np.asarray`): of these nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stgrad.ir import Assign, Loc, Var
from stgrad.ir.ops import makes_an_object


@dataclass(frozen=True, eq=False)
class Thing:
    """An array object: `made` where an operation made it, `certain` where the name can mean no other; `loops` were open then."""

    made: bool
    certain: bool
    loops: tuple[Any, ...]


@dataclass(frozen=True)
class Apart:
    """Two names of arrays that must share no memory; with `copies`, made of them, only where these are written (see `stgrad.analysis.apart`)."""

    left: str
    right: str
    loc: Loc | None
    copies: tuple[str, ...] = ()


def assigned(things: dict[str, Thing], stmt: Assign, loops: Sequence[Any]) -> None:
    """Note what an assignment tells of the objects that its targets mean."""
    handed_on = stmt.op == "alias" and isinstance(stmt.args[0], Var)
    for target in stmt.targets:
        if target.name in things:
            things[target.name] = Thing(False, False, tuple(loops))
        elif handed_on:
            things[target.name] = things.setdefault(stmt.args[0].name, Thing(False, True, ()))  # type: ignore[union-attr]
        else:
            made = makes_an_object(stmt.op)
            things[target.name] = Thing(made, made, tuple(loops))


def one_object(frame: Any, left: Any, right: Any) -> bool | None:
    """Whether two values of the program are one object; None where that is not certain: of numbers it never is."""
    if not (left.type.rank and right.type.rank):
        return False if left.type.rank or right.type.rank else None
    if not (isinstance(left.operand, Var) and isinstance(right.operand, Var)):
        return None
    things, a, b = frame.builder.things, left.name, right.name
    first, second = (things.setdefault(name, Thing(False, True, ())) for name in (a, b))
    if not (_stays(frame, a, first) and _stays(frame, b, second)):
        return None
    if first is second:
        return True
    return False if first.certain and second.certain and (first.made or second.made) else None


def _stays(frame: Any, name: str, thing: Thing) -> bool:
    """Whether no loop around gives the name to another object in a later trip."""
    from stgrad.frontend.heap import frames_of

    for one in frames_of(frame):
        held = one.owned.get(name)
        for loop in frame.builder.loops if held is not None else ():
            owner, names, _ = loop
            if not isinstance(held, str) or owner.home is one.home and held in names and not any(loop is known for known in thing.loops):
                return False
    return True
