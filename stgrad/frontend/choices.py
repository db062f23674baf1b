"""Names that paths leave with values of which no one variable can hold two: functions, texts, None, instances of several classes, a number and an array.

    f = np.sin if w > 0.5 else np.cos            f_choice = 0, or 1, at the ends of the paths
    y = f(x) * 2.0                       ->      if f_choice == 0: y = np.sin(x) * 2.0
                                                 else: y = np.cos(x) * 2.0

The values are known while the program is read, but for which of them it is. A statement that reads such a name is read once for each of them, and what the
readings leave is joined; an `if` whose test reads it with all that it holds, so that what the test tells is known there. Where an expression gives such a
value without a name, what uses it is read once for each: a call, an operator, a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.certainties import RAISED
from stgrad.frontend.control import branch
from stgrad.frontend.departures import Chooses, Leaves
from stgrad.frontend.frame import AGAIN, SPLIT, Frame
from stgrad.frontend.heap import State
from stgrad.frontend.optionals import unwrapped
from stgrad.frontend.values import Chosen, Maybe, Optional, Sym, Value, rebuild, static_of

SIMPLE = (gast.Assign, gast.AugAssign, gast.Expr, gast.Return, gast.Assert, gast.Delete, gast.Raise, gast.If)
USES = (gast.Call, gast.BinOp, gast.UnaryOp, gast.Compare, gast.Subscript, gast.Attribute, gast.Tuple, gast.List, gast.Dict, gast.Set, gast.Slice,
        gast.NamedExpr, gast.JoinedStr, gast.FormattedValue, *SIMPLE)


def split(frame: Frame, chosen: Chosen, read: Callable[[Value], Value]) -> Value:
    """What `read` gives for the value that the running program has chosen."""
    index = static_of(chosen.index)
    if not isinstance(index, Sym):
        return read(chosen.options[index])

    def chain(k: int) -> Value:
        if k == len(chosen.options) - 1:
            return read(chosen.options[k])
        here = operations.binary(frame, gast.Eq, index, k)
        return branch(frame, here, lambda: read(chosen.options[k]), lambda: chain(k + 1), "_t")

    return chain(0)


def execute(frame: Frame, node: Any, handler: Callable[[Frame, Any], Value]) -> Value:
    """Read a statement, once for each value of the names in it that stand for one of several; what it returns."""
    for name in (*_read_by(node), *_stored(frame, node)):
        owner = _owner(frame, name)
        if owner is not None:
            chosen = _chosen(owner.env[name])
            assert chosen is not None
            result = split(frame, chosen, lambda option, chosen=chosen: _narrowed(frame, chosen, option, lambda: execute(frame, node, handler)))  # type: ignore[misc]
            return _returned(frame, node, result)
    return frame.perform(node, handler)


def _returned(frame: Frame, node: Any, result: Value) -> Value:
    if isinstance(node, gast.Return):
        frame.result = result
    return result


def again(frame: Frame, node: Any, handler: Callable[[Frame, Any], Any], found: Chooses) -> Any:
    """Read what uses one of several values once for each; its other parts, as far as they have been evaluated, are what they are."""
    record = frame.record
    if not isinstance(node, USES) or id(found.node) not in record or record[id(found.node)][1] is not found.chosen:
        raise found
    outer = frame.given

    def read(option: Value) -> Any:
        frame.record = {**record, id(found.node): (found.node, option)}
        frame.given = {**outer, **frame.record}
        try:
            return handler(frame, node)
        except Chooses as other:
            return again(frame, node, handler, other)
        finally:
            frame.given = outer

    return _returned(frame, node, split(frame, found.chosen, read))


def _narrowed(frame: Frame, chosen: Chosen, option: Value, read: Callable[[], Any]) -> Any:
    """`read`, with the option in place of all that was chosen with it; names that are not bound anew mean what they meant behind it."""
    at = next(k for k, o in enumerate(chosen.options) if o is option)
    before: list[tuple[Frame, str, Value, Value]] = []
    place: Frame | None = frame
    while place is not None:
        for name, value in list(place.env.items()):
            one = _settled(value, chosen, at)
            if one is not value:
                before.append((place, name, value, one))
                place.env[name] = one
        place = place.parent
    try:
        return read()
    finally:
        for owner, name, value, one in before:
            if owner.env.get(name) is one:
                owner.env[name] = value


def _settled(value: Value, chosen: Chosen, at: int) -> Value:
    """A value, or a tuple, with one option for all that was chosen at the same place."""
    if isinstance(value, tuple):
        items = [_settled(v, chosen, at) for v in value]
        return rebuild(value, items) if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if value is chosen or isinstance(value, Chosen) and _same_choice(value, chosen):
        return value.options[at]
    return value


def _same_choice(a: Chosen, b: Chosen) -> bool:
    return isinstance(a.index, Sym) and isinstance(b.index, Sym) and a.index.operand == b.index.operand and len(a.options) == len(b.options)


def _chosen(value: Value) -> Chosen | None:
    """What stands for one of several values, in a tuple too."""
    if isinstance(value, tuple):
        return next((found for v in value if (found := _chosen(v)) is not None), None)
    return value if isinstance(value, Chosen) else None


def _owner(frame: Frame, name: str) -> Frame | None:
    """The activation in which a name stands for one of several values."""
    place: Frame | None = frame
    while place is not None:
        if place.owns(name) and name in place.env:
            value = place.env[name]
            if isinstance(value, Maybe) and _chosen(value.value) is not None and value.error is None:
                place.env[name] = value = value.value
            return place if _chosen(value) is not None else None
        place = place.parent
    return None


def _read_by(node: Any) -> Iterator[str]:
    """The names that a statement reads itself, but for those that it only passes on."""
    if isinstance(node, (gast.Assign, gast.Return)):
        parts = [] if isinstance(node.value, gast.Name) else [node.value]
        parts += [t for t in getattr(node, "targets", []) if not isinstance(t, gast.Name)]
    elif isinstance(node, gast.If):
        parts = [node.test]
    elif isinstance(node, gast.For):
        parts = [node.iter]
    else:
        parts = [node] if isinstance(node, SIMPLE) else []
    for part in parts:
        yield from _loads(part)


def _stored(frame: Frame, node: Any) -> Iterator[str]:
    """A name whose numbers are stored into an array, which has one kind of them."""
    if isinstance(node, gast.Assign) and isinstance(node.value, gast.Name) and any(isinstance(t, gast.Subscript) for t in node.targets):
        owner = _owner(frame, node.value.id)
        chosen = None if owner is None else owner.env[node.value.id]
        if isinstance(chosen, Chosen) and any(isinstance(option, Sym) for option in chosen.options):
            yield node.value.id


def _loads(node: Any) -> Iterator[str]:
    if isinstance(node, gast.Name) and not isinstance(node.ctx, gast.Param):
        yield node.id
    if not isinstance(node, (gast.Lambda, gast.FunctionDef)):
        for child in gast.iter_child_nodes(node):
            yield from _loads(child)


SPLIT.append(execute)
AGAIN.append(again)


def passed(frame: Frame, values: tuple[Value, ...], read: Callable[[tuple[Value, ...]], Value], inside: bool = False) -> Value:
    """What `read` gives for values of which some stand for one of several, or may be None where `read` takes None too.

    Args:
        inside: items of tuples and lists count, which `read` must not keep: those that it gets are others.
    """
    at = next((k for k, v in enumerate(values) if isinstance(v, (Chosen, Optional))), None)
    if at is None:
        return _passed_inside(frame, values, read) if inside else read(values)
    value = values[at]

    def instead(one: Value) -> Value:
        return passed(frame, (*values[:at], one, *values[at + 1 :]), read, inside)

    if isinstance(value, Chosen):
        return split(frame, value, instead)
    if isinstance(value.none, Sym) and _reads(frame, lambda: instead(None)):
        return branch(frame, value.none, lambda: instead(None), lambda: instead(value.value), "_t")
    return instead(unwrapped(frame, value))


def _passed_inside(frame: Frame, values: tuple[Value, ...], read: Callable[[tuple[Value, ...]], Value]) -> Value:
    at = next((k for k, v in enumerate(values) if holds_choices(v)), None)
    if at is None:
        return read(values)

    def whole(items: tuple[Value, ...]) -> Value:
        return _passed_inside(frame, (*values[:at], rebuild(values[at], items), *values[at + 1 :]), read)

    return passed(frame, tuple(values[at]), whole, True)


def holds_choices(value: Value) -> bool:
    """Whether a tuple or list has an item that stands for one of several values."""
    return type(value) in (tuple, list) and any(isinstance(v, Chosen) or holds_choices(v) for v in value)


def _reads(frame: Frame, read: Callable[[], Value]) -> bool:
    """Whether something can be read, of which nothing is kept."""
    state = State(frame)
    try:
        with frame.builder.block():
            read()
        return True
    except (errors.StgradError, Leaves, *RAISED):
        return False
    finally:
        state.restore()


__all__ = ["holds_choices", "passed", "split"]
