"""Generator functions: what the front end reads in place of the loop that consumes them.

A `yield` hands its value to the body of that loop, and goes on. A loop that may be left early says so, and the generator returns:

    yield a                 yield a                          _stopped = yield a
    yield from b     ->     for _item in b:          or      if _stopped:
                                yield _item                      return
                                                             ...

The second form is an attribute of the function, `stopping`. Functions with `yield` have an attribute `generator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.errors import UnsupportedSyntaxError
from stgrad.ir import Loc
from stgrad.names import Names
from stgrad.syntax.assigned import own
from stgrad.syntax.build import assign, at, constant, load
from stgrad.syntax.jumps import jumps

Locate = Callable[[Any], Loc] | None
_YIELDS = (gast.Yield, gast.YieldFrom)


def generator_functions(tree: gast.FunctionDef, names: Names, locate: Locate, copied: Callable[[Any], Any]) -> list[gast.FunctionDef]:
    """Mark the generators of a tree, and give each its other form; the functions that are new. Changes the tree.

    Raises:
        UnsupportedSyntaxError: the generator uses what is sent to it, or an `except` around a `yield`.
    """
    found = []
    for function in reversed([n for n in gast.walk(tree) if isinstance(n, gast.FunctionDef)]):
        nodes = list(own(function.body))
        if not any(isinstance(n, _YIELDS) for n in nodes):
            continue
        _check(nodes, locate)
        function.generator, function.endless = True, any(_is_endless(n) for n in nodes)
        function.closes = any(isinstance(n, gast.Try) and any(isinstance(i, _YIELDS) for i in own([n])) for n in nodes)
        function.body = _Rewriter(names).block(function.body)
        function.stopping = copied(function)
        function.stopping.body = _Stopping(names).block(function.stopping.body)
        found.append(function.stopping)
    return found


def _check(nodes: list[Any], locate: Locate) -> None:
    plain = {id(n.value) for n in nodes if isinstance(n, gast.Expr)}
    for node in nodes:
        if isinstance(node, _YIELDS) and id(node) not in plain:
            raise _error("the value of a `yield`", "it is what the consumer sends", "let the generator keep its own state", node, locate)
        if isinstance(node, gast.Try) and node.handlers and any(isinstance(n, _YIELDS) for n in own([node])):
            raise _error("`try` around a `yield`", "what it catches may come from the consumer", "yield behind the `try`", node, locate)


def _is_endless(node: Any) -> bool:
    """Whether it is `while True:` that nothing leaves."""
    always = isinstance(node, gast.While) and isinstance(node.test, gast.Constant) and bool(node.test.value)
    return always and not jumps(node.body) & {"break", "return"}


def endless(tree: Any) -> bool:
    """Whether a generator has no last item."""
    return bool(getattr(tree, "endless", False))


def _error(what: str, why: str, instead: str, node: Any, locate: Locate) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(f"{what} is not supported", locate(node) if locate is not None else None, reason=why, hint=instead)


class _Rewriter:
    """`yield from` as a loop."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def block(self, stmts: list[Any]) -> list[Any]:
        return [new for stmt in stmts for new in self.statement(stmt)]

    def statement(self, stmt: Any) -> list[Any]:
        if isinstance(stmt, gast.FunctionDef):
            return [stmt]
        for part in ("body", "orelse", "finalbody"):
            if isinstance(getattr(stmt, part, None), list):
                setattr(stmt, part, self.block(getattr(stmt, part)))
        return self.yielded(stmt) if isinstance(stmt, gast.Expr) and isinstance(stmt.value, _YIELDS) else [stmt]

    def yielded(self, stmt: Any) -> list[Any]:
        if isinstance(stmt.value, gast.Yield):
            stmt.value.value = stmt.value.value or at(stmt, constant(None))
            return [stmt]
        item = self.names.fresh("_item")
        one = gast.Expr(gast.Yield(load(item)))
        return [at(stmt, gast.For(gast.Name(item, gast.Store(), None, None), stmt.value.value, [one], [], None))]


class _Stopping(_Rewriter):
    """A `return` behind each `yield`, for consumers that want no more."""

    def yielded(self, stmt: Any) -> list[Any]:
        stopped = self.names.fresh("_stopped")
        return [assign(stmt, stopped, stmt.value), at(stmt, gast.If(load(stopped), [gast.Return(None)], []))]


def generator_expressions(tree: gast.FunctionDef, names: Names, copied: Callable[[Any], Any]) -> list[gast.FunctionDef]:
    """Give each generator expression the generator function that it is short for, as an attribute `function`; those functions. Changes the tree.

        (f(v) for v in values if v > w)     ->      def genexpr(_items):
                                                        for v in _items:
                                                            if v > w:
                                                                yield f(v)

    One that binds names by `:=` has none: they are names of the function around it.
    """
    found = []
    for node in reversed([n for n in gast.walk(tree) if isinstance(n, gast.GeneratorExp)]):  # inner ones first: they are parts of the others
        if any(isinstance(n, gast.NamedExpr) for n in gast.walk(node)):
            continue
        items = names.fresh("_items")
        function = gast.parse(f"def genexpr({items}):\n    pass").body[0]
        for part in gast.walk(function):
            part.lineno, part.end_lineno = getattr(node, "lineno", 1), getattr(node, "lineno", 1)
        inner = copied(node)
        body: list[Any] = [at(node, gast.Expr(gast.Yield(inner.elt)))]
        for position, generator in reversed(list(enumerate(inner.generators))):
            for condition in reversed(generator.ifs):
                body = [at(node, gast.If(condition, body, []))]
            body = [at(node, gast.For(generator.target, generator.iter if position else load(items), body, [], None))]
        function.body, function.generator, function.endless, function.closes = body, True, False, False
        function.stopping = copied(function)
        function.stopping.body = _Stopping(names).block(function.stopping.body)
        node.function = function
        found += [function, function.stopping]
    return found


__all__ = ["endless", "generator_expressions", "generator_functions"]
