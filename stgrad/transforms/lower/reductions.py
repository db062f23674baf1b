"""Element forms of reductions: an initial value for each result, then an accumulation over the whole operand.

`v = np.sum(x, axis=0)` becomes `v[j] = 0.0` over (m,) and `v[j] += x[i, j]` over (n, m), in the order of the
operand's axes. Fusing makes a local scalar of `v[j]` wherever its loops allow.
"""

from __future__ import annotations

import math

import numpy as np

from stgrad.ir import Assign, Const, Dim, Operand, Type, Var, entries_of
from stgrad.ir.ops import operation
from stgrad.transforms.lower.nest import (
    ZERO,
    Axis,
    Call,
    Entry,
    Expr,
    Extent,
    Fixed,
    Guard,
    Kernel,
    Lit,
    Load,
)
from stgrad.transforms.lower.numeric import as_dtype, literal, typed
from stgrad.transforms.lower.scalarise import HANDLERS, ONE, Scalariser, argument, handles
from stgrad.transforms.lower.views import View

FEW = 128  # multiplications of a product that loops do faster than a call
EMPTY = "zero-size array to reduction operation {} which has no identity"


def axes_of(operand: Operand, rank: int) -> tuple[int, ...] | None:
    """The axes that a reduction runs over, counted from 0."""
    if operand == Const(None):
        return tuple(range(rank))
    items = entries_of(operand)
    if not all(isinstance(i, Const) and isinstance(i.value, int) for i in items):
        return None
    return tuple(sorted(i.value % rank for i in items if isinstance(i, Const)))


def identity(mode: str, dtype: str) -> Const:
    """What an accumulation starts from."""
    if mode in ("max", "min"):
        sign = -1 if mode == "max" else 1
        if np.dtype(dtype).kind == "f":
            return literal(sign * float("inf"), dtype)
        info = np.iinfo(dtype)
        return literal(info.min if mode == "max" else info.max, dtype)
    return literal({"radd": 0, "add": 0, "mul": 1, "or": False, "and": True}[mode], dtype)


@handles("np.sum", "np.prod", "np.max", "np.amax", "np.min", "np.amin", "np.any", "np.all", "np.mean")
def reduction(state: Scalariser, stmt: Assign) -> bool:
    """Sum, product, extremes, any, all and mean over any axes, with keepdims."""
    source = stmt.args[0]
    if (
        not isinstance(source, Var)
        or not state.types[source.name].array
        or any(k not in ("axis", "keepdims", "dtype") for k, _ in stmt.kwargs)
    ):
        return False
    rank = state.types[source.name].rank
    axes = axes_of(argument(stmt, 1, "axis", Const(None)), rank)
    keep = dict(stmt.kwargs).get("keepdims", Const(False))
    if axes is None or len(stmt.args) > 2 or not isinstance(keep, Const):
        return False
    if stmt.op == "np.mean":
        return average(state, stmt, source, axes, bool(keep.value))
    return reduce_into(state, stmt, stmt.target.name, operation(stmt.op).combine, source, axes, bool(keep.value))


def reduce_into(state: Scalariser, stmt: Assign, target: str, mode: str, source: Var, axes: tuple[int, ...], keep: bool) -> bool:
    """Emit the kernels of one reduction."""
    type_, dims = state.types[target], state.view(source.name).dims
    kind = np.dtype(type_.dtype).kind
    if (mode in ("or", "and")) != (kind == "b") or mode in ("max", "min") and kind not in "fiu":
        return False
    mode = "add" if mode == "radd" and kind != "f" else mode
    space, places = state.layout(dims)
    load = state.element_of(source, dims, places)
    if load is None or not state.extents.known(space):
        return False
    if mode in ("or", "and") and load.dtype != "bool":
        load = Call("np.not_equal", (load, Lit(literal(0, load.dtype), load.dtype, weak=False)), "bool")
    if mode in ("max", "min"):
        guard_nonempty(state, stmt, [dims[a] for a in axes], mode)
    index = [Fixed(ZERO) if k in axes else p for k, p in enumerate(places) if keep or k not in axes]
    left = tuple(ONE if k in axes else d for k, d in enumerate(dims) if keep or k not in axes)
    _emit(state, stmt, target, mode, index if type_.array else [], as_dtype(load, type_.dtype), space, left)
    return True


def _emit(
    state: Scalariser,
    stmt: Assign,
    target: str,
    mode: str,
    index: list[Entry],
    value: Expr,
    space: tuple[Dim, ...],
    dims: tuple[Dim, ...] = (),
) -> None:
    type_ = state.types[target]
    if type_.array:
        state.new_buffer(target, dims)
    depths = [e.depth for e in index if isinstance(e, Axis)]
    first = tuple(Axis(depths.index(e.depth)) if isinstance(e, Axis) else e for e in index)
    start = Lit(identity(mode, type_.dtype), type_.dtype, weak=False)
    state.units.append(Kernel(tuple(space[d] for d in depths), target, first, start, "def", type_.dtype, stmt.loc, stmt.note))
    state.units.append(Kernel(space, target, tuple(index), value, mode, type_.dtype, stmt.loc, stmt.note))


