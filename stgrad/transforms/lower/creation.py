"""Element forms of statements that make, copy, view or gather arrays."""

from __future__ import annotations

import itertools
from dataclasses import replace

from stgrad.ir import Assign, Const, Dim, Operand, Pack, Var, entries_of
from stgrad.ir.ops import TABLE, counts_from
from stgrad.transforms.lower.indexing import gather
from stgrad.transforms.lower.nest import ZERO, Axis, Entry, Expr, Extent, Fixed, Kernel, Lit, Load, Position
from stgrad.transforms.lower.numeric import as_dtype, element, literal, typed
from stgrad.transforms.lower.scalarise import (
    HANDLERS,
    ONE,
    Scalariser,
    argument,
    elementwise,
    handles,
)
from stgrad.transforms.lower.slices import span, wrapped
from stgrad.transforms.lower.views import View, compose

HANDLERS.update(dict.fromkeys((name for name, known in TABLE.items() if known.fused), elementwise))


@handles("np.zeros_like", "np.ones_like", "np.full_like", "np.zeros", "np.ones", "np.full", "np.empty", "np.empty_like")
def fill(state: Scalariser, stmt: Assign) -> bool:
    """A new array with one value everywhere; an empty one has no statement at all."""
    name = stmt.target.name
    type_ = state.types[name]
    if not type_.array or any(key not in ("shape", "dtype", "fill_value") for key, _ in stmt.kwargs):
        return False
    if stmt.op.endswith("_like"):
        if not isinstance(stmt.args[0], Var) or not state.types[stmt.args[0].name].array:
            return False
        dims = state.view(stmt.args[0].name).dims
    else:
        dims = state.shape_of(argument(stmt, 0, "shape", Const(0)))
    space, places = state.layout(dims)
    if not state.extents.known(space):
        return False
    if stmt.op in ("np.empty", "np.empty_like"):
        state.new_buffer(name, dims)
        return True
    if stmt.op.startswith("np.full"):
        value = state.element_of(argument(stmt, 1, "fill_value", Const(None)), dims, places)
        if value is None:
            return False
    else:
        value = Lit(literal(1 if "ones" in stmt.op else 0, type_.dtype), type_.dtype, weak=False)
    return state.define(name, value, dims, stmt)


@handles("np.copy", "np.astype", "np.array", "copy", "astype")
def copy(state: Scalariser, stmt: Assign) -> bool:
    """A copy of an array, in another dtype perhaps."""
    source = stmt.args[0]
    if (
        not isinstance(source, Var)
        or not state.types[source.name].array
        or state.types[stmt.target.name].rank != state.types[source.name].rank
    ):
        return False
    if any(key not in ("dtype",) for key, _ in stmt.kwargs):
        return False
    view = state.view(source.name)
    same = state.types[stmt.target.name].dtype == state.types[source.name].dtype
    if same and (state.last_use(view, stmt.target.name) or state.unwritten(view, stmt.target.name)):
        state.classes.unite(view.base, stmt.target.name)  # views of the copy are views of the buffer now
        return state.bind_view(Assign((stmt.target,), "alias", (source,), loc=stmt.loc, note=stmt.note), view)
    return spread(state, stmt, source, view.dims)


def spread(state: Scalariser, stmt: Assign, source: Operand, dims: tuple[Dim, ...]) -> bool:
    """`target = source`, broadcast, as a new array."""
    expr = state.element_of(source, dims, state.layout(dims)[1])
    return expr is not None and state.define(stmt.target.name, expr, dims, stmt)


@handles("alias", "stop_gradient", "np.asarray")
def alias(state: Scalariser, stmt: Assign) -> bool:
    source = stmt.args[0]
    if not isinstance(source, Var) or not state.types[source.name].array or stmt.kwargs:
        return False
    return state.bind_view(stmt, state.view(source.name)) if len(stmt.args) == 1 else False


@handles("np.broadcast_to")
def broadcast_to(state: Scalariser, stmt: Assign) -> bool:
    """A view that does not move along the axes it is stretched over; of a scalar, a fill."""
    source, dims = stmt.args[0], state.shape_of(argument(stmt, 1, "shape", Const(0)))
    if not state.extents.known(dims):
        return False
    if not isinstance(source, Var) or not state.types[source.name].array:
        return spread(state, stmt, source, dims)
    load = state.element_of(source, dims, [Axis(k) for k in range(len(dims))])
    return isinstance(load, Load) and state.bind_view(stmt, View(load.buffer, load.index, dims))


