"""Calls of NumPy's functions, and of others with a rule, with tracked arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.errors import StgradError
from stgrad.plain import holders, texts
from stgrad.plain.attributes import as_type
from stgrad.plain.operations import apply, change, fresh, is_active, move, tracked_in
from stgrad.plain.tracked import Tracked, plain, running

_FIRST = (0,)
_MOVING: dict[Any, tuple[int, ...]] = dict.fromkeys((
    np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze, np.broadcast_to, np.flip, np.fliplr, np.flipud,
    np.roll, np.rot90, np.repeat, np.tile, np.take, np.take_along_axis, np.diagonal, np.diag, np.diagflat, np.tril, np.triu, np.copy, np.concatenate,
    np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.array, np.delete, np.resize, np.block,
    np.lib.stride_tricks.sliding_window_view,
), _FIRST) | {np.where: (1, 2), np.append: (0, 1), np.insert: (0, 2), np.compress: (1,), np.extract: (1,), np.select: (1, 2), np.choose: (1,)}  # fmt: skip
if hasattr(np, "row_stack"):
    _MOVING[np.vstack] = _FIRST
_CHANGING: dict[Any, tuple[int, ...]] = {
    np.copyto: (0, 1), np.put: (0, 2), np.place: (0, 2), np.putmask: (0, 2), np.fill_diagonal: (0, 1), np.put_along_axis: (0, 2),
}  # fmt: skip
_AS_ARRAY = {np.asarray: None, np.asanyarray: None, np.asarray_chkfinite: None, np.ascontiguousarray: "C", np.asfortranarray: "F"}  # with their layouts
_SPLITTING = frozenset({np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit})
_DISCRETE = frozenset({
    np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.searchsorted, np.digitize, np.allclose, np.isclose, np.array_equal, np.any, np.all,
    np.nonzero, np.flatnonzero, np.argwhere, np.iscomplexobj, np.isrealobj, np.isreal, np.iscomplex, np.result_type, np.isscalar, np.count_nonzero,
    np.shares_memory, np.may_share_memory, np.empty_like, np.zeros_like, np.ones_like, np.lexsort, np.isneginf, np.isposinf, np.nanargmax, np.nanargmin,
    np.isnan, np.isfinite, np.isinf, np.signbit, np.floor, np.ceil, np.rint, np.trunc, np.sign, np.less, np.greater, np.less_equal, np.greater_equal,
    np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.can_cast, np.broadcast_shapes, np.isin,
    np.iterable, np.spacing, np.common_type, np.min_scalar_type, np.ma.getmask, np.ma.isMaskedArray,
})  # fmt: skip


def numpy_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a function of NumPy or SciPy; what cannot be followed is refused."""
    if function in _AS_ARRAY:
        found = as_array(*args, **kwargs)
        laid_out = type(found) is not Tracked or _AS_ARRAY[function] is None or found.flags[_AS_ARRAY[function]] or not found.ndim
        return found if laid_out else move(function, _FIRST, (found,), {})
    if function is np.array:
        return array(*args, **kwargs)
    if not tracked_in((args, kwargs)):
        return _untouched(function, args, kwargs)
    if function is np.rec.fromarrays:
        return holders.from_arrays(*args, **kwargs)
    if isinstance(function, np.ufunc) and set("".join(function.types)) == {"O", "-", ">"}:  # of `np.frompyfunc`
        return function(*(holders.objects(a) if tracked_in(a) else a for a in args), **kwargs)
    if isinstance(function, np.ufunc) and any(map(holders.is_of_objects, args)) and not kwargs:
        return holders.by_elements(functools.partial(_on_items, function), args)
    if isinstance(function, np.ufunc) and len(args) > function.nin:
        args, kwargs = args[: function.nin], {**kwargs, "out": args[function.nin :]}
    if kwargs.get("out") is not None:
        return _into(function, args, kwargs)
    if function in _CHANGING:
        return change(function, _CHANGING[function], *_positional(function, args, kwargs))
    if function in _DISCRETE or not is_active((args, kwargs)) and function not in _MOVING and function not in _SPECIAL:
        return _reading(function, args, kwargs)
    if function in _SPECIAL:
        return _SPECIAL[function](*args, **kwargs)
    if function in _MOVING and not (function is np.where and len(args) == 1):
        return move(function, _MOVING[function], *_positional(function, args, kwargs))
    return differentiated(function, args, kwargs)


