"""Generator expressions: their items are computed when they are asked for, with what names mean then.

One that a call takes all items of, at once, is a list (`sum(f(v) for v in x)`); so is one whose first items `any`, `all` and `next` take, unless the evaluation
of an item does something that is seen: then the items behind would do it, too. Every other one is the generator function that it is short for
(`stgrad.syntax.generators.generator_expressions`).
"""

from __future__ import annotations

import itertools
import types
from typing import Any

import gast

from stgrad.frontend.comprehensions import comprehension, element_of, unseen
from stgrad.frontend.expressions import closure
from stgrad.frontend.frame import Frame, evaluates
from stgrad.frontend.iteration import once
from stgrad.frontend.values import Closure, Record, Value

STEPWISE: set[Any] = {any, all, next}  # they may leave items
LAZY = {iter, enumerate, zip, map, filter, itertools.islice, itertools.filterfalse}  # they take items when theirs are asked for
ASKING = {isinstance, type, hasattr, getattr, callable}  # they take none
CONSUMING: list[type] = []  # classes that take all items (`stgrad.frontend.calls`)


@evaluates(gast.GeneratorExp)
def generator_expression(frame: Frame, node: Any) -> Value:
    function = getattr(node, "function", None)
    if function is None:
        return unseen(frame, lambda: _items(frame, node), "a generator expression that binds names by `:=`", node)
    return frame.call(closure(frame, function), (frame.evaluate(node.generators[0].iter),), {})


def argument(frame: Frame, node: Any, function: Value, others: int) -> Value:
    """An argument of a call, beside as many others."""
    if not isinstance(node, gast.GeneratorExp) or isinstance(function, (Closure, Record, types.FunctionType, types.MethodType)):
        return frame.evaluate_raw(node)
    name = getattr(function, "__name__", type(function).__name__)
    if _among(function, LAZY) and not others or _among(function, ASKING):
        return frame.evaluate_raw(node)
    if _among(function, STEPWISE | LAZY) or getattr(function, "__module__", None) == "itertools":
        return unseen(frame, lambda: _items(frame, node), f"`{name}`", node)
    if isinstance(function, type) and function not in CONSUMING:
        return frame.evaluate_raw(node)
    return _items(frame, node)


def _among(function: Value, known: set[Any]) -> bool:
    return isinstance(function, (type, types.BuiltinFunctionType)) and function in known


def _items(frame: Frame, node: Any) -> Value:
    return once(frame, comprehension(frame, node, lambda inner: element_of(inner, node.elt)))


__all__ = ["argument"]
