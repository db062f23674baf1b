"""Calls of what is written in Python, and of classes: each is read at its call."""

from __future__ import annotations

import datetime
import enum
import functools
import operator
import types
from typing import Any, NoReturn

import numpy as np

from stgrad import errors
from stgrad.contents import holds_arrays
from stgrad.frontend import exceptions, iterators, objects
from stgrad.frontend.constant_calls import computed, read_or_run
from stgrad.frontend.elementwise_calls import call_compiled_ufunc, is_compiled_ufunc, options_of
from stgrad.frontend.frame import Frame
from stgrad.frontend.inlining import inline_function
from stgrad.frontend.joins import MOST
from stgrad.frontend.text import UNKNOWN, RunTimeText
from stgrad.frontend.values import Chosen, Growing, Method, Record, Sym, Value, is_number, is_static, static_of
from stgrad.ir import Type
from stgrad.lookups import called, look
from stgrad.source import is_dispatcher

DATES = (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo)  # known values, like texts
_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def call_source(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The value of a call of what is written in Python."""
    if function is object.__init__:
        return None
    if function in (np.finfo, np.iinfo, *_GETTERS) or isinstance(function, type) and function.__name__ == "__array_namespace_info__":
        return function(*static_of(args), **static_of(kwargs))
    if isinstance(getattr(function, "__self__", None), np.generic) and is_static(static_of((*args, *kwargs.values()))):  # `(np.float64(2) < 3).any()`
        return computed(frame, function, static_of(args), {k: static_of(v) for k, v in kwargs.items()})
    if isinstance(function, _GETTERS):
        return iterators.getter(frame, function, args)
    if isinstance(function, functools._lru_cache_wrapper):  # other objects with a `__wrapped__` may do anything with it
        return frame.call(frame.look("attribute", function, "__wrapped__"), args, kwargs)
    if isinstance(function, np.vectorize):
        return frame.call(frame.call(np.vectorize, (frame.look("attribute", function, "pyfunc"),), options_of(function)), args, kwargs)
    if is_compiled_ufunc(function):
        return call_compiled_ufunc(frame, function, args, kwargs)
    if isinstance(function, type):
        return construct(frame, function, args, kwargs)
    if isinstance(function, functools.partial):
        held, inner, named = (frame.look("attribute", function, name) for name in ("args", "func", "keywords"))
        return frame.call(inner, (*held, *args), {**named, **kwargs})
    if isinstance(function, types.MethodType):
        return _call_method(frame, function, args, kwargs)
    if isinstance(function, types.MethodDescriptorType) and args and isinstance(args[0], (Sym, list, dict, Growing)):  # `np.ndarray.sum(x)`
        return frame.call(Method(args[0], function.__name__), args[1:], kwargs)
    if is_dispatcher(function):
        frame.builder.compiled += 1
        try:
            return frame.call(frame.look("attribute", function, "py_func"), args, kwargs)
        finally:
            frame.builder.compiled -= 1
    if args and isinstance(args[0], Record) and (cls := objects.with_generated_init(args[0], function)) is not None:
        return objects.fill(frame, args[0], cls, args[1:], kwargs)
    if isinstance(function, types.FunctionType):
        return read_or_run(frame, function, args, kwargs, lambda: inline_function(frame, function, args, kwargs))
    if isinstance(getattr(type(function), "__call__", None), types.FunctionType):  # noqa: B004
        return frame.call(look("raw", look("class", function), "__call__"), (function, *args), kwargs)
    _refuse_native(frame, function, args, kwargs)


def _refuse_native(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> NoReturn:
    """Refuse what has neither a rule nor Python code."""
    moving = [a for a in args if not is_static(static_of(a))]
    if moving and not kwargs and all(isinstance(a, Sym) and a.type.weak and a.type.dtype in ("int64", "bool") for a in moving):
        name = getattr(function, "__name__", "a function")
        raise errors.NeedStaticError(f"`{name}` needs integers that are known at compile time", frame.builder.loc)
    raise errors.UnknownFunctionError(
        f"`{getattr(function, '__qualname__', function)}` has no derivative rule",
        frame.builder.loc,
        reason="it has no Python source that could be differentiated",
        hint="write a rule for it (`stgrad help extending`), or use a function listed by `stgrad rules`",
    )


def _call_method(frame: Frame, function: types.MethodType, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A method of an object from outside."""
    if isinstance(function.__self__, BaseException) and function.__name__ in ("__str__", "__repr__"):  # what its class keeps for that was not made
        return RunTimeText(UNKNOWN)
    owner = frame.look("attribute", function, "__self__") if holds_arrays(function.__self__) else function.__self__
    return frame.call(function.__func__, (owner, *args), kwargs)


def place_among(values: Any, wanted: Any) -> Any:
    """Which of the values of an enumeration's members a number is."""
    for k in range(len(values)):
        if values[k] == wanted:
            return k
    raise ValueError("the number is not the value of a member")


def _member(frame: Frame, cls: type, value: Sym) -> Value:
    """The member whose value is a number of the program."""
    members = called(tuple, cls)
    if len(members) > MOST or not all(is_number(m.value) for m in members):
        hint = f"an enumeration of up to {MOST} numbers can be used so"
        raise errors.UnsupportedSyntaxError(f"a member of `{cls.__name__}` that the program computes is not supported", frame.builder.loc, hint=hint)
    frame.builder.chosen = True
    error = errors.TypeInferenceError(f"a member of `{cls.__name__}` that the program computes is no number", frame.builder.loc, hint="use its `value`")
    return Chosen(frame.keep(frame.call(place_among, ([m.value for m in members], value), {})), members, error)


def construct(frame: Frame, cls: type, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`Cls(...)`: a NumPy scalar type is a cast, a NamedTuple a tuple."""
    if issubclass(cls, np.generic):
        if np.dtype(cls).kind not in "biufc":
            raise errors.UnsupportedSyntaxError(f"values of `{cls.__name__}` are not supported", frame.builder.loc, hint="pass them in as numbers")
        (value,) = args or (0,)  # `np.float64()` is zero
        if is_static(static_of(value)) and not isinstance(value, (list, tuple)):
            return cls(static_of(value))
        if isinstance(value, Sym) and value.type.rank:
            return frame.call(Method(value, "astype"), (cls,), {})
        if np.dtype(cls) == np.int64 and isinstance(value, Sym) and value.type.dtype == "int64":
            return frame.builder.call("np.int64", (value,), Type("int64", value=value.type.value))
        return frame.builder.call("cast", (value, str(np.dtype(cls))), Type(str(np.dtype(cls))))
    if issubclass(cls, Exception):
        known = tuple(a if is_static(a) else RunTimeText(UNKNOWN) for a in map(static_of, args))  # what an exception or a warning says is not computed
        return exceptions.made(cls, known)
    if issubclass(cls, (enum.Enum, np.dtype, *DATES)) and is_static(static_of((args, kwargs))):  # a member that has a value
        return computed(frame, cls, static_of(args), static_of(kwargs))
    if issubclass(cls, enum.Enum) and len(args) == 1 and isinstance(args[0], Sym) and not args[0].type.rank and not kwargs:
        return _member(frame, cls, args[0])
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        objects.check_tuple(frame, cls)
        new = look("raw", cls, "__new__")
        if isinstance(new, staticmethod):
            look("attribute", new.__func__, "__defaults__")
        try:
            made = cls(*args, **kwargs)
        except (AttributeError, TypeError) as error:  # a `__new__` of its own, which looks at the items
            raise errors.TypeInferenceError(f"a `{cls.__name__}` cannot be made: {error}", frame.builder.loc, hint="use a plain tuple") from None
        return made
    if objects.constructible(cls):
        return objects.construct(frame, cls, args, kwargs)
    raise errors.UnknownFunctionError(
        f"making a `{cls.__name__}` inside a differentiated function is not supported", frame.builder.loc, hint="pass the object in, or use a tuple"
    )
