"""`out=` and `where=` of NumPy's functions, and the methods of ufuncs: reduce, accumulate, outer and at.

All of it is written in terms of calls without these: `np.add(a, b, out=y)` is `y[...] = a + b`, `np.add.reduce(x)` is
`np.sum(x, axis=0)`, and so on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import NoneType
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import library, operations
from stgrad.frontend.broadcasting import fitted
from stgrad.frontend.casting import castable
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import indexed_type, load, normalise, store
from stgrad.frontend.values import Method, Sym, Value, operand_of, static_of, type_of
from stgrad.ir import Store, gathers

# What a ufunc does along an axis, where NumPy has a function for it.
_REDUCED: dict[Any, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_ACCUMULATED: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}
_CAST_FREELY = frozenset({*_REDUCED.values(), *_ACCUMULATED.values(), np.mean, np.take})  # whose `out` takes any kind of numbers
# Reductions that look at a part of the elements; np.sum has its own `where`.
_MASKED: dict[Any, Any] = {
    np.mean: library.masked_mean,
    np.var: library.masked_var,
    np.std: library.masked_std,
    np.prod: library.masked_prod,
    np.max: library.masked_max,
    np.min: library.masked_min,
    np.all: library.masked_all,
    np.any: library.masked_any,
}


def without_target(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[tuple[Value, ...], dict[str, Value], Value]:
    """A call without its `out`, and the array to write to; None where there is none."""
    kwargs = dict(kwargs)
    at = _out_position(function)
    target = kwargs.pop("out", None)
    if at is not None and len(args) > at:
        target = args[at:] if isinstance(function, np.ufunc) else args[at]
        args = args[:at] if isinstance(function, np.ufunc) or len(args) == at + 1 else (*args[:at], None, *args[at + 1 :])
    if isinstance(target, tuple):
        target = None if all(t is None for t in target) else target
    return args, kwargs, target[0] if isinstance(target, tuple) and len(target) == 1 and getattr(function, "nout", 1) == 1 else target


@lru_cache(maxsize=1024)
def _out_position(function: Any) -> int | None:
    """At which position a function takes `out`; None where it does not take it by position."""
    if isinstance(function, np.ufunc):
        return function.nin
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    return next((i for i, p in enumerate(parameters) if p.name == "out" and p.kind is p.POSITIONAL_OR_KEYWORD), None)


def into(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value], target: Value, *, unsafe: bool = False) -> Value:
    """`f(x, out=y)` as `y[...] = f(x)`; with `where`, only these elements are computed and stored; `unsafe` casts what it is given."""
    unsafe = unsafe or function in _CAST_FREELY
    if isinstance(target, tuple):
        return _into_each(frame, function, args, kwargs, target, unsafe)
    kwargs = dict(kwargs)
    where = kwargs.pop("where", True) if isinstance(function, np.ufunc) else True
    if static_of(where) is True:
        _put(frame, function, target, Ellipsis, frame.call(function, args, kwargs), unsafe)
        return target
    shape = operations.shape_of(frame, target)
    mask = _broadcast(frame, where, target, shape)
    taken = tuple(load(frame, _broadcast(frame, a, target, shape), mask, None) if isinstance(a, Sym) and a.type.rank else a for a in args)
    _put(frame, function, target, mask, frame.call(function, taken, kwargs), unsafe)
    return target


def _put(frame: Frame, function: Any, target: Value, index: Value, result: Value, unsafe: bool) -> None:
    """Write a result to `out`; what is no ufunc stretches nothing."""
    if isinstance(target, Sym) and target.type.array:
        if not unsafe:
            castable(frame, target.type, type_of(result))
        if not isinstance(function, np.ufunc) and type_of(result).rank != target.type.rank:
            raise errors.ShapeError(f"a result of rank {type_of(result).rank} is written to an `out` of rank {target.type.rank}", frame.builder.loc)
    store(frame, target, index, result, None)


def _into_each(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value], targets: tuple[Value, ...], unsafe: bool) -> Value:
    """`f(x, out=(y, z))` of a function with several results; None stands for a new array."""
    if static_of(kwargs.get("where", True)) is not True:
        raise errors.UnsupportedSyntaxError("`where=` with several results is not supported", frame.builder.loc, hint="use np.where(...) for each of them")
    results = frame.call(function, args, {k: v for k, v in kwargs.items() if k != "where"})
    targets = (*targets, *[None] * (len(results) - len(targets)))  # by position, those at the end may be left out
    for target, result in zip(targets, results, strict=True):
        if target is not None:
            _put(frame, function, target, Ellipsis, result, unsafe)
    return tuple(r if t is None else t for t, r in zip(targets, results, strict=True))


def _broadcast(frame: Frame, value: Value, target: Sym, shape: tuple[Value, ...]) -> Value:
    same = isinstance(value, Sym) and value.type.dims == target.type.dims
    return value if same else frame.call(np.broadcast_to, (value, shape), {})


def masked(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A call with `where=` and no `out=`: a reduction over a part of the elements."""
    kwargs = dict(kwargs)
    if isinstance(function, np.ufunc):
        raise errors.UnsupportedSyntaxError(
            "`where=` without `out=` leaves elements undefined", frame.builder.loc, hint="pass out=np.zeros(...), or use np.where(...)"
        )
    return frame.call(_MASKED[function], args, kwargs)


