"""The NumPy functions that look at shapes and types alone, or build arrays from Python structure."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from enum import Enum
from typing import Any

import gast
import numpy as np

from stgrad import errors, rules
from stgrad.frontend import boxes, growing, objects, operations
from stgrad.frontend.arrays import get
from stgrad.frontend.builtins import HANDLERS, handles
from stgrad.frontend.control import choice
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import references
from stgrad.frontend.indexing import load, store
from stgrad.frontend.inlining import inline_rule
from stgrad.frontend.iteration import Range
from stgrad.frontend.library import edges, unit
from stgrad.frontend.shapes import dtype_name
from stgrad.frontend.values import Growing, Method, Record, Sym, Value, is_number, is_static, leaves, static_of, type_of


@handles(np.astype)
def _astype(frame: Frame, x: Value, dtype: Value, /, *, copy: Value = True, device: Value = None) -> Value:
    """The method, which gives the array itself where its dtype is the one asked for and `copy` is false."""
    return frame.call(Method(x, "astype"), (dtype,), {"copy": copy})


@handles(np.shape)
def _shape(frame: Frame, a: Value) -> Value:
    return operations.shape_of(frame, a)


@handles(np.ndim)
def _ndim(frame: Frame, a: Value) -> Value:
    return a.type.rank if isinstance(a, Sym) else len(operations.shape_of(frame, a))


@handles(np.size)
def _size(frame: Frame, a: Value, axis: Value = None) -> Value:
    if axis is not None:
        return operations.shape_of(frame, a)[axis]
    if isinstance(a, Sym) and a.type.array:
        return get(frame, a, "size", None)
    extents = operations.shape_of(frame, a)
    return functools.reduce(lambda n, extent: operations.binary(frame, gast.Mult, n, extent), extents, 1)


@handles(np.isscalar)
def _isscalar(frame: Frame, a: Value) -> Value:
    return not a.type.array if isinstance(a, Sym) else np.isscalar(a)


@handles(np.sum)
def _sum(frame: Frame, a: Value, *args: Value, **options: Value) -> Value:
    """`initial` is added, so that it may be differentiated in."""
    initial = options.pop("initial", 0.0)
    if isinstance(options.get("where"), (list, tuple)):
        options["where"] = frame.call(np.array, (options["where"],), {})
    if is_static(static_of(initial)):
        return emit(frame, np.sum, a, *args, **options, **({} if is_number(initial) and initial == 0.0 else {"initial": initial}))
    return operations.binary(frame, gast.Add, emit(frame, np.sum, a, *args, **options), initial)


@handles(np.linspace)
def _linspace(
    frame: Frame, start: Value, stop: Value, num: Value = 50, endpoint: Value = True, retstep: Value = False, dtype: Value = None, axis: Value = 0, **_: Value
) -> Value:
    points = emit(frame, np.linspace, start, stop, num, endpoint=endpoint, **({} if dtype is None else {"dtype": dtype}))
    if axis != 0 and points.type.rank > 1:
        points = frame.call(np.moveaxis, (points, 0, axis), {})
    if not static_of(retstep):
        return points
    count = operations.binary(frame, gast.Sub, num, 1) if static_of(endpoint) else num
    return points, operations.binary(frame, gast.Div, operations.binary(frame, gast.Sub, stop, start), count)


@handles(np.real)
def _real(frame: Frame, val: Value) -> Value:
    """A real array is its own real part."""
    return val if isinstance(val, Sym) and not val.type.dtype.startswith("complex") else emit(frame, np.real, val)


@handles(np.imag)
def _imag(frame: Frame, val: Value) -> Value:
    """Of a real array they are zeros that cannot be written to."""
    if not isinstance(val, Sym) or not val.type.array or val.type.dtype.startswith("complex"):
        return emit(frame, np.imag, val)
    zeros = frame.call(np.zeros_like, (val,), {})
    frame.builder.seal(zeros)
    return zeros


@handles(np.broadcast_arrays)
def _broadcast_arrays(frame: Frame, *args: Value, subok: Value = False) -> Value:
    """What has the common shape is handed on. In NumPy the others can be written to, at several places at a time."""
    rule = rules.lookup(np.broadcast_arrays)
    assert rule is not None
    results = inline_rule(frame, rule.composite, args, {})
    return tuple(_handed_on(frame, array, wide) for array, wide in zip(args, results, strict=True))


def _handed_on(frame: Frame, array: Value, wide: Value) -> Value:
    if not (isinstance(wide, Sym) and wide.type.array):
        return boxes.made(frame, wide)  # an array without axes
    same = frame.builder.extents.same
    if isinstance(array, Sym) and array.type.rank == wide.type.rank and all(map(same, array.type.dims, wide.type.dims)):
        return array
    frame.builder.seal(wide, "what `np.broadcast_arrays` has stretched")
    return wide


@handles(np.sign)
def _sign(frame: Frame, x: Value, *args: Value, **options: Value) -> Value:
    """Of a complex number it is x / abs(x), which turns with x."""
    return frame.call(unit, (x,), options) if isinstance(x, Sym) and x.type.dtype.startswith("complex") else emit(frame, np.sign, x, *args, **options)


@handles(np.nan_to_num)
def _nan_to_num(frame: Frame, x: Value, copy: Value = True, nan: Value = 0.0, **options: Value) -> Value:
    options["nan"] = nan
    if static_of(copy) or not isinstance(x, Sym) or not x.type.array:
        return emit(frame, np.nan_to_num, x, **options)
    store(frame, x, Ellipsis, emit(frame, np.nan_to_num, x, **options), None)
    return x


@handles(operator.getitem)
def _getitem(frame: Frame, a: Value, b: Value) -> Value:
    return load(frame, a, b, None)


def emit(frame: Frame, function: Any, *args: Value, **options: Value) -> Value:
    """A call past the handler of the function."""
    from stgrad.frontend.calls import call_python

    return call_python(frame, function, args, options)


@handles(np.histogram_bin_edges)
def _histogram_bin_edges(frame: Frame, a: Value, bins: Value = 10, range: Value = None, weights: Value = None) -> Value:  # noqa: A002
    if isinstance(bins, Sym) and bins.type.rank:  # they are the result themselves, not a copy
        return frame.call(edges, (bins,), {})
    return emit(frame, np.histogram_bin_edges, a, bins, range, weights)


@handles(np.common_type)
def _common_type(frame: Frame, *arrays: Value) -> Value:
    return np.common_type(*(np.empty(0, type_of(a).dtype) for a in arrays))


@handles(np.iscomplexobj)
def _iscomplexobj(frame: Frame, a: Value) -> Value:
    return type_of(a).dtype.startswith("complex")


@handles(np.isrealobj)
def _isrealobj(frame: Frame, a: Value) -> Value:
    return not type_of(a).dtype.startswith("complex")


@handles(np.result_type)
def _result_type(frame: Frame, *values: Value) -> Value:
    return np.result_type(*(np.dtype(v.type.dtype) if isinstance(v, Sym) else v for v in values))


def _copies(copy: Value) -> bool:
    """Whether `copy` asks for a copy in any case; `copy_if_needed` of NumPy's own is neither true nor false."""
    wish = static_of(copy)
    return bool(wish.value is True if isinstance(wish, Enum) else wish)


