"""The table is closed under itself: rule bodies call operations that have rules, helpers, and little else."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stgrad.rules as rules
from stgrad.rules.core import STATIC

rules.load_scipy()
BUILTINS = {
    "int", "len", "range", "tuple", "enumerate", "zip", "min", "max", "slice", "isinstance", "IndexError", "RuntimeError", "ValueError", "NotImplementedError",
    "ZeroDivisionError",
}  # fmt: skip
METHODS = {"astype"}
FORBIDDEN = (ast.Try, ast.With, ast.Dict, ast.Lambda, ast.Global, ast.Nonlocal, ast.Yield, ast.Await, ast.JoinedStr)


def bodies(rule: rules.Rule) -> Iterator[Callable[..., Any]]:
    for body in (rule.partials, rule.adjoint, rule.tangent, rule.composite):
        if body is not None:
            yield body


def resolve(node: ast.expr, scope: dict[str, Any]) -> Any:
    """The object that a dotted name stands for; None where it is not one."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = resolve(node.value, scope)
        return getattr(owner, node.attr, None) if isinstance(owner, types.ModuleType) or owner is not None else None
    return None


def offences(body: Callable[..., Any], seen: set[Any]) -> Iterator[str]:
    if body in seen or body in STATIC:
        return
    seen.add(body)
    tree = ast.parse(textwrap.dedent(inspect.getsource(body)))
    place = f"{body.__module__}.{body.__name__}"
    decorators = [n for d in getattr(tree.body[0], "decorator_list", []) for n in ast.walk(d)]
    for node in ast.walk(tree.body[0]):
        if isinstance(node, FORBIDDEN) and not (isinstance(node, ast.Lambda) and body.__name__ == "<lambda>"):
            yield f"{place}: {type(node).__name__} is not in the language of rules"
        if not isinstance(node, ast.Call) or node in decorators:
            continue
        called = resolve(node.func, {**body.__globals__, **inspect.getclosurevars(body).nonlocals})  # type: ignore[attr-defined]
        text = ast.unparse(node.func)
        if called is None and text in inspect.signature(body).parameters:
            continue  # a function of the user's
        if called is None:
            if text not in BUILTINS and text.rpartition(".")[2] not in METHODS and text != "np.add.at":
                yield f"{place}: calls {text}"
        elif rules.lookup(called) is None and text != "np.add.at":
            if isinstance(called, types.FunctionType) and called.__module__.startswith("stgrad.rules"):
                yield from offences(called, seen)
            else:
                yield f"{place}: calls {text}, which has no rule"


@pytest.mark.parametrize("name", sorted(n for n in rules.TABLE if not n.startswith("stgrad.")))  # not those of the eager API
def test_closed(name: str) -> None:
    seen: set[Any] = set()
    assert not [offence for body in bodies(rules.TABLE[name]) for offence in offences(body, seen)]


@pytest.mark.parametrize("name", sorted(rules.TABLE))
def test_has_both_modes(name: str) -> None:
    """What has a reverse rule has a forward rule: its own, or one that follows from its kind."""
    rule = rules.TABLE[name]
    assert rule.kind in ("nondiff", "partials", "composite", "linear") or rule.tangent is not None
    assert not rule.multilinear or rule.tangent is not None
