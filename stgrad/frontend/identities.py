"""Which names of the program mean one array object, for `is`.

    y = x           one object: `y is x`
    z = x[1:]       another one: not `z is x`

Every array name has the object that its one assignment gave it. A name that gets a second one, on another path or in a loop around, may mean
either, and what an operation gives that hands on its argument (`np.asarray`) may be that or a new one: such a name is no object that none of
those is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stgrad.ir import Assign, Loc, Pack, Var, operand_vars
from stgrad.ir.ops import hands_on_at_most, makes_an_object

_VIEWS = frozenset("T transpose moveaxis rollaxis swapaxes rot90 einsum ravel reshape flip view broadcast_to".split())


@dataclass(frozen=True, eq=False)
class Thing:
    """An array object: `made` where an operation made it, `certain` where the name can mean no other; `loops` were open then.

    What is not certain may be one of `others`, or a new object; None stands for others of which nothing is known.
    """

    made: bool
    certain: bool
    loops: tuple[Any, ...]
    others: tuple[Thing, ...] | None = None

    def each(self) -> frozenset[Thing] | None:
        """All that it may be; None where nothing is known."""
        if self.certain:
            return frozenset({self})
        inner = [None] if self.others is None else [other.each() for other in self.others]
        return None if None in inner else frozenset({self}).union(*inner)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Apart:
    """Two names of arrays that must share no memory; with `copies`, made of them, only where these are written (see `stgrad.analysis.apart`).

    `one`: they may be one array, which no statement tells.
    """

    left: str
    right: str
    loc: Loc | None
    copies: tuple[str, ...] = ()
    one: bool = False


def assigned(things: dict[str, Thing], stmt: Assign, loops: Sequence[Any]) -> None:
    """Note what an assignment tells of the objects that its targets mean."""
    handed_on = stmt.op == "alias" and isinstance(stmt.args[0], Var)
    for target in stmt.targets:
        if handed_on:
            new = _of(things, stmt.args[0].name)  # type: ignore[union-attr]
        elif makes_an_object(stmt.op):
            new = Thing(True, True, tuple(loops))
        else:
            given = operand_vars(Pack((*stmt.args, *(value for _, value in stmt.kwargs))))
            new = Thing(True, False, tuple(loops), tuple(_of(things, v) for v in given) if hands_on_at_most(stmt.op) else None)
        old = things.get(target.name)
        things[target.name] = new if old is None else Thing(True, False, tuple(loops), (old, new))


def _of(things: dict[str, Thing], name: str) -> Thing:
    """The object of a name; one that nothing assigned is an argument or comes from outside."""
    return things.setdefault(name, Thing(False, True, ()))


def one_object(frame: Any, left: Any, right: Any) -> bool | None:
    """Whether two values of the program are one object; None where that is not certain: of numbers it never is."""
    if not (left.type.rank and right.type.rank):
        return False if left.type.rank or right.type.rank else None
    if not (isinstance(left.operand, Var) and isinstance(right.operand, Var)):
        return None
    things, a, b = frame.builder.things, left.name, right.name
    first, second = _of(things, a), _of(things, b)
    if not (_stays(frame, a, first) and _stays(frame, b, second)):
        return None
    if first is second:
        return True
    left_may_be, right_may_be = first.each(), second.each()
    if left_may_be is None or right_may_be is None or not all(one is not other and (one.made or other.made) for one in left_may_be for other in right_may_be):
        return None
    return False


def as_another(frame: Any, name: str, arguments: tuple[Any, ...], found: Any) -> Any:
    """What a function of NumPy gave: where it makes a view of its argument that needs no operation, another object all the same."""
    same = name in _VIEWS and isinstance(getattr(found, "operand", None), Var) and found.type.rank
    if not same or not any(getattr(a, "operand", None) == found.operand for a in arguments):
        return found
    view = frame.builder.variable("_t", found.type)
    frame.builder.copy_to(view, found)
    frame.builder.things[view.name] = Thing(True, True, tuple(frame.builder.loops))
    return view


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
