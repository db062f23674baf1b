"""The language in which saved models keep functions: what may stand in it, and how a Python function is written in it.

It is Python without classes, imports, exceptions, private names and free attributes. A name is a local one, a stored function or value, a
builtin of `BUILTINS`, or a path of `operations()`: so text within it can only compute. `check` is the gate that loading passes
through; `Writer` makes such text from a function and what it sees: variables, constants and helpers get names of their own.
"""

from __future__ import annotations

import ast
import functools
import math
import re
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from stgrad.eager import dtypes
from stgrad.errors import StgradError

BUILTINS = frozenset("range len min max abs float int bool enumerate zip sum tuple list reversed round all any".split())
ATTRIBUTES = frozenset(
    "shape dtype ndim numpy assign assign_add assign_sub value read_value append items keys values get_shape as_list rank".split()
)
_GENERATED_ATTRIBUTES = frozenset("shape dtype ndim size append pop copy astype T real imag".split())
_NUMPY = """sum mean prod max min where reshape transpose zeros ones zeros_like ones_like full full_like concatenate stack dot outer inner
    tensordot einsum arange linspace eye cumsum cumprod clip expand_dims squeeze broadcast_to tile repeat argmax argmin sort diag trace
    var std amax amin moveaxis swapaxes asarray array float32 float64 int32 int64 bool_ pi e inf nan newaxis""".split()
_MODULES = "ops_math ops_array ops_index ops_reduce ops_products nn linalg signal random control windows bitwise".split()
_CREATING = """empty empty_like full ones zeros asarray array copy float32 float64 int32 int64 bool_ inf nan pi abs shape ndim size any all
    intp complex64 complex128 int8 int16 uint8""".split()
_RAISED = frozenset({"ValueError", "IndexError", "ZeroDivisionError", "TypeError", "complex"})
_ROOTS = ("tf", "np", "math", "scipy", "runtime")
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
    losses = {n: f for n, f in vars(tf.keras.losses).items() if isinstance(f, types.FunctionType) and f.__module__ == tf.keras.losses.__name__}
    found |= {f"tf.keras.losses.{n}": f for n, f in losses.items() if not n.startswith("_") and n != "get"}
    found |= {f"np.{n}": f for n, f in vars(np).items() if isinstance(f, np.ufunc) and not n.startswith("_")}
    found |= {f"np.{n}": getattr(np, n) for n in _NUMPY}
    found |= {f"math.{n}": f for n, f in vars(math).items() if not n.startswith("_")}
    return found


@functools.cache
def generated_operations() -> dict[str, Any]:
    """What generated programs name beside `operations`: what NumPy and SciPy have rules for, and what makes arrays."""

    from stgrad import runtime
    from stgrad.rules.core import TABLE, lookup

    roots = {"np": np, "math": math, "scipy": __import__("scipy")}
    lookup("scipy.special.erf"), lookup("scipy.linalg.solve_triangular")
    found = {}
    for path in [*TABLE, *(f"np.{n}" for n in _CREATING)]:
        value = functools.reduce(lambda owner, name: getattr(owner, name, None), path.split(".")[1:], roots.get(path.split(".")[0]))
        if value is not None and not isinstance(value, types.ModuleType):
            found[path] = value
    return {**operations(), **found, "runtime.unbroadcast": runtime.unbroadcast}


def namespace(generated: bool = False) -> dict[str, Any]:
    """What a checked text is run in."""
    import stgrad.eager as tf

    builtin = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    known = {n: builtin[n] for n in (BUILTINS | _RAISED if generated else BUILTINS)}
    space: dict[str, Any] = {"__builtins__": known, "__name__": "saved_model", "np": np, "math": math}
    if not generated:
        return space | {"tf": tf}
    import scipy.special

    from stgrad import runtime

    return space | {"scipy": scipy, "runtime": runtime}


