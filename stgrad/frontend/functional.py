"""The functions of `operator`, `functools` and `math` that are like Python's builtins and operators."""

from __future__ import annotations

import collections
import functools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import boxes, comparisons, growing, operations
from stgrad.frontend.builtins import HANDLERS, handles
from stgrad.frontend.comparisons import unary_not
from stgrad.frontend.edits import delete
from stgrad.frontend.first_trips import folded
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import load, store
from stgrad.frontend.iteration import count_items, known_items
from stgrad.frontend.values import Growing, Method, Sym, Value, a_kind, is_number, is_static, static_of, type_of
from stgrad.ir import Type


def _operator_function(kind: type) -> Callable[..., Value]:
    """What the operator itself does, of whatever it is given."""

    def handler(frame: Frame, a: Value, b: Value) -> Value:
        from stgrad.frontend import expressions

        return (comparisons.compared if kind in operations.COMPARE else expressions.binary_operator)(frame, None, kind, a, b)

    return handler


for _kind, (_python, _) in {**operations.BINARY, **operations.COMPARE}.items():
    HANDLERS[_python] = _operator_function(_kind)
HANDLERS[operator.neg] = lambda frame, a: operations.unary(frame, gast.USub, a)
HANDLERS[operator.pos] = lambda frame, a: operations.unary(frame, gast.UAdd, a)
HANDLERS[operator.abs] = HANDLERS[abs]
HANDLERS[operator.getitem] = lambda frame, a, b: load(frame, a, b, None)
HANDLERS[operator.not_] = lambda frame, a: unary_not(frame, operations.truth(frame, a))
HANDLERS[operator.truth] = lambda frame, a: operations.flag(frame, operations.truth(frame, a))


@handles(tuple.__new__)
def _new_tuple(frame: Frame, cls: Any, values: Value = ()) -> Value:
    """What `_make` of named tuples calls."""
    items = known_items(frame, values, None)
    if items is None or not issubclass(cls, tuple):
        raise errors.NeedStaticError("the length of a tuple must be known at compile time", frame.builder.loc)
    return tuple.__new__(cls, items)


@handles(operator.is_)
def _is(frame: Frame, a: Value, b: Value) -> Value:
    from stgrad.frontend.expressions import identity

    return identity(frame, None, gast.Is, a, b)


@handles(operator.is_not)
def _is_not(frame: Frame, a: Value, b: Value) -> Value:
    return unary_not(frame, frame.call(operator.is_, (a, b), {}))


HANDLERS[operator.concat] = HANDLERS[operator.add]


@handles(operator.index)
def _index(frame: Frame, value: Value) -> Value:
    number = isinstance(value, Sym) or is_number(value)
    if number and type_of(value).dtype.startswith(("int", "uint", "bool")) and not type_of(value).rank:
        return value
    what = f"a {type_of(value)}" if number else a_kind(value)
    raise errors.TypeInferenceError(f"{what} is no integer", frame.builder.loc, hint="write int(...)")


@handles(operator.setitem)
def _set_item(frame: Frame, owner: Value, index: Value, value: Value) -> None:
    store(frame, owner, index, frame.keep(value), None)


@handles(operator.delitem)
def _delete_item(frame: Frame, owner: Value, index: Value) -> None:
    delete(frame, owner, index, None)


@handles(operator.contains)
def _contains(frame: Frame, owner: Value, item: Value) -> Value:
    from stgrad.frontend.expressions import membership

    return membership(frame, None, gast.In, item, owner)


def _in_place(kind: type) -> Callable[..., Value]:
    """`operator.iadd`: an array changes, of a number there is a new one."""

    def handler(frame: Frame, a: Value, b: Value) -> Value:
        from stgrad.frontend import statements

        if isinstance(a, Sym) and a.type.array:
            statements.update(frame, a, Ellipsis, kind, b, None)
            return a
        if kind is gast.Add and (isinstance(a, list) or isinstance(a, Growing) and issubclass(a.cls, list)):
            frame.call(Method(a, "extend"), (b,), {})
            return a
        boxes.changing(frame, a)
        return operations.binary(frame, kind, a, b)

    return handler


for _kind, _name in {
    gast.Add: "iadd", gast.Sub: "isub", gast.Mult: "imul", gast.Div: "itruediv", gast.FloorDiv: "ifloordiv", gast.Mod: "imod", gast.Pow: "ipow",
}.items():  # fmt: skip
    HANDLERS[getattr(operator, _name)] = _in_place(_kind)


