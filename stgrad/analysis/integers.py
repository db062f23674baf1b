"""Integers as sums of names, and what is known of their signs.

    for i in range(n - k + 1): x[i : i + k]      i + k - i is k, i >= 0, and n - (i + k) >= 0: the slice is in range, of extent k

A name is followed to its definition where it has one definition only: that dominates every use, so both see the same values. A counter lies
between the bounds of its loop. Extents are at least 0. Signs are proved by putting bounds for names until a constant is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from stgrad.analysis.affine import Affine, Number, combined, named, number
from stgrad.analysis.definitions import Definitions
from stgrad.analysis.extents import Extents
from stgrad.ir import Assign, Const, Dim, For, Operand, Type, Var, entries_of
from stgrad.ir.ops import operation

MAX_TERMS, MAX_STEPS = 8, 100
EXTENT = "extent "  # before the symbol of an extent


@dataclass(frozen=True)
class Bounds:
    """What is known of a name: it is at least one of `low`, that is each of them, or at least the least of `least`; likewise above."""

    low: tuple[Affine, ...] = ()
    least: tuple[Affine, ...] = ()
    high: tuple[Affine, ...] = ()
    greatest: tuple[Affine, ...] = ()


@dataclass
class Integers:
    """The integers that one run of statements can see."""

    types: Mapping[str, Type]
    definitions: Definitions
    extents: Extents
    loops: tuple[For, ...] = ()  # around the run, outermost first
    settled: Mapping[str, Affine] = field(default_factory=dict)  # what symbols of the front end stand for
    values: dict[str, Dim] = field(default_factory=dict)  # names that the run knows to be extents
    local: dict[str, Assign] = field(default_factory=dict)  # scalars that the run defines
    bounds: dict[str, Bounds] = field(default_factory=dict)
    symbols: dict[tuple[tuple[str, Number], ...], Dim] = field(default_factory=dict)  # of sums without their constants
    sums: dict[str, Affine] = field(default_factory=dict)  # the other way round
    steps: int = 0  # left in a proof

    # ------------------------------------------------------------------ values

    def value(self, operand: Operand) -> Affine | None:
        """An integer as a sum; None for what is none."""
        if isinstance(operand, Const):
            return number(operand.value) if type(operand.value) is int else None
        if not isinstance(operand, Var) or not self.is_integer(operand.name):
            return None
        known = self.values.get(operand.name) or self.typed(operand.name)
        if known is not None:
            return self.of(known)
        return self.followed(operand.name)

    def known(self, operand: Operand) -> Dim | None:
        """An integer as an extent, where it is one or has a symbol already."""
        total = self.value(operand)
        return None if total is None else self.dim(total)

    def is_integer(self, key: str) -> bool:
        return key in self.types and self.types[key].dtype == "int64" and not self.types[key].array

    def typed(self, key: str) -> Dim | None:
        """The extent that a name with one definition stands for by its type."""
        known = self.types[key].value if self.definitions.counts[key] == 1 and key not in self.local else None
        return known if known is not None and self.trusts(known) else None

    def trusts(self, dim: Dim) -> bool:
        """Whether an extent has one value for the whole call."""
        return dim.symbol is None or dim.symbol in self.extents.trusted

    def followed(self, key: str) -> Affine:
        stmt = self.local.get(key)
        if stmt is None and not self.is_counter(key):
            stmt = self.definitions.pure(key)
            stmt = stmt if stmt is not None and all(self.stable(a) for a in stmt.args) else None
        found = self.defined(stmt) if stmt is not None else None
        return found if found is not None and len(found.terms) <= MAX_TERMS else named(key)

    def stable(self, operand: Operand) -> bool:
        """Whether an operand has one value only where it is seen from the run: that of a single definition, or of a loop around."""
        if not isinstance(operand, Var):
            return isinstance(operand, Const)
        return self.definitions.counts[operand.name] == 1 or self.is_counter(operand.name)

    def is_counter(self, key: str) -> bool:
        return any(loop.var.name == key for loop in self.loops)

    def defined(self, stmt: Assign) -> Affine | None:
        """What a statement computes, as a sum of its operands; where it is none, its bounds are remembered."""
        if stmt.op == "shape":
            array, axis = stmt.args
            return self.shape(array.name, axis.value) if isinstance(array, Var) and isinstance(axis, Const) else None
        parts = [p for p in map(self.value, stmt.args) if p is not None]
        if len(parts) != len(stmt.args):
            return None
        found = combined(stmt.op, parts)
        if found is not None:
            return found
        self.restrict(stmt.target.name, stmt.op, parts)
        return None

    def restrict(self, key: str, op: str, parts: Sequence[Affine]) -> None:
        """Remember between what the result of an operation lies."""
        match op, parts:
            case "max", [a, b]:
                self.bounds[key] = Bounds(low=(a, b), greatest=(a, b))
            case "min", [a, b]:
                self.bounds[key] = Bounds(least=(a, b), high=(a, b))
            case "np.floor_divide", [a, Affine(terms=(), constant=by)] if by > 0:
                share = a.scaled(Fraction(1) / by)
                self.bounds[key] = Bounds(low=(share - number(Fraction(by - 1) / by),), high=(share,))
            case "np.remainder", [_, Affine(terms=(), constant=by)] if by > 0:
                self.bounds[key] = Bounds(low=(number(0),), high=(number(by - 1),))
            case "np.remainder", [_, by] if self.nonnegative(by):
                self.bounds[key] = Bounds(low=(number(0),), high=(by,))
            case "runtime.clipped", [_, n]:
                self.bounds[key] = Bounds(low=(number(0),), high=(n,))

    # ----------------------------------------------------------------- extents

    def shape(self, array: str, axis: int) -> Affine | None:
        """The extent of an array that is made once, from what it was made with."""
        for _ in range(MAX_STEPS):
            dims = self.types[array].dims
            if len(dims) > axis and self.trusts(dims[axis]):
                return self.of(dims[axis])
            if len(dims) > axis and dims[axis].symbol in self.settled and self.definitions.counts[array] == 1:
                return self.settled[dims[axis].symbol or ""] + number(dims[axis].offset)
            stmt = self.definitions.once.get(array)
            if self.definitions.counts[array] != 1 or not isinstance(stmt, Assign) or not stmt.args:
                return None
            known = operation(stmt.op)
            if known.kind == "creation":
                sizes = entries_of(stmt.args[0])
                return self.value(sizes[axis]) if len(sizes) > axis and self.stable(sizes[axis]) else None
            if not known.like or not isinstance(stmt.args[0], Var):
                return None
            array = stmt.args[0].name
        return None

    def of(self, dim: Dim) -> Affine:
        """An extent as a sum."""
        dim = self.extents.canonical(dim)
        if dim.symbol is None:
            return number(dim.offset)
        return self.sums.get(dim.symbol, named(EXTENT + dim.symbol)) + number(dim.offset)

    def dim(self, total: Affine) -> Dim | None:
        """A sum as an extent, if it has a symbol."""
        if total.constant.denominator != 1:
            return None
        if not total.terms:
            return Dim(None, int(total.constant))
        ((key, factor), *others) = total.terms
        if not others and factor == 1 and key.startswith(EXTENT) and "*" not in key:
            return Dim(key.removeprefix(EXTENT), int(total.constant))
        base = self.symbols.get(total.terms)
        return None if base is None else Dim(base.symbol, base.offset + int(total.constant))

    def introduce(self, total: Affine, source: tuple[str, int | None]) -> Dim:
        """A symbol for a sum that a scalar, or an axis of an array, tells."""
        known = self.dim(total)
        if known is not None:
            return known
        holder, axis = source
        if total.terms == named(total.terms[0][0]).terms and total.terms[0][0] in self.types:
            holder, axis = total.terms[0][0], None  # a shifted name: that name
            self._name(Affine(total.terms), holder, axis)
        else:
            self._name(total, holder, axis)
        found = self.dim(total)
        assert found is not None
        return found

    def _name(self, total: Affine, holder: str, axis: int | None) -> None:
        symbol = f"{holder}[{-1 if axis is None else axis}]"
        self.symbols[total.terms], self.sums[symbol] = Dim(symbol, -int(total.constant)), total
        self.extents.sources.setdefault(symbol, (holder, axis, 0))

    # ------------------------------------------------------------------- signs

    def nonnegative(self, total: Affine) -> bool:
        """Whether a sum is proved to be at least 0."""
        self.steps = MAX_STEPS
        return self._nonnegative(total)

    def _nonnegative(self, total: Affine) -> bool:
        self.steps -= 1
        if all(factor > 0 and self.is_natural(key) for key, factor in total.terms):
            return total.constant >= 0
        found = self.removable(total)
        if found is None or self.steps < 0:
            return False
        key, factor = found
        rest = Affine(tuple(t for t in total.terms if t[0] != key), total.constant)
        bounds = self.bounds_of(key)
        some, every = (bounds.low, bounds.least) if factor > 0 else (bounds.high, bounds.greatest)
        if any(self._nonnegative(rest + bound.scaled(factor)) for bound in some):
            return True
        return bool(every) and all(self._nonnegative(rest + bound.scaled(factor)) for bound in every)

    def is_natural(self, key: str) -> bool:
        """Whether a name is the extent of some array, or a product of such."""
        return all(k.startswith(EXTENT) and self.is_extent(Dim(k.removeprefix(EXTENT))) for k in key.split("*"))

    def is_extent(self, dim: Dim) -> bool:
        """Whether an array has this extent, or a smaller one."""
        _, axis, offset = self.extents.sources.get(dim.symbol or "", ("", None, 0))
        return axis is not None and offset + dim.offset >= 0

    def removable(self, total: Affine) -> tuple[str, Number] | None:
        """The term to put a bound for: results of operations first, then counters, inner loops first."""
        order = [*reversed(self.bounds), *(loop.var.name for loop in reversed(self.loops))]
        terms = dict(total.terms)
        found = next((key for key in order if key in terms), None)
        return None if found is None else (found, terms[found])

    def bounds_of(self, key: str) -> Bounds:
        """What is known of the result of an operation, or of a counter."""
        if key in self.bounds:
            return self.bounds[key]
        loop = next(loop for loop in reversed(self.loops) if loop.var.name == key)
        start, stop = (self.value(o) if self.stable(o) else None for o in (loop.start, loop.stop))
        step = loop.step.value if isinstance(loop.step, Const) else 0
        if not step:
            return Bounds()
        last = None if stop is None else stop - number(1 if step > 0 else -1)
        low, high = (start, last) if step > 0 else (last, start)
        return Bounds(low=() if low is None else (low,), high=() if high is None else (high,))
