"""The meaning of expressions."""

from __future__ import annotations

import operator
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import growing, list_sums, objects, passed, protocols, sparse_objects, tables
from stgrad.frontend.alternatives import may_be_one_object
from stgrad.frontend.bindings import WALRUS, binding_counts
from stgrad.frontend.choices import split
from stgrad.frontend.comparisons import among, compared, equal, overloaded, unary_not
from stgrad.frontend.comprehensions import TEST, comprehension, element_of
from stgrad.frontend.control import branch
from stgrad.frontend.departures import Chooses
from stgrad.frontend.displays import items_in, kept, kept_items
from stgrad.frontend.edits import number_of
from stgrad.frontend.flags import read_name
from stgrad.frontend.frame import Frame, evaluates
from stgrad.frontend.heap import MUTABLE
from stgrad.frontend.identities import one_object
from stgrad.frontend.indexing import load, table_for
from stgrad.frontend.iteration import Range, used_once
from stgrad.frontend.local_classes import local_class
from stgrad.frontend.operations import BINARY, COMPARE, binary, flag, truth, unary
from stgrad.frontend.optionals import bound_or_end, knowing, parts, unwrapped
from stgrad.frontend.searching import in_range
from stgrad.frontend.text import UNKNOWN, RunTimeText, holds, known_text, known_texts
from stgrad.frontend.truth_values import may_be_either
from stgrad.frontend.values import (
    Chosen,
    Closure,
    Growing,
    Known,
    ListOrTuple,
    Optional,
    Record,
    Sym,
    Value,
    is_number,
    is_static,
    leaves,
    static_of,
    type_of,
)
from stgrad.ir import Const
from stgrad.lookups import called
from stgrad.syntax.classes import LocalClass


@evaluates(gast.Constant)
def constant(frame: Frame, node: Any) -> Value:
    return local_class(frame, node.value) if isinstance(node.value, LocalClass) else node.value


@evaluates(gast.Name)
def name(frame: Frame, node: Any) -> Value:
    value = used_once(frame, read_name(frame, node), node)
    return frame.keep(value) if frame.counts.get(WALRUS) else value  # `c + (c := 2 * c)`


@evaluates(gast.BinOp)
def binop(frame: Frame, node: Any) -> Value:
    return binary_operator(frame, node, type(node.op), frame.evaluate(node.left), frame.evaluate(node.right))


