"""Branches of the running program: both sides are read, then what they leave is joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stgrad import errors
from stgrad.frontend.certainties import RAISED, emit_raise, exit_of, left
from stgrad.frontend.departures import Leaves, Unreached
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import Grows, State, contents, path_of, put
from stgrad.frontend.joins import Join
from stgrad.frontend.partly import together
from stgrad.frontend.unassigned import one_sided
from stgrad.frontend.values import UNDEFINED, Growing, Maybe, Sym, Undefined, Value
from stgrad.ir import If

ATTEMPTS = 24  # readings of a loop or branch until the types in it settle; each list and dict that begins to grow in it takes up to three


def branch(frame: Frame, cond: Sym, then: Callable[[], Value], orelse: Callable[[], Value], wish: str) -> Value:
    """The value of `then() if cond else orelse()`; names that either side binds are joined as well."""
    return growing(frame, lambda state: _branch(frame, state, cond, then, orelse, wish))


def choice(frame: Frame, cond: Sym, a: Value, b: Value, wish: str) -> Value:
    """The value of `a if cond else b` of two that are both there: nothing is read on either side, so nothing is kept to be taken back."""
    ends: tuple[list[Any], list[Any]] = ([], [])
    result = Join(frame, ends).value(a, b, wish, fresh=True)
    if ends[0] or ends[1]:
        frame.builder.emit(If(cond.operand, tuple(ends[0]), tuple(ends[1]), frame.builder.loc, frame.builder.note))
    return result


def raise_where(frame: Frame, holds: Value, kind: str, message: str) -> None:
    """Raise what Python raises where a condition holds, known or not."""
    if isinstance(holds, Sym):
        branch(frame, holds, lambda: emit_raise(frame, kind, message), lambda: None, "_t")
    elif holds:
        emit_raise(frame, kind, message)


def growing(frame: Frame, read: Callable[[State], Value]) -> Value:
    """`read` a part of the program; lists that get items in it are made to grow before it, and it is read again."""
    depth = len(frame.builder.regions)
    grown: dict[int, Any] = {}
    state = State(frame)
    for _ in range(ATTEMPTS):
        try:
            begin_growing(frame, grown)
            return read(State(frame) if grown else state)
        except Grows as found:
            if found.depth != depth:
                raise
            state.restore()
            note_growth(grown, found)
    raise errors.TypeInferenceError("the types of a list that grows do not settle", frame.builder.loc)


def _branch(frame: Frame, state: State, cond: Sym, then: Callable[[], Value], orelse: Callable[[], Value], wish: str) -> Value:
    before = dict(frame.env)
    sides = [_side(frame, state, before, side) for side in (then, orelse)]
    if all(isinstance(s.unreached, Leaves) for s in sides):
        return _both_leave(frame, cond, sides)
    reached = [s for s in sides if s.unreached is None]
    if len(reached) < 2:
        return _one_side(frame, cond, sides, reached)
    (then_block, then_env, a, then_changed, _), (else_block, else_env, b, else_changed, _) = sides
    join, whole = Join(frame, (then_block, else_block)), [list(s.block) for s in sides]
    try:
        _join_containers(frame, join, then_changed, else_changed)
        result = join.value(a, b, wish, fresh=True)
    except errors.TypeInferenceError as error:
        for side, block in zip(sides, whole, strict=True):
            side.block[:] = block
        left_by = exit_of(frame, then_block, error)
        return _one_side(frame, cond, [sides[0]._replace(unreached=left_by), sides[1]], [sides[1]])
    frame.env = _join_env(frame, join, before, then_env, else_env)
    if then_block or else_block:
        frame.builder.emit(If(cond.operand, tuple(then_block), tuple(else_block), frame.builder.loc, frame.builder.note))
    return result


class _Side(NamedTuple):
    """What one side of a branch leaves; `unreached` where nothing comes to its end: no first trip of a loop, or nothing as it raises."""

    block: list[Any]
    env: dict[str, Value]
    value: Value
    changed: dict[int, Any]
    unreached: Unreached | Leaves | None = None


def _side(frame: Frame, state: State, before: dict[str, Value], read: Callable[[], Value]) -> _Side:
    frame.env = dict(before)
    unreached: Unreached | Leaves | None = None
    value = None
    with frame.builder.block() as block, frame.speculate(conditional=True) as region:
        try:
            value = read()
        except (Unreached, Leaves) as found:
            unreached = found
        except (errors.StgradError, *RAISED) as error:
            unreached = left(frame, error)
    changed = {k: (c, contents(c)) for k, c in region.changed.items()}
    state.restore_containers()
    return _Side(block, frame.env, value, changed, unreached)


def _one_side(frame: Frame, cond: Sym, sides: list[_Side], reached: list[_Side]) -> Value:
    """After a branch of which one side ends by raising, or is not reached in a first trip; the loop is read again."""
    if not reached:
        raise next(s.unreached for s in sides if isinstance(s.unreached, Unreached))
    (side,) = reached
    for container, held in side.changed.values():
        put(container, held)
    frame.env = side.env
    then, orelse = (tuple(s.block) if s is side or isinstance(s.unreached, Leaves) else () for s in sides)
    frame.builder.emit(If(cond.operand, then, orelse, frame.builder.loc, frame.builder.note))
    return side.value


def _both_leave(frame: Frame, cond: Sym, sides: list[_Side]) -> Value:
    """After a branch that raises on either side nothing runs."""
    frame.env = sides[0].env
    frame.builder.emit(If(cond.operand, tuple(sides[0].block), tuple(sides[1].block), frame.builder.loc, frame.builder.note))
    if frame.builder.regions and frame.builder.regions[-1].conditional:
        raise Leaves(None)


def _join_containers(frame: Frame, join: Join, then: dict[int, Any], orelse: dict[int, Any]) -> None:
    """Make each container that either side changed hold the join of what both left in it."""
    for k in [*then, *(k for k in orelse if k not in then)]:
        container = (then.get(k) or orelse[k])[0]
        a, b = (side[k][1] if k in side else contents(container) for side in (then, orelse))
        what = path_of(frame, container)
        if list(a) != list(b):
            a, b = together(container, a, b) or (a, b)
        if list(a) != list(b):
            open_table(frame, container, (a, b))
            raise errors.TypeInferenceError(
                f"`{what}` has other entries on one path than on the other",
                frame.builder.loc,
                reason=f"{', '.join(map(str, a)) or 'none'} and {', '.join(map(str, b)) or 'none'}",
                hint="give it all its entries before the branch",
            )
        lengths = ("count",) if isinstance(container, Growing) else ()
        put(container, {i: join.number(a[i], b[i], f"{what}_{i}") if i in lengths else join.value(a[i], b[i], f"{what}_{i}", fresh=True) for i in a})


def _join_env(frame: Frame, join: Join, before: dict[str, Value], a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    env: dict[str, Value] = {}
    for name in [*a, *(n for n in b if n not in a)]:
        x, y = a.get(name, UNDEFINED), b.get(name, UNDEFINED)
        if isinstance(x, (Undefined, Maybe)) or isinstance(y, (Undefined, Maybe)):
            env[name] = one_sided(join, name, x, y)
        else:
            env[name] = _joined_or_unreadable(join, x, y, name)
    return env


def _joined_or_unreadable(join: Join, x: Value, y: Value, name: str) -> Value:
    """Two values that no one variable can hold are an error only where the name is read."""
    try:
        return join.value(x, y, name)
    except errors.TypeInferenceError as error:
        return Maybe(x, error)


def open_table(frame: Frame, container: Value, sides: tuple[dict[Any, Value], dict[Any, Value]]) -> None:
    """Read the branch again with a table for a dict that gets other keys on one path than on the other, where it can be one."""
    from stgrad.frontend import tables

    if tables.can_be_table(frame, container, sides):
        raise Grows(*tables.begins_at(frame, container), None, False)


def begin_growing(frame: Frame, grown: dict[int, Any], trips: Callable[[], Value] | None = None) -> list[Growing]:
    from stgrad.frontend import growth as lists

    return lists.begin(frame, list(grown.values()), trips)


def note_growth(grown: dict[int, Any], found: Grows) -> None:
    from stgrad.frontend import growth as lists

    lists.note(grown, found)