@handles("getitem")
def getitem(state: Scalariser, stmt: Assign) -> bool:
    """A view of an array, or one element."""
    source, index = stmt.args
    if not isinstance(source, Var) or not state.types[source.name].array:
        return False
    view = state.region(source.name, index)
    target = state.types[stmt.target.name]
    if view is None:
        return gather(state, stmt, source, index)
    if target.array:
        return len(view.dims) == target.rank and state.bind_view(stmt, view)
    if view.dims:
        return False
    state.units.append(
        Kernel((), stmt.target.name, (), Load(view.base, view.index, target.dtype), "def", target.dtype, stmt.loc, stmt.note)
    )
    return True


@handles("shape")
def shape(state: Scalariser, stmt: Assign) -> bool:
    """An extent, read where it is known without the array itself."""
    source, axis = stmt.args
    if not isinstance(source, Var) or not isinstance(axis, Const) or not state.types[source.name].array:
        return False
    if source.name not in state.views:  # an array from before: its own shape is as good
        state.values[stmt.target.name] = state.view(source.name).dims[axis.value]
        return False
    dim = state.values[stmt.target.name] = state.extents.canonical(state.view(source.name).dims[axis.value])
    if not state.extents.known((dim,)):
        return False
    state.units.append(Kernel((), stmt.target.name, (), Extent(dim), "def", "int64", stmt.loc, stmt.note))
    return True


@handles("np.transpose")
def transpose(state: Scalariser, stmt: Assign) -> bool:
    rank = state.types[stmt.target.name].rank
    axes = argument(stmt, 1, "axes", Const(None))
    if axes == Const(None):
        return permute(state, stmt, list(range(rank))[::-1])
    if not isinstance(axes, Pack) or not all(isinstance(a, Const) for a in axes.items):
        return False
    return permute(state, stmt, [a.value % rank for a in axes.items if isinstance(a, Const)])


@handles("np.swapaxes")
def swapaxes(state: Scalariser, stmt: Assign) -> bool:
    rank = state.types[stmt.target.name].rank
    first, second = (argument(stmt, 1, "axis1", Const(None)), argument(stmt, 2, "axis2", Const(None)))
    if not (isinstance(first, Const) and isinstance(second, Const)):
        return False
    order = list(range(rank))
    a, b = first.value % rank, second.value % rank
    order[a], order[b] = order[b], order[a]
    return permute(state, stmt, order)


@handles("np.moveaxis")
def moveaxis(state: Scalariser, stmt: Assign) -> bool:
    rank = state.types[stmt.target.name].rank
    source, destination = (axes_of(argument(stmt, k, name, Const(None)), rank) for k, name in ((1, "source"), (2, "destination")))
    if source is None or destination is None or len(source) != len(destination):
        return False
    order = [k for k in range(rank) if k not in source]
    for to, axis in sorted(zip(destination, source, strict=True)):
        order.insert(to, axis)
    return permute(state, stmt, order)


def axes_of(operand: Operand, rank: int) -> list[int] | None:
    """Axes, in the order in which they are given, counted from 0."""
    items = entries_of(operand)
    if not all(isinstance(i, Const) and type(i.value) is int for i in items):
        return None
    return [i.value % rank for i in items if isinstance(i, Const)]


@handles("np.flip", "np.flipud", "np.fliplr")
def flip(state: Scalariser, stmt: Assign) -> bool:
    """A view that runs backwards along some axes."""
    source = stmt.args[0]
    if not isinstance(source, Var) or not state.types[source.name].array:
        return False
    view = state.view(source.name)
    given = {"np.flipud": Const(0), "np.fliplr": Const(1)}.get(stmt.op, argument(stmt, 1, "axis", Const(None)))
    axes = list(range(len(view.dims))) if given == Const(None) else axes_of(given, len(view.dims))
    if axes is None:
        return False
    places: list[Entry] = [
        Axis(k, -1, Dim(d.symbol, d.offset - 1)) if k in axes else Axis(k) for k, d in enumerate(map(state.extents.canonical, view.dims))
    ]
    index = compose(view.index, places)
    return index is not None and state.bind_view(stmt, View(view.base, index, view.dims))


@handles("np.diag", "np.diagonal")
def diagonal(state: Scalariser, stmt: Assign) -> bool:
    """The main diagonal along two axes of one extent; it is the last axis of the result."""
    source = stmt.args[0]
    if not isinstance(source, Var) or (rank := state.types[source.name].rank) < 2 or stmt.op == "np.diag" and rank != 2:
        return False
    offset = argument(stmt, 1, "k" if stmt.op == "np.diag" else "offset", Const(0))
    pair = axes_of(Pack((argument(stmt, 2, "axis1", Const(0)), argument(stmt, 3, "axis2", Const(1)))), rank)
    view = state.view(source.name)
    if offset != Const(0) or pair is None or pair[0] == pair[1] or not state.extents.same(view.dims[pair[0]], view.dims[pair[1]]):
        return False
    others = [k for k in range(rank) if k not in pair]
    index = compose(view.index, [Axis(rank - 2 if k in pair else others.index(k)) for k in range(rank)])
    return index is not None and state.bind_view(stmt, View(view.base, index, (*(view.dims[k] for k in others), view.dims[pair[0]])))