@handles(np.asarray, np.asanyarray)
def _asarray(frame: Frame, a: Value, dtype: Value = None, order: Value = None, *, copy: Value = None, **_: Value) -> Value:
    """The array itself where nothing has to change."""
    same = isinstance(a, Sym) and (a.type.array or boxes.is_box(frame, a)) and (dtype is None or a.type.dtype == dtype_name(frame, dtype))
    if same and not _copies(copy) and static_of(order) in (None, "K", "A"):
        return a
    return _array(frame, a, dtype) if _copies(copy) or not same else operations.operation(frame, np.asarray, (a,), {"order": order})


@handles(np.ascontiguousarray, np.asfortranarray)
def _ascontiguousarray(frame: Frame, a: Value, dtype: Value = None, **_: Value) -> Value:
    """The array itself or a copy, by its strides."""
    same = isinstance(a, Sym) and a.type.rank and (dtype is None or a.type.dtype == dtype_name(frame, dtype))
    return operations.operation(frame, np.ascontiguousarray, (a,)) if same else _array(frame, a, dtype, ndmin=1)


@handles(np.convolve)
def _convolve(frame: Frame, a: Value, v: Value, mode: Value = "full") -> Value:
    """A number counts as a vector of one item."""
    a, v = (frame.call(np.atleast_1d, (x,), {}) for x in (a, v))
    return emit(frame, np.convolve, a, v, mode=mode)


