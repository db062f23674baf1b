"""`np.einsum` as what it is made of: sums, views with the axes in another order, matrix products, elementwise products.

    np.einsum("ab,sac,sbd->cd", E, A, A)   ->   t = np.transpose(E) @ A                              (sbc)
                                                np.transpose(np.reshape(t, (-1, c))) @ np.reshape(A, (-1, d))

Two operands at a time, the cheapest pair first (Pfeifer, Haegeman & Verstraete 2014, greedily). A pair that shares summed letters, and has letters of its own
on both sides, is a matrix product: letters that stand side by side become one axis, which copies nothing, and letters of one side that stand in the way are
those of a stack of products. Only where neither does are the axes of an operand put in order first, in a copy. All else is a product of elements, summed: one
loop nest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.operations import shape_of
from stgrad.frontend.values import Sym, Value, operand_of
from stgrad.ir import Const, Dim, Effect
from stgrad.rules.products import parsed

UNKNOWN = 32  # the extent that an axis is taken to have where only the run tells
ONE = Dim(None, 1)


@dataclass(frozen=True)
class Factor:
    """A value, and a letter for each of its axes."""

    letters: str
    value: Sym

    def extents(self) -> dict[str, Dim]:
        return dict(zip(self.letters, self.value.type.dims, strict=True))


def contracted(frame: Frame, subscripts: Value, operands: tuple[Value, ...]) -> Value | None:
    """The value of a sum of products of real arrays of one dtype; None where it takes a diagonal, stretches an axis, or is something else."""
    if not isinstance(subscripts, str) or not all(isinstance(x, Sym) and x.type.rank and x.type.dtype in ("float64", "float32") for x in operands):
        return None
    terms, output = parsed(subscripts, tuple(x.type.rank for x in operands))  # type: ignore[no-untyped-call]
    factors = [Factor(t, x) for t, x in zip(terms, operands, strict=False) if len(t) == x.type.rank]  # type: ignore[union-attr]
    if len(factors) != len(terms) or len(terms) != len(operands) or not _plain(factors, output):
        return None
    for k, factor in enumerate(factors):
        factors[k] = _summed(frame, factor, _needed(factors, output, k))
    while len(factors) > 1:
        i, j = _cheapest(factors, output)
        rest = [f for k, f in enumerate(factors) if k not in (i, j)]
        factors = [*rest, _pair(frame, factors[i], factors[j], _letters((*rest, Factor(output, factors[i].value))), "" if rest else output)]
    return _ordered(frame, factors[0], output)


def _plain(factors: list[Factor], output: str) -> bool:
    """Whether no letter stands twice in a term, and no axis of one element is stretched over another."""
    if any(len(set(f.letters)) != len(f.letters) for f in factors) or len({f.value.type.dtype for f in factors}) != 1:
        return False
    met: dict[str, set[bool]] = {}
    for factor in factors:
        for letter, dim in factor.extents().items():
            met.setdefault(letter, set()).add(dim == ONE)
    return len(set(output)) == len(output) and set(output) <= met.keys() and all(len(kinds) == 1 for kinds in met.values())


def _letters(factors: Iterable[Factor]) -> frozenset[str]:
    return frozenset("".join(f.letters for f in factors))


def _needed(factors: list[Factor], output: str, but: int) -> frozenset[str]:
    return _letters(f for k, f in enumerate(factors) if k != but) | frozenset(output)


def _cheapest(factors: list[Factor], output: str) -> tuple[int, int]:
    """The pair whose product takes the fewest multiplications, and of those the one with the smallest result."""
    sizes = {letter: dim.constant or UNKNOWN for f in factors for letter, dim in f.extents().items()}

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        both = _letters(factors[k] for k in pair)
        kept = both & (_letters(f for k, f in enumerate(factors) if k not in pair) | frozenset(output))
        return prod(sizes[c] for c in both), prod(sizes[c] for c in kept)

    return min(combinations(range(len(factors)), 2), key=cost)


# ------------------------------------------------------------------ one pair


def _pair(frame: Frame, x: Factor, y: Factor, kept: frozenset[str], output: str) -> Factor:
    """Two factors as one, of the letters that something else still needs."""
    shared = [c for c in x.letters if c in y.letters]
    if any(c not in kept for c in shared):
        _check(frame, x, y, shared)
        plans = [_Plan.of(x, y, shared, kept, extra, order) for extra in _stacks(x, y, shared) for order in (x.letters, y.letters)]
        best = min((p for p in plans if p), key=lambda p: p.price(output), default=None)
        if best is not None:
            return best.product(frame, output)
    letters = x.letters + "".join(c for c in y.letters if c not in x.letters)
    if set(letters) == set(output):
        letters = output
    elements = frame.call(np.multiply, tuple(_spread(frame, f, letters) for f in (x, y)), {})
    return _summed(frame, Factor(letters, elements), kept)


def _check(frame: Frame, x: Factor, y: Factor, shared: list[str]) -> None:
    """Axes that become one are compared one by one: 2 by 6 is not 3 by 4."""
    for letter in shared:
        a, b = x.extents()[letter], y.extents()[letter]
        if a != b and len(shared) > 1:
            sides = (operand_of(shape_of(frame, f.value)[f.letters.index(letter)]) for f in (x, y))
            frame.builder.emit(Effect("check_equal", (*sides, Const(errors.with_line("einsum: shapes do not fit", frame.builder.loc))), (), frame.builder.loc))


def _stacks(x: Factor, y: Factor, shared: list[str]) -> Iterator[str]:
    """Letters of one factor alone over which products may be stacked: none, or all but some at an end."""
    yield ""
    for factor in (x, y):
        own = [c for c in factor.letters if c not in shared]
        for count in (1, 2):
            if len(own) > count:
                yield from map("".join, combinations(own, count))


class _Plan(NamedTuple):
    """A stack of matrix products: the letters of the stack, of rows and columns, and of what is summed."""

    x: Factor
    y: Factor
    stack: str
    rows: str
    columns: str
    summed: str

    @classmethod
    def of(cls, x: Factor, y: Factor, shared: list[str], kept: frozenset[str], extra: str, order: str) -> _Plan | None:
        """The plan with these letters more in the stack; None where a side has no letters, or a vector would meet a stack."""
        stack = "".join(c for c in order if c in shared and c in kept) + extra
        rows, columns = ("".join(c for c in f.letters if c not in shared and c not in extra) for f in (x, y))
        plan = cls(x, y, stack, rows, columns, "".join(c for c in order if c in shared and c not in kept))
        if rows and columns:
            return plan
        return plan if (rows or columns) and not stack and not plan.copies() else None

    def copies(self) -> int:
        """How many operands have letters that become one axis and do not stand side by side."""
        return sum(any(g not in f.letters for g in (own, self.summed)) for f, own in ((self.x, self.rows), (self.y, self.columns)))

    def price(self, output: str) -> tuple[int, int, bool]:
        """Copies first, then the number of products, then whether the result has its axes in the order that is asked for."""
        results = (self.stack + self.rows + self.columns, self.stack + self.columns + self.rows)
        return self.copies(), len(self.stack), bool(output) and output not in results

    def product(self, frame: Frame, output: str) -> Factor:
        turned = not self.rows or output == self.stack + self.columns + self.rows and bool(self.columns)
        left, right = ((self.y, self.columns), (self.x, self.rows)) if turned else ((self.x, self.rows), (self.y, self.columns))
        a = self.matrix(frame, *left, self.summed)
        b = self.matrix(frame, right[0], self.summed, right[1])
        found = frame.call(np.matmul, (a, b), {})
        letters = self.stack + left[1] + right[1]
        if max(len(self.rows), len(self.columns)) > 1:
            extents = {c: n for f in (self.x, self.y) for c, n in zip(f.letters, shape_of(frame, f.value), strict=True)}
            found = frame.call(np.reshape, (found, tuple(extents[c] for c in letters)), {})
        return Factor(letters, found)

    def matrix(self, frame: Frame, factor: Factor, first: str, second: str) -> Value:
        """A factor as a stack of matrices with these letters for rows and columns, or a vector where one of them has none."""
        stack = "".join(c for c in self.stack if c in factor.letters)
        if any(group not in factor.letters for group in (first, second)):
            factor = Factor(stack + first + second, _ordered(frame, factor, stack + first + second))
        for group in (first, second):
            if len(group) > 1:
                at = factor.letters.index(group)
                shape = list(shape_of(frame, factor.value))
                shape[at : at + len(group)] = [-1]
                factor = Factor(factor.letters.replace(group, group[0]), frame.call(np.reshape, (factor.value, tuple(shape)), {}))
        return _ordered(frame, factor, stack + first[:1] + second[:1])


# ------------------------------------------------------------------ one factor


def _summed(frame: Frame, factor: Factor, needed: frozenset[str]) -> Factor:
    """The sum over the letters that nothing else needs."""
    axes = tuple(k for k, c in enumerate(factor.letters) if c not in needed)
    if not axes:
        return factor
    whole = len(axes) == len(factor.letters)
    found = frame.call(np.sum, (factor.value,), {} if whole else {"axis": axes if len(axes) > 1 else axes[0]})
    return Factor("".join(c for c in factor.letters if c in needed), found)


def _ordered(frame: Frame, factor: Factor, letters: str) -> Value:
    """The value with its axes in the order of the letters."""
    if factor.letters == letters:
        return factor.value
    if factor.letters == letters[::-1]:
        return frame.call(np.transpose, (factor.value,), {})
    return frame.call(np.transpose, (factor.value, tuple(factor.letters.index(c) for c in letters)), {})


def _spread(frame: Frame, factor: Factor, letters: str) -> Value:
    """The value with an axis for each of the letters, of one element where it has none."""
    value = _ordered(frame, factor, "".join(c for c in letters if c in factor.letters))
    missing = tuple(k for k, c in enumerate(letters) if c not in factor.letters)
    leading = missing == tuple(range(len(missing)))
    return value if leading else frame.call(np.expand_dims, (value, missing if len(missing) > 1 else missing[0]), {})