def permute(state: Scalariser, stmt: Assign, order: list[int]) -> bool:
    """Axis k of the target is axis `order[k]` of the source."""
    source = stmt.args[0]
    if not isinstance(source, Var) or not state.types[source.name].array:
        return False
    view = state.view(source.name)
    places: list[Entry] = [Axis(order.index(k)) for k in range(len(order))]
    index = compose(view.index, places)
    if index is None:
        return False
    turned = View(view.base, index, tuple(view.dims[k] for k in order))
    if turned == state.view(view.base):  # turned twice: the array itself
        stmt = Assign(stmt.targets, "alias", (Var(view.base),), loc=stmt.loc, note=stmt.note)
    return state.bind_view(stmt, turned)


@handles("np.expand_dims", "np.squeeze")
def extent_one(state: Scalariser, stmt: Assign) -> bool:
    """Views that add or drop axes of extent 1."""
    source = stmt.args[0]
    if not isinstance(source, Var) or not state.types[source.name].array or not state.types[stmt.target.name].array:
        return False  # a number is no view: where all axes go, NumPy's function stays
    view = state.view(source.name)
    old = tuple(map(state.extents.canonical, view.dims))
    dims = new_dims(old, tuple(d == ONE for d in state.types[stmt.target.name].dims))
    if dims is None:
        return False
    index = compose(view.index, match_axes(old, dims))
    return index is not None and state.bind_view(stmt, View(view.base, index, dims))


def new_dims(old: tuple[Dim, ...], ones: tuple[bool, ...]) -> tuple[Dim, ...] | None:
    """The extents after axes of extent 1 came or went; `ones` tells where they are in the result."""
    rest = [d for d in old if d != ONE]
    if len(rest) != ones.count(False):
        return None
    left = iter(rest)
    return tuple(ONE if one else next(left) for one in ones)


@handles("np.reshape")
def reshape(state: Scalariser, stmt: Assign) -> bool:
    """Only reshapes that add or drop axes of extent 1, and those of vectors to vectors."""
    source = stmt.args[0]
    if not isinstance(source, Var) or not state.types[source.name].array:
        return False
    if state.types[source.name].rank == state.types[stmt.target.name].rank == 1:
        return vector_again(state, stmt, source)
    if state.types[stmt.target.name].dims and [d for d in state.types[source.name].dims if d != ONE] != [
        d for d in state.types[stmt.target.name].dims if d != ONE
    ]:
        return False
    return extent_one(state, stmt)


def vector_again(state: Scalariser, stmt: Assign, source: Var) -> bool:
    """A vector as a vector: of its own length, or an error."""
    view = state.view(source.name)
    (length,) = state.shape_of(argument(stmt, 1, "shape", Const(-1)))
    if (
        stmt.kwargs
        and stmt.kwargs[0][0] not in ("shape", "newshape")
        or length != Dim(None, -1)
        and not state.extents.require(view.dims[0], length, state)
    ):
        return False
    return state.bind_view(Assign((stmt.target,), "alias", (source,), loc=stmt.loc, note=stmt.note), view)


@handles("np.ravel")
def ravel(state: Scalariser, stmt: Assign) -> bool:
    """Of a vector that nothing writes to: the vector. Else it is a copy for some layouts and a view for others."""
    source = stmt.args[0]
    if not isinstance(source, Var) or state.types[source.name].rank != 1 or len(stmt.args) > 1 or stmt.kwargs:
        return False
    if state.is_written(source.name) or state.is_written(stmt.target.name):
        return False
    return state.bind_view(Assign((stmt.target,), "alias", (source,), loc=stmt.loc, note=stmt.note), state.view(source.name))


def match_axes(old: tuple[Dim, ...], new: tuple[Dim, ...]) -> list[Entry]:
    """Places of the old axes in the new ones, where only axes of extent 1 differ."""
    axes = iter(k for k, d in enumerate(new) if d != ONE)
    return [Fixed(ZERO) if d == ONE else Axis(next(axes)) for d in old]


