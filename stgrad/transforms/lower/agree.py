"""Extents that a program itself requires to be equal, told once.

    h = np.zeros(n)                          h is as long as n says in every trip: what one trip keeps of it is a row of a block
    for t in range(T):
        z = W @ h + x[t]                     (the extents of W, x and h agree, or NumPy raises)
        f = np.exp(z[:n])              ->    if z[:n].shape[0] != n: raise ValueError(...)
        h = f * h

A name that a loop rebinds has extents of its own in the type. They are those of its start value if, in each trip, what it is bound to agrees
with them by operations of that trip: an elementwise operation, a product, an addition in place. A slice is as long as what its trip combines
it with. What the types then say is tested where a slice is taken, or a name bound to an array that another argument gave its extent, so that
no array is ever taken for another one; a test fails only where the operation that asks for it would.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def decaying(b, x):
    ...     h = b * 2.0
    ...     for t in range(len(x)):
    ...         h = np.tanh(h) * x[t, : len(b)]
    ...     return h[0]
    >>> show_pass("agree", stgrad.jit(decaying), np.ones(3), np.ones((4, 6)))
    if b.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `h` (line 5: return h[0])')
    h = b * 2.0
    for t in range(x.shape[0]):
        tanh_h = np.tanh(h)
        x_part = x[t, :b.shape[0]]
        n_x_part = x_part.shape[0]
        n_tanh_h = tanh_h.shape[0]
        if n_x_part != n_tanh_h:
            raise ValueError('operands could not be broadcast together (line 4: h = np.tanh(h) * x[t, : len(b)])')
        h = tanh_h * x_part
    return h[0]
    ->
    if b.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `h` (line 5: return h[0])')
    h = b * 2.0
    for t in range(x.shape[0]):
        tanh_h = np.tanh(h)
        x_part = x[t, :b.shape[0]]
        t2 = x_part.shape[0]
        t3 = b.shape[0]
        if t2 != t3:
            raise ValueError('operands could not be broadcast together (line 4: h = np.tanh(h) * x[t, : len(b)])')
        n_x_part = x_part.shape[0]
        n_tanh_h = tanh_h.shape[0]
        if n_x_part != n_tanh_h:
            raise ValueError('operands could not be broadcast together (line 4: h = np.tanh(h) * x[t, : len(b)])')
        h = tanh_h * x_part
    return h[0]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.extents import parameter_extents
from stgrad.analysis.trips import INT, mirrored
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    Function,
    Operand,
    Pop,
    Push,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    assigns,
    blocks,
    entries_of,
    map_blocks,
    operand_vars,
    operands,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.lower.tested import NO_BROADCAST
from stgrad.transforms.lower.views import items_of

ONE = Dim(None, 1)
Pair = tuple[Dim, Dim]
Dims = tuple[Dim | None, ...]


def agree(fn: Function) -> Function:
    """The program with extents of arguments in place of those that must equal them."""
    if any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    places = _Places(fn, parameter_extents(fn))
    places.block(fn.body, ())
    known = _Search(places).solved()
    if not known:
        return fn
    return _Rewriting(places, known, dict(fn.types), Names(fn.types)).function()


# ------------------------------------------------------------------ what the statements tell


@dataclass(frozen=True)
class _Site:
    """Where a symbol gets an extent: `dim`, or that of a slice (None)."""

    stmt: Stmt
    dim: Dim | None
    pairs: tuple[Pair, ...]  # extents that agree where this runs
    axis: int


@dataclass
class _Places:
    fn: Function
    sources: Mapping[str, tuple[str, int | None, int]]
    sites: dict[str, list[_Site]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)  # symbols that an operation gives of which nothing is known
    counts: Counter[str] = field(init=False)
    definitions: Definitions = field(init=False)

    def __post_init__(self) -> None:
        self.definitions = definitions(self.fn)
        self.counts = self.definitions.counts

    def trusted(self, dim: Dim) -> bool:
        return dim.symbol is None or dim.symbol in self.sources

    def block(self, body: Block, outer: tuple[Pair, ...]) -> None:
        """Collect the sites of a block; `outer`: what agrees around it."""
        pairs = (*outer, *self.pairs(body))
        for at, stmt in enumerate(body):
            for name, axis, dim in self.given(stmt):
                self.site(name, _Site(stmt, dim, pairs, axis))
            lasting = tuple(p for p in pairs if all(map(self.trusted, p)))
            if isinstance(stmt, For):
                for earlier in body[:at]:
                    if isinstance(earlier, For) and mirrored([earlier], [stmt], self.definitions):
                        lasting += tuple(self.pairs(earlier.body))
            for inner in blocks(stmt):
                self.block(inner, lasting)

    def site(self, name: str, site: _Site) -> None:
        have = self.fn.types[name].dims[site.axis]
        if have.symbol is None or have.symbol in self.sources or site.dim == have:
            return
        slices = site.dim is None and isinstance(site.stmt, Assign) and site.stmt.op == "getitem"
        if have.offset or site.dim is None and not slices:
            self.unknown.add(have.symbol)
        else:
            self.sites.setdefault(have.symbol, []).append(site)

    def given(self, stmt: Stmt) -> Iterator[tuple[str, int, Dim | None]]:
        """Name, axis and extent of what a statement binds or keeps, where the types do not tell it by themselves."""
        types = self.fn.types
        names = [stmt.stack] if isinstance(stmt, Push) else [n for n in assigns(stmt) if types[n].dims]
        if not names or not types[names[0]].dims:
            return
        dims = self.result(stmt)
        inputs = {d.symbol for o in operands(stmt) for n in operand_vars(o) for d in types[n].dims}
        for name in names:
            for axis, have in enumerate(types[name].dims):
                dim = dims[axis] if dims is not None and len(dims) == types[name].rank and len(names) == 1 else None
                if dim is None and self.counts[name] <= 1 and have.symbol in inputs and not isinstance(stmt, (Push, Pop)):
                    continue  # the extent of an operand, handed on
                yield name, axis, dim

    def result(self, stmt: Stmt) -> Dims | None:
        """The extents of what a statement makes, from those of its operands."""
        types = self.fn.types
        if isinstance(stmt, Push):
            return self.dims(stmt.value)
        if isinstance(stmt, Pop):
            return types[stmt.stack].dims
        if not isinstance(stmt, Assign) or not stmt.args:
            return None
        first = self.dims(stmt.args[0])
        if operation(stmt.op).fused and not stmt.kwargs:
            return _broadcast([self.dims(a) for a in stmt.args])
        if operation(stmt.op).like and not stmt.kwargs:
            return first
        if operation(stmt.op).kind == "creation":
            sizes = entries_of(stmt.args[0])
            return tuple(map(self.size, sizes))
        if stmt.op == "np.transpose" and len(stmt.args) == 1 and not stmt.kwargs:
            return first[::-1]
        if operation(stmt.op).kind == "product" and len(stmt.args) == 2 and not stmt.kwargs:
            a, b = first, self.dims(stmt.args[1])
            return (*a[:-1], *(b[1:] if len(b) == 2 else ())) if max(len(a), len(b)) <= 2 and a and b else None
        return self.part(stmt) if stmt.op == "getitem" else None

    def part(self, stmt: Assign) -> Dims | None:
        """The extents of a view; None for each that a slice gives."""
        source, index = stmt.args
        dims = self.dims(source)
        items = items_of(index, len(dims))
        if items is None or any(self.dims(i) for i in items):
            return None
        out: list[Dim | None] = []
        axes = iter(dims)
        for item in items:
            dim = ONE if item == Const(None) else next(axes)
            if isinstance(item, Slice):
                out.append(dim if item == Slice(Const(None), Const(None), Const(None)) else None)
            elif item == Const(None):
                out.append(dim)
        return tuple(out)

    def size(self, operand: Operand) -> Dim | None:
        if isinstance(operand, Const):
            return Dim(None, operand.value) if isinstance(operand.value, int) else None
        return self.fn.types[operand.name].value if isinstance(operand, Var) and self.counts[operand.name] == 1 else None

    def dims(self, operand: Operand) -> tuple[Dim, ...]:
        return self.fn.types[operand.name].dims if isinstance(operand, Var) else ()

    # --------------------------------------------------------------------- pairs

    def pairs(self, body: Block) -> Iterator[Pair]:
        """Extents that agree once all statements of a block have run."""
        for stmt in body:
            for a, b in self.asked(stmt):
                if a != b and ONE not in (a, b):
                    yield a, b

    def asked(self, stmt: Stmt) -> Iterator[Pair]:
        types = self.fn.types
        if isinstance(stmt, Effect) and stmt.op == "check_equal":
            a, b = (self.size(o) for o in stmt.args[:2])
            if a is not None and b is not None:
                yield a, b
        elif isinstance(stmt, Store) and stmt.index == Const(Ellipsis):
            yield from zip(types[stmt.target.name].dims[::-1], self.dims(stmt.value)[::-1], strict=False)
        elif isinstance(stmt, Assign) and operation(stmt.op).fused and not stmt.kwargs:
            wide = [d for d in map(self.dims, stmt.args) if d]
            for other in wide[1:]:
                yield from zip(wide[0][::-1], other[::-1], strict=False)
        elif isinstance(stmt, Assign) and operation(stmt.op).kind == "product" and len(stmt.args) == 2:
            a_dims, b_dims = map(self.dims, stmt.args)
            if a_dims and b_dims and max(len(a_dims), len(b_dims)) <= 2:
                yield a_dims[-1], b_dims[0]


def _broadcast(dims: list[tuple[Dim, ...]]) -> Dims:
    """Of each axis the first extent that is not 1, as the front end says it too."""
    rank = max(map(len, dims), default=0)
    out = []
    for axis in range(-rank, 0):
        here = [d[axis] for d in dims if len(d) >= -axis]
        wide = [d for d in here if d != ONE]
        out.append(next((d for d in wide if d.symbol is None), (wide or here)[0]))
    return tuple(out)


# --------------------------------------------------------------------------- what follows


@dataclass
class _Search:
    """Supposes that every name keeps the extents it starts with, and drops what is not confirmed until nothing is left to drop."""

    places: _Places
    known: dict[str, Dim] = field(default_factory=dict)

    def solved(self) -> dict[str, Dim]:
        places = self.places
        sites = {s: found for s, found in places.sites.items() if s not in places.unknown}
        while True:
            self.known = {}
            starts = {s: self.start(found) for s, found in sites.items() if all(t.dim is not None for t in found)}
            self.known = {s: d for s, d in starts.items() if d is not None}
            slices = {s: self.combined(Dim(s), [t for t in found if t.dim is None]) for s, found in sites.items() if s not in starts}
            self.known |= {s: d for s, d in slices.items() if d is not None}
            wrong = [s for s in self.known if not self.confirmed(s, sites[s])]
            if not wrong:
                return self.known
            sites = {s: found for s, found in sites.items() if s not in wrong}

    def start(self, sites: list[_Site]) -> Dim | None:
        """The extent of an argument that a name has before a loop."""
        return next((t.dim for t in sites if t.dim is not None and self.places.trusted(t.dim)), None)

    def combined(self, dim: Dim, sites: list[_Site]) -> Dim | None:
        """The extent of an argument that slices must have, as their trip combines them with what has it."""
        for mate in self.classmates(dim, sites[0]):
            if self.places.trusted(mate) and all(mate in self.classmates(dim, site) for site in sites[1:]):
                return mate
        return None

    def confirmed(self, symbol: str, sites: list[_Site]) -> bool:
        want, given = self.known[symbol], [(self.of(t.dim), t) for t in sites if t.dim is not None]
        return all(self.places.trusted(dim) and want in self.classmates(dim, site) for dim, site in given)

    def of(self, dim: Dim) -> Dim:
        found = self.known.get(dim.symbol) if dim.symbol is not None else None
        return dim if found is None else Dim(found.symbol, found.offset + dim.offset)

    def classmates(self, dim: Dim, site: _Site) -> list[Dim]:
        """What agrees with an extent where a site stands: the nearest first."""
        pairs = [(self.of(a), self.of(b)) for a, b in site.pairs]
        found = [dim]
        for one in found:
            for a, b in pairs:
                found += [other for here, other in ((a, b), (b, a)) if here == one and other not in found]
        return found


# ------------------------------------------------------------------------------- the program


@dataclass
class _Rewriting:
    places: _Places
    known: dict[str, Dim]
    types: dict[str, Type]
    names: Names

    def function(self) -> Function:
        fn = self.places.fn
        sliced = {s.target.name for s in walk(fn.body) if isinstance(s, Assign) and s.op == "getitem"}
        body = self.block(fn.body)
        self.types |= {name: self.typed(name, t) for name, t in fn.types.items() if name not in sliced}
        return replace(fn, body=body, types=self.types)

    def typed(self, name: str, t: Type) -> Type:
        value = self.of(t.value) if t.value is not None else None
        return replace(t, dims=tuple(map(self.of, t.dims)), value=value)

    def of(self, dim: Dim) -> Dim:
        found = self.known.get(dim.symbol) if dim.symbol is not None else None
        return dim if found is None else Dim(found.symbol, found.offset + dim.offset)

    def block(self, body: Block) -> Block:
        out: list[Stmt] = []
        for stmt in body:
            out += [*self.before(stmt), map_blocks(self.block, stmt), *self.after(stmt)]
        return tuple(out)

    def before(self, stmt: Stmt) -> Iterator[Stmt]:
        """Tests that what a name is bound to has the extents that its type promises."""
        for symbol, sites in self.places.sites.items():
            for site in sites:
                if site.stmt is stmt and site.dim is not None and symbol in self.known and self.of(site.dim) != self.known[symbol]:
                    yield from self.test(symbol, self.extent(self.of(site.dim)), self.extent(self.known[symbol]))

    def after(self, stmt: Stmt) -> Iterator[Stmt]:
        """Tests that a slice has the extent of what it is combined with."""
        for symbol, sites in self.places.sites.items():
            for site in sites:
                if site.stmt is stmt and site.dim is None and symbol in self.known:
                    assert isinstance(stmt, Assign)
                    size = self.assigned("shape", stmt.target, Const(site.axis))
                    yield from self.test(symbol, ([size], size.target), self.extent(self.known[symbol]))

    def test(self, symbol: str, a: tuple[list[Assign], Operand], b: tuple[list[Assign], Operand]) -> Iterator[Stmt]:
        yield from (*a[0], *b[0])
        yield Effect("check_equal", (a[1], b[1], self.message(symbol)))

    def message(self, symbol: str) -> Operand:
        """What the program's own test of an extent says, which comes too late once the extent is tested here."""
        tests = (s for s in walk(self.places.fn.body) if isinstance(s, Effect) and s.op == "check_equal")
        own = (t.args[2] for t in tests if any(size is not None and size.symbol == symbol for size in map(self.places.size, t.args[:2])))
        return next(own, Const(NO_BROADCAST))

    def extent(self, dim: Dim) -> tuple[list[Assign], Operand]:
        """Statements and operand of an extent of an argument."""
        if dim.symbol is None:
            return [], Const(dim.offset)
        name, axis, offset = self.places.sources[dim.symbol]
        steps = [] if axis is None else [self.assigned("shape", Var(name), Const(axis))]
        size: Operand = steps[-1].target if steps else Var(name)
        if offset + dim.offset:
            steps.append(self.assigned("np.add", size, Const(offset + dim.offset)))
        return steps, steps[-1].target if steps else size

    def assigned(self, op: str, *args: Operand) -> Assign:
        target = Var(self.names.fresh("_t"))
        self.types[target.name] = INT
        return Assign((target,), op, args)
