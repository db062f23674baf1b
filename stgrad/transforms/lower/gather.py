"""Sums scattered to neighbours become sums gathered from a workspace with a border of zeros.

Before: `b[i] += e[i]; b[i+2] += e[i]`; after: `w[i+2] = e[i]`, then `b[i] += w[i+2] + w[i]` over a range two longer.
The scatter meets each element of `b` in several trips, one after the other, and so cannot be vectorised; the gather
can. Only the inside of a workspace is written, so that its border stays zero however often the run is repeated.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def rough(x):
    ...     return np.sum((x[1:] - x[:-1]) ** 2)
    >>> show_pass("gather", stgrad.grad(rough), np.ones(5))
    n = x.shape[0]
    x_bar = np.empty(n)
    # grad of line 2: return np.sum((x[1:] - x[:-1]) ** 2)
    for i in range(n):
        x_bar[i] = 0.0
    for i in range(n - 1):
        t = 2.0 * (x[i + 1] - x[i])
        x_bar[i] -= t
        x_bar[i + 1] += t
    return x_bar
    ->
    n = x.shape[0]
    w = np.zeros(n + 1)
    # grad of line 2: return np.sum((x[1:] - x[:-1]) ** 2)
    for i in range(n - 1):
        w[i + 1] = x[i + 1] - x[i]
    x_bar = np.empty(n)
    for i in range(n):
        x_bar[i] = -2.0 * w[i + 1] + 2.0 * w[i]
    return x_bar
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stgrad.analysis.affine import Affine, named
from stgrad.ir import Const, Dim, Type
from stgrad.transforms.lower.fuse import Memory, conflict
from stgrad.transforms.lower.linear import Linear, constant, identity, product, total
from stgrad.transforms.lower.nest import (
    Axis,
    Buffer,
    Call,
    Entry,
    Expr,
    Extent,
    Fixed,
    Gather,
    Index,
    Kernel,
    Lit,
    Load,
    Raw,
    Unit,
    loads,
    map_loads,
    minus,
)
from stgrad.transforms.lower.scalarise import Scalariser

Offsets = tuple[int, ...]


def gather(units: list[Unit], state: Scalariser) -> list[Unit]:
    """Rewrite every series of sums into one buffer at different constant offsets."""
    found = find(units, state)
    if not found:
        return units
    linear = Linear(units, state.shares)
    memory = Memory(state.place)
    plans = [Plan.of(series, units, linear, memory) for series in found]
    spaces = workspaces(plans, units)
    result = list(units)
    for space in spaces:
        space.write(result, state)
    for plan in plans:
        plan.rewrite(result, state)
    result = without_unread(result, state)
    for space in spaces:
        take_over(result, space, state)
    return result


def find(units: list[Unit], state: Scalariser) -> list[list[Kernel]]:
    """Series of sums into one buffer, nothing but other sums touching it in between."""
    found: list[list[Kernel]] = []
    current: dict[str, list[Kernel]] = {}
    for unit in units:
        for name in list(current):
            if any(a.buffer == name or state.shares(a.buffer, name) for a in unit.accesses()) and not adds_to(unit, name):
                found.append(current.pop(name))
        if isinstance(unit, Kernel) and is_scatter(unit):
            current.setdefault(unit.target, []).append(unit)
    found += current.values()
    parts = [part for series in found for part in alike(series)]
    return [s for s in parts if worthwhile(s)]


def adds_to(unit: Unit, name: str) -> bool:
    return isinstance(unit, Kernel) and unit.mode == "add" and unit.target == name and not any(x.buffer == name for x in loads(unit.expr))


def alike(series: list[Kernel]) -> list[list[Kernel]]:
    """The parts of a series whose sums differ in constant offsets alone."""
    parts: list[list[Kernel]] = []
    for kernel in series:
        part = next((p for p in parts if fits(p[0], kernel)), None)
        if part is None:
            parts.append([kernel])
        else:
            part.append(kernel)
    return parts


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


Key = tuple[object, ...]  # what tells two bases apart
Pads = tuple[tuple[int, int], ...]  # zeros before and behind, along each loop


@dataclass
class Summand:
    """Sums of a series at one offset with one base: `factor * base`."""

    kernel: Kernel
    factor: Expr
    base: Expr
    key: Key
    offset: Offsets
    space: Space | None = None


@dataclass
class Space:
    """A base in memory, with a border of zeros that all series around it need; or several that one place alone needs, added up."""

    members: list[Summand]
    pads: Pads
    name: str = ""

    def place(self, shift: Offsets) -> Index:
        return tuple(Axis(d, 1, Dim(None, low + by)) for d, ((low, _), by) in enumerate(zip(self.pads, shift, strict=True)))

    def write(self, units: list[Unit], state: Scalariser) -> None:
        """Insert the statements that fill it."""
        kernel = self.members[0].kernel
        dims = tuple(Dim(d.symbol, d.offset + low + high) for d, (low, high) in zip(kernel.space, self.pads, strict=True))
        self.name = state.temporary("_w", Type(kernel.dtype, dims, array=True))
        state.buffers[self.name] = Buffer(self.name, dims, kernel.dtype, local=True, border=tuple(low for low, _ in self.pads))
        index = self.place((0,) * len(dims))
        for number, one in enumerate(self.members):
            expr = one.base if len(self.members) == 1 else product(one.factor, one.base)
            mode = "add" if number else "set"
            units.insert(position(units, one.kernel), replace(one.kernel, target=self.name, index=index, expr=expr, mode=mode))


def position(units: list[Unit], unit: Unit) -> int:
    return next(k for k, u in enumerate(units) if u is unit)


@dataclass
class Plan:
    """What becomes of one series."""

    series: list[Kernel]
    summands: list[Summand]
    fill: Kernel | None  # zeros that the series adds to, nothing else
    low: Offsets
    pads: Pads

    @classmethod
    def of(cls, series: list[Kernel], units: list[Unit], linear: Linear, memory: Memory) -> Plan:
        first = series[0]
        every = [offsets(first, k) for k in series]
        low, high = (tuple(map(choose, zip(*every, strict=True))) for choose in (min, max))
        summands: dict[Key, Summand] = {}
        for kernel, offset in zip(series, every, strict=True):
            factor, base = linear.term(kernel.expr)
            key = (base, kernel.space, versions(kernel, base, units, memory))
            known = summands.get((offset, key))
            factor = factor if known is None else total(known.factor, factor)
            summands[offset, key] = Summand(known.kernel if known else kernel, factor, base, key, offset)
        plan = cls(
            series,
            list(summands.values()),
            filled(series, units, memory),
            low,
            tuple((b - a, b - a) for a, b in zip(low, high, strict=True)),
        )
        return plan.widened(high)

    def widened(self, high: Offsets) -> Plan:
        """With borders so wide that the sum defines all of its target."""
        if self.fill is None:
            return self
        first, pads = self.series[0], []
        for d, (lowest, highest) in enumerate(zip(self.low, high, strict=True)):
            entry = first.index[d]
            assert isinstance(entry, Axis)
            beyond = minus(self.fill.space[d], first.space[d])
            if entry.offset.symbol is not None or beyond is None:
                return replace(self, fill=None)
            pads.append((entry.offset.offset + highest, beyond - entry.offset.offset - lowest))
        return replace(self, pads=tuple(pads))

    def rewrite(self, units: list[Unit], state: Scalariser) -> None:
        """Put the one sum that remains in place of the series."""
        at = position(units, self.series[-1]) + 1
        units[at:at] = [self.whole()] if self.fill is not None else self.sum(state)
        gone = [*self.series, self.fill]
        units[:] = [u for u in units if not any(u is g for g in gone)]

    def sum(self, state: Scalariser) -> list[Kernel]:
        """The sum over the range that the series covers, behind what decides how long that is."""
        first = self.series[0]
        target = tuple(
            Axis(e.depth, 1, Dim(e.offset.symbol, e.offset.offset + self.low[e.depth])) if isinstance(e, Axis) else e for e in first.index
        )
        widths = [w for w, _ in self.pads]
        found = [covered(d, w, range_of(first.target, target, k, state), state) for k, (d, w) in enumerate(zip(first.space, widths, strict=True))]
        before = [kernel for _, kernel in found if kernel is not None]
        return [*before, replace(first, space=tuple(d for d, _ in found), index=target, expr=self.expr(self.low))]

    def whole(self) -> Kernel:
        """The sum over all of the target, as its definition."""
        assert self.fill is not None
        start = tuple(-e.offset.offset for e in self.series[0].index if isinstance(e, Axis))
        return replace(self.series[0], space=self.fill.space, index=self.fill.index, mode="def", expr=self.expr(start))

    def expr(self, start: Offsets) -> Expr:
        """The sum for one element, products with one factor together. `start`: the offset that the first trip stands at."""
        parts: dict[Expr, Expr] = {}
        one = constant(1.0, self.series[0].dtype)
        for s in self.summands:
            assert s.space is not None
            if len(s.space.members) > 1 and s is not s.space.members[0]:
                continue
            load = Load(s.space.name, s.space.place(tuple(a - o for a, o in zip(start, s.offset, strict=True))), s.base.dtype)
            factor = one if len(s.space.members) > 1 else s.factor
            parts[factor] = Call("np.add", (parts[factor], load), load.dtype) if factor in parts else load
        result: Expr | None = None
        for factor, part in parts.items():
            result = product(factor, part) if result is None else total(result, product(factor, part))
        assert result is not None
        return result


Place = tuple[Dim, Dim]  # where a range begins, and the extent of the axis that it lies in


def range_of(target: str, index: Index, depth: int, state: Scalariser) -> Place:
    """Where the range of a loop lies in a target."""
    axis, entry = next((k, e) for k, e in enumerate(index) if isinstance(e, Axis) and e.depth == depth)
    return entry.offset, state.view(target).dims[axis]


def covered(extent: Dim, more: int, place: Place, state: Scalariser) -> tuple[Dim, Kernel | None]:
    """The extent of what `extent` iterations cover at places up to `more` apart, and the statement that computes it where one has to.

    It is `extent + more` only where there is an iteration: an empty range covers nothing, and its target may have no element there.
    """
    wide = Dim(extent.symbol, extent.offset + more)
    iterates = state.iterates or state.integers.nonnegative(state.integers.of(extent) - Affine((), 1))
    if not more or iterates or inside(wide, place, state):
        return wide, None
    name = state.temporary("_t", Type("int64", weak=True))
    some = Call("np.greater", (Extent(extent), Lit(Const(0), "int64")), "bool")
    value = Call("select", (some, Extent(wide), Lit(Const(0), "int64")), "int64", weak=True)
    return state.integers.introduce(named(name), (name, None)), Kernel((), name, (), value, "def", "int64")


def inside(extent: Dim, place: Place, state: Scalariser) -> bool:
    """Whether a range is proved to lie in the axis, of whatever extent that is."""
    start, end = map(state.integers.of, place)
    return state.integers.nonnegative(start) and state.integers.nonnegative(end - start - state.integers.of(extent))


def filled(series: list[Kernel], units: list[Unit], shares: Memory) -> Kernel | None:
    """The definition with zeros of what a series adds to, if nothing else touches that before the sum is done."""
    first = series[0]
    before = units[: position(units, series[-1])]
    touching = [u for u in before if any(a.buffer == first.target or shares(a.buffer, first.target) for a in u.accesses())]
    if not touching or not isinstance(fill := touching[0], Kernel) or fill.mode != "def" or not isinstance(fill.expr, Lit):
        return None
    zero = fill.expr.operand.value == 0 and identity(fill.index) and len(fill.space) == len(first.space)
    ordered = [e.depth if isinstance(e, Axis) else -1 for e in first.index] == list(range(len(first.space)))
    return fill if zero and ordered and not any(u is not k for u, k in zip(touching[1:], series, strict=False)) else None


def versions(kernel: Kernel, base: Expr, units: list[Unit], memory: Memory) -> tuple[int, ...]:
    """Where the operands of a base were written last: equal bases with equal versions have equal values."""
    probe = replace(kernel, target="", index=(), mode="def", expr=base)
    before = units[: position(units, kernel)]
    return tuple(id(u) for u in before if memory.of(u).written and conflict(u, probe, memory))


def workspaces(plans: list[Plan], units: list[Unit]) -> list[Space]:
    """The workspaces of all series: one for each base, and one for all bases that one place alone needs."""
    order = {id(u): k for k, u in enumerate(units)}
    users: dict[Key, set[tuple[int, Offsets]]] = {}
    for number, plan in enumerate(plans):
        for one in plan.summands:
            users.setdefault(one.key, set()).add((number, one.offset))
    found: dict[Key, Space] = {}
    for number, plan in enumerate(plans):
        for one in plan.summands:
            alone = len(users[one.key]) == 1
            space = found.setdefault((number, one.offset) if alone else one.key, Space([], plan.pads))
            space.pads = tuple((max(a, c), max(b, d)) for (a, b), (c, d) in zip(space.pads, plan.pads, strict=True))
            space.members.append(one)
            one.space = space
            if not alone:
                space.members = [min(space.members, key=lambda s: order[id(s.kernel)])]
    return list(found.values())


def take_over(units: list[Unit], space: Space, state: Scalariser) -> None:
    """Let a workspace stand for the temporary that it would be a copy of."""
    copy = next(u for u in units if isinstance(u, Kernel) and u.target == space.name)
    base = copy.expr
    if not isinstance(base, Load) or base.buffer not in state.buffers or state.buffers[base.buffer].escapes or not identity(base.index):
        return
    own = [u for u in units if any(a.buffer == base.buffer for a in u.accesses())]
    made = own[0]
    if (
        not isinstance(made, Kernel)
        or made.mode != "def"
        or not identity(made.index)
        or made.space != copy.space
        or made.dtype != copy.dtype
    ):
        return
    if len(space.members) > 1 or not all(isinstance(u, Kernel) and readable(u, base.buffer) for u in own[1:]):
        return
    for k, unit in enumerate(units):
        if unit is made:
            units[k] = replace(made, target=space.name, index=copy.index, mode="set")
        elif any(unit is u for u in own) and unit is not copy:
            assert isinstance(unit, Kernel)
            units[k] = replace(unit, expr=map_loads(lambda x: instead(x, base.buffer, space), unit.expr))
    del units[position(units, copy)]


def readable(unit: Kernel, buffer: str) -> bool:
    """Whether a statement reads a buffer at plain positions, and does nothing else with it."""
    places = [e for x in loads(unit.expr) if x.buffer == buffer for e in x.index]
    gathered = any(isinstance(e, Gather) for x in loads(unit.expr) for e in x.index) or any(isinstance(e, Gather) for e in unit.index)
    return unit.target != buffer and not gathered and all(isinstance(e, (Axis, Fixed)) for e in places)


def instead(load: Load, buffer: str, space: Space) -> Load:
    """A load of the buffer, from the workspace in its place."""
    if load.buffer != buffer:
        return load
    index: list[Entry] = []
    for entry, (by, _) in zip(load.index, space.pads, strict=True):
        if isinstance(entry, Axis):
            index.append(replace(entry, offset=Dim(entry.offset.symbol, entry.offset.offset + by)))
        else:
            assert isinstance(entry, Fixed)
            index.append(Fixed(Dim(entry.position.symbol, entry.position.offset + by)))
    return replace(load, buffer=space.name, index=tuple(index))


def without_unread(units: list[Unit], state: Scalariser) -> list[Unit]:
    """Without definitions of temporaries that nothing reads any more."""
    result: list[Unit] = []
    read: set[str] = set()
    for unit in reversed(units):
        own = state.buffers.get(unit.target) if isinstance(unit, Kernel) and unit.mode == "def" else None
        if own is not None and not own.escapes and isinstance(unit, Kernel) and unit.target not in read:
            continue
        read.update(a.buffer for a in unit.accesses() if not a.write or isinstance(unit, Raw))
        if isinstance(unit, Kernel) and unit.mode != "def":
            read.add(unit.target)
        result.insert(0, unit)
    return result
