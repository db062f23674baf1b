"""A Python function and what it sees, written in the language of `core_language`.

Values from outside get names of their own, methods are written with their object in place, and branches that its attributes decide are
decided: `if self.w is None: self.w = tf.Variable(...)` is gone once the variable is there.
"""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from stgrad import source
from stgrad.eager.core_language import ATTRIBUTES, BUILTINS, SavedModelError, _bound, _dotted, _stored, path_of
from stgrad.errors import StgradError


class Writer(ast.NodeTransformer):
    """Rewrites one function into the language.

    Args:
        function: a Python function.
        given: values of its first parameters: the object of a method.
        name: what it is called in the text.
        named: gives the name of a value that is no number, operation or container: a variable, a helper.
    """

    def __init__(self, function: Any, given: tuple[Any, ...], name: str, named: Callable[[Any], str]) -> None:
        self.loaded = source.load(function)
        self.function, self.name, self.named = function, name, named
        tree = gast.gast_to_ast(self.loaded.tree)
        spec = tree.args
        parameters = [*spec.posonlyargs, *spec.args]
        self.static = {a.arg: v for a, v in zip(parameters, given)}
        for group in (spec.posonlyargs, spec.args):
            group[:] = [a for a in group if a.arg not in self.static]
        self.local = [_bound(tree) - set(self.static)]
        self.tree = tree

    def text(self) -> str:
        tree, spec = self.tree, self.tree.args
        tree.name, tree.decorator_list, tree.returns = self.name, [], None
        spec.defaults = [self.encode(v) for v in (self.function.__defaults__ or ())]
        kw = self.function.__kwdefaults__ or {}
        spec.kw_defaults = [self.encode(kw[a.arg]) if a.arg in kw else None for a in spec.kwonlyargs]
        _strip(spec)
        if isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant) and len(tree.body) > 1:
            del tree.body[0]
        tree.body = self._block(tree.body) or [ast.Pass()]
        return ast.unparse(ast.fix_missing_locations(tree))

    # ------------------------------------------------------------- names

    def visit_FunctionDef(self, node: Any) -> Any:  # noqa: N802
        node.returns = None
        _strip(node.args)
        return self._inside(node)

    def visit_Lambda(self, node: Any) -> Any:  # noqa: N802
        return self._inside(node)

    def visit_ListComp(self, node: Any) -> Any:  # noqa: N802
        self.local.append(self.local[-1] | _stored(node))
        self.generic_visit(node)
        self.local.pop()
        return node

    visit_GeneratorExp = visit_ListComp  # noqa: N815

    def _inside(self, node: Any) -> Any:
        self.local.append(self.local[-1] | _bound(node))
        self.generic_visit(node)
        self.local.pop()
        return node

    def visit_AnnAssign(self, node: Any) -> Any:  # noqa: N802
        if node.value is None:
            return None
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Name(self, node: Any) -> Any:  # noqa: N802
        if not isinstance(node.ctx, ast.Load) or node.id in self.local[-1]:
            return node
        return self.encode(self._static(node), node)

    def visit_Attribute(self, node: Any) -> Any:  # noqa: N802
        base: Any = node
        while isinstance(base, ast.Attribute):
            base = base.value
        if isinstance(base, ast.Name) and base.id not in self.local[-1] and isinstance(node.ctx, ast.Load):
            owner = self._static(node.value) if _dotted(node.value) else None
            if node.attr in ATTRIBUTES and hasattr(owner, "_a"):  # `variable.shape`: at run time
                node.value = self.encode(owner, node.value)
                return node
            return self.encode(self._static(node), node)
        return self.generic_visit(node)

    # ------------------------------------------------------------- what is known when the model is saved

    def visit_If(self, node: Any) -> Any:  # noqa: N802
        known = self._truth(node.test)
        if known is None:
            return self.generic_visit(node)
        return self._block(node.body if known else node.orelse)

    def generic_visit(self, node: Any) -> Any:
        """Blocks of which nothing is left hold `pass`."""
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                setattr(node, field, self._block(block) or ([ast.Pass()] if field == "body" else []))
        rest = ast.NodeTransformer.generic_visit
        kept = {f: node.__dict__.pop(f) for f in ("body", "orelse") if isinstance(getattr(node, f, None), list)}
        try:
            return rest(self, node)
        finally:
            vars(node).update(kept)

    def _block(self, block: list[Any]) -> list[Any]:
        visited = [self.visit(s) for s in block]
        return [s for part in visited for s in (part if isinstance(part, list) else [part]) if s is not None]

    def visit_IfExp(self, node: Any) -> Any:  # noqa: N802
        known = self._truth(node.test)
        return self.generic_visit(node) if known is None else self.visit(node.body if known else node.orelse)

    def _truth(self, test: Any) -> bool | None:
        """The truth of a test of attributes and constants from outside; None where it is of this call."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._truth(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            return self._all(test.values, isinstance(test.op, ast.And))
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            left, right = self._known(test.left), self._known(test.comparators[0])
            return None if left is None or right is None else (left[0] is right[0]) == isinstance(test.ops[0], ast.Is)
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "hasattr" and len(test.args) == 2:
            owner, name = map(self._known, test.args)
            return None if owner is None or name is None else hasattr(owner[0], name[0])
        known = self._known(test)
        return known[0] if known is not None and type(known[0]) is bool else None

    def _all(self, tests: list[Any], conjunction: bool) -> bool | None:
        found = [self._truth(t) for t in tests]
        if any(f is (not conjunction) for f in found):
            return not conjunction
        return None if None in found else conjunction

    def _known(self, node: Any) -> tuple[Any] | None:
        """The value of a name, an attribute or a constant from outside, in a tuple."""
        if isinstance(node, ast.Constant):
            return (node.value,)
        path = _dotted(node)
        if path is None or path.split(".")[0] in self.local[-1]:
            return None
        try:
            return (self._static(node),)
        except SavedModelError:
            return None

    def visit_For(self, node: Any) -> Any:  # noqa: N802
        """A loop over modules that does nothing with them but call them is one over their calls."""
        known = self._known(node.iter)
        items = known[0] if known is not None and isinstance(known[0], (list, tuple)) else ()
        if isinstance(node.target, ast.Name) and any(_call_of(i) is not None for i in items) and _only_called(node.body, node.target.id):
            node.iter = self.encode([_call_of(i) or i for i in items], node.iter)
            node.body = self._block(node.body) or [ast.Pass()]
            return node
        return self.generic_visit(node)

    def visit_Call(self, node: Any) -> Any:  # noqa: N802
        """A module that is called is its `__call__`, bound."""
        path = _dotted(node.func)
        if path is not None and path.split(".")[0] not in self.local[-1]:
            called = self._static(node.func)
            call = _call_of(called)
            if call is not None:
                node.func = self.encode(call, node.func)
                node.args, node.keywords = [self.visit(a) for a in node.args], [self.visit(k) for k in node.keywords]
                return node
        return self.generic_visit(node)

    def _static(self, node: Any) -> Any:
        """The value of a name or attribute from outside the function."""
        if isinstance(node, ast.Attribute):
            owner = self._static(node.value)
            try:
                return getattr(owner, node.attr)
            except AttributeError as error:
                raise self._error(node, str(error)) from None
        if node.id in self.static:
            return self.static[node.id]
        try:
            return self.loaded.resolve(node.id)
        except StgradError as error:
            raise self._error(node, str(error)) from None

    def encode(self, value: Any, node: Any = None) -> Any:
        """The expression for a value from outside."""
        if value is None or type(value) in (bool, int, str) or type(value) in (float, complex) and np.isfinite(value):
            return ast.Constant(value)
        if type(value) is float:
            return ast.parse("np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf", mode="eval").body
        if type(value) in (tuple, list):
            items = [self.encode(v, node) for v in value]
            return ast.Tuple(items, ast.Load()) if type(value) is tuple else ast.List(items, ast.Load())
        if type(value) is dict:
            return ast.Dict([self.encode(k, node) for k in value], [self.encode(v, node) for v in value.values()])
        path = path_of(value)
        if path is None and getattr(builtins, getattr(value, "__name__", ""), None) is value and value.__name__ in BUILTINS:
            path = value.__name__
        if path is not None:
            return ast.parse(path, mode="eval").body
        try:
            return ast.Name(self.named(value), ast.Load())
        except SavedModelError as error:
            raise error if node is None or error.loc is not None else self._error(node, error.message) from None

    def _error(self, node: Any, problem: str) -> SavedModelError:
        return SavedModelError(problem, self.loaded.loc(node))


def _strip(spec: Any) -> None:
    for arg in ast.walk(spec):
        if isinstance(arg, ast.arg):
            arg.annotation = None


def _call_of(value: Any) -> Any:
    """How a module of the user's is called, bound to it; None for anything else."""
    cls = type(value)
    if cls.__module__.startswith("stgrad.") or isinstance(value, (type, types.FunctionType)) or not hasattr(cls, "variables"):
        return None
    call = cls.__call__ if callable(value) else None
    if getattr(call, "__module__", "").startswith("stgrad.") and hasattr(cls, "call"):  # that of layers
        call = cls.call
    return None if call is None else call.__get__(value)


def _only_called(body: list[Any], name: str) -> bool:
    uses = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == name]
    calls = [n.func for s in body for n in ast.walk(s) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name]
    return len(uses) == len(calls)
