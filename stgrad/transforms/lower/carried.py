"""Arrays that a loop carries, and keeps on a list for the reversed loop, are slots of one block.

    s = []                                     s = np.empty((T, n))
    x = x0                                     x_first = x = x0
    for t in range(T):                         for t in range(T):
        s.append(x)                                y = s[t]
        y = np.empty(n)                            ... y[i] = f(x[i]) ...
        ... y[i] = f(x[i]) ...         ->          x = y
        x = y                                  ...
    ...                                        for t in range(T - 1, -1, -1):
    for t in range(T - 1, -1, -1):                 if t == 0: x_2 = x_first
        x_2 = s.pop()                              else: x_2 = s[t - 1]

What a trip finds is what the one before it made. The first may have other extents, so it stays where it is. A list that keeps what the
trip itself makes becomes the same block. It holds where nothing writes to the arrays under another name.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def recurrent(w, h, n):
    ...     for _ in range(n):
    ...         h = np.tanh(w @ h)
    ...     return np.sum(h)
    >>> show_pass("carried", stgrad.grad(recurrent), np.ones((3, 3)), np.ones(3), 3)
    n_2 = w.shape[0]
    n_3 = w.shape[1]
    w_h_2_bar_work = np.empty(n_2)
    h_2_stack = []
    h_2 = h
    h_3_stack = np.empty((max(n, 0), w.shape[0]))
    for t in range(n):
        h_2_stack.append(h_2)
        w_h_2 = w @ h_2
        h_3 = h_3_stack[t]
        for i in range(n_2):
            h_3[i] = runtime.tanh(w_h_2[i])
        h_2 = h_3
    t2 = max(n, 0)
    n_4 = h_2.shape[0]
    h_2_bar = np.empty(n_4)
    # grad of line 4: return np.sum(h)
    for i in range(n_4):
        h_2_bar[i] = 1.0
    w_bar = np.empty((n_2, n_3))
    for i in range(n_2):
        for j in range(n_3):
            w_bar[i, j] = 0.0
    w_h_2_bar_rows = np.empty((t2, n_2))
    h_2_2_rows = np.empty((t2, n_3))
    for t_down in range(n - 1, -1, -1):
        t = runtime.opaque(t_down)
        n_5 = h_2_bar.shape[0]
        if n_2 != n_5:
            raise ValueError('operands could not be broadcast together')
        h_2_2 = h_2_stack.pop()
        n_6 = h_2_2.shape[0]
        if n_6 != n_3:
            raise ValueError('operands could not be broadcast together')
        # grad of line 3: h = np.tanh(w @ h)
        for i in range(n_2):
            t3 = h_3_stack[t, i]
            t4 = h_2_bar[i] * (1.0 - t3 * t3)
            w_h_2_bar_work[i] = t4
            w_h_2_bar_rows[t, i] = t4
        for i in range(n_3):
            h_2_2_rows[t, i] = h_2_2[i]
        h_2_bar = np.transpose(w) @ w_h_2_bar_work
    t5 = np.transpose(w_h_2_bar_rows) @ h_2_2_rows
    for i in range(n_2):
        for j in range(n_3):
            w_bar[i, j] += t5[i, j]
    return w_bar
    ->
    n_2 = w.shape[0]
    n_3 = w.shape[1]
    w_h_2_bar_work = np.empty(n_2)
    h_2 = h
    h_3_stack = np.empty((max(n, 0), w.shape[0]))
    h_2_first = h_2
    for t in range(n):
        w_h_2 = w @ h_2
        h_3 = h_3_stack[t]
        for i in range(n_2):
            h_3[i] = runtime.tanh(w_h_2[i])
        h_2 = h_3
    t2 = max(n, 0)
    n_4 = h_2.shape[0]
    h_2_bar = np.empty(n_4)
    # grad of line 4: return np.sum(h)
    for i in range(n_4):
        h_2_bar[i] = 1.0
    w_bar = np.empty((n_2, n_3))
    for i in range(n_2):
        for j in range(n_3):
            w_bar[i, j] = 0.0
    w_h_2_bar_rows = np.empty((t2, n_2))
    h_2_2_rows = np.empty((t2, n_3))
    for t_down in range(n - 1, -1, -1):
        h_2_2 = h_2_first if t_down == 0 else h_3_stack[t_down - 1]
        t = runtime.opaque(t_down)
        n_5 = h_2_bar.shape[0]
        if n_2 != n_5:
            raise ValueError('operands could not be broadcast together')
        n_6 = h_2_2.shape[0]
        if n_6 != n_3:
            raise ValueError('operands could not be broadcast together')
        # grad of line 3: h = np.tanh(w @ h)
        for i in range(n_2):
            t3 = h_3_stack[t, i]
            t4 = h_2_bar[i] * (1.0 - t3 * t3)
            w_h_2_bar_work[i] = t4
            w_h_2_bar_rows[t, i] = t4
        for i in range(n_3):
            h_2_2_rows[t, i] = h_2_2[i]
        h_2_bar = np.transpose(w) @ w_h_2_bar_work
    t5 = np.transpose(w_h_2_bar_rows) @ h_2_2_rows
    for i in range(n_2):
        for j in range(n_3):
            w_bar[i, j] += t5[i, j]
    return w_bar
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.liveness import observed
from stgrad.analysis.trips import INT, Counting, mirrored
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    Function,
    If,
    Operand,
    Pack,
    Pop,
    Push,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    assigns,
    entries_of,
    map_blocks,
    map_operands,
    operand_vars,
    walk,
)
from stgrad.names import Names


def carried(fn: Function) -> Function:
    """The program with blocks for lists of arrays that trips hand on."""
    if not any(isinstance(s, Push) and fn.types[s.stack].array for s in walk(fn.body)) or any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    state = _Carried.of(fn)
    for forward, reverse in _pairs(fn.body, state.definitions):
        for k, stmt in enumerate(forward.body):
            if isinstance(stmt, Assign) and len(stmt.targets) == 1 and fn.types[stmt.target.name].array:
                state.plan(forward, reverse, k, stmt)
    return replace(fn, body=_renamed(state.block(fn.body), state.same), types=state.types) if state.instead else fn


def _pairs(body: Block, definitions: Definitions) -> Iterator[tuple[For, For]]:
    """Loops that count up by one, each with its reversal."""
    loops = [s for s in body if isinstance(s, For)]
    for k, forward in enumerate(loops):
        pushed = {s.stack for s in forward.body if isinstance(s, Push)}
        for reverse in loops[k + 1 :]:
            popped = {s.stack for s in reverse.body if isinstance(s, Pop)}
            if pushed & popped and forward.step == Const(1) and mirrored([forward], [reverse], definitions):
                yield forward, reverse


@dataclass
class _Lists:
    """The lists that keep one array of a trip: as it is found (`before`), and as it is made (`after`)."""

    carrier: str | None
    before: list[Push]
    after: list[Push]

    def stacks(self) -> list[str]:
        return [p.stack for p in (*self.after, *self.before)]


@dataclass
class _Carried:
    fn: Function
    types: dict[str, Type]
    names: Names
    classes: Classes
    definitions: Definitions
    order: dict[int, int]  # of statements in the program, by their id
    uses: Counter[str]  # pushes and pops of each stack
    written: dict[str, list[Store]]  # by class
    seen: frozenset[str]  # classes of what callers see
    before: dict[int, list[Stmt]] = field(default_factory=dict)  # what comes before a statement, by its id
    instead: dict[int, list[Stmt]] = field(default_factory=dict)
    start: dict[int, list[Stmt]] = field(default_factory=dict)  # what a loop's trip begins with
    dropped: set[str] = field(default_factory=set)
    blocks: dict[int, str] = field(default_factory=dict)  # of statements that write into one now; a loop may have two reversals
    same: dict[str, Operand] = field(default_factory=dict)  # extents of arrays that are slots now: those of the block

    @classmethod
    def of(cls, fn: Function) -> _Carried:
        classes, statements = aliases(fn), list(walk(fn.body))
        written: dict[str, list[Store]] = {}
        for stmt in statements:
            if isinstance(stmt, Store):
                written.setdefault(classes.find(stmt.target.name), []).append(stmt)
        names = Names([*fn.types, *(s.name for s in statements if isinstance(s, Stack))])
        uses = Counter(s.stack for s in statements if isinstance(s, (Push, Pop)))
        seen = frozenset(classes.find(n) for n in observed(fn))
        order = {id(s): k for k, s in enumerate(statements)}
        return cls(fn, dict(fn.types), names, classes, definitions(fn), order, uses, written, seen)

    def plan(self, forward: For, reverse: For, at: int, stmt: Assign) -> None:
        """Find the lists that keep what a statement makes memory for, and put them in one block."""
        name = stmt.target.name
        if self.definitions.counts[name] != 1 or self.classes.find(name) in self.seen or self.shared(name, forward):
            return
        lists = self.lists(forward, reverse, at, name)
        known = self.blocks.get(id(stmt)) or self.slot_of(stmt, forward)
        sizes = stmt.args[0] if stmt.op == "np.empty" else None
        if not lists.stacks() or known is None and (sizes is None or set(operand_vars(sizes)) & assigned((forward,))):
            return
        if known is None:
            assert sizes is not None
            known = self.allocate(lists.stacks()[0], forward, stmt, sizes)
        if known is not None:
            self.take(forward, reverse, lists, known)

    # ------------------------------------------------------------- what is there

    def shared(self, name: str, loop: For) -> bool:
        """Whether the array may be written under another name from the loop on; where it is a slot, the block is such a name."""
        others = (s for s in self.written.get(self.classes.find(name), []) if s.target.name != name)
        return any(self.order[id(s)] >= self.order[id(loop)] for s in others)

    def lists(self, forward: For, reverse: For, at: int, name: str) -> _Lists:
        """The lists whose items are this array of the trip, or of the trip before."""
        popped = {s.stack for s in reverse.body if isinstance(s, Pop)}
        pushes = [(k, s) for k, s in enumerate(forward.body) if isinstance(s, Push) and s.stack in popped and self.uses[s.stack] == 2]
        after = [s for k, s in pushes if s.value == Var(name) and k > at]
        for k, stmt in enumerate(forward.body):
            if not isinstance(stmt, Assign) or stmt.op != "alias" or stmt.args != (Var(name),) or k < at:
                continue
            carrier = stmt.target.name
            if [id(s) for s in walk(forward.body) if carrier in assigns(s)] == [id(stmt)]:
                return _Lists(carrier, [s for j, s in pushes if s.value == Var(carrier) and j < k], after)
        return _Lists(None, [], after)

    def slot_of(self, stmt: Assign, forward: For) -> str | None:
        """The block whose slots this trip's arrays are already."""
        view = stmt
        if stmt.op == "runtime.matmul" and stmt.kwargs and isinstance(stmt.kwargs[0][1], Var):
            made = self.definitions.once.get(stmt.kwargs[0][1].name)
            view = made if isinstance(made, Assign) else stmt
        if view.op != "getitem" or not isinstance(view.args[0], Var) or not isinstance(view.args[1], Var):
            return None
        block, place = view.args[0].name, view.args[1]
        at = self.definitions.once.get(place.name)
        counted = place == forward.var and forward.start == Const(0)
        counted = counted or isinstance(at, Assign) and at.op == "np.subtract" and at.args == (forward.var, forward.start)
        fits = self.definitions.counts[block] == 1 and self.types[block].rank == self.types[stmt.target.name].rank + 1
        return block if counted and fits else None

    # ------------------------------------------------------------- what it becomes

    def allocate(self, stack: str, forward: For, stmt: Assign, sizes: Operand) -> str | None:
        """A block for all that a statement makes."""
        counting = Counting(self.definitions, self.types, self.names, assigned((forward,)))
        trips = counting.trips(forward)
        if trips is None or isinstance(forward.start, Var) and forward.start.name in assigned((forward,)):
            return None
        type_ = self.types[stmt.target.name]
        self.types[stack] = Type(type_.dtype, (Dim(self.names.fresh("trips")), *type_.dims), array=True)
        shape = Pack((trips, *entries_of(sizes)))
        dtype = () if type_.dtype == "float64" else (Const(np.dtype(type_.dtype).type),)
        made = Assign((Var(stack),), "np.empty", (shape, *dtype))
        self.before.setdefault(id(forward), []).extend([*counting.out, made])
        slot, place = self.place(forward, forward)
        self.instead[id(stmt)] = [*slot, replace(stmt, op="getitem", args=(Var(stack), place), kwargs=())]
        self.blocks[id(stmt)] = stack
        return stack

    def place(self, loop: For, forward: For) -> tuple[list[Stmt], Var]:
        """The slot of a trip."""
        if forward.start == Const(0):
            return [], loop.var
        slot = self.integer("_t")
        return [Assign((slot,), "np.subtract", (loop.var, forward.start))], slot

    def take(self, forward: For, reverse: For, lists: _Lists, block: str) -> None:
        """The reversed loop reads the block."""
        pops = {s.stack: s for s in reverse.body if isinstance(s, Pop)}
        first = lists.carrier and lists.before and Var(self.names.fresh(f"{lists.carrier}_first"))
        if first and lists.carrier:
            self.types[first.name] = self.types[lists.carrier]
            self.before.setdefault(id(forward), []).append(Assign((first,), "alias", (Var(lists.carrier),)))
        slot, place = self.place(reverse, forward)
        begin = self.start.setdefault(id(reverse), [])
        begin += slot
        for push in lists.after:
            self.know(pops[push.stack].target.name, reverse, block)
            begin.append(replace(_bound(pops[push.stack]), op="getitem", args=(Var(block), place)))
        for push in lists.before:
            assert first
            bound = _bound(pops[push.stack])
            last, start = self.integer("_t"), self.integer("_t", "bool")
            begin.append(Assign((start,), "np.equal", (place, Const(0))))
            found = replace(bound, op="getitem", args=(Var(block), last))
            rest = (Assign((last,), "np.subtract", (place, Const(1))), found)
            begin.append(If(start, (replace(bound, op="alias", args=(first,)),), rest))
        for push in (*lists.after, *lists.before):
            self.instead[id(push)] = self.instead[id(pops[push.stack])] = []
            self.dropped.add(push.stack)

    def know(self, name: str, reverse: For, block: str) -> None:
        """Extents of a slot are those that the block was made with."""
        made = [s for b in (*self.before.values(), self.fn.body) for s in b if isinstance(s, Assign) and s.targets == (Var(block),)]
        sizes = made[0].args[0].items[1:] if len(made) == 1 and isinstance(made[0].args[0], Pack) else ()
        for stmt in reverse.body:
            if not isinstance(stmt, Assign) or stmt.op != "shape" or stmt.args[0] != Var(name) or not isinstance(stmt.args[1], Const):
                continue
            size = sizes[stmt.args[1].value] if sizes else None
            names = [stmt.target.name, *(operand_vars(size) if size is not None else ())]
            if size is not None and all(self.definitions.counts[n] == 1 for n in names):
                self.same[stmt.target.name] = size
                self.instead[id(stmt)] = []

    def integer(self, wish: str, dtype: str = "int64") -> Var:
        made = Var(self.names.fresh(wish))
        self.types[made.name] = INT if dtype == "int64" else Type(dtype)
        return made

    def block(self, statements: Block) -> Block:
        out: list[Stmt] = []
        for stmt in statements:
            out += self.before.get(id(stmt), [])
            if id(stmt) in self.instead:
                out += self.instead[id(stmt)]
            elif not isinstance(stmt, Stack) or stmt.name not in self.dropped:
                inside = map_blocks(self.block, stmt)
                begin = tuple(self.start.get(id(stmt), ()))
                out.append(replace(inside, body=(*begin, *inside.body)) if begin and isinstance(inside, For) else inside)
        return tuple(out)


def _renamed(block: Block, same: dict[str, Operand]) -> Block:
    """A block with other operands for names, without the checks that they settle."""

    def leaf(operand: Operand) -> Operand:
        return same.get(operand.name, operand) if isinstance(operand, Var) else operand

    out = [map_blocks(lambda b: _renamed(b, same), map_operands(leaf, s)) for s in block] if same else block
    return tuple(s for s in out if not (isinstance(s, Effect) and s.op == "check_equal" and s.args[0] == s.args[1]))


def _bound(pop: Pop) -> Assign:
    return Assign((pop.target,), "alias", (), (), pop.loc, pop.note)


