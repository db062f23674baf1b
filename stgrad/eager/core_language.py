"""The language in which saved models keep functions: what may stand in it, and how a Python function is written in it.

It is Python without classes, imports, exceptions, private names and free attributes. A name is a local one, a stored function or value, a
builtin of `BUILTINS`, or a path of `operations()`: so text within it can only compute. `check` is the gate that loading passes
through; `Writer` makes such text from a function and what it sees: variables, constants and helpers get names of their own.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

import gast
import numpy as np

from stgrad import source
from stgrad.eager import dtypes
from stgrad.errors import StgradError

BUILTINS = frozenset("range len min max abs float int bool enumerate zip sum tuple list reversed round all any".split())
ATTRIBUTES = frozenset("shape dtype ndim numpy assign assign_add assign_sub value read_value append items keys values get_shape as_list rank".split())
_NUMPY = """sum mean prod max min where reshape transpose zeros ones zeros_like ones_like full full_like concatenate stack dot outer inner
    tensordot einsum arange linspace eye cumsum cumprod clip expand_dims squeeze broadcast_to tile repeat argmax argmin sort diag trace
    var std amax amin moveaxis swapaxes asarray array float32 float64 int32 int64 bool_ pi e inf nan newaxis""".split()
_MODULES = "ops_math ops_array ops_index ops_reduce ops_products nn linalg signal random control windows bitwise".split()
_NOT_STORED = frozenset({"py_function", "numpy_function"})
_NODES = (
    ast.Module, ast.FunctionDef, ast.Lambda, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If,
    ast.Pass, ast.Break, ast.Continue, ast.Expr, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword,
    ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.ListComp,
    ast.GeneratorExp, ast.comprehension, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip


class SavedModelError(StgradError, ValueError):
    """A function or object cannot be saved, or what stands in a saved model is not what `save` writes."""


@functools.cache
def operations() -> dict[str, Any]:
    """Every known operation by its path, `tf.nn.relu`, `np.sin`, `math.exp`: nothing here reads files or runs code from outside."""
    import stgrad.eager as tf

    found: dict[str, Any] = {f"tf.{d.name}": d for d in vars(tf).values() if isinstance(d, dtypes.DType)}
    for path in ("custom_gradient", "recompute_grad", "grad_pass_through", "constant", "convert_to_tensor", "identity", "newaxis"):
        found[f"tf.{path}"] = getattr(tf, path)
    for place in ("", "math", "nn", "linalg", "random", "signal", "bitwise"):
        owner = getattr(tf, place) if place else tf
        for name, value in vars(owner).items():
            own = isinstance(value, types.FunctionType) and value.__module__.removeprefix("stgrad.eager.") in _MODULES
            if own and not name.startswith("_") and name not in _NOT_STORED:
                found[f"tf.{place}.{name}" if place else f"tf.{name}"] = value
    found |= {f"np.{n}": f for n, f in vars(np).items() if isinstance(f, np.ufunc) and not n.startswith("_")}
    found |= {f"np.{n}": getattr(np, n) for n in _NUMPY}
    found |= {f"math.{n}": f for n, f in vars(math).items() if not n.startswith("_")}
    return found


@functools.cache
def _paths() -> dict[int, str]:
    """The first path of each operation, by identity."""
    return {id(value): path for path, value in reversed(operations().items()) if not isinstance(value, (int, float, type(None)))}


def path_of(value: Any) -> str | None:
    """`tf.sin` for the function; None where it is no known operation."""
    return _paths().get(id(value))


# --------------------------------------------------------------------------- the gate


def check(text: str, known: Iterable[str]) -> ast.Module:
    """The tree of a text within the language; `known` are the names of the values it may use.

    Raises SavedModelError, with the line, for anything else.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SavedModelError(f"the stored functions are no Python text: {error}") from None
    outer = frozenset(known) | BUILTINS | {s.name for s in tree.body if isinstance(s, ast.FunctionDef)}
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef):
            _refuse(statement, "a statement outside of a function")
        if not re.fullmatch(r"f\d+", statement.name):
            _refuse(statement, f"to bind the name `{statement.name}`")
        else:
            _check_definition(statement)
    _check_names(tree, frozenset(), outer)
    return tree


def _check_definition(function: ast.FunctionDef) -> None:
    """Defining a function must compute nothing: no decorators, and defaults that are constants or known operations."""
    for decorator in function.decorator_list:
        _refuse(decorator, "a decorator outside of a function")
    for default in (*function.args.defaults, *[d for d in function.args.kw_defaults if d]):
        for node in ast.walk(default):
            if not isinstance(node, (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp, ast.USub, ast.Load, ast.Attribute, ast.Name)):
                _refuse(node, "a default that is computed")
            if isinstance(node, ast.Name) and node.id not in ("tf", "np", "math") and node.id not in BUILTINS:
                _refuse(node, f"a default that names `{node.id}`")


