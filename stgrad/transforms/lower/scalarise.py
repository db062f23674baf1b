"""NumPy statements to element statements, one straight run of statements at a time.

Before: `t = np.multiply(a, b)`; after: the kernel `t[i] = a[i] * b[i]` over the space (n,). Views become index maps. What has no
element form, or no proof that its positions are in range, stays as it is (`Raw`) and sees its operands in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np

from stgrad.analysis.affine import Affine, named
from stgrad.analysis.alias import OwnClasses, may_view, viewed
from stgrad.analysis.integers import Integers
from stgrad.ir import (
    Assign,
    Const,
    Dim,
    Effect,
    Operand,
    Pop,
    Push,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    assigns,
    entries_of,
    map_operands,
    reads,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.lower.nest import (
    ZERO,
    Axis,
    Buffer,
    Entry,
    Expr,
    Fixed,
    Given,
    Guard,
    Index,
    Kernel,
    Lit,
    Load,
    Raw,
    Unit,
    plus,
)
from stgrad.transforms.lower.numeric import as_dtype, element
from stgrad.transforms.lower.tested import TestedExtents
from stgrad.transforms.lower.views import View, compose, subscript, whole

ONE = Dim(None, 1)
Handler = Callable[["Scalariser", Assign], bool]
HANDLERS: dict[str, Handler] = {}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Register how statements of these operations are written for one element. A handler returns False to decline."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(ops, handler))
        return handler

    return register


Bound = tuple[str, tuple[Affine, Affine], Dim, Dim]  # an operation on two integers, as sums and as extents


@dataclass
class Scalariser:
    """The state of one run of statements. Names are assigned once in the run."""

    types: dict[str, Type]
    names: Names
    classes: OwnClasses
    extents: TestedExtents
    integers: Integers
    slices: Callable[[Scalariser, Slice, Dim, int], tuple[Entry, Dim] | None]
    sums: Callable[[Scalariser, Dim, Dim], Dim]
    in_loop: bool = False
    moving: frozenset[str | None] = frozenset()  # symbols of the arrays that a loop binds anew
    scatter: Callable[[Scalariser, Store], bool] = lambda state, stmt: False  # stores with arrays in the index
    written: frozenset[str] = frozenset()  # arrays that are written in place, anywhere
    live: frozenset[str] = frozenset()  # names read after the run
    iterates: bool = False  # whether every loop of the run is known to make an iteration
    made: set[str] = field(default_factory=set)  # new arrays that calls made
    units: list[Unit] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    unmade: dict[str, Assign] = field(default_factory=dict)  # views that no statement has needed in memory so far
    exposed: set[str] = field(default_factory=set)  # own buffers that an unknown view may look at
    values: dict[str, Dim] = field(default_factory=dict)  # integers of this run whose symbolic value is known
    clips: dict[tuple[str, Affine, Affine], Dim] = field(default_factory=dict)  # what was computed for bounds of slices
    bounds: dict[str, Bound] = field(default_factory=dict)  # and how, by the name of the result
    kept: set[str] = field(default_factory=set)  # integers that stay, whatever becomes of the statement that asked for them
    later: Counter[str] = field(default_factory=Counter)  # reads of each name in the rest of the run, and behind it

    # ------------------------------------------------------------ statements

    def statement(self, stmt: Stmt) -> None:
        mark = len(self.units)
        if isinstance(stmt, Assign) and all(self.integers.is_integer(n) for n in assigns(stmt)):
            self.integers.local.update(dict.fromkeys(assigns(stmt), stmt))
        self.later.subtract(reads(stmt))
        if isinstance(stmt, Store) and (self._store(stmt) or self.scatter(self, stmt)):
            return
        if isinstance(stmt, Effect) and stmt.op == "check_equal" and self._checked(stmt):
            return
        if isinstance(stmt, Effect) and stmt.op == "check_index":
            self.check_index(stmt)
            return
        if isinstance(stmt, Assign) and not self._is_written_part(stmt):
            handler = HANDLERS.get(stmt.op)
            if handler is not None and len(stmt.targets) == 1 and self._written(handler, stmt):
                return
        self.units[mark:] = [u for u in self.units[mark:] if isinstance(u, Guard) or isinstance(u, Kernel) and u.target in self.kept]
        self.raw(stmt)

    def _is_written_part(self, stmt: Assign) -> bool:
        """Whether a statement gives the real or imaginary parts of an array that some statement writes to: a view, which is no array of numbers of its own."""
        return operation(stmt.op).kind == "part" and any(viewed(stmt, self.types) is not None and self.is_written(t.name) for t in stmt.targets)

    def raw(self, stmt: Stmt) -> None:
        """Keep a statement; its array operands must exist in memory."""
        if isinstance(stmt, Store) and stmt.value == Const(None):
            raise AssertionError(stmt)
        stmt = map_operands(lambda o: self.in_memory(o.name) if isinstance(o, Var) else o, stmt)
        read = tuple(dict.fromkeys(reads(stmt)))
        written = assigns(stmt) + ((stmt.target.name,) if isinstance(stmt, Store) else ())
        if isinstance(stmt, (Push, Pop)):
            written += (stmt.stack,)
        if isinstance(stmt, Push) or isinstance(stmt, Assign) and may_view(stmt):
            self.exposed.update(read)
        arrays = [n for n in (*read, *assigns(stmt)) if self.types[n].array]
        self.units.append(Raw(stmt, read, written, barrier=isinstance(stmt, Effect), scalar=not arrays and isinstance(stmt, Assign)))
        if isinstance(stmt, Assign) and not may_view(stmt):
            self.made.update(assigns(stmt))
        for name in assigns(stmt):
            self._define_raw(name, isinstance(stmt, Assign) and stmt.op == "getitem")

    def _checked(self, stmt: Effect) -> bool:
        """A test of two extents, from which on they are one; none where they are one already."""
        a, b, message = stmt.args
        if not isinstance(message, Const) or not all(isinstance(o, Const) or isinstance(o, Var) and self.integers.is_integer(o.name) for o in (a, b)):
            return False
        return self.extents.require(self.number(a), self.number(b), self, str(message.value))

    def check_index(self, stmt: Effect) -> None:
        """A test that only reads: but gathers stay behind it."""
        checked = map_operands(lambda o: self.in_memory(o.name) if isinstance(o, Var) else o, stmt)
        self.units.append(Raw(checked, tuple(dict.fromkeys(reads(checked))), ()))

    def _define_raw(self, name: str, clipped: bool) -> None:
        type_ = self.types[name]
        if not type_.array:
            return
        if clipped:  # a slice may be cut short; constants are checked by the front end
            dims = tuple(d if d.symbol is None else self.extents.own(name, k) for k, d in enumerate(type_.dims))
        else:
            dims = self.declared(name)
        self.views[name] = whole(name, dims)
        self.extents.witness_array(name, dims)

    def declared(self, name: str) -> tuple[Dim, ...]:
        """The extents of an array that this run finds or cannot look into.

        In a loop a symbol of the front end may stand for another value in the next trip: there only those of parameters are trusted. Behind one, those
        of what it binds anew may, too.
        """
        return tuple(self._extent_of(name, k, d) for k, d in enumerate(self.types[name].dims))

    def _extent_of(self, name: str, axis: int, dim: Dim) -> Dim:
        if self.integers.trusts(dim):
            return dim
        made = self.integers.shape(name, axis)
        if made is not None:
            return self.integers.introduce(made, (name, axis))
        return self.extents.own(name, axis) if self.in_loop or dim.symbol in self.moving else dim

    def in_memory(self, name: str) -> Var:
        """The name under which an array exists in memory, a view of it made where none is."""
        if not self.types[name].array:
            return Var(name)
        if name in self.unmade:
            stmt = self.unmade.pop(name)
            self.raw_view(stmt)
            return Var(name)
        base = self.view(name).base if name in self.views and self._same_as_base(name) else name
        self._escape(base)
        return Var(base)

    def raw_view(self, stmt: Assign) -> None:
        made = map_operands(lambda o: self.in_memory(o.name) if isinstance(o, Var) else o, stmt)
        assert isinstance(made, Assign)
        read = tuple(dict.fromkeys(reads(made)))
        self.units.append(Raw(made, read, assigns(made)))
        self._escape(self.view(stmt.target.name).base)
        self.exposed.add(self.view(stmt.target.name).base)

    def _same_as_base(self, name: str) -> bool:
        view = self.views[name]
        return name != view.base and view == self.view(view.base)

    def _escape(self, name: str) -> None:
        if name in self.buffers:
            self.buffers[name].escapes = True

    # ----------------------------------------------------------------- views

    def view(self, name: str) -> View:
        found = self.views.get(name)
        if found is None:
            found = self.views[name] = whole(name, self.declared(name))
            self.extents.witness_array(name, found.dims)
        return found

    def bind_view(self, stmt: Assign, view: View) -> bool:
        """The target of a statement is a view; the statement itself is emitted only if something needs it."""
        name = stmt.target.name
        self.views[name] = view
        self.unmade[name] = stmt
        return True

    def region(self, array: str, index: Operand) -> View | None:
        """`array[index]` as an index map, where its positions are known to be in range."""
        return subscript(self.view(array), index, self.types, self)

    def position(self, item: Var) -> Entry:
        total = self.integers.value(item)
        if total is None or not self.integers.nonnegative(total):
            return Given(item)
        return Fixed(self.number(item))

    def whole(self, view: View, axis: int) -> bool:
        at = next((k for k, e in enumerate(view.index) if isinstance(e, Axis) and e.depth == axis), None)
        base = self.view(view.base).dims
        return at is not None and at < len(base) and view.index[at] == Axis(axis) and self.extents.same(base[at], view.dims[axis])

    def sum_of(self, a: Dim, b: Dim) -> Dim:
        return plus(a, b) or self.sums(self, a, b)

    def slice_of(self, item: Slice, extent: Dim, axis: int) -> tuple[Entry, Dim] | None:
        return self.slices(self, item, extent, axis)

    def last_use(self, view: View, target: str) -> bool:
        """Whether a buffer of this run, seen whole, is read no more: its copy may be the buffer itself."""
        if not self._own(view.base) or view != self.view(view.base):
            return False
        return not any(self.later[name] > 0 for name, seen in self.views.items() if seen.base == view.base and name != target)

    def _own(self, name: str) -> bool:
        """Whether an array was made in this run, and is not shared with names that are not known."""
        return (name in self.buffers or name in self.made) and name not in self.exposed

    def is_written(self, name: str) -> bool:
        """Whether some statement of the function writes into what a name stands for."""
        return self.classes.find(name) in {self.classes.find(n) for n in self.written}

    def unwritten(self, view: View, target: str) -> bool:
        """Whether a copy and its source are never written, so that one can stand for the other until the run ends."""
        return self._own(view.base) and not self.is_written(view.base) and not self.is_written(target) and target not in self.live

    def hoistable(self, live: Iterable[str]) -> frozenset[str]:
        """Own buffers that nothing sees after the run: every trip of a loop may use the same memory."""
        seen = {self.views[n].base for n in live if n in self.views} | {*live}
        return frozenset(self.buffers) - self.exposed - seen

    # --------------------------------------------------------------- kernels

    def layout(self, dims: tuple[Dim, ...]) -> tuple[tuple[Dim, ...], list[Entry]]:
        """The loops of a space and the place of each of its axes; axes of extent 1 have no loop."""
        space: list[Dim] = []
        places: list[Entry] = []
        for dim in map(self.extents.canonical, dims):
            if dim == ONE:
                places.append(Fixed(ZERO))
            else:
                places.append(Axis(len(space)))
                space.append(dim)
        return tuple(space), places

    def element_of(self, operand: Operand, dims: tuple[Dim, ...], places: list[Entry]) -> Expr | None:
        """An operand's element in a space of extents `dims`, broadcast as NumPy does."""
        if isinstance(operand, Const):
            return literal_of(operand)
        if not isinstance(operand, Var):
            return None
        type_ = self.types[operand.name]
        if not type_.array:
            return Load(operand.name, (), type_.dtype, type_.weak)
        view = self.view(operand.name)
        skip = len(dims) - len(view.dims)
        if skip < 0:
            return None
        at: list[Entry] = []
        for k, dim in enumerate(view.dims):
            if self.extents.canonical(dim) == ONE:
                at.append(Fixed(ZERO))
            elif self.extents.require(dim, dims[skip + k], self):
                at.append(places[skip + k])
            else:
                return None
        index = compose(view.index, at)
        return None if index is None else Load(view.base, index, type_.dtype)

    def define(self, name: str, expr: Expr, dims: tuple[Dim, ...], stmt: Stmt) -> bool:
        """`name[...] = expr` for every element of a new buffer of extents `dims`."""
        type_ = self.types[name]
        space, places = self.layout(dims)
        if not self.extents.known(space):
            return False
        if type_.array:
            self.new_buffer(name, dims)
        index = tuple(places) if type_.array else ()
        self.units.append(
            Kernel(space, name, index, as_dtype(expr, type_.dtype) if type_.array else expr, "def", type_.dtype, stmt.loc, stmt.note)
        )
        return True

    def _written(self, handler: Handler, stmt: Assign) -> bool:
        """Whether a handler has written a statement; what one that declines may leave are statements of integers, not a buffer without items."""
        name = stmt.targets[0].name
        before = self.buffers.get(name)
        done = handler(self, stmt)
        assert done or self.buffers.get(name) is before, f"{stmt.op} declined after it had made a buffer"
        return done

    def new_buffer(self, name: str, dims: tuple[Dim, ...]) -> None:
        dims = tuple(map(self.extents.canonical, dims))
        self.buffers[name] = Buffer(name, dims, self.types[name].dtype, local=True)
        self.views[name] = whole(name, dims)

    def broadcast(self, operands: Iterable[Operand]) -> tuple[Dim, ...]:
        """The extents of an elementwise result: of each axis the first that is not 1."""
        shapes = [self.view(o.name).dims for o in operands if isinstance(o, Var) and self.types[o.name].array]
        result = []
        for axis in range(-max(map(len, shapes), default=0), 0):
            here = [self.extents.canonical(d[axis]) for d in shapes if len(d) >= -axis]
            result.append(next((d for d in here if d != ONE), ONE))
        return tuple(result)

    def see(self, names: Iterable[str]) -> None:
        """Learn the extents that arrays and integers from before this run tell."""
        for name in names:
            if self.types[name].array:
                self.view(name)
            else:
                self.number(Var(name))

    def shape_of(self, operand: Operand) -> tuple[Dim, ...]:
        """The extents that a shape argument asks for."""
        return tuple(map(self.number, entries_of(operand)))

    def number(self, operand: Operand) -> Dim:
        """An integer as a symbolic value; a symbol of its own if nothing is known of it."""
        if isinstance(operand, Const):
            return Dim(None, operand.value)
        assert isinstance(operand, Var)
        known = self.values.get(operand.name) or self.types[operand.name].value
        if known is not None and (
            known.symbol is None or known.symbol in self.extents.trusted or self.extents.known((known,)) and not self.in_loop
        ):
            return known
        total = self.integers.value(operand)
        own = self.values[operand.name] = self.integers.introduce(named(operand.name) if total is None else total, (operand.name, None))
        return own

    def temporary(self, wish: str, type_: Type) -> str:
        name = self.names.fresh(wish)
        self.types[name] = type_
        return name

    # ---------------------------------------------------------------- stores

    def _store(self, stmt: Store) -> bool:
        target = self.types[stmt.target.name]
        if stmt.mode not in ("set", "add") or target.dtype == "bool" and stmt.mode == "add":
            return False
        region = self.region(stmt.target.name, stmt.index)
        if region is None:
            return False
        space, places = self.layout(region.dims)
        index = compose(region.index, places)
        value = self.element_of(stmt.value, region.dims, places)
        if index is None or value is None or not self.extents.known(space):
            return False
        value = as_dtype(value, target.dtype) if value.dtype != target.dtype or value.weak else value
        if isinstance(value, Load) and self.clash(value, region.base, index):
            value = self._buffered(value, stmt, region, space, places)
        space = tuple(map(self.extents.canonical, space))  # the value's extents may have been checked since
        self.units.append(Kernel(space, region.base, index, value, stmt.mode, target.dtype, stmt.loc, stmt.note))
        return True

    def clash(self, value: Load, base: str, index: Index) -> bool:
        """Whether a store could change what it still has to read: NumPy reads all first."""
        return value.index != index if value.buffer == base else bool(value.index) and self.shares(value.buffer, base)

    def shares(self, a: str, b: str) -> bool:
        return self.place(a) == self.place(b)

    def place(self, name: str) -> Hashable:
        """One for all names that may share memory; a buffer that nothing else can reach has its own."""
        return (name,) if name in self.buffers and name not in self.exposed else self.classes.find(name)

    def _buffered(self, value: Load, stmt: Store, region: View, space: tuple[Dim, ...], places: list[Entry]) -> Expr:
        name = self.temporary("_t", Type(value.dtype, region.dims, array=True))
        self.new_buffer(name, region.dims)
        self.units.append(Kernel(space, name, tuple(places), value, "def", value.dtype, stmt.loc, stmt.note))
        return Load(name, tuple(places), value.dtype)


def literal_of(operand: Const) -> Expr | None:
    """A number as an expression."""
    value = operand.value
    for kind, dtype in ((bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")):
        if type(value) is kind:
            return Lit(operand, dtype)
    return Lit(operand, str(value.dtype), weak=False) if isinstance(value, np.generic) else None


def argument(stmt: Assign, position: int, name: str, default: Operand) -> Operand:
    """An argument given by position or by keyword."""
    if len(stmt.args) > position:
        return stmt.args[position]
    return dict(stmt.kwargs).get(name, default)


def elementwise(state: Scalariser, stmt: Assign) -> bool:
    """`y = op(a, b)`, broadcast."""
    type_ = state.types[stmt.target.name]
    if stmt.kwargs or not type_.array:
        return False
    dims = state.broadcast(stmt.args)
    _, places = state.layout(dims)
    args = [state.element_of(a, dims, places) for a in stmt.args if a != Const(None)]
    exprs = tuple(a for a in args if a is not None)
    if len(exprs) != len(args) or not exprs:
        return False
    if stmt.op == "np.clip" and len(exprs) != 3:
        return False
    expr = element(stmt.op, exprs, type_.dtype)
    return expr is not None and len(dims) == type_.rank and state.define(stmt.target.name, expr, dims, stmt)
