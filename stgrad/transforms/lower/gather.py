"""Sums scattered to neighbours become sums gathered from a workspace with a border of zeros.

Before: `b[i] += e[i]; b[i+2] += e[i]`; after: `w[i+2] = e[i]`, then `b[i] += w[i+2] + w[i]` over a range two longer.
The scatter meets each element of `b` in several trips, one after the other, and so cannot be vectorised; the gather
can. Only the inside of a workspace is written, so that its border stays zero however often the run is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from stgrad.ir import Dim, Type
from stgrad.transforms.lower.fuse import conflict
from stgrad.transforms.lower.nest import Axis, Buffer, Call, Expr, Index, Kernel, Load, Unit, loads, minus
from stgrad.transforms.lower.scalarise import Scalariser

Offsets = tuple[int, ...]


def gather(units: list[Unit], state: Scalariser) -> list[Unit]:
    """Rewrite every series of sums into one buffer at different constant offsets."""
    result = list(units)
    for series in find(units, state):
        Gatherer(state, series).rewrite(result)
    return result


def find(units: list[Unit], state: Scalariser) -> list[list[Kernel]]:
    """Series of sums into one buffer, nothing else touching it in between."""
    found: list[list[Kernel]] = []
    current: dict[str, list[Kernel]] = {}
    for unit in units:
        for name, series in list(current.items()):
            same = isinstance(unit, Kernel) and unit.target == name and fits(series[0], unit)
            if not same and any(a.buffer == name or state.shares(a.buffer, name) for a in unit.accesses()):
                found.append(current.pop(name))
        if isinstance(unit, Kernel) and is_scatter(unit):
            current.setdefault(unit.target, []).append(unit)
    found += current.values()
    return [s for s in found if worthwhile(s)]


def is_scatter(unit: Kernel) -> bool:
    """A sum that meets each element of its target at most once."""
    moving = [e for e in unit.index if isinstance(e, Axis)]
    return (
        unit.mode == "add"
        and bool(unit.space)
        and all(e.scale == 1 for e in moving)
        and sorted(e.depth for e in moving) == list(range(len(unit.space)))
    )


def fits(first: Kernel, unit: Kernel) -> bool:
    """Whether two sums differ in constant offsets alone."""
    if not is_scatter(unit) or unit.space != first.space or unit.dtype != first.dtype:
        return False
    if any(load.buffer == unit.target for load in loads(unit.expr)):
        return False
    return all(_parallel(a, b) for a, b in zip(first.index, unit.index, strict=True))


def _parallel(a: object, b: object) -> bool:
    if isinstance(a, Axis) and isinstance(b, Axis):
        return a.depth == b.depth and minus(a.offset, b.offset) is not None
    return a == b


def offsets(first: Kernel, unit: Kernel) -> Offsets:
    """Offsets against the first sum, by depth."""
    found = {}
    for a, b in zip(first.index, unit.index, strict=True):
        if isinstance(a, Axis) and isinstance(b, Axis):
            found[a.depth] = minus(b.offset, a.offset) or 0
    return tuple(found[d] for d in range(len(first.space)))


def worthwhile(series: list[Kernel]) -> bool:
    return len({offsets(series[0], k)[-1] for k in series}) > 1 and not any(
        load.buffer == series[0].target for load in loads(series[0].expr)
    )


@dataclass
class Gatherer:
    """Rewrites one series. `low` and `width`: the least offset and the spread of offsets along each loop."""

    state: Scalariser
    series: list[Kernel]
    low: Offsets = ()
    width: Offsets = ()
    terms: list[tuple[str, Offsets]] = field(default_factory=list)  # workspaces that are added, and at which offset
    spaces: dict[tuple[object, ...], str] = field(default_factory=dict)

    def rewrite(self, units: list[Unit]) -> None:
        """Replace the series in a list of statements, in place."""
        first, last = self.series[0], self.series[-1]
        every = [offsets(first, k) for k in self.series]
        self.low = tuple(map(min, zip(*every, strict=True)))
        self.width = tuple(max(column) - low for column, low in zip(zip(*every, strict=True), self.low, strict=True))
        for kernel, offset in zip(self.series, every, strict=True):
            at = next(k for k, u in enumerate(units) if u is kernel)
            units[at : at + 1] = self.workspace(kernel, offset, units)
        at = self._place(units, last)
        units.insert(at, self.total(first))

    def _place(self, units: list[Unit], last: Kernel) -> int:
        names = set(self.spaces.values())
        return 1 + max(k for k, u in enumerate(units) if u is last or isinstance(u, Kernel) and u.target in names)

    def workspace(self, kernel: Kernel, offset: Offsets, units: list[Unit]) -> list[Unit]:
        """The statement that writes a term into a workspace; none if one has the same values."""
        key = (kernel.expr, self._versions(kernel, units))
        if key in self.spaces and (self.spaces[key], offset) not in self.terms:
            self.terms.append((self.spaces[key], offset))
            return []
        here = [name for name, other in self.terms if other == offset and sum(n == name for n, _ in self.terms) == 1]
        mode = "add" if here else "set"
        name = here[0] if here else self._new(kernel)
        if here:
            self.spaces = {k: n for k, n in self.spaces.items() if n != name}
            self.spaces[("sum", name)] = name
        else:
            self.terms.append((name, offset))
            self.spaces[key] = name
        index: Index = tuple(Axis(d, 1, Dim(None, w)) for d, w in enumerate(self.width))
        return [replace(kernel, target=name, index=index, mode=mode)]

    def _versions(self, kernel: Kernel, units: list[Unit]) -> tuple[int, ...]:
        """Where the operands of a term were written last: equal terms with equal versions have equal values."""
        at = next(k for k, u in enumerate(units) if u is kernel)
        probe = replace(kernel, target="", index=(), mode="def")
        return tuple(id(u) for u in units[:at] if any(a.write for a in u.accesses()) and conflict(u, probe, self.state.shares))

    def _new(self, kernel: Kernel) -> str:
        dims = tuple(Dim(d.symbol, d.offset + 2 * w) for d, w in zip(kernel.space, self.width, strict=True))
        name = self.state.temporary("_w", Type(kernel.dtype, dims, array=True))
        self.state.buffers[name] = Buffer(name, dims, kernel.dtype, local=True, border=self.width)
        return name

    def total(self, first: Kernel) -> Kernel:
        """The one sum that remains, over the range that all of them cover."""
        space = tuple(Dim(d.symbol, d.offset + w) for d, w in zip(first.space, self.width, strict=True))
        expr: Expr | None = None
        for name, offset in self.terms:
            index = tuple(
                Axis(d, 1, Dim(None, w - (o - low))) for d, (w, o, low) in enumerate(zip(self.width, offset, self.low, strict=True))
            )
            load = Load(name, index, first.dtype)
            expr = load if expr is None else Call("np.add", (expr, load), first.dtype)
        assert expr is not None
        target = tuple(
            Axis(e.depth, 1, Dim(e.offset.symbol, e.offset.offset + self.low[e.depth])) if isinstance(e, Axis) else e for e in first.index
        )
        return replace(first, space=space, index=target, expr=expr)
