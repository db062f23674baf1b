"""Memory that trips of a loop take in turn, in place of new memory in each.

    for t in range(T):                     y, y_spare = np.empty(n), np.empty(n)
        y = np.empty(n)                    for t in range(T):
        ...                        ->          y, y_spare = y_spare, y
        x = y                                  ...
                                               x = y

`ages` tells how much of it is in use at a time; the extents must be known before the loop.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def relax(x, n):
    ...     for _ in range(n):
    ...         x = 0.5 * (x + np.cos(x))
    ...     return x
    >>> show_pass("rotations", stgrad.jit(relax), np.ones(3), 3)
    n_2 = x.shape[0]
    x_2 = x
    for t in range(n):
        x_2_2 = np.empty(n_2)
        for i in range(n_2):
            t2 = x_2[i]
            x_2_2[i] = 0.5 * (t2 + runtime.cos(t2))
        x_2 = x_2_2
    return x_2
    ->
    n_2 = x.shape[0]
    x_2 = x
    x_2_2 = np.empty(n_2)
    x_2_2_spare = np.empty(n_2)
    for t in range(n):
        x_2_2_spare, x_2_2 = x_2_2, x_2_2_spare
        for i in range(n_2):
            t2 = x_2[i]
            x_2_2[i] = 0.5 * (t2 + runtime.cos(t2))
        x_2 = x_2_2
    return x_2
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from stgrad.analysis.ages import ages
from stgrad.analysis.bounds import Bounds
from stgrad.analysis.definitions import definitions
from stgrad.ir import (
    Assign,
    Block,
    For,
    Function,
    Operand,
    Stmt,
    Type,
    Var,
    While,
    assigned,
    blocks,
    entries_of,
    map_blocks,
    reads,
)
from stgrad.names import Names
from stgrad.transforms.lower.pieces import turned

Loops = tuple[For | While, ...]


def rotations(fn: Function) -> Function:
    """The program with the memory of arrays that loops make asked for before the loops."""
    found = {id(stmt): loops for stmt, loops in _sites(fn.body, ())}
    if not found:
        return fn
    needed = ages(fn, lambda s: id(s) in found)
    state = _Rotations(dict(fn.types), Names(fn.types), Bounds(definitions(fn)), definitions(fn).counts)
    for stmt, loops in _sites(fn.body, ()):
        if id(stmt) in needed:
            state.plan(stmt, loops, needed[id(stmt)] + 1)
    return replace(fn, body=state.block(fn.body), types=state.types) if state.instead else fn


def _sites(block: Block, loops: Loops) -> Iterator[tuple[Assign, Loops]]:
    """Statements in loops that ask for memory, with the loops, outermost first."""
    for stmt in block:
        if isinstance(stmt, Assign) and stmt.op == "np.empty" and len(stmt.targets) == 1 and loops:
            yield stmt, loops
        for inner in blocks(stmt):
            yield from _sites(inner, (*loops, stmt) if isinstance(stmt, (For, While)) else loops)


@dataclass
class _Rotations:
    types: dict[str, Type]
    names: Names
    bounds: Bounds
    counts: Counter[str]  # how often each name is bound
    before: dict[int, list[Stmt]] = field(default_factory=dict)  # what comes before a loop, by its id
    instead: dict[int, list[Stmt]] = field(default_factory=dict)  # what a statement becomes

    def plan(self, stmt: Assign, loops: Loops, pieces: int) -> None:
        """Ask for memory before the outermost loop that leaves the extents alone."""
        sizes: tuple[Operand, ...] = entries_of(stmt.args[0])
        around = next((loop for loop in loops if not assigned((loop,)).intersection(reads(stmt))), None)
        if around is None or any((low := self.bounds.least(size)) is None or low < 0 for size in sizes):
            return
        name = stmt.target.name
        mine = self.counts[name] == 1  # else the name stands for other arrays, too
        ring = [stmt.target if mine and k == 0 else self.piece(name) for k in range(pieces)]
        self.before.setdefault(id(around), []).extend(replace(stmt, targets=(piece,)) for piece in ring)
        named = [] if mine else [Assign((stmt.target,), "alias", (ring[0],), (), stmt.loc, stmt.note)]
        self.instead[id(stmt)] = [*turned(ring, self.names, self.types), *named]

    def piece(self, name: str) -> Var:
        made = Var(self.names.fresh(f"{name}_spare"))
        self.types[made.name] = self.types[name]
        return made

    def block(self, statements: Block) -> Block:
        out: list[Stmt] = []
        for stmt in statements:
            out += self.before.get(id(stmt), [])
            out += self.instead[id(stmt)] if id(stmt) in self.instead else [map_blocks(self.block, stmt)]
        return tuple(out)
