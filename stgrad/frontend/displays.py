"""Tuples, lists, dicts and sets as a program writes them."""

from __future__ import annotations

from typing import Any

import gast

from stgrad import errors
from stgrad.frontend import tables
from stgrad.frontend.arrays import call_method, get
from stgrad.frontend.frame import Frame, evaluates
from stgrad.frontend.iteration import few_items, static_items
from stgrad.frontend.values import Method, Value, is_static, rebuild, static_of


@evaluates(gast.Tuple)
def tuple_display(frame: Frame, node: Any) -> Value:
    return tuple(items_in(frame, node.elts)) if not _starred(node) else _made_of(frame, tuple, node)


@evaluates(gast.List)
def list_display(frame: Frame, node: Any) -> Value:
    return items_in(frame, node.elts) if not _starred(node) else _made_of(frame, list, node)


def _starred(node: Any) -> bool:
    return any(isinstance(e, gast.Starred) for e in node.elts)


def _made_of(frame: Frame, kind: type, node: Any) -> Value:
    """`[*values, v]` and `(*values, v)`, whose number may be unknown."""
    parts = [frame.evaluate(e.value) if isinstance(e, gast.Starred) else [kept(frame, e)] for e in node.elts]
    if all(isinstance(part, (tuple, list)) for part in parts):
        return kind(v for part in parts for v in part)
    if len(parts) == 1:
        return frame.call(kind, (parts[0],), {})
    name = frame.hidden_name("list")
    frame.env[name] = []
    for part in parts:
        call_method(frame, Method(frame.env[name], "extend"), (part,), {})
    return frame.call(kind, (frame.env.pop(name),), {})


def items_in(frame: Frame, nodes: list[Any], keep: bool = True) -> list[Value]:
    """The values of items that stand beside one another, those behind stars among them."""
    items: list[Value] = []
    for node in nodes:
        if isinstance(node, gast.Starred):
            value = frame.evaluate(node.value)
            known = value if isinstance(value, (tuple, list)) else few_items(frame, value, node)
            if known is None:
                raise errors.NeedStaticError("`*` needs a tuple or list of known length", frame.loc(node))
            items.extend(known)
        else:
            items.append(kept(frame, node) if keep else frame.evaluate(node))
    return items


def kept(frame: Frame, node: Any) -> Value:
    """The value of an item of a container."""
    value = frame.evaluate_raw(node)
    bound_once = isinstance(node, gast.Name) and frame.counts.get(node.id, 0) == 1
    return value if bound_once else frame.keep(value)


def kept_items(frame: Frame, values: Value) -> Value:
    """A new list or tuple, with items that stay what they are."""
    return rebuild(values, [frame.keep(v) for v in values])


@evaluates(gast.Dict)
def dict_display(frame: Frame, node: Any) -> Value:
    parts = [(None, frame.evaluate(v)) if k is None else (static_of(frame.evaluate(k)), kept(frame, v)) for k, v in zip(node.keys, node.values, strict=True)]
    if any(k is None and tables.is_table(part) for k, (_, part) in zip(node.keys, parts, strict=True)):
        return tables.united(frame, [part if k is None else tables.of_pairs(frame, [(key, part)]) for k, (key, part) in zip(node.keys, parts, strict=True)])
    pairs: list[Value] = []
    for k, (key, part) in zip(node.keys, parts, strict=True):
        pairs.extend([(key, part)] if k is not None else static_items(frame, frame.call(get(frame, part, "items", node), (), {}), node))
    return tables.of_pairs(frame, pairs)


@evaluates(gast.Set)
def set_display(frame: Frame, node: Any) -> Value:
    """A set of values that are known at compile time, or of numbers of the running program."""
    from stgrad.frontend import sets

    found = items_in(frame, node.elts)
    items = static_of(found)
    if not is_static(items):
        if (made := sets.key_set(frame, found)) is not None:
            return made
        raise errors.NeedStaticError("the items of a set must be known at compile time", frame.loc(node), hint="use a list or a tuple")
    return set(items)
