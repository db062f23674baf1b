"""What the compiler does not take: a table from the syntax to the reason and to what to write instead."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.errors import UnsupportedSyntaxError
from stgrad.ir import Loc
from stgrad.syntax.assigned import binders, own, parameters

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
}
_REFUSED_CALLS = {"eval", "exec", "locals", "compile"}


@dataclasses.dataclass(frozen=True)
class OutsideNames:
    """Stands for the module, or the function around, in `global x` or `nonlocal x`, `x = 1.0` -> `<names outside>.x = 1.0`.

    Such an assignment is refused where the program comes to it: most fill a cache, and only once.
    """

    statement: str


def set_apart_outside_names(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Leave out `global` and `nonlocal` of names that no function of the tree binds but by `name = value` beside the declaration. Changes the tree."""
    functions = [n for n in gast.walk(tree) if isinstance(n, (gast.FunctionDef, gast.Lambda))]
    for function in functions if any(isinstance(n, _OUTSIDE) for n in gast.walk(tree)) else ():
        declared = {name: type(n).__name__.lower() for n in own(_body(function)) if isinstance(n, _OUTSIDE) for name in n.names}
        plain = {id(t) for n in own(_body(function)) if isinstance(n, gast.Assign) and len(n.targets) == 1 for t in n.targets}
        bound = {n.id for n in gast.walk(tree) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load) and id(n) not in plain}
        bound |= {name for other in functions for name, node in binders(_body(other)) if id(node) not in plain}
        bound |= {name for other in functions for name in parameters(other)}
        bound |= {n.name for n in gast.walk(tree) if isinstance(n, gast.ExceptHandler) and isinstance(n.name, str)}
        imported = declared.keys() & _imported(function, tree)
        if not (bound - imported) & declared.keys() and declared:
            found = [_as_local(declared[name], name, function) for name in sorted(imported)]
            apart = {name: statement for name, statement in declared.items() if name not in imported}
            function.body = [*found, *(_Outside(apart).visit(stmt) for stmt in function.body)]
    return tree


def _imported(function: Any, tree: gast.FunctionDef) -> set[str]:
    """Names that imports of a function bind, and nothing else does: `global f`, `if f is None: from m import f`. To import again finds the same."""

    def names(inside: Iterable[Any]) -> list[str]:
        return [a.asname or a.name.split(".")[0] for n in inside if isinstance(n, (gast.Import, gast.ImportFrom)) for a in n.names]

    here, everywhere = names(own(_body(function))), names(gast.walk(tree))
    stored = {n.id for n in gast.walk(tree) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    return {name for name in here if here.count(name) == everywhere.count(name) and name not in stored}


def _as_local(statement: str, name: str, function: Any) -> Any:
    """`name = <names outside>.name`, before the first statement."""
    outside = gast.Attribute(gast.Constant(OutsideNames(statement), None), name, gast.Load())
    made = gast.Assign([gast.Name(name, gast.Store(), None, None)], outside, None)
    for node in gast.walk(made):
        gast.copy_location(node, function.body[0])
    return made


_OUTSIDE = (gast.Global, gast.Nonlocal)


def _body(function: Any) -> Any:
    return function.body if isinstance(function, gast.FunctionDef) else []


class _Outside(gast.NodeTransformer):  # type: ignore[misc,unused-ignore]
    """In a function itself, the declared names as attributes of `OutsideNames` where they are assigned."""

    def __init__(self, declared: dict[str, str]) -> None:
        self.declared = declared

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    def visit_Global(self, node: Any) -> Any:
        return gast.copy_location(gast.Pass(), node)

    def visit_Nonlocal(self, node: Any) -> Any:
        return gast.copy_location(gast.Pass(), node)

    def visit_Assign(self, node: Any) -> Any:
        (target, *others) = node.targets
        if not others and isinstance(target, gast.Name) and target.id in self.declared:
            outside = gast.copy_location(gast.Constant(OutsideNames(self.declared[target.id]), None), target)
            node.targets = [gast.copy_location(gast.Attribute(outside, target.id, gast.Store()), target)]
        return node


def refuse(tree: gast.AST, locate: Callable[[Any], Loc] | None) -> None:
    """Raise `UnsupportedSyntaxError` at the first thing that is not taken."""
    for node in gast.walk(tree):
        found = _REFUSED.get(type(node).__name__)
        if found is not None:
            raise _error(*found, node, locate)
        if isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id in _REFUSED_CALLS:
            what = f"`{node.func.id}`"
            raise _error(what, "it works on text or names at run time", "write the expression itself", node, locate)


def _error(what: str, why: str, instead: str, node: Any, locate: Callable[[Any], Loc] | None) -> UnsupportedSyntaxError:
    loc = locate(node) if locate is not None else None
    return UnsupportedSyntaxError(f"{what} is not supported", loc, reason=why, hint=instead)
