"""What the symbols of the front end stand for, where that can be told for the whole call.

    y = np.zeros(n - k + 1)                           the extent of y, and of all that is as long, is n - k + 1
    for i in range(n - k + 1): t = x[i : i + k]       that of t is k, which is an extent of an argument: its symbol takes the place of t's

So a window is as long as its weights without a check, and what a loop keeps of it fits into one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stgrad.analysis.affine import Affine, number
from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import Extents, parameter_extents
from stgrad.analysis.integers import EXTENT, Integers
from stgrad.ir import Assign, Block, Const, Dim, For, Function, Slice, Var, blocks, entries_of
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.lower.views import items_of


def settled(fn: Function) -> dict[str, Affine]:
    """Symbols as sums of extents of arguments."""
    sources = dict(parameter_extents(fn))
    extents = Extents(Names(), dict(fn.types), sources, frozenset(sources))
    search = _Search(Integers(fn.types, definitions(fn), extents), frozenset(definitions(fn).once))
    search.block(fn.body)
    return search.found


def as_dim(total: Affine) -> Dim | None:
    """A sum that is one extent, or a constant."""
    if total.constant.denominator != 1 or len(total.terms) > 1:
        return None
    if not total.terms:
        return Dim(None, int(total.constant))
    ((key, factor),) = total.terms
    return Dim(key.removeprefix(EXTENT), int(total.constant)) if factor == 1 and "*" not in key else None


@dataclass
class _Search:
    integers: Integers
    once: frozenset[str]  # names with one assignment; the extents of others may be those of several arrays
    found: dict[str, Affine] = field(default_factory=dict)

    def block(self, body: Block) -> None:
        for stmt in body:
            if isinstance(stmt, Assign) and len(stmt.targets) == 1 and stmt.target.name in self.once:
                for dim, total in self.extents(stmt):
                    self.learn(dim, total)
            around = self.integers.loops
            self.integers.loops = (*around, stmt) if isinstance(stmt, For) else around
            for inner in blocks(stmt):
                self.block(inner)
            self.integers.loops = around

    def learn(self, dim: Dim, total: Affine | None) -> None:
        if total is None or dim.symbol is None or self.integers.trusts(dim):
            return
        if all(key.startswith(EXTENT) and "*" not in key for key, _ in total.terms):
            self.found.setdefault(dim.symbol, total - number(dim.offset))

    def extents(self, stmt: Assign) -> Iterator[tuple[Dim, Affine | None]]:
        """Each axis of a new array or view, and its extent where that can be told."""
        dims = self.integers.types[stmt.target.name].dims
        if operation(stmt.op).kind == "creation" and stmt.args:
            sizes = entries_of(stmt.args[0])
            if len(sizes) == len(dims) and all(map(self.integers.stable, sizes)):
                yield from zip(dims, map(self.integers.value, sizes), strict=True)
        elif stmt.op == "getitem" and isinstance(stmt.args[0], Var) and dims:
            yield from self.windows(stmt, dims)

    def windows(self, stmt: Assign, dims: tuple[Dim, ...]) -> Iterator[tuple[Dim, Affine | None]]:
        source, index = stmt.args
        assert isinstance(source, Var)
        items = items_of(index, self.integers.types[source.name].rank) or []
        if any(isinstance(i, Var) and self.integers.types[i.name].array for i in items):
            return
        places = [i for i in items if isinstance(i, Slice) or i == Const(None)]
        axes = iter(k for k, i in enumerate(i for i in items if i != Const(None)) if isinstance(i, Slice))
        for item, dim in zip(places, dims, strict=False):
            if isinstance(item, Slice):
                yield dim, self.length(item, source.name, next(axes))

    def length(self, item: Slice, array: str, axis: int) -> Affine | None:
        """How many items a slice has, where it is proved to be in range."""
        integers = self.integers
        extent = integers.shape(array, axis)
        if item.step not in (Const(None), Const(1)) or extent is None:
            return None
        start = number(0) if item.lower == Const(None) else integers.value(item.lower)
        stop = extent if item.upper == Const(None) else integers.value(item.upper)
        if start is None or stop is None:
            return None
        inside = all(map(integers.nonnegative, (start, extent - stop, stop - start)))
        return stop - start if inside else None
