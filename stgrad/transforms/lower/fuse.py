"""Element statements to a tree of loops, as few loops as dependences allow.

Two statements may share loop d if every two accesses to the same place are met in the old order: the loop's variable
stands on the same axis in both, as `v + c1` and `v + c2`, and `c1 - c2 >= 0` (the first one has then passed the place
before). A finished reduction does not move with the loop, so its readers stay behind it. Allen & Kennedy 2001, §6.2.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def norms(x, y):
    ...     return np.sum(x * y), np.sum(x * x)
    >>> show_pass("fuse", stgrad.jit(norms), np.ones(4), np.ones(4))
    n = y.shape[0]
    n_2 = x.shape[0]
    if n != n_2:
        raise ValueError('operands could not be broadcast together (line 2: return np.sum(x * y), np.sum(x * x))')
    n_y = n_2
    n_x = n_2
    t = 0.0
    for i in range(n_2):
        t = runtime.radd(t, x[i] * y[i])
    t2 = 0.0
    for i in range(n_2):
        t3 = x[i]
        t2 = runtime.radd(t2, t3 * t3)
    return t, t2
    ->
    n = y.shape[0]
    n_2 = x.shape[0]
    if n != n_2:
        raise ValueError('operands could not be broadcast together (line 2: return np.sum(x * y), np.sum(x * x))')
    n_y = n_2
    n_x = n_2
    t = 0.0
    t2 = 0.0
    for i in range(n_2):
        t3 = x[i]
        t = runtime.radd(t, t3 * y[i])
        t2 = runtime.radd(t2, t3 * t3)
    return t, t2
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from stgrad.ir import Dim, Effect
from stgrad.transforms.lower.nest import (
    Access,
    Axis,
    Entry,
    Fixed,
    Gather,
    Guard,
    Index,
    Kernel,
    Loop,
    Node,
    Raw,
    Unit,
    loads,
    minus,
)

Same = Callable[[str, str], bool]  # whether two buffers may share memory
MAX_WRITES = 12  # LLVM's overlap tests give up beyond
REACH = 40  # groups that a loop looks back at
RISE = 100  # groups that a scalar statement rises over, so that long programs take time in proportion


@dataclass(frozen=True)
class Footprint:
    """What statements touch together: the places, those of them that are written, and what keeps them in order whatever they touch."""

    touched: frozenset[Hashable] = frozenset()
    written: frozenset[Hashable] = frozenset()
    barrier: bool = False
    checks: bool = False
    gathers: bool = False

    def __or__(self, other: Footprint) -> Footprint:
        barrier, checks, gathers = self.barrier or other.barrier, self.checks or other.checks, self.gathers or other.gathers
        return Footprint(self.touched | other.touched, self.written | other.written, barrier, checks, gathers)

    def apart(self, other: Footprint) -> bool:
        """Whether nothing of the one writes where something of the other reads or writes."""
        return self.touched.isdisjoint(other.written) and self.written.isdisjoint(other.touched)

    def ordered(self, other: Footprint) -> bool:
        """Whether some statements keep their order although they are apart."""
        return self.barrier or other.barrier or self.checks and other.gathers or self.gathers and other.checks


class Memory:
    """Where buffers are: `place` is one for all that may share memory. Called with two names, it tells whether they may.

    What a statement touches is found once: most pairs of statements have nothing in common, and nothing else has to be looked at.
    """

    def __init__(self, place: Callable[[str], Hashable]) -> None:
        self.place = place
        self._known: dict[int, tuple[Unit, Footprint]] = {}

    def __call__(self, a: str, b: str) -> bool:
        return self.place(a) == self.place(b)

    def of(self, unit: Unit) -> Footprint:
        """What a statement touches."""
        if id(unit) not in self._known:
            accesses = tuple(unit.accesses())
            touched, written = (frozenset(self.place(a.buffer) for a in accesses if a.write or not only) for only in (False, True))
            barrier = isinstance(unit, Raw) and unit.barrier
            self._known[id(unit)] = unit, Footprint(touched, written, barrier, _is_check(unit), _gathers(unit))
        return self._known[id(unit)][1]

    def apart(self, a: Unit, b: Unit) -> bool:
        """Whether neither of two statements writes where the other one reads or writes."""
        return self.of(a).apart(self.of(b))


class Group:
    """Statements that one loop runs, or a single one, and what they touch: most statements have nothing in common with most groups."""

    def __init__(self, unit: Unit, shares: Memory) -> None:
        self.units: list[Unit] = []
        self.shares = shares
        self.footprint = Footprint()
        self._at: dict[Hashable, list[Unit]] = {}
        self.add(unit)

    def add(self, unit: Unit, before: Unit | None = None) -> None:
        """A statement more, at the end or in front of one."""
        at = len(self.units) if before is None else next(k for k, u in enumerate(self.units) if u is before)
        self.units.insert(at, unit)
        own = self.shares.of(unit)
        self.footprint |= own
        for place in own.touched:
            self._at.setdefault(place, []).append(unit)

    def meeting(self, unit: Unit) -> Iterable[Unit]:
        """The statements that touch a place which another one touches, too; some of them more than once."""
        return chain.from_iterable(self._at.get(place, ()) for place in self.shares.of(unit).touched)

    def runs(self, depth: int) -> bool:
        """Whether it is a loop at this depth."""
        return len(self.units[0].space) > depth

    def before(self, unit: Unit) -> bool:
        """Whether something of it must stay before a statement."""
        own = self.shares.of(unit)
        if self.footprint.ordered(own):
            return any(conflict(a, unit, self.shares) for a in self.units)
        return not self.footprint.apart(own) and any(conflict(a, unit, self.shares) for a in self.meeting(unit))

    def before_group(self, other: Group) -> bool:
        """Whether something of it must stay before something of another one."""
        if not self.footprint.ordered(other.footprint) and self.footprint.apart(other.footprint):
            return False
        return any(map(self.before, other.units))


def fuse(units: Sequence[Unit], shares: Memory) -> list[Node]:
    """The loop tree of a run of statements."""
    return _level(list(sink(units, shares)), 0, shares)


FARTHEST = 400  # statements that a definition moves over: what is read much later is not fused with what reads it


def sink(units: Sequence[Unit], shares: Memory) -> list[Unit]:
    """Move each definition of a buffer down to its first reader, where nothing between conflicts; behind tests of extents it runs over the reader's."""
    result = list(units)
    for at in reversed(range(len(units))):  # what moves stays behind those that are still to come
        unit = units[at]
        if not isinstance(unit, Kernel) or unit.mode != "def" or is_fill(unit):
            continue
        stop, last = at + 1, min(len(result), at + FARTHEST)
        while stop < last and not conflict(unit, result[stop], shares):
            stop += 1
        if stop < last and any(a.buffer == unit.target for a in result[stop].accesses()):
            passed = [(u.a, u.b) for u in result[at:stop] if isinstance(u, Guard) and u.b is not None]
            result.insert(stop, replace(unit, space=tuple(_agreed(d, result[stop].space, passed) for d in unit.space)))
            del result[at]
    return result


