"""The meaning of statements."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import axisless, boxes, exceptions, growing, iterators, objects, operations, selection, sparse_objects, tables
from stgrad.frontend.arrays import call_method
from stgrad.frontend.attribute_stores import attribute_store
from stgrad.frontend.broadcasting import fitted
from stgrad.frontend.casting import castable, in_place
from stgrad.frontend.certainties import emit_raise
from stgrad.frontend.control import branch, raise_where
from stgrad.frontend.departures import Leaves
from stgrad.frontend.edits import delete
from stgrad.frontend.expressions import binary_operator, closure, condition
from stgrad.frontend.flags import note_assigned, note_deleted, read_name
from stgrad.frontend.frame import ASSIGN, Frame, executes
from stgrad.frontend.generators import collected
from stgrad.frontend.heap import contents
from stgrad.frontend.indexing import indexed_type, load, normalise, store
from stgrad.frontend.iteration import iterated, known_items, range_length, rows
from stgrad.frontend.optionals import knowing, unwrapped
from stgrad.frontend.standard import said
from stgrad.frontend.unread import keep_what_it_raises
from stgrad.frontend.values import (
    Generator,
    Growing,
    Maybe,
    Method,
    Optional,
    Record,
    Sym,
    Value,
    a_kind,
    is_static,
    operand_of,
    rebuild,
    static_of,
    type_of,
)
from stgrad.ir import ALL, Effect, Store, Var, assigned, operand_vars, walk
from stgrad.lookups import ABSENT
from stgrad.rules.core import NotCovered


@executes(gast.Assign)
def assign_statement(frame: Frame, node: Any) -> None:
    value = frame.evaluate_raw(node.value)
    if _exchanges(node.targets[0], node.value):
        owners = [frame.evaluate(target.value) for target in node.value.elts]
        value = tuple(growing.detached(frame, v) if isinstance(o, Growing) else v for o, v in zip(owners, value, strict=True))
    frame.assign(node.targets[0], value)


def _exchanges(target: Any, value: Any) -> bool:
    """Whether items of named lists change places: `a[i], a[j] = a[j], a[i]`. No item stands in two places behind it."""
    if not (isinstance(target, gast.Tuple) and isinstance(value, gast.Tuple)):
        return False
    if not all(isinstance(e, gast.Subscript) and _is_named(e.value) for e in (*target.elts, *value.elts)):
        return False
    to, come = (sorted(gast.dump(gast.Subscript(e.value, e.slice, gast.Load())) for e in side.elts) for side in (target, value))
    return to == come


def _is_named(node: Any) -> bool:
    return isinstance(node, gast.Name) or isinstance(node, gast.Attribute) and _is_named(node.value)


def assign(frame: Frame, target: Any, value: Value) -> None:
    """Bind a target: a name, an item, an attribute, or a tuple of targets."""
    if isinstance(value, Optional) and not isinstance(target, gast.Name):
        value = unwrapped(frame, value)
    if isinstance(target, gast.Name):
        if isinstance(value, Generator):
            value = iterators.stepping(frame, target.id, value)
        frame.bind(target.id, value)
        note_assigned(frame, target)
    elif isinstance(target, (gast.Tuple, gast.List)):
        _unpack(frame, target, value)
    elif isinstance(target, gast.Subscript):
        store(frame, frame.evaluate(target.value), frame.evaluate(target.slice), value, target)
    elif isinstance(target, gast.Attribute):
        attribute_store(frame, frame.evaluate(target.value), target.attr, value, target)
    else:
        frame.unsupported(target, f"assignment to `{type(target).__name__}` is not supported")


ASSIGN.append(assign)


def _unpack(frame: Frame, target: Any, value: Value) -> None:
    starred = next((i for i, t in enumerate(target.elts) if isinstance(t, gast.Starred)), None)
    value = collected(frame, iterated(frame, value), target)
    items = _unpacked(frame, target, value, starred)
    if items is None:
        assert starred is not None
        items = _around_a_star(frame, target, value, starred)
    elif starred is not None:
        after = len(target.elts) - starred - 1
        if len(items) < len(target.elts) - 1:
            frame.unsupported(target, f"not enough values to unpack: {len(items)}")
        items = [*items[:starred], items[starred : len(items) - after], *items[len(items) - after :]]
    elif len(items) != len(target.elts):
        cause = ValueError(f"{'not enough' if len(items) < len(target.elts) else 'too many'} values to unpack (expected {len(target.elts)})")
        raise errors.ShapeError(f"{len(items)} values for {len(target.elts)} names", frame.loc(target)) from cause
    items = [_snapshot(frame, v, len(items) > 1) for v in items]
    for sub, item in zip(target.elts, items, strict=True):
        frame.assign(sub.value if isinstance(sub, gast.Starred) else sub, item)


def _snapshot(frame: Frame, value: Value, several: bool) -> Value:
    """A copy of a name that one of the targets may rebind: `a, b = b, a`."""
    if several and isinstance(value, Sym) and isinstance(value.operand, Var) and value.name in frame.owned:
        copy = frame.builder.variable("_t", value.type)
        frame.builder.copy_to(copy, value)
        return copy
    if isinstance(value, Optional):
        return frame.keep(value)
    return rebuild(value, [_snapshot(frame, v, several) for v in value]) if isinstance(value, tuple) else value


def _unpacked(frame: Frame, target: Any, value: Value, starred: int | None) -> list[Value] | None:
    """The items; None where there are as many as the running program finds, and a starred name takes them."""
    value = growing.rows_of(frame, value)
    if isinstance(value, Sym) and value.type.array and value.type.rank:
        return rows(frame, value, None if starred is not None else len(target.elts), f"cannot unpack an array into {len(target.elts)} names", target)
    items = known_items(frame, value, target)
    if isinstance(value, Growing) and starred is None:
        wanted = len(target.elts)
        raise_where(frame, operations.binary(frame, gast.Lt, value.count, wanted), "ValueError", f"not enough values to unpack (expected {wanted})")
        raise_where(frame, operations.binary(frame, gast.Gt, value.count, wanted), "ValueError", f"too many values to unpack (expected {wanted})")
        return [load(frame, value, k, target) for k in range(wanted)]
    if items is None and not isinstance(value, Growing):
        frame.unsupported(target, f"{a_kind(value)} cannot be unpacked")
    return items


def _around_a_star(frame: Frame, target: Any, value: Value, starred: int) -> list[Value]:
    """The items of `a, *b, c = value` where the running program finds how many there are."""
    behind = len(target.elts) - starred - 1
    count = frame.call(len, (value,), {})
    if starred + behind:
        message = f"not enough values to unpack (expected at least {starred + behind})"
        enough = operations.binary(frame, gast.GtE, count, starred + behind)
        if isinstance(enough, Sym):
            branch(frame, enough, lambda: None, lambda: emit_raise(frame, "ValueError", message), "_t")
    middle = frame.call(list, (load(frame, value, slice(starred, -behind or None), target),), {})
    return [*(load(frame, value, k, target) for k in range(starred)), middle, *(load(frame, value, k - behind, target) for k in range(behind))]


TENSORS: ContextVar[bool] = ContextVar("tensors", default=False)  # whether arrays stand for tensors, which never change


@executes(gast.AugAssign)
def augmented(frame: Frame, node: Any) -> None:
    """`x += v`: in place on arrays, a rebinding of scalars, and of the arrays that stand for tensors."""
    kind = type(node.op)
    if isinstance(node.target, gast.Name):
        old = read_name(frame, node.target)
        if isinstance(old, Sym) and old.type.array and not TENSORS.get():
            _update_whole(frame, old, node, lambda: read_name(frame, node.target), lambda array: frame.bind(node.target.id, array))
        else:
            result = _changed(frame, kind, old, frame.evaluate(node.value), node)
            if result is not old:
                frame.bind(node.target.id, result)
        return
    if isinstance(node.target, gast.Subscript):
        owner, index = tables.entry(frame, frame.evaluate(node.target.value), frame.evaluate(node.target.slice))
        if isinstance(owner, Sym):
            _update_items(frame, owner, index, node)
        else:
            old = load(frame, owner, index, node.target)
            if isinstance(old, Sym) and old.type.array and not TENSORS.get():
                _update_whole(frame, old, node, lambda: contents(owner).get(static_of(index)) if isinstance(owner, (list, dict)) else old,
                              lambda array: store(frame, owner, index, array, node.target))
                if isinstance(owner, (tuple, Record, Method)):  # Python changes the array, and then puts it back: which a tuple refuses, and `flat` needs
                    store(frame, owner, index, old, node.target)
            else:
                new = _changed(frame, kind, old, frame.evaluate(node.value), node)
                if selection.selectable(owner, index):  # an entry that was read is there
                    frame.mutate(owner)
                    selection.select(frame, owner, index, lambda key: store(frame, owner, key, new, node.target))
                else:
                    store(frame, owner, index, new, node.target)
        return
    _update_attribute(frame, node, kind)


def _update_attribute(frame: Frame, node: Any, kind: Any) -> None:
    """`obj.attr += v`."""
    owner = frame.evaluate(node.target.value)
    old = frame.evaluate(gast.Attribute(value=node.target.value, attr=node.target.attr, ctx=gast.Load()))
    if isinstance(old, Sym) and old.type.array and not TENSORS.get():
        name = node.target.attr
        now = lambda: owner.fields.get(name) if isinstance(owner, Record) else old  # noqa: E731
        _update_whole(frame, old, node, now, lambda array: attribute_store(frame, owner, name, array, node.target))
        frozen = isinstance(owner, Record) and getattr(getattr(owner.cls, "__dataclass_params__", None), "frozen", False)
        if frozen or isinstance(owner, tuple) or isinstance(owner, Sym) and node.target.attr == "T":  # Python changes the array, then fails to put it back
            attribute_store(frame, owner, node.target.attr, old, node.target)
    else:
        attribute_store(frame, owner, node.target.attr, _changed(frame, kind, old, frame.evaluate(node.value), node), node.target)


def _update_items(frame: Frame, owner: Sym, index: Value, node: Any) -> None:
    """`owner[index] op= value`: items that Python reads before it evaluates the value are what they were then, whatever that writes or raises."""
    out, before = frame.builder.out, len(frame.builder.out)
    value = frame.evaluate(node.value)
    first = any(isinstance(s, Store) or isinstance(s, Effect) and s.op == "raise" for s in walk(tuple(out[before:])))
    if not first or any(isinstance(i, slice) for i in (index if isinstance(index, tuple) else (index,))):
        update(frame, owner, index, type(node.op), value, node)
        return
    end = len(out)
    old = load(frame, owner, index, node.target)
    out[before:] = [*out[end:], *out[before:end]]
    store(frame, owner, index, binary_operator(frame, node, type(node.op), old, value), node.target)


def _update_whole(frame: Frame, old: Sym, node: Any, now: Callable[[], Value], put_back: Callable[[Sym], None]) -> None:
    """`a op= value` in place: of the array that `a` was before the value, which it is again behind it, whatever the value binds `a` to."""
    out, before = frame.builder.out, len(frame.builder.out)
    value = frame.evaluate(node.value)
    if len(out) == before or not _calls(node.value):
        update(frame, old, Ellipsis, type(node.op), value, node)
        return
    bound, current = assigned(tuple(out[before:])), now()
    if not isinstance(current, Sym) or current.operand == old.operand and not bound.intersection(operand_vars(old.operand)):
        update(frame, old, Ellipsis, type(node.op), value, node)
        return
    end = len(out)
    kept = frame.builder.variable("_t", old.type)
    frame.builder.copy_to(kept, old)
    out[before:] = [*out[end:], *out[before:end]]
    update(frame, kept, Ellipsis, type(node.op), value, node)
    put_back(kept)


def _calls(node: Any) -> bool:
    return any(isinstance(n, (gast.Call, gast.NamedExpr)) for n in gast.walk(node))


SET_METHODS: dict[type, str] = {
    gast.BitOr: "update", gast.BitAnd: "intersection_update", gast.Sub: "difference_update", gast.BitXor: "symmetric_difference_update",
}  # fmt: skip


def _changed(frame: Frame, kind: type, old: Value, value: Value, node: Any) -> Value:
    """What `old op= value` leaves: the same container, changed, or a new value."""
    boxes.changing(frame, old)
    if (isinstance(old, list) or isinstance(old, Growing) and issubclass(old.cls, list)) and kind is gast.Add:
        found = _added_by(frame, old, value, node)
        if found is objects.NO_OPERATOR:
            call_method(frame, Method(old, "extend"), (value,), {})
        return old if found is objects.NO_OPERATOR else found
    if isinstance(old, dict) and kind is gast.BitOr or isinstance(old, set) and kind in SET_METHODS:
        call_method(frame, Method(old, SET_METHODS[kind]), (value,), {})
        return old
    if isinstance(old, list) and kind is gast.Mult and is_static(static_of(value)):
        frame.mutate(old)
        old[:] = [frame.keep(v) for v in old * static_of(value)]
        return old
    old = sparse_objects.record_of(frame, old)
    if isinstance(old, Record) or objects.from_outside(old):
        found = objects.in_place(frame, kind, old, value)
        if found is not objects.NO_OPERATOR:
            return found
    return binary_operator(frame, node, kind, old, value)


def _added_by(frame: Frame, old: Value, value: Value, node: Any) -> Value:
    """What the right side makes of `old += value`, which Python asks before a list extends itself: arrays and NumPy's scalars add item by item."""
    if growing.is_of_numpy(value):
        return binary_operator(frame, node, gast.Add, old, value)
    if isinstance(value, Record):
        return objects.operator(frame, gast.Add, old, value)
    return objects.operator_from_outside(frame, gast.Add, old, value)


