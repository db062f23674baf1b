"""Statements and expressions that are short for others, one form at a time; jumps are left as they are."""

from __future__ import annotations

import copy
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.names import Names
from stgrad.syntax.build import assign, at, called_name, load
from stgrad.syntax.patterns import match_to_if


def simplify(tree: gast.FunctionDef, names: Names) -> gast.FunctionDef:
    """A function, in place, without annotations, docstrings, `pass` and chains."""
    return _Simplifier(names).visit(tree)


_ITERATORS = ("zip", "map", "filter", "enumerate", "reversed")
_SILENT = ("errstate", "printoptions", "catch_warnings")


def _raises_nothing(name: str, call: Any) -> bool:
    """Whether floating-point errors stay values under a manager."""
    return name != "errstate" or all(isinstance(k.value, gast.Constant) and k.value.value in ("ignore", "warn", "print", "log") for k in call.keywords)


class _Simplifier(gast.NodeTransformer):  # type: ignore[misc,unused-ignore]
    """A statement becomes none (`[]`), another one, or several."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.asked: set[str] = set()  # names of which `next` takes items

    def visit_FunctionDef(self, node: Any) -> Any:
        calls = [n for n in gast.walk(node) if isinstance(n, gast.Call) and isinstance(n.func, gast.Name) and n.func.id == "next" and n.args]
        self.asked |= {n.args[0].id for n in calls if isinstance(n.args[0], gast.Name)}
        node.returns = None
        for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if arg is not None:
                arg.annotation = None
        return self.generic_visit(node)

    def visit_Pass(self, node: Any) -> Any:
        return []

    def visit_Expr(self, node: Any) -> Any:
        return [] if isinstance(node.value, gast.Constant) else self.generic_visit(node)

    def visit_AnnAssign(self, node: Any) -> Any:
        return [] if node.value is None else assign(node, self.visit(node.target), self.visit(node.value))

    def visit_With(self, node: Any) -> Any:
        """One manager each; what changes warnings and printing alone is left out; `suppress(A, B)` as `try` with `except (A, B)`."""
        node = self.generic_visit(node)
        body = node.body
        for item in reversed(node.items):
            name = called_name(item.context_expr)
            if name == "suppress" and not item.context_expr.keywords:
                handler = gast.ExceptHandler(gast.Tuple(item.context_expr.args, gast.Load()), None, [])
                body = [at(node, gast.Try(body, [handler], [], []))]
                body[0].manager = item.context_expr.func
            elif not (name in _SILENT and item.optional_vars is None and _raises_nothing(name, item.context_expr)):
                body = [at(node, gast.With([item], body, None))]
        return body

    def visit_Match(self, node: Any) -> Any:
        return [self.visit(stmt) for stmt in match_to_if(node, self.names)]

    def visit_Assign(self, node: Any) -> Any:
        """`a = b = v` as `_v = v; a = _v; b = _v`; and `z = zip(...)` as `z = iter(zip(...))`, which Python makes no other of, where `next(z)` stands."""
        node = self.generic_visit(node)
        asked = any(isinstance(target, gast.Name) and target.id in self.asked for target in node.targets)
        if asked and isinstance(node.value, gast.Call) and getattr(node.value.func, "id", None) in _ITERATORS:
            node.value = at(node.value, gast.Call(load("iter"), [node.value], []))
        if len(node.targets) == 1:
            return node
        if isinstance(node.value, gast.Constant):
            return [assign(node, target, copy.deepcopy(node.value)) for target in node.targets]
        temp = self.names.fresh("_v")
        return [assign(node, temp, node.value), *(assign(node, target, load(temp)) for target in node.targets)]

    def visit_Compare(self, node: Any) -> Any:
        """`a < b < c` as `a < b and b < c`; what stands in the middle is computed once."""
        node = self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        tests = []
        left = node.left
        for position, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            again = right
            if position < len(node.ops) - 1:
                right, again = self._twice(right)
            tests.append(at(node, gast.Compare(left, [op], [right])))
            left = again
        return at(node, gast.BoolOp(gast.And(), tests))

    def _twice(self, node: Any) -> tuple[Any, Any]:
        """Two expressions, for the first and the second use of a value."""
        if isinstance(node, (gast.Name, gast.Constant)):
            return node, copy.deepcopy(node)
        temp = self.names.fresh("_c")
        target = gast.Name(temp, gast.Store(), None, None)
        return at(node, gast.NamedExpr(target, node)), at(node, load(temp))
