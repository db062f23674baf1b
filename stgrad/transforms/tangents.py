"""The tangent of one statement in one direction, as statements beside it.

    y = op(a, b)    ->    y_dot = d_op/da * a_dot + d_op/db * b_dot

Invariants. A tangent has the shape and dtype of its value. Tangents of arrays share memory exactly where the arrays do: what makes a view makes
one of the tangent, what is stored is stored into the tangent, and an array whose memory is written to has a tangent with memory of its own.
A tangent that is known to be zero has no variable (`present` says which have one), except where memory is written to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.analysis.activity import differentiable
from stgrad.analysis.alias import Classes, viewed
from stgrad.frontend.builder import Builder
from stgrad.frontend.values import Sym, Value, is_number, operand_of
from stgrad.frontend.wishes import UNNAMED, is_unnamed
from stgrad.ir import Assign, Const, Operand, Pack, Slice, Store, Type, Var, operand_vars
from stgrad.ir.ops import operation
from stgrad.rules import lookup
from stgrad.rules.core import Rule
from stgrad.transforms.picked import chosen

Splice = Callable[[Builder, Any, tuple[Value, ...], dict[str, Value]], Value]


@dataclass(frozen=True)
class Products:
    """Guarded products (`stgrad.transforms.guards`), by their identity: which factor stands for the partial, and the partial.

    In a program that is linear in the cotangents (`linear`) it is the tangent of a cotangent that stands for it, and wins where it is zero.
    """

    found: Mapping[int, tuple[int, Operand]]
    linear: bool = False

    def factor(self, stmt: Assign, i: int, other: Value, value: Callable[[Operand], Value]) -> tuple[Any, Value]:
        """How the tangent of factor `i` is multiplied, and by what: with care, or (None) as ever, and by the other factor."""
        at, partial = self.found.get(id(stmt), (-1, None))
        if partial is None or i != at and not self.linear:
            return None, other
        return (_kept_by, other) if i == at else (with_care, value(partial))


@dataclass
class Tangents:
    """Writes tangents into `builder` and keeps which names have one at this point of the program."""

    builder: Builder
    splice: Splice
    active: frozenset[str]
    updated: frozenset[str]  # representatives of the classes that stores reach
    classes: Classes
    products: Products = field(default_factory=lambda: Products({}))
    suffix: str = "dot"  # of the names of tangents: of one direction among several it says which
    dots: dict[str, str] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)

    # ------------------------------------------------------------- names

    def dot(self, name: str) -> Sym:
        """The variable of a tangent."""
        if name not in self.dots:
            self.dots[name] = self.builder.names.fresh(UNNAMED if is_unnamed(name) else f"{name}_{self.suffix}")
            self.builder.types[self.dots[name]] = replace(self.builder.types[name], value=None)
        return Sym(Var(self.dots[name]), self.builder.types[self.dots[name]])

    def zero(self, name: str, like: Sym | None = None) -> None:
        """Make an absent tangent a zero; `like` is the value itself, under another name."""
        target = self.dot(name)
        if target.type.array:
            self.builder.assign(target, "np.zeros_like", (like or Sym(Var(name), target.type)).operand)
        else:
            self.builder.assign(target, "alias", Const(zero_of(target.type)))
        self.present.add(name)

    def clear(self, name: str) -> None:
        """A name was just given a value that does not change: its tangent is zero."""
        self.present.discard(name)
        if name in self.active and self.owns(name):
            self.zero(name)

    def owns(self, name: str) -> bool:
        """Whether the memory of an array is written to, so that its tangent needs memory of its own."""
        return self.builder.types[name].array and self.classes.find(name) in self.updated

    def of(self, operand: Operand) -> Value:
        """The tangent of an operand; None for zero. Of several operands, a tuple with zeros in the places of those that have none."""
        if isinstance(operand, Var) and operand.name in self.active and operand.name in self.present:
            return self.dot(operand.name)
        if isinstance(operand, Pack) and self.moves(operand):
            return tuple(self.full(item) for item in operand.items)
        return None

    def moves(self, operand: Operand) -> bool:
        """Whether an operand has a tangent that is not zero."""
        return any(n in self.active and n in self.present for n in operand_vars(operand))

    def full(self, operand: Operand) -> Value:
        """The tangent of an operand, zeros where it has none."""
        if isinstance(operand, Pack):
            return tuple(self.full(item) for item in operand.items)
        found = self.of(operand)
        if found is not None:
            return found
        t = self.builder.types[operand.name] if isinstance(operand, Var) else None
        if t is None or not t.array:
            return zero_of(t) if t is not None and t.is_float else 0.0
        value = Sym(operand, t)  # type: ignore[arg-type]
        return self.builder.call("np.zeros_like", (value,), replace(t, value=None)) if t.is_float else self.splice(self.builder, _zeros, (value,), {})

    # ------------------------------------------------------------- assignments

    def views(self, stmt: Assign) -> bool:
        """Whether a statement makes a view, or another name, of an array: its tangent is one of the tangent."""
        return self.builder.types[stmt.targets[0].name].array and viewed(stmt, self.builder.types) is not None

    def result(self, stmt: Assign, y: tuple[Sym, ...], partials: Callable[[], tuple[Value, ...]]) -> list[Value]:
        """The tangents of the targets of `y = op(...)`, whose values are `y`; None for zero."""
        if not differentiable(stmt.op) or not operation(stmt.op).contents or not any(map(self.moves, (*stmt.args, *(v for _, v in stmt.kwargs)))):
            return [None] * len(y)
        if operation(stmt.op).kind in ("cast", "identity"):
            return [self.splice(self.builder, _complex, tuple(map(self.full, stmt.args)), {}) if stmt.op == "complex" else self.of(stmt.args[0])]
        rule = lookup(stmt.op)
        if stmt.op == "getitem" or rule is not None and rule.kind == "linear" and rule.tangent is None:
            return [self._same(stmt, y[0])]
        if rule is None or (rule.partials is None and rule.tangent is None):
            raise errors.NotDifferentiableError(
                f"`{stmt.op}` has no forward rule", stmt.loc, reason="it is not in the table that `stgrad rules` shows", hint="write one: stgrad help extending"
            )
        if rule.partials is not None:
            return [self._by_partials(stmt, partials())]
        if rule.multilinear:
            return [self._by_terms(stmt, y[0])]
        found = self._by_rule(rule, stmt, y)
        return list(found) if len(y) > 1 else [found]

    def _same(self, stmt: Assign, y: Sym) -> Value:
        """The operation itself, on the tangents: it is linear in its first argument."""
        if not self.moves(stmt.args[0]):
            return None
        args = (self.of(stmt.args[0]), *map(value_of(self.builder), stmt.args[1:]))
        return self.builder.call(stmt.op, args, replace(y.type, value=None), {k: value_of(self.builder)(v) for k, v in stmt.kwargs})

    def _by_partials(self, stmt: Assign, partials: tuple[Value, ...]) -> Value:
        total: Value = None
        for i, argument in enumerate(stmt.args):
            dot = self.of(argument)
            if dot is None:
                continue
            if i >= len(partials) or partials[i] is None:
                raise _missing(stmt, f"argument {i + 1}")
            careful, p = self.products.factor(stmt, i, partials[i], value_of(self.builder))
            term = self.splice(self.builder, careful, (dot, p), {}) if careful is not None else self._times(stmt, dot, p)
            total = self._plus(total, term)
        self._no_keywords(stmt, frozenset())
        return total

    def _by_terms(self, stmt: Assign, y: Sym) -> Value:
        """A product: one term for each factor that moves."""
        value, total = value_of(self.builder), None
        kwargs = {k: value(v) for k, v in stmt.kwargs}
        self._no_keywords(stmt, frozenset())
        for i, argument in enumerate(stmt.args):
            dot = self.of(argument)
            if dot is not None:
                args = tuple(dot if i == j else value(a) for j, a in enumerate(stmt.args))
                total = self._plus(total, self.builder.call(stmt.op, args, replace(y.type, value=None), kwargs))
        return total

    def _by_rule(self, rule: Rule, stmt: Assign, y: tuple[Sym, ...]) -> Value:
        """The rule's own tangent; it names the tangents that it takes `x_dot`."""
        assert rule.tangent is not None
        code = rule.tangent.__code__
        names = code.co_varnames[1 : code.co_argcount]
        value = value_of(self.builder)
        plain = [n for n in names if not n.endswith("_dot")]
        args = [value(a) for a in stmt.args]
        result: Value = y if len(y) > 1 else y[0]
        if code.co_flags & 4:  # *operands_and_dots
            dots = [self.full(a) for a in stmt.args[len(plain) :]]
            return self.splice(self.builder, rule.tangent, (result, *args, *dots), {k: value(v) for k, v in stmt.kwargs})
        given: dict[str, Operand] = {**dict(zip(plain, stmt.args, strict=False)), **dict(stmt.kwargs)}
        for name, operand in given.items():
            if self.moves(operand) and f"{name}_dot" not in names:
                raise _missing(stmt, f"`{name}`")
        bound: dict[str, Value] = {**_defaults(rule), **{name: value(operand) for name, operand in given.items()}}
        bound |= {n: self.full(given[n[:-4]]) if n[:-4] in given else 0.0 for n in names if n.endswith("_dot")}
        return self.splice(self.builder, rule.tangent, (result,), bound)

    def _no_keywords(self, stmt: Assign, taken: frozenset[str]) -> None:
        for name, operand in stmt.kwargs:
            if self.moves(operand) and name not in taken:
                raise _missing(stmt, f"`{name}`")

    def _plus(self, total: Value, term: Value) -> Value:
        if total is None or term is None:
            return term if total is None else total
        return self.splice(self.builder, _add, (total, term), {})

    def _times(self, stmt: Assign, dot: Value, p: Value) -> Value:
        if is_number(p) and not isinstance(p, complex):
            if p == 0:
                return None
            if p == 1:
                return dot
            if p == -1:
                return self.splice(self.builder, _negative, (dot,), {})
        return self.splice(self.builder, chosen(stmt, p) or _multiply, (dot, p), {})

    # ------------------------------------------------------------- into the name

    def bind(self, name: str, g: Value, y: Sym, *, shared: bool, view: bool = False) -> None:
        """Give a name its tangent g; `y` is its value, `shared` whether g may stand in memory that is written to.

        The tangent of a `view` has the extents of the value as it is: it stays the memory that it is of.
        """
        self.present.discard(name)
        if name not in self.active:
            return
        g = None if g is None or is_number(g) and g == 0 else g if view and isinstance(g, Sym) else self.fit(g, y)
        if g is None:
            if self.owns(name):
                self.zero(name, y)
            return
        copied = shared and y.type.array and not self._made(g)
        self.builder.assign(self.dot(name), "np.copy" if copied else "alias", operand_of(g))
        self.present.add(name)

    def shares(self, stmt: Assign) -> bool:
        """Whether the tangent of a new array must not be one that is there already, as somebody writes to it."""
        if self.views(stmt):
            return False
        arrays = {n for o in (*stmt.args, *(v for _, v in stmt.kwargs)) for n in operand_vars(o)} | {t.name for t in stmt.targets}
        return any(self.owns(n) for n in arrays)

    def _made(self, g: Value) -> bool:
        """Whether the last statement made the array g, so that nobody else holds it."""
        last = self.builder.out[-1] if self.builder.out else None
        fresh = isinstance(last, Assign) and isinstance(g, Sym) and last.targets == (g.operand,)
        return fresh and viewed(last, self.builder.types) is None  # type: ignore[arg-type]

    def fit(self, g: Value, y: Sym) -> Value:
        """A tangent with the shape and dtype of its value."""
        t = replace(y.type, value=None)
        if not isinstance(g, Sym):
            if not t.array:
                return np.dtype(t.dtype).type(g) if t.dtype in ("float32", "float16", "complex64") else g
            return self.builder.call("np.full_like", (y, g), t)
        if g.type.dtype.startswith("complex") and not t.dtype.startswith("complex"):
            g = self.builder.call("np.real", (g,), replace(g.type, dtype="float32" if g.type.dtype == "complex64" else "float64"))
        if t.array and not g.type.array:
            return self.builder.call("np.full_like", (y, g), t)
        if g.type.dtype != t.dtype:
            g = self._cast(g, t)
        if t.array and (g.type.rank < t.rank or any(d.constant == 1 and e.constant != 1 for d, e in zip(g.type.dims, t.dims, strict=True))):
            g = self.splice(self.builder, _widened, (g, y), {})
        return g

    def _cast(self, g: Sym, t: Type) -> Value:
        if g.type.array:
            return self.builder.call("np.astype", (g, np.dtype(t.dtype)), replace(g.type, dtype=t.dtype))
        return self.builder.call("cast", (g, t.dtype), Type(t.dtype))

    # ------------------------------------------------------------- stores

    def store(self, stmt: Store) -> None:
        """`y[i] = v`: the tangent of what is stored is stored into the tangent."""
        name = stmt.target.name
        if name not in self.active:
            return
        dot = self.of(stmt.value)
        if dot is None and stmt.mode != "set":
            return
        self._written(stmt, name, dot)

    def _written(self, stmt: Store, name: str, dot: Value) -> None:
        target = self.dot(name)
        if isinstance(dot, Sym) and dot.type.dtype.startswith("complex") and not target.type.dtype.startswith("complex"):
            dot = self.builder.call("np.real", (dot,), replace(dot.type, dtype=target.type.dtype))
        value = operand_of(dot) if dot is not None else Const(zero_of(replace(target.type, array=False, dims=())))
        self.builder.emit(Store(Var(target.name), stmt.index, value, stmt.mode, self.builder.loc, self.builder.note))


