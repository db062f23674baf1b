"""What the compiler does not take: a table from the syntax to the reason and to what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.errors import UnsupportedSyntaxError
from stgrad.ir import Loc
from stgrad.syntax.assigned import binders, parameters
from stgrad.syntax.patterns import unsupported

_ASYNC = ("`async` code", "it has no order of execution that can be run backwards", "write a plain function")
_TRY = ("`try`", "which statements ran before the exception cannot be known", "test for the condition with `if`, before it fails")

# node class -> what, why, what to write instead
_REFUSED: dict[str, tuple[str, str, str]] = {
    "TryStar": _TRY,
    "AsyncFunctionDef": _ASYNC,
    "AsyncFor": _ASYNC,
    "AsyncWith": _ASYNC,
    "Await": _ASYNC,
    "Global": ("`global`", "a derivative cannot be propagated through a module variable", "pass the value in and return it"),
    "Nonlocal": ("`nonlocal` of a variable outside", "the variable outlives the call", "pass the value in and return it"),
    "ClassDef": ("a class in a function", "it makes a new type at each call", "define the class at module level"),
    "Match": ("`match` with attributes by position or `**rest`", "only their names say what they mean", "name the attributes: Point(x=0)"),
}
_REFUSED_CALLS = {"eval", "exec", "locals", "compile"}


def drop_idle_globals(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Leave out `global` of names that the function, and what is defined in it, only reads: they mean the module's anyway. Changes the tree."""
    functions = [n for n in gast.walk(tree) if isinstance(n, (gast.FunctionDef, gast.Lambda))]
    bound = {n.id for n in gast.walk(tree) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    for function in functions:
        bound |= parameters(function) | {name for name, _ in binders(function.body if isinstance(function, gast.FunctionDef) else [])}
    bound |= {n.name for n in gast.walk(tree) if isinstance(n, gast.ExceptHandler) and isinstance(n.name, str)}
    return _Idle(bound).visit(tree)  # type: ignore[no-any-return]


class _Idle(gast.NodeTransformer):  # type: ignore[misc,unused-ignore]
    def __init__(self, bound: set[str]) -> None:
        self.bound = bound

    def visit_Global(self, node: Any) -> Any:
        return node if self.bound & set(node.names) else gast.copy_location(gast.Pass(), node)


def refuse(tree: gast.AST, locate: Callable[[Any], Loc] | None) -> None:
    """Raise `UnsupportedSyntaxError` at the first thing that is not taken."""
    for node in gast.walk(tree):
        found = _REFUSED.get(type(node).__name__)
        if found is not None and not (isinstance(node, gast.Match) and not unsupported(node)):
            raise _error(*found, node, locate)
        if isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id in _REFUSED_CALLS:
            what = f"`{node.func.id}`"
            raise _error(what, "it works on text or names at run time", "write the expression itself", node, locate)


def _error(what: str, why: str, instead: str, node: Any, locate: Callable[[Any], Loc] | None) -> UnsupportedSyntaxError:
    loc = locate(node) if locate is not None else None
    return UnsupportedSyntaxError(f"{what} is not supported", loc, reason=why, hint=instead)
