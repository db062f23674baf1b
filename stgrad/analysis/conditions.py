"""Conditions on integers as statements: sums of names and extents, compared as a person would write it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from stgrad.analysis.affine import Affine
from stgrad.analysis.extents import Extents
from stgrad.analysis.integers import EXTENT
from stgrad.ir import Assign, Block, Const, Dim, Effect, If, Loc, Operand, Stmt, Type, Var
from stgrad.names import Names

INT, BOOL, FLOAT = Type("int64", weak=True), Type("bool", weak=True), Type("float64", weak=True)


def line_of(loc: Loc | None) -> str:
    """Where an error stands, for its message."""
    return "" if loc is None else f" (line {loc.line}: {textwrap.shorten(loc.text.strip(), 60)})"


def raised(kind: str, message: str, loc: Loc | None) -> Effect:
    return Effect("raise", (Const(kind), Const(message)), (), loc)


@dataclass
class Maker:
    """Writes statements with fresh temporaries, whose types it adds to `types`."""

    names: Names
    types: dict[str, Type]

    def made(self, op: str, args: tuple[Operand, ...], type_: Type, out: list[Stmt]) -> Var:
        target = Var(self.names.fresh("_t"))
        self.types[target.name] = type_
        out.append(Assign((target,), op, args))
        return target


@dataclass
class Writer(Maker):
    """Writes conditions on sums."""

    extents: Extents

    def refuse(self, wrong: Affine, error: Effect) -> Block:
        """Raise where a sum is at least 0."""
        out: list[Stmt] = []
        condition = self.nonnegative(wrong, out)
        return (*out, If(condition, (error,), (), error.loc))

    def total(self, total: Affine, out: list[Stmt]) -> Operand:
        """A sum as an operand; what it takes away stands behind what it adds."""
        more = [(key, int(f)) for key, f in total.terms if f > 0]
        less = [(key, -int(f)) for key, f in total.terms if f < 0]
        found = self.sum(more, int(total.constant), out)
        return found if not less else self.made("np.subtract", (found, self.sum(less, 0, out)), INT, out)

    def nonnegative(self, total: Affine, out: list[Stmt]) -> Operand:
        """Whether a sum is at least 0, as a comparison of what it adds with what it takes away."""
        more = [(key, int(f)) for key, f in total.terms if f > 0]
        less = [(key, -int(f)) for key, f in total.terms if f < 0]
        constant = int(total.constant)
        if not more and not less:
            return Const(constant >= 0)
        extents = [term for term in less if term[0].startswith(EXTENT)]
        if not more and len(less) == 2 and constant == -1 and len(extents) == 1:
            extent = self.made("np.negative", (self.sum(extents, 0, out),), INT, out)
            return self.made("np.less", (self.sum([t for t in less if t not in extents], 0, out), extent), BOOL, out)  # `i < -n`
        if not more:
            return self.made("np.less", (self.sum(less, 0, out), Const(constant + 1)), BOOL, out)
        if constant == -1:
            return self.made("np.greater", (self.sum(more, 0, out), self.sum(less, 0, out)), BOOL, out)
        if len(more) == 1 and more[0][0].startswith(EXTENT) and len(less) == 1 and not less[0][0].startswith(EXTENT):
            more, less, constant = less, more, -constant  # `i < n`, not `n > i`
            return self.made("np.less_equal", (self.sum(more, max(constant, 0), out), self.sum(less, max(-constant, 0), out)), BOOL, out)
        return self.made("np.greater_equal", (self.sum(more, max(constant, 0), out), self.sum(less, max(-constant, 0), out)), BOOL, out)

    def sum(self, terms: Sequence[tuple[str, int]], constant: int, out: list[Stmt]) -> Operand:
        found: Operand | None = None
        for key, factor in terms:
            term = self.product([self.value(part, out) for part in key.split("*")] + ([Const(factor)] if factor != 1 else []), out)
            found = term if found is None else self.made("np.add", (found, term), INT, out)
        if found is None:
            return Const(constant)
        return found if not constant else self.made("np.add", (found, Const(constant)), INT, out)

    def product(self, factors: list[Operand], out: list[Stmt]) -> Operand:
        found = factors[0]
        for factor in factors[1:]:
            found = self.made("np.multiply", (found, factor), INT, out)
        return found

    def value(self, key: str, out: list[Stmt]) -> Operand:
        """A name, or an extent where it is read."""
        if not key.startswith(EXTENT):
            return Var(key)
        symbol = key.removeprefix(EXTENT)
        holder, axis, offset = self.extents.sources[symbol]
        if axis is None:
            return Var(holder) if not offset else self.made("np.add", (Var(holder), Const(offset)), INT, out)
        value = None if symbol.startswith(f"{holder}.shape[") else Dim(symbol, -offset)
        extent = self.made("shape", (Var(holder), Const(axis)), Type("int64", weak=True, value=value), out)
        return extent if not offset else self.made("np.add", (extent, Const(offset)), INT, out)
