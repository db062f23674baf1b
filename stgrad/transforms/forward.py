"""Forward mode: beside every statement its tangent, in the order of the program.

    y = f(x)  for each statement        y_dot = f'(x) * x_dot

Nothing is stored for later, and nothing is run backwards: the program takes as much memory again as it took, for each direction. Several directions run
beside one another, and share the program and its partial derivatives. After Griewank and Walther, Evaluating Derivatives (2008), chapter 3.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.request import Derivative
    >>> from stgrad.transformed import Transformed
    >>> def wave(x):
    ...     return np.sin(x * x)
    >>> print(Transformed(Derivative(wave, "jvp", ("x",))).stages(1.0)["forward"])
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def wave_jvp(x, x_dot):
        t = x * x
        return np.sin(t), (x_dot * x + x_dot * x) * np.cos(t)
    <BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stgrad import errors
from stgrad.analysis.activity import activity
from stgrad.analysis.alias import Classes, sharing, viewed
from stgrad.analysis.contiguous import contiguous, rowwise
from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import parameter_extents
from stgrad.analysis.liveness import Liveness, result_names
from stgrad.analysis.shadows import copied_at_once, shadowed, updated
from stgrad.frontend.builder import Builder, last_symbol
from stgrad.frontend.values import Sym, Value, operand_of
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
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
    Var,
    While,
    assigned,
    entries_of,
    raises,
    read,
    reads,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.rules import lookup
from stgrad.transforms.directions import Directions, Unbatched
from stgrad.transforms.guards import partials_of_products
from stgrad.transforms.instrument import own_memory
from stgrad.transforms.partials import partials_of
from stgrad.transforms.tangents import Products, Splice, Tangents, value_of, zero_of
from stgrad.transforms.transpose import check_region, pushed, transposed

Present = tuple[frozenset[str], ...]


def forward(
    fn: Function, directions: Sequence[Sequence[str]], splice: Splice, *, outputs: Sequence[int] | None = None, values: int | None = None,
    units: Mapping[str, str] | None = None, linear: bool = False,
) -> Function:  # fmt: skip
    """The program that computes the results of a program and their tangents.

    Args:
        fn: a program.
        directions: for each direction the parameters whose tangents are parameters, behind those of `fn`; those of the others are zero.
        splice: writes the body of a rule into a program.
        outputs: which leaves of the result have tangents, all of them by default.
        values: how many of the results of `fn` are results too, all by default, before the tangents, which stand direction by direction.
        units: if given, each direction is one parameter, no tangents are parameters, and of an array all its numbers are directions, side by side
            (see `stgrad.transforms.directions`); the array of this dict, by that parameter, has its shape.
        linear: whether the program is a pullback, linear in what moves: its cotangents.
    """
    chosen = tuple(range(len(entries_of(fn.result)))) if outputs is None else tuple(outputs)
    names = Names([*fn.types, *(p.name for p in fn.params)])
    fn = own_memory(fn, names)
    return Forward(fn, directions, splice, names, chosen, units, linear).run(values)


OF_TANGENTS = ""  # the note of what computes tangents: no comment stands before it, and it is no statement of the user's


@dataclass
class Forward:
    """The walk over the program; built and used up inside `forward`."""

    fn: Function
    wrt: Sequence[Sequence[str]]
    splice: Splice
    names: Names
    outputs: tuple[int, ...]
    units: Mapping[str, str] | None = None
    linear: bool = False
    builder: Builder = field(init=False)
    directions: list[Tangents] = field(init=False)
    carried: Present = ()  # the tangents that the innermost loop carries from trip to trip

    def __post_init__(self) -> None:
        fn = self.fn
        self.builder = Builder(names=self.names, types=dict(fn.types), symbols=last_symbol(fn.types.values()), note=OF_TANGENTS)
        self.classes = sharing(fn)
        self.written = updated(fn)
        self.in_conflict = shadowed(fn)
        self.rows = contiguous(fn) if self.in_conflict else frozenset()
        self.live = Liveness(fn.body, result_names(fn))
        self.counts = definitions(fn).counts
        self.products = Products(partials_of_products(fn), self.linear)
        chosen = replace(fn, result=Pack(tuple(self.leaves[i] for i in self.outputs)))
        found = {tuple(wrt): activity(chosen, wrt).active for wrt in self.wrt}
        self.directions = [self.direction(wrt, found[tuple(wrt)]) for wrt in self.wrt]

    def direction(self, wrt: Sequence[str], active: frozenset[str]) -> Tangents:
        common = (self.builder, self.splice, active, self.written, self.classes, self.products)
        if self.units is None or not self.builder.types[wrt[0]].rank:
            return Tangents(*common, suffix=f"dot_{wrt[0]}" if len(self.wrt) > 1 and len(wrt) == 1 else "dot")
        if self.counts[wrt[0]] > 1:
            raise Unbatched(f"`{wrt[0]}` is bound to other arrays")
        if self.builder.types[wrt[0]].rank > 1 and any(isinstance(s, (For, While)) for s in walk(self.fn.body)):
            raise Unbatched("the number of directions is no extent that loops can rely on")
        return Directions(*common, unit=wrt[0], like=self.units[wrt[0]], told=parameter_extents(self.fn))

    @property
    def leaves(self) -> tuple[Operand, ...]:
        return entries_of(self.fn.result)

    def run(self, kept: int | None) -> Function:
        fn, seeds = self.fn, list[Var]()
        for wrt, direction in zip(self.wrt, self.directions, strict=True):
            for name in wrt if not isinstance(direction, Directions) else ():
                dot = direction.dot(name)
                direction.present.add(name)
                if self.units is None:
                    seeds.append(Var(dot.name))
                else:
                    self.builder.assign(dot, "alias", Const(dot.type.one))
        self.block(fn.body)
        values = self.leaves[:kept]
        results = [self.tangent(d, self.leaves[i]) for d in self.directions for i in self.outputs]
        results = self.apart(results, {s.name for s in (*seeds, *(fn.params if self.units is not None else ()))})
        count = len(fn.params) - len(fn.constants)
        params = (*fn.params[:count], *seeds, *fn.params[count:])
        every = (*values, *results)
        result = every[0] if len(every) == 1 else Pack(every)
        return replace(fn, name=f"{fn.name}_jvp", params=params, body=tuple(self.builder.out), result=result, types=dict(self.builder.types))

    def tangent(self, direction: Tangents, leaf: Operand) -> Operand:
        """The tangent of a result."""
        if not isinstance(leaf, Var):
            return Const(0.0)
        if isinstance(direction, Directions):
            return direction.last(leaf.name)
        if leaf.name not in direction.active or leaf.name not in direction.present:
            zero = self.builder.variable(f"{leaf.name}_dot", replace(self.builder.types[leaf.name], value=None))
            if zero.type.array:
                self.builder.assign(zero, "np.zeros_like", leaf)
            else:
                self.builder.assign(zero, "alias", Const(zero_of(zero.type)))
            return zero.operand
        return direction.dot(leaf.name).operand

    def apart(self, results: list[Operand], given: set[str]) -> list[Operand]:
        """Results that are no arrays of the caller's."""
        classes = Classes(tuple(self.builder.out), self.builder.types)
        theirs = {classes.find(n) for n in given}
        found = list[Operand]()
        for leaf in results:
            if isinstance(leaf, Var) and self.builder.types[leaf.name].array and classes.find(leaf.name) in theirs:
                copy = self.builder.variable(leaf.name, self.builder.types[leaf.name])
                self.builder.assign(copy, "np.copy", leaf)
                leaf = copy.operand
            found.append(leaf)
        return found

    # ------------------------------------------------------------- statements

    def block(self, block: Block) -> None:
        for stmt in block:
            self.builder.loc = stmt.loc
            if isinstance(stmt, (If, For, While, Custom, Push)):
                self.settle(stmt)
            self.statement(stmt)

    def settle(self, stmt: Stmt) -> None:
        for d in self.directions:
            if isinstance(d, Directions):
                d.settle(read((stmt,)) | assigned((stmt,)))

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Assign():
                self.assign(stmt)
            case Store():
                for direction in self.directions:
                    direction.store(stmt)
                self.builder.out.append(stmt)
            case If():
                self.branch(stmt)
            case For():
                self.loop(stmt)
            case While():
                self.unbounded(stmt)
            case Custom():
                self.custom(stmt)
            case Stack():
                self.builder.out += [stmt, *(Stack(d.dot(stmt.name).name) for d in self.directions if stmt.name in d.active)]
            case Push():
                self.push(stmt)
            case Pop():
                self.pop(stmt)
            case _:
                self.builder.out.append(stmt)

    def assign(self, stmt: Assign) -> None:
        """The tangents of a statement stand before it where they read only its operands, else behind it."""
        moving = [d for d in self.directions if any(t.name in d.active for t in stmt.targets)]
        self.settled(stmt, moving)
        if not any(d.moves(o) for d in moving for o in (*stmt.args, *(v for _, v in stmt.kwargs))):
            self.builder.out.append(stmt)
            for d in moving:
                for target in stmt.targets:
                    d.clear(target.name)
            return
        dims = self._extents_of_operands(stmt)
        clash = bool({t.name for t in stmt.targets} & set(reads(stmt))) or dims is not None
        y = tuple(self._fresh(t.name, dims) if clash else self.named(t.name) for t in stmt.targets)
        with self.builder.block() as out:
            self.tangents_of(stmt, y, moving)
        own = {v.name for v in y}
        if not own & read(tuple(out)):
            for v in y if clash else ():
                self.builder.types.pop(v.name)
            self.builder.out += [*out, stmt] if clash else [stmt, *out]
            return
        self.builder.out.append(replace(stmt, targets=tuple(Var(v.name) for v in y)))
        self.builder.out += out
        for target, v in zip(stmt.targets, y, strict=True):
            if clash:
                self.builder.out.append(Assign((target,), "alias", (v.operand,), (), stmt.loc))

    def _fresh(self, name: str, dims: tuple[Dim, ...] | None) -> Sym:
        t = self.builder.types[name]
        return self.builder.variable(name, replace(t, value=None, dims=t.dims if dims is None else dims))

    def _extents_of_operands(self, stmt: Assign) -> tuple[Dim, ...] | None:
        """The extents of an elementwise result, where they are others than those of its name: an iteration gives that an array of other extents.

        The name stands for the new array behind the statement, its tangent for the old one until then.
        """
        rule, types = lookup(stmt.op), self.builder.types
        if rule is None or rule.partials is None or len(stmt.targets) != 1 or not types[stmt.target.name].rank or self.counts[stmt.target.name] < 2:
            return None
        shapes = [types[a.name].dims for a in stmt.args if isinstance(a, Var) and types[a.name].rank]
        dims = types[stmt.target.name].dims
        if any(len(shape) == len(dims) and shape != dims and Dim(None, 1) not in (*shape, *dims) for shape in shapes):
            return next(shape for shape in shapes if len(shape) == len(dims))
        return None

    def named(self, name: str) -> Sym:
        return Sym(Var(name), self.builder.types[name])

    def tangents_of(self, stmt: Assign, y: tuple[Sym, ...], moving: list[Tangents]) -> None:
        found: list[tuple[Value, ...]] = []

        def partials() -> tuple[Value, ...]:
            """The partial derivatives, written once for all directions."""
            if not found:
                value = value_of(self.builder)
                rule = lookup(stmt.op)
                assert rule is not None
                found.append(partials_of(self.splice, self.builder, rule, y[0], tuple(map(value, stmt.args)), {k: value(v) for k, v in stmt.kwargs}))
            return found[0]

        results = [d.result(stmt, y, partials) for d in moving]
        for d, dots in zip(moving, results, strict=True):
            for target, dot, v in zip(stmt.targets, dots, y, strict=True):
                d.bind(target.name, dot, v, shared=d.shares(stmt), view=d.views(stmt))

    def settled(self, stmt: Assign, moving: list[Tangents]) -> None:
        """Refuse what may be a view or a copy, where it matters which: the tangent may become the other one."""
        source = viewed(stmt, self.fn.types)
        if source is None or not _either(stmt.op) or not moving or self.classes.find(source) not in self.in_conflict:
            return
        if stmt.target.name not in copied_at_once(self.fn) and (operation(stmt.op).made != "reshaped" or not (source in self.rows and rowwise(stmt))):
            raise errors.AliasingError(
                f"`{stmt.op}` may return a view or a copy, and its memory is overwritten later",
                stmt.loc,
                reason="which of the two depends on strides that are known only at run time",
                hint=f"write `{stmt.op}(...).copy()`",
            )

    # ------------------------------------------------------------- stacks

    def push(self, stmt: Push) -> None:
        for d in self.directions:
            if stmt.stack in d.active:
                value = d.full(stmt.value)
                self.builder.emit(Push(d.dot(stmt.stack).name, operand_of(value), stmt.loc))
        self.builder.out.append(stmt)

    def pop(self, stmt: Pop) -> None:
        self.builder.out.append(stmt)
        for d in self.directions:
            name = stmt.target.name
            if stmt.stack not in d.active:
                d.clear(name)
                continue
            target = d.dot(name) if name in d.active else self.builder.variable("_t", self.builder.types[d.dot(stmt.stack).name])
            self.builder.emit(Pop(Var(target.name), d.dot(stmt.stack).name, stmt.loc))
            d.present.add(name)

    # ------------------------------------------------------------- control flow

    def state(self) -> Present:
        return tuple(frozenset(d.present) for d in self.directions)

    def restore(self, present: Present) -> None:
        for d, names in zip(self.directions, present, strict=True):
            d.present = set(names)

    def fill(self, wanted: Present, live: frozenset[str]) -> None:
        """Make zeros of the tangents that another path has here, as far as the names are read later; forget the others."""
        for d, names in zip(self.directions, wanted, strict=True):
            for name in sorted(names - d.present):
                if name in live:
                    d.zero(name)
            d.present = {n for n in d.present if n in names and n in live}

    def branch(self, stmt: If) -> None:
        live, before = self.live.after[id(stmt)], self.state()
        arms = []
        for block in (stmt.then, stmt.orelse):
            self.restore(before)
            with self.builder.block() as out:
                self.block(block)
            arms.append((out, self.state(), raises(block)))
        going = [present for _, present, ends in arms if not ends] or [before]
        union = tuple(frozenset().union(*parts) & live for parts in zip(*going, strict=True))
        for out, present, ends in arms:
            self.restore(present)
            outer, self.builder.out = self.builder.out, out
            if not ends:
                self.fill(union, live)
            self.builder.out = outer
        self.restore(union)
        self.builder.out.append(replace(stmt, then=tuple(arms[0][0]), orelse=tuple(arms[1][0])))

    def loop(self, stmt: For) -> None:
        def body() -> tuple[Present, tuple[Block, ...]]:
            with self.builder.block() as out:
                self.block(stmt.body)
                ended = self.state()
                self.fill(self.carried, live)
            return ended, (tuple(out),)

        live = self.live.after[id(stmt.body[-1])] if stmt.body else frozenset()
        carried, (new,) = self.repeated(body, live)
        self.builder.out.append(replace(stmt, body=new))
        self.restore(carried)

    def unbounded(self, stmt: While) -> None:
        left: Present = ()

        def body() -> tuple[Present, tuple[Block, ...]]:
            nonlocal left
            with self.builder.block() as head:
                self.block(stmt.head)
            left = self.state()
            with self.builder.block() as out:
                self.block(stmt.body)
                ended = self.state()
                self.fill(self.carried, live)
            return ended, (tuple(head), tuple(out))

        live = self.live.after[id(stmt.body[-1])] if stmt.body else frozenset(n for n in read((stmt,)) if n in self.fn.types)
        _, (head, new) = self.repeated(body, live)
        self.builder.out.append(replace(stmt, head=head, body=new))
        self.restore(left)

    def repeated(self, body: Callable[[], tuple[Present, tuple[Block, ...]]], live: frozenset[str]) -> tuple[Present, tuple[Block, ...]]:
        """A loop: which tangents it carries from trip to trip is found by repetition; they are there before it."""
        outer, before = self.carried, self.state()
        carried = before
        while True:
            rollback, dots = self.builder.mark(), [dict(d.dots) for d in self.directions]
            self.carried = carried
            self.restore(carried)
            ended, found = body()
            grown = tuple(c | (e & live) for c, e in zip(carried, ended, strict=True))
            if grown == carried:
                break
            rollback()
            carried = grown
            for d, known, names in zip(self.directions, dots, carried, strict=True):
                d.dots = known
                for name in sorted(names):
                    d.dot(name)
        self.carried = outer
        self.restore(before)
        for d, names in zip(self.directions, carried, strict=True):
            for name in sorted(names - d.present):
                d.zero(name)
        return carried, found

    # ------------------------------------------------------------- functions with a derivative of their own

    def custom(self, stmt: Custom) -> None:
        """The tangents of the outputs are what the rule says, or what the pullback, which is linear, says when it is transposed."""
        outputs = {o.name for o in stmt.outputs}
        if any(isinstance(d, Directions) and any(map(d.moves, stmt.inputs)) for d in self.directions):
            raise Unbatched("a function with a derivative of its own", stmt.loc)
        dots = [[d.of(i) for i in stmt.inputs] for d in self.directions]
        for d in self.directions:
            if d.active & outputs:
                check_region(stmt, d.active, self.builder.types, "forward", d.owns)
        active = [d.active for d in self.directions]
        for d in self.directions:
            d.active -= outputs
        with self.builder.block() as body:
            self.block(stmt.body)
        self.builder.out.append(replace(stmt, body=tuple(body)))
        for d, names, given in zip(self.directions, active, dots, strict=True):
            d.active = names
            found = pushed(self.builder, stmt, given) if stmt.rule == "tangent" else transposed(self.builder, self.splice, stmt, given)
            for output, g in zip(stmt.outputs, found, strict=True):
                d.bind(output.name, g, self.named(output.name), shared=True)


def _either(op: str) -> bool:
    """Whether what may be a view may also be a copy, or have a tangent of its own."""
    known = operation(op)
    return known.made == "reshaped" or known.kind == "copy" or not known.differentiable
