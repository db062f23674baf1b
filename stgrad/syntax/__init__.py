"""Python -> its core: a function with one `return`, as its last statement, and no jumps.

The result is a gast tree that means the same as Python. What is gone: `break`, `continue`, early `return`, the `else` of
loops, chained assignments and comparisons, `match`, `nonlocal`, annotations, docstrings, `pass` (blocks may be empty), `del` of names,
and `with np.errstate(...)` around a body; a `with` has one manager. What the compiler does not take at all is refused, with its place.

Contract: the tree that goes in is not changed; every new node has the place of the one it stands for; invented names start
with an underscore and are fresh. A loop that may be left early has an attribute `until`: the name of the flag that is
true once it is. Its body (of a `for`) or its condition (of a `while`) tests the flag too, so the tree means the same to
those who do not know the attribute. The same holds for the attributes of names that may be read unassigned (`syntax.assigned`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.ir import Loc
from stgrad.names import Names
from stgrad.syntax.assigned import mark_unassigned
from stgrad.syntax.cells import share_nonlocals
from stgrad.syntax.classes import set_apart_classes
from stgrad.syntax.generators import generator_expressions, generator_functions
from stgrad.syntax.inserted import inserted_blocks
from stgrad.syntax.jumps import remove_jumps
from stgrad.syntax.refuse import refuse, set_apart_outside_names
from stgrad.syntax.simplify import simplify

Locate = Callable[[Any], Loc]


def desugar(tree: gast.FunctionDef, locate: Locate | None = None) -> gast.FunctionDef:
    """A function in the core language.

    Args:
        tree: A function; nested functions and lambdas are rewritten as well.
        locate: The place of a node in the user's file (`Source.loc`), for errors.

    Raises:
        UnsupportedSyntaxError: it uses what the compiler does not take (`global`, classes, `async`...).

    >>> print(to_text(desugar(gast.parse('''
    ... def first_above(xs, limit):
    ...     for i in range(len(xs)):
    ...         if xs[i] > limit:
    ...             break
    ...     else:
    ...         return -1
    ...     return i
    ... ''').body[0])))
    def first_above(xs, limit):
        _break = False
        for _i in range(len(xs)):
            if not _break:
                i = _i
                if xs[i] > limit:
                    _break = True
        if not _break:
            _ret = -1
        else:
            _ret = i
        return _ret
    """
    names = Names(_names(tree))
    tree = share_nonlocals(inserted_blocks(set_apart_classes(copied(tree)), names, locate), names)
    refuse(set_apart_outside_names(tree), locate)
    others = generator_functions(tree, names, locate, copied)
    for whole in [_core(other, names) for other in (*others, tree)]:
        for function in generator_expressions(whole, names, copied):
            gast.fix_missing_locations(remove_jumps(mark_unassigned(function, names), names))
    return tree


def _core(tree: gast.FunctionDef, names: Names) -> gast.FunctionDef:
    return gast.fix_missing_locations(remove_jumps(mark_unassigned(simplify(tree, names), names), names))


def copied(node: Any) -> Any:
    """A tree of nodes of its own. No node stands in two places, so nothing has to be remembered, as `copy.deepcopy` does."""
    if isinstance(node, list):
        return [copied(item) for item in node]
    if not isinstance(node, gast.AST):
        return node
    kind: Any = type(node)
    new = kind.__new__(kind)
    new.__dict__.update({name: copied(value) for name, value in vars(node).items()})
    return new


def to_text(tree: gast.FunctionDef) -> str:
    """A core function as Python text; empty blocks get a `pass`."""
    return ast.unparse(to_ast(tree))


def to_ast(tree: gast.FunctionDef) -> ast.FunctionDef:
    """A core function as a tree that Python compiles."""
    node = gast.gast_to_ast(tree)
    for inner in ast.walk(node):
        if isinstance(inner, (ast.If, ast.For, ast.While, ast.With)) and not inner.body:
            inner.body = [ast.Pass()]
    return ast.fix_missing_locations(node)  # type: ignore[no-any-return]


def _names(tree: gast.AST) -> set[str]:
    """Every identifier of a tree."""
    found = {node.id for node in gast.walk(tree) if isinstance(node, gast.Name)}
    return found | {node.name for node in gast.walk(tree) if isinstance(node, (gast.FunctionDef, gast.ClassDef))}
