"""Calls: operations with rules are emitted, everything that has source is inlined."""

from __future__ import annotations

import functools
import inspect
import random
import types
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad import source as sources
from stgrad.frontend import builtins, growing, objects, operations, ufuncs
from stgrad.frontend.arrays import call_method
from stgrad.frontend.frame import CALL, MAX_DEPTH, Frame, binding_counts, counters_read_later, evaluates
from stgrad.frontend.library import LIBRARY
from stgrad.frontend.operations import operation
from stgrad.frontend.values import Closure, Growing, Method, Record, Sym, Value, is_number, is_static, leaves, static_of
from stgrad.ir import Type
from stgrad.rules import lookup
from stgrad.rules.core import STATIC
from stgrad.transforms.desugar import desugar

# Options that decide which operation is meant: they must be known at compile time.
_OPTIONS = frozenset(
    {
        "axis",
        "axes",
        "keepdims",
        "dtype",
        "order",
        "ddof",
        "mode",
        "ord",
        "offset",
        "axis1",
        "axis2",
        "full_matrices",
        "compute_uv",
        "subscripts",
        "norm",
        "UPLO",
        "kind",
        "assume_a",
        "lower",
        "trans",
    }
)


@evaluates(gast.Call)
def call_expression(frame: Frame, node: Any) -> Value:
    function = frame.evaluate(node.func)
    args: list[Value] = []
    for arg in node.args:
        if isinstance(arg, gast.Starred):
            items = frame.evaluate(arg.value)
            if not isinstance(items, (tuple, list)):
                frame.unsupported(arg, "`*` needs a tuple or list of known length")
            args.extend(items)
        else:
            args.append(frame.evaluate(arg))
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        value = frame.evaluate(keyword.value)
        kwargs.update(value if keyword.arg is None else {keyword.arg: value})
    try:
        return call(frame, function, tuple(args), kwargs)
    except errors.StgradError as error:
        raise error.at(frame.loc(node)) from error.__cause__