def guard_nonempty(state: Scalariser, stmt: Assign, dims: list[Dim], mode: str) -> None:
    for dim in map(state.extents.canonical, dims):
        if dim.symbol is not None or dim.offset <= 0:
            message = EMPTY.format("maximum" if mode == "max" else "minimum")
            state.units.append(Guard(dim, None, message, state.extents.witnesses((dim,)), stmt.loc))


def average(state: Scalariser, stmt: Assign, source: Var, axes: tuple[int, ...], keep: bool, less: int = 0) -> bool:
    """A sum, divided by the number of elements, or some less."""
    name, type_ = stmt.target.name, state.types[stmt.target.name]
    if np.dtype(type_.dtype).kind not in "fc":
        return False
    total = state.temporary("total", Type(type_.dtype, type_.dims, type_.array))
    if not reduce_into(state, stmt, total, "radd", source, axes, keep):
        return False
    dims = state.view(source.name).dims
    count: Expr = Lit(Const(1), "int64")
    for axis in axes:
        extent = Extent(state.extents.canonical(dims[axis]))
        count = extent if isinstance(count, Lit) else Call("np.multiply", (count, extent), "int64")
    if less:
        count = Call("max", (Call("np.subtract", (count, Lit(Const(less), "int64")), "int64"), Lit(Const(0), "int64")), "int64")
    left = state.view(total).dims if type_.array else ()
    load = Load(total, tuple(state.layout(left)[1]), type_.dtype)
    return state.define(name, typed("np.divide", (load, as_dtype(count, type_.dtype)), type_.dtype), left, stmt)


@handles("np.var")
def variance(state: Scalariser, stmt: Assign) -> bool:
    """The mean square of deviations, in two passes."""
    options = dict(stmt.kwargs)
    source, ddof = stmt.args[0], options.pop("ddof", Const(0))
    if not isinstance(source, Var) or not isinstance(ddof, Const) or len(stmt.args) > 2 or options.keys() - {"axis", "keepdims"}:
        return False
    given, type_ = state.types[source.name], state.types[stmt.target.name]
    axis = argument(stmt, 1, "axis", Const(None))
    axes = axes_of(axis, given.rank)
    if axes is None or not given.array or given.dtype != type_.dtype or not type_.dtype.startswith("float"):
        return False
    kept = tuple(ONE if k in axes else d for k, d in enumerate(given.dims))
    steps = (
        ("np.mean", (source,), kept, (("axis", axis), ("keepdims", Const(True)))),
        ("np.subtract", (source, None), given.dims, ()),
        ("np.multiply", (None, None), given.dims, ()),
    )
    last = source
    for op, args, dims, kwargs in steps:
        name = Var(state.temporary("_t", Type(type_.dtype, dims, array=True)))
        made = Assign((name,), op, tuple(last if a is None else a for a in args), kwargs, stmt.loc, stmt.note)
        if not HANDLERS[op](state, made):
            return False
        last = name
    return average(state, stmt, last, axes, options.get("keepdims") == Const(True), int(ddof.value))


@handles("unbroadcast")
def unbroadcast(state: Scalariser, stmt: Assign) -> bool:
    """`g` summed over the axes in which `like` was broadcast."""
    g, like = stmt.args
    if not isinstance(g, Var) or not state.types[g.name].array:
        return False
    dims = state.view(g.name).dims
    small = state.view(like.name).dims if isinstance(like, Var) and state.types[like.name].array else ()
    skip = len(dims) - len(small)
    if skip < 0:
        return False
    axes = [k for k in range(len(dims)) if k < skip or state.extents.canonical(small[k - skip]) == ONE != state.extents.canonical(dims[k])]
    rest = [k for k in range(skip, len(dims)) if k not in axes]
    if not all(state.extents.require(small[k - skip], dims[k], state) for k in rest):
        return False
    if not axes:
        return state.types[stmt.target.name].array and state.bind_view(
            Assign((stmt.target,), "alias", (g,), loc=stmt.loc), state.view(g.name)
        )
    return _sum_to(state, stmt, g, axes, skip)