def _refuse(node: Any, what: str) -> None:
    raise SavedModelError(f"line {getattr(node, 'lineno', '?')} of the stored functions: {what} is not in the language of saved models")


def _check_names(node: ast.AST, local: frozenset[str], outer: frozenset[str]) -> None:
    if not isinstance(node, _NODES):
        _refuse(node, f"`{type(node).__name__}`")
    if isinstance(node, ast.Attribute):
        _check_attribute(node, local, outer)
        return
    if isinstance(node, ast.Name):
        _check_name(node, local, outer)
    if isinstance(node, ast.Constant) and not isinstance(node.value, (str, int, float, complex, type(None), type(...))):
        _refuse(node, f"a constant {type(node.value).__name__}")
    if isinstance(node, ast.keyword) and node.arg is not None and node.arg.startswith("_"):
        _refuse(node, f"the keyword `{node.arg}`")
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        for outside in (*getattr(node, "decorator_list", ()), *node.args.defaults, *[d for d in node.args.kw_defaults if d]):
            _check_names(outside, local, outer)
        local = local | _bound(node)
        if isinstance(node, ast.FunctionDef):
            if not re.fullmatch(r"f\d+", node.name):  # that of a stored function, unless a nested one takes it
                _check_binding(node, node.name, outer)
            if node.returns is not None or getattr(node, "type_params", None):
                _refuse(node, "an annotation")
        inside = node.body if isinstance(node.body, list) else [node.body]
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                _check_binding(arg, arg.arg, outer)
                if arg.annotation is not None:
                    _refuse(arg, "an annotation")
        for child in inside:
            _check_names(child, local, outer)
        return
    if isinstance(node, ast.comprehension) and node.is_async:
        _refuse(node, "an asynchronous loop")
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        local = local | _stored(node)
    for child in ast.iter_child_nodes(node):
        _check_names(child, local, outer)


def _check_name(node: ast.Name, local: frozenset[str], outer: frozenset[str]) -> None:
    if isinstance(node.ctx, ast.Store):
        _check_binding(node, node.id, outer)
    elif isinstance(node.ctx, ast.Del) or node.id not in local and node.id not in outer:
        _refuse(node, f"the name `{node.id}`")


def _check_binding(node: Any, name: str, outer: frozenset[str]) -> None:
    if "__" in name or name in outer or name in ("tf", "np", "math"):
        _refuse(node, f"to bind the name `{name}`")


def _check_attribute(node: ast.Attribute, local: frozenset[str], outer: frozenset[str]) -> None:
    if not isinstance(node.ctx, ast.Load):
        _refuse(node, f"to set the attribute `{node.attr}`")
    path = _dotted(node)
    if path is not None and path.split(".")[0] in ("tf", "np", "math"):
        if path not in operations():
            _refuse(node, f"`{path}`")
    elif node.attr not in ATTRIBUTES:
        _refuse(node, f"the attribute `{node.attr}`")
    else:
        _check_names(node.value, local, outer)


def _dotted(node: Any) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    base = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return None if base is None else f"{base}.{node.attr}"


def _bound(function: Any) -> frozenset[str]:
    """The names that a function binds itself."""
    args = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    body = function.body if isinstance(function.body, list) else []
    return frozenset(args).union(*map(_stored, body))


def _stored(node: ast.AST) -> frozenset[str]:
    """The names bound in a statement, not in functions inside it."""
    if isinstance(node, ast.FunctionDef):
        return frozenset({node.name})
    if isinstance(node, ast.Lambda):
        return frozenset()
    own = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
    return frozenset(own).union(*map(_stored, ast.iter_child_nodes(node)))


# --------------------------------------------------------------------------- writing


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
        tree.body = [self.visit(s) for s in tree.body]
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

    def visit_Call(self, node: Any) -> Any:  # noqa: N802
        """A module that is called is its `__call__`, bound."""
        path = _dotted(node.func)
        if path is not None and path.split(".")[0] not in self.local[-1]:
            called = self._static(node.func)
            own = getattr(type(called), "__module__", "").startswith("stgrad.")
            if not own and not isinstance(called, (type, types.FunctionType)) and hasattr(type(called), "variables"):
                node.func = self.encode(type(called).__call__.__get__(called), node.func)
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