def call(frame: Frame, function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The value of `function(*args, **kwargs)`."""
    if isinstance(function, Closure):
        return inline_closure(frame, function, args, kwargs)
    if isinstance(function, Method):
        return call_method(frame, function, args, kwargs)
    if isinstance(function, Record):
        return (
            objects.special(frame, function, "__call__", args, "cannot be called")
            if not kwargs
            else frame.call(getattr(function.cls, "__call__", None), (function, *args), kwargs)  # noqa: B004
        )
    if isinstance(function, (Sym, tuple, list, dict)) or not callable(function):
        raise errors.UnknownFunctionError("this value cannot be called", frame.builder.loc, reason=f"it is a {type(function).__name__}")
    hook = getattr(type(function), "_stgrad_call_", None)
    if hook is not None:
        return hook(function, frame, args, kwargs)
    handler = builtins.HANDLERS.get(function) if _hashable(function) else None
    if handler is not None:
        return handler(frame, *args, **kwargs)
    return call_python(frame, function, args, kwargs)


CALL.append(call)


def _computed(frame: Frame, function: Any, args: Any, kwargs: Any) -> Value:
    """The result of a call whose arguments are all known."""
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError, IndexError, ArithmeticError) as problem:
        raise errors.TypeInferenceError(f"{type(problem).__name__}: {problem}", frame.builder.loc) from problem


def _hashable(function: Any) -> bool:
    return getattr(type(function), "__hash__", None) is not None


def call_python(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The value of a call of a function from outside the program."""
    if any(isinstance(a, Growing) for a in args) and (lookup(function) is not None or _of_library(function)):
        if function in builtins.SEQUENCES and isinstance(args[0], Growing):
            return _of_rows(frame, function, args[0], static_of((*args[1:], *kwargs.values())))
        args = tuple(growing.as_array(frame, a) if isinstance(a, Growing) else a for a in args)
    body = LIBRARY.get(function) if _hashable(function) else None
    if body is not None:
        return _from_library(frame, body, args, kwargs)
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        return ufuncs.ufunc_method(frame, function, args, kwargs)
    _refuse_random(frame, function)
    rule = lookup(function)
    if rule is not None or isinstance(function, np.ufunc):
        args, kwargs, target = ufuncs.without_target(frame, function, args, kwargs)
        if target is not None:
            return ufuncs.into(frame, function, args, kwargs, target)
        if ufuncs.is_masked(function, kwargs):
            return ufuncs.masked(frame, function, args, kwargs)
        args = _as_arrays(frame, function, args)
    if rule is not None and rule.composite is not None:
        return inline_rule(frame, rule.composite, args, kwargs)
    if rule is not None or isinstance(function, np.ufunc):
        return _call_operation(frame, function, args, kwargs)
    if function in STATIC or _computes(function) or _is_text_method(function):
        known_args, known_kwargs = static_of(tuple(args)), {k: static_of(v) for k, v in kwargs.items()}
        if is_static(known_args) and is_static(known_kwargs):
            return _computed(frame, function, known_args, known_kwargs)
    if isinstance(function, type):
        return _construct(frame, function, args, kwargs)
    if isinstance(function, functools.partial):
        return frame.call(function.func, (*function.args, *args), {**function.keywords, **kwargs})
    if isinstance(function, types.MethodType):
        return frame.call(function.__func__, (function.__self__, *args), kwargs)
    if isinstance(getattr(function, "py_func", None), types.FunctionType):
        return frame.call(function.py_func, args, kwargs)
    if isinstance(function, types.FunctionType):
        return inline_function(frame, function, args, kwargs)
    if isinstance(getattr(type(function), "__call__", None), types.FunctionType):  # noqa: B004
        return frame.call(type(function).__call__, (function, *args), kwargs)
    raise errors.UnknownFunctionError(
        f"`{getattr(function, '__qualname__', function)}` has no derivative rule",
        frame.builder.loc,
        reason="it has no Python source that could be differentiated",
        hint="write a rule for it (docs/extending.md), or use a function listed by `stgrad rules`",
    )


def _from_library(frame: Frame, body: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """Read a function of `stgrad.frontend.library`; what is refused in it is refused where the user called it."""
    try:
        return inline_function(frame, body, args, kwargs, unroll=False)
    except errors.StgradError as error:
        error.loc = frame.builder.loc
        raise


def _refuse_random(frame: Frame, function: Any) -> None:
    """Draws would be made while compiling, once, and be the same in every call."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (np.random.Generator, np.random.RandomState, random.Random)) or function is np.random.default_rng:
        raise errors.UnsupportedSyntaxError(
            "random numbers are drawn inside a compiled function",
            frame.builder.loc,
            reason="they would be drawn once, while it is compiled",
            hint="draw them outside and pass the array in",
        )


_TRANSFORMS = ("stgrad.api",)  # `stgrad.grad(f)` in a function is made at compile time


def _computes(function: Any) -> bool:
    """Functions of NumPy and the standard library that only look at static values."""
    module = getattr(function, "__module__", "") or ""
    return module in _TRANSFORMS or module.split(".")[0] in ("numpy", "math", "operator", "builtins", "itertools") and not isinstance(function, type)


def _is_text_method(function: Any) -> bool:
    """A method of a string or another plain value that is known: `mode.startswith("a")`."""
    return isinstance(getattr(function, "__self__", None), (str, bytes, int, float, complex, range)) and isinstance(function, types.BuiltinFunctionType)


def _of_library(function: Any) -> bool:
    return isinstance(function, np.ufunc) or (getattr(function, "__module__", "") or "").split(".")[0] in ("numpy", "scipy", "math")


def _call_operation(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    args, kwargs = _canonical(frame, function, args, kwargs)
    known = static_of(tuple(args))
    if is_static(known) and is_static(static_of(tuple(kwargs.values()))) and not any(isinstance(a, (list, np.ndarray)) for a in known):
        result = function(*known, **{k: static_of(v) for k, v in kwargs.items()})
        if is_number(result) or isinstance(result, (tuple, str, bool)) and not _has_arrays(result):
            return result
    for name, value in kwargs.items():
        if name in _OPTIONS and not is_static(static_of(value)):
            raise errors.NeedStaticError(f"`{name}` must be known at compile time", frame.builder.loc)
    return operation(frame, function, _as_arrays(frame, function, args), kwargs)


operations.CANONICAL.append(_call_operation)


def _has_arrays(value: Any) -> bool:
    return any(isinstance(v, np.ndarray) for v in value) if isinstance(value, tuple) else False


# Parameters of NumPy's functions that are arrays: a list or tuple of numbers given for one is an array.
_ARRAYS = frozenset(
    "a b x y v m f p q u z xp fp x1 x2 arr array ary A M condition weights indices a_min a_max min max val values h wts c r".split()
)


def _as_arrays(frame: Frame, function: Any, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """Lists of numbers where an array is meant: `np.sum([a, b])`, `np.dot(x, (1.0, 2.0))`."""
    if function in builtins.SEQUENCES:
        if function is np.block or not args or not isinstance(args[0], (tuple, list)):
            return args
        return (type(args[0])(_array_of(frame, a) for a in args[0]), *args[1:])
    if function in _TAKES_STRUCTURE or getattr(function, "__module__", "").split(".")[0] not in ("numpy", "scipy"):
        return args
    if isinstance(function, np.ufunc) or function is np.where:
        return tuple(_array_of(frame, a) for a in args)
    if function is np.einsum:
        return (args[0], *(_array_of(frame, a) for a in args[1:]))
    signature = _signature(function)
    if signature is None:
        return (_array_of(frame, args[0]), *args[1:]) if args and isinstance(args[0], list) else args
    named = [p.name if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) else "" for p in signature.parameters.values()]
    return tuple(_array_of(frame, a) if n in _ARRAYS else a for a, n in zip_longest(args, named[: len(args)]))


_TAKES_STRUCTURE = frozenset({np.broadcast_shapes, np.unravel_index, np.ravel_multi_index, np.linalg.multi_dot, np.select})


def _array_of(frame: Frame, value: Value) -> Value:
    """A list or tuple of numbers as an array; anything else as it is."""
    if isinstance(value, np.ndarray):
        return frame.call(np.array, (value,), {})
    if not isinstance(value, (list, tuple)) or hasattr(value, "_fields"):
        return value
    items = list(leaves(value))
    return frame.call(np.array, (value,), {}) if items and all(isinstance(v, Sym) or is_number(v) for v in items) else value


def _of_rows(frame: Frame, function: Any, rows: Growing, options: tuple[Value, ...]) -> Value:
    """`np.stack`, `np.concatenate`... of a growing list of arrays, which are the rows of one array."""
    array = growing.as_array(frame, rows)
    plain = options in ((), (0,)) and isinstance(array, Sym)
    if plain and (function is np.stack or function is np.vstack and array.type.rank == 2):
        return frame.call(np.copy, (array,), {})
    if plain and function in (np.concatenate, np.hstack) and array.type.rank == 2:
        return frame.call(np.copy, (frame.call(np.ravel, (array,), {}),), {})
    if plain and function is np.column_stack and array.type.rank == 2:
        return frame.call(np.copy, (frame.call(np.transpose, (array,), {}),), {})
    raise errors.UnsupportedSyntaxError(
        f"`np.{function.__name__}` of a list that grows in a loop is not supported here", frame.builder.loc, hint="use np.array(...) of the list"
    )


@lru_cache(maxsize=1024)
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _canonical(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
    """Arguments as the operation names them: options by keyword, the rest by position."""
    signature = None if isinstance(function, np.ufunc) else _signature(function)
    if signature is None or any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        return args, dict(kwargs)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as problem:
        raise errors.TypeInferenceError(str(problem), frame.builder.loc) from None
    for name, value in bound.arguments.items():
        if name in _OPTIONS and not is_static(static_of(value)):
            raise errors.NeedStaticError(f"`{name}` must be known at compile time", frame.builder.loc)
    return _ordered(signature, bound)


def _ordered(signature: inspect.Signature, bound: inspect.BoundArguments) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """Arguments by position as far as values of the running program go, options by keyword behind them."""
    parameters = list(signature.parameters.values())
    given = bound.arguments
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    last = max((i for i, p in enumerate(by_position) if p.name in given and not is_static(static_of(given[p.name]))), default=-1)
    positional: list[Value] = []
    for i, p in enumerate(by_position):
        plain = p.name in given and (p.name not in _OPTIONS or p.kind is p.POSITIONAL_ONLY)
        if (i > last and not plain) or (p.name not in given and not _fills(p.default)):
            break
        positional.append(given.get(p.name, p.default))
    named = {p.name: given[p.name] for p in by_position[len(positional) :] if p.name in given}
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and p.name in given:
            named[p.name] = given[p.name]
        elif p.kind is p.VAR_KEYWORD:
            named.update(given.get(p.name, {}))
    return tuple(positional), named


def _fills(default: Any) -> bool:
    """Whether a default can be written out: None, a number, a string, but no mark for "not given"."""
    return default is None or isinstance(default, (bool, int, float, str, tuple))


def _construct(frame: Frame, cls: type, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`Cls(...)`: a NumPy scalar type is a cast, a NamedTuple a tuple."""
    if issubclass(cls, np.generic):
        (value,) = args
        if is_static(static_of(value)) and not isinstance(value, (list, tuple)):
            return cls(static_of(value))
        if isinstance(value, Sym) and value.type.rank:
            return frame.call(Method(value, "astype"), (cls,), {})
        return frame.builder.call("cast", (value, str(np.dtype(cls))), Type(str(np.dtype(cls))))
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return cls(*args, **kwargs)
    if objects.constructible(cls):
        return objects.construct(frame, cls, args, kwargs)
    raise errors.UnknownFunctionError(
        f"making a `{cls.__name__}` inside a differentiated function is not supported", frame.builder.loc, hint="pass the object in, or use a tuple"
    )


# --------------------------------------------------------------------------- inlining


_DESUGARED: dict[Any, Any] = {}


def desugared(source: sources.Source) -> Any:
    """The core-language tree of a source, kept."""
    key = id(source.tree)
    if key not in _DESUGARED:
        _DESUGARED[key] = (source.tree, desugar(source.tree, source.loc))
    return _DESUGARED[key][1]


def inline_function(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value], *, unroll: bool | None = None) -> Value:
    """Read a Python function in place of its call."""
    source = sources.load(function)
    defaults = function.__defaults__ or ()
    kw_defaults = function.__kwdefaults__ or {}
    tree = desugared(source)
    kws = tuple(kw_defaults.get(a.id) for a in tree.args.kwonlyargs)
    unroll = frame.unroll if unroll is None else unroll
    return _inline(frame, tree, source, None, (defaults, kws, set(kw_defaults)), args, kwargs, unroll)


def inline_rule(frame: Frame, rule: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """Read a rule or a composite: loops over known ranges are unrolled, its globals are not guarded."""
    return inline_function(frame, rule, args, kwargs, unroll=True)


def inline_closure(frame: Frame, function: Closure, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    owner = function.frame
    given = {a.id for a, d in zip(function.tree.args.kwonlyargs, function.tree.args.kw_defaults, strict=True) if d is not None}
    defaults = (function.defaults, function.kw_defaults, given)
    return _inline(frame, function.tree, owner.source, owner, defaults, args, kwargs, owner.unroll)


def _inline(frame: Frame, tree: Any, source: Any, parent: Frame | None, defaults: Any, args: Any, kwargs: Any, unroll: bool) -> Value:
    if frame.depth >= MAX_DEPTH:
        raise _too_deep(frame, tree)
    inner = Frame(frame.builder, source, {}, parent, binding_counts(tree), frame.depth + 1, unroll, None, frame.captured, set(), counters_read_later(tree))
    try:
        with inner.active():
            bind_arguments(inner, tree, defaults, args, kwargs)
            inner.execute(tree.body)
    except RecursionError:
        raise _too_deep(frame, tree) from None
    return inner.result


def _too_deep(frame: Frame, tree: Any) -> errors.NeedStaticError:
    return errors.NeedStaticError(  # with the integers among the arguments compiled in, it may end
        f"`{tree.name}` calls itself too deeply",
        frame.builder.loc,
        reason="recursion is followed at compile time, and this one does not end there",
        hint="write the recursion as a loop",
    )


def bind_arguments(frame: Frame, tree: Any, defaults: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    """Bind the parameters of a function as Python does."""
    positional_defaults, kw_defaults, with_default = defaults
    spec, env, rest = tree.args, frame.env, dict(kwargs)
    names = [a.id for a in (*spec.posonlyargs, *spec.args)]
    for name, value in zip(names, args, strict=False):
        if name in rest:
            _bad_call(frame, tree, f"got multiple values for `{name}`")
        env[name] = value
    if len(args) > len(names):
        if spec.vararg is None:
            _bad_call(frame, tree, f"takes {len(names)} arguments, but {len(args)} were given")
        env[spec.vararg.id] = tuple(args[len(names) :])
    elif spec.vararg is not None:
        env[spec.vararg.id] = ()
    first_default = len(names) - len(positional_defaults)
    for i, name in enumerate(names[len(args) :], start=len(args)):
        if name in rest:
            env[name] = rest.pop(name)
        elif i >= first_default:
            env[name] = positional_defaults[i - first_default]
        else:
            _bad_call(frame, tree, f"misses the argument `{name}`")
    for arg, default in zip(spec.kwonlyargs, kw_defaults, strict=True):
        if arg.id not in rest and arg.id not in with_default:
            _bad_call(frame, tree, f"misses the keyword argument `{arg.id}`")
        env[arg.id] = rest.pop(arg.id, default)
    if spec.kwarg is not None:
        env[spec.kwarg.id] = rest
    elif rest:
        _bad_call(frame, tree, f"got an unexpected keyword argument `{next(iter(rest))}`")


def _bad_call(frame: Frame, tree: Any, problem: str) -> None:
    raise errors.TypeInferenceError(f"`{tree.name}` {problem}", frame.builder.loc)