@handles("np.arange")
def arange(state: Scalariser, stmt: Assign) -> bool:
    """`np.arange(n)` and `np.arange(1.0, n)`, with steps of 1."""
    type_ = state.types[stmt.target.name]
    start, stop = (Const(0), stmt.args[0]) if len(stmt.args) == 1 else stmt.args[:2]
    if not isinstance(start, Const) or not counts_from(start.value) or not isinstance(stop, Var) or not state.types[stop.name].dtype.startswith("int"):
        return False
    if stmt.args[2:] not in ((), (Const(1),)) or type_.dtype not in ("int64", "float64"):
        return False
    first, said = int(start.value), state.types[stop.name].value
    dims = tuple(replace(d, offset=d.offset - first) for d in state.shape_of(stop))
    claimed = said is not None and state.extents.same(replace(said, offset=said.offset - first), type_.dims[0])
    if not claimed and not state.integers.nonnegative(state.integers.of(dims[0])):
        return False  # there may be fewer numbers than none
    _, places = state.layout(dims)
    if not isinstance(places[0], Axis):
        return False
    place: Expr = Position(places[0])
    if first:
        place = typed("np.add", (place, Lit(Const(first), "int64")), "int64")
    return state.define(stmt.target.name, as_dtype(place, type_.dtype), dims, stmt)


@handles("np.outer")
def outer(state: Scalariser, stmt: Assign) -> bool:
    type_ = state.types[stmt.target.name]
    if len(stmt.args) != 2 or not all(isinstance(a, Var) and state.types[a.name].rank == 1 for a in stmt.args):
        return False
    dims = tuple(state.view(a.name).dims[0] for a in stmt.args if isinstance(a, Var))
    _, places = state.layout(dims)
    left = state.element_of(stmt.args[0], dims[:1], places[:1])
    right = state.element_of(stmt.args[1], dims[1:], places[1:])
    if left is None or right is None:
        return False
    return state.define(stmt.target.name, typed("np.multiply", (left, right), type_.dtype), dims, stmt)


@handles("np.tril", "np.triu")
def triangle(state: Scalariser, stmt: Assign) -> bool:
    """The elements on one side of a diagonal, and zeros."""
    source, diagonal = stmt.args[0], argument(stmt, 1, "k", Const(0))
    type_ = state.types[stmt.target.name]
    if not isinstance(source, Var) or not isinstance(diagonal, Const) or type(diagonal.value) is not int or state.types[source.name].rank != type_.rank:
        return False
    dims = state.view(source.name).dims
    _, places = state.layout(dims)
    value = state.element_of(source, dims, places)
    row, column = (Position(p) if isinstance(p, Axis) else Lit(Const(0), "int64") for p in places[-2:])
    edge = typed("np.add", (row, Lit(diagonal, "int64")), "int64") if diagonal.value else row
    inside = element("np.less_equal" if stmt.op == "np.tril" else "np.greater_equal", (column, edge), "bool")
    if value is None or inside is None:
        return False
    chosen = element("np.where", (inside, value, Lit(literal(0, type_.dtype), type_.dtype, weak=False)), type_.dtype)
    return chosen is not None and state.define(stmt.target.name, chosen, dims, stmt)


@handles("np.roll")
def roll(state: Scalariser, stmt: Assign) -> bool:
    """The parts of an array before and behind a place on each axis that is rolled, in the other order."""
    source, rank = stmt.args[0], state.types[stmt.target.name].rank
    shift, axis = argument(stmt, 1, "shift", Const(None)), argument(stmt, 2, "axis", Const(None))
    axes = [0] if axis == Const(None) and rank == 1 else axes_of(axis, rank)
    shifts = entries_of(shift)
    if not isinstance(source, Var) or axes is None or not len(axes) == len(shifts) == len({*axes}):
        return False
    if not all(isinstance(s, Const) and type(s.value) is int or state.integers.value(s) is not None for s in shifts):
        return False
    view = state.view(source.name)
    space, places = state.layout(view.dims)
    if not state.extents.known(space):
        return False
    found = {at.depth: halves(state, shifts[axes.index(k)], space[at.depth]) for k, at in enumerate(places) if k in axes and isinstance(at, Axis)}
    dtype, kernels = state.types[stmt.target.name].dtype, []
    for chosen in itertools.product(*found.values()):
        part = dict(zip(found, chosen, strict=True))
        to, taken = ([Axis(p.depth, 1, part[p.depth][end]) if isinstance(p, Axis) and p.depth in part else p for p in places] for end in (0, 1))
        index = compose(view.index, taken)
        if index is None:
            return False
        sizes = tuple(part[d][2] if d in part else e for d, e in enumerate(space))
        kernels.append(Kernel(sizes, stmt.target.name, tuple(to), Load(view.base, index, dtype), "set", dtype, stmt.loc, stmt.note))
    state.new_buffer(stmt.target.name, view.dims)
    state.units += kernels
    return True


def halves(state: Scalariser, shift: Operand, extent: Dim) -> list[tuple[Dim, Dim, Dim]]:
    """The two parts of an axis that is rolled: where each goes, where it comes from, and how long it is."""
    gap = wrapped(state, shift, extent)
    rest = span(state, gap, extent)
    return [part for part in ((gap, ZERO, rest), (ZERO, rest, gap)) if part[2] != ZERO]
