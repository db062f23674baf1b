"""Arrays that a loop makes and keeps are written straight into the block that keeps them.

    for t in range(T):                     for t in range(T):
        y = np.empty(n)                        y = s[t]
        for i in range(n):                     for i in range(n):
            v = f(x[i])                            v = f(x[i])
            y[i] = v                               y[i] = v
            s[t, i] = v                        x = y
        x = y

A matrix product writes into its slot itself. That holds where nothing changes the array after it was kept, each trip has a slot of its
own, and no caller gets to see the array.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def relax(x, n):
    ...     for _ in range(n):
    ...         x = np.tanh(x)
    ...     return np.sum(x)
    >>> show_pass("slots", stgrad.grad(relax), np.ones(3), 3)
    n_2 = x.shape[0]
    x_2 = x
    x_2_stack = np.empty((max(n, 0), x.shape[0]))
    for t in range(n):
        x_2_3 = np.empty(n_2)
        for i in range(n_2):
            t2 = runtime.tanh(x_2[i])
            x_2_3[i] = t2
            x_2_stack[t, i] = t2
        x_2 = x_2_3
    x_2_bar = np.empty(n_2)
    # grad of line 4: return np.sum(x)
    for i in range(n_2):
        x_2_bar[i] = 1.0
    for t in range(n - 1, -1, -1):
        x_2_bar_2 = np.empty(n_2)
        # grad of line 3: x = np.tanh(x)
        for i in range(n_2):
            t3 = x_2_stack[t, i]
            x_2_bar_2[i] = x_2_bar[i] * (1.0 - t3 * t3)
        x_2_bar = x_2_bar_2
    return x_2_bar
    ->
    n_2 = x.shape[0]
    x_2 = x
    x_2_stack = np.empty((max(n, 0), x.shape[0]))
    for t in range(n):
        x_2_3 = x_2_stack[t]
        for i in range(n_2):
            x_2_3[i] = runtime.tanh(x_2[i])
        x_2 = x_2_3
    x_2_bar = np.empty(n_2)
    # grad of line 4: return np.sum(x)
    for i in range(n_2):
        x_2_bar[i] = 1.0
    for t in range(n - 1, -1, -1):
        x_2_bar_2 = np.empty(n_2)
        # grad of line 3: x = np.tanh(x)
        for i in range(n_2):
            t2 = x_2_stack[t, i]
            x_2_bar_2[i] = x_2_bar[i] * (1.0 - t2 * t2)
        x_2_bar = x_2_bar_2
    return x_2_bar
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.extents import parameter_extents
from stgrad.analysis.liveness import observed
from stgrad.analysis.statements import multiplies
from stgrad.analysis.trips import INT
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    For,
    Function,
    Operand,
    Pack,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    assigns,
    blocks,
    entries_of,
    map_blocks,
    reads,
    walk,
)
from stgrad.names import Names

Loops = tuple[For | While, ...]


def slots(fn: Function) -> Function:
    """The program with what is kept of an array, and the array itself, in one place."""
    sites = list(_sites(fn.body, (), fn.types))
    if not sites or any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    state = _Slots.of(fn)
    for stmt, loops, after in sites:
        state.plan(stmt, loops, after)
    return replace(fn, body=state.block(fn.body), types=state.types) if state.instead else fn


def _sites(block: Block, loops: Loops, types: Mapping[str, Type]) -> Iterator[tuple[Assign, Loops, Block]]:
    """Statements of loops that make arrays, with the loops and the statements behind them in the trip."""
    for k, stmt in enumerate(block):
        if loops and block is blocks(loops[-1])[-1] and isinstance(stmt, Assign) and (stmt.op == "np.empty" or multiplies(stmt, types)):
            yield stmt, loops, block[k + 1 :]
        for inner in blocks(stmt):
            yield from _sites(inner, (*loops, stmt) if isinstance(stmt, (For, While)) else loops, types)


@dataclass
class _Slots:
    types: dict[str, Type]
    names: Names
    classes: Classes
    definitions: Definitions
    around: dict[str, Loops]  # the loops around what binds a name
    stores: dict[str, list[Store]]  # by the class of their target
    seen: frozenset[str]  # classes of what callers see
    sources: Mapping[str, tuple[str, int | None, int]]
    order: Mapping[int, int]  # of statements in the program, by their id
    instead: dict[int, list[Stmt]] = field(default_factory=dict)

    @classmethod
    def of(cls, fn: Function) -> _Slots:
        classes = aliases(fn)
        statements = list(walk(fn.body))
        stores: dict[str, list[Store]] = {}
        for stmt in statements:
            if isinstance(stmt, Store):
                stores.setdefault(classes.find(stmt.target.name), []).append(stmt)
        seen = frozenset(classes.find(n) for n in observed(fn))
        around, order = dict(_around(fn.body, ())), {id(s): k for k, s in enumerate(statements)}
        return cls(dict(fn.types), Names(fn.types), classes, definitions(fn), around, stores, seen, parameter_extents(fn), order)

    def plan(self, stmt: Assign, loops: Loops, after: Block) -> None:
        name = stmt.target.name
        mine = self.classes.find(name)
        if self.definitions.counts[name] != 1 or mine in self.seen or self.written(name, loops[0]):
            return
        for block in dict.fromkeys(s.target.name for s in walk(after) if isinstance(s, Store) and s.target.name != name):
            copies = self.stores[self.classes.find(block)]
            place = self.slot(block, name, copies, loops) if self.kept(name, block, copies, after) else None
            if place is not None:
                self.share(stmt, block, place, copies)
                return

    def written(self, name: str, loop: Stmt) -> bool:
        """Whether an array may be written under another name, once there is a first one in a loop."""
        others = [s for s in self.stores.get(self.classes.find(name), []) if s.target.name != name]
        return any(self.order[id(s)] >= self.order[id(loop)] for s in others)

    # ------------------------------------------------------------- is it the same?

    def kept(self, name: str, block: str, copies: list[Store], after: Block) -> bool:
        """Whether all that is ever stored in a block are the elements of an array, which stay as they are from there on."""
        one, other = self.types[name], self.types[block]
        more = other.rank - one.rank
        same = more > 0 and one.dtype == other.dtype and other.dims[more:] == one.dims
        if not same or self.definitions.counts[block] != 1 or any(d.symbol is not None and d.symbol not in self.sources for d in one.dims):
            return False
        left = {id(s) for s in copies if s.target.name == block and s.mode == "set" and id(s) not in self.instead}
        if len(left) != len(copies):
            return False
        done = False
        for stmt in after:
            here = {id(s) for s in walk((stmt,))} & left
            writes = [s for s in walk((stmt,)) if isinstance(s, Store) and s.target.name == name]
            if writes and done or here and not self.copied(stmt, name, more, here, writes):
                return False
            done, left = done or bool(here), left - here
        return done and not left

    def copied(self, stmt: Stmt, name: str, more: int, copies: set[int], writes: list[Store]) -> bool:
        """Whether the copies of one statement have what the array has at the same place."""
        found = 0
        for part in _parts(stmt):
            for copy in part:
                if id(copy) not in copies or not isinstance(copy, Store):
                    continue
                index = _tail(copy.index, more)
                read = self.settled(copy.value) and any(isinstance(s, Assign) and s.targets == (copy.value,) and _reads(s, name, index) for s in part)
                twin = [w for w in writes if w.index == index and w.value == copy.value and w.mode == "set" and any(s is w for s in part)]
                found += bool(read and not writes) or len(writes) == 1 and len(twin) == 1 and self.settled(copy.value)
        return found == len(copies)

    def settled(self, value: Operand) -> bool:
        return not isinstance(value, Var) or self.definitions.counts[value.name] == 1

    # ------------------------------------------------------------- where is it?

    def slot(self, block: str, name: str, copies: list[Store], loops: Loops) -> list[Operand] | None:
        """The leading positions of all copies, each of another loop; None where two trips may share a slot."""
        more = self.types[block].rank - self.types[name].rank
        found = {tuple(entries_of(s.index)[:more]) for s in copies}
        inner = loops[len(self.around[block]) :]
        if len(found) != 1 or loops[: len(self.around[block])] != self.around[block] or len(inner) != more:
            return None
        (place,) = found
        counters = [self.counter(p, inner) for p in place]
        return list(place) if counters == [loop.var.name if isinstance(loop, For) else "" for loop in inner] else None

    def counter(self, operand: Operand, loops: Loops) -> str | None:
        """The counter that a position is, or differs from by what stands still."""
        made = self.definitions.once.get(operand.name) if isinstance(operand, Var) else None
        if isinstance(operand, Var) and any(isinstance(loop, For) and loop.var == operand for loop in loops):
            return operand.name
        if not isinstance(made, Assign) or made.op not in ("np.subtract", "np.add"):
            return None
        moving = set(reads(made)) & assigned(loops[:1])
        (only,) = moving if len(moving) == 1 else (None,)
        return only if any(isinstance(loop, For) and loop.var.name == only for loop in loops) else None

    # ------------------------------------------------------------- writing

    def share(self, stmt: Assign, block: str, place: list[Operand], copies: list[Store]) -> None:
        ahead: list[Stmt] = []
        for k, operand in enumerate(place):
            made = self.definitions.once.get(operand.name) if isinstance(operand, Var) else None
            if isinstance(made, Assign):
                place[k] = again = Var(self.names.fresh("_t"))
                self.types[again.name] = INT
                ahead.append(replace(made, targets=(again,)))
        index = place[0] if len(place) == 1 else Pack(tuple(place))
        if stmt.op == "np.empty":
            self.instead[id(stmt)] = [*ahead, replace(stmt, op="getitem", args=(Var(block), index), kwargs=())]
        else:
            row = Var(self.names.fresh(f"{stmt.target.name}_slot"))
            self.types[row.name] = self.types[stmt.target.name]
            view = Assign((row,), "getitem", (Var(block), index))
            self.instead[id(stmt)] = [*ahead, view, replace(stmt, op="runtime.matmul", kwargs=(("out", row),))]
        for copy in copies:
            self.instead[id(copy)] = []
            value = self.definitions.once.get(copy.value.name) if isinstance(copy.value, Var) else None
            if isinstance(value, Assign) and value.op == "getitem" and self.definitions.reads[value.target.name] == 1:
                self.instead[id(value)] = []

    def block(self, statements: Block) -> Block:
        out: list[Stmt] = []
        for stmt in statements:
            inside = map_blocks(self.block, stmt)
            emptied = isinstance(stmt, For) and isinstance(inside, For) and stmt.body and not inside.body
            out += self.instead.get(id(stmt), [] if emptied else [inside])
        return tuple(out)


def _around(block: Block, loops: Loops) -> Iterator[tuple[str, Loops]]:
    for stmt in block:
        for name in assigns(stmt):
            yield name, loops
        for inner in blocks(stmt):
            yield from _around(inner, (*loops, stmt) if isinstance(stmt, (For, While)) else loops)


def _parts(stmt: Stmt) -> Iterator[Block]:
    """Every block of a statement; itself as one."""
    yield (stmt,)
    for inner in blocks(stmt):
        for part in inner:
            yield from _parts(part) if blocks(part) else ()
        yield inner


def _reads(stmt: Assign, name: str, index: Operand) -> bool:
    return stmt.op == "getitem" and stmt.args == (Var(name), index)


def _tail(index: Operand, skip: int) -> Operand:
    items = entries_of(index)[skip:]
    return items[0] if len(items) == 1 else Pack(items)
