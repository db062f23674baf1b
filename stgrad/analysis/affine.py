"""Integers as sums: a constant plus names, each times a factor. One form for every question about positions, extents and bounds.

    t = i - 1; u = 2 * t + n; x[u]        the position is 2 i + n - 2

`Affine` is the form; `Positions` reads it from a program as one loop sees it: names that the loop computes are followed to what they are
computed from, names that it does not bind stay as they are. Factors may be fractions, where a division has been bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

from stgrad.ir import Assign, Block, Const, For, Operand, Stmt, Var, assigned, assigns, walk
from stgrad.ir.ops import operation

Number = int | Fraction
SUMS = frozenset({"int", "np.multiply"})  # beside those that have signs
MAX_DEPTH = 40  # definitions in one another; longer ones stay names


@dataclass(frozen=True)
class Affine:
    """`constant` plus each name times its factor; names in order, factors never 0. `a*b` is a name too: the product of two.

    >>> i, n = named("i"), named("n")
    >>> (i + n).scaled(2) - n
    Affine(terms=(('i', 2), ('n', 1)), constant=0)
    """

    terms: tuple[tuple[str, Number], ...] = ()
    constant: Number = 0

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.constant))  # facts are looked up again and again, and the hash of a fraction is slow

    def __add__(self, other: Affine) -> Affine:
        if not other.terms or not self.terms:
            return Affine(self.terms or other.terms, self.constant + other.constant)
        terms = dict(self.terms)
        for name, factor in other.terms:
            terms[name] = terms.get(name, 0) + factor
        return Affine(tuple(sorted((n, f) for n, f in terms.items() if f)), self.constant + other.constant)

    def __sub__(self, other: Affine) -> Affine:
        return self + other.scaled(-1)

    def scaled(self, by: Number) -> Affine:
        return Affine(tuple((n, f * by) for n, f in self.terms), self.constant * by) if by else Affine()

    def times(self, other: Affine) -> Affine:
        """The product; what is no sum of names any more has products for names."""
        result = self.scaled(other.constant)
        for b, factor in other.terms:
            result += Affine(((b, factor * self.constant),) if self.constant else ())
            for a, own in self.terms:
                result += Affine((("*".join(sorted((*a.split("*"), *b.split("*")))), own * factor),))
        return result

    def factor(self, name: str) -> Number:
        """What a name is multiplied with; 0 where it does not occur by itself."""
        return dict(self.terms).get(name, 0)

    def names(self) -> frozenset[str]:
        """The names that the value depends on, those in products too."""
        return self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(part for name, _ in self.terms for part in name.split("*"))

    def without(self, name: str) -> Affine:
        return Affine(tuple(t for t in self.terms if t[0] != name), self.constant)


def number(value: Number) -> Affine:
    return Affine((), value)


def named(key: str) -> Affine:
    return Affine(((key, 1),))


def combined(op: str, parts: Sequence[Affine]) -> Affine | None:
    """What an operation makes of integers, where that is a sum or a product of them.

    >>> combined("np.subtract", [number(5), named("i")])
    Affine(terms=(('i', -1),), constant=5)
    """
    if op == "int" and len(parts) == 1:
        return parts[0]
    if op == "np.multiply" and len(parts) == 2:
        return parts[0].times(parts[1])
    signs = operation(op).signs
    if len(signs) != len(parts) or not signs:
        return None
    return reduce(Affine.__add__, (part.scaled(sign) for part, sign in zip(parts, signs, strict=True)))


@dataclass(frozen=True)
class Positions:
    """Integers as one loop sees them.

    Attributes:
        once: the statement of each name of the program that is bound once, so that it dominates every use.
        moving: the names that the loop binds, its counter too. All others have one value for all iterations.
        counter: the loop's own; "" where its body binds that name again.
        body: of the loop.
    """

    once: Mapping[str, Stmt]
    moving: Set[str]
    counter: str
    body: Block = ()

    @classmethod
    def of(cls, loop: For, once: Mapping[str, Stmt]) -> Positions:
        inner = assigned(loop.body)
        return cls(once, inner | {loop.var.name}, "" if loop.var.name in inner else loop.var.name, loop.body)

    @cached_property
    def counters(self) -> Set[str]:
        """Names that loops in the body count with, and nothing else in it binds: each has one value wherever a definition that reads it is used."""
        bound = [(name, isinstance(s, For)) for s in walk(self.body) for name in assigns(s)]
        return {name for name, counts in bound if counts} - {name for name, counts in bound if not counts}

    def form(self, operand: Operand, depth: int = MAX_DEPTH) -> Affine | None:
        """An integer in terms of the counter, of names that stand still, and of others that move; None for what is no integer."""
        if isinstance(operand, Const):
            return number(operand.value) if type(operand.value) is int else None
        if not isinstance(operand, Var):
            return None
        made = self.once.get(operand.name) if operand.name in self.moving and depth else None
        if isinstance(made, Assign) and made.op in SUMS or isinstance(made, Assign) and operation(made.op).signs:
            parts = [p for p in (self.form(a, depth - 1) for a in made.args) if p is not None]
            found = combined(made.op, parts) if len(parts) == len(made.args) else None
            if found is not None and self.lasting(found):
                return found
        return named(operand.name)

    def lasting(self, form: Affine) -> bool:
        """Whether the names of a form mean at every use what they meant at its definition."""
        return all(name == self.counter or name in self.once or name in self.counters for name in form.names() & self.moving)

    def stride(self, operand: Operand) -> Affine | None:
        """A position that is a multiple of the counter plus what stands still; None for all others."""
        form = self.form(operand)
        return form if form is not None and form.factor(self.counter) and self.still(form.without(self.counter)) else None

    def still(self, form: Affine) -> bool:
        return not form.names() & self.moving

    def moves(self, operand: Operand) -> bool:
        """Whether a position may be another one in the next iteration: it is not only where its form is known, and free of what moves."""
        form = self.form(operand)
        return form is None or not self.still(form)


def never_meet(a: Affine, b: Affine, counter: str, step: int = 1) -> bool:
    """Whether two positions differ in any two different iterations of a loop, whose counter goes by `step`.

    >>> i = named("i")
    >>> never_meet(i.scaled(2), i.scaled(2) + number(1), "i"), never_meet(i, i + number(1), "i"), never_meet(i, i + number(1), "i", step=2)
    (True, False, True)
    """
    apart = b - a
    if apart.terms:
        return False
    by = a.factor(counter)
    if not by:
        return apart.constant != 0
    return apart.constant == 0 or apart.constant % (by * step) != 0