@handles(np.copy)
def _copy(frame: Frame, a: Value, order: Value = "K", **options: Value) -> Value:
    number = is_number(a) or isinstance(a, Sym) and not a.type.array
    return boxes.made(frame, a) if number else emit(frame, np.copy, a, **({"order": order} if static_of(order) != "K" else {}), **options)


@handles(np.array)
def _array(frame: Frame, object: Value, dtype: Value = None, *, copy: Value = True, order: Value = "K", ndmin: Value = 0, **_: Value) -> Value:  # noqa: A002
    """`np.array` of a number, an array, or nested lists of those."""
    shown = static_of(copy) is not True and isinstance(object, Sym)
    array = _asarray(frame, object, dtype, copy=copy) if shown else _new_array(frame, object, dtype)
    missing = static_of(ndmin) - type_of(array).rank
    if missing > 0 and not shown and isinstance(array, Sym) and array.type.array and not array.type.rank:
        array = load(frame, array, (), None)  # the one array that is made has axes
    return frame.call(np.reshape, (array, (*(1,) * missing, *operations.shape_of(frame, array))), {}) if missing > 0 else array


def _new_array(frame: Frame, value: Value, dtype: Value) -> Value:
    if isinstance(value, Range):
        value = frame.call(np.arange, (value.start, value.stop, value.step), {})
    if isinstance(value, Growing):
        named = references(frame)[id(value)] > 0
        value = growing.as_array(frame, value)
        if not named and dtype is None and value.type.rank == 1:  # rows are arrays that the list holds: a write to the new array is none to these
            return value
    if isinstance(value, np.ndarray):
        value = (value.astype(float) if dtype is None and value.dtype == np.float32 else value).tolist()
    if isinstance(value, Sym):
        if dtype is not None and value.type.dtype != dtype_name(frame, dtype):
            cast = frame.call(Method(value, "astype"), (dtype,), {})
            return cast if value.type.array else boxes.made(frame, cast)
        return operations.operation(frame, np.copy, (value,)) if value.type.array else boxes.made(frame, value)
    if is_number(value):
        return boxes.made(frame, value if dtype is None else np.dtype(static_of(dtype)).type(value))
    value = _without_objects(frame, value)
    if isinstance(value, Sym):
        return _new_array(frame, value, dtype)
    shape = _nested_shape(frame, value)
    rows = list(leaves(value))
    if any(isinstance(v, Sym) and v.type.rank for v in rows):
        stacked = _stack(frame, value)
        return stacked if dtype is None else _new_array(frame, stacked, dtype)
    return _from_items(frame, value, shape, dtype)


def _without_objects(frame: Frame, value: Value) -> Value:
    """What instances say that they are as arrays, and lists that grow; other instances make arrays of objects, which are refused."""
    if isinstance(value, Growing):
        return growing.as_array(frame, value)
    if isinstance(value, (list, tuple)):
        return [_without_objects(frame, v) for v in value]
    if isinstance(value, Record):
        if objects.own_method(value, "__array__") is None:
            name = value.cls.__name__
            raise errors.TypeInferenceError(f"an array of `{name}` is not supported", frame.builder.loc, hint="use a list, or an array of numbers")
        return objects.special(frame, value, "__array__", (), "is no array")
    return value


def _nested_shape(frame: Frame, value: Value) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    inner = {_nested_shape(frame, v) for v in value}
    if len(inner) > 1:
        raise errors.ShapeError("the nested lists have different lengths", frame.builder.loc)
    return (len(value), *(inner.pop() if inner else ()))


def _stack(frame: Frame, value: Value) -> Value:
    rows = [_stack(frame, v) if isinstance(v, (list, tuple)) else v for v in value]
    return frame.call(np.stack, (rows,), {})


