"""The arguments of a call of NumPy or SciPy, as the operation names them."""

from __future__ import annotations

import inspect
import types
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.builtins import SEQUENCES
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Record, Sym, Value, is_number, is_static, leaves, static_of
from stgrad.lookups import ABSENT, LIBRARIES, look, root_of

# Options that decide which operation is meant: they must be known at compile time.
OPTIONS = frozenset(
    "axis axes keepdims dtype order ddof mode ord axis1 axis2 full_matrices compute_uv subscripts norm UPLO kind assume_a lower trans".split()
)
# Parameters of NumPy's functions that are arrays: a list or tuple of numbers given for one is an array.
_ARRAYS = frozenset(
    "a b x y v m f p q u z xp fp x1 x2 arr array ary A M condition weights indices a_min a_max min max val values h wts c r n k".split()
)


def as_arrays(frame: Frame, function: Any, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """Lists of numbers where an array is meant: `np.sum([a, b])`, `np.dot(x, (1.0, 2.0))`."""
    if function in SEQUENCES:
        if function is np.block or not args or not isinstance(args[0], (tuple, list)):
            return args
        return (type(args[0])(array_of(frame, a) for a in args[0]), *args[1:])
    if function in _TAKES_STRUCTURE or getattr(function, "__module__", "").split(".")[0] not in ("numpy", "scipy"):
        return args
    if isinstance(function, np.ufunc) or function in (np.where, np.meshgrid, np.broadcast_arrays):
        return tuple(array_of(frame, a) for a in args)
    if function is np.einsum:
        return (args[0], *(array_of(frame, a) for a in args[1:]))
    signature = _signature(function)
    if signature is None:
        return (array_of(frame, args[0]), *args[1:]) if args and isinstance(args[0], list) else args
    named = [p.name if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) else "" for p in signature.parameters.values()]
    return tuple(array_of(frame, a) if n in _ARRAYS else a for a, n in zip_longest(args, named[: len(args)]))