@handles(warnings.simplefilter, warnings.filterwarnings)
def _filter(frame: Frame, action: Value, *given: Value, category: Value = Warning, **_: Value) -> None:
    """What is shown of warnings is nothing; an error would be one of numbers that overflow, unless it is asked for of older names or of casts to real."""
    kinds = [v for v in (*given, category) if isinstance(v, type)]
    harmless = kinds[0] in (np.exceptions.ComplexWarning, DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    if static_of(action) not in ("ignore", "default", "always", "all", "module", "once") and not harmless:
        _no_error(frame, "warnings that are raised are not supported")


@handles(np.errstate, np.seterr)
def _errors(frame: Frame, *all_: Value, **kinds: Value) -> Value:
    """The setting before is that of compiled code: it warns of nothing."""
    if any(static_of(kind) not in ("ignore", "warn", "print", "log") for kind in (*all_, *kinds.values())):
        _no_error(frame, "floating-point errors that are raised are not supported")
    return dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")


def _no_error(frame: Frame, message: str) -> NoReturn:
    reason = "compiled code goes on with an infinity or NaN where NumPy would raise"
    raise errors.UnsupportedSyntaxError(message, frame.builder.loc, reason=reason, hint="ask for np.isfinite(...), or test the operands")


@handles(functools.wraps)
def _wraps(frame: Frame, wrapped: Value, *_: Value, **__: Value) -> Value:
    """A decorator that copies names and texts alone."""
    return _itself


@handles(functools.update_wrapper)
def _update_wrapper(frame: Frame, wrapper: Value, *_: Value, **__: Value) -> Value:
    return wrapper


@handles(functools.lru_cache)
def _lru_cache(frame: Frame, maxsize: Value = 128, typed: Value = False) -> Value:
    """A decorator; or what it makes of a function. What it would forget, it computes again: it is the same."""
    return _remembered if maxsize is None or is_number(maxsize) else frame.call(_remembered, (maxsize,), {})


@handles(functools.cache)
def _cache(frame: Frame, user_function: Value) -> Value:
    return frame.call(_remembered, (user_function,), {})


def _remembered(function):  # type: ignore[no-untyped-def]
    known: dict[Any, Any] = {}

    def call(*args, **kwargs):  # type: ignore[no-untyped-def]
        key = (args, tuple(sorted(kwargs.items()))) if kwargs else args
        if key not in known:
            known[key] = function(*args, **kwargs)
        return known[key]

    return call


def _itself(function):  # type: ignore[no-untyped-def]
    return function


@handles(collections.namedtuple)
def _namedtuple(frame: Frame, typename: Value, field_names: Value, *, rename: Value = False, defaults: Value = None, module: Value = None) -> Value:
    """A class that is made while the function is read, once for each of its descriptions."""
    names = field_names if isinstance(field_names, str) else tuple(field_names)
    given = (typename, names, rename, () if defaults is None else tuple(defaults))
    if not is_static(static_of(given)):
        raise errors.NeedStaticError("the names and defaults of a named tuple must be known at compile time", frame.builder.loc)
    return _named(*static_of(given))


@functools.lru_cache(maxsize=256)
def _named(typename: str, names: Any, rename: bool, defaults: tuple[Any, ...]) -> type:
    return collections.namedtuple(typename, names, rename=rename, defaults=defaults)  # type: ignore[no-any-return]  # noqa: PYI024


@handles(functools.reduce)
def _reduce(frame: Frame, function: Value, values: Value, *initial: Value) -> Value:
    items = known_items(frame, values, None)
    if items is None:
        counted = count_items(frame, values, None)
        return folded(frame, counted, lambda total, item: frame.call(function, (total, item), {}), *(initial or (counted.item(0), 1)))
    items = [*initial, *items]
    if not items:
        raise errors.ShapeError("`reduce` of no items", frame.builder.loc) from TypeError("reduce() of empty iterable with no initial value")
    total = items[0]
    for item in items[1:]:
        total = frame.call(function, (total, item), {})
    return total


@handles(functools.partial)
def _partial(frame: Frame, function: Value, *args: Value, **kwargs: Value) -> Value:
    return functools.partial(function, *args, **kwargs)


def _whole_number(function: Any) -> Callable[..., Value]:
    def handler(frame: Frame, value: Value) -> Value:
        if is_static(static_of(value)):
            return function(static_of(value))
        return frame.builder.call(f"math.{function.__name__}", (value,), Type("int64", weak=True))

    return handler


for _whole in (math.floor, math.ceil, math.trunc):
    HANDLERS[_whole] = _whole_number(_whole)


@handles(math.log)
def _log(frame: Frame, x: Value, *base: Value) -> Value:
    """With a base, the quotient of two logarithms."""
    from stgrad.frontend.calls import call_python

    if not base:
        return call_python(frame, math.log, (x,), {})
    return operations.binary(frame, gast.Div, call_python(frame, math.log, (x,), {}), call_python(frame, math.log, base, {}))


@handles(math.prod)
def _prod(frame: Frame, values: Value, *, start: Value = 1) -> Value:
    """Of items that are known one by one, the chain of their products."""
    from stgrad.frontend.calls import call_python

    if isinstance(values, Sym):
        return call_python(frame, math.prod, (values,), {"start": start})
    first = () if is_static(start) and static_of(start) == 1 and known_items(frame, values, None) else (start,)
    return frame.call(functools.reduce, (operator.mul, values, *first), {})


@handles(np.prod)
def _np_prod(frame: Frame, a: Value, *args: Value, **kwargs: Value) -> Value:
    """Of a tuple of integers, as shapes are, without an array."""
    from stgrad.frontend.calls import call_python

    types = [type_of(v) for v in a if isinstance(v, Sym) or is_number(v)] if isinstance(a, (tuple, list)) else []
    whole = types and len(types) == len(a) and all(t.dtype == "int64" and t.weak and not t.array for t in types)
    if not whole or args or kwargs:
        return call_python(frame, np.prod, (a, *args), kwargs)
    return frame.call(np.int64, (frame.call(math.prod, (a,), {}),), {})


@handles(math.fsum)
def _fsum(frame: Frame, values: Value) -> Value:
    """Of an array, its sum."""
    from stgrad.frontend.calls import call_python

    values = growing.as_array(frame, values) if isinstance(values, Growing) else values
    return frame.call(sum, (values,), {}) if isinstance(values, Sym) else call_python(frame, math.fsum, (values,), {})


@handles(math.dist)
def _dist(frame: Frame, p: Value, q: Value) -> Value:
    """Of two arrays, the norm of their difference."""
    from stgrad.frontend.calls import call_python

    if not isinstance(p, Sym) and not isinstance(q, Sym):
        return call_python(frame, math.dist, (p, q), {})
    p, q = growing.as_array(frame, p), growing.as_array(frame, q)
    difference = operations.binary(frame, gast.Sub, p, q)
    return frame.call(math.sqrt, (frame.call(sum, (operations.binary(frame, gast.Mult, difference, difference),), {}),), {})