@handles(np.stack)
def _stacked(frame: Frame, arrays: Value, *args: Value, **options: Value) -> Value:
    """`np.stack`; of numbers it is the array of them, which is made without a call."""
    numbers = isinstance(arrays, (list, tuple)) and arrays and all(is_number(a) or isinstance(a, Sym) and not a.type.array for a in arrays)
    axis = static_of(args[0] if args else options.get("axis", 0))
    if numbers and axis in (0, -1) and len(args) + len(options) <= 1 and options.keys() <= {"axis"}:
        return frame.call(np.array, (list(arrays),), {})
    return emit(frame, np.stack, arrays, *args, **options)


def _from_items(frame: Frame, value: Value, shape: tuple[int, ...], dtype: Value) -> Value:
    """An array of known shape from numbers: a literal where all are known, else an empty array and its stores."""
    items = list(leaves(value))
    if shape == ():
        return items[0] if dtype is None else frame.call(Method(items[0], "astype"), (dtype,), {})
    if dtype is not None:
        name = dtype_name(frame, dtype)
    else:
        name = str(np.result_type(*[type_of(v).dtype for v in items])) if items else "float64"
    known = [static_of(v) for v in items]
    if is_static(tuple(known)) and known and len(set(known)) == 1:
        return operations.operation(frame, np.full, (shape, np.dtype(name).type(known[0]).item(), np.dtype(name)))
    out = operations.operation(frame, np.empty, (shape, np.dtype(name)))
    for index, item in zip(np.ndindex(*shape), items, strict=True):
        store(frame, out, tuple(index) if index else Ellipsis, item, None)
    return out


def _scalar_to_array(function: Any) -> Callable[..., Value]:
    """`np.reshape`, `np.expand_dims` and `np.broadcast_to` of a scalar fill an array with it."""

    def handler(frame: Frame, a: Value, shape: Value = None, **options: Value) -> Value:
        if isinstance(a, (list, tuple)):
            a = frame.call(np.array, (a,), {})
        if isinstance(a, Sym) and a.type.rank and shape == () and function is np.reshape:
            return boxes.view(frame, a, load(frame, a, (0,) * a.type.rank, None))
        if function is np.reshape and isinstance(a, Sym) and a.type.rank == 1 and shape in (-1, (-1,)) and not options:
            return load(frame, a, slice(None), None)
        if isinstance(a, Sym) and a.type.array or not (isinstance(a, Sym) or is_number(a)):
            return operations.emit(frame, function, (a,) if shape is None else (a, shape), options)
        if function is np.expand_dims:
            axis = static_of(options.get("axis", shape))
            shape = (1,) * (len(axis) if isinstance(axis, tuple) else 1)
        shape = options.get("newshape", shape)
        if shape == ():
            return a
        if isinstance(shape, (tuple, list)) and -1 in shape or shape == -1:
            shape = tuple(1 for _ in shape) if isinstance(shape, tuple) else (1,)
        filled = operations.operation(frame, np.full, (shape, a))
        boxes.note_view(frame, function, (a,), filled)
        if function is np.broadcast_to and isinstance(filled, Sym):
            frame.builder.seal(filled)
        return filled

    return handler


for _function in (np.reshape, np.expand_dims, np.broadcast_to):
    HANDLERS[_function] = _scalar_to_array(_function)


@handles(rules.unbroadcast)
def _unbroadcast(frame: Frame, g: Value, like: Value) -> Value:
    if like is None or not isinstance(g, Sym):
        return g
    return operations.unbroadcast(frame.builder, g, type_of(like))


@handles(rules.widen)
def _widen(frame: Frame, g: Value, like: Value) -> Value:
    """What has one item for certain, where the other has not, is stretched; other extents agree."""
    known = zip(type_of(g).dims, type_of(like).dims, strict=True)
    along = [d.constant == 1 != e.constant for d, e in known]
    shape = tuple(operations.extent(frame, like if wide else g, axis) for axis, wide in enumerate(along))
    return frame.call(np.broadcast_to, (g, shape), {}) if any(along) else g


def _like_scalar(function: Any, value: Any) -> Callable[..., Value]:
    """`np.zeros_like(x)` of a scalar is a scalar."""

    def handler(frame: Frame, a: Value, *args: Value, **options: Value) -> Value:
        if isinstance(a, (list, tuple)):
            a = frame.call(np.array, (a,), {})
        plain = not (isinstance(a, Sym) and a.type.array) and not any(v is not None for v in (*args, *options.values()))
        if not plain or not (isinstance(a, Sym) or is_number(a)):
            return operations.emit(frame, function, (a, *args), options)
        t = type_of(a)
        return boxes.made(frame, np.dtype(t.dtype).type(value))

    return handler


