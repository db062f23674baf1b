"""Elements around the counter of a loop stay in scalars as it goes along: each is read once and written once.

    for i in range(n - 2, 0, -1):                 low, mid = u[n - 2], u[n - 1]
        u[i - 1] += a * u[i + 1]                  for i in range(n - 2, 0, -1):
        u[i] = b                        ->            new = u[i - 1]
                                                      new += a * mid; low = b
                                                      u[i + 1] = mid
                                                      mid = low; low = new
                                                  u[1] = mid; u[0] = low

Where an element is made of one that the trip before has stored, each trip waits for that store; it does not for a scalar. What is added to an element is
added in the same order. Legal where all that a loop does with the array is to read and store such elements, where those at both ends of the window are met in
each trip, so that all are there, no position counts from the end, and the loop binds no names of its bounds or of the other axes' positions. Recurrences are
such, and their sweeps back.

    >>> import numpy as np
    >>> import stgrad
    >>> def swept(x, n):
    ...     for i in range(1, n):
    ...         x[i] -= 0.5 * x[i - 1] * x[i]
    ...     return x[n - 1]
    >>> "x[i - 1] = x_beside" in stgrad.jit(swept).lowered(np.ones(5), 5)
    True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from stgrad.analysis.affine import Affine, Positions, number
from stgrad.analysis.packing import Packing
from stgrad.ir import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Operand,
    Pack,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    entries_of,
    map_blocks,
    operand_vars,
    reads,
    walk,
)
from stgrad.names import Names

WIDEST = 4  # elements
INT, BOOL = Type("int64", weak=True), Type("bool")


@dataclass(frozen=True)
class _Access:
    stmt: Assign | Store
    array: str
    index: tuple[Operand, ...]
    always: bool  # in each trip


@dataclass(frozen=True)
class _Window:
    """Elements `array[..., counter + base + offset, ...]` for each offset from `low` to `high`; `axis`: where the counter stands."""

    array: str
    axis: int
    index: tuple[Operand, ...]
    base: Affine
    offsets: dict[int, int]  # of each access, by its identity
    accesses: tuple[_Access, ...]

    @property
    def span(self) -> range:
        return range(min(self.offsets.values()), max(self.offsets.values()) + 1)


def neighbours(fn: Function) -> Function:
    """The program with such elements in scalars."""
    types = dict(fn.types)
    state = _Neighbours(types, Names([*types, *(p.name for p in fn.params)]), Packing.of(fn, types))
    return replace(fn, body=state.block(fn.body), types=types)


def _recurs(body: Block, offsets: dict[int, int], ahead: int) -> bool:
    """Whether an element is made of one that an earlier trip has made: `ahead` is the step of the counter."""
    made_of: dict[str, set[int]] = {}

    def block(statements: Block) -> bool:
        return any(map(one, statements))

    def one(stmt: Stmt) -> bool:
        if isinstance(stmt, If):
            return block(stmt.then) or block(stmt.orelse)
        sources = set().union(*(made_of.get(n, ()) for n in reads(stmt)))
        if isinstance(stmt, Assign):
            sources |= {offsets[id(stmt)]} if id(stmt) in offsets else set()
            for target in stmt.targets:
                made_of[target.name] = made_of.get(target.name, set()) | sources
            return False
        return id(stmt) in offsets and any((offsets[id(stmt)] - source) * ahead >= 1 for source in sources)

    return block(body)


@dataclass
class _Neighbours:
    types: dict[str, Type]
    names: Names
    packing: Packing

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        for stmt in statements:
            inner = map_blocks(self.block, stmt)
            windows = self.windows(stmt) if isinstance(stmt, For) else []
            result += self.rolled(stmt, windows) if windows and isinstance(stmt, For) else [inner]
        return tuple(result)

    # ---------------------------------------------------------------- legality

    def windows(self, loop: For) -> list[_Window]:
        """The arrays of a loop of which a few neighbouring elements are enough."""
        plain = all(isinstance(s, (Assign, Store, If)) for s in walk(loop.body))
        if not plain or loop.step not in (Const(1), Const(-1)) or not any(isinstance(s, Store) for s in walk(loop.body)) or self.packing.fits(loop):
            return []
        by_class: dict[str, list[_Access] | None] = {}
        for found in self.accesses(loop.body):
            name = found if isinstance(found, str) else found.array
            key = self.packing.orders.classes.find(name)
            held = by_class.setdefault(key, [])
            if isinstance(found, str) or held is None:
                by_class[key] = None
            else:
                held.append(found)
        positions, bound = Positions.of(loop, self.packing.defined), assigned(loop.body)
        if not bound.isdisjoint((*operand_vars(loop.start), *operand_vars(loop.stop))):
            return []  # elements are read before the loop and written behind it by the names of its bounds
        ahead = 1 if loop.step == Const(1) else -1
        return [w for held in by_class.values() if held for w in self.window(held, positions, bound) if _recurs(loop.body, w.offsets, ahead)]

    def accesses(self, statements: Block, always: bool = True) -> Iterator[_Access | str]:
        """Each element that is read or stored, and the name of each array of which something else is done."""
        for stmt in statements:
            if isinstance(stmt, Store):
                single = stmt.mode in ("set", "add") and len(entries_of(stmt.index)) == self.types[stmt.target.name].rank
                yield _Access(stmt, stmt.target.name, entries_of(stmt.index), always) if single else stmt.target.name
            elif isinstance(stmt, Assign):
                arrays = [n for n in reads(stmt) if self.types[n].array]
                single = stmt.op == "getitem" and len(arrays) == 1 and not self.types[stmt.target.name].array
                if single and isinstance(stmt.args[0], Var) and len(entries_of(stmt.args[1])) == self.types[arrays[0]].rank:
                    yield _Access(stmt, arrays[0], entries_of(stmt.args[1]), always)
                elif stmt.op != "shape":
                    yield from (*arrays, *(t.name for t in stmt.targets if self.types[t.name].array))
            elif isinstance(stmt, If):
                yield from self.accesses(stmt.then, always=False)
                yield from self.accesses(stmt.orelse, always=False)

    def window(self, held: Sequence[_Access], positions: Positions, bound: Set[str]) -> Iterator[_Window]:
        first = held[0]
        t = self.types[first.array]
        moving = [k for k, item in enumerate(first.index) if positions.moves(item)]
        if t.dtype != "float64" or len(moving) != 1 or any(a.array != first.array for a in held) or not any(isinstance(a.stmt, Store) for a in held):
            return
        (axis,) = moving
        others = [a.index[:axis] + a.index[axis + 1 :] for a in held]
        rests = [self.rest(a.index[axis], positions) for a in held]
        base = rests[0]
        if not bound.isdisjoint(n for o in others[0] for n in operand_vars(o)):
            return
        if base is None or any(o != others[0] for o in others) or any(r is None or (r - base).terms for r in rests):
            return
        apart = [(r - base).constant for r in rests if r is not None]
        if any(c != int(c) for c in apart):
            return
        found = _Window(first.array, axis, first.index, base, {id(a.stmt): int(c) for a, c in zip(held, apart, strict=True)}, tuple(held))
        met = {found.offsets[id(a.stmt)] for a in held if a.always}
        if 2 <= len(found.span) <= WIDEST and {found.span[0], found.span[-1]} <= met and all(abs(f) == 1 for _, f in base.terms):
            yield found

    def rest(self, position: Operand, positions: Positions) -> Affine | None:
        """What a position is beside the counter, where it certainly counts from the start of its axis."""
        form = positions.form(position)
        if form is None or form.factor(positions.counter) != 1 or not self.packing.orders.from_start(position):
            return None
        rest = form.without(positions.counter)
        return rest if positions.still(rest) else None

    # --------------------------------------------------------------- rewriting

    def rolled(self, loop: For, windows: Sequence[_Window]) -> list[Stmt]:
        up = loop.step == Const(1)
        runs = Var(self.names.fresh("_t"))
        self.types[runs.name] = BOOL
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        none: list[Stmt] = []
        body = loop.body
        for window in windows:
            kept = {c: self.scalar(window.array) for c in window.span}
            order = list(window.span) if up else list(window.span)[::-1]  # from the element that leaves to the one that comes
            leaves, comes = order[0], order[-1]
            for c in order[:-1]:
                ahead += self.element(window, loop.start, c, kept[c], read=True)
                behind += self.element(window, loop.stop, c, kept[c], read=False)
                none.append(Assign((kept[c],), "alias", (Const(0.0),)))
            body = self.with_scalars(body, window, kept)
            start = [] if self.overwritten(window, comes) else self.element(window, loop.var, comes, kept[comes], read=True)
            end = self.element(window, loop.var, leaves, kept[leaves], read=False)
            moved = [Assign((kept[a],), "alias", (kept[b],)) for a, b in zip(order, order[1:], strict=False)]
            body = (*start, *body, *end, *moved)
        test = Assign((runs,), "np.less" if up else "np.greater", (loop.start, loop.stop))
        return [test, If(runs, tuple(ahead), tuple(none)), replace(loop, body=body), If(runs, tuple(behind), ())]

    def scalar(self, array: str) -> Var:
        made = Var(self.names.fresh(f"{array}_beside"))
        self.types[made.name] = Type("float64")
        return made

    def overwritten(self, window: _Window, offset: int) -> bool:
        """Whether the first thing that each trip does with an element is to store it."""
        first = next(a for a in window.accesses if window.offsets[id(a.stmt)] == offset)
        return first.always and isinstance(first.stmt, Store) and first.stmt.mode == "set"

    def element(self, window: _Window, counter: Operand, offset: int, scalar: Var, *, read: bool) -> list[Stmt]:
        """Statements that read the element of an offset into a scalar, or write it back."""
        out: list[Stmt] = []
        index = list(window.index)
        index[window.axis] = self.position(counter, window.base + number(offset), out)
        place = index[0] if len(index) == 1 else Pack(tuple(index))
        array = Var(window.array)
        out.append(Assign((scalar,), "getitem", (array, place)) if read else Store(array, place, scalar))
        return out

    def position(self, counter: Operand, rest: Affine, out: list[Stmt]) -> Operand:
        """The sum of a counter, or a bound of it, and what stands still."""
        constant = int(rest.constant)
        terms: list[tuple[str, Operand]] = [("np.add" if f == 1 else "np.subtract", Var(n)) for n, f in rest.terms]
        if constant:
            terms.append(("np.add" if constant > 0 else "np.subtract", Const(abs(constant))))
        for op, term in terms:
            made = Var(self.names.fresh("_t"))
            self.types[made.name] = INT
            out.append(Assign((made,), op, (counter, term)))
            counter = made
        return counter

    def with_scalars(self, statements: Block, window: _Window, kept: dict[int, Var]) -> Block:
        def one(stmt: Stmt) -> Stmt:
            offset = window.offsets.get(id(stmt))
            if offset is None:
                return map_blocks(lambda b: tuple(map(one, b)), stmt)
            if isinstance(stmt, Assign):
                return replace(stmt, op="alias", args=(kept[offset],))
            assert isinstance(stmt, Store)
            args = (stmt.value,) if stmt.mode == "set" else (kept[offset], stmt.value)
            return Assign((kept[offset],), "alias" if stmt.mode == "set" else "np.add", args, (), stmt.loc, stmt.note)

        return tuple(map(one, statements))


__all__ = ["neighbours"]