def binary_operator(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    """`left <op> right` for values of every kind."""
    if isinstance(left, str) and not (is_static(static_of(right)) and not isinstance(left, RunTimeText) and not isinstance(right, RunTimeText)):
        return RunTimeText(left + right) if kind is gast.Add and isinstance(right, str) else RunTimeText(UNKNOWN)
    if isinstance(left, str):
        return called(BINARY[kind][0], left, static_of(right))
    left, right = sparse_objects.operands(frame, (tables.of_keys(left), tables.of_keys(right)))
    if isinstance(left, ListOrTuple) or isinstance(right, ListOrTuple):
        frame.unsupported(node, "this operator on what is a list on one path and a tuple on another is not supported", hint="write tuple(...) of it")
    if growing.listed(left) or growing.listed(right):
        found = objects.operator(frame, kind, left, right)
        return found if found is not objects.NO_OPERATOR else container_operator(frame, node, kind, left, right)
    if isinstance(left, Record) or isinstance(right, Record):
        return overloaded(frame, node, kind, left, right)
    if isinstance(left, (set, frozenset)) and isinstance(right, (set, frozenset)):
        return BINARY[kind][0](left, right)
    if isinstance(left, dict) and isinstance(right, dict) and kind is gast.BitOr:
        joined = left | right  # of the kind that Python says
        joined.update({k: frame.keep(v) for k, v in joined.items()})
        return joined
    found = objects.operator_from_outside(frame, kind, left, right)
    if found is objects.NO_OPERATOR:
        found = objects.derived_operator(frame, kind, left, right)
    return found if found is not objects.NO_OPERATOR else binary(frame, kind, left, right)


def container_operator(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    """`+` and `*` of tuples and lists; with an array, the container is one too."""
    beside = growing.beside_arrays if kind is gast.Mult else growing.beside_numpy  # a product with an integer of NumPy's repeats the list
    arrays = beside(frame, left, right)
    if not any(map(growing.listed, arrays)):
        return binary(frame, kind, *arrays)
    if any(isinstance(v, Growing) for v in (left, right)) and kind is gast.Add:
        one, other = (v.cls if isinstance(v, Growing) else type(v) for v in (left, right))
        if one is other:
            return list_sums.concatenated(frame, left, right)
        if {one, other} == {list, tuple}:
            raise TypeError(f'can only concatenate {one.__name__} (not "{other.__name__}") to {one.__name__}')
    left, right = (v if isinstance(v, (tuple, list)) else static_of(v) for v in (left, right))
    items, count = (left, right) if isinstance(left, (list, tuple)) else (right, left)
    if kind is gast.Mult and isinstance(items, (list, tuple)) and isinstance(count, Sym):
        found = list_sums.repeated(frame, list(items), count)
        found.cls = type(items)
        return found
    if isinstance(left, (Sym, Growing)) or isinstance(right, (Sym, Growing)):
        raise errors.NeedStaticError("the length of a list must be known at compile time", frame.loc(node))
    if kind not in (gast.Add, gast.Mult):
        frame.unsupported(node, "this operator on a tuple or list is not supported")
    run = BINARY[kind][0]
    own = all(isinstance(v, (tuple, list, int)) for v in (left, right))
    return kept_items(frame, run(left, right) if own else called(run, left, right))


@evaluates(gast.UnaryOp)
def unaryop(frame: Frame, node: Any) -> Value:
    if isinstance(node.op, gast.Not):
        return unary_not(frame, condition(frame, node.operand))
    value = frame.evaluate(node.operand)
    if isinstance(value, Record) or isinstance(value, tuple) and type(value) is not tuple:
        return overloaded(frame, node, type(node.op), value)
    found = objects.operator_from_outside(frame, type(node.op), value)
    return found if found is not objects.NO_OPERATOR else unary(frame, type(node.op), value)


@evaluates(gast.Compare)
def compare(frame: Frame, node: Any) -> Value:
    kind = type(node.ops[0])
    if kind in (gast.Is, gast.IsNot, gast.Eq, gast.NotEq):
        left, right = frame.evaluate_raw(node.left), frame.evaluate_raw(node.comparators[0])
        if isinstance(left, Optional) and right is None or isinstance(right, Optional) and left is None:
            none = left.none if isinstance(left, Optional) else right.none
            return none if kind in (gast.Is, gast.Eq) else unary_not(frame, none)
        for part, side in ((node.left, left), (node.comparators[0], right)):
            if isinstance(side, Chosen):
                raise Chooses(part, side)
        if kind in (gast.Eq, gast.NotEq) and (isinstance(left, Optional) or isinstance(right, Optional)) and not any(map(_may_be_array, (left, right))):
            same = equal(frame, node, left, right)  # None equals no number
            return same if kind is gast.Eq else unary_not(frame, same)
        left, right = (unwrapped(frame, v) if isinstance(v, Optional) else v for v in (left, right))
    else:
        left, right = frame.evaluate(node.left), frame.evaluate(node.comparators[0])
    if kind in (gast.In, gast.NotIn) and isinstance(right, RunTimeText) and type(left) is str:
        return holds(frame, right, left) is (kind is gast.In)
    (known_text if kind in (gast.Is, gast.IsNot) else known_texts)(frame, left, right)
    if kind in COMPARE:
        return compared(frame, node, kind, left, right)
    if kind in (gast.Is, gast.IsNot):
        return identity(frame, node, kind, left, right)
    right = getattr(right, "known", None) or right  # a range
    return membership(frame, node, kind, static_of(left), static_of(right))


def _may_be_array(value: Value) -> bool:
    return any(isinstance(leaf, Sym) and leaf.type.array for leaf in leaves(value.value if isinstance(value, Optional) else value))


CONTAINERS = (tuple, *MUTABLE)


def identity(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    """`is`: of what is known at compile time, and of a flag of the running program with True or False."""
    known, other = static_of(left), static_of(right)
    if isinstance(known, Sym) and isinstance(other, Sym) and known.operand != other.operand:
        if (found := one_object(frame, known, other)) is None:
            frame.unsupported(node, "`is` of two values of the running program is not supported", hint="compare them with `==`")
        return found if kind is gast.Is else not found
    asked, const = (known, other) if isinstance(known, Sym) else (other, known)
    if isinstance(asked, Sym) and isinstance(const, (bool, np.bool_)) and asked.type.dtype == "bool" and not asked.type.rank:
        return _is_flag(frame, node, asked, const, kind is gast.Is)
    if isinstance(asked, Sym) and not isinstance(asked, Known) and not asked.type.rank and _like(asked, const):
        frame.unsupported(node, "`is` of a number of the running program is not supported", hint="compare numbers with `==`")
    if may_be_one_object(frame.builder, left, right):
        frame.unsupported(node, "`is` of a list, dict or object that is one of several is not supported", hint="compare what they hold, or a number of each")
    if isinstance(left, CONTAINERS) and isinstance(right, CONTAINERS):
        if (found := passed.one_object(frame, left, right)) is None:
            passed.refuse(frame.loc(node))
        return found if kind is gast.Is else not found
    same = known is other or (isinstance(known, (bool, int, str)) and type(known) is type(other) and known == other)
    same = same or isinstance(known, Sym) and isinstance(other, Sym)
    return same if kind is gast.Is else not same


def _like(value: Sym, const: Value) -> bool:
    """Whether a value of the program may be an object that is a constant: both are integers, or floats."""
    return is_number(const) and not isinstance(const, (bool, np.bool_)) and np.dtype(value.type.dtype).kind == np.asarray(const).dtype.kind


def _is_flag(frame: Frame, node: Any, asked: Sym, const: Any, wanted: bool) -> Value:
    """Whether a truth value is one of the two of Python, or of the two of NumPy: no value is both."""
    if may_be_either(frame, asked):
        frame.unsupported(node, "`is` of what may be a truth value of Python or of NumPy is not supported", hint="write `if x:` or `if not x:`")
    if asked.type.weak is not isinstance(const, bool) or asked.type.array:
        return not wanted
    return asked if bool(const) is wanted else unary_not(frame, asked)


def membership(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    if isinstance(right, Record):
        found = protocols.contains(frame, right, left)
        return found if kind is gast.In else unary_not(frame, found)
    if isinstance(right, (range, Range)) and isinstance(left, Sym) and not left.type.rank and not left.type.dtype.startswith("complex"):
        found = in_range(frame, left, right)
        return found if kind is gast.In else unary_not(frame, found)
    if isinstance(right, Growing):
        found = binary(frame, gast.Gt, frame.call(number_of, (right, left), {}), 0)
        return found if kind is gast.In else unary_not(frame, found)
    if isinstance(right, Sym) and right.type.rank and (is_number(left) or isinstance(left, Sym) and not left.type.rank):
        found = flag(frame, frame.call(np.any, (binary(frame, gast.Eq, right, left),), {}))
        return found if kind is gast.In else unary_not(frame, found)
    if isinstance(right, dict) and not is_static(left):
        if not right:
            return kind is not gast.In
        table = table_for(frame, right, left) if isinstance(left, tuple) else None
        if table is not None:
            return membership(frame, node, kind, left, table)
    if not is_static(left) and isinstance(right, (dict, set, frozenset)):
        right = list(right)
    if isinstance(right, (tuple, list)) and not all(is_static(v) and not isinstance(v, Range) for v in (left, *right)):
        found = among(frame, node, left, right)
        return found if kind is gast.In else unary_not(frame, found)
    if not is_static(left) or not (is_static(right) or isinstance(right, dict)):
        frame.unsupported(node, "`in` needs values that are known at compile time", hint="compare with `==` and `or`")
    found = called(operator.contains, right, left)
    return found if kind is gast.In else not found


@evaluates(gast.BoolOp)
def boolop(frame: Frame, node: Any) -> Value:
    """`and`, `or`: the value of the operand that decides; the right side runs only where the left does not."""
    is_and = isinstance(node.op, gast.And)
    value = frame.evaluate_raw(node.values[0])
    for other in node.values[1:]:
        cond = _truth(frame, value, node)
        if isinstance(cond, Sym):
            value = _decided(frame, cond, parts(value)[0] if not is_and else value, other, is_and)
        elif cond is is_and:
            value = frame.evaluate_raw(other)
    return value


def _truth(frame: Frame, value: Value, node: Any) -> Value:
    """The truth value of what may be None, or one of several values."""
    if isinstance(value, Chosen):
        return split(frame, value, lambda option: _truth(frame, option, node))
    if not isinstance(value, Optional):
        return truth(frame, value, node)
    none = value.none
    if not isinstance(none, Sym):
        return False if none else truth(frame, value.value, node)
    return branch(frame, none, lambda: False, lambda: truth(frame, value.value, node), "_c")


def _decided(frame: Frame, cond: Sym, value: Value, other: Any, is_and: bool) -> Value:
    def right() -> Value:
        return frame.evaluate_raw(other)

    kept = value
    if not isinstance(value, (Optional, tuple)) and type_of(value).dtype == "bool":
        kept = (bool if type_of(value).weak else np.bool_)(not is_and)
    return branch(frame, cond, right, lambda: kept, "_c") if is_and else branch(frame, cond, lambda: kept, right, "_c")


def condition(frame: Frame, node: Any) -> Value:
    """The truth value of a test: static where it can be told, else a bool scalar."""
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return unaryop(frame, node)
    if not isinstance(node, gast.BoolOp):
        return _truth(frame, frame.evaluate_raw(node), node)
    is_and = isinstance(node.op, gast.And)
    cond = condition(frame, node.values[0])
    for k, other in enumerate(node.values[1:], start=1):
        if isinstance(cond, Sym):
            cond = _short_circuit(frame, cond, node.values[:k], other, is_and)
        elif cond is is_and:
            cond = condition(frame, other)
    return cond


TEST.append(condition)


def _short_circuit(frame: Frame, cond: Sym, before: list[Any], other: Any, is_and: bool) -> Value:
    def right() -> Value:
        return condition(frame, other)

    right = knowing(frame, before[0] if len(before) == 1 else gast.BoolOp(gast.And() if is_and else gast.Or(), before), is_and, right)

    return branch(frame, cond, right, lambda: False, "_c") if is_and else branch(frame, cond, lambda: True, right, "_c")


@evaluates(gast.IfExp)
def ifexp(frame: Frame, node: Any) -> Value:
    cond = condition(frame, node.test)
    if not isinstance(cond, Sym):
        return frame.evaluate_raw(node.body if cond else node.orelse)
    then = knowing(frame, node.test, True, lambda: frame.evaluate_raw(node.body))
    return branch(frame, cond, then, knowing(frame, node.test, False, lambda: frame.evaluate_raw(node.orelse)), "_t")


@evaluates(gast.NamedExpr)
def walrus(frame: Frame, node: Any) -> Value:
    frame.assign(node.target, frame.evaluate_raw(node.value))
    return frame.lookup(node.target.id, node)


@evaluates(gast.Slice)
def slice_display(frame: Frame, node: Any) -> Value:
    lower, upper = (frame.evaluate_raw(part) if part is not None else None for part in (node.lower, node.upper))
    for part, bound in ((node.lower, lower), (node.upper, upper)):
        if isinstance(bound, Chosen):
            raise Chooses(part, bound)
    step = frame.evaluate(node.step) if node.step is not None else None
    return slice(bound_or_end(frame, lower, step, last=False), bound_or_end(frame, upper, step, last=True), step)


@evaluates(gast.Subscript)
def subscript(frame: Frame, node: Any) -> Value:
    owner = frame.evaluate(node.value)
    index = tuple(items_in(frame, node.slice.elts, keep=False)) if isinstance(node.slice, gast.Tuple) else frame.evaluate(node.slice)
    return used_once(frame, load(frame, owner, index, node), node, held=True)


@evaluates(gast.Lambda)
def lambda_(frame: Frame, node: Any) -> Value:
    kept = getattr(node, "function", None)  # one tree for all readings: what recurs is known by it
    if kept is None or kept.args is not node.args or kept.body[0].value is not node.body:  # a copy of a tree has its own
        body = gast.copy_location(gast.Return(value=node.body), node.body)
        function = gast.FunctionDef(name="_lambda", args=node.args, body=[body], decorator_list=[], returns=None, type_comment=None, type_params=[])
        node.function = gast.copy_location(function, node)
    return closure(frame, node.function)


def closure(frame: Frame, tree: Any) -> Closure:
    """A function defined here; defaults are evaluated now."""
    defaults = tuple(kept(frame, d) for d in tree.args.defaults)
    kw_defaults = tuple(None if d is None else kept(frame, d) for d in tree.args.kw_defaults)
    return Closure(tree, frame, defaults, kw_defaults)


@evaluates(gast.ListComp)
def list_comprehension(frame: Frame, node: Any) -> Value:
    return comprehension(frame, node, lambda inner: element_of(inner, node.elt))


@evaluates(gast.SetComp)
def set_comprehension(frame: Frame, node: Any) -> Value:
    return frame.call(set, (list_comprehension(frame, node),), {})


@evaluates(gast.DictComp)
def dict_comprehension(frame: Frame, node: Any) -> Value:
    return tables.of_pairs(frame, comprehension(frame, node, lambda inner: (static_of(inner.evaluate(node.key)), inner.evaluate(node.value))))


@evaluates(gast.JoinedStr)
def fstring(frame: Frame, node: Any) -> Value:
    """An f-string: the text where it is known."""
    found = [frame.evaluate_raw(v) for v in node.values]
    text = "".join(p if isinstance(p, str) else UNKNOWN for p in found)
    return text if all(isinstance(p, str) and not isinstance(p, RunTimeText) for p in found) else RunTimeText(text)


@evaluates(gast.FormattedValue)
def formatted(frame: Frame, node: Any) -> Value:
    value = static_of(frame.evaluate_raw(node.value))
    if not is_static(value):
        return value
    spec = frame.evaluate(node.format_spec) if node.format_spec is not None else ""
    if isinstance(value, BaseException):
        return frame.call(str, (value,), {})
    return value if isinstance(value, RunTimeText) else called(format, value, spec)


__all__ = ["Const", "binding_counts", "closure", "membership"]
