"""What the compiler does not take: a table from the syntax to the reason and to what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.errors import UnsupportedSyntaxError
from stgrad.ir import Loc
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
