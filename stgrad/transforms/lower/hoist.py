"""Outer products that a reversed loop sums into one matrix: their factors are kept, and multiplied once, after the loop.

    for t in range(n - 1, -1, -1):               z_rows = np.empty((n, k))
        z = ...                                  for t in range(n - 1, -1, -1):
        W_bar += np.outer(z, h_stack[t])   ->        z = ...
                                                     z_rows[t] = z
                                                 W_bar += np.transpose(z_rows) @ h_stack

Every trip would pass over the whole matrix; the one product does it once, in blocks. That holds where the loop uses the matrix for nothing
else. What is kept is one vector for each trip, of a loop that keeps vectors of each trip as it is; a factor that is a row of an array
already is read from there, and beside a factor that stands still the other is summed. The sum is done in another order, as in any accumulation
of adjoints; the sums of the user's own program stay.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def recurrent(W, b, n):
    ...     h = np.zeros_like(b)
    ...     for t in range(n):
    ...         h = W @ np.tanh(h + b)
    ...     return h[0]
    >>> show_pass("hoist", stgrad.grad(recurrent), np.ones((9, 9)), np.ones(9), 3)
    tanh_h_part_stack = []
    h = np.zeros_like(b)
    h_2 = h
    for t in range(n):
        n_h_2 = h_2.shape[0]
        n_b = b.shape[0]
        if n_h_2 != n_b:
            raise ValueError('operands could not be broadcast together (line 4: h = W @ np.tanh(h + b))')
        tanh_h_part = np.tanh(h_2 + b)
        tanh_h_part_stack.append(tanh_h_part)
        h_3 = W @ tanh_h_part
        h_2 = h_3
    if h_2.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `h` (line 5: return h[0])')
    # grad of line 5: return h[0]
    h_2_bar = np.zeros_like(h_2)
    h_2_bar[0] += 1.0
    W_bar = np.zeros_like(W)
    for t in range(n - 1, -1, -1):
        # grad of line 3: for t in range(n):
        h_3_bar = h_2_bar
        tanh_h_part_2 = tanh_h_part_stack.pop()
        # grad of line 4: h = W @ np.tanh(h + b)
        tanh_h_part_bar = np.transpose(W) @ h_3_bar
        W_bar += np.outer(h_3_bar, tanh_h_part_2)
        h_2_bar = tanh_h_part_bar * (1.0 - tanh_h_part_2 * tanh_h_part_2)
    return W_bar
    ->
    tanh_h_part_stack = []
    h = np.zeros_like(b)
    h_2 = h
    for t in range(n):
        n_h_2 = h_2.shape[0]
        n_b = b.shape[0]
        if n_h_2 != n_b:
            raise ValueError('operands could not be broadcast together (line 4: h = W @ np.tanh(h + b))')
        tanh_h_part = np.tanh(h_2 + b)
        tanh_h_part_stack.append(tanh_h_part)
        h_3 = W @ tanh_h_part
        h_2 = h_3
    if h_2.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `h` (line 5: return h[0])')
    # grad of line 5: return h[0]
    h_2_bar = np.zeros_like(h_2)
    h_2_bar[0] += 1.0
    W_bar = np.zeros_like(W)
    t2 = max(n, 0)
    h_2_bar_rows = np.empty((t2, W_bar.shape[0]))
    tanh_h_part_rows = np.empty((t2, W_bar.shape[1]))
    for t in range(n - 1, -1, -1):
        # grad of line 3: for t in range(n):
        h_3_bar = h_2_bar
        tanh_h_part_2 = tanh_h_part_stack.pop()
        # grad of line 4: h = W @ np.tanh(h + b)
        h_2_bar_rows[t] = h_2_bar
        tanh_h_part_rows[t] = tanh_h_part_2
        h_2_bar = np.transpose(W) @ h_3_bar * (1.0 - tanh_h_part_2 * tanh_h_part_2)
    W_bar += np.transpose(h_2_bar_rows) @ tanh_h_part_rows
    return W_bar
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.analysis.alias import Classes, sharing
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.trips import Counting
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    Dim,
    For,
    Function,
    Operand,
    Pack,
    Pop,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    assigns,
    map_blocks,
    operand_vars,
    reads,
    stored,
    walk,
)
from stgrad.names import Names

REAL = ("float64", "float32")


def hoist(fn: Function) -> Function:
    """The program with sums of outer products done after their loops."""
    if not any(isinstance(s, Assign) and s.op == "np.outer" and s.note for s in walk(fn.body)):
        return fn
    state = _State(fn, dict(fn.types), Names(fn.types), sharing(fn), definitions(fn), definitions(fn).reads)
    return replace(fn, body=state.block(fn.body), types=state.types)


@dataclass
class _State:
    fn: Function
    types: dict[str, Type]
    names: Names
    classes: Classes
    definitions: Definitions
    uses: Counter[str]  # how often each name is read

    def block(self, statements: Block) -> Block:
        out: list[Stmt] = []
        for stmt in statements:
            stmt = map_blocks(self.block, stmt)
            out += self.loop(stmt) if isinstance(stmt, For) else [stmt]
        return tuple(out)

    def loop(self, loop: For) -> list[Stmt]:
        sums = [total for name in sorted(stored(loop.body)) for total in self.sums(loop.body, name)]
        if not sums or loop.parallel or not self.keeps(loop):
            return [loop]
        moving = assigned((loop,))
        counting = Counting(self.definitions, self.types, self.names, moving)
        trips, start = self.trips(loop, counting), counting.value(loop.start)
        if trips is None or start is None or loop.step not in (Const(1), Const(-1)):
            return [loop]
        return _Hoisted(self, loop, sums, counting, trips, start).statements()

    def trips(self, loop: For, counting: Counting) -> Operand | None:
        """How often a loop runs: of one that counts down from n - 1 it is n."""
        first = self.definitions.pure(loop.start.name) if isinstance(loop.start, Var) else None
        if first is not None and (first.op, first.args[1:], loop.stop, loop.step) == ("np.subtract", (Const(1),), Const(-1), Const(-1)):
            count = counting.value(first.args[0])
            if isinstance(count, Var):
                return count if counting.nonnegative(count) else counting.assign("max", count, Const(0))
        return counting.trips(loop)

    def keeps(self, loop: For) -> bool:
        """Whether a loop takes vectors that an earlier one kept for each of its trips."""
        written = stored((loop,))
        for stmt in loop.body:
            if isinstance(stmt, Pop) and self.types[stmt.target.name].rank:
                return True
            if isinstance(stmt, Assign) and stmt.op == "getitem" and isinstance(stmt.args[0], Var) and self.types[stmt.target.name].rank:
                made = self.definitions.once.get(stmt.args[0].name)
                if isinstance(made, Assign) and made.op == "np.empty" and stmt.args[0].name not in written:
                    return True
        return False

    def sums(self, body: Block, name: str) -> list[_Sum]:
        """What a loop adds to a matrix, where that is all it does with it and each summand is an outer product; else nothing."""
        t = self.types[name]
        if t.rank != 2 or t.dtype not in REAL or all(d.constant is not None for d in t.dims) or not self.apart(body, name):
            return []
        found = [self.summand(body, at) for at, s in enumerate(body) if isinstance(s, Store) and s.target.name == name]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else []

    def apart(self, body: Block, name: str) -> bool:
        """Whether nothing in a loop touches a matrix but statements of its own block that add to it."""
        adding = [s for s in body if isinstance(s, Store) and s.target.name == name and s.mode == "add" and s.index == Const(Ellipsis) and s.note]
        others = [s for s in walk(body) if not any(s is a for a in adding)]
        touched = {n for s in others for n in (*reads(s), *assigns(s))} | {n for s in adding for n in operand_vars(s.value)}
        return bool(adding) and not any(self.classes.same(n, name) for n in touched)

    def summand(self, body: Block, at: int) -> _Sum | None:
        """What a statement adds, if that is an outer product which nothing else reads, transposed or not."""
        store = body[at]
        assert isinstance(store, Store)
        steps: list[Stmt] = [store]
        value, dtype = store.value, self.types[store.target.name].dtype
        turned = False
        while isinstance(value, Var) and self.uses[value.name] == 1:
            made = self.definition(body[:at], value.name)
            stmt = body[made] if made is not None else None
            if made is None or not isinstance(stmt, Assign) or stmt.kwargs:
                return None
            steps.append(stmt)
            if stmt.op == "np.outer":
                names = [a.name for a in stmt.args if isinstance(a, Var) and self.types[a.name].rank == 1 and self.types[a.name].dtype == dtype]
                roots = [self.root(body, made, n) for n in (names[::-1] if turned else names)]
                return _Sum(store, tuple(steps), made, roots[0], roots[1]) if len(roots) == 2 else None
            if stmt.op != "np.transpose" or len(stmt.args) != 1:
                return None
            turned, value = not turned, stmt.args[0]
        return None

    def definition(self, block: Sequence[Stmt], name: str) -> int | None:
        """Where the one definition of a name stands in a block."""
        if self.definitions.counts[name] != 1:
            return None
        return next((k for k, s in enumerate(block) if name in assigns(s)), None)

    def root(self, body: Block, at: int, name: str) -> str:
        """The array that a name is a copy of, as it still is at a position."""
        made = self.definition(body[:at], name)
        if made is None:
            return name
        stmt = body[made]
        if not isinstance(stmt, Assign) or stmt.op not in ("np.copy", "alias") or stmt.kwargs or not isinstance(stmt.args[0], Var):
            return name
        source, between = stmt.args[0].name, body[made + 1 : at]
        same = self.types[source].dtype == self.types[name].dtype and not any(self.changes(between, n) for n in (source, name))
        return self.root(body, at, source) if same else name

    def changes(self, statements: Iterable[Stmt], name: str) -> bool:
        """Whether statements bind a name, or write to what it stands for."""
        block = tuple(statements)
        return name in assigned(block) or any(self.classes.same(n, name) for n in stored(block))


@dataclass(frozen=True)
class _Sum:
    """`store.target += np.outer(left, right)`; `steps` are the statements that do it."""

    store: Store
    steps: tuple[Stmt, ...]
    at: int  # where the product stands in the loop's body
    left: str
    right: str


@dataclass
class _Hoisted:
    """The statements that replace a loop."""

    state: _State
    loop: For
    sums: list[_Sum]
    counting: Counting
    trips: Operand
    start: Operand
    rows: dict[str, list[tuple[int, Var]]] = field(default_factory=dict)  # the blocks in which a factor is kept, and from where
    stores: dict[int, list[Stmt]] = field(default_factory=dict)  # what to keep at a position of the body
    after: list[Stmt] = field(default_factory=list)

    def statements(self) -> list[Stmt]:
        for total in sorted(self.sums, key=lambda s: s.at):
            self.multiply(total)
        gone = {id(s) for total in self.sums for s in total.steps}
        body = [s for at, stmt in enumerate(self.loop.body) for s in (*self.stores.get(at, ()), *(() if id(stmt) in gone else (stmt,)))]
        return [*self.counting.out, replace(self.loop, body=tuple(body)), *self.after]

    def multiply(self, total: _Sum) -> None:
        """Add one product to the matrix after the loop; where one factor stands still, the other is summed and that is all."""
        moving = [self.state.changes((self.loop,), name) for name in (total.left, total.right)]
        if all(moving):
            left, right = (self.block(total, name, axis) for axis, name in enumerate((total.left, total.right)))
            turned = self.made("np.transpose", (left,), self.state.types[left.name].dims[::-1], total)
            self.add("np.matmul", turned, right, total)
        elif moving[1]:
            self.add("np.outer", Var(total.left), self.summed(total, total.right, 1), total)
        else:
            self.add("np.outer", self.summed(total, total.left, 0), Var(total.right), total)

    def add(self, op: str, left: Var, right: Var, total: _Sum) -> None:
        types = self.state.types
        product = self.made(op, (left, right), (types[left.name].dims[0], types[right.name].dims[-1]), total)
        self.after.append(replace(total.store, value=product))

    def made(self, op: str, args: tuple[Var, ...], dims: tuple[Dim, ...], total: _Sum) -> Var:
        """The result of an operation after the loop."""
        target = Var(self.state.names.fresh("_t"))
        self.state.types[target.name] = Type(self.state.types[args[0].name].dtype, dims, array=True)
        self.after.append(Assign((target,), op, args, (), total.store.loc, total.store.note))
        return target

    def summed(self, total: _Sum, name: str, axis: int) -> Var:
        """The sum of a factor over all trips."""
        target = self.state.types[total.store.target.name]
        result = Var(self.state.names.fresh(f"{name.strip('_')}_sum"))
        self.state.types[result.name] = Type(target.dtype, (target.dims[axis],), array=True)
        self.counting.out.append(Assign((result,), "np.zeros", (self.width(total, axis), *_dtype(target))))
        keep = Store(result, Const(Ellipsis), Var(name), "add", total.store.loc, total.store.note)
        self.stores.setdefault(total.at, []).append(keep)
        return result

    def width(self, total: _Sum, axis: int) -> Var:
        """An extent of the matrix, as it is before the loop."""
        width = self.counting.assign("shape", total.store.target, Const(axis))
        self.state.types[width.name] = replace(self.state.types[width.name], value=self.state.types[total.store.target.name].dims[axis])
        return width

    def block(self, total: _Sum, name: str, axis: int) -> Var:
        """The values of a factor in all trips, one row for each."""
        kept = self.standing(total.at, name)
        if kept is not None:
            return kept
        for since, rows in self.rows.get(name, ()):
            if not self.state.changes(self.loop.body[since : total.at], name):
                return rows
        rows = self.allocate(total, name, axis)
        self.rows.setdefault(name, []).append((total.at, rows))
        slot, steps = self.slot()
        keep = Store(rows, slot, Var(name), "set", total.store.loc, total.store.note)
        self.stores.setdefault(total.at, []).extend([*steps, keep])
        return rows

    def standing(self, at: int, name: str) -> Var | None:
        """An array whose rows are the values of a factor."""
        loop, state = self.loop, self.state
        made = state.definition(loop.body[:at], name)
        stmt = loop.body[made] if made is not None else None
        if not isinstance(stmt, Assign) or stmt.op != "getitem" or not isinstance(stmt.args[0], Var) or stmt.args[1] != loop.var or not self.whole():
            return None
        source = stmt.args[0]
        t = state.types[source.name]
        if t.rank != 2 or state.changes((loop,), source.name) or state.definitions.counts[source.name] != 1:
            return None
        if self.as_long(source.name):
            return source
        part = Var(state.names.fresh("_t"))
        state.types[part.name] = replace(t, dims=(self.length(), *t.dims[1:]))
        self.after.append(Assign((part,), "getitem", (source, Slice(NONE, self.trips, NONE))))
        return part

    def whole(self) -> bool:
        """Whether the trips count from 0, or down to it."""
        return (self.loop.start, self.loop.step) == (Const(0), Const(1)) or (self.loop.stop, self.loop.step) == (Const(-1), Const(-1))

    def as_long(self, array: str) -> bool:
        """Whether an array has as many rows as the loop has trips."""
        made = self.state.definitions.once.get(array)
        if isinstance(made, Assign) and made.op == "np.empty":
            shape = made.args[0]
            return isinstance(shape, Pack) and shape.items[0] == self.trips
        t = self.state.types[array]
        return isinstance(self.trips, Var) and self.state.types[self.trips.name].value == t.dims[0]

    def length(self) -> Dim:
        """The number of trips as an extent."""
        if isinstance(self.trips, Const):
            return Dim(None, self.trips.value)
        assert isinstance(self.trips, Var)
        known = self.state.types[self.trips.name].value
        if known is None:
            known = Dim(self.state.names.fresh("trips"))
            self.state.types[self.trips.name] = replace(self.state.types[self.trips.name], value=known)
        return known

    def allocate(self, total: _Sum, name: str, axis: int) -> Var:
        target = self.state.types[total.store.target.name]
        rows = Var(self.state.names.fresh(f"{name.strip('_')}_rows"))
        self.state.types[rows.name] = Type(target.dtype, (self.length(), target.dims[axis]), array=True)
        self.counting.out.append(Assign((rows,), "np.empty", (Pack((self.trips, self.width(total, axis))), *_dtype(target))))
        return rows

    def slot(self) -> tuple[Operand, list[Stmt]]:
        """The row of a trip."""
        if self.whole():
            return self.loop.var, []
        slot = Var(self.state.names.fresh("_t"))
        self.state.types[slot.name] = Type("int64", weak=True)
        args = (self.loop.var, self.start) if self.loop.step == Const(1) else (self.start, self.loop.var)
        return slot, [Assign((slot,), "np.subtract", args)]


def _dtype(t: Type) -> tuple[Const, ...]:
    return () if t.dtype == "float64" else (Const(np.dtype(t.dtype).type),)
