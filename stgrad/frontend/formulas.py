"""`numexpr.evaluate("sqrt(x**2 + y**2)")` -> `np.asarray(np.sqrt(x**2 + y**2))`, before a function is brought to its core.

The text names variables of the function that calls, so it takes their place in the tree, where every pass finds what it reads. What numexpr does otherwise than
NumPy is refused as the program is read: integers are divided without a remainder, and float32 is computed in double where a constant is. `%` is that of C.
A text that is made while the program runs stays a call, and is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Value, type_of
from stgrad.lookups import look
from stgrad.source import Source, module_of
from stgrad.syntax import copied
from stgrad.syntax.build import at, called_name

_SAME = """where sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh log log10 log1p log2 exp expm1 sqrt abs hypot maximum minimum
    sign floor ceil trunc isnan isinf isfinite real imag conj fmod copysign sum prod min max ones_like""".split()
FUNCTIONS: dict[str, Any] = {name: getattr(np, name) for name in _SAME}
_OPTIONS = frozenset({"optimization", "truediv", "sanitize", "order", "casting", "local_dict", "disable_cache"})
_OPERATORS = (gast.Add, gast.Sub, gast.Mult, gast.BitAnd, gast.BitOr, gast.BitXor)


def operand(x: Any) -> Any:
    """A variable of an expression."""
    return np.asarray(x)


def quotient(a: Any, b: Any) -> Any:
    return a / b


def power(a: Any, b: Any) -> Any:
    return a**b


def remainder(a: Any, b: Any) -> Any:
    return np.fmod(a, b)


def _operand(frame: Frame, x: Value) -> Value:
    found = frame.call(np.asarray, (x,), {})
    if type_of(found).dtype in ("float32", "complex64"):
        raise errors.TypeInferenceError(
            "an expression of numexpr reads float32", frame.builder.loc, reason="it is computed in double precision where constants are", hint="use NumPy"
        )
    return found


def _of_floats(function: Callable[..., Any], compute: Callable[[Frame, Value, Value], Value]) -> Callable[..., Value]:
    """What numexpr computes otherwise than NumPy of integers."""

    def handler(frame: Frame, a: Value, b: Value) -> Value:
        if all(np.dtype(type_of(v).dtype).kind in "biu" for v in (a, b)):
            raise errors.TypeInferenceError(
                f"an expression of numexpr computes a {function.__name__} of integers",
                frame.builder.loc,
                reason="it does that otherwise than NumPy",
                hint="use NumPy, or floats",
            )
        return compute(frame, a, b)

    return handler


_MEANS: dict[Any, Callable[..., Value]] = {
    operand: _operand,
    quotient: _of_floats(quotient, lambda frame, a, b: operations.binary(frame, gast.Div, a, b)),
    power: _of_floats(power, lambda frame, a, b: operations.binary(frame, gast.Pow, a, b)),
    remainder: _of_floats(remainder, lambda frame, a, b: frame.call(np.fmod, (a, b), {})),
}


def with_formulas(source: Source) -> Any:
    """The tree of a function with the expressions that numexpr would evaluate in it; the same one where there are none."""
    if "numexpr" not in sys.modules or not any(_is_call(source, node) for node in gast.walk(source.tree)):
        return source.tree
    return _Rewriter(source).visit(copied(source.tree))


def _is_call(source: Source, node: Any) -> bool:
    """Whether it is a call of `numexpr.evaluate` by a global name."""
    return called_name(node) == "evaluate" and _is_evaluate(_resolved(source, node.func))


def _is_evaluate(function: Any) -> bool:
    return module_of(function) == "numexpr.necompiler" and getattr(function, "__name__", "") == "evaluate"


def _resolved(source: Source, node: Any) -> Any:
    """What a dotted name stands for where its first part is global; None for others."""
    if isinstance(node, gast.Attribute):
        owner = _resolved(source, node.value)
        return look("attribute", owner, node.attr) if owner is not None else None
    code = source.function.__code__
    if not isinstance(node, gast.Name) or node.id in (*code.co_varnames, *code.co_cellvars):
        return None
    try:
        return source.resolve(node.id)
    except errors.UndefinedNameError:
        return None


class _Rewriter(gast.NodeTransformer):  # type: ignore[misc]
    """Calls with a text that is there become what it says."""

    def __init__(self, source: Source):
        self.source = source

    def visit_Call(self, node: Any) -> Any:
        self.generic_visit(node)
        if not _is_call(self.source, node) or len(node.args) != 1 or any(k.arg not in _OPTIONS for k in node.keywords):
            return node
        text, names = node.args[0], _given(node)
        if not isinstance(text, gast.Constant) or not isinstance(text.value, str) or names is None:
            return node
        try:
            formula = gast.parse(" ".join(text.value.split()), mode="eval").body
            return at(node, _called(np.asarray, _Formula(names).visit(_placeless(formula))))
        except (SyntaxError, _Unread):
            return node


class _Unread(Exception):
    """What numexpr does not know, or what is not read of it."""


def _given(node: Any) -> dict[str, Any] | None:
    """The nodes of `local_dict={"a": x}`, by name; None where it is no such display."""
    given = next((k.value for k in node.keywords if k.arg == "local_dict"), None)
    if given is None or isinstance(given, gast.Constant) and given.value is None:
        return {}
    if isinstance(given, gast.Dict) and all(isinstance(k, gast.Constant) and isinstance(v, gast.Name) for k, v in zip(given.keys, given.values, strict=True)):
        return {k.value: v for k, v in zip(given.keys, given.values, strict=True)}
    if isinstance(given, gast.Call) and called_name(given) == "dict" and not given.args and all(isinstance(k.value, gast.Name) for k in given.keywords):
        return {k.arg: k.value for k in given.keywords}
    return None


def _placeless(tree: Any) -> Any:
    """A tree that has no places yet: it gets that of the call."""
    for node in gast.walk(tree):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            vars(node).pop(name, None)
    return tree


def _called(function: Callable[..., Any], *args: Any, keywords: Any = ()) -> Any:
    return gast.Call(gast.Constant(function, None), list(args), list(keywords))


class _Formula(gast.NodeTransformer):  # type: ignore[misc]
    """An expression of numexpr in NumPy's functions."""

    def __init__(self, names: dict[str, Any]):
        self.names = names

    def generic_visit(self, node: Any) -> Any:
        raise _Unread

    def visit_Constant(self, node: Any) -> Any:
        if not isinstance(node.value, (bool, int, float)):
            raise _Unread
        return node

    def visit_Name(self, node: Any) -> Any:
        return _called(operand, copied(self.names.get(node.id, node)))

    def visit_UnaryOp(self, node: Any) -> Any:
        if isinstance(node.op, gast.Not):
            raise _Unread
        return gast.UnaryOp(node.op, self.visit(node.operand))

    def visit_Compare(self, node: Any) -> Any:
        if len(node.ops) != 1 or not isinstance(node.ops[0], (gast.Lt, gast.LtE, gast.Gt, gast.GtE, gast.Eq, gast.NotEq)):
            raise _Unread
        return gast.Compare(self.visit(node.left), node.ops, [self.visit(node.comparators[0])])

    def visit_BinOp(self, node: Any) -> Any:
        counted = isinstance(node.right, gast.Constant) and type(node.right.value) is int
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, _OPERATORS) or isinstance(node.op, gast.Pow) and counted:
            return gast.BinOp(left, node.op, right)
        guarded = {gast.Div: quotient, gast.Pow: power, gast.Mod: remainder}.get(type(node.op))
        if guarded is None:
            raise _Unread
        return _called(guarded, left, right)

    def visit_Call(self, node: Any) -> Any:
        function = FUNCTIONS.get(getattr(node.func, "id", ""))
        if function is None or any(k.arg != "axis" for k in node.keywords):
            raise _Unread
        return _called(function, *map(self.visit, node.args), keywords=[gast.keyword("axis", self.visit(k.value)) for k in node.keywords])


def meaning(function: Any) -> Callable[..., Value] | None:
    """The handler of a part of an expression, or of a call that is left: its text is not there before the program runs, or says more than is read."""
    if _is_evaluate(function):
        return _refused
    return _MEANS.get(function) if getattr(function, "__module__", None) == __name__ else None


def _refused(frame: Frame, *args: Value, **kwargs: Value) -> Value:
    raise errors.UnknownFunctionError(
        "`numexpr.evaluate` is read of a text of NumPy's functions and operators that stands in the call, without `out`, `global_dict` or more",
        frame.builder.loc,
        hint="write the expression itself, with NumPy",
    )

