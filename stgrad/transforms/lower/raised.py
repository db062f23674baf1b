"""Loops of the user's own as element statements, where they scatter to neighbours.

Before: `for i: t = e[i]; b[i - 1] += t; b[i + 1] += t`, which no processor does several trips of at once, as each adds to elements that the next one
reads; after: the element statements `t[i] = e[i]; b[i - 1] += t[i]; b[i + 1] += t[i]`, one after the other over all trips, which is what an
assignment of slices would have given, and which `gather`, `fuse` and `contract` work on.

It is done where the trips may be split and turned round: no statement meets an element that one behind it has met in an earlier trip, positions move
with each loop by one, and scalars live in one trip. Where no trip is made, nothing may be touched: the nest stands under a test of that.

    >>> from stgrad.testing.passes import run_pass
    >>> print(run_pass("loops", '''
    ... def f(e: float64['m'], n: int('n'), b: float64['k']):
    ...     i: int
    ...     for i in range(n, 0, -1):
    ...         t: float64 = e[i]
    ...         low: int = i - 1
    ...         b[low] += t
    ...         b[i] += t
    ...     return b
    ... '''))
    def f(e: float64['m'], n: int('n'), b: float64['k']):
        _t_11: bool_ = n > 0
        if _t_11:
            _t_4: int = n + 2
            _w: float64['n' + 2] = np.zeros(_t_4)
            i_2: int
            for i_2 in range(0, n, 1):
                _t_2: int = i_2 + 1
                _t_3: float64 = e[_t_2]
                _t_5: int = i_2 + 1
                _w[_t_5] = _t_3
            _t_6: int = n + 1
            for i_2 in range(0, _t_6, 1):
                _t_7: int = i_2 + 1
                _t_8: float64 = _w[_t_7]
                _t_9: float64 = _w[i_2]
                _t_10: float64 = _t_8 + _t_9
                b[i_2] += _t_10
        return b
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from stgrad.analysis.affine import Affine, named, number
from stgrad.ir import Assign, Block, Const, Dim, For, If, Operand, Stmt, Store, Type, Var, assigned, reads
from stgrad.ir.ops import operation
from stgrad.transforms.lower.fuse import clash, loop_distance
from stgrad.transforms.lower.gather import find
from stgrad.transforms.lower.nest import Access, Axis, Entry, Expr, Fixed, Guard, Index, Kernel, Lit, Load, Unit
from stgrad.transforms.lower.numeric import element, literal
from stgrad.transforms.lower.scalarise import Scalariser, literal_of
from stgrad.transforms.lower.views import compose, items_of

DTYPE = "float64"


@dataclass(frozen=True)
class Nest:
    """Loops that stand in one another, outermost first, the statements of the innermost one, and what stands before each inner loop."""

    loops: tuple[For, ...]
    body: Block
    before: tuple[tuple[Assign, ...], ...]

    @classmethod
    def of(cls, loop: For) -> Nest | None:
        """The nest that begins with a loop; None where it has a form that no element statements have."""
        loops: list[For] = []
        before: list[tuple[Assign, ...]] = []
        body: Block = (loop,)
        while body and isinstance(body[-1], For) and all(isinstance(s, Assign) for s in body[:-1]):
            loops.append(body[-1])
            before.append(tuple(s for s in body[:-1] if isinstance(s, Assign)))
            body = body[-1].body
        nest = cls(tuple(loops), body, tuple(before))
        return nest if nest._plain() else None

    def _plain(self) -> bool:
        if any(x.step not in (Const(1), Const(-1)) or x.parallel or x.snapshots is not None for x in self.loops):
            return False
        adds = [s for s in self.body if isinstance(s, Store) and s.mode == "add"]
        return len(adds) > 1 and all(isinstance(s, (Assign, Store)) for s in self.body)

    @property
    def counters(self) -> frozenset[str]:
        return frozenset(x.var.name for x in self.loops)

    @property
    def inside(self) -> frozenset[str]:
        """Names that the trips bind, the counters left out."""
        return frozenset(assigned(self.loops[0].body)) - self.counters

    def fixed(self, names: Collection[str]) -> bool:
        """Whether none of these changes from trip to trip."""
        return not self.inside & set(names) and not self.counters & set(names)


def raised(loop: For, live: frozenset[str], state: Scalariser) -> list[Unit] | None:
    """The element statements of a nest of loops that scatters to neighbours; None for any other loop."""
    nest = Nest.of(loop)
    if nest is None or nest.inside & live:
        return None
    kernels = _Raising(nest, state).kernels()
    if kernels is None or not find(list(kernels), state) or any(isinstance(u, Guard) for u in state.units):
        return None
    signs = [x.step.value for x in nest.loops if isinstance(x.step, Const)]
    if not all(_in_order(a, b, signs, state) for k, a in enumerate(kernels) for b in kernels[k + 1 :]):
        return None
    state.iterates = True  # see `guarded`
    return [*state.units, *kernels]


def _in_order(first: Kernel, second: Kernel, signs: list[int], state: Scalariser) -> bool:
    """Whether no trip of the second statement comes before one of the first that meets the same element."""
    return all(_later(x, y, signs) for x in first.accesses() for y in second.accesses() if clash(x, y, state.shares))


def _later(first: Access, second: Access, signs: list[int]) -> bool:
    if first.buffer != second.buffer or first.index is None or second.index is None:
        return False
    for depth, sign in enumerate(signs):
        distance = loop_distance(first.index, second.index, depth)
        if distance is None or distance * sign < 0:
            return False
        if distance:
            return True
    return True


@dataclass
class _Raising:
    """Writes the statements of one trip for the element that the trip stands for."""

    nest: Nest
    state: Scalariser
    space: list[Dim] = field(default_factory=list)
    least: dict[str, tuple[int, Affine]] = field(default_factory=dict)  # of each counter the depth of its loop, and its least value
    values: dict[str, Load] = field(default_factory=dict)  # scalars of the trip
    units: list[Kernel] = field(default_factory=list)

    def kernels(self) -> list[Kernel] | None:
        """The statements, all trips of one before all of the next."""
        self.state.integers.loops += self.nest.loops
        before = [s for part in self.nest.before for s in part]
        if all(map(self._position, before)) and all(map(self._range, self.nest.loops)) and all(map(self._statement, self.nest.body)):
            return self.units
        return None

    def _range(self, loop: For) -> bool:
        """Note how many trips a loop makes, and where it starts when it counts up."""
        bounds = (loop.start, loop.stop) if loop.step == Const(1) else (loop.stop, loop.start)
        low, high = map(self.state.integers.value, bounds)
        if low is None or high is None or not all(self.nest.fixed(name.split("*")) for total in (low, high) for name, _ in total.terms):
            return False
        if loop.step == Const(-1):
            low, high = low + number(1), high + number(1)
        extent = self.state.integers.dim(high - low)
        if extent is None or not self.state.extents.known((extent,)):
            return False
        self.least[loop.var.name] = len(self.space), low
        self.space.append(self.state.extents.canonical(extent))
        return True

    # ------------------------------------------------------------ statements

    def _statement(self, stmt: Stmt) -> bool:
        if isinstance(stmt, Store):
            return self._store(stmt)
        assert isinstance(stmt, Assign)
        if len(stmt.targets) != 1 or stmt.kwargs or self.state.types[stmt.target.name].array:
            return False
        if self.state.integers.is_integer(stmt.target.name):
            return self._position(stmt)
        expr = self._expr(stmt)
        if expr is None or expr.dtype != DTYPE or self.state.types[stmt.target.name].dtype != DTYPE:
            return False
        self._define(stmt, expr)
        return True

    def _position(self, stmt: Assign) -> bool:
        """Whether a statement is arithmetic of positions, which is seen through."""
        return len(stmt.targets) == 1 and self.state.integers.definitions.pure(stmt.target.name) is not None

    def _define(self, stmt: Assign, expr: Expr) -> None:
        dims = tuple(self.space)
        name = self.state.temporary("_t", Type(DTYPE, dims, array=True))
        self.state.new_buffer(name, dims)
        index = tuple(map(Axis, range(len(dims))))
        self.units.append(Kernel(dims, name, index, expr, "def", DTYPE, stmt.loc, stmt.note))
        self.values[stmt.target.name] = Load(name, index, DTYPE)

    def _expr(self, stmt: Assign) -> Expr | None:
        """What a statement computes from elements."""
        if stmt.op == "getitem" and isinstance(stmt.args[0], Var):
            found = self._place(stmt.args[0], stmt.args[1])
            return None if found is None else Load(found[0], found[1], self.state.types[stmt.args[0].name].dtype)
        if stmt.op != "alias" and operation(stmt.op).kind not in ("arithmetic", "function"):
            return None
        args = tuple(a for a in map(self._operand, stmt.args) if a is not None)
        if len(args) != len(stmt.args) or any(np.dtype(a.dtype).kind == "c" for a in args):
            return None
        return args[0] if stmt.op == "alias" else element(stmt.op, args, DTYPE)

    def _operand(self, operand: Operand) -> Expr | None:
        if isinstance(operand, Const):
            return literal_of(operand)
        if not isinstance(operand, Var) or self.state.types[operand.name].array:
            return None
        if not self.nest.fixed((operand.name,)):
            return self.values.get(operand.name)
        type_ = self.state.types[operand.name]
        return Load(operand.name, (), type_.dtype, type_.weak)

    def _store(self, stmt: Store) -> bool:
        found, value = self._place(stmt.target, stmt.index), self._operand(stmt.value)
        if found is None or value is None or stmt.mode not in ("set", "add") or self.state.types[stmt.target.name].dtype != DTYPE:
            return False
        base, index = found
        moving = sorted(e.depth for e in index if isinstance(e, Axis))
        if stmt.mode == "set" and moving != list(range(len(self.space))):
            return False
        if isinstance(value, Lit):
            value = Lit(literal(value.operand.value, DTYPE), DTYPE, weak=False)
        self.units.append(Kernel(tuple(self.space), base, index, value, stmt.mode, DTYPE, stmt.loc, stmt.note))
        return value.dtype == DTYPE

    # ------------------------------------------------------------- positions

    def _place(self, array: Var, index: Operand) -> tuple[str, Index] | None:
        """The buffer and the position of an element."""
        view = self.state.view(array.name)
        items = items_of(index, len(view.dims))
        if items is None or len(items) != len(view.dims):
            return None
        entries = [self._entry(i) for i in items]
        known = [e for e in entries if e is not None]
        placed = compose(view.index, known) if len(known) == len(items) else None
        return None if placed is None else (view.base, placed)

    def _entry(self, item: Operand) -> Entry | None:
        """A position that moves with one loop at most, by one in each trip."""
        total = self.state.integers.value(item)
        if total is None:
            return None
        moving = [(name, factor) for name, factor in total.terms if name in self.least]
        if not all(self.nest.fixed(name.split("*")) for name, _ in total.terms if name not in self.least):
            return None
        if not moving:
            return self._still(item, total)
        name, factor = moving[0]
        if len(moving) > 1 or factor != 1:
            return None
        depth, low = self.least[name]
        first = total - named(name) + low
        offset = self.state.integers.dim(first)
        if offset is None or not self.state.integers.nonnegative(first):
            return None
        return Axis(depth, 1, offset)


    def _still(self, item: Operand, total: Affine) -> Entry | None:
        """A position that is the same in all trips."""
        if not self.state.integers.nonnegative(total):
            return None
        position = self.state.integers.dim(total)
        return Fixed(position) if position is not None else None


def guarded(loop: For, body: Sequence[Stmt], state: Scalariser) -> list[Stmt]:
    """Statements that run where every loop of a nest makes a trip."""
    nest = Nest.of(loop)
    assert nest is not None
    result = list(body)
    for one, before, again in reversed(list(zip(nest.loops, nest.before, _repeated(nest, state), strict=True))):
        if not again:
            test = Var(state.names.fresh("_t"))
            state.types[test.name] = Type("bool")
            below = "np.less" if one.step == Const(1) else "np.greater"
            result = [Assign((test,), below, (one.start, one.stop)), If(test, tuple(result))]
        result = [*(s for s in before if nest.counters.isdisjoint(reads(s))), *result]
    return result


def _repeated(nest: Nest, state: Scalariser) -> list[bool]:
    """For each loop whether one around it makes as many trips."""
    ends = [tuple(map(state.integers.value, (x.start, x.stop))) for x in nest.loops]
    return [end in ends[:k] for k, end in enumerate(ends)]
