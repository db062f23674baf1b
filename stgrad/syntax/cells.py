"""`nonlocal` names -> items of a list that the functions share.

    total = 0.0                     _total = [None]
    def add(v):                     _total[0] = 0.0
        nonlocal total       ->     def add(v):
        total += v                      _total[0] += v
"""

from __future__ import annotations

from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.names import Names
from stgrad.syntax.assigned import binders, own, parameters
from stgrad.syntax.build import assign, at, constant, load

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.GeneratorExp, gast.DictComp)


def share_nonlocals(tree: gast.FunctionDef, names: Names) -> gast.FunctionDef:
    """Put the names that nested functions declare `nonlocal` into lists. Changes the tree; declarations without an owner in it stay."""
    functions = [n for n in gast.walk(tree) if isinstance(n, gast.FunctionDef)]
    for function in functions:
        wanted = {name for inner in own(function.body) if isinstance(inner, gast.FunctionDef) for name in _declared(inner)}
        local = ({name for name, _ in binders(function.body)} | parameters(function)) - set(_declared_here(function))
        shared = {name: names.fresh(f"_{name}") for name in sorted(wanted & local)}
        if shared:
            _share(function, shared)
    return tree


def _declared_here(function: Any) -> list[str]:
    return [name for node in own(function.body) if isinstance(node, gast.Nonlocal) for name in node.names]


def _declared(function: Any) -> set[str]:
    """Names that a nested function, or one in it, declares and does not own itself."""
    inner = {name for f in own(function.body) if isinstance(f, gast.FunctionDef) for name in _declared(f)}
    local = {name for name, _ in binders(function.body)} | parameters(function)
    return set(_declared_here(function)) | (inner - local)


def _share(function: Any, shared: dict[str, str]) -> None:
    given = parameters(function)
    made = [assign(function, cell, gast.List([load(name) if name in given else constant(None)], gast.Load())) for name, cell in shared.items()]
    function.body = [*made, *(_Sharer(shared).visit(stmt) for stmt in function.body)]


class _Sharer(gast.NodeTransformer):  # type: ignore[misc,unused-ignore]
    """Names as items of their cells, in a function and in those that see its names."""

    def __init__(self, shared: dict[str, str]) -> None:
        self.shared = shared

    def visit(self, node: Any) -> Any:
        if not isinstance(node, _COMPREHENSIONS):
            return super().visit(node)
        local = {n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)}
        return _Sharer({n: c for n, c in self.shared.items() if n not in local}).generic_visit(node)

    def visit_Name(self, node: Any) -> Any:
        if node.id not in self.shared:
            return node
        return at(node, gast.Subscript(load(self.shared[node.id]), constant(0), type(node.ctx)()))

    def visit_Nonlocal(self, node: Any) -> Any:
        node.names = [name for name in node.names if name not in self.shared]
        return node if node.names else at(node, gast.Pass())

    def visit_FunctionDef(self, node: Any) -> Any:
        local = ({name for name, _ in binders(node.body)} | parameters(node)) - set(_declared_here(node))
        return self._nested(node, local)

    def visit_Lambda(self, node: Any) -> Any:
        return self._nested(node, set(parameters(node)))

    def _nested(self, node: Any, local: set[str]) -> Any:
        """A function that may have names of its own; its defaults belong to the one around it."""
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [None if d is None else self.visit(d) for d in node.args.kw_defaults]
        inner = _Sharer({name: cell for name, cell in self.shared.items() if name not in local})
        node.body = [inner.visit(s) for s in node.body] if isinstance(node.body, list) else inner.visit(node.body)
        return node
