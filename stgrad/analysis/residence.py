"""Which arrays of a program are in memory at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np

from stgrad.analysis.alias import sources, viewed
from stgrad.analysis.liveness import liveness
from stgrad.ir import Assign, Const, Dim, For, Function, Pack, Pop, Push, Var, While, assigns, reads, walk
from stgrad.ir.ops import operation

Size = tuple[int, tuple[Dim, ...]]  # bytes of an item, and extents


def resident(fn: Function, without: Collection[str] = (), most: int = 8) -> list[Counter[Size]]:
    """What a program has in memory of the arrays that it makes, at the places where it has most: how many of each size.

    No other place has more of any size than one of these. Where there were more than `most` of them, some are united: what is told is then more than there is.

    Args:
        fn: the program.
        without: arrays that do not count.
    """
    found: list[Counter[Size]] = []
    for place in set(_together(fn, frozenset(without))):
        sizes = Counter((np.dtype(fn.types[n].dtype).itemsize, fn.types[n].dims) for n in place)
        if not any(sizes <= other for other in found):
            found = [other for other in found if not other <= sizes] + [sizes]
    while len(found) > most:
        found.append(found.pop() | found.pop())
    return found


def _together(fn: Function, without: frozenset[str]) -> Iterator[frozenset[str]]:
    """The arrays that are there, at each place where one is made."""
    made = frozenset(s.target.name for s in walk(fn.body) if isinstance(s, Assign) and _makes(s, fn)) - without
    held, after = _held(fn, made), liveness(fn).after
    for stmt in walk(fn.body):
        if isinstance(stmt, Assign) and stmt.target.name in made:
            yield frozenset().union(*(held.get(n, ()) for n in (*after[id(stmt)], *reads(stmt), stmt.target.name)))


def _held(fn: Function, made: frozenset[str]) -> dict[str, frozenset[str]]:
    """Of which arrays each name may hold the memory: its own, those that it is a view of, and those of a list that no loop fills."""
    held = {name: frozenset({name}) for name in made}
    gives = [(source, t) for s in walk(fn.body) for source in sources(s, fn.types, moved=False) for t in assigns(s)]
    counted = {s.stack for loop in walk(fn.body) if isinstance(loop, (For, While)) for s in walk(loop.body) if isinstance(s, Push)}
    for stmt in walk(fn.body):
        if isinstance(stmt, (Push, Pop)) and stmt.stack not in counted:
            ends = (stmt.value, Var(stmt.stack)) if isinstance(stmt, Push) else (Var(stmt.stack), stmt.target)
            gives += [(ends[0].name, ends[1].name)] if isinstance(ends[0], Var) else []
    more = True
    while more:
        more = False
        for source, target in gives:
            both = held.get(source, frozenset()) | held.get(target, frozenset())
            if both != held.get(target, frozenset()):
                held[target], more = both, True
    return held


def _makes(stmt: Assign, fn: Function) -> bool:
    """Whether an assignment asks for memory; what stands for a value that is not there yet has no elements."""
    if operation(stmt.op).shape == 0 and stmt.args[0] in (Const(0), Pack((Const(0),))):
        return False
    if len(stmt.targets) != 1 or not fn.types[stmt.target.name].array:
        return False
    return viewed(stmt, fn.types) is None and "out" not in dict(stmt.kwargs)


__all__ = ["Size", "resident"]
