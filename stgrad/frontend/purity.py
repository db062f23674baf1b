"""Functions that certainly change nothing and print nothing: how often and when they are called is not seen."""

from __future__ import annotations

import functools
import types
from typing import Any

import gast

from stgrad import source as sources
from stgrad.errors import StgradError
from stgrad.frontend.values import Closure, Method, Record, Value

_HARMLESS = {
    "abs", "all", "any", "bool", "complex", "divmod", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "pow", "range", "reversed",
    "round", "sorted", "str", "sum", "tuple", "type", "zip",
}  # fmt: skip
_METHODS = {"all", "any", "astype", "copy", "count", "cumsum", "dot", "flatten", "get", "index", "item", "items", "keys", "max", "mean", "min", "prod", "ravel",
            "reshape", "std", "sum", "tolist", "transpose", "values", "var"}  # fmt: skip
_WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask", "seed", "shuffle", "at"}
_MODULES = {"np", "numpy", "math", "cmath"}
_DEPTH = 5


def changes_nothing(function: Value, depth: int = 0) -> bool:
    """Whether the text of a function, and of those that it calls, shows that it changes nothing outside; of what has no text, unless it is an object."""
    if isinstance(function, functools.partial):
        return changes_nothing(function.func, depth)
    if isinstance(function, (Record, Method, types.MethodType)) or depth > _DEPTH:
        return False
    if isinstance(function, type):
        return function.__module__ in ("builtins", "numpy")
    if not isinstance(function, (Closure, types.FunctionType)):
        return True
    try:
        tree = function.tree if isinstance(function, Closure) else sources.load(function).tree
    except StgradError:
        return True  # without a source it has a rule, or is refused
    return all(_harmless(node, function, depth) for statement in tree.body for node in gast.walk(statement))


def _harmless(node: Any, function: Any, depth: int) -> bool:
    if isinstance(node, (gast.Subscript, gast.Attribute)):
        return isinstance(node.ctx, gast.Load)
    if isinstance(node, (gast.AugAssign, gast.Nonlocal, gast.Global, gast.Yield, gast.YieldFrom, gast.With)):
        return False
    return not isinstance(node, gast.Call) or _harmless_call(node, function, depth)


def _harmless_call(node: Any, function: Any, depth: int) -> bool:
    callee = node.func
    if any(k.arg == "out" for k in node.keywords):
        return False
    if isinstance(callee, gast.Attribute):
        root: Any = callee.value
        while isinstance(root, gast.Attribute):
            root = root.value
        if isinstance(root, gast.Name) and root.id in _MODULES:
            return callee.attr not in _WRITING
        return callee.attr in _METHODS
    if not isinstance(callee, gast.Name):
        return False
    if callee.id in _HARMLESS:
        return True
    found = _meant(callee.id, function)
    return found is not None and changes_nothing(found, depth + 1)


def _meant(name: str, function: Any) -> Any:
    """What a name in a function stands for; None where that is not known here."""
    if isinstance(function, Closure):
        owner = function.frame
        return owner.env[name] if name in owner.env else _resolved(owner.source, name)
    return _resolved(sources.load(function), name)


def _resolved(source: Any, name: str) -> Any:
    try:
        return source.resolve(name)
    except (StgradError, NameError):
        return None


__all__ = ["changes_nothing"]