def value_of(builder: Builder) -> Callable[[Operand], Value]:
    """Operands as values."""

    def value(operand: Operand) -> Value:
        match operand:
            case Var():
                return Sym(operand, builder.types[operand.name])
            case Pack():
                return tuple(value(o) for o in operand.items)
            case Slice():
                return slice(*(value(o) for o in (operand.lower, operand.upper, operand.step)))
        return operand.value

    return value


def zero_of(t: Type) -> Any:
    """Zero of the dtype of a scalar."""
    return 0.0 if t.dtype == "float64" else np.dtype(t.dtype).type(0)


def _defaults(rule: Rule) -> dict[str, Any]:
    """What the parameters of an operation are where a call does not give them: its adjoint has them too, with their defaults."""
    assert rule.tangent is not None
    if rule.adjoint is None:
        return {}
    own = inspect.signature(rule.tangent).parameters
    parameters = inspect.signature(rule.adjoint).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty and p.name in own and own[p.name].default is p.empty}


def _missing(stmt: Assign, which: str) -> errors.NotDifferentiableError:
    return errors.NotDifferentiableError(
        f"`{stmt.op}` has no derivative with respect to {which}", stmt.loc, hint="pass it as a constant: stgrad.stop_gradient(...)"
    )


def _complex(real: Any, imag: Any = 0.0) -> Any:
    return real + 1j * imag


def _add(a: Any, b: Any) -> Any:
    return a + b


def _multiply(g: Any, p: Any) -> Any:
    return g * p


def with_care(g: Any, p: Any) -> Any:
    """A zero wins over what is not finite. A finite partial stays, as the derivative of the product in g is still p where g is 0."""
    return g * np.where(np.logical_and(g == 0.0, np.logical_not(np.isfinite(p))), 0.0, p)


def _kept_by(p_dot: Any, g: Any) -> Any:
    return with_care(g, p_dot)


def _negative(g: Any) -> Any:
    return -g


def _widened(g: Any, y: Any) -> Any:
    return np.broadcast_to(g, np.shape(y))


def _zeros(x: Any) -> Any:
    return np.zeros(np.shape(x))


__all__ = ["Products", "Tangents", "value_of", "with_care", "zero_of"]
