"""Extents of results where an operation takes a shape, or where sizes of several operands must agree.

Each entry is called with the frame and the operation's arguments and returns the result's Type, or None to let
`infer.by_example` find it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.infer import broadcast
from stgrad.frontend.lengths import assured, natural
from stgrad.frontend.values import Sym, Value, is_number, is_static, static_of, type_of
from stgrad.ir import Dim, Type
from stgrad.ir.ops import counts_from
from stgrad.rules.broadcasting import shrink, stretch
from stgrad.rules.decompositions import cholesky_bar

FLOATS = ("float64", "float32")  # of matrices whose factorisations keep the dtype
SHAPES: dict[Any, Callable[..., Any]] = {}


def shaped(*ops: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            SHAPES[op] = rule
        return rule

    return register


def dims_of(frame: Frame, shape: Value) -> tuple[Dim, ...]:
    """Extents from a shape argument: an integer or a tuple of them."""
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(dim_of(frame, n) for n in shape)


def dim_of(frame: Frame, n: Value) -> Dim:
    if isinstance(n, Sym):
        if n.type.array or n.type.dtype.startswith(("float", "complex")):
            raise errors.TypeInferenceError(f"an extent is a {n.type}, not an integer", frame.builder.loc, hint="write int(...)")
        return n.type.value if n.type.value is not None else frame.builder.fresh_dim()
    return Dim(None, int(n))


def dtype_of(frame: Frame, dtype: Value, default: str) -> str:
    return default if static_of(dtype) is None else dtype_name(frame, dtype)


def dtype_name(frame: Frame, dtype: Value) -> str:
    """The name of the element type of an array; records and vectors in elements have none."""
    dtype = static_of(dtype)
    if isinstance(dtype, Sym):
        raise errors.NeedStaticError("a dtype must be known at compile time", frame.builder.loc)
    found = np.dtype(dtype)
    if found.kind == "V":
        raise errors.UnsupportedSyntaxError("arrays of records are not supported", frame.builder.loc, hint="write an array for each field")
    return str(found)


def _check_order(frame: Frame, a: Value, order: Value) -> None:
    """Refuse the orders that follow the strides of an array, which are no part of its type."""
    if static_of(order) in ("A", "K") and type_of(a).rank > 1:
        raise errors.UnsupportedSyntaxError(
            f"order={static_of(order)!r} depends on how the array lies in memory", frame.builder.loc, hint="write order='C' or order='F'"
        )


@shaped(np.zeros, np.ones, np.empty)
def _zeros(frame: Frame, shape: Value, dtype: Value = None, order: Value = "C", **_: Value) -> Type:
    return Type(dtype_of(frame, dtype, "float64"), dims_of(frame, shape), array=True)


@shaped(stretch)
def _stretch(frame: Frame, x: Value, shape: Value) -> Type:
    return Type(type_of(x).dtype, dims_of(frame, shape), array=True)


@shaped(shrink)
def _shrink(frame: Frame, g: Value, like: Value) -> Type:
    return Type(type_of(g).dtype, type_of(like).dims, array=True)


@shaped(np.full)
def _full(frame: Frame, shape: Value, fill_value: Value, dtype: Value = None, order: Value = "C", **_: Value) -> Type:
    return Type(dtype_of(frame, dtype, type_of(fill_value).dtype), dims_of(frame, shape), array=True)


@shaped(np.zeros_like, np.ones_like, np.empty_like)
def _like(frame: Frame, a: Value, dtype: Value = None, order: Value = "K", subok: Value = True, shape: Value = None) -> Type | None:
    if not (isinstance(a, Sym) or is_number(a)):
        return None
    t = type_of(a)
    return Type(dtype_of(frame, dtype, t.dtype), t.dims, array=True)


@shaped(np.full_like)
def _full_like(frame: Frame, a: Value, fill_value: Value, dtype: Value = None, **_: Value) -> Type | None:
    found: Type | None = _like(frame, a, dtype)
    return found


@shaped(np.arange)
def _arange(frame: Frame, *args: Value, dtype: Value = None) -> Type | None:
    if all(not isinstance(static_of(a), Sym) for a in args):
        return None
    if any(type_of(a).rank for a in args):
        problem = TypeError("only 0-dimensional arrays can be converted to Python scalars")
        raise errors.TypeInferenceError("`np.arange` of an array", frame.builder.loc, reason="it takes numbers", hint="pass an item of it") from problem
    default = str(np.result_type(*[type_of(a).dtype for a in args]))
    return Type(dtype_of(frame, dtype, default), (_steps(frame, args),), array=True)


def _steps(frame: Frame, args: tuple[Value, ...]) -> Dim:
    """How many numbers stand between two, with a step of 1: as many as a slice between them has items."""
    start, stop = (0, args[0]) if len(args) == 1 else (static_of(args[0]), args[1])
    dim = type_of(stop).value
    if not counts_from(start) or len(args) > 2 and static_of(args[2]) != 1 or type_of(stop).dtype != "int64" or dim is None:
        return frame.builder.fresh_dim()
    dim = Dim(dim.symbol, dim.offset - int(start))
    return dim if natural(frame, stop, dim) else frame.builder.fresh_dim()


@shaped(np.linspace)
def _linspace(
    frame: Frame,
    start: Value,
    stop: Value,
    num: Value = 50,
    endpoint: Value = True,
    retstep: Value = False,
    dtype: Value = None,
    axis: Value = 0,
) -> Any:
    if any(isinstance(a, Sym) and a.type.array for a in (start, stop)) or retstep:
        return None
    kinds = [0.0 if type_of(a).weak or not isinstance(a, (Sym, np.generic)) else np.dtype(type_of(a).dtype) for a in (start, stop)]
    default = str(np.result_type(*kinds, 0.0))
    return Type(dtype_of(frame, dtype, default), (dim_of(frame, num),), array=True)


@shaped(np.eye, np.identity)
def _eye(frame: Frame, n: Value = None, m: Value = None, k: Value = 0, dtype: Value = None, *, N: Value = None, M: Value = None) -> Type:  # noqa: N803
    n, m = (N if n is None else n), (M if m is None else m)
    rows = dim_of(frame, n)
    return Type(dtype_of(frame, dtype, "float64"), (rows, rows if m is None else dim_of(frame, m)), array=True)


@shaped(np.reshape)
def _reshape(frame: Frame, a: Value, shape: Value = None, order: Value = "C", *, newshape: Value = None) -> Type | None:
    if not isinstance(a, Sym):
        return None
    _check_order(frame, a, order)
    shape = newshape if shape is None else shape
    dims = list(dims_of(frame, shape))
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    for axis, n in enumerate(sizes):
        if static_of(n) == -1:
            whole = len(dims) == 1 and a.type.rank == 1
            dims[axis] = a.type.dims[0] if whole else _rest(frame, a.type, dims, axis)
    _refuse_sizes(frame, a.type.dims, tuple(dims), sizes)
    return Type(a.type.dtype, tuple(dims), array=True)


def _refuse_sizes(frame: Frame, old: tuple[Dim, ...], new: tuple[Dim, ...], asked: Any) -> None:
    """Refuse a shape of another number of items, where both numbers are known."""
    counts = [int(np.prod([d.offset for d in dims], dtype=int)) if all(d.constant is not None for d in dims) else None for dims in (old, new)]
    if None not in counts and counts[0] != counts[1]:
        shape = tuple(static_of(n) if is_static(static_of(n)) else "?" for n in asked)
        problem = f"cannot reshape array of size {counts[0]} into shape {shape}"
        raise errors.ShapeError(f"ValueError: {problem}", frame.builder.loc) from ValueError(problem)


def _rest(frame: Frame, t: Type, dims: list[Dim], axis: int) -> Dim:
    """The extent that -1 stands for."""
    others = [d for i, d in enumerate(dims) if i != axis]
    left = list(t.dims)
    for d in others:
        if d in left:
            left.remove(d)
        elif d.constant != 1:
            return _quotient(frame, t, others)
    left = [d for d in left if d.constant != 1]
    if all(d.constant is not None for d in left):
        return Dim(None, int(np.prod([d.offset for d in left], dtype=int)))
    return left[0] if len(left) == 1 else frame.builder.fresh_dim()


def _quotient(frame: Frame, t: Type, others: list[Dim]) -> Dim:
    if all(d.constant is not None for d in (*t.dims, *others)):
        known = int(np.prod([d.offset for d in others], dtype=int))
        return Dim(None, int(np.prod([d.offset for d in t.dims], dtype=int)) // max(known, 1))
    return frame.builder.fresh_dim()


@shaped(np.ravel)
def _ravel(frame: Frame, a: Value, order: Value = "C") -> Type | None:
    return _reshape(frame, a, -1, order) if isinstance(a, Sym) and a.type.rank else None


@shaped(np.broadcast_to)
def _broadcast_to(frame: Frame, array: Value, shape: Value, subok: Value = False) -> Type:
    return Type(type_of(array).dtype, dims_of(frame, shape), array=True)


@shaped(np.dot)
def _dot(frame: Frame, a: Value, b: Value) -> Type | None:
    if not (isinstance(a, Sym) and isinstance(b, Sym)) or not (a.type.rank and b.type.rank) or max(a.type.rank, b.type.rank) > 2:
        return None
    return _product(frame, a, b, ())


@shaped(np.matmul)
def _matmul(frame: Frame, a: Value, b: Value) -> Type | None:
    if not (isinstance(a, Sym) and isinstance(b, Sym)) or not (a.type.rank and b.type.rank):
        return None
    return _product(frame, a, b, broadcast([t.dims[:-2] for t in (a.type, b.type)]))


def _product(frame: Frame, a: Sym, b: Sym, stacked: tuple[Dim, ...]) -> Type:
    """The type of a product of matrices or vectors, of which there are `stacked`."""
    inner = (a.type.dims[-1], b.type.dims[-2] if b.type.rank > 1 else b.type.dims[0])
    if all(d.constant is not None for d in inner) and inner[0] != inner[1]:
        why = f"product of shapes {a.type} and {b.type}: {inner[0]} is not {inner[1]}"
        raise errors.ShapeError(why, frame.builder.loc) from ValueError(why)
    dims = (*stacked, *a.type.dims[-2:-1], *(b.type.dims[-1:] if b.type.rank > 1 else ()))
    dtype = str(np.result_type(a.type.dtype, b.type.dtype))
    return Type(dtype, dims, array=bool(dims))


@shaped(np.outer)
def _outer(frame: Frame, a: Value, b: Value) -> Type | None:
    ta, tb = type_of(a), type_of(b)
    if ta.rank != 1 or tb.rank != 1:
        return None
    return Type(str(np.result_type(ta.dtype, tb.dtype)), (ta.dims[0], tb.dims[0]), array=True)


@shaped(np.concatenate)
def _concatenate(frame: Frame, arrays: Value, axis: Value = 0, out: Value = None, *, dtype: Value = None, casting: Value = "same_kind") -> Type | None:
    axis = static_of(axis)
    if not isinstance(arrays, (tuple, list)) or not all(isinstance(a, Sym) and a.type.rank for a in arrays) or not isinstance(axis, int):
        return None
    types = [a.type for a in arrays]
    rank = types[0].rank
    if any(t.rank != rank for t in types) or not -rank <= axis < rank:
        return None
    columns = list(zip(*(t.dims for t in types), strict=True))
    dims = [_total(frame, c) if k == axis % rank else _agreed(frame, c) for k, c in enumerate(columns)]
    return Type(dtype_of(frame, dtype, str(np.result_type(*(t.dtype for t in types)))), tuple(dims), array=True)


@shaped(np.stack)
def _stack(frame: Frame, arrays: Value, axis: Value = 0, out: Value = None, *, dtype: Value = None, casting: Value = "same_kind") -> Type | None:
    axis = static_of(axis)
    if not isinstance(arrays, (tuple, list)) or not all(isinstance(a, Sym) and a.type.rank for a in arrays) or not isinstance(axis, int):
        return None
    types = [a.type for a in arrays]
    rank = types[0].rank + 1
    if any(t.rank + 1 != rank for t in types) or not -rank <= axis < rank:
        return None
    dims = [_agreed(frame, c) for c in zip(*(t.dims for t in types), strict=True)]
    dims.insert(axis % rank, Dim(None, len(types)))
    return Type(dtype_of(frame, dtype, str(np.result_type(*(t.dtype for t in types)))), tuple(dims), array=True)


def _agreed(frame: Frame, dims: tuple[Dim, ...]) -> Dim:
    """The extent that all of these must have: a constant among them, else the first."""
    constants = {d.offset for d in dims if d.constant is not None}
    if len(constants) > 1:
        why = f"arrays to be joined have the extents {' and '.join(map(str, sorted(constants)))}"
        raise errors.ShapeError(why, frame.builder.loc) from ValueError(why)
    return next((d for d in dims if d.constant is not None), dims[0])


def _total(frame: Frame, dims: tuple[Dim, ...]) -> Dim:
    """The sum of extents."""
    symbols = [d.symbol for d in dims if d.symbol is not None]
    if len(symbols) > 1 or len(dims) > 1 and not all(assured(frame, d) for d in dims):
        return frame.builder.fresh_dim()
    return Dim(symbols[0] if symbols else None, sum(d.offset for d in dims))


@shaped(np.repeat)
def _repeat(frame: Frame, a: Value, repeats: Value, axis: Value = None) -> Type | None:
    """Where the counts are an array, nothing is known of the extent; where they are written down, their sum is."""
    repeats, axis, t = static_of(repeats), static_of(axis), type_of(a)
    if not isinstance(a, Sym) or not t.rank or not isinstance(repeats, (tuple, list, Sym)):
        return None
    extent = frame.builder.fresh_dim()
    if isinstance(repeats, (tuple, list)) and len(repeats) > 1 and all(isinstance(n, int) for n in repeats):
        extent = Dim(None, sum(repeats))
    if axis is None:
        return Type(t.dtype, (extent,), array=True)
    return Type(t.dtype, tuple(extent if k == axis % t.rank else d for k, d in enumerate(t.dims)), array=True)


@shaped(np.bincount)
def _bincount(frame: Frame, x: Value, weights: Value = None, minlength: Value = 0) -> Type:
    return Type("int64" if weights is None else "float64", (frame.builder.fresh_dim(),), array=True)


@shaped(np.copy)
def _copy(frame: Frame, a: Value, order: Value = "K", subok: Value = False) -> Type | None:
    return replace(a.type, array=True, weak=False, value=None) if isinstance(a, Sym) else None


@shaped(np.linalg.lstsq)
def _lstsq(frame: Frame, a: Value, b: Value, rcond: Value = None) -> tuple[Type, ...]:
    """Solution, residuals (none where the rank is deficient), rank and singular values."""
    ta, tb = type_of(a), type_of(b)
    dtype, fresh = str(np.result_type(ta.dtype, tb.dtype)), frame.builder.fresh_dim
    x = Type(dtype, (ta.dims[1], *tb.dims[1:]), array=True)
    real = str(np.empty(0, dtype).real.dtype)
    return x, Type(real, (fresh(),), array=True), Type("int64"), Type(real, (fresh(),), array=True)


@shaped(np.linalg.solve)
def _solve(frame: Frame, a: Value, b: Value) -> Type | None:
    """The solution has the extents of the right-hand side."""
    ta, tb = type_of(a), type_of(b)
    return replace(tb, weak=False, value=None) if ta.rank == 2 and 1 <= tb.rank <= 2 and ta.dtype == tb.dtype in FLOATS else None


@shaped(np.linalg.inv, np.linalg.cholesky)
def _square(frame: Frame, a: Value, *, upper: Value = False) -> Type | None:
    """A matrix of the extents of the operand."""
    return replace(a.type, weak=False, value=None) if isinstance(a, Sym) and a.type.rank >= 2 and a.type.dtype in FLOATS else None


@shaped(cholesky_bar)
def _cholesky_bar(frame: Frame, low: Value, low_bar: Value) -> Type:
    return replace(type_of(low), weak=False, value=None)


@shaped(np.linalg.pinv)
def _pinv(frame: Frame, a: Value, *rest: Value, **options: Value) -> Type | None:
    """The extents of the transpose."""
    t = type_of(a)
    return replace(t, dims=(*t.dims[:-2], t.dims[-1], t.dims[-2])) if t.rank >= 2 and t.dtype in FLOATS else None
