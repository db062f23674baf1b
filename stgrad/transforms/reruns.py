"""The reversal of a checkpointed loop: snapshots of what it carries, and trips that run again.

    forward                                     reverse
    due = 0                                     for part in range(parts - 1, -1, -1):
    for t in range(n):                              at, u = at_kept[top - 1], np.copy(u_kept[top - 1])
        if t == due:                                while at < part:
            u_kept[top] = u; at_kept[top] = ...         to = runtime.next_snapshot(at, part + 1, slots - top)
            due = length * runtime.next_...             trips of the parts from `at` to `to`
        trip                                            at = to, and a snapshot where it is not `part` yet
                                                    forward sweep of the part's trips, with stacks
                                                    their reverse sweep

Of a `while` nobody knows the trips before it ends. Parts are then as long as the memory says, and a snapshot is taken at the start of each; where there is no
room for one more, every other is dropped, and from there on twice as many parts lie between two. So what is there when the loop ends is spread evenly,
and the rest of the reversal is the same (after Wang, Moin & Iaccarino, SIAM J. Sci. Comput. 31, 2009).

A part is `length` trips. Its two sweeps are made like those of a program of their own: what is saved in one is restored in the other, and
nothing is left in between. What they read of the program around them are values at the loop, which the program's own sweep
gets like any others. In a loop or a branch, where the forward sweep passes more often than once, it keeps what the loop starts with; all
snapshots are taken on the way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stgrad.analysis.extents import is_unknown
from stgrad.analysis.places import Place, layout
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Effect,
    For,
    If,
    Operand,
    Pack,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    map_operand,
    operand_vars,
    read,
    rename,
    rule_reads,
    runs_once,
)
from stgrad.transforms.checkpoints import Sizes, carried, carried_through, plain, unmarked
from stgrad.transforms.dead import eliminate_dead
from stgrad.transforms.plan import declare, insert, insert_forward, insert_reverse, is_mark, left_out
from stgrad.transforms.saves import Saver

if TYPE_CHECKING:
    from stgrad.transforms.reverse import _Reverse

INT = Type("int64", weak=True)
BOOL = Type("bool", weak=True)
WHOLE = Slice(Const(None), Const(None), Const(None))
APART = 10**7  # numbers of places in a part's own layout, apart from those of the program


def reverse_marked(sweep: _Reverse, place: Place, loop: For | While) -> None:
    """Write the reversal of a marked loop."""
    work = _Rerun(sweep, place, loop)
    if work.single:
        with sweep.builder.block() as code:
            sweep.region(work.part)
        if place.number in sweep.kept or not all(map(is_mark, code)):
            work.emit_once(tuple(code))
        return
    sweep.repeat(place, lambda: sweep.region(work.part), work.emit, [work.part])


class _Rerun:
    def __init__(self, sweep: _Reverse, place: Place, loop: For | While) -> None:
        self.sweep, self.place = sweep, place
        self.builder = sweep.builder
        assert isinstance(loop.snapshots, Pack)
        self.open = isinstance(loop, While)  # whether the trips are known only behind it
        self.going = loop.cond if isinstance(loop, While) else Const(True)
        self.loop = self.numbered(loop) if isinstance(loop, While) else loop
        self.wanted, _, *pairs = loop.snapshots.items
        self.folder = self.wanted.items[2] if isinstance(self.wanted, Pack) and len(self.wanted.items) > 2 else None
        names = [o.name for o in pairs if isinstance(o, Var)]
        self.entries = dict(zip(names[::2], names[1::2], strict=True))
        self.low, self.high = self.new("low", INT), self.new("high", INT)
        self.from_, self.to = self.new("low", INT), self.new("high", INT)  # of trips that run again
        self.trip = replace(self.loop, start=self.low, stop=self.high, snapshots=None)
        self.single = runs_once(self.loop) and self.loop.var.name not in read(loop.body)
        self.body: Block = loop.body if self.single else (self.trip,)
        self.part = layout(self.body, (place.number + 1) * APART)
        sweep.trips.update(sweep.counters_of(self.part))
        self.once = place.region.owner is None

    def numbered(self, loop: While) -> For:
        """The trips of a `while` as they run again: so many, without their count."""
        assert loop.trips is not None and not loop.head
        return For(self.new(loop.trips.name, INT), Const(0), loop.trips, Const(1), loop.body[:-1], loop.loc, loop.note, snapshots=loop.snapshots)

    # ------------------------------------------------------------- small things

    def new(self, wish: str, type_: Type) -> Var:
        return Var(self.builder.variable(wish, replace(type_, value=None)).name)

    def put(self, target: Var, op: str, *args: Operand) -> Var:
        self.builder.emit(Assign((target,), op, args, (), self.loop.loc))
        return target

    def make(self, op: str, *args: Operand, wish: str = "_t", type_: Type = INT) -> Var:
        return self.put(self.new(wish, type_), op, *args)

    def sum(self, a: Operand, b: Operand) -> Operand:
        return b if a == Const(0) else a if b == Const(0) else self.make("np.add", a, b)

    def times(self, a: Operand, b: Operand) -> Operand:
        return b if a == Const(1) else a if b == Const(1) else self.make("np.multiply", a, b)

    # ------------------------------------------------------------- the part's two sweeps

    def emit(self, code: Block) -> None:
        """Put the reversed loop into the sweep; `code` is the adjoint of one part."""
        sweep = self.sweep
        both = self.both_sweeps(code)
        state = self.state(both)
        names = self.names(state)
        sweep.adjoints.place = self.place
        outside = self.outside((*both, self.trip), set(names))
        both, again = rename(both, {**names, **outside}), rename(plain((replace(self.trip, start=self.from_, stop=self.to),)), {**names, **outside})
        if self.once:
            due = self.new("due", INT)
            with self.builder.block() as out:
                sizes = (self.room_ahead if self.open else self.sizes)({n: Var(n) for n in state}, {})
                self.put(due, "alias", Const(0))
                apart = self.make("alias", Const(1), wish="apart") if self.open else due
            sweep.insertions[self.place.number] = out
            first = self.place.inner[-1].places[0].number
            sweep.insertions[first] = self.thinned(sizes, state, due, apart) if self.open else self.snapshots_on_the_way(sizes, state, due)
            if self.open:
                self.count(sizes)
        else:
            if self.open:
                self.loop = replace(self.loop, stop=self.trips_behind())
            entries = {n: self.entry(n) for n in state}
            sizes = self.sizes(entries, self.bounds_outside())
            self.keep(sizes, entries, Const(0))
        self.reversed(sizes, {n: Var(names[n]) for n in state}, both, again)

    def emit_once(self, code: Block) -> None:
        """Put the reversal of a call into the sweep: it runs again, then backward."""
        both = self.both_sweeps(code)
        state = self.state(both)
        names = self.names(state)
        self.sweep.adjoints.place = self.place
        self.builder.note = None
        for name in state:
            op = "np.copy" if self.builder.types[name].array else "alias"
            self.put(Var(names[name]), op, self.entry(name))
        for stmt in rename(both, {**names, **self.outside((*both, self.trip), set(names))}):
            self.builder.emit(stmt)

    def state(self, both: Block) -> list[str]:
        """What a part starts with, and changes."""
        found = [] if self.single else carried(self.trip, both)
        return found + [n for n in (*carried_through(both, self.trip), *self.entries) if n not in found]

    def names(self, state: list[str]) -> dict[str, str]:
        """Names of their own for what a part binds."""
        return {n: self.new(n, self.builder.types[n]).name for n in sorted(assigned(self.body) | set(state))}

    def both_sweeps(self, code: Block) -> Block:
        """The forward sweep of a part, and its reverse sweep, by the names of the program."""
        sweep = self.sweep
        marks = set(sweep.adjoints.placeholders)
        live = set(sweep.adjoints.bars.values()) | marks
        code = eliminate_dead(code, live, self.builder.types, sweep.classes(code))
        given = [*(p.name for p in sweep.fn.params), *carried(self.trip)]
        saver = Saver(self.builder, self.part, given, sweep.program.classes, sweep.adjoints.placeholders)
        saver.read_all(code)
        saver.restore_contents()
        plan = saver.finish()
        sweep.left_out |= left_out(saver.places, plan, code)
        insert(plan, saver.places, sweep.insertions)
        forward = insert_forward(self.body, self.part, plan)
        return unmarked((*declare(plan), *forward, *insert_reverse(code, saver.names, plan)))

    def outside(self, block: Block, inside: set[str]) -> dict[str, str]:
        """Values of the program that a part reads, as the program's sweep has them at the loop."""
        known = (read(block) | rule_reads(block)) & self.sweep.fn.types.keys()
        return {n: self.sweep.adjoints.value(n).name for n in sorted(known - inside)}

    def bounds_outside(self) -> dict[str, str]:
        bounds = (self.loop.start, Const(0) if self.open else self.loop.stop, self.loop.step, self.wanted)
        return {n: self.sweep.adjoints.value(n).name for o in bounds for n in operand_vars(o)}

    def entry(self, name: str) -> Var:
        """What a carried name holds before the loop."""
        return Var(self.sweep.adjoints.value(self.entries.get(name, name)).name)

    # ------------------------------------------------------------- sizes and snapshots

    def sizes(self, state: dict[str, Var], names: dict[str, str]) -> Sizes:
        """Count trips and parts, and make room for the snapshots."""

        def here(operand: Operand) -> Operand:
            return map_operand(lambda o: Var(names.get(o.name, o.name)) if isinstance(o, Var) else o, operand)

        start, stop, step, wanted = map(here, (self.loop.start, self.loop.stop, self.loop.step, self.wanted))
        span = self.make("np.subtract", stop, start) if start != Const(0) else stop
        if step != Const(1):
            less = self.make("np.subtract", start, stop)
            span = self.make("np.negative", self.make("np.floor_divide", less, step))
        trips = self.make("max", span, Const(0), wish="trips")
        given = Const(0) if wanted == Const(None) else wanted
        if isinstance(given, Pack):
            return self.within_budget(trips, given, state)
        length = self.make("runtime.segment", trips, given, wish="length")
        parts = self.parts(trips, length)
        slots = self.make("max", parts if wanted == Const(None) else self.make("min", wanted, parts), Const(1), wish="slots")
        return self.rooms(trips, length, parts, slots, state)

    def within_budget(self, trips: Operand, given: Pack, state: dict[str, Var]) -> Sizes:
        """Room within a budget: the bytes of a state, of what a trip keeps, and of all that may be kept, decide."""
        budget = (self.bytes(state.values()), *given.items[:2])
        disk = (Const(True),) if self.folder else ()
        length = self.make("runtime.budget_length", trips, *budget, *disk, wish="length")
        parts = self.parts(trips, length)
        slots = self.make("runtime.budget_slots", trips, length, *budget, *disk, wish="slots")
        far = self.make("runtime.budget_far", trips, length, slots, *budget, wish="far", type_=BOOL) if disk else None
        return self.rooms(trips, length, parts, slots, state, far)

    def room_ahead(self, state: dict[str, Var], names: dict[str, str]) -> Sizes:
        """Make room for the snapshots of a `while`, where it has a trip; `count` tells later how many."""
        assert isinstance(self.wanted, Pack) and not names
        size = self.bytes(state.values())
        budget = (size, *self.wanted.items[:2], self.going)
        if self.folder is not None:
            length = self.make("runtime.open_length", *budget, Const(True), wish="length")
            slots = self.make("runtime.room_on_disk", size, self.going, self.folder, wish="slots")
            far = self.make("alias", self.going, wish="far", type_=BOOL)
            return self.rooms(Const(0), length, Const(0), slots, state, far)
        length = self.make("runtime.open_length", *budget, wish="length")
        slots = self.make("runtime.open_slots", length, *budget, wish="slots")
        return self.rooms(Const(0), length, Const(0), slots, state)

    def count(self, sizes: Sizes) -> None:
        """Trips and parts of a `while`, behind it."""
        sizes.trips = self.trips_behind()
        sizes.parts = self.parts(sizes.trips, sizes.length)

    def trips_behind(self) -> Operand:
        assert isinstance(self.loop.stop, Var)
        return Var(self.sweep.adjoints.value(self.loop.stop.name, True).name)

    def parts(self, trips: Operand, length: Var) -> Var:
        return self.make("np.floor_divide", self.make("np.subtract", self.sum(trips, length), Const(1)), length, wish="parts")

    def rooms(self, trips: Operand, length: Var, parts: Operand, slots: Var, state: dict[str, Var], far: Operand | None = None) -> Sizes:
        top = self.make("alias", Const(0), wish="top")
        kept = {n: self.room(v.name, n, slots, far) for n, v in state.items()}
        where = self.room(None, "at", slots)
        return Sizes(trips, length, parts, slots, top, where, kept, far)

    def bytes(self, state: Iterable[Var]) -> Operand:
        """The size of a snapshot."""
        size: Operand = Const(8)  # where it was taken
        for value in state:
            type_ = self.builder.types[value.name]
            each: Operand = Const(np.dtype(type_.dtype).itemsize)
            for axis in range(type_.rank):
                each = self.times(each, self.make("shape", value, Const(axis)))
            size = self.sum(size, each)
        return size

    def room(self, like: str | None, name: str, slots: Var, far: Operand | None = None) -> Var:
        """Memory for snapshots of a number or an array, these on disk where they are `far`."""
        type_ = self.builder.types[like] if like is not None else INT
        extents = [self.make("shape", Var(like), Const(axis)) for axis in range(type_.rank)] if like is not None else []
        kept = Type(type_.dtype, (self.builder.fresh_dim(), *type_.dims), array=True)
        dtype = () if type_.dtype == "float64" else (Const(np.dtype(type_.dtype).type),)
        shape = Pack((slots, *extents)) if extents else slots
        if far is not None and self.folder is not None and extents:
            return self.make("runtime.new_snapshots", shape, far, self.folder, *dtype, wish=f"{name}_kept", type_=kept)
        return self.make("np.empty", shape, *dtype, wish=f"{name}_kept", type_=kept)

    def page(self, op: str, sizes: Sizes, row: Operand) -> None:
        """Let rows of arrays on disk leave memory, or come back."""
        for kept in sizes.kept.values():
            if sizes.far is not None and self.builder.types[kept.name].rank > 1:
                self.builder.emit(Effect(op, (kept, row, sizes.far), (), self.loop.loc))

    def keep(self, sizes: Sizes, state: dict[str, Var], part: Operand) -> None:
        """Take a snapshot at the start of a part."""
        for name, value in state.items():
            kept, type_ = sizes.kept[name], self.builder.types[value.name]
            for axis, dim in enumerate(type_.dims):
                if is_unknown(dim):
                    now, then = self.make("shape", value, Const(axis)), self.make("shape", kept, Const(axis + 1))
                    message = Const(f"the shape of `{name}` changes in a checkpointed loop")
                    self.builder.emit(Effect("check_equal", (now, then, message), (), self.loop.loc))
            index: Operand = Pack((sizes.top, *(WHOLE for _ in type_.dims))) if type_.array else sizes.top
            self.builder.emit(Store(kept, index, value, "set", self.loop.loc))
        self.builder.emit(Store(sizes.where, sizes.top, part, "set", self.loop.loc))
        self.page("runtime.page_out", sizes, sizes.top)
        self.put(sizes.top, "np.add", sizes.top, Const(1))

    def snapshots_on_the_way(self, sizes: Sizes, state: Sequence[str], due: Var) -> list[Stmt]:
        """At the start of a trip of the forward sweep: a snapshot where one is due.

        What comes after the loop counts as one more part, whose reversal comes first.
        """
        with self.builder.block() as out:
            done: Operand = Var(self.loop.var.name)
            if self.loop.start != Const(0):
                done = self.make("np.subtract", done, self.loop.start)
            if self.loop.step != Const(1):
                done = self.make("np.floor_divide", done, self.loop.step)
            here = self.make("np.equal", done, due, type_=BOOL)
            with self.builder.block() as inner:
                part = self.make("np.floor_divide", done, sizes.length, wish="part")
                self.keep(sizes, {n: Var(n) for n in state}, part)
                self.put(due, "np.multiply", sizes.length, self.next(sizes, part, self.sum(sizes.parts, Const(1))))
            self.builder.emit(If(here, tuple(inner)))
        return out

    def thinned(self, sizes: Sizes, state: Sequence[str], due: Var, apart: Var) -> list[Stmt]:
        """At the start of a trip of a `while`: a snapshot where one is due; where there is no room, each other one goes. `apart`: parts between two."""
        with self.builder.block() as out:
            done = self.loop.stop
            here = self.make("np.equal", done, due, type_=BOOL)
            with self.builder.block() as inner:
                full = self.make("np.equal", sizes.top, sizes.slots, type_=BOOL)
                with self.builder.block() as thin:
                    self.drop_others(sizes, state)
                    self.put(apart, "np.multiply", apart, Const(2))
                self.builder.emit(If(full, tuple(thin)))
                part = self.make("np.floor_divide", done, sizes.length, wish="part")
                place = self.make("np.equal", self.make("np.remainder", part, apart), Const(0), type_=BOOL)
                room = self.make("np.less", sizes.top, sizes.slots, type_=BOOL)
                with self.builder.block() as keep:
                    self.keep(sizes, {n: Var(n) for n in state}, part)
                self.builder.emit(If(self.make("np.logical_and", place, room, type_=BOOL), tuple(keep)))
                later = self.sum(self.make("np.floor_divide", part, apart), Const(1))
                self.put(due, "np.multiply", self.make("np.multiply", later, apart), sizes.length)
            self.builder.emit(If(here, tuple(inner)))
        return out

    def drop_others(self, sizes: Sizes, state: Sequence[str]) -> None:
        """Keep the first, third, fifth... snapshot."""
        left = self.make("np.floor_divide", self.sum(sizes.top, Const(1)), Const(2), wish="left")
        to = self.new("_k", INT)
        with self.builder.block() as body:
            from_ = self.make("np.multiply", to, Const(2), wish="_k")
            for kept in (*(sizes.kept[n] for n in state), sizes.where):
                type_ = self.builder.types[kept.name]
                item = Type(type_.dtype, type_.dims[1:], array=True) if type_.rank > 1 else replace(type_, dims=(), array=False)
                rest = (WHOLE,) * (type_.rank - 1)
                value = self.make("getitem", kept, Pack((from_, *rest)) if rest else from_, type_=item)
                self.builder.emit(Store(kept, Pack((to, *rest)) if rest else to, value, "set", self.loop.loc))
        self.builder.emit(For(to, Const(1), left, Const(1), tuple(body), self.loop.loc))
        self.put(sizes.top, "alias", left)

    def next(self, sizes: Sizes, at: Operand, end: Operand) -> Var:
        free = self.make("np.subtract", sizes.slots, sizes.top)
        return self.make("runtime.next_snapshot", at, end, free, wish="to")

    # ------------------------------------------------------------- the reversed loop

    def reversed(self, sizes: Sizes, state: dict[str, Var], both: Block, again: Block) -> None:
        part, at, going = self.new("part", INT), self.new("at", INT), self.new("_c", BOOL)
        last = self.make("np.subtract", sizes.parts, Const(1))
        with self.builder.block() as body:
            self.restore(sizes, state, at)
            with self.builder.block() as head:
                self.put(going, "np.less", at, part)
            with self.builder.block() as advance:
                self.advance(sizes, state, at, part, again)
            self.builder.emit(While(tuple(head), going, tuple(advance), self.loop.loc))
            self.drop(sizes, part)
            self.bounds(sizes, part, None, self.low, self.high)
            for stmt in both:
                self.builder.emit(stmt)
        self.builder.note = None
        self.builder.emit(For(part, last, Const(-1), Const(-1), tuple(body), self.loop.loc))

    def restore(self, sizes: Sizes, state: dict[str, Var], at: Var) -> None:
        """Go back to the last snapshot."""
        latest = self.make("np.subtract", sizes.top, Const(1), wish="latest")
        if sizes.far is not None:
            self.page("runtime.page_in", sizes, self.make("np.subtract", latest, Const(1), wish="next"))
        self.put(at, "getitem", sizes.where, latest)
        for name, value in state.items():
            type_ = self.builder.types[value.name]
            if type_.array:
                row = self.make("getitem", sizes.kept[name], Pack((latest, *(WHOLE for _ in type_.dims))), type_=type_)
                self.put(value, "np.copy", row)
            else:
                self.put(value, "getitem", sizes.kept[name], latest)
        self.page("runtime.page_out", sizes, latest)

    def advance(self, sizes: Sizes, state: dict[str, Var], at: Var, part: Var, again: Block) -> None:
        """Run trips again, to the next snapshot or to the part that is due."""
        to = self.next(sizes, at, self.sum(part, Const(1)))
        self.bounds(sizes, at, to, self.from_, self.to)
        for stmt in again:
            self.builder.emit(stmt)
        self.put(at, "alias", to)
        more = self.make("np.less", at, part, type_=BOOL)
        with self.builder.block() as inner:
            self.keep(sizes, state, at)
        self.builder.emit(If(more, tuple(inner)))

    def drop(self, sizes: Sizes, part: Var) -> None:
        """A snapshot at the start of the part that is reversed now has served."""
        latest = self.make("getitem", sizes.where, self.make("np.subtract", sizes.top, Const(1)))
        served = self.make("np.equal", latest, part, type_=BOOL)
        with self.builder.block() as inner:
            self.put(sizes.top, "np.subtract", sizes.top, Const(1))
        self.builder.emit(If(served, tuple(inner)))

    def bounds(self, sizes: Sizes, first: Var, end: Var | None, low_: Var, high_: Var) -> None:
        """The counters of the trips of some parts; without an end, of one."""
        low: Operand = self.make("np.multiply", first, sizes.length)
        if end is None:
            high: Operand = self.make("min", self.make("np.add", low, sizes.length), sizes.trips)
        else:
            high = self.make("np.multiply", end, sizes.length)
        start, step = (self.outer(o) for o in (self.loop.start, self.loop.step))
        self.put(low_, "alias", self.sum(start, self.times(low, step)))
        self.put(high_, "alias", self.sum(start, self.times(high, step)))

    def outer(self, operand: Operand) -> Operand:
        return Var(self.sweep.adjoints.value(operand.name, place=self.place).name) if isinstance(operand, Var) else operand


__all__ = ["reverse_marked"]
