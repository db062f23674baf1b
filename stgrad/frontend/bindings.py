"""What the syntax of a function tells about its names: how often they are bound, and which counters are read outside their loops."""

from __future__ import annotations

import weakref
from typing import Any

import gast


def counters_read_later(tree: Any) -> set[str]:
    """Names of loop counters that are read outside the loops that bind them, or that a loop inside binds again."""
    found: set[str] = set()

    def visit(node: Any, bound: frozenset[str]) -> None:
        if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load) and node.id not in bound:
            found.add(node.id)
        if isinstance(node, gast.For) and isinstance(node.target, gast.Name):
            visit(node.iter, bound)
            if node.target.id in bound:
                found.add(node.target.id)
            bound = bound | {node.target.id}
        for child in gast.iter_child_nodes(node):
            visit(child, bound)

    for statement in tree.body:
        visit(statement, frozenset())
    return found


WALRUS = ":="


def binding_counts(tree: Any) -> dict[str, int]:
    """How often the body of a function binds each name; twice for a binding inside a loop. Nested functions are left out.

    The entry WALRUS tells whether names are bound inside of expressions.
    """
    counts: dict[str, int] = {}

    def visit(node: Any, weight: int) -> None:
        if isinstance(node, gast.Name) and isinstance(node.ctx, (gast.Store, gast.Param)):
            counts[node.id] = counts.get(node.id, 0) + weight
        for name in getattr(node, "binds", ()):  # what the consumer of a generator binds at a `yield`
            counts[name] = 2
        for flag in (getattr(node, "flag", None), *getattr(node, "ran", ()), *(getattr(node, "flags", ()) if isinstance(node, gast.Delete) else ())):
            if flag is not None:
                counts[flag] = 2
        if isinstance(node, (gast.FunctionDef, gast.Lambda)):
            if isinstance(node, gast.FunctionDef):
                counts[node.name] = counts.get(node.name, 0) + 1
            return
        if isinstance(node, (gast.ListComp, gast.SetComp, gast.GeneratorExp, gast.DictComp)):
            return
        if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
            counts[node.target.id] = counts.get(node.target.id, 0) + weight
        if isinstance(node, gast.NamedExpr):
            counts[WALRUS] = 1
        inner = 2 if isinstance(node, (gast.For, gast.While)) else weight
        for child in gast.iter_child_nodes(node):
            visit(child, inner)

    for statement in tree.body:
        visit(statement, 1)
    return counts


def names_in_functions(tree: Any) -> set[str]:
    """Names that functions inside of a function, and generators, may read: they live longer than its call."""
    inside = (gast.FunctionDef, gast.Lambda, gast.GeneratorExp)
    inner = [node for statement in tree.body for node in gast.walk(statement) if isinstance(node, inside)]
    return {node.id for function in inner for node in gast.walk(function) if isinstance(node, gast.Name)}


_told: weakref.WeakKeyDictionary[Any, tuple[dict[str, int], set[str], frozenset[str]]] = weakref.WeakKeyDictionary()


def told(tree: Any) -> tuple[dict[str, int], set[str], frozenset[str]]:
    """`binding_counts`, `counters_read_later` and `names_in_functions` of a function that is read in place of many calls."""
    if tree not in _told:
        _told[tree] = binding_counts(tree), counters_read_later(tree), frozenset(names_in_functions(tree))
    counts, later, inside = _told[tree]
    return dict(counts), set(later), inside


def bound_names(nodes: list[Any]) -> set[str]:
    """Names that statements bind, nested functions' own names left out."""
    return set(binding_counts(gast.Module(body=nodes, type_ignores=[]))) - {WALRUS}