def as_named(frame: Frame, function: Any, handler: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The arguments as what reads a function takes them: it may have other names for those that can be given by position."""
    taken = _taken_by(handler)
    if not _binds(taken, args, kwargs):
        names = _by_position(function)
        args, kwargs = tuple(args), dict(kwargs)
        while len(args) < len(names) and names[len(args)] in kwargs:
            args = (*args, kwargs.pop(names[len(args)]))
        if not _binds(taken, args, kwargs):
            name = getattr(function, "__name__", "this function")
            given = ", ".join(kwargs) or "as many arguments"
            raise errors.TypeInferenceError(f"`{name}` with {given} is not supported", frame.builder.loc, hint="leave them out, or write what it does")
    return args, kwargs


def _binds(signature: inspect.Signature, args: tuple[Value, ...], kwargs: dict[str, Value]) -> bool:
    try:
        signature.bind(None, *args, **kwargs)
    except TypeError:
        return False
    return True


@lru_cache(maxsize=1024)
def _taken_by(handler: Any) -> inspect.Signature:
    return inspect.signature(handler)


@lru_cache(maxsize=1024)
def _by_position(function: Any) -> tuple[str, ...]:
    """The names of the arguments of a function that can be given by position, as far as it tells."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def as_floats(frame: Frame, function: Any, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """Integers as NumPy and SciPy factorise them: as floats."""
    if getattr(function, "__name__", "") not in _FACTORISE or not (getattr(function, "__module__", "") or "").startswith(("numpy.linalg", "scipy.linalg")):
        return args
    whole = [isinstance(a, Sym) and a.type.array and a.type.rank > 0 and np.dtype(a.type.dtype).kind in "iub" for a in args]
    return tuple(frame.call(np.astype, (a, np.float64), {}) if w else a for a, w in zip(args, whole, strict=True))


_FACTORISE = frozenset(
    "inv solve det slogdet eig eigh eigvals eigvalsh svd svdvals pinv lstsq qr cholesky cond tensorsolve tensorinv lu lu_factor ldl expm logm sqrtm schur "
    "solve_triangular solve_banded solveh_banded cho_factor cho_solve solve_toeplitz polar null_space orth".split()
)


_POSITIONS: dict[Any, tuple[str, int]] = {
    np.take: ("indices", 1), np.put: ("ind", 1), np.bincount: ("x", 0), np.choose: ("a", 0), np.repeat: ("repeats", 1), np.unravel_index: ("indices", 0),
    np.tile: ("reps", 1),
}  # fmt: skip


def positions_counted(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """Truth values that are given for positions or counts as 0 and 1: as an index they would be a mask, here and in the rules."""
    name, at = _POSITIONS[function]
    given = kwargs.get(name, args[at] if len(args) > at else None)
    if not (isinstance(given, Sym) and given.type.dtype == "bool"):
        return args, kwargs
    given = frame.call(np.astype, (given, np.int64), {}) if given.type.array else frame.call(int, (given,), {})
    return (args, {**kwargs, name: given}) if name in kwargs else ((*args[:at], given, *args[at + 1 :]), kwargs)


def counts_positions(function: Any) -> bool:
    return function in _POSITIONS


def named_arrays(frame: Frame, function: Any, kwargs: dict[str, Value]) -> dict[str, Value]:
    """The same of arguments that are given by name: `logsumexp(a=[x, y], b=[0.5, -0.5])`."""
    if function in SEQUENCES or function in _TAKES_STRUCTURE or getattr(function, "__module__", "").split(".")[0] not in ("numpy", "scipy"):
        return kwargs
    return {k: array_of(frame, v) if k in _ARRAYS else v for k, v in kwargs.items()}


_TAKES_STRUCTURE = frozenset({np.broadcast_shapes, np.unravel_index, np.ravel_multi_index, np.linalg.multi_dot, np.select})


def array_of(frame: Frame, value: Value) -> Value:
    """A list or tuple of numbers as an array, and an instance that says what it is as one; anything else as it is."""
    if isinstance(value, np.ndarray) or type(value).__name__ == "Range" or isinstance(value, Record) and _is_array_like(value.cls):
        return frame.call(np.array, (value,), {})
    if not isinstance(value, (list, tuple)) or hasattr(value, "_fields"):
        return value
    items = list(leaves(value))
    return frame.call(np.array, (value,), {}) if items and all(isinstance(v, Sym) or is_number(v) for v in items) else value


def array_inside(frame: Frame, value: Value) -> Value:
    """The array that an instance from outside of the program says it is; to a function of NumPy's its items and its length say nothing."""
    cls = type(value)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "V" or isinstance(value, dict):
        what = "a dict" if isinstance(value, dict) else "an array of records"
        raise errors.TypeInferenceError(f"{what} is no array of numbers", frame.builder.loc, hint="pass its items")
    if isinstance(value, (Sym, Record, np.ndarray, np.generic, type)) or root_of(cls) in ("builtins", "stgrad"):
        return value
    if root_of(cls) in LIBRARIES and not hasattr(cls, "__array__") or not _is_array_like(cls):  # what libraries' classes lack does not come
        return value
    method = look("raw", cls, "__array__")
    return frame.call(types.MethodType(method, value), (), {}) if isinstance(method, types.FunctionType) else value


def _is_array_like(cls: type) -> bool:
    """Whether NumPy's functions ask instances for their `__array__`: others bring functions of their own."""
    return look("raw", cls, "__array__") is not ABSENT and look("raw", cls, "__array_ufunc__") is ABSENT and look("raw", cls, "__array_function__") is ABSENT


@lru_cache(maxsize=1024)
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def canonical(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
    """Arguments as the operation names them: options by keyword, the rest by position."""
    signature = None if isinstance(function, np.ufunc) else _signature(function)
    if function is np.arange and ("start" in kwargs or "stop" in kwargs and not args):  # its first argument has two names
        kwargs = dict(kwargs)
        args = (kwargs.pop("start" if "start" in kwargs else "stop"), *args)
    if function is np.arange and len(args) > 1 - ("stop" in kwargs) and static_of(args[1] if len(args) > 1 else kwargs["stop"]) is None:
        args, kwargs = (0, args[0], *args[2:]), {k: v for k, v in kwargs.items() if k != "stop"}  # without an end, the first number is the end
    if isinstance(said := static_of(kwargs.get("dtype")), (str, np.dtype)) and np.dtype(said).isnative and np.dtype(said).kind in "fciub":
        kwargs = kwargs | {"dtype": np.dtype(said).type}  # "d" and np.dtype(float) are np.float64
    if signature is None or any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        return args, dict(kwargs)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as problem:
        raise errors.TypeInferenceError(str(problem), frame.builder.loc) from None
    for name, value in bound.arguments.items():
        if name in OPTIONS and not is_static(static_of(value)):
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
        plain = p.name in given and (p.name not in OPTIONS or p.kind is p.POSITIONAL_ONLY)
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