@functools.cache
def _paths() -> dict[int, str]:
    """The first path of each operation, by identity."""
    return {id(value): path for path, value in reversed(operations().items()) if not isinstance(value, (int, float, type(None)))}


def path_of(value: Any) -> str | None:
    """`tf.sin` for the function; None where it is no known operation."""
    return _paths().get(id(value))


# --------------------------------------------------------------------------- the gate


def check(text: str, known: Iterable[str], *, generated: bool = False) -> ast.Module:
    """The tree of a text within the language; `known` are the names of the values it may use.

    A `generated` text has names of its own for functions, more operations, arrays written element by element, and no `tf`.

    Raises SavedModelError, with the line, for anything else.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SavedModelError(f"the stored functions are no Python text: {error}") from None
    builtin = BUILTINS | _RAISED if generated else BUILTINS
    own = {s.name for s in tree.body if isinstance(s, ast.FunctionDef)}
    outer = Outer(frozenset(known) | builtin | (frozenset() if generated else own), generated)
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef):
            _refuse(statement, "a statement outside of a function")
        if not re.fullmatch(r"p\d+_\d+(_grad)?" if generated else r"f\d+", statement.name):
            _refuse(statement, f"to bind the name `{statement.name}`")
        else:
            _check_definition(statement)
    _check_names(tree, frozenset(own) if generated else frozenset(), outer)
    return tree


class Outer(frozenset[str]):
    """The names from outside that a text may use."""

    generated = False

    def __new__(cls, names: Iterable[str], generated: bool) -> Outer:
        made = super().__new__(cls, names)
        made.generated = generated
        return made


def _check_definition(function: ast.FunctionDef) -> None:
    """Defining a function must compute nothing: no decorators, and defaults that are constants or known operations."""
    for decorator in function.decorator_list:
        _refuse(decorator, "a decorator outside of a function")
    for default in (*function.args.defaults, *[d for d in function.args.kw_defaults if d]):
        for node in ast.walk(default):
            if not isinstance(
                node, (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp, ast.USub, ast.Load, ast.Attribute, ast.Name)
            ):
                _refuse(node, "a default that is computed")
            if isinstance(node, ast.Name) and node.id not in ("tf", "np", "math") and node.id not in BUILTINS:
                _refuse(node, f"a default that names `{node.id}`")


def _refuse(node: Any, what: str) -> None:
    raise SavedModelError(f"line {getattr(node, 'lineno', '?')} of the stored functions: {what} is not in the language of saved models")


def _check_names(node: ast.AST, local: frozenset[str], outer: Outer) -> None:
    if not isinstance(node, _NODES) and not (isinstance(node, ast.Raise) and outer.generated and node.cause is None):
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
            if not re.fullmatch(r"f\d+|p\d+_\d+(_grad)?", node.name):  # that of a stored function, unless a nested one takes it
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


def _check_name(node: ast.Name, local: frozenset[str], outer: Outer) -> None:
    if isinstance(node.ctx, ast.Store):
        _check_binding(node, node.id, outer)
    elif isinstance(node.ctx, ast.Del) or node.id not in local and node.id not in outer:
        _refuse(node, f"the name `{node.id}`")


def _check_binding(node: Any, name: str, outer: Outer) -> None:
    if "__" in name or name in outer or name in _ROOTS and (outer.generated or name in _ROOTS[:3]):
        _refuse(node, f"to bind the name `{name}`")


def _check_attribute(node: ast.Attribute, local: frozenset[str], outer: Outer) -> None:
    if not isinstance(node.ctx, ast.Load):
        _refuse(node, f"to set the attribute `{node.attr}`")
    path = _dotted(node)
    if path is not None and path.split(".")[0] in (_ROOTS if outer.generated else _ROOTS[:3]):
        if path not in (generated_operations() if outer.generated else operations()) or outer.generated and path.startswith("tf."):
            _refuse(node, f"`{path}`")
    elif node.attr not in (_GENERATED_ATTRIBUTES if outer.generated else ATTRIBUTES):
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
