"""The meaning of expressions."""

from __future__ import annotations

import operator
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend import growing, objects
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame, binding_counts, evaluates
from stgrad.frontend.indexing import load
from stgrad.frontend.iteration import comprehension
from stgrad.frontend.operations import COMPARE, binary, truth, unary
from stgrad.frontend.values import Closure, Growing, Record, Sym, Value, is_static, rebuild, static_of
from stgrad.ir import Const


@evaluates(gast.Constant)
def constant(frame: Frame, node: Any) -> Value:
    return node.value


@evaluates(gast.Name)
def name(frame: Frame, node: Any) -> Value:
    return frame.lookup(node.id, node)


@evaluates(gast.BinOp)
def binop(frame: Frame, node: Any) -> Value:
    left, right = frame.evaluate(node.left), frame.evaluate(node.right)
    if isinstance(left, (tuple, list, Growing)) or isinstance(right, (tuple, list, Growing)):
        return container_operator(frame, node, left, right)
    if isinstance(left, Record) or isinstance(right, Record):
        return _overloaded(frame, node, type(node.op), left, right)
    if isinstance(left, dict) and isinstance(right, dict) and isinstance(node.op, gast.BitOr):
        return {k: frame.keep(v) for k, v in (left | right).items()}
    return binary(frame, type(node.op), left, right)


def _overloaded(frame: Frame, node: Any, kind: type, *operands: Value) -> Value:
    """An operator that a class defines."""
    result = objects.operator(frame, kind, *operands)
    if result is objects.NO_OPERATOR:
        record = next(v for v in operands if isinstance(v, Record))
        frame.unsupported(node, f"`{record.cls.__name__}` does not define this operator")
    return result


def container_operator(frame: Frame, node: Any, left: Value, right: Value) -> Value:
    """`+` and `*` of tuples and lists; with an array, the container is one too."""
    if isinstance(left, Sym) and left.type.array or isinstance(right, Sym) and right.type.array:
        left, right = (growing.as_array(frame, v) for v in (left, right))
        return binary(frame, type(node.op), left, right)
    if isinstance(node.op, gast.Add) and all(isinstance(v, (list, Growing)) for v in (left, right)) and not all(isinstance(v, list) for v in (left, right)):
        return growing.concatenated(frame, left, right)
    left, right = (v if isinstance(v, (tuple, list)) else static_of(v) for v in (left, right))
    if isinstance(left, (Sym, Growing)) or isinstance(right, (Sym, Growing)):
        raise errors.NeedStaticError("the length of a list must be known at compile time", frame.loc(node))
    if isinstance(node.op, gast.Add):
        return kept_items(frame, left + right)
    if isinstance(node.op, gast.Mult):
        return kept_items(frame, left * right)
    frame.unsupported(node, "this operator on a tuple or list is not supported")


@evaluates(gast.UnaryOp)
def unaryop(frame: Frame, node: Any) -> Value:
    value = frame.evaluate(node.operand)
    if isinstance(node.op, gast.Not):
        cond = truth(frame, value, node.operand)
        return not cond if not isinstance(cond, Sym) else frame.builder.call("not", (cond,), cond.type)
    if isinstance(value, Record):
        return _overloaded(frame, node, type(node.op), value)
    return unary(frame, type(node.op), value)


@evaluates(gast.Compare)
def compare(frame: Frame, node: Any) -> Value:
    left, right = frame.evaluate(node.left), frame.evaluate(node.comparators[0])
    kind = type(node.ops[0])
    if kind in COMPARE:
        if isinstance(left, Record) or isinstance(right, Record):
            return _overloaded(frame, node, kind, left, right)
        if is_static(left) and is_static(right) or not _comparable(left) or not _comparable(right):
            return COMPARE[kind][0](left, right)
        return binary(frame, kind, left, right)
    if kind in (gast.Is, gast.IsNot):
        left, right = static_of(left), static_of(right)
        same = left is right or (isinstance(left, (bool, int, str)) and type(left) is type(right) and left == right)
        return same if kind is gast.Is else not same
    right = getattr(right, "known", None) or right  # a range
    return _membership(frame, node, kind, static_of(left), static_of(right))


def _comparable(value: Value) -> bool:
    return isinstance(value, Sym) or (is_static(value) and isinstance(value, (bool, int, float, complex)) or hasattr(value, "dtype"))


def _membership(frame: Frame, node: Any, kind: type, left: Value, right: Value) -> Value:
    if not is_static(left) or not (is_static(right) or isinstance(right, dict)):
        frame.unsupported(node, "`in` needs values that are known at compile time", hint="compare with `==` and `or`")
    found = operator.contains(right, left)
    return found if kind is gast.In else not found


@evaluates(gast.BoolOp)
def boolop(frame: Frame, node: Any) -> Value:
    """`and`, `or`: the right side runs only where the left does not decide."""
    is_and = isinstance(node.op, gast.And)
    value = frame.evaluate(node.values[0])
    for other in node.values[1:]:
        cond = truth(frame, value, node)
        if not isinstance(cond, Sym):
            if cond is is_and:
                value = frame.evaluate(other)
            elif not is_static(value):
                value = cond
            continue
        value = _short_circuit(frame, cond, other, is_and)
    return value