def update(frame: Frame, owner: Sym, index: Value, kind: type, value: Value, node: Any) -> None:
    """`owner[index] op= value`; `+=` and `-=` keep their form, as their adjoints need no old value."""
    boxes.changing(frame, owner)
    value = growing.as_array(frame, value)
    if axisless.flagged(index):
        axisless.store(frame, owner, index, value, lambda rest, item: update(frame, owner, rest, kind, item, node))
        return
    entries = normalise(frame, owner, index, node)
    index = entries if len(entries) != 1 else entries[0]
    operand = operand_of(index)
    repeated = any(isinstance(e, Sym) and e.type.array for e in entries)
    if kind in (gast.Add, gast.Sub) and not repeated and owner.type.is_float:
        castable(frame, owner.type, type_of(value), node)
        value = _negative(frame, value) if kind is gast.Sub else value
        target = indexed_type(frame.builder, owner.type, entries)
        if type_of(value).rank > target.rank:
            sign = "-" if kind is gast.Sub else "+"
            raise errors.ShapeError(f"`{sign}=` of an array of rank {type_of(value).rank} to one of rank {target.rank}", frame.loc(node))
        value = fitted(frame, owner, index, target, value)
        frame.builder.emit(Store(Var(owner.name), operand, operand_of(value), "add", frame.builder.loc, frame.builder.note))
        return
    old = load(frame, owner, index, node)
    new = operations.binary(frame, kind, old, value)
    if type_of(old).rank or entries == (Ellipsis,):  # an element is a number: `a[i] = a[i] + v`
        in_place(frame, type_of(old), type_of(new), node)
    if entries == (Ellipsis,):
        new = fitted(frame, owner, index, owner.type, new)
        frame.builder.emit(Store(Var(owner.name), ALL, operand_of(new), "set", frame.builder.loc, frame.builder.note))
    else:
        store(frame, owner, index, new, node)