_OF_UFUNCS = {"order": ("K", "A", "C"), "subok": (True, False), "where": (True,), "dtype": (None,)}
_CASTING = ("same_kind", "unsafe")


_OF_TRANSFORMS = ("overwrite_x", "workers", "plan")
_OF_LINALG = ("overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_x", "overwrite_c", "check_finite")


def without_settings(function: Any, kwargs: dict[str, Value]) -> dict[str, Value]:
    """The options of a call without those that tell NumPy what it does anyway, or let SciPy destroy an argument, which a derivative may read."""
    if (getattr(function, "__module__", None) or "").startswith("scipy.linalg"):
        kwargs = {k: v for k, v in kwargs.items() if k not in _OF_LINALG}
    if (getattr(function, "__module__", None) or "").startswith(("scipy.fft", "scipy.fftpack")):
        kwargs = {k: v for k, v in kwargs.items() if k not in _OF_TRANSFORMS}
    safe = isinstance(function, np.ufunc) and kwargs.keys().isdisjoint(("out", "dtype", "signature"))  # operands are cast safely by default
    inert = {"casting": (*_CASTING, *(("safe",) if safe else ())), **(_OF_UFUNCS if isinstance(function, np.ufunc) else {})}
    return {k: v for k, v in kwargs.items() if not (isinstance(v, (str, bool, NoneType)) and v in inert.get(k, ()))}


def in_dtype(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """A call of a ufunc without `dtype`: its operands are cast instead."""
    if not isinstance(function, np.ufunc) or kwargs.get("dtype") is None:
        return args, kwargs
    dtype = np.dtype(static_of(kwargs["dtype"]))
    cast = tuple(frame.call(Method(a, "astype"), (dtype,), {}) if isinstance(a, Sym) else dtype.type(static_of(a)) for a in args)
    return cast, {k: v for k, v in kwargs.items() if k != "dtype"}


def is_masked(function: Any, kwargs: dict[str, Value]) -> bool:
    where = static_of(kwargs.get("where", True))
    return where is not True and (isinstance(function, np.ufunc) or function in _MASKED)


def ufunc_method(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`np.add.reduce(x)` and the other methods of a ufunc."""
    ufunc, name = function.__self__, function.__name__
    handler = _METHODS.get(name)
    if handler is None or ufunc.nin != 2 and name != "at":
        raise errors.UnknownFunctionError(f"`np.{ufunc.__name__}.{name}` is not supported", frame.builder.loc, hint="write it with slices, or as a loop")
    return handler(frame, ufunc, *args, **kwargs)


def _reduce(
    frame: Frame, ufunc: Any, array: Value, axis: Value = 0, dtype: Value = None, out: Value = None, keepdims: Value = False, **options: Value
) -> Value:
    known = _REDUCED.get(ufunc)
    if known is not None:
        options |= {"keepdims": keepdims} if keepdims else {}
        options |= {"dtype": dtype} if dtype is not None else {}
        return frame.call(known, (array,), {"axis": axis, "out": out, **options})
    return frame.call(library.fold, (ufunc, array, axis, keepdims), options)


def _accumulate(frame: Frame, ufunc: Any, array: Value, axis: Value = 0, dtype: Value = None, out: Value = None) -> Value:
    known = _ACCUMULATED.get(ufunc)
    if known is not None:
        return frame.call(known, (array,), {"axis": axis, "dtype": dtype, "out": out})
    return frame.call(library.scan, (ufunc, array, axis), {})


def _reduceat(frame: Frame, ufunc: Any, array: Value, indices: Value, axis: Value = 0, dtype: Value = None, out: Value = None) -> Value:
    return frame.call(library.segments, (ufunc, array, indices, axis), {})


def _outer(frame: Frame, ufunc: Any, a: Value, b: Value, **options: Value) -> Value:
    stretched = a
    if type_of(a).rank and type_of(b).rank:
        stretched = frame.call(np.reshape, (a, (*operations.shape_of(frame, a), *(1,) * type_of(b).rank)), {})
    return frame.call(ufunc, (stretched, b), options)


def _at(frame: Frame, ufunc: Any, array: Value, indices: Value, *b: Value) -> None:
    from stgrad.frontend import scattered

    if ufunc not in (np.add, np.subtract) or not isinstance(array, Sym) or not array.type.is_float:
        frame.call(scattered.at, (ufunc, array, indices, *b), {})
        return
    value = frame.call(np.array, b, {}) if isinstance(b[0], (list, tuple)) else b[0]
    value = operations.unary(frame, gast.USub, value) if ufunc is np.subtract else value
    entries = normalise(frame, array, indices, None)
    index = entries if len(entries) != 1 else entries[0]
    value, operand = fitted(frame, array, index, indexed_type(frame.builder, array.type, entries), value), operand_of(index)
    mode = "add_at" if gathers(operand, frame.builder.types) else "add"  # places that a slice or a number names come once
    frame.builder.emit(Store(array.operand, operand, operand_of(value), mode, frame.builder.loc, frame.builder.note))


_METHODS: dict[str, Callable[..., Value]] = {"reduce": _reduce, "accumulate": _accumulate, "reduceat": _reduceat, "outer": _outer, "at": _at}

__all__ = ["into", "is_masked", "masked", "ufunc_method", "without_target"]
