"""Comparisons of what holds other values: tuples, lists and instances."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend import objects
from stgrad.frontend.alternatives import may_be_one_object
from stgrad.frontend.choices import passed
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.growing import as_array, beside_arrays, is_of_numpy
from stgrad.frontend.iteration import Range
from stgrad.frontend.operations import COMPARE, binary, truth
from stgrad.frontend.text import known_texts
from stgrad.frontend.values import (
    Chosen,
    DictView,
    Growing,
    ListOrTuple,
    Method,
    Optional,
    Queue,
    Record,
    Sym,
    Value,
    a_kind,
    is_static,
    static_of,
)
from stgrad.ir import Type
from stgrad.lookups import called


def equal_objects(frame: Frame, node: Any, left: Value, right: Value) -> Value:
    """`==` where no class says what it means, or a dataclass does; and for `!=`, of which Python makes `not ==`."""
    declined: list[Value] = []
    found = objects.operator(frame, gast.Eq, left, right, declined=declined)
    if found is not objects.NO_OPERATOR:
        return truth(frame, found)
    names = [objects.compared_fields(v.cls) if isinstance(v, Record) else None for v in (left, right)]
    if names[0] is not None and isinstance(right, Record) and left.cls is right.cls:
        return compared_items(frame, node, gast.Eq, *(tuple(v.fields[n] for n in names[0]) for v in (left, right)))
    sides = zip((left, right), names, strict=True)
    if all(n is not None or objects.equal_by_identity(v) or _knows_no_object(v) or any(v is d for d in declined) for v, n in sides):
        if may_be_one_object(frame.builder, left, right):
            frame.unsupported(node, "comparing an object that is one of several is not supported", hint="compare what they hold, or a number of each")
        return left is right
    return objects.NO_OPERATOR


def _knows_no_object(value: Value) -> bool:
    """Whether `==` of a value with any object gives NotImplemented: a number, text or container of Python's."""
    return value is None or isinstance(value, Sym) and value.type.weak or type(value) in (bool, int, float, complex, str, bytes, *_CONTAINERS)


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


def _sequence(value: Value) -> type | None:
    """What a value is to Python's comparisons of sequences: those of two kinds are never equal."""
    cls = value.cls if isinstance(value, Growing) else type(value)
    if cls is ListOrTuple:
        raise errors.UnsupportedSyntaxError("comparing what is a list on one path and a tuple on another is not supported", hint="compare tuple(...) of it")
    return next((kind for kind in (tuple, Queue, list) if issubclass(cls, kind)), None)