def _negative(frame: Frame, value: Value) -> Value:
    """What is added where a value is subtracted from floats: of NumPy's integers and truth values a float, as unsigned ones wrap where their sign changes."""
    type_ = type_of(value)
    kind = np.dtype(type_.dtype).kind
    if kind == "b" or kind in "ui" and not type_.weak:
        return operations.binary(frame, gast.Mult, value, -1.0)
    return operations.unary(frame, gast.USub, value)


@executes(gast.Expr)
def expression_statement(frame: Frame, node: Any) -> None:
    if isinstance(node.value, gast.Constant):
        return
    keep_what_it_raises(frame.builder, frame.evaluate(node.value))


@executes(gast.Return)
def return_statement(frame: Frame, node: Any) -> Value:
    frame.result = None if node.value is None else frame.evaluate_raw(node.value)
    return frame.result


@executes(gast.FunctionDef)
def function_definition(frame: Frame, node: Any) -> None:
    value: Value = closure(frame, node)
    for decorator in reversed(node.decorator_list):
        value = frame.call(frame.evaluate(decorator), (value,), {})
    frame.env[node.name] = value
    note_assigned(frame, node)


@executes(gast.Import)
def import_statement(frame: Frame, node: Any) -> None:
    for alias in node.names:
        module = _imported(frame, alias.name)
        frame.env[alias.asname or alias.name.split(".")[0]] = module if alias.asname else _imported(frame, alias.name.split(".")[0])
        note_assigned(frame, alias)


