"""What is pushed and restored between the sweeps, and its place in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from stgrad import errors
from stgrad.analysis.places import Place, Region, every
from stgrad.ir import (
    Block,
    Const,
    Custom,
    Effect,
    For,
    Operand,
    Stack,
    Stmt,
    Var,
    While,
    map_blocks,
    map_operand,
    map_operands,
    rename,
    walk,
)

RESTORE = "restore"  # marks, in a reverse block, the place before the adjoint of one forward statement


@dataclass
class Plan:
    """What to push after which forward statement, and what to restore before which reverse statement."""

    pushes: dict[tuple[int, int], list[Stmt]] = field(default_factory=dict)  # (region, index): statements after it
    before: dict[int, list[Stmt]] = field(default_factory=dict)  # place number: statements before it
    restores: dict[tuple[int, int], list[Stmt]] = field(default_factory=dict)
    stacks: list[str] = field(default_factory=list)


def insert_forward(block: Block, region: Region, plan: Plan) -> Block:
    """The forward sweep with its pushes."""
    out: list[Stmt] = list(plan.pushes.get((id(region), -1), []))
    for place, stmt in zip(region.places, block, strict=True):
        inner = iter(place.inner)
        out += plan.before.get(place.number, [])
        out.append(map_blocks(lambda b, inner=inner: insert_forward(b, next(inner), plan), stmt))  # type: ignore[misc]
        out += plan.pushes.get((id(region), place.index), [])
    return tuple(out)


def insert_reverse(block: Block, names: dict[str, Operand], plan: Plan) -> Block:
    """The reverse sweep with its placeholders replaced and values restored at the marks."""

    def leaf(operand: Operand) -> Operand:
        return names.get(operand.name, operand) if isinstance(operand, Var) else operand

    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Effect) and stmt.op == RESTORE:
            region, index, _ = (a.value for a in stmt.args if isinstance(a, Const))
            out += plan.restores.get((region, index), [])
            continue
        new = map_blocks(lambda b: insert_reverse(b, names, plan), map_operands(leaf, stmt))
        if isinstance(new, Custom):  # its rule, for another order of derivative, reads the same values
            known = {n: o.name for n, o in names.items() if isinstance(o, Var)}
            results = tuple(map_operand(leaf, r) for r in new.results)
            new = replace(new, pullback=rename(new.pullback, known), results=results)
        out.append(new)
    return tuple(out)


def left_out(places: Iterable[Place], plan: Plan, code: Block) -> set[int]:
    """Statements that restore something where the sweep has nothing of them, and those around them.

    An array may be written without an adjoint, `if x[0] > 0.0`, while an earlier statement needs what it held.
    """
    marks = {tuple(a.value for a in s.args[:2] if isinstance(a, Const)) for s in walk(code) if isinstance(s, Effect) and is_mark(s)}
    found: set[int] = set()
    for place in places:
        at: Place | None = place if (key := (id(place.region), place.index)) in plan.restores and key not in marks else None
        while at is not None:
            found.add(at.number)
            at = at.region.owner
    return found


def insert(plan: Plan, places: Sequence[Place], insertions: dict[int, list[Stmt]]) -> None:
    """Put what marked loops do in the forward sweep into its plan."""
    check_unsaved(plan, places)
    for place in places:
        if place.number in insertions:
            plan.before[place.number] = [*plan.before.get(place.number, []), *insertions[place.number]]


def check_unsaved(plan: Plan, places: Iterable[Place]) -> None:
    """Refuse marked loops in whose trips the program around them would have to save something."""
    for place in places:
        if not isinstance(place.stmt, (For, While)) or place.stmt.snapshots is None:
            continue
        inner = [p for region in place.inner for p in every(region)]
        regions = {id(p.region) for p in inner}
        if any(p.number in plan.before for p in inner) or any(region in regions for region, _ in plan.pushes):
            raise errors.AliasingError(
                "a checkpointed loop overwrites an array that is read before it under another name",
                place.stmt.loc,
                reason="what the loop overwrites would have to be kept for each trip",
                hint="let the loop work on a copy: u = u.copy() before it",
            )


def is_mark(stmt: Stmt) -> bool:
    return isinstance(stmt, Effect) and stmt.op == RESTORE


def declare(plan: Plan) -> list[Stmt]:
    return [Stack(name) for name in plan.stacks]