def _agreed(dim: Dim, wanted: Sequence[Dim], tested: Sequence[tuple[Dim, Dim]]) -> Dim:
    """The extent of those `wanted` that a test has found to equal this one; itself where none is."""
    others = [b if a == dim else a for a, b in tested if dim in (a, b)]
    return dim if dim in wanted else next((d for d in others if d in wanted), dim)


def conflict(a: Unit, b: Unit, shares: Memory) -> bool:
    """Whether `a` must stay before `b`. A statement in front of a test does not rely on it, and may as well run behind it."""
    if isinstance(a, Kernel) and isinstance(b, Guard):
        return any(x.write and x.buffer in b.witnesses for x in a.accesses())
    if isinstance(a, Raw) and a.barrier or isinstance(b, Raw) and b.barrier:
        return True
    if _is_check(a) and _gathers(b) or _is_check(b) and _gathers(a):
        return True
    if shares.apart(a, b):
        return False
    written = [y for y in b.accesses() if y.write]
    return any(clash(x, y, shares) for x in a.accesses() for y in (b.accesses() if x.write else written))


def _is_check(unit: Unit) -> bool:
    return isinstance(unit, Raw) and isinstance(unit.stmt, Effect)


def _gathers(unit: Unit) -> bool:
    """Whether positions come from an array: then the test of that array must have passed."""
    return any(type(entry) is Gather for access in unit.accesses() for entry in access.index or ())


def clash(x: Access, y: Access, shares: Same) -> bool:
    """Whether the order of two accesses may matter."""
    if not (x.write or y.write) or not (x.buffer == y.buffer or shares(x.buffer, y.buffer)):
        return False
    if x.buffer != y.buffer:
        return True
    return not (x.write and y.write and x.mode and x.mode == y.mode) and not disjoint(x.index, y.index)


def disjoint(a: Index | None, b: Index | None) -> bool:
    """Whether two accesses of one buffer are elsewhere for sure: on one axis two different constants, or ranges that do not meet."""
    if a is None or b is None:
        return False
    for x, y in zip(a, b, strict=True):
        if isinstance(x, Fixed) and isinstance(y, Fixed) and minus(x.position, y.position) not in (0, None):
            return True
        if _before(x, y) or _before(y, x):
            return True
        if isinstance(x, Axis) and isinstance(y, Axis) and x.scale == y.scale and abs(x.scale) > 1:
            distance = minus(x.offset, y.offset)
            if distance is not None and distance % x.scale:
                return True
    return False


def _before(x: Entry, y: Entry) -> bool:
    """Whether a position stands before all that a loop runs through: `k` and `k + 1 + i`."""
    if not (isinstance(x, Fixed) and isinstance(y, Axis) and y.scale > 0):
        return False
    gap = minus(y.offset, x.position)
    return gap is not None and gap > 0


def is_fill(unit: Unit) -> bool:
    """A definition that reads nothing may stand anywhere before the first use of its buffer."""
    return isinstance(unit, Kernel) and unit.mode == "def" and not any(True for _ in loads(unit.expr)) and bool(unit.index)