def _imported(frame: Frame, name: str) -> Any:
    """A module; where there is none, the path to here ends with an ImportError."""
    module = frame.look("module", None, name)
    try:
        return importlib.import_module(name) if module is ABSENT else module
    except ImportError as problem:
        raise errors.UndefinedNameError(f"{type(problem).__name__}: {problem}", frame.builder.loc) from problem


@executes(gast.ImportFrom)
def import_from_statement(frame: Frame, node: Any) -> None:
    name = node.module or ""
    if node.level:
        name = importlib.util.resolve_name("." * node.level + name, frame.look("name", frame.source.function, "__package__"))
    module = _imported(frame, name)
    for alias in node.names:
        value = frame.look("attribute", module, alias.name)
        frame.env[alias.asname or alias.name] = _imported(frame, f"{name}.{alias.name}") if value is ABSENT else value
        note_assigned(frame, alias)


@executes(gast.If)
def if_statement(frame: Frame, node: Any) -> None:
    cond = condition(frame, node.test)
    if not isinstance(cond, Sym):
        frame.execute(node.body if cond else node.orelse)
        return

    then = knowing(frame, node.test, True, lambda: frame.execute(node.body))
    branch(frame, cond, then, knowing(frame, node.test, False, lambda: frame.execute(node.orelse)), "_t")