def _sum_to(state: Scalariser, stmt: Assign, g: Var, axes: list[int], skip: int) -> bool:
    target, dims = stmt.target.name, state.view(g.name).dims
    type_ = state.types[target]
    space, places = state.layout(dims)
    load = state.element_of(g, dims, places)
    if load is None or not state.extents.known(space):
        return False
    mode = "radd" if np.dtype(type_.dtype).kind == "f" else "add"
    index = [Fixed(ZERO) if k in axes else places[k] for k in range(skip, len(dims))]
    left = tuple(ONE if k in axes else dims[k] for k in range(skip, len(dims)))
    _emit(state, stmt, target, mode, index if type_.array else [], as_dtype(load, type_.dtype), space, left)
    return True


@handles("np.dot", "np.vdot", "np.inner", "np.matmul")
def product(state: Scalariser, stmt: Assign) -> bool:
    """Products of real vectors, and matrix products with an axis of extent 1; other matrix products stay BLAS calls."""
    left, right = stmt.args[:2]
    if not (isinstance(left, Var) and isinstance(right, Var)) or stmt.kwargs or len(stmt.args) > 2:
        return False
    a, b, dtype = state.types[left.name], state.types[right.name], state.types[stmt.target.name].dtype
    if (a.rank, b.rank) == (1, 1) and np.dtype(dtype).kind == "f":
        return inner(state, stmt, left, right)
    if stmt.op not in ("np.dot", "np.matmul") or a.dtype != b.dtype:
        return False
    if np.dtype(dtype).kind == "f" and max(a.rank, b.rank) == 2 and few(state, stmt, left, right):
        return True
    if (a.rank, b.rank) != (2, 2):
        return False
    rows, columns = (tuple(map(state.extents.canonical, state.view(v.name).dims)) for v in (left, right))
    if rows[1] == columns[0] == ONE:
        return times_column(state, stmt, left, right)
    return columns[1] == ONE != rows[1] and matrix_vector(state, stmt, left, right)


def inner(state: Scalariser, stmt: Assign, left: Var, right: Var) -> bool:
    """`sum(a[i] * b[i])`."""
    dtype = state.types[stmt.target.name].dtype
    dims = state.view(left.name).dims
    space, places = state.layout(dims)
    if [state.extents.canonical(d) == ONE for d in (*dims, *state.view(right.name).dims)] != [dims[0] == ONE] * 2:
        return False
    x, y = state.element_of(left, dims, places), state.element_of(right, dims, places)
    if x is None or y is None or not state.extents.known(space):
        return False
    space = tuple(map(state.extents.canonical, space))
    _emit(state, stmt, stmt.target.name, "radd", [], typed("np.multiply", (x, y), dtype), space)
    return True


def few(state: Scalariser, stmt: Assign, left: Var, right: Var) -> bool:
    """`y[i, j] += a[i, p] * b[p, j]` where all extents are constant and small: loops of which LLVM knows the trips."""
    a, b = (tuple(map(state.extents.canonical, state.view(v.name).dims)) for v in (left, right))
    rows, columns = a[:-1], b[1:]
    dims = (*rows, *columns, a[-1])
    if any(d.symbol is not None for d in (*dims, b[0])) or a[-1] != b[0] or math.prod(d.offset for d in dims) > FEW:
        return False
    space, places = state.layout(dims)
    x = state.element_of(left, a, [*places[: len(rows)], places[-1]])
    y = state.element_of(right, b, [places[-1], *places[len(rows) : -1]])
    if x is None or y is None:
        return False
    _emit(state, stmt, stmt.target.name, "radd", places[:-1], typed("np.multiply", (x, y), x.dtype), space, dims[:-1])
    return True


def times_column(state: Scalariser, stmt: Assign, left: Var, right: Var) -> bool:
    """(n, 1) times (1, m): `y[i, j] = a[i, 0] * b[0, j]`."""
    dims = (state.view(left.name).dims[0], state.view(right.name).dims[1])
    _, places = state.layout(dims)
    x, y = state.element_of(left, dims, places), state.element_of(right, dims, places)
    return x is not None and y is not None and state.define(stmt.target.name, typed("np.multiply", (x, y), x.dtype), dims, stmt)


def matrix_vector(state: Scalariser, stmt: Assign, left: Var, right: Var) -> bool:
    """(n, m) times (m, 1): a product with the vector itself; the result is a view with one more axis."""
    column = state.view(right.name)
    plain = state.view(column.base)
    if column.index != (Axis(0),) or len(plain.dims) != 1 or column.dims[0] != plain.dims[0]:
        return False
    dims = state.types[stmt.target.name].dims
    flat = state.temporary("_t", Type(state.types[stmt.target.name].dtype, dims[:1], array=True))
    state.raw(Assign((Var(flat),), "np.dot", (left, Var(column.base)), loc=stmt.loc, note=stmt.note))
    result = View(flat, (Axis(0),), (*state.view(flat).dims, ONE))
    return state.bind_view(Assign((stmt.target,), "np.expand_dims", (Var(flat), Const(1)), loc=stmt.loc, note=stmt.note), result)
