"""Independent loops run on threads, where that can be shown to be safe.

    for i in range(n):                    for part in numba.prange(parts):
        y[i] = f(x[i])             ->         for i in range(part * n // parts, (part + 1) * n // parts):
                                                  y[i] = f(x[i])

The rule: what one trip writes of an array no other trip reads or writes, as the positions on one axis tell (`analysis.orders`),
or the array is only added to; other arrays are only read; a scalar is made anew in each trip
before it is read, or only added to. A loop of which this cannot be shown stays, with the reason in a comment.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def squares(x):
    ...     y = np.empty(len(x))
    ...     for i in range(len(x)):
    ...         y[i] = x[i] * x[i]
    ...     return y
    >>> show_pass("parallel", stgrad.jit(squares, parallel=True), np.ones(99))
    y = runtime.empty(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    return y
    ->
    y = runtime.empty(x.shape[0])
    n_x = x.shape[0]
    parts = runtime.chunks(n_x, 4, 1)
    for part in numba.prange(parts):
        for i in range(part * n_x // parts, (part + 1) * n_x // parts):
            y[i] = x[i] * x[i]
    return y
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from stgrad.analysis.affine import Positions, named
from stgrad.analysis.alias import Classes, sharing
from stgrad.analysis.bounds import Bounds
from stgrad.analysis.definitions import definitions
from stgrad.analysis.liveness import Liveness, liveness
from stgrad.analysis.orders import Access, Orders
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    Function,
    Operand,
    Pop,
    Push,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    assigns,
    entries_of,
    map_blocks,
    operand_vars,
    operands,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.chunks import INNER, Chunks, work

FEW = 32  # trips that are not worth a thread


class _Refused(Exception):
    """Why a loop stays as it is."""


def parallel(fn: Function) -> Function:
    """Mark the outermost independent loops of a lowered program."""
    fn = fn.with_body(_plain_counters(fn.body))
    classes = sharing(fn)
    orders = Orders(fn.types, classes, definitions(fn).once, Bounds(definitions(fn)))
    state = _Loops(fn, liveness(fn), classes, orders, Names(fn.types), dict(fn.types))
    return replace(fn, body=state.block(fn.body), types=state.types)


@dataclass
class _Loops:
    fn: Function
    live: Liveness
    classes: Classes
    orders: Orders
    names: Names
    types: dict[str, Type]
    depth: int = 0  # loops around that run in order

    def block(self, statements: Block) -> Block:
        return tuple(s for stmt in statements for s in self.rewrite(stmt))

    def rewrite(self, stmt: Stmt) -> Iterator[Stmt]:
        if not isinstance(stmt, For):
            yield map_blocks(self.block, stmt)
            return
        body = _Body(self, stmt)
        try:
            sums = body.check()
        except _Refused as reason:
            self.depth += 1
            inner = map_blocks(self.block, stmt)
            self.depth -= 1
            yield inner if stmt.note else replace(inner, note=f"not parallel: {reason}")
            return
        *before, loop = self._forwards(stmt)
        assert isinstance(loop, For)
        yield from before
        yield from Chunks(loop, sorted(sums), sorted(body.added), body.reach() if body.added else None, self.types, self.names).statements()

    def _forwards(self, loop: For) -> Iterator[Stmt]:
        """With step 1, the only one that threads share out."""
        if loop.step == Const(1):
            yield loop
            return
        bounds: list[Operand] = []
        for bound in (loop.stop, loop.start):
            if isinstance(bound, Const):
                bounds.append(Const(bound.value + 1))
                continue
            end = Var(self.names.fresh("_t"))
            self.types[end.name] = Type("int64", weak=True)
            bounds.append(end)
            yield Assign((end,), "np.add", (bound, Const(1)))
        yield replace(loop, start=bounds[0], stop=bounds[1], step=Const(1))


class _Body:
    """The checks of one loop."""

    def __init__(self, loops: _Loops, loop: For) -> None:
        self.loop = loop
        self.types, self.classes = loops.types, loops.classes
        self.statements = tuple(walk(loop.body))
        self.assigned = assigned(loop.body)
        self.live_after = loops.live.after[id(loop)]
        self.carried = Liveness(loop.body, ()).before & self.assigned
        self.arrays = [n for n, t in loops.types.items() if t.array]
        self.depth = loops.depth
        self.orders, self.positions = loops.orders, Positions.of(loop, loops.orders.once)
        self.added: set[str] = set()  # arrays that trips add to at places that other trips may add to

    def check(self) -> frozenset[str]:
        """The names that are only added to; raises _Refused."""
        self._trips()
        if all(map(_moves, self.statements)):
            raise _Refused("it only moves numbers")
        for stmt in self.statements:
            self._statement(stmt)
        sums = frozenset(n for n in self.carried if self._only_summed(n))
        if self.carried - sums:
            raise _Refused(f"`{min(self.carried - sums)}` is carried from trip to trip")
        left = (self.assigned - sums) & self.live_after
        if left:
            raise _Refused(f"`{min(left)}` is read after the loop")
        for root in sorted({self.classes.find(s.target.name) for s in self.statements if isinstance(s, Store)}):
            try:
                self._written(root)
            except _Refused:
                name = self._only_added(root)
                if name is None:
                    raise
                self.added.add(name)
        if self.added and self.depth and self.reach() is None and work(self.loop.body) < INNER:
            raise _Refused("it has little work for the copies that its sums would need")
        return sums

    def _only_added(self, root: str) -> str | None:
        """The array of an alias class, if all that happens to it is that floats are added to elements of it."""
        members = {n for n in self.arrays if self.classes.find(n) == root}
        touched = set()
        for stmt in self.statements:
            if isinstance(stmt, Store) and stmt.target.name in members:
                touched.add(stmt.target.name)
                rest: tuple[Operand, ...] = (stmt.index, stmt.value)
                if stmt.mode == "set":
                    return None
            elif isinstance(stmt, Assign) and stmt.op == "shape":
                rest = ()
            else:
                rest = operands(stmt)
            if any(n in members for o in rest for n in operand_vars(o)):
                return None
        name = touched.pop() if len(touched) == 1 else None
        return name if name is not None and name not in self.assigned and self.types[name].is_float else None

    def reach(self) -> int | None:
        """How far the places of the sums lie apart, where they are the counter plus constants on one axis."""
        widths = []
        for name in self.added:
            stores = [s for s in self.statements if isinstance(s, Store) and s.target.name == name]
            items = [entries_of(s.index) for s in stores]
            found = [self._spread([i[axis] for i in items]) for axis in range(min(map(len, items)))]
            known = [w for w in found if w is not None]
            if not known:
                return None
            widths.append(min(known))
        return max(widths)

    def _spread(self, parts: list[Operand]) -> int | None:
        offsets = [self._offset(p) for p in parts]
        known = [o for o in offsets if o is not None]
        return max(known) - min(known) if len(known) == len(offsets) else None

    def _offset(self, part: Operand) -> int | None:
        """How far a position that counts from the start is from the counter, where a constant tells."""
        form = self.positions.form(part) if self.orders.from_start(part) else None
        apart = form - named(self.positions.counter) if form is not None else None
        return int(apart.constant) if apart is not None and not apart.terms else None

    def _trips(self) -> None:
        loop = self.loop
        if loop.step not in (Const(1), Const(-1)):
            raise _Refused("its step is not 1")
        if all(isinstance(o, Const) for o in (loop.start, loop.stop)) and abs(loop.stop.value - loop.start.value) < FEW:  # type: ignore[union-attr]
            raise _Refused("it has few trips")

    def _statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, (While, Custom, Stack, Push, Pop)):
            raise _Refused(f"a {type(stmt).__name__.lower()} in it")
        if isinstance(stmt, Effect):
            raise _Refused(f"`{stmt.op}` in it")
        if isinstance(stmt, Assign) and ("call_python" in stmt.op or operation(stmt.op).draws or any(k == "out" for k, _ in stmt.kwargs)):
            raise _Refused(f"`{stmt.op}` in it")

    # ------------------------------------------------------------- scalars

    def _only_summed(self, name: str) -> bool:
        """Whether all that happens to a scalar is `name += something else`."""
        if self.types[name].array:
            return False
        for stmt in self.statements:
            touched = name in assigns(stmt) or any(name in operand_vars(o) for o in operands(stmt))
            if touched and not _is_sum(stmt, name):
                return False
        return True

    # ------------------------------------------------------------- arrays

    def _written(self, root: str) -> None:
        """Each trip must have its own part of the arrays of an alias class."""
        members = {n for n in self.arrays if self.classes.find(n) == root}
        if members <= self.assigned and not members & (self.carried | self.live_after) and self._made_here(members):
            return
        found: list[Access] = []
        rows: set[str] = set()
        for stmt in self.statements:
            found += self._accesses(stmt, members - rows)
            if isinstance(stmt, Assign) and stmt.op == "getitem" and stmt.target.name in members:
                rows.add(stmt.target.name)  # a view of the trip's own part
        if not self.orders.elements_apart(found, self.loop, self.positions):
            raise _Refused(f"two trips may touch the same part of `{min(members)}`")

    def _made_here(self, members: set[str]) -> bool:
        made = [s for s in self.statements if isinstance(s, Assign) and any(t.name in members for t in s.targets)]
        return all(operation(s.op).kind in ("creation", "like") or any(n in members for o in s.args for n in operand_vars(o)) for s in made)

    def _accesses(self, stmt: Stmt, members: set[str]) -> Iterator[Access]:
        """What a statement reads or writes of these arrays; what may be a view, as if it were written to."""
        if isinstance(stmt, Store) and stmt.target.name in members:
            yield Access(stmt.target.name, stmt.index, "write")
            rest: tuple[Operand, ...] = (stmt.value,)
        elif isinstance(stmt, Assign) and stmt.op == "getitem" and isinstance(stmt.args[0], Var) and stmt.args[0].name in members:
            yield Access(stmt.args[0].name, stmt.args[1], "write" if self.types[stmt.target.name].array else "read")
            rest = ()
        elif isinstance(stmt, Assign) and stmt.op == "shape":
            rest = ()
        else:
            rest = operands(stmt)
        for name in (n for o in rest for n in operand_vars(o)):
            if name in members:
                raise _Refused(f"`{name}` is read as a whole and written to")


def _moves(stmt: Stmt) -> bool:
    """Whether a statement computes nothing: memory is no faster on two threads."""
    return (
        isinstance(stmt, For)
        or (isinstance(stmt, Store) and stmt.mode == "set")
        or (isinstance(stmt, Assign) and stmt.op in ("getitem", "alias"))
    )


def _is_sum(stmt: Stmt, name: str) -> bool:
    if not isinstance(stmt, Assign) or operation(stmt.op).signs != (1, 1) or stmt.targets != (Var(name),) or len(stmt.args) != 2:
        return False
    return stmt.args[0] == Var(name) and name not in operand_vars(stmt.args[1])


def _plain_counters(block: Block) -> Block:
    """Loops with their own counters, where `runtime.opaque` hides them from the compiler."""

    def one(stmt: Stmt) -> Stmt:
        stmt = map_blocks(_plain_counters, stmt)
        first = stmt.body[0] if isinstance(stmt, For) and stmt.body else None
        if isinstance(stmt, For) and isinstance(first, Assign) and first.op == "runtime.opaque" and first.args == (stmt.var,):
            return replace(stmt, var=first.target, body=stmt.body[1:])
        return stmt

    return tuple(map(one, block))
