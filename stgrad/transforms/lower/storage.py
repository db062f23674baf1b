"""Stacks become preallocated arrays, or plain variables.

Before: `for i in range(n): push(s, x)` ... `for i in range(n - 1, -1, -1): x = pop(s)`; after: `s = np.empty(n)`,
`s[i] = x`, `x = s[i]`. That holds for a stack of scalars with one push in a nest of counted loops and one pop in the
mirrored nest. Where the loops are counted but not mirrored, a running position takes the counter's place. All other
stacks stay as they are.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def power(x, n):
    ...     y = x
    ...     for i in range(n):
    ...         y = y * y
    ...     return y
    >>> show_pass("storage", stgrad.grad(power), 2.0, 3)
    y_stack = []
    y = x
    for i in range(n):
        y_stack.append(y)
        y *= y
    y_bar = 1.0
    for i in range(n - 1, -1, -1):
        y_2 = y_stack.pop()
        # grad of line 4: y = y * y
        t = y_bar
        y_bar *= y_2
        y_bar += t * y_2
    return y_bar
    ->
    y = x
    y_stack = np.empty(max(n, 0))
    for i in range(n):
        y_stack[i] = y
        y *= y
    y_bar = 1.0
    for i in range(n - 1, -1, -1):
        y_2 = y_stack[i]
        # grad of line 4: y = y * y
        t = y_bar
        y_bar *= y_2
        y_bar += t * y_2
    return y_bar
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.extents import parameter_extents
from stgrad.analysis.statements import total as total_arithmetic
from stgrad.analysis.trips import INT, Counting, mirrored
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    For,
    Function,
    Operand,
    Pack,
    Pop,
    Push,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    blocks,
    map_blocks,
    reads,
    stored,
    walk,
)
from stgrad.names import Names
from stgrad.transforms.lower.pieces import zero
from stgrad.transforms.lower.rows import finished

Path = tuple[Stmt, ...]


def storage(fn: Function) -> Function:
    """Give every stack its storage."""
    names = Names([*fn.types, *(s.name for s in walk(fn.body) if isinstance(s, Stack))])
    classes = aliases(fn)
    written = frozenset(classes.find(name) for name in stored(fn.body))
    fn, rows = finished(fn, classes, written)
    state = Storage(dict(fn.types), names, definitions(fn), classes, written, parameter_extents(fn), rows)
    body = state.block(fn.body)
    return replace(fn, body=body, types=state.types)


@dataclass
class Storage:
    """Plans for the stacks of a function, and the statements that replace theirs."""

    types: dict[str, Type]
    names: Names
    definitions: Definitions
    classes: Classes
    written: frozenset[str]  # classes of arrays that are written in place
    extents: Mapping[str, tuple[str, int | None, int]]  # where the extents of parameters are read
    rows: frozenset[str] = frozenset()  # stacks of arrays that are finished when they are pushed
    pushes: dict[str, list[Stmt]] = field(default_factory=dict)  # what a push becomes, `value` for the operand pushed
    pops: dict[str, list[Stmt]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    before: dict[int, list[Stmt]] = field(default_factory=dict)  # statements to put before a statement, by id
    around: tuple[For, ...] = ()
    capacities: dict[tuple[int, ...], Operand] = field(default_factory=dict)  # how often nests of loops run, by their ids: counted once
    by_scope: dict[int, dict[str, tuple[list[Path], list[Path]]]] = field(default_factory=dict)

    def block(self, statements: Block) -> Block:
        for stmt in statements:
            if isinstance(stmt, Stack):
                self.plan(stmt.name, statements)
        return tuple(s for stmt in statements for s in self.rewrite(stmt))

    def rewrite(self, stmt: Stmt) -> list[Stmt]:
        if isinstance(stmt, Stack) and stmt.name in self.dropped:
            return []
        if isinstance(stmt, Push) and stmt.stack in self.pushes:
            return [_with_value(s, stmt.value, stmt) for s in self.pushes[stmt.stack]]
        if isinstance(stmt, Pop) and stmt.stack in self.pops:
            return [
                replace(s, targets=(stmt.target,), loc=stmt.loc, note=stmt.note) if isinstance(s, Assign) and s.targets == (HOLE,) else s
                for s in self.pops[stmt.stack]
            ]
        around, self.around = self.around, (*self.around, stmt) if isinstance(stmt, For) else self.around
        inner = map_blocks(self.block, stmt)
        self.around = around
        return [*self.before.get(id(stmt), []), inner]

    # ----------------------------------------------------------------- plans

    def used(self, scope: Block) -> dict[str, tuple[list[Path], list[Path]]]:
        """Where each stack is pushed and popped in a scope; found once."""
        if id(scope) not in self.by_scope:
            found: dict[str, tuple[list[Path], list[Path]]] = {}
            for path in sites(scope):
                if isinstance(path[-1], (Push, Pop)):
                    found.setdefault(path[-1].stack, ([], []))[isinstance(path[-1], Pop)].append(path)
            self.by_scope[id(scope)] = found
        return self.by_scope[id(scope)]

    def plan(self, stack: str, scope: Block) -> None:
        """Choose the storage of a stack that is declared in `scope`."""
        pushes, pops = self.used(scope).get(stack, ([], []))
        if not pushes and not pops:
            self.dropped.add(stack)
            return
        if len(pushes) != 1 or len(pops) != 1 or any(isinstance(s, (While, Custom)) for p in (*pushes, *pops) for s in p):
            return
        push, pop = pushes[0], pops[0]
        forward, reverse = ([s for s in p if isinstance(s, For)] for p in (push, pop))
        if not forward and not reverse:
            self._variable(stack, push)
        elif len(forward) == len(reverse) and push[0] is not pop[0] and self._copyable(stack):
            self._array(stack, push, forward, reverse)

    def _variable(self, stack: str, push: Path) -> None:
        type_ = self.types[stack]
        if len(push) > 1 and type_.array:
            return
        name = Var(stack)
        if len(push) > 1:
            self.before.setdefault(id(push[0]), []).append(Assign((name,), "alias", (zero(type_),)))
        self.dropped.add(stack)
        self.pushes[stack] = [Assign((name,), "alias", (VALUE,))]
        self.pops[stack] = [Assign((HOLE,), "alias", (name,))]

    def _copyable(self, stack: str) -> bool:
        """Whether items may be copied: scalars, and arrays of known extents that nothing writes in place any more."""
        type_ = self.types[stack]
        if not type_.array:
            return True
        known = all(d.symbol is None or d.symbol in self.extents for d in type_.dims)
        return known and (stack in self.rows or self.classes.find(stack) not in self.written)

    def _array(self, stack: str, push: Path, forward: list[For], reverse: list[For]) -> None:
        counting = Counting(self.definitions, self.types, self.names, assigned((push[0],)), extents=self.extents)
        sizes = [counting.trips(loop) for loop in forward]
        known = [s for s in sizes if s is not None]
        item = self.types[stack]
        if len(known) == len(sizes) and mirrored(forward, reverse, self.definitions):
            moving = assigned((push[0],))
            index, back = ([self._slot(f, loop, moving) for f, loop in zip(forward, loops, strict=True)] for loops in (forward, reverse))
            self._indexed(stack, index, back)
            leading = tuple(known)
        else:
            counting.out.clear()
            nest = tuple(map(id, forward))
            total = self.capacities.get(nest) or self._ahead(counting, self._capacity(counting, forward))
            if total is None:
                return
            self.capacities[nest], leading = total, (total,)
            counting.out.append(Assign((self._position(stack),), "alias", (Const(0),)))
        sizes_all = (*leading, *(counting.extent(d) for d in item.dims))
        shape = sizes_all[0] if len(sizes_all) == 1 else Pack(sizes_all)
        self.types[stack] = Type(item.dtype, (*(Dim(self.names.fresh("trips")) for _ in leading), *item.dims), array=True)
        dtype = () if item.dtype == "float64" else (Const(np.dtype(item.dtype).type),)
        counting.out.append(Assign((Var(stack),), "np.empty", (shape, *dtype)))
        self.dropped.add(stack)
        self.before.setdefault(id(push[0]), []).extend(counting.out)

    def _ahead(self, counting: Counting, total: Operand | None) -> Operand | None:
        """Move a count before the loops around its stack that change nothing of it."""
        count = counting.out
        made, used = assigned(tuple(count)), {n for s in walk(tuple(count)) for n in reads(s)}
        plain = all(isinstance(s, For) or isinstance(s, Assign) and (s.op in ("alias", "shape") or total_arithmetic(s.op)) for s in walk(tuple(count)))
        still = [k for k, _ in enumerate(self.around) if (used - made).isdisjoint(assigned(self.around[k:]))]
        if total is not None and count and plain and still:
            total = counting.assign("max", total, Const(0))  # bound once, and a size
            self.before.setdefault(id(self.around[still[0]]), []).extend(count)
            count.clear()
        return total

    # ------------------------------------------------------------- addresses

    def _slot(self, forward: For, loop: For, moving: set[str]) -> tuple[list[Stmt], Operand]:
        """Statements and operand of the index at which one trip stores. `moving`: names that the forward loops assign."""
        if forward.start == Const(0) and forward.step == Const(1):
            return [], loop.var
        slot = Var(self.names.fresh("_t"))
        self.types[slot.name] = INT
        first, before = forward.start, []
        if loop is not forward and isinstance(first, Var) and first.name in moving:  # the mirrored loop ends one step before it
            assert isinstance(loop.step, Const)
            first = Var(self.names.fresh("_t"))
            self.types[first.name] = INT
            before.append(Assign((first,), "np.subtract", (loop.stop, loop.step)))
        args = (loop.var, first) if forward.step == Const(1) else (first, loop.var)
        return [*before, Assign((slot,), "np.subtract", args)], slot

    def _indexed(self, stack: str, index: list[tuple[list[Stmt], Operand]], back: list[tuple[list[Stmt], Operand]]) -> None:
        def place(parts: list[tuple[list[Stmt], Operand]]) -> Operand:
            return row(tuple(p[1] for p in parts))

        self.pushes[stack] = [*(s for part in index for s in part[0]), Store(Var(stack), place(index), VALUE)]
        self.pops[stack] = [*(s for part in back for s in part[0]), Assign((HOLE,), "getitem", (Var(stack), place(back)))]

    def _position(self, stack: str) -> Var:
        """A running position in place of loop counters."""
        at = Var(self.names.fresh(f"{stack}_top"))
        self.types[at.name] = INT
        self.pushes[stack] = [Store(Var(stack), row((at,)), VALUE), Assign((at,), "np.add", (at, Const(1)))]
        self.pops[stack] = [Assign((at,), "np.subtract", (at, Const(1))), Assign((HOLE,), "getitem", (Var(stack), row((at,))))]
        return at

    def _capacity(self, counting: Counting, forward: list[For]) -> Operand | None:
        """How often the innermost body runs: the product of the trip counts, or a count by empty loops."""
        first = counting.trips(forward[0])
        if first is None or len(forward) == 1:
            return first
        total = counting.assign("alias", Const(0), wish="count")
        inner = Counting(self.definitions, self.types, self.names, counting.moving, dict(counting.renamed), extents=self.extents)
        counter = Var(self.names.fresh(forward[0].var.name))
        self.types[counter.name] = INT
        inner.renamed[forward[0].var.name] = counter
        rest = self._capacity(inner, forward[1:])
        start, stop = counting.value(forward[0].start), counting.value(forward[0].stop)
        if rest is None or start is None or stop is None:
            return None
        body = (*inner.out, Assign((total,), "np.add", (total, rest)))
        counting.out.append(For(counter, start, stop, forward[0].step, body))
        return total


def row(slots: tuple[Operand, ...]) -> Operand:
    """The index of one item: all axes of an array follow."""
    return slots[0] if len(slots) == 1 else Pack(slots)


VALUE = Var("<value>")  # stands for the operand of a push in a plan
HOLE = Var("<target>")  # and for the target of a pop


def _with_value(stmt: Stmt, value: Operand, push: Push) -> Stmt:
    if isinstance(stmt, Store) and stmt.value == VALUE:
        return replace(stmt, value=value, loc=push.loc, note=push.note)
    if isinstance(stmt, Assign) and stmt.args == (VALUE,):
        return replace(stmt, args=(value,), loc=push.loc, note=push.note)
    return stmt


def sites(block: Block) -> Iterator[Path]:
    """Every statement with those around it, outermost first."""
    for stmt in block:
        yield (stmt,)
        for inner in blocks(stmt):
            for path in sites(inner):
                yield (stmt, *path)