def _level(units: list[Unit], depth: int, shares: Memory) -> list[Node]:
    """Group statements into loops at one depth, then each group's body at the next."""
    groups: list[Group] = []
    fills: list[Unit] = []  # wait for their first use
    for unit in units:
        if is_fill(unit):
            fills.append(unit)
            continue
        used = [f for f in fills if conflict(f, unit, shares)]
        fills = [f for f in fills if f not in used]
        if len(unit.space) > depth:
            group = _join(groups, unit, used, depth, shares)
        elif isinstance(unit, Raw) and not unit.scalar:
            group = Group(unit, shares)
            groups.append(group)
        else:
            group = _raise(groups, unit, used, depth, shares)
        for fill in used:
            _place(groups, group, fill, unit, depth, shares)
    tree: list[Node] = []
    for group in [*groups, *(Group(f, shares) for f in fills)]:
        if group.runs(depth):
            tree.append(Loop(depth, group.units[0].space[depth], _level(group.units, depth + 1, shares)))
        else:
            tree.extend(group.units)
    return tree


def _place(groups: list[Group], group: Group, fill: Unit, unit: Unit, depth: int, shares: Memory) -> None:
    """Put a fill into the loop of its first use, or before it."""
    if _same_loop(fill, unit, depth) and isinstance(fill, Kernel) and isinstance(unit, Kernel) and fusable(fill, unit, depth, shares):
        group.add(fill, before=unit)
        return
    groups.insert(next(k for k, g in enumerate(groups) if g is group), Group(fill, shares))


def _same_loop(a: Unit, b: Unit, depth: int) -> bool:
    return len(a.space) > depth and len(b.space) > depth and a.space[depth] == b.space[depth]


def _join(groups: list[Group], unit: Unit, fills: list[Unit], depth: int, shares: Memory) -> Group:
    """Put a loop into the last group that may take it, or behind all.

    Groups behind that one on which the loop depends move before it, if nothing conflicts: what stays behind has been found to hold back none of them.
    """
    needed: list[Group] = []  # must stand before the unit, transitively
    for k in reversed(range(max(0, len(groups) - REACH), len(groups))):
        group = groups[k]
        held = any(map(group.before_group, needed))
        if not held and _fits(group, unit, depth, shares):
            rest = [g for g in groups[k + 1 :] if g not in needed]
            group.add(unit)
            groups[k:] = [*reversed(needed), group, *rest]
            return group
        if held or any(map(group.before, [*fills, unit])):
            needed.append(group)
    groups.append(Group(unit, shares))
    return groups[-1]


def _raise(groups: list[Group], unit: Unit, fills: list[Unit], depth: int, shares: Memory) -> Group:
    """Put a scalar statement as early as it can stand."""
    at, first = len(groups), max(0, len(groups) - RISE)
    while at > first and not any(map(groups[at - 1].before, [*fills, unit])):
        at -= 1
    # Behind the scalars that stand there already: the order of the source.
    while at < len(groups) and not groups[at].runs(depth):
        at += 1
    groups.insert(at, Group(unit, shares))
    return groups[at]


def _fits(group: Group, unit: Unit, depth: int, shares: Memory) -> bool:
    if not isinstance(unit, Kernel) or not group.runs(depth) or group.units[0].space[depth] != unit.space[depth]:
        return False
    if len({u.target for u in (*group.units, unit) if isinstance(u, Kernel) and u.mode == "set"}) > MAX_WRITES:
        return False
    return all(isinstance(m, Kernel) and fusable(m, unit, depth, shares) for m in group.meeting(unit))


def fusable(first: Kernel, second: Kernel, depth: int, shares: Memory) -> bool:
    """Whether one loop may run both statements, `first` before `second` in each trip."""
    innermost = len(first.space) == depth + 1 == len(second.space)
    theirs = list(second.accesses())
    for x in first.accesses():
        for y in theirs:
            if not clash(x, y, shares):
                continue
            if x.buffer != y.buffer or x.index is None or y.index is None:
                return False
            distance = loop_distance(x.index, y.index, depth)
            if distance is None or distance < 0 or (distance > 0 and innermost and x.write):
                return False
    return True


def loop_distance(a: Index, b: Index, depth: int) -> int | None:
    """By how many trips the first access passes a place before the second one does; None: unknown."""
    mine = [k for k, e in enumerate(a) if moves(e, depth)]
    theirs = [k for k, e in enumerate(b) if moves(e, depth)]
    if len(mine) != 1 or mine != theirs:
        return None
    x, y = a[mine[0]], b[mine[0]]
    if not (isinstance(x, Axis) and isinstance(y, Axis)) or x.scale != y.scale:
        return None
    gap = minus(x.offset, y.offset)
    return None if gap is None or gap % x.scale else gap // x.scale


def moves(entry: object, depth: int) -> bool:
    """Whether a position moves with a loop; gathered ones may."""
    if isinstance(entry, Gather):
        return True
    return isinstance(entry, Axis) and entry.depth == depth
