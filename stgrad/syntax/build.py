"""Small gast nodes, each at the place of the node it stands for, and the name that one calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]


def at(place: Any, node: Any) -> Any:
    """The node, it and its new children at the place of another."""
    for inner in gast.walk(node):
        if getattr(inner, "lineno", None) is None:
            gast.copy_location(inner, place)
    return node


def load(name: str) -> gast.Name:
    return gast.Name(name, gast.Load(), None, None)


def assign(place: Any, target: str | gast.AST, value: Any) -> gast.Assign:
    node = gast.Name(target, gast.Store(), None, None) if isinstance(target, str) else target
    return at(place, gast.Assign([node], value, None))


def constant(value: Any) -> gast.Constant:
    return gast.Constant(value, None)


def negate(test: Any) -> Any:
    """`not test`, shorter where it is a negation itself."""
    if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        return test.operand
    return at(test, gast.UnaryOp(gast.Not(), test))


def none_of(flags: Iterable[str]) -> Any:
    """`not a and not b`."""
    tests = [gast.UnaryOp(gast.Not(), load(flag)) for flag in flags]
    return tests[0] if len(tests) == 1 else gast.BoolOp(gast.And(), tests)


def called_name(node: Any) -> str | None:
    """The last name of what an expression calls: `errstate` of `np.errstate(...)`."""
    function = node.func if isinstance(node, gast.Call) else None
    return function.attr if isinstance(function, gast.Attribute) else getattr(function, "id", None)