def _reading(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call on numbers of which nothing is differentiated, now; an object that it makes may hold on to them."""
    value = function(*plain(args), **plain(kwargs))
    if not _is_data(value):
        raise running().refuse(f"`{getattr(function, '__name__', function)}` makes a {type(value).__name__} of an array")
    return fresh(value, (args, kwargs))


def _is_data(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_data, value))
    return value is None or isinstance(value, (int, float, complex, str, np.generic, np.ndarray, np.dtype, type))


def _on_items(function: Any, *items: Any) -> Any:
    return numpy_call(function, items, {})


def _untouched(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call without tracked values; what it makes is tracked, what it hands on or shows a part of is not."""
    if function in _MOVING and any(map(holders.is_of_objects, args)):  # of the arrays in it
        lists = tuple([list(a) if holders.is_of_objects(a) and a.ndim == 1 else a for a in args])
        if tracked_in(lists):
            return numpy_call(function, lists, kwargs)
    value = function(*args, **kwargs)
    given = [a for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray)]
    parts = value if isinstance(value, (tuple, list)) else [value]
    shared = any(isinstance(p, np.ndarray) and (p is a or np.may_share_memory(p, a)) for p in parts for a in given)
    texts.left((getattr(function, "__self__", None), args, list(kwargs.values())), value)
    made = holders.held(value)
    return value if shared else fresh(value) if made is None else made