def compared_items(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    """A comparison of tuples or lists that hold values of the running program: that of their items."""
    if kind not in (gast.Eq, gast.NotEq):
        return _in_order(frame, node, kind, left, right)
    same: Value = _sequence(left) is _sequence(right) and len(left) == len(right)
    for a, b in zip(left, right, strict=False) if same else ():
        same = frame.call(all, ([same, equal(frame, node, a, b)],), {})
        if same is False:
            break
    return same if kind is gast.Eq else unary_not(frame, same)


# --------------------------------------------------------------------------- equality, whatever is compared


def equal(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    """`a == b` of two items, whatever they hold and whoever knows it: the compiler, or the running program; one object equals itself."""
    if a is b and not isinstance(a, Sym):
        return True
    if isinstance(a, (Chosen, Optional)) or isinstance(b, (Chosen, Optional)):
        return passed(frame, (a, b), lambda both: equal(frame, node, *both))
    a, b = static_of(a), static_of(b)
    if isinstance(a, Record) or isinstance(b, Record):
        found = equal_objects(frame, node, a, b)
        return False if found is objects.NO_OPERATOR and None in (a, b) else _known(frame, found)
    if comparable(a) and comparable(b):
        return binary(frame, gast.Eq, a, b)
    found = objects.operator(frame, gast.Eq, a, b)
    if found is not objects.NO_OPERATOR:
        return truth(frame, found)
    for kind, compared in _EQUAL.items():
        if isinstance(a, kind) or isinstance(b, kind):
            return compared(frame, node, a, b)
    known_texts(frame, a, b)
    if is_static(a) and is_static(b):
        return called(operator.eq, a, b)
    return _of_other_kinds(frame, node, a, b)


def _of_other_kinds(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    """`==` of a value of the running program and what is no number: no array, no object that has a `==` of its own."""
    held, other = (a, b) if not is_static(a) else (b, a)
    alone = other is None or isinstance(other, (str, bytes, *_CONTAINERS)) or getattr(type(other), "__eq__", None) is object.__eq__
    if isinstance(held, Sym) and held.type.array and other is not None or isinstance(held, Sym) and not alone:
        frame.unsupported(node, f"comparing a number or an array with {a_kind(other)} is not supported", hint="compare numbers")
    return False


def _equal_views(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    """`d.keys() == {"a"}`: as sets; of `d.values()` each is another object."""
    views = [v for v in (a, b) if isinstance(v, DictView)]
    if any(v.name == "values" for v in views) or not all(isinstance(v, (DictView, set, frozenset)) for v in (a, b)):
        return False
    if len(views) == 2 and {v.name for v in views} == {"items"}:
        return _equal_dicts(frame, node, views[0].owner, views[1].owner)
    return as_set(frame, node, a) == as_set(frame, node, b)


def as_set(frame: Frame, node: Any, value: Value) -> Value:
    """What compares as a set: the keys of a dict, or its items, if all are known."""
    if not isinstance(value, DictView) or value.name == "values":
        return value
    items = static_of(list(value))
    if not is_static(items):
        frame.unsupported(node, "comparing items of a dict that hold values of the running program is not supported", hint="compare the dicts")
    return set(items)


def _equal_ranges(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    """Two ranges are equal where they hold the same numbers."""
    if not (isinstance(a, (range, Range)) and isinstance(b, (range, Range))):
        return False
    return frame.call(_same_range, (a.start, a.stop, a.step, b.start, b.stop, b.step), {})


def _same_range(start: Any, stop: Any, step: Any, first: Any, end: Any, stride: Any) -> Any:
    n = len(range(start, stop, step))
    return n == len(range(first, end, stride)) and (n == 0 or start == first and (n == 1 or step == stride))


def _equal_slices(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    both = isinstance(a, slice) and isinstance(b, slice)
    return both and compared_items(frame, node, gast.Eq, (a.start, a.stop, a.step), (b.start, b.stop, b.step))


def _equal_dicts(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    """Item by item; the order of the keys counts between two of `OrderedDict`."""
    if not (isinstance(a, dict) and isinstance(b, dict)) or a.keys() != b.keys():
        return False
    if isinstance(a, OrderedDict) and isinstance(b, OrderedDict) and list(a) != list(b):
        return False
    return compared_items(frame, node, gast.Eq, list(a.values()), [b[key] for key in a])


def _equal_lists(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    """Lists of which the running program decides how long they are."""
    if _sequence(a) is not _sequence(b):
        return _of_other_kinds(frame, node, a, b) if any(isinstance(v, Sym) for v in (a, b)) else False
    as_long = binary(frame, gast.Eq, frame.call(len, (a,), {}), frame.call(len, (b,), {}))
    if 0 in [len(v) for v in (a, b) if not isinstance(v, Growing)]:
        return as_long
    if isinstance(a, Growing) and isinstance(b, Growing):
        return frame.call(_same_items, (a, b), {})
    held, known = (a, b) if isinstance(a, Growing) else (b, a)

    def by_item() -> Value:
        return compared_items(frame, node, gast.Eq, [frame.call(operator.getitem, (held, k), {}) for k in range(len(known))], list(known))

    return branch(frame, as_long, by_item, lambda: False, "_c") if isinstance(as_long, Sym) else as_long and by_item()


def _same_items(a: Any, b: Any) -> Any:
    same, k = len(a) == len(b), 0
    while same and k < len(a):
        same = a[k] == b[k]
        k += 1
    return same


def _in_order_of_items(a: Any, b: Any, before: Any) -> Any:
    k = 0
    while k < min(len(a), len(b)) and a[k] == b[k]:
        k += 1
    return before(a[k], b[k]) if k < min(len(a), len(b)) else before(len(a), len(b))


def _equal_pairs(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return compared_items(frame, node, gast.Eq, a, b)
    return _of_other_kinds(frame, node, a, b) if isinstance(a, Sym) or isinstance(b, Sym) else False


def _equal_methods(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    return isinstance(a, Method) and isinstance(b, Method) and a.owner is b.owner and a.name == b.name


_EQUAL: dict[Any, Callable[[Frame, Any, Value, Value], Value]] = {
    DictView: _equal_views, (range, Range): _equal_ranges, slice: _equal_slices, dict: _equal_dicts, Growing: _equal_lists, (tuple, list): _equal_pairs,
    Method: _equal_methods,
}  # fmt: skip
_CONTAINERS = (tuple, list, dict, set, frozenset)


def compared(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    """`left <kind> right` of any two values that stand for one thing each."""
    left, right = beside_arrays(frame, left, right)
    if _numbers_beside_a_scalar(left, right) or _numbers_beside_a_scalar(right, left):
        left, right = as_array(frame, left), as_array(frame, right)
    if isinstance(left, Record) or isinstance(right, Record):
        return overloaded(frame, node, kind, left, right)
    found = (objects.operator if isinstance(left, tuple) or isinstance(right, tuple) else objects.derived_operator)(frame, kind, left, right)
    if found is objects.NO_OPERATOR and not is_static((left, right)):
        found = objects.operator_from_outside(frame, kind, left, right)
    if found is not objects.NO_OPERATOR:
        return found
    left, right = static_of(left), static_of(right)
    if comparable(left) and comparable(right) and not (is_static(left) and is_static(right)):
        return binary(frame, kind, left, right)
    if kind in (gast.Eq, gast.NotEq) and not _whole(left, right):
        same = equal(frame, node, left, right)
        return same if kind is gast.Eq else unary_not(frame, same)
    left, right = as_set(frame, node, left), as_set(frame, node, right)
    if is_static(left) and is_static(right):
        return called(COMPARE[kind][0], left, right)
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return compared_items(frame, node, kind, left, right)
    if isinstance(left, (tuple, list, Growing)) and isinstance(right, (tuple, list, Growing)) and _sequence(left) is _sequence(right):
        return frame.call(_in_order_of_items, (left, right, COMPARE[kind][0]), {})
    return called(COMPARE[kind][0], left, right)


def _numbers_beside_a_scalar(listed: Value, other: Value) -> bool:
    """Whether a list or tuple of numbers is compared with a scalar of NumPy: item by item."""
    return type(listed) in (list, tuple) and is_of_numpy(other) and all(comparable(v) for v in listed)


def _whole(left: Value, right: Value) -> bool:
    """Whether two values are known, and nothing in them stands for another one: Python compares them, arrays element by element."""
    return all(is_static(v) and not isinstance(v, (*_CONTAINERS, Range, slice)) for v in (left, right))


def overloaded(frame: Frame, node: Any, kind: type, *operands: Value) -> Value:
    """An operator that a class defines."""
    declined: list[Value] = []
    result = objects.operator(frame, kind, *operands, declined=declined)
    if result is objects.NO_OPERATOR:
        if kind is gast.NotEq and declined:  # `__ne__` of its own
            return not frame.call(operator.is_, operands, {})
        if kind in (gast.Eq, gast.NotEq) and (same := equal_objects(frame, node, *operands)) is not objects.NO_OPERATOR:
            return same if kind is gast.Eq else unary_not(frame, same)
        owner = next(v for v in operands if isinstance(v, (Record, tuple)))
        cls = owner.cls if isinstance(owner, Record) else type(owner)
        frame.unsupported(node, f"`{getattr(cls, 'stands_for', cls).__name__}` does not define this operator")
    return result


def _known(frame: Frame, found: Value) -> Value:
    if found is objects.NO_OPERATOR:
        raise errors.UnsupportedSyntaxError("comparing these objects is not supported", frame.builder.loc, hint="compare what they hold")
    return found


def comparable(value: Value) -> bool:
    return isinstance(value, Sym) or (is_static(value) and isinstance(value, (bool, int, float, complex)) or hasattr(value, "dtype"))


def unary_not(frame: Frame, cond: Value) -> Value:
    return frame.builder.call("not", (cond,), Type("bool", weak=True)) if isinstance(cond, Sym) else not cond


__all__ = ["among", "comparable", "compared", "compared_items", "equal", "overloaded", "unary_not"]
