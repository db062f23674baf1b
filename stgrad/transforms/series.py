"""Taylor mode: the coefficients of a program's results along a curve, of all orders at once.

Each value carries the coefficients of its power series in one variable; what is linear passes each of them on, as a tangent, and the rules below say what
products and elementary functions make of them. So order K costs K*K/2 times the program, not 3**K times. After Griewank and Walther, Evaluating
Derivatives (2008), chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.analysis.activity import differentiable
from stgrad.frontend.values import Sym, Value
from stgrad.ir import Assign, Const, Custom, Function, Operand, entries_of
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.rules import lookup
from stgrad.transforms.forward import Forward
from stgrad.transforms.instrument import own_memory
from stgrad.transforms.tangents import Splice, Tangents, value_of

# ------------------------------------------------------------- the rules, which are read: of the coefficients of the operands, those of the result


def product(a: Any, b: Any) -> Any:
    return [sum([a[j] * b[k - j] for j in range(k + 1)]) for k in range(len(a))]


def matrix_product(a: Any, b: Any) -> Any:
    return [sum([a[j] @ b[k - j] for j in range(k + 1)]) for k in range(len(a))]


def quotient(a: Any, b: Any) -> Any:
    y = [a[0] / b[0]]
    for k in range(1, len(a)):
        y = [*y, (a[k] - sum([b[j] * y[k - j] for j in range(1, k + 1)])) / b[0]]
    return y


def square(a: Any) -> Any:
    return product(a, a)


def exponential(a: Any) -> Any:
    y = [np.exp(a[0])]
    for k in range(1, len(a)):
        y = [*y, sum([j * a[j] * y[k - j] for j in range(1, k + 1)]) / k]
    return y


def logarithm(a: Any) -> Any:
    y = [np.log(a[0])]
    for k in range(1, len(a)):
        y = [*y, (a[k] - sum([j * y[j] * a[k - j] for j in range(1, k)]) / k) / a[0]]
    return y


def sine_and_cosine(a: Any) -> Any:
    s, c = [np.sin(a[0])], [np.cos(a[0])]
    for k in range(1, len(a)):
        s, c = [*s, sum([j * a[j] * c[k - j] for j in range(1, k + 1)]) / k], [*c, sum([-j * a[j] * s[k - j] for j in range(1, k + 1)]) / k]
    return s, c


def sine(a: Any) -> Any:
    return sine_and_cosine(a)[0]


def cosine(a: Any) -> Any:
    return sine_and_cosine(a)[1]


def hyperbolic(a: Any) -> Any:
    s, c = [np.sinh(a[0])], [np.cosh(a[0])]
    for k in range(1, len(a)):
        s, c = [*s, sum([j * a[j] * c[k - j] for j in range(1, k + 1)]) / k], [*c, sum([j * a[j] * s[k - j] for j in range(1, k + 1)]) / k]
    return s, c


def hyperbolic_sine(a: Any) -> Any:
    return hyperbolic(a)[0]


def hyperbolic_cosine(a: Any) -> Any:
    return hyperbolic(a)[1]


def tangent(a: Any) -> Any:
    return quotient(sine(a), cosine(a))


def hyperbolic_tangent(a: Any) -> Any:
    y, w = [np.tanh(a[0])], [1.0 - np.tanh(a[0]) ** 2]  # y' = w a', w = 1 - y y
    for k in range(1, len(a)):
        y = [*y, sum([j * a[j] * w[k - j] for j in range(1, k + 1)]) / k]
        w = [*w, -sum([y[j] * y[k - j] for j in range(k + 1)])]
    return y


def arctangent(a: Any) -> Any:
    w = square(a)
    w = [1.0 + w[0], *w[1:]]
    y = [np.arctan(a[0])]
    for k in range(1, len(a)):
        y = [*y, (a[k] - sum([j * y[j] * w[k - j] for j in range(1, k)]) / k) / w[0]]
    return y


def root(a: Any) -> Any:
    y = [np.sqrt(a[0])]
    for k in range(1, len(a)):
        y = [*y, (a[k] - sum([y[j] * y[k - j] for j in range(1, k)])) / (2.0 * y[0])]
    return y


def power(a: Any, p: Any) -> Any:
    """A power that does not move, of what is not 0."""
    y = [a[0] ** p]
    for k in range(1, len(a)):
        y = [*y, sum([((p + 1.0) * j - k) * a[j] * y[k - j] for j in range(1, k + 1)]) / (k * a[0])]
    return y


def whole_power(a: Any, n: Any) -> Any:
    y = a if n else [a[0] ** 0, *[0.0 * c for c in a[1:]]]
    for _ in range(n - 1):
        y = product(y, a)
    return y


def moving_power(a: Any, p: Any) -> Any:
    return exponential(product(p, logarithm(a)))


SERIES: dict[str, Callable[..., Any]] = {
    "multiply": product, "divide": quotient, "true_divide": quotient, "square": square, "exp": exponential, "log": logarithm, "sin": sine, "cos": cosine,
    "sinh": hyperbolic_sine, "cosh": hyperbolic_cosine, "tan": tangent, "tanh": hyperbolic_tangent, "arctan": arctangent, "atan": arctangent, "sqrt": root,
}  # fmt: skip
_STEPWISE = frozenset(  # linear, some of them step by step
    "add subtract negative positive absolute fabs maximum minimum where sum mean cumsum max min amax amin "
    "concatenate stack vstack hstack diff trace diag".split()
)
WHOLE = 8  # powers up to here are products


@dataclass
class _Series(Forward):
    """The walk of forward mode; tangents are coefficients, of order 1 first."""

    def tangents_of(self, stmt: Assign, y: tuple[Sym, ...], moving: list[Tangents]) -> None:
        if not differentiable(stmt.op) or self._linear(stmt):
            super().tangents_of(stmt, y, moving)
            return
        found = self._coefficients(stmt)
        for d, coefficient in zip(self.directions, found[1:], strict=True):
            d.bind(stmt.target.name, coefficient, y[0], shared=False)

    def _linear(self, stmt: Assign) -> bool:
        rule, name = lookup(stmt.op), stmt.op.rpartition(".")[2]
        factors = sum(any(d.moves(a) for d in self.directions) for a in stmt.args)
        if not operation(stmt.op).contents or operation(stmt.op).kind in ("cast", "identity") or stmt.op == "getitem":
            return True
        if name in _STEPWISE and stmt.op.startswith(("np.", "math.")):
            return True
        return rule is not None and (rule.kind == "linear" and rule.tangent is None or rule.multilinear and factors == 1)

    def _coefficients(self, stmt: Assign) -> Value:
        name = stmt.op.rpartition(".")[2]
        operands = [self._series(a) for a in stmt.args]
        if name in ("power", "pow", "float_power"):
            return self.splice(self.builder, *self._power(stmt, operands), {})
        if stmt.op == "np.matmul" and not stmt.kwargs:
            return self.splice(self.builder, matrix_product, tuple([value_of(self.builder)(a), *(d.full(a) for d in self.directions)] for a in stmt.args), {})
        rule = SERIES.get(name) if stmt.op.startswith(("np.", "math.")) and len(stmt.targets) == 1 and not stmt.kwargs else None
        if rule is None or name == "log" and len(stmt.args) > 1:
            raise errors.NotDifferentiableError(f"`{stmt.op}` has no rule for power series", stmt.loc, hint="use stgrad.grad(mode='forward') several times")
        return self.splice(self.builder, rule, tuple(operands), {})

    def _power(self, stmt: Assign, operands: list[Value]) -> tuple[Any, tuple[Value, ...]]:
        base, exponent = operands
        last = stmt.args[1]
        if any(d.moves(last) for d in self.directions):
            return moving_power, (base, exponent)
        n = last.value if isinstance(last, Const) else None
        if n is not None and float(n).is_integer() and 0 <= n <= WHOLE:
            return whole_power, (base, int(n))
        return power, (base, exponent[0])

    def _series(self, operand: Operand) -> list[Value]:
        """The coefficients of an operand, its value first."""
        return [value_of(self.builder)(operand), *(0.0 if (dot := d.of(operand)) is None else dot for d in self.directions)]

    def custom(self, stmt: Custom) -> None:
        if any(d.moves(i) for d in self.directions for i in stmt.inputs):
            raise errors.NotDifferentiableError("a function with a derivative of its own has no rule for power series", stmt.loc)
        super().custom(stmt)


def series(fn: Function, directions: Sequence[Sequence[str]], splice: Splice, *, outputs: Sequence[int] | None = None) -> Function:
    """The program of a program's results and their coefficients, order by order; `directions` are those of the parameters, one for each order."""
    leaves = entries_of(fn.result)
    chosen = tuple(range(len(leaves))) if outputs is None else tuple(outputs)
    names = Names([*fn.types, *(p.name for p in fn.params)])
    found = _Series(own_memory(fn, names), directions, splice, names, chosen).run(None)
    return replace(found, name=f"{fn.name}_series")


__all__ = ["series"]
