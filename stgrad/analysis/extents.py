"""Extents as run-time values: which symbols are equal, and where each can be read.

A symbol has a witness: an axis of an array in memory, or an integer scalar.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stgrad.analysis.manager import kept
from stgrad.ir import Block, Dim, For, Function, Operand, Type, Var, While, assigned, walk
from stgrad.names import Names


@dataclass
class Extents:
    """Symbols of one run of statements. `sources`: symbol -> (array, axis, offset) or (scalar, None, offset)."""

    names: Names
    types: dict[str, Type]
    sources: dict[str, tuple[str, int | None, int]] = field(default_factory=dict)
    trusted: frozenset[str] = frozenset()  # symbols of parameters: one value for the whole call
    equal: dict[str, Dim] = field(default_factory=dict)

    def canonical(self, dim: Dim) -> Dim:
        while dim.symbol is not None and dim.symbol in self.equal:
            other = self.equal[dim.symbol]
            dim = Dim(other.symbol, other.offset + dim.offset)
        return dim

    def same(self, a: Dim, b: Dim) -> bool:
        return self.canonical(a) == self.canonical(b)

    def assume(self, a: Dim, b: Dim) -> Dim:
        """Make two extents one, known to be equal; the result stands for both.

        It is the one that can be read earlier: statements before this one may be written with it.
        """
        a, b = self.canonical(a), self.canonical(b)
        if a.symbol is not None and b.symbol is not None and self._earlier(a.symbol, b.symbol):
            a, b = b, a
        if a != b and a.symbol is not None and a.symbol != b.symbol:
            self.equal[a.symbol] = Dim(b.symbol, b.offset - a.offset)
        return b

    def _earlier(self, a: str, b: str) -> bool:
        """Whether symbol a was found before symbol b; sources are in the order of the program."""
        order = {symbol: at for at, symbol in enumerate(self.sources)}
        return order.get(a, len(order)) < order.get(b, len(order))

    def own(self, name: str, axis: int) -> Dim:
        """A symbol for one axis of one array of this run, or for an integer (axis -1)."""
        return Dim(f"{name}[{axis}]")

    def known(self, dims: Iterable[Dim]) -> bool:
        return all(d.symbol is None or d.symbol in self.sources for d in map(self.canonical, dims))

    def witness_array(self, name: str, dims: tuple[Dim, ...]) -> None:
        """An array in memory tells its symbols."""
        for axis, dim in enumerate(dims):
            if dim.symbol is not None:
                self.sources.setdefault(dim.symbol, (name, axis, -dim.offset))

    def witness_scalar(self, operand: Operand) -> None:
        if isinstance(operand, Var):
            value = self.types[operand.name].value
            if value is not None and value.symbol is not None:
                self.sources.setdefault(value.symbol, (operand.name, None, -value.offset))

    def witnesses(self, dims: Iterable[Dim]) -> tuple[str, ...]:
        """Names that must exist where these extents are read."""
        found = [self.sources[d.symbol][0] for d in map(self.canonical, dims) if d.symbol is not None and d.symbol in self.sources]
        return tuple(dict.fromkeys(found))


def varying(body: Block, types: Mapping[str, Type]) -> frozenset[str]:
    """Symbols that stand for another extent in each trip of a loop, as the arrays that it binds may have other ones there; parameters tell theirs else."""
    loops = [s for s in walk(body) if isinstance(s, (For, While))]
    names = {name for loop in loops for name in assigned((loop,))}
    return frozenset(d.symbol for name in names if name in types for d in types[name].dims if d.symbol is not None)


def tells_as_much(variable: Type, value: Type, *, once: bool = False) -> bool:
    """Whether the type of a variable says of extents what that of a value says, which it is to hold or to stand for.

    One symbol tells the extents of a variable that a loop binds anew, whatever they are in a trip: a value that takes the name of such a variable, or
    is read under it, seems to have the extents that the variable has at another time. One that is bound `once` has no other time.

    >>> a, longer, n, m = (Type("float64", (d,), array=True) for d in (Dim("~1"), Dim("~1", 1), Dim("n"), Dim("m")))
    >>> tells_as_much(a, longer), tells_as_much(a, a), tells_as_much(n, m)
    (False, True, True)
    """
    return all(a == b or (once or not is_unknown(a)) and not b.constant == 1 != a.constant for a, b in zip(variable.dims, value.dims, strict=True))


def is_unknown(dim: Dim) -> bool:
    """Whether an extent is one of which nothing is known but its symbol, so that in a loop each trip may have another one."""
    return (dim.symbol or "").startswith("~")


def fixed_parameters(fn: Function) -> frozenset[str]:
    """Parameters that are never bound again."""
    return frozenset(p.name for p in fn.params) - assigned(fn.body)


@kept
def parameter_extents(fn: Function) -> Mapping[str, tuple[str, int | None, int]]:
    """Where the extents of parameters can be read at any time: from parameters that are never bound again.

    The first one that has an extent tells it: cotangents come last, and what depends on them cannot run before they are there.
    """
    extents, fixed = Extents(Names(), dict(fn.types)), fixed_parameters(fn)
    for name in (p.name for p in fn.params if p.name in fixed):
        extents.witness_array(name, fn.types[name].dims)
        extents.witness_scalar(Var(name))
    return extents.sources