def _positional(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call with the data among its keywords put into place."""
    names = {"a": 0, "arr": 0, "ary": 0, "arrays": 0, "tup": 0, "m": 0, "x": 0, "object": 0, "v": 0, "array": 0}
    if not args:
        first = next((k for k in kwargs if k in names), None)
        if first is not None:
            args, kwargs = (kwargs[first],), {k: v for k, v in kwargs.items() if k != first}
    if tracked_in(kwargs):
        raise running().refuse(f"`{getattr(function, '__name__', function)}` gets an array by keyword")
    return args, kwargs


def _into(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with `out`: the result is written there."""
    rest = {k: v for k, v in kwargs.items() if k != "out"}
    outs = kwargs["out"] if isinstance(kwargs["out"], tuple) else (kwargs["out"],)
    where = plain(rest.pop("where", True))
    found = numpy_call(function, args, rest)
    for out, value in zip(outs, found if len(outs) > 1 else (found,), strict=True):
        if type(out) is not Tracked and is_active(value):
            raise running().refuse("a result is written to an array from outside of the program")
        if where is True:
            out[...] = value
        else:
            mask = np.broadcast_to(where, out.shape)
            out[mask] = numpy_call(np.broadcast_to, (value, out.shape), {})[mask]
    return kwargs["out"] if len(outs) > 1 else outs[0]


def differentiated(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call by the compiler's rules; where it has none, by the function's own text, which then runs recorded."""
    from stgrad.plain.calls import by_text

    try:
        return apply(function, args, kwargs)
    except StgradError as refused:
        if running().refused is not None:
            raise
        written = by_text(getattr(function, "_implementation", function))
        if written is None:
            raise running().refuse(f"`{getattr(function, '__name__', function)}`: {refused.message}") from None
        return written(*args, **kwargs)


def ufunc_call(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy hands over where a ufunc gets a tracked operand."""
    out = kwargs.get("out")
    if out is not None and len(out) == 1:
        kwargs = {**kwargs, "out": out[0]}
    if method == "__call__":
        return numpy_call(ufunc, inputs, kwargs)
    if method == "at":
        return _at(ufunc, *inputs)
    if method == "outer":
        a, b = (as_array(x) for x in inputs)
        return numpy_call(ufunc, (numpy_call(np.reshape, (a, (*a.shape, *(1,) * b.ndim)), {}), b), kwargs)
    named = _REDUCTIONS.get((ufunc, method))
    if named is None:
        return numpy_call(getattr(ufunc, method), inputs, kwargs)
    axis = inputs[1] if len(inputs) > 1 else kwargs.pop("axis", 0)
    return numpy_call(named, inputs[:1], {"axis": axis, **kwargs})


_REDUCTIONS: dict[Any, Any] = {
    (np.add, "reduce"): np.sum, (np.multiply, "reduce"): np.prod, (np.maximum, "reduce"): np.max, (np.minimum, "reduce"): np.min,
    (np.add, "accumulate"): np.cumsum, (np.multiply, "accumulate"): np.cumprod,
}  # fmt: skip


def _at(ufunc: Any, target: Any, key: Any, operand: Any = None) -> None:
    """`np.add.at` and its like, one element after the other."""
    at = np.arange(np.size(target.value)).reshape(np.shape(target.value))[plain(key)].ravel()
    flat = target.flat
    operand = numpy_call(np.broadcast_to, (operand, np.shape(target.value[plain(key)])), {}) if np.ndim(plain(operand)) else operand
    for count, place in enumerate(at):
        one = operand if np.ndim(plain(operand)) == 0 else operand[np.unravel_index(count, operand.shape)]
        flat[int(place)] = numpy_call(ufunc, (flat[int(place)], one), {})


def as_array(a: Any, dtype: Any = None, *_: Any, **kwargs: Any) -> Any:
    """`np.asarray`: the array itself where it is one."""
    if type(a) is Tracked and type(a.value) is np.ndarray:
        return a if dtype is None else as_type(a, dtype, copy=False)
    if holders.is_of_objects(a) and dtype is not None and tracked_in(items := a.tolist()):
        return array(items, dtype)
    if isinstance(a, np.ndarray):
        return texts.left(a, np.asarray(a, dtype, **kwargs))
    return array(a, dtype)


def array(a: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **kwargs: Any) -> Any:
    """`np.array`: a copy, of lists and tuples too."""
    if hasattr(type(a), "__iter__") and not isinstance(a, (list, tuple, np.ndarray, str, dict, set)) and type(a) is not Tracked and not hasattr(a, "__len__"):
        return _untouched(np.array, (a, dtype), {"copy": copy, "ndmin": ndmin, **kwargs})
    if holders.is_of_objects(a) and dtype is not None:
        a = a.tolist()
    if not tracked_in(a):
        value = texts.left(a, np.array(a, dtype, copy=copy, ndmin=ndmin, **kwargs))
        return value if isinstance(a, np.ndarray) and np.may_share_memory(value, a) else fresh(value)
    if dtype is not None and np.dtype(dtype).names is not None:
        return holders.records(a, dtype)
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        return np.array(holders.converted(a, dtype), ndmin=ndmin)
    made = move(np.array, _FIRST, (_listed(a),), {"ndmin": ndmin, "order": kwargs.get("order", "K")})
    return made if dtype is None else as_type(made, dtype, copy=False)


def _listed(a: Any) -> Any:
    return [_listed(v) for v in a] if isinstance(a, (list, tuple)) else a


def _from_buffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    if np.dtype(dtype) != buffer.dtype or not buffer.flags.c_contiguous:
        raise running().refuse("`np.frombuffer` of another type is used")
    start = offset // buffer.itemsize
    return numpy_call(np.reshape, (buffer, -1), {})[start : None if count < 0 else start + count]


def _full_like(a: Any, value: Any, dtype: Any = None, shape: Any = None, **_: Any) -> Any:
    like = np.empty_like(plain(a), dtype=dtype, shape=shape)
    if like.dtype.kind not in "fc":
        like[...] = holders.converted(value, like.dtype)
        return like
    made = fresh(like)
    made[...] = value
    return made


def _full(shape: Any, value: Any, dtype: Any = None, **_: Any) -> Any:
    return _full_like(np.empty(plain(shape), np.result_type(plain(value)) if dtype is None else dtype), value)


def _at_least(ndim: int) -> Callable[..., Any]:
    function = {1: np.atleast_1d, 2: np.atleast_2d, 3: np.atleast_3d}[ndim]

    def stretched(*arrays: Any) -> Any:
        found = [move(function, _FIRST, (a if type(a) is Tracked and np.ndim(a.value) else as_array(a),), {}) if tracked_in(a) else function(a) for a in arrays]
        return found[0] if len(found) == 1 else tuple(found)

    return stretched


class Converter:
    """What NumPy's own functions turn their arguments into arrays with."""

    def __init__(self, *arrays: Any) -> None:
        self.arrays = tuple(map(as_array, arrays))
        self.scalar_input = tuple(np.ndim(plain(a)) == 0 for a in arrays)

    def __getitem__(self, i: int) -> Any:
        return self.arrays[i]

    def __len__(self) -> int:
        return len(self.arrays)

    def as_arrays(self, **_: Any) -> tuple[Any, ...]:
        return self.arrays

    def wrap(self, found: Any, to_scalar: bool | None = None) -> Any:
        wanted = all(self.scalar_input) if to_scalar is None else to_scalar
        return found[()] if wanted and np.ndim(plain(found)) == 0 else found

    def result_type(self, *_: Any, **__: Any) -> Any:
        return np.result_type(*map(plain, self.arrays))


def _broadcast(*arrays: Any) -> Any:
    return np.broadcast(*(np.empty(np.shape(plain(a)), bool) for a in arrays))


def _as_strided(x: Any, *args: Any, **kwargs: Any) -> Any:
    function = np.lib.stride_tricks.as_strided
    if x.itemsize != x.places.itemsize or x.strides != x.places.strides:
        raise running().refuse("`as_strided` of an array of this type is used")
    return Tracked(function(x.value, *plain(args), **plain(kwargs)), x.buffer, function(x.places, *plain(args), **plain(kwargs)))


def _broadcast_arrays(*arrays: Any, **_: Any) -> Any:
    shape = np.broadcast_shapes(*(np.shape(plain(a)) for a in arrays))
    return tuple([numpy_call(np.broadcast_to, (as_array(a), shape), {}) for a in arrays])


def _meshgrid(*arrays: Any, indexing: str = "xy", **_: Any) -> Any:
    places: Any = np.meshgrid(*[np.arange(np.size(plain(a))) for a in arrays], indexing=indexing)  # type: ignore[call-overload]
    return [numpy_call(np.take, (as_array(a), p), {}) for a, p in zip(arrays, places, strict=True)]


def _unique(a: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None, **kwargs: Any) -> Any:
    """`np.unique`: the first of those that are equal."""
    plainly: Any = np.unique
    _, first, *rest = plainly(plain(a), True, return_inverse, return_counts, axis, **kwargs)
    chosen = numpy_call(np.take, (a, first), {"axis": axis})
    found = (chosen, *([first] if return_index else []), *rest)
    return found if len(found) > 1 else chosen


def _split(function: Any) -> Callable[..., Any]:
    def split(a: Any, *args: Any, **kwargs: Any) -> Any:
        values = function(a.value, *plain(args), **plain(kwargs))
        return [Tracked(v, a.buffer, p) for v, p in zip(values, function(a.places, *plain(args), **plain(kwargs)), strict=True)]

    return split


def _enumerated(a: Any) -> Any:
    return ((i, a[i]) for i in np.ndindex(*a.shape))


def _float_ones(function: Any) -> Callable[..., Any]:
    """`np.nan_to_num` and its like, whose result is the number or a constant."""

    def chosen(x: Any, *args: Any, **kwargs: Any) -> Any:
        x = as_array(x) if np.ndim(plain(x)) == 0 else x
        value = function(np.array(x.value), *plain(args), **plain(kwargs))
        return numpy_call(np.where, (np.isfinite(x.value), x, value), {})[()]

    return chosen


_SPECIAL: dict[Any, Any] = {
    np.full_like: _full_like, np.full: _full, np.atleast_1d: _at_least(1), np.atleast_2d: _at_least(2), np.atleast_3d: _at_least(3),
    np.broadcast_arrays: _broadcast_arrays, np.meshgrid: _meshgrid, np.nan_to_num: _float_ones(np.nan_to_num), np.ndenumerate: _enumerated,
    np.unique: _unique, np.broadcast: _broadcast, np.frombuffer: _from_buffer, np.lib.stride_tricks.as_strided: _as_strided,
} | {f: _split(f) for f in _SPLITTING}  # fmt: skip