def _given_shape(like: Callable[..., Value], maker: Any) -> Callable[..., Value]:
    """`np.zeros_like(x, shape=s)` has nothing of `x` but its dtype: it is `np.zeros(s, x.dtype)`."""

    def handler(frame: Frame, a: Value, *args: Value, shape: Value = None, **options: Value) -> Value:
        fill, args = (args[:1], args[1:]) if maker is np.full else ((), args)
        shape = args[3] if len(args) > 3 else shape
        if shape is None:
            return like(frame, a, *fill, *args, **options)
        dtype = args[0] if args else options.get("dtype")
        fill = fill or ((options["fill_value"],) if maker is np.full else ())
        return frame.call(maker, (shape, *fill), {"dtype": np.dtype(type_of(a).dtype) if dtype is None else dtype})

    return handler


def _full_like(frame: Frame, *args: Value, **options: Value) -> Value:
    return operations.emit(frame, np.full_like, args, options)


def _empty_like(frame: Frame, *args: Value, **options: Value) -> Value:
    return operations.emit(frame, np.empty_like, args, options)


HANDLERS[np.zeros_like] = _given_shape(_like_scalar(np.zeros_like, 0), np.zeros)
HANDLERS[np.ones_like] = _given_shape(_like_scalar(np.ones_like, 1), np.ones)
HANDLERS[np.empty_like] = _given_shape(_empty_like, np.empty)
HANDLERS[np.full_like] = _given_shape(_full_like, np.full)


def _counted(axis: int, rank: int) -> int:
    """An axis counted from the first one; what the array does not have stays as it is."""
    return axis + rank if axis < 0 else axis


@handles(np.transpose)
def _transpose(frame: Frame, a: Value, axes: Value = None) -> Value:
    """Of what has no axes to exchange, the array itself."""
    listed = isinstance(a, Sym) and isinstance(axes, (tuple, list)) and all(type(i) is int for i in axes)
    order = [_counted(i, a.type.rank) for i in axes] if listed else None  # type: ignore[union-attr]
    if isinstance(a, Sym) and (a.type.rank < 2 and axes is None or order == list(range(a.type.rank))):
        return a
    return operations.emit(frame, np.transpose, (a,), {} if axes is None else {"axes": axes})


@handles(np.moveaxis)
def _moveaxis(frame: Frame, a: Value, source: Value, destination: Value) -> Value:
    """Where each axis stays in its place, the array itself."""
    known = static_of((source, destination))
    if isinstance(a, Sym) and all(isinstance(k, int) for k in known):
        one, other = (_counted(k, a.type.rank) for k in known)
        if one == other and 0 <= one < a.type.rank:
            return a
    return operations.emit(frame, np.moveaxis, (a, source, destination), {})


@handles(np.where)
def _where(frame: Frame, condition: Value, *choices: Value) -> Value:
    """Of scalars, a choice between two values that are both there."""
    if not choices:
        return frame.call(np.nonzero, (condition,), {})
    scalars = all(is_number(v) or isinstance(v, Sym) and not v.type.rank for v in (condition, *choices))
    if len(choices) != 2 or not scalars:
        return operations.emit(frame, np.where, (condition, *choices), {})
    cond = operations.truth(frame, condition)
    choices = tuple(load(frame, v, (), None) if isinstance(v, Sym) and v.type.array else v for v in choices)  # what is in them, in an array of its own
    dtype = np.result_type(*(type_of(v).dtype for v in choices))
    if dtype.kind in "fc":  # a narrow integer would overflow where the result does not
        choices = tuple(dtype.type(v) if isinstance(v, np.generic) and v.dtype.kind in "iub" else v for v in choices)
    if not isinstance(cond, Sym):
        chosen = choices[0] if cond else choices[1]
        return boxes.made(frame, dtype.type(chosen) if is_number(chosen) else frame.call(Method(chosen, "astype"), (dtype,), {}))
    return boxes.made(frame, choice(frame, cond, choices[0], choices[1], "_t"))
