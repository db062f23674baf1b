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

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

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


class Memory:
    """Where buffers are: `place` is one for all that may share memory. Called with two names, it tells whether they may.

    What a statement touches is found once: most pairs of statements have nothing in common, and nothing else has to be looked at.
    """

    def __init__(self, place: Callable[[str], Hashable]) -> None:
        self.place = place
        self._known: dict[int, tuple[Unit, frozenset[Hashable], frozenset[Hashable]]] = {}

    def __call__(self, a: str, b: str) -> bool:
        return self.place(a) == self.place(b)

    def of(self, unit: Unit) -> tuple[frozenset[Hashable], frozenset[Hashable]]:
        """The places that a statement touches, and those that it writes to."""
        if id(unit) not in self._known:
            accesses = tuple(unit.accesses())
            touched, written = (frozenset(self.place(a.buffer) for a in accesses if a.write or not only) for only in (False, True))
            self._known[id(unit)] = unit, touched, written
        return self._known[id(unit)][1:]

    def apart(self, a: Unit, b: Unit) -> bool:
        """Whether neither of two statements writes where the other one reads or writes."""
        mine, theirs = self.of(a), self.of(b)
        return mine[0].isdisjoint(theirs[1]) and mine[1].isdisjoint(theirs[0])


def fuse(units: Sequence[Unit], shares: Memory) -> list[Node]:
    """The loop tree of a run of statements."""
    return _level(list(sink(units, shares)), 0, shares)


def sink(units: Sequence[Unit], shares: Memory) -> list[Unit]:
    """Move each definition of a buffer down to its first reader, where nothing between conflicts; behind tests of extents it runs over the reader's."""
    result = list(units)
    for unit in reversed(list(units)):
        if not isinstance(unit, Kernel) or unit.mode != "def" or is_fill(unit):
            continue
        at = next(k for k, u in enumerate(result) if u is unit)
        stop = at + 1
        while stop < len(result) and not conflict(unit, result[stop], shares):
            stop += 1
        if stop < len(result) and any(a.buffer == unit.target for a in result[stop].accesses()):
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
    groups: list[list[Unit]] = []
    fills: list[Unit] = []  # wait for their first use
    for unit in units:
        if is_fill(unit):
            fills.append(unit)
            continue
        used = [f for f in fills if conflict(f, unit, shares)]
        group: list[Unit]
        fills = [f for f in fills if f not in used]
        if len(unit.space) > depth:
            group = _join(groups, unit, used, depth, shares)
        elif isinstance(unit, Raw) and not unit.scalar:
            group = [unit]
            groups.append(group)
        else:
            group = _raise(groups, unit, used, depth, shares)
        for fill in used:
            _place(groups, group, fill, unit, depth, shares)
    tree: list[Node] = []
    for group in [*groups, *([f] for f in fills)]:
        if len(group[0].space) > depth:
            tree.append(Loop(depth, group[0].space[depth], _level(group, depth + 1, shares)))
        else:
            tree.extend(group)
    return tree


def _place(groups: list[list[Unit]], group: list[Unit], fill: Unit, unit: Unit, depth: int, shares: Memory) -> None:
    """Put a fill into the loop of its first use, or before it."""
    if _same_loop(fill, unit, depth) and isinstance(fill, Kernel) and isinstance(unit, Kernel) and fusable(fill, unit, depth, shares):
        group.insert(next(k for k, u in enumerate(group) if u is unit), fill)
        return
    groups.insert(next(k for k, g in enumerate(groups) if g is group), [fill])


def _same_loop(a: Unit, b: Unit, depth: int) -> bool:
    return len(a.space) > depth and len(b.space) > depth and a.space[depth] == b.space[depth]


def _join(groups: list[list[Unit]], unit: Unit, fills: list[Unit], depth: int, shares: Memory) -> list[Unit]:
    """Put a loop into the last group that may take it, or behind all.

    Groups behind that one on which the loop depends move before it, if nothing conflicts.
    """
    needed: list[int] = []  # groups that must stand before the unit, transitively
    for k in reversed(range(max(0, len(groups) - REACH), len(groups))):
        if _fits(groups[k], unit, depth, shares) and not any(_crosses(groups, n, k, needed, shares) for n in needed):
            group = groups[k]
            moved = [groups[n] for n in sorted(needed)]
            rest = [groups[n] for n in range(k + 1, len(groups)) if n not in needed]
            group.append(unit)
            groups[k:] = [*moved, group, *rest]
            return group
        if _depends(groups[k], [*fills, unit], shares) or any(_depends(groups[k], groups[n], shares) for n in needed):
            needed.append(k)
    groups.append([unit])
    return groups[-1]


def _crosses(groups: list[list[Unit]], moving: int, before: int, needed: list[int], shares: Memory) -> bool:
    return any(_depends(groups[j], groups[moving], shares) for j in range(before, moving) if j not in needed)


def _depends(first: list[Unit], second: list[Unit], shares: Memory) -> bool:
    return any(conflict(a, b, shares) for a in first for b in second)


def _raise(groups: list[list[Unit]], unit: Unit, fills: list[Unit], depth: int, shares: Memory) -> list[Unit]:
    """Put a scalar statement as early as it can stand."""
    at, first = len(groups), max(0, len(groups) - RISE)
    while at > first and not _depends(groups[at - 1], [*fills, unit], shares):
        at -= 1
    # Behind the scalars that stand there already: the order of the source.
    while at < len(groups) and len(groups[at][0].space) <= depth:
        at += 1
    groups.insert(at, [unit])
    return groups[at]


def _fits(group: list[Unit], unit: Unit, depth: int, shares: Memory) -> bool:
    first = group[0]
    if len(first.space) <= depth or first.space[depth] != unit.space[depth]:
        return False
    if len({u.target for u in (*group, unit) if isinstance(u, Kernel) and u.mode == "set"}) > MAX_WRITES:
        return False
    return all(isinstance(m, Kernel) and isinstance(unit, Kernel) and fusable(m, unit, depth, shares) for m in group)


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
