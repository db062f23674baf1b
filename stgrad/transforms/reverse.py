"""Reverse mode: a program becomes its forward sweep, then the adjoint of every statement in reverse order.

    y = f(x)  for each statement        x_bar += f'(x) * y_bar

Values are read where they are meant, through placeholders; `saves` turns those into names, stacks and recomputations once the
whole sweep is there. The rules for arrays that are overwritten are those of docs/memory.md. After Griewank and Walther,
Evaluating Derivatives (2008), chapters 5 and 6.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def wave(x):
    ...     return np.sin(x * x)
    >>> show_pass("reverse", stgrad.grad(wave), 1.0)
    return np.sin(x * x)
    ->
    t = x * x
    t2 = np.sin(t)
    # grad of line 2: return np.sin(x * x)
    t3 = 1.0 * np.cos(t)
    x_bar = t3 * x
    x_bar += t3 * x
    return x_bar
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from stgrad.analysis.activity import activity
from stgrad.analysis.alias import Classes, viewed
from stgrad.analysis.extents import varying
from stgrad.analysis.places import Place, Region, every, layout
from stgrad.frontend.builder import Builder, last_symbol
from stgrad.frontend.values import Sym, Value, operand_of
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
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
    While,
    assigned,
    entries_of,
    raises,
    read,
    rename,
    rule_binds,
    rule_reads,
    stored,
)
from stgrad.names import Names
from stgrad.transforms.adjoints import Adjoints, Splice
from stgrad.transforms.checkpoints import unmarked
from stgrad.transforms.dead import eliminate_dead
from stgrad.transforms.instrument import Instrumented, instrument
from stgrad.transforms.picked import guarded
from stgrad.transforms.plan import RESTORE, declare, insert, insert_forward, insert_reverse, is_mark, left_out
from stgrad.transforms.ranges import minus_one, plus_one, reversed_bounds
from stgrad.transforms.reruns import reverse_marked
from stgrad.transforms.saves import Saver


def reverse(
    fn: Function, wrt: Sequence[str], splice: Splice, *, seeds: bool = False, with_value: bool = False, outputs: Sequence[int] | None = None,
) -> Function:
    """The program that computes the adjoints of the parameters `wrt`.

    Args:
        fn: a program; its results must be scalars where `seeds` is False.
        wrt: names of parameters.
        splice: writes the body of a rule into a program.
        seeds: whether the cotangents of the results are parameters; else the only result is a scalar and its is 1.
        with_value: whether the results of `fn` are results too, before the adjoints.
        outputs: which leaves of the result are differentiated; all of them by default.
    """
    names = Names([*fn.types, *(p.name for p in fn.params)])
    chosen = tuple(range(len(entries_of(fn.result)))) if outputs is None else tuple(outputs)
    program = instrument(fn, _active(fn, wrt, chosen), names)
    kept: set[int] = set()
    while True:
        state = names.state()
        sweep = _Reverse(program, wrt, splice, names, seeds, chosen, kept)
        result = sweep.run(with_value)
        if sweep.left_out <= kept:
            return result
        kept |= sweep.left_out
        names.restore(state)


def _active(fn: Function, wrt: Sequence[str], outputs: Sequence[int]) -> frozenset[str]:
    leaves = entries_of(fn.result)
    return activity(replace(fn, result=Pack(tuple(leaves[i] for i in outputs))), wrt).active


class _Reverse:
    """The walk over the program; built and used up inside `reverse`."""

    def __init__(
        self, program: Instrumented, wrt: Sequence[str], splice: Splice, names: Names, seeds: bool, outputs: Sequence[int], kept: set[int],
    ) -> None:  # fmt: skip
        self.outputs = outputs
        self.kept = kept  # places that are reversed for what they restore, whether they have adjoints or not
        self.left_out: set[int] = set()  # places that restore something, in no block of the sweep
        self.program, self.fn, self.wrt = program, program.function, wrt
        self.builder = Builder(names=names, types=dict(self.fn.types), symbols=last_symbol(self.fn.types.values()))
        self.seeded = seeds
        active = _active(self.fn, wrt, outputs)
        self.adjoints = Adjoints(self.builder, splice, active, dict(program.shadows), guarded(self.fn, active))
        self.top = layout(self.fn.body)
        self.trips = self.counters_of(self.top)
        self.seed_params: list[Var] = []
        self.bar_stacks: list[str] = []
        self.insertions: dict[int, list[Stmt]] = {}  # what checkpointed loops put before statements of the forward sweep, by place

    def counters_of(self, region: Region) -> dict[int, str]:
        return {p.number: p.stmt.trips.name for p in every(region) if isinstance(p.stmt, While) and p.stmt.trips is not None}

    def run(self, with_value: bool) -> Function:
        from stgrad.transforms import transpose

        self._seed()
        self.region(self.top)
        results = [self._gradient(name) for name in self.wrt]
        code = tuple(self.builder.out)
        classes = self.classes(code)
        code = eliminate_dead(code, {r.name for r in results if isinstance(r, Var)}, self.builder.types, classes)
        saver = Saver(self.builder, self.top, (p.name for p in self.fn.params), self.program.classes, self.adjoints.placeholders)
        saver.read_all(code)
        saver.restore_contents()
        plan = saver.finish()
        insert(plan, saver.places, self.insertions)
        self.left_out |= left_out(saver.places, plan, code)
        forward = transpose.settled(insert_forward(self.fn.body, self.top, plan))
        sweep = insert_reverse(code, saver.names, plan)
        value = self._value(forward) if with_value else ((), ())
        body = (*declare(plan), *forward, *value[0], *map(Stack, self._bar_stacks()), *sweep)
        return self._function(unmarked(body), (*value[1], *results))

    def _function(self, body: Block, results: tuple[Operand, ...]) -> Function:
        count = len(self.fn.params) - len(self.fn.constants)
        params = (*self.fn.params[:count], *self.seed_params, *self.fn.params[count:])
        result = results[0] if len(results) == 1 else Pack(results)
        types = {n: t for n, t in self.builder.types.items() if "§" not in n}
        return replace(self.fn, name=f"{self.fn.name}_grad", params=params, body=body, result=result, types=types)

    def _bar_stacks(self) -> list[str]:
        used = set(self.adjoints.bars.values())  # a loop that was read twice left names behind
        return [s for s in dict.fromkeys(self.bar_stacks) if s in used]

    def _value(self, forward: Block) -> tuple[Block, tuple[Operand, ...]]:
        """The results of the primal; arrays that the reverse sweep writes to are copied."""
        copies: list[Stmt] = []
        leaves: list[Operand] = []
        for leaf in entries_of(self.fn.result):
            if isinstance(leaf, Var) and self.builder.types[leaf.name].array:
                copy = self.builder.variable(leaf.name, self.builder.types[leaf.name])
                copies.append(Assign((Var(copy.name),), "np.copy", (leaf,)))
                leaf = Var(copy.name)
            leaves.append(leaf)
        return tuple(copies), tuple(leaves)

    # ------------------------------------------------------------- ends of the sweep

    def _seed(self) -> None:
        """Adjoints of the results: parameters, or 1."""
        last = self.top.places[-1] if self.top.places else None
        self.adjoints.place = last or Place(Effect("print", ()), self.top, 0, 0, set(), set())
        leaves = entries_of(self.fn.result)
        for leaf in (leaves[i] for i in self.outputs):
            active = isinstance(leaf, Var) and leaf.name in self.adjoints.active
            if self.seeded:
                wish = f"{leaf.name}_bar" if isinstance(leaf, Var) else "y_bar"
                t = self.builder.types[leaf.name] if isinstance(leaf, Var) else Type("float64", weak=True)
                seed = self.builder.variable("y_bar" if wish.startswith("_") else wish, self._seed_type(t))
                self.seed_params.append(Var(seed.name))
                g: Value = seed
            else:
                g = self.builder.types[leaf.name].one if isinstance(leaf, Var) else 1.0
            if active:
                assert isinstance(leaf, Var)
                self._add_seed(leaf.name, g)

    def _seed_type(self, t: Type) -> Type:
        """The type of a cotangent: a parameter tells extents for the whole call, and must not tell those of one trip of a loop."""
        given = {d.symbol for p in self.fn.params for d in self.builder.types[p.name].dims}
        moving = varying(self.fn.body, self.builder.types) - given
        return replace(t, dims=tuple(self.builder.fresh_dim() if d.symbol in moving else d for d in t.dims), value=None)

    def _add_seed(self, name: str, g: Value) -> None:
        a = self.adjoints
        if name in a.shadows:
            target = a.value(a.shadows[name], True)
            self.builder.emit(Store(Var(target.name), Const(Ellipsis), operand_of(g), "add"))
        elif self.builder.types[name].array and not isinstance(g, Sym):
            self.builder.assign(a.bar(name), "np.full_like", a.value(name, True).operand, Const(g))
            a.present.add(name)
        else:
            a.add(name, g, owned=False)

    def _gradient(self, name: str) -> Operand:
        """The adjoint of a parameter at the end of the sweep; zeros where nothing arrived."""
        a, t = self.adjoints, self.builder.types[name]
        if self.top.places:
            a.place = self.top.places[0]
        if name in a.active and name not in a.present and name not in a.shadows:
            a.zero(name)
        if name in a.active:
            return a.bar(name).operand
        zero = self.builder.variable(f"{name}_bar", replace(t, value=None))
        if t.array:
            self.builder.assign(zero, "np.zeros_like", Var(name))
        else:
            self.builder.assign(zero, "alias", Const(0.0))
        return zero.operand

    # ------------------------------------------------------------- regions and statements

    def region(self, region: Region) -> None:
        """The adjoints of a block's statements, last one first."""
        for place in reversed(region.places):
            self.builder.emit(Effect(RESTORE, (Const(id(region)), Const(place.index), Const(place.number in self.kept))))
            self.adjoints.place = place
            self.builder.loc = place.stmt.loc
            self.builder.note = _note(place.stmt)
            self.statement(place)
        self.builder.note = None

    def statement(self, place: Place) -> None:
        stmt = place.stmt
        match stmt:
            case Assign():
                self.adjoints.assign(stmt)
            case Store():
                self.adjoints.store(stmt)
            case If():
                self.branch(place, stmt)
            case For():
                self.loop(place, stmt)
            case While():
                self.unbounded(place, stmt)
            case Custom():
                self.adjoints.custom(self._by_pullback(stmt), self._instance)
                if assigned(stmt.body) & self.adjoints.present:  # pullbacks that were written into the program read what the body leaves
                    self.region(place.inner[0])
            case Push():
                self._push(stmt)
            case Pop():
                self._pop(stmt)
            case Stack():
                pass

    def _push(self, stmt: Push) -> None:
        """The adjoint of a push takes the cotangent off the adjoint's stack."""
        a = self.adjoints
        if stmt.stack in a.active and stmt.stack not in a.shadows and isinstance(stmt.value, Var):
            t = self.builder.types[stmt.value.name]
            g = self.builder.variable("_t", replace(t, value=None))
            self.builder.emit(Pop(Var(g.name), self._bar_stack(stmt.stack)))
            if stmt.value.name in a.active:
                a.add(stmt.value.name, g, owned=True)

    def _pop(self, stmt: Pop) -> None:
        a = self.adjoints
        name = stmt.target.name
        if stmt.stack not in a.active:
            a.present.discard(name)  # what the name held before is worth nothing
        if stmt.stack not in a.active or stmt.stack in a.shadows:
            return
        if name not in a.present:
            a.zero(name, after=True)
        a.present.discard(name)
        self.builder.emit(Push(self._bar_stack(stmt.stack), a.bar(name).operand))

    def _bar_stack(self, stack: str) -> str:
        a = self.adjoints
        if stack not in a.bars:
            a.bars[stack] = self.builder.variable(f"{stack}_bar", self.builder.types[stack]).name
            self.bar_stacks.append(a.bars[stack])
        return a.bars[stack]

    def _by_pullback(self, stmt: Custom) -> Custom:
        """A region that has adjoints, with its forward rule transposed."""
        from stgrad.transforms import transpose

        outputs = {o.name for o in stmt.outputs}
        if not outputs & (self.adjoints.present | self.adjoints.shadows.keys()):
            return stmt
        classes = self.program.classes
        written = {classes.find(n) for n in stored(self.fn.body)}
        transpose.check_region(stmt, self.adjoints.active, self.builder.types, "reverse", lambda n: classes.find(n) in written)
        return transpose.pulled(self.builder, self.adjoints.splice, stmt, self.adjoints.active) if stmt.rule == "tangent" else stmt

    def _instance(self, stmt: Custom) -> tuple[Block, dict[str, str]]:
        """A pullback with names of its own, its reads of the program as placeholders."""
        pullback = stmt.pullback
        own = rule_binds(pullback) | {b.name for b in stmt.bars}
        names = {n: self.builder.variable(n, self.builder.types[n]).name for n in sorted(own)}
        outside = (read(pullback) | rule_reads(pullback)) - own
        known = {n: self.adjoints.value(n, True).name for n in sorted(outside) if n in self.fn.types}
        return rename(pullback, {**known, **names}), {**known, **names}

    # ------------------------------------------------------------- control flow

    def branch(self, place: Place, stmt: If) -> None:
        """Where one side raises, the sweep only comes back by the other one."""
        a = self.adjoints
        ends = [raises(block) for block in (stmt.then, stmt.orelse)]
        if ends[0] != ends[1]:
            self.region(place.inner[ends[0]])
            a.place = place
            return
        before = set(a.present)
        arms = []
        for region in place.inner:
            a.present = set(before)
            with self.builder.block() as out:
                self.region(region)
            arms.append((out, set(a.present)))
        union = arms[0][1] | arms[1][1]
        for out, present in arms:
            a.place, a.present = place, present
            outer, self.builder.out = self.builder.out, out
            for name in sorted(union - present):
                a.zero(name)
            self.builder.out = outer
        a.present = union
        a.place = place
        if place.number in self.kept or any(not is_mark(s) for out, _ in arms for s in out):
            cond = a.operand(stmt.cond)
            self.builder.note = None
            self.builder.emit(If(operand_of(cond), tuple(arms[0][0]), tuple(arms[1][0]), stmt.loc))

    def loop(self, place: Place, stmt: For) -> None:
        if stmt.snapshots is not None:
            reverse_marked(self, place, stmt)
            return
        a = self.adjoints
        start, stop, step = (a.operand(o) for o in (stmt.start, stmt.stop, stmt.step))

        def emit(body: Block) -> None:
            a.place = place
            first, last, by = map(operand_of, self._reversed_range(start, stop, step))
            self.builder.note = None
            self.builder.emit(For(stmt.var, first, last, by, body, stmt.loc))

        self.repeat(place, lambda: self.region(place.inner[0]), emit)

    def _reversed_range(self, start: Value, stop: Value, step: Value) -> tuple[Value, Value, Value]:
        s = self.adjoints.splice
        if step == 1:
            return s(self.builder, minus_one, (stop,), {}), s(self.builder, minus_one, (start,), {}), -1
        if step == -1:
            return s(self.builder, plus_one, (stop,), {}), s(self.builder, plus_one, (start,), {}), 1
        return (*s(self.builder, reversed_bounds, (start, stop, step), {}), -step)

    def unbounded(self, place: Place, stmt: While) -> None:
        if stmt.snapshots is not None:
            reverse_marked(self, place, stmt)
            return
        a = self.adjoints
        trips = a.value(self.trips[place.number], True)

        def emit(block: Block) -> None:
            a.place = place
            counter = self.builder.variable("k", Type("int64", weak=True))
            self.builder.note = None
            self.builder.emit(For(Var(counter.name), Const(0), trips.operand, Const(1), block, stmt.loc))

        self.repeat(place, lambda: self.region(place.inner[1]), emit)

    def repeat(self, place: Place, body: Callable[[], None], emit: Callable[[Block], None], inner: Sequence[Region] | None = None) -> None:
        """A reversed loop: which adjoints it carries from trip to trip is found by repetition."""
        a = self.adjoints
        entry = set(a.present)
        carried = set(entry)
        while True:
            rollback = self.builder.mark()
            made, bars = dict(a.placeholders), dict(a.bars)
            a.present = set(carried)
            with self.builder.block() as out:
                body()
                after = set(a.present)
                self._clear(place, carried - after, place.inner if inner is None else inner)
            if after <= carried:
                break
            rollback()
            a.bars = bars
            a.placeholders = made
            carried |= after
            a._made = {k: m for k, m in a._made.items() if m in made}
            for name in carried:
                a.bar(name)
        if place.number not in self.kept and all(is_mark(s) for s in out):
            a.present = entry
            return
        a.place = place
        a.present = set(entry)
        for name in sorted(carried - entry):
            a.zero(name, after=True)
        emit(tuple(out))
        a.present = set(carried)

    def _clear(self, place: Place, consumed: Iterable[str], inner: Sequence[Region]) -> None:
        """At the end of a trip: adjoints that it used up are zero for the one before."""
        self.builder.note = None
        for name in sorted(consumed):
            if inner:
                self.adjoints.place = inner[-1].places[0] if inner[-1].places else place
            self.adjoints.zero(name)

    def classes(self, code: Block) -> Classes:
        """Alias classes of the reverse sweep: placeholders of one class of the primal share memory."""
        classes = Classes(code, self.builder.types).own()
        primal = self.program.classes
        by_class: dict[str, str] = {}
        for mark, (name, _, _) in self.adjoints.placeholders.items():
            if self.builder.types[mark].array:
                classes.unite(mark, by_class.setdefault(primal.find(name), mark))
        return classes


# --------------------------------------------------------------------------- small things


def _note(stmt: Stmt) -> str | None:
    """The comment above the adjoint of a statement: the user's line it belongs to."""
    if stmt.loc is None or isinstance(stmt, (If, For, While)):
        return None
    return f"grad of line {stmt.loc.line}: {stmt.loc.text.strip()}"


__all__ = ["reverse", "viewed"]
