"""Operands and operations -> `ast` expressions: the table of spellings.

An operation is written with its operator where it has one (`np.add` as `a + b`), else as the call that its name is.
`Call` is an operation nested into an operand; it exists only here, between `fold` and the text.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from stgrad import ir
from stgrad.errors import InternalError
from stgrad.ir.ops import operation


@dataclass(frozen=True, slots=True)
class Call:
    """`op(*args, **kwargs)` in the place of an operand, with the place of its statement. The operations 'and', 'or' and 'if' (condition, value, other) too."""

    op: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    loc: ir.Loc | None = field(default=None, compare=False)


Expr = Union[ir.Operand, Call]

# How Python writes an operation between, or before, its operands.
BINARY: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow, "@": ast.MatMult,
    "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor, "<<": ast.LShift, ">>": ast.RShift,
}  # fmt: skip
UNARY: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert}
COMPARE: dict[str, type[ast.cmpop]] = {"<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq}


def is_comparison(op: str) -> bool:
    return operation(op).symbol in COMPARE


def is_identity(op: str) -> bool:
    """Whether an operation gives its first argument as it is."""
    return op in ("alias", "stop_gradient")


def children(expr: Any) -> tuple[Any, ...]:
    match expr:
        case Call():
            return expr.args + tuple(value for _, value in expr.kwargs)
        case ir.Pack():
            return expr.items
        case ir.Slice():
            return (expr.lower, expr.upper, expr.step)
    return ()


def places(expr: Any) -> Iterator[ir.Loc]:
    """The places of the calls in an expression."""
    if isinstance(expr, Call) and expr.loc is not None:
        yield expr.loc
    for child in children(expr):
        yield from places(child)


def names(expr: Any) -> Iterator[str]:
    """Names that an expression reads, left to right."""
    if isinstance(expr, ir.Var):
        yield expr.name
    for child in children(expr):
        yield from names(child)


def replace_leaves(f: Callable[[Any], Any], expr: Any) -> Any:
    """Apply f to the variables and constants of an expression."""
    match expr:
        case Call():
            args = tuple(replace_leaves(f, arg) for arg in expr.args)
            return Call(expr.op, args, tuple((k, replace_leaves(f, v)) for k, v in expr.kwargs), expr.loc)
        case ir.Pack():
            return ir.Pack(tuple(replace_leaves(f, item) for item in expr.items))
        case ir.Slice():
            return ir.Slice(*(replace_leaves(f, part) for part in children(expr)))
    return f(expr)


def is_scalar(expr: Any, types: Mapping[str, ir.Type]) -> bool:
    """Whether only scalars go into an expression."""
    if isinstance(expr, ir.Var):
        return expr.name in types and not types[expr.name].array
    return isinstance(expr, (ir.Const, Call)) and all(is_scalar(child, types) for child in children(expr))


class Expressions:
    """Writes expressions; remembers which modules they need.

    Args:
        spell: The printed name of each IR name that gets another one.
        types: What is known of the names.
    """

    def __init__(self, spell: dict[str, str], types: Mapping[str, ir.Type]) -> None:
        self.spell = spell
        self.types = types
        self.modules: set[str] = set()

    def name(self, name: str) -> str:
        return self.spell.get(name, name)

    def var(self, var: ir.Var, store: bool = False) -> ast.Name:
        return ast.Name(self.name(var.name), ast.Store() if store else ast.Load())

    def expr(self, expr: Any) -> ast.expr:
        match expr:
            case ir.Var():
                return self.var(expr)
            case ir.Const():
                return self.constant(expr.value)
            case ir.Pack():
                return ast.Tuple([self.expr(item) for item in expr.items], ast.Load())
            case ir.Slice():
                return ast.Call(ast.Name("slice", ast.Load()), [self.expr(part) for part in children(expr)], [])
            case Call():
                return self.call(expr.op, expr.args, expr.kwargs)
        raise InternalError(f"not an operand: {expr!r}")

    def call(self, op: str, args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...] = ()) -> ast.expr:
        """One operation."""
        if is_identity(op):
            return self.expr(args[0])
        if not kwargs and len(args) in (1, 2):
            written = self.operator(op, args)
            if written is not None:
                return written
        match op, args:
            case "getitem", (array, index):
                return ast.Subscript(self.expr(array), self.index(index), ast.Load())
            case "shape", (array, axis):
                return ast.Subscript(ast.Attribute(self.expr(array), "shape", ast.Load()), self.expr(axis), ast.Load())
            case "cast", (value, ir.Const(value=dtype)):
                operand = self.expr(value)
                if np.dtype(dtype).kind in "iu" and self.is_python_integer(value):
                    operand = ast.Call(self.dtype(np.dtype("int64")), [operand], [])  # it wraps: where it must fit, the program has tested that
                return ast.Call(self.dtype(np.dtype(dtype)), [operand], [])
            case ("and" | "or"), _:
                joined: ast.boolop = ast.And() if op == "and" else ast.Or()
                return ast.BoolOp(joined, [self.expr(arg) for arg in args])
            case "if", (condition, value, other):
                return ast.IfExp(self.test(condition), self.expr(value), self.expr(other))
        known, keywords = operation(op), [ast.keyword(key, self.expr(value)) for key, value in kwargs]
        return ast.Call(self.function(known.call or op), [self.expr(arg) for arg in args], keywords)

    def is_python_integer(self, expr: Any) -> bool:
        """Whether a name stands for an integer of Python's."""
        return isinstance(expr, ir.Var) and self.types[expr.name].dtype == "int64" and self.types[expr.name].weak

    def test(self, expr: Any) -> ast.expr:
        """A condition: only whether it is true counts, so `bool(x)` is `x`."""
        match expr:
            case Call(op="bool", args=(value,)):
                return self.test(value)
            case Call(op="and" | "or" as op, args=args):
                return ast.BoolOp(ast.And() if op == "and" else ast.Or(), [self.test(arg) for arg in args])
            case Call(op="not", args=(value,)):
                return self.negated(value)
        return self.expr(expr)

    def negated(self, expr: Any) -> ast.expr:
        """`not expr`."""
        match expr:
            case Call(op="not", args=(value,)):
                return self.test(value)
            case Call(op="np.equal" | "np.not_equal" as op, args=(left, right), kwargs=()):
                return self.call("np.not_equal" if op == "np.equal" else "np.equal", (left, right))
        return ast.UnaryOp(ast.Not(), self.test(expr))

    def operator(self, op: str, args: tuple[Any, ...]) -> ast.expr | None:
        """The operation as an operator, where it has one."""
        if op == "not":
            exact = isinstance(args[0], Call) and is_comparison(args[0].op) and is_scalar(args[0], self.types)
            return self.negated(args[0]) if exact else ast.UnaryOp(ast.Not(), self.test(args[0]))
        symbol = operation(op).symbol
        if len(args) == 1:
            return ast.UnaryOp(UNARY[symbol](), self.expr(args[0])) if symbol in UNARY else None
        if symbol in COMPARE:
            return ast.Compare(self.expr(args[0]), [COMPARE[symbol]()], [self.expr(args[1])])
        if symbol not in BINARY:
            return None
        left, right = args
        symbol, right = signed(symbol, right)
        if symbol in ("+", "-", "*", "/"):
            left, right = self.whole(left), self.whole(right)
        return ast.BinOp(self.expr(left), BINARY[symbol](), self.expr(right))

    def whole(self, expr: Any) -> Any:
        """`x ** 1` inside of an expression is x: what is made of it is a new value anyway."""
        match expr:
            case Call(op="np.power", args=(ir.Var(name=name) as base, ir.Const(value=int() | float() as exponent)), kwargs=()) if exponent == 1:
                known = self.types.get(name)
                return base if known is not None and known.is_float and not isinstance(exponent, bool) else expr
        return expr

    def index(self, index: Any) -> ast.expr:
        """What stands between the brackets."""
        match index:
            case ir.Slice():
                return ast.Slice(*(None if part == ir.NONE else self.expr(part) for part in children(index)))
            case ir.Pack() if index.items:
                return ast.Tuple([self.index(item) for item in index.items], ast.Load())
        return self.expr(index)

    def function(self, dotted: str) -> ast.expr:
        """`np.linalg.solve` as a chain of attributes; notes the module to import."""
        module, _, last = dotted.rpartition(":")[2].rpartition(".")  # a unit that has no name yet goes by that of the function
        if not module:
            return ast.Name(last, ast.Load())
        self.modules.add(module)
        node: ast.expr = ast.Name(module.split(".")[0], ast.Load())
        for part in [*module.split(".")[1:], last]:
            node = ast.Attribute(node, part, ast.Load())
        return node

    # constants

    def constant(self, value: Any) -> ast.expr:
        match value:
            case None | bool() | str() | bytes():
                return ast.Constant(value)
            case np.generic():
                return ast.Call(self.dtype(value.dtype), [self.constant(value.item())], [])
            case int() | float():
                return self.number(value)
            case complex():
                return self.complex(value)
            case tuple():
                return ast.Tuple([self.constant(item) for item in value], ast.Load())
            case slice():
                return self.expr(ir.Slice(*map(ir.Const, (value.start, value.stop, value.step))))
            case np.dtype():
                return self.dtype(value)
            case type() if issubclass(value, np.generic):
                return self.dtype(np.dtype(value))
            case type() if value in (float, int, bool, complex):
                return ast.Name(value.__name__, ast.Load())
        if value is Ellipsis:
            return ast.Constant(value)
        raise InternalError(f"a constant that has no text: {value!r}")

    def number(self, value: float) -> ast.expr:
        if math.isnan(value):
            return self.function("np.nan")
        if math.copysign(1.0, value) < 0.0:
            return ast.UnaryOp(ast.USub(), self.number(-value))
        return self.function("np.inf") if math.isinf(value) else ast.Constant(value)

    def complex(self, value: complex) -> ast.expr:
        if value.imag > 0.0 and math.isfinite(value.imag) and repr(value) == repr(complex(0.0, value.imag)):
            return ast.Constant(value)
        return ast.Call(ast.Name("complex", ast.Load()), [self.number(value.real), self.number(value.imag)], [])

    def dtype(self, dtype: np.dtype[Any]) -> ast.expr:
        return self.function("np.bool_" if dtype.name == "bool" else f"np.{dtype.name}")


def signed(symbol: str, right: Any) -> tuple[str, Any]:
    """`a + -b` is `a - b`, exactly."""
    negated = negation(right)
    return ("-" if symbol == "+" else "+", negated) if negated is not None and symbol in ("+", "-") else (symbol, right)


def negation(expr: Any) -> Any | None:
    """What is negated, where the expression is a negation or a negative plain number."""
    match expr:
        case Call(op="np.negative", args=(negated,), kwargs=()):
            return negated
        case ir.Const(value=value) if type(value) in (int, float) and value < 0:
            return ir.Const(-value)
    return None
