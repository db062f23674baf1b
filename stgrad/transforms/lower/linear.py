"""Element expressions as a factor times a base: `-(g[i] * c) * 2.0` is `(c * -2.0)` times `g[i]`.

A factor does not move with the loops. Terms with one base need that base in memory once, whatever they are multiplied with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from stgrad.ir.ops import operation
from stgrad.transforms.lower.fuse import Same
from stgrad.transforms.lower.nest import Access, Axis, Call, Expr, Index, Kernel, Lit, Load, Unit, loads
from stgrad.transforms.lower.numeric import literal
from stgrad.transforms.lower.substitute import shift

Term = tuple[Expr, Expr]  # factor, base


def constant(value: float, dtype: str) -> Lit:
    return Lit(literal(value, dtype), dtype, weak=False)


def is_constant(expr: Expr, value: float) -> bool:
    return isinstance(expr, Lit) and bool(expr.operand.value == value)


def identity(index: Index) -> bool:
    """Whether an element stands at the plain variables of all loops, in order."""
    return all(entry == Axis(k) for k, entry in enumerate(index))


class Linear:
    """The linear forms of one run of statements."""

    def __init__(self, units: Sequence[Unit], shares: Same) -> None:
        self.written = Counter(a.buffer for u in units for a in unit_writes(u))
        self.terms: dict[str, Term] = {}  # of definitions
        self.once = {u.target for u in units if isinstance(u, Kernel) and u.mode == "def" and self.written[u.target] == 1}
        self.definitions = {
            u.target: u
            for u in units
            if isinstance(u, Kernel)
            and u.target in self.once
            and identity(u.index)
            and all(self._stable(load.buffer, shares) for load in loads(u.expr))
        }

    def _stable(self, buffer: str, shares: Same) -> bool:
        """Whether nothing writes to a buffer but its definition."""
        if buffer not in self.once and self.written[buffer]:
            return False
        return not any(w != buffer and shares(w, buffer) for w in self.written)

    def term(self, expr: Expr) -> Term:
        """Factor and base of an expression; the factor is 1 where nothing is known."""
        found = self._call(expr) if isinstance(expr, Call) else self._load(expr) if isinstance(expr, Load) else None
        return found or (constant(1.0, expr.dtype), expr)

    def _load(self, load: Load) -> Term | None:
        source = self.definitions.get(load.buffer)
        if source is None or not source.space or len(load.index) != len(source.space):
            return None
        if load.buffer not in self.terms:
            self.terms[load.buffer] = self.term(source.expr)
        factor, base = self.terms[load.buffer]
        if base == source.expr:
            return None
        moved = shift(base, source.index, load.index)
        return None if moved is None else (factor, moved)

    def _call(self, expr: Call) -> Term | None:
        if expr.op == "np.negative":
            factor, base = self.term(expr.args[0])
            return negative(factor), base
        if expr.op == "np.multiply":
            for one, other in (expr.args, expr.args[::-1]):
                if self.invariant(one) and one.dtype == expr.dtype:
                    factor, base = self.term(other)
                    return product(factor, one), base
        if expr.op in ("np.add", "np.subtract"):
            (a, base), (b, other) = map(self.term, expr.args)
            if base == other and not self.invariant(base):
                return total(a, b if expr.op == "np.add" else negative(b)), base
        return None

    def invariant(self, expr: Expr) -> bool:
        """Whether an expression is made of constants and of scalars that the run does not change."""
        if isinstance(expr, Call):
            return operation(expr.op).symbol in ("+", "-", "*") and all(map(self.invariant, expr.args))
        return isinstance(expr, Lit) or isinstance(expr, Load) and not expr.index and self.written[expr.buffer] <= 1


def unit_writes(unit: Unit) -> Iterator[Access]:
    return (a for a in unit.accesses() if a.write)


def negative(factor: Expr) -> Expr:
    if isinstance(factor, Lit):
        return constant(-factor.operand.value, factor.dtype)
    if isinstance(factor, Call) and factor.op == "np.negative":
        return factor.args[0]
    return Call("np.negative", (factor,), factor.dtype)


def product(a: Expr, b: Expr) -> Expr:
    if is_constant(a, 1.0) or is_constant(b, 1.0):
        return b if is_constant(a, 1.0) else a
    if is_constant(a, -1.0) or is_constant(b, -1.0):
        return negative(b if is_constant(a, -1.0) else a)
    if isinstance(a, Lit) and isinstance(b, Lit):
        return constant(a.operand.value * b.operand.value, a.dtype)
    return Call("np.multiply", (a, b), a.dtype)


def total(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Lit) and isinstance(b, Lit):
        return constant(a.operand.value + b.operand.value, a.dtype)
    if isinstance(b, Call) and b.op == "np.negative":
        return Call("np.subtract", (a, b.args[0]), a.dtype)
    if isinstance(a, Call) and a.op == "np.negative":
        return Call("np.subtract", (b, a.args[0]), a.dtype)
    return Call("np.add", (a, b), a.dtype)