@executes(gast.Delete)
def delete_statement(frame: Frame, node: Any) -> None:
    """`del name` only lowers the flag of the name: where it is read again, that is tested."""
    note_deleted(frame, node)
    for target in node.targets:
        if isinstance(target, gast.Subscript):
            delete(frame, frame.evaluate(target.value), frame.evaluate(target.slice), target)
        elif isinstance(target, gast.Attribute):
            objects.drop(frame, frame.evaluate(target.value), target.attr, target)


@executes(gast.Assert)
def assert_statement(frame: Frame, node: Any) -> None:
    cond = condition(frame, node.test)
    message = static_of(frame.evaluate(node.msg)) if node.msg is not None else ""
    if not isinstance(cond, Sym):
        if not cond:
            problem = errors.ShapeError(f"this assertion is false whenever the function is called like this: {message}", frame.loc(node))
            raise problem from AssertionError(message)
        return
    _raise_unless(frame, cond, "AssertionError", message if isinstance(message, str) else "")


def _raise_unless(frame: Frame, cond: Sym, kind: str, message: str) -> None:
    branch(frame, cond, lambda: None, lambda: emit_raise(frame, kind, message), "_t")


@executes(gast.Raise)
def raise_statement(frame: Frame, node: Any) -> None:
    """`raise Kind(message)`: where it is certain to run, it is raised while compiling, else by the program."""
    exc = node.exc
    call = exc if isinstance(exc, gast.Call) else None
    kind = frame.evaluate(call.func if call is not None else exc) if exc is not None else _being_handled(frame)
    if isinstance(kind, type) and issubclass(kind, Exception):
        kind = exceptions.made(kind, tuple(said(frame, a) for a in call.args) if call is not None else ())
    if not isinstance(kind, Exception):
        frame.unsupported(node, "only `raise Class(message)` is supported")
    if not frame.builder.regions or isinstance(kind, NotCovered):
        raise kind
    exceptions.emit_raised(frame, kind)
    if frame.builder.regions[-1].conditional:
        raise Leaves(type(kind))


def _being_handled(frame: Frame) -> Value:
    """What a `raise` alone raises again."""
    handling = frame.builder.handling
    if handling and isinstance(handling[-1], Maybe) and handling[-1].error is not None:
        raise handling[-1].error
    return handling[-1] if handling else RuntimeError("No active exception to reraise")


__all__ = ["Maybe", "assign", "range_length", "replace"]