def _short_circuit(frame: Frame, cond: Sym, other: Any, is_and: bool) -> Value:
    def right() -> Value:
        return truth(frame, frame.evaluate(other), other)

    return branch(frame, cond, right, lambda: False, "_c") if is_and else branch(frame, cond, lambda: True, right, "_c")


@evaluates(gast.IfExp)
def ifexp(frame: Frame, node: Any) -> Value:
    cond = truth(frame, frame.evaluate(node.test), node.test)
    if not isinstance(cond, Sym):
        return frame.evaluate(node.body if cond else node.orelse)
    return branch(frame, cond, lambda: frame.evaluate(node.body), lambda: frame.evaluate(node.orelse), "_t")


@evaluates(gast.NamedExpr)
def walrus(frame: Frame, node: Any) -> Value:
    frame.bind(node.target.id, frame.evaluate(node.value))
    return frame.lookup(node.target.id, node)


@evaluates(gast.Tuple)
def tuple_display(frame: Frame, node: Any) -> Value:
    return tuple(_items(frame, node.elts))


@evaluates(gast.List)
def list_display(frame: Frame, node: Any) -> Value:
    return _items(frame, node.elts)


def _items(frame: Frame, nodes: list[Any], keep: bool = True) -> list[Value]:
    items: list[Value] = []
    for node in nodes:
        if isinstance(node, gast.Starred):
            value = frame.evaluate(node.value)
            if not isinstance(value, (tuple, list)):
                frame.unsupported(node, "`*` needs a tuple or list of known length")
            items.extend(value)
        else:
            items.append(_kept(frame, node) if keep else frame.evaluate(node))
    return items


def _kept(frame: Frame, node: Any) -> Value:
    """The value of an item of a container."""
    value = frame.evaluate(node)
    bound_once = isinstance(node, gast.Name) and frame.counts.get(node.id, 0) == 1
    return value if bound_once else frame.keep(value)


def kept_items(frame: Frame, values: Value) -> Value:
    """A new list or tuple, with items that stay what they are."""
    return rebuild(values, [frame.keep(v) for v in values])


@evaluates(gast.Dict)
def dict_display(frame: Frame, node: Any) -> Value:
    result: dict[Any, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            result.update(frame.evaluate(value))
        else:
            result[static_of(frame.evaluate(key))] = _kept(frame, value)
    return result


@evaluates(gast.Slice)
def slice_display(frame: Frame, node: Any) -> Value:
    return slice(*(frame.evaluate(part) if part is not None else None for part in (node.lower, node.upper, node.step)))


@evaluates(gast.Subscript)
def subscript(frame: Frame, node: Any) -> Value:
    owner = frame.evaluate(node.value)
    index = tuple(_items(frame, node.slice.elts, keep=False)) if isinstance(node.slice, gast.Tuple) else frame.evaluate(node.slice)
    return load(frame, owner, index, node)


@evaluates(gast.Lambda)
def lambda_(frame: Frame, node: Any) -> Value:
    body = gast.copy_location(gast.Return(value=node.body), node.body)
    function = gast.FunctionDef(name="_lambda", args=node.args, body=[body], decorator_list=[], returns=None, type_comment=None, type_params=[])
    return closure(frame, gast.copy_location(function, node))


def closure(frame: Frame, tree: Any) -> Closure:
    """A function defined here; defaults are evaluated now."""
    defaults = tuple(_kept(frame, d) for d in tree.args.defaults)
    kw_defaults = tuple(None if d is None else _kept(frame, d) for d in tree.args.kw_defaults)
    return Closure(tree, frame, defaults, kw_defaults)


@evaluates(gast.ListComp, gast.GeneratorExp)
def list_comprehension(frame: Frame, node: Any) -> Value:
    return comprehension(frame, node, lambda inner: inner.evaluate(node.elt))


@evaluates(gast.DictComp)
def dict_comprehension(frame: Frame, node: Any) -> Value:
    pairs = comprehension(frame, node, lambda inner: (static_of(inner.evaluate(node.key)), inner.evaluate(node.value)))
    if not isinstance(pairs, list):
        frame.unsupported(node, "a dict comprehension needs keys that are known at compile time")
    return dict(pairs)


@evaluates(gast.JoinedStr)
def fstring(frame: Frame, node: Any) -> Value:
    """An f-string: the text where it is known, else a tuple-like template for print and raise."""
    parts = [frame.evaluate(v) for v in node.values]
    return "".join(p if isinstance(p, str) else "{...}" for p in parts)


@evaluates(gast.FormattedValue)
def formatted(frame: Frame, node: Any) -> Value:
    value = static_of(frame.evaluate(node.value))
    if not is_static(value):
        return value
    spec = frame.evaluate(node.format_spec) if node.format_spec is not None else ""
    return format(value, spec)


__all__ = ["Const", "binding_counts", "closure"]
