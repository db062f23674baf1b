"""Arrays of the compiler that only guarded loops read, made where they are read.

    for j in range(m):                         for j in range(m):
        for k in range(n):                         if hit[j]:
            w[j, k] = a[j, k] - b[k]     ->            for k in range(n):
    for j in range(m):                                     s += a[j, k] - b[k]
        if hit[j]:
            for k in range(n):
                s += w[j, k]

Where the test seldom holds, most elements were made for nothing. An array goes if one statement stores its elements, each from a few cheap operations on
numbers and elements that are still the same behind it, and only loops behind these tests read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.definitions import definitions
from stgrad.analysis.statements import total
from stgrad.ir import (
    Assign,
    Block,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Var,
    assigns,
    blocks,
    entries_of,
    map_blocks,
    map_operands,
    operand_vars,
    reads,
    rename,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names

WORK = 4  # cheap operations that a reader may repeat
Path = tuple[tuple[Stmt, int], ...]  # the statements around one, and where in their blocks they stand


def late(fn: Function, guards: frozenset[str]) -> Function:
    """The program without the arrays that loops behind these tests can do without."""
    while True:
        made = next((m for name in fn.types if (m := _removed(fn, name, guards)) is not None), None)
        if made is None:
            return fn
        fn = made


def _removed(fn: Function, name: str, guards: frozenset[str]) -> Function | None:
    """The program without an array; None where it has to stay."""
    found = _Array.of(fn, name)
    if found is None or not all(_guarded(path, guards) for path, _ in found.readers):
        return None
    chain = found.chain()
    if chain is None:
        return None
    names, types = Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)

    def block(statements: Block) -> Block:
        result: list[Stmt] = []
        for stmt in statements:
            if any(stmt is r for _, r in found.readers):
                result += again(stmt)
            elif stmt is not found.store and stmt is not found.new:
                result.append(map_blocks(block, stmt))
        return tuple(result)

    def again(reader: Stmt) -> Block:
        assert isinstance(reader, Assign)
        fresh = {n: names.fresh(n) for s in chain for n in assigns(s)}
        types.update({new: types[old] for old, new in fresh.items()})
        moved = dict(zip((c.name for c in found.counters), entries_of(reader.args[1]), strict=True))
        copied = tuple(_with(s, moved) for s in rename(chain, fresh) if isinstance(s, Assign))
        return (*copied, replace(reader, op="alias", args=copied[-1].targets))

    return _without(replace(fn, body=block(fn.body), types=types), chain)


def _without(fn: Function, chain: tuple[Assign, ...]) -> Function:
    """The program without those statements of a chain that nothing reads any more."""
    for stmt in reversed(chain):
        if not any(stmt.target.name in reads(s) for s in walk(fn.body)):
            fn = fn.with_body(_dropped(fn.body, stmt))
    return fn


def _dropped(statements: Block, stmt: Stmt) -> Block:
    return tuple(map_blocks(lambda b: _dropped(b, stmt), s) for s in statements if s is not stmt)


def _with(stmt: Assign, moved: dict[str, Operand]) -> Assign:
    """With other operands for the counters."""
    found = map_operands(lambda o: moved.get(o.name, o) if isinstance(o, Var) else o, stmt)
    assert isinstance(found, Assign)
    return found


def _guarded(path: Path, guards: frozenset[str]) -> bool:
    return any(isinstance(s, If) and isinstance(s.cond, Var) and s.cond.name in guards for s, _ in path)


def _binds(path: Path, name: str) -> bool:
    """Whether one of these loops counts with a name."""
    return any(isinstance(s, For) and s.var.name == name for s, _ in path)


def _paths(block: Block, around: Path = ()) -> Iterator[tuple[Path, Stmt]]:
    for k, stmt in enumerate(block):
        path = (*around, (stmt, k))
        yield path, stmt
        for part in blocks(stmt):
            yield from _paths(part, path)


@dataclass
class _Array:
    """An array of the compiler: what makes it, stores its elements, and reads them, each with where it stands."""

    fn: Function
    name: str
    every: list[tuple[Path, Stmt]]
    new: Stmt
    at: Path
    store: Store
    counters: tuple[Var, ...]
    readers: list[tuple[Path, Assign]]
    classes: Classes
    once: Mapping[str, Stmt]

    @classmethod
    def of(cls, fn: Function, name: str) -> _Array | None:
        """None where something else is done with it, or its elements are stored more than once."""
        if not fn.types[name].array or name in operand_vars(fn.result) or name in fn.constants:
            return None
        every = list(_paths(fn.body))
        uses = [(p, s) for p, s in every if name in (*reads(s), *assigns(s))]
        new = [s for _, s in uses if name in assigns(s)]
        stores = [(p, s) for p, s in uses if isinstance(s, Store)]
        readers = [(p, s) for p, s in uses if isinstance(s, Assign) and s.op == "getitem" and s.args[0] == Var(name) and not fn.types[s.target.name].array]
        if len(new) != 1 or len(stores) != 1 or not readers or len(uses) != 2 + len(readers):
            return None
        at, store = stores[0]
        loops = {s.var for s, _ in at if isinstance(s, For)}
        counters = tuple(c for c in entries_of(store.index) if c in loops and isinstance(c, Var))
        own = isinstance(new[0], Assign) and new[0].op == "np.empty" and store.target == Var(name) and store.mode == "set"
        if not own or len(set(counters)) != len(entries_of(store.index)) or name in operand_vars(store.value):
            return None
        return cls(fn, name, every, new[0], at, store, counters, readers, aliases(fn), definitions(fn).once)

    def chain(self) -> tuple[Assign, ...] | None:
        """The statements that make an element; None where some are costly, or give something else by the time that it is read."""
        inner = next(b for b in blocks(self.at[-2][0]) if any(s is self.store for s in b))
        own = {c.name for c in self.counters}
        found: list[Assign] = []
        waiting = list(operand_vars(self.store.value))
        while waiting:
            name = waiting.pop()
            made = self.once.get(name)
            if isinstance(made, Assign) and any(s is made for s in inner):
                if not any(s is made for s in found):
                    found.append(made)
                    waiting += [n for n in reads(made) if not self.fn.types[n].array]
            elif name not in own and not self.stands(name):
                return None
        order = {id(s): k for k, s in enumerate(inner)}
        found.sort(key=lambda s: order[id(s)])
        good = bool(found) and self.store.value == found[-1].target and all(map(self.repeats, found))
        return tuple(found) if good and sum(s.op != "getitem" for s in found) <= WORK else None

    def stands(self, name: str) -> bool:
        """Whether a name is bound before the store and every reader, in the same trips of the loops around both."""
        if name in self.once:
            path = next(p for p, s in self.every if s is self.once[name])
            return all(self.before(path, len(self.common(reader))) for reader, _ in self.readers)
        if all(_binds(self.common(r), name) and not _binds(r[len(self.common(r)) :], name) for r, _ in self.readers):
            return True
        return any(name == p.name for p in self.fn.params) and not any(name in assigns(s) for _, s in self.every)

    def before(self, path: Path, depth: int) -> bool:
        """Whether a statement stands in a block around the store, ahead of it; `depth` statements are around a reader, too."""
        around = len(path) - 1
        if isinstance(path[-1][0], For):  # a counter: of a loop around both
            return around < depth and path[-1][0] is self.at[around][0]
        return around <= depth and all(a[0] is b[0] for a, b in zip(path[:-1], self.at, strict=False)) and path[-1][1] < self.at[around][1]

    def common(self, path: Path) -> Path:
        """The statements around both the store and a reader."""
        count = next(k for k, (a, b) in enumerate(zip(self.at, path, strict=False)) if a[0] is not b[0])
        return self.at[:count]

    def repeats(self, stmt: Assign) -> bool:
        """Whether a reader may run a statement of the chain again, and finds what the store found."""
        if len(stmt.targets) != 1 or stmt.kwargs or self.fn.types[stmt.target.name].array:
            return False
        if stmt.op != "getitem":
            cost = operation(stmt.op).cost
            return total(stmt.op) and cost is not None and cost <= 1
        array = stmt.args[0]
        return isinstance(array, Var) and self.stands(array.name) and all(self.kept(array.name, path) for path, _ in self.readers)

    def kept(self, array: str, reader: Path) -> bool:
        """Whether an array holds for a reader what it held for the store: all that writes to it does so before, in the same trip, or nothing does."""
        depth = len(self.common(reader))
        if self.at[depth][1] >= reader[depth][1]:
            return False
        for path, stmt in self.every:
            if isinstance(stmt, Store) and self.classes.find(stmt.target.name) == self.classes.find(array):
                shared = len(path) > depth and all(a[0] is b[0] for a, b in zip(path[:depth], self.at, strict=False))
                if not shared or path[depth][1] >= self.at[depth][1]:
                    return False
            elif not isinstance(stmt, (Store, Assign, For, If)) and array in reads(stmt) or isinstance(stmt, Assign) and stmt.kwargs and array in reads(stmt):
                return False
        return True
