"""Comparisons of what holds other values: tuples, lists and instances."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend import objects
from stgrad.frontend.alternatives import may_be_one_object
from stgrad.frontend.choices import passed
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.operations import COMPARE, binary, truth
from stgrad.frontend.values import Chosen, Growing, Record, Sym, Value, is_static, static_of
from stgrad.ir import Type
from stgrad.lookups import called


def equal_objects(frame: Frame, node: Any, left: Value, right: Value) -> Value:
    """`==` where no class says what it means, or a dataclass does; and for `!=`, of which Python makes `not ==`."""
    found = objects.operator(frame, gast.Eq, left, right)
    if found is not objects.NO_OPERATOR:
        return truth(frame, found)
    names = [objects.compared_fields(v.cls) if isinstance(v, Record) else None for v in (left, right)]
    if names[0] is not None and isinstance(right, Record) and left.cls is right.cls:
        return compared_items(frame, node, gast.Eq, *(tuple(v.fields[n] for n in names[0]) for v in (left, right)))
    if all(v is None or n is not None or objects.equal_by_identity(v) for v, n in zip((left, right), names, strict=True)):
        if may_be_one_object(frame.builder, left, right):
            frame.unsupported(node, "comparing an object that is one of several is not supported", hint="compare what they hold, or a number of each")
        return left is right
    return objects.NO_OPERATOR


def among(frame: Frame, node: Any, value: Value, items: Iterable[Value]) -> Value:
    """`value in items`, where one of them is an instance, or the value is several ones."""
    return frame.call(any, ([equal(frame, node, item, value) for item in items],), {})


def _in_order(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    """`<` of tuples or lists: that of the first items that differ."""
    if type(left) is not type(right):
        frame.unsupported(node, f"a {type(left).__name__} has no order beside a {type(right).__name__}")
    if not left or not right:
        return called(COMPARE[kind][0], len(left), len(right))
    a, b = left[0], right[0]
    if isinstance(a, Chosen) or isinstance(b, Chosen):
        return passed(frame, (a, b), lambda firsts: _in_order(frame, node, kind, (firsts[0], *left[1:]), (firsts[1], *right[1:])))
    inner = isinstance(a, (tuple, list)) and isinstance(b, (tuple, list))
    if not inner and not (comparable(a) and comparable(b)):
        return _in_order(frame, node, kind, left[1:], right[1:]) if static_of(a) == static_of(b) else called(COMPARE[kind][0], static_of(a), static_of(b))
    equal = compared_items(frame, node, gast.Eq, a, b) if inner else binary(frame, gast.Eq, a, b)

    def rest() -> Value:
        return _in_order(frame, node, kind, left[1:], right[1:])

    def first() -> Value:
        return _in_order(frame, node, kind, a, b) if inner else binary(frame, kind, a, b)

    return branch(frame, equal, rest, first, "_c") if isinstance(equal, Sym) else rest() if equal else first()


def compared_items(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    """A comparison of tuples or lists that hold values of the running program: that of their items."""
    if kind not in (gast.Eq, gast.NotEq):
        return _in_order(frame, node, kind, left, right)
    same: Value = type(left) is type(right) and len(left) == len(right)
    for a, b in zip(left, right, strict=False) if same else ():
        same = frame.call(all, ([same, equal(frame, node, a, b)],), {})
    return same if kind is gast.Eq else unary_not(frame, same)


def with_nothing(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    """`rows == []` where the running program decides how long `rows` is; no other comparison of such lists, or of dicts."""
    for held, other in ((left, right), (right, left)) if kind in (gast.Eq, gast.NotEq) else ():
        if isinstance(held, Growing) and isinstance(other, (tuple, list)) and not other:
            same = binary(frame, gast.Eq, frame.call(len, (held,), {}), 0) if issubclass(held.cls, type(other)) else False
            return same if kind is gast.Eq else unary_not(frame, same)
    if type(left) is dict and type(right) is dict and kind in (gast.Eq, gast.NotEq):
        if left.keys() != right.keys():
            return kind is gast.NotEq
        return compared_items(frame, node, kind, list(left.values()), [right[key] for key in left])
    frame.unsupported(node, "comparing dicts or lists that hold values of the running program is not supported", hint="compare their items")


def equal(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    """`a == b` of two items; one object equals itself."""
    if a is b and isinstance(a, Record):
        return True
    if isinstance(a, Chosen) or isinstance(b, Chosen):
        return passed(frame, (a, b), lambda both: equal(frame, node, *both))
    if isinstance(a, Record) or isinstance(b, Record):
        found = equal_objects(frame, node, a, b)
        return static_of(a) == static_of(b) if found is objects.NO_OPERATOR and None in (a, b) else _known(frame, found)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return compared_items(frame, node, gast.Eq, a, b)
    return binary(frame, gast.Eq, a, b) if comparable(a) and comparable(b) else static_of(a) == static_of(b)


def _known(frame: Frame, found: Value) -> Value:
    if found is objects.NO_OPERATOR:
        raise errors.UnsupportedSyntaxError("comparing these objects is not supported", frame.builder.loc, hint="compare what they hold")
    return found


def comparable(value: Value) -> bool:
    return isinstance(value, Sym) or (is_static(value) and isinstance(value, (bool, int, float, complex)) or hasattr(value, "dtype"))


def unary_not(frame: Frame, cond: Value) -> Value:
    return frame.builder.call("not", (cond,), Type("bool", weak=True)) if isinstance(cond, Sym) else not cond


__all__ = ["among", "comparable", "compared_items", "equal", "equal_objects", "unary_not", "with_nothing"]
