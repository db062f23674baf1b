"""SciPy's sparse matrices in programs: what is known is computed by SciPy, the rest is read as programs of `stgrad.frontend.sparse_arrays`.

    L @ u       L from outside      ->   Rows(shape, data, indices, indptr) @ u, with the arrays that L has at each call
    diags(...)  of known numbers    ->   SciPy's own, made while the program is read
    diags(...)  of values           ->   Diagonals(...)

The classes are imported where a program meets such a matrix: they need `scipy.sparse`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Closure, Record, Value, is_static, leaves, map_leaves, static_of
from stgrad.lookups import called
from stgrad.source import module_of

_MODULE = "scipy.sparse"
_CHANGING = frozenset(
    "setdiag resize sum_duplicates sort_indices eliminate_zeros prune set_shape __setitem__ update pop popitem clear setdefault".split()
)
_FILLED = ("lil_", "dok_")  # that programs make empty, and fill
_DRAWN, _FILES = ("random", "rand", "random_array"), ("load_npz", "save_npz")


def is_sparse(value: Any) -> bool:
    """Whether a value is one of SciPy's sparse matrices."""
    return isinstance(getattr(type(value), "format", None), property | str) and type(value).__module__.startswith(_MODULE)


def stands_for_one(value: Any) -> bool:
    """Whether a value is one that the program made."""
    return isinstance(value, Record) and value.cls.__module__ == "stgrad.frontend.sparse_layouts"


def record_of(frame: Frame, value: Value) -> Value:
    """What stands for a sparse matrix in a program; other values as they are."""
    if not is_sparse(value):
        return value
    classes, parts_of = _layouts().CLASSES, _basics().PARTS
    matrix = not type(value).__name__.endswith("_array")
    layout = frame.look("attribute", value, "format")
    if layout not in ("csr", "csc", "coo", "dia"):
        return record_of(frame, called(type(value).tocsr, value))
    shape = frame.look("attribute", value, "shape")
    if len(shape) != 2:
        raise errors.UnsupportedSyntaxError("sparse arrays of one axis are not supported", frame.builder.loc, hint="use one of two axes")
    parts = {name: frame.look("attribute", value, name) for name in parts_of[layout]}
    return Record(classes[layout, matrix], {"shape": shape, **parts})


def _layouts() -> Any:
    return importlib.import_module("stgrad.frontend.sparse_layouts")


def _basics() -> Any:
    return importlib.import_module("stgrad.frontend.sparse_basics")


def _functions() -> Any:
    return importlib.import_module("stgrad.frontend.sparse_functions")


def operands(frame: Frame, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The operands of an operator, with what stands for a sparse matrix where not all is known."""
    if not any(map(is_sparse, values)) or is_static(values):
        return values
    return tuple(record_of(frame, v) for v in values)


# --------------------------------------------------------------------------- calls


def meaning(function: Any) -> Callable[..., Value] | None:
    """The handler of functions and classes of `scipy.sparse`, and of methods of its matrices; None for other functions, and methods of other objects."""
    if isinstance(function, MethodType) and is_sparse(function.__self__):
        return lambda frame, *args, **kwargs: _method(frame, function, args, kwargs)
    if type(getattr(function, "__self__", None)).__name__ == "SuperLU" and function.__name__ == "solve":
        return lambda frame, *args, **kwargs: frame.call(_functions().inverse_times, (function.__self__, *args), kwargs)
    module, name = module_of(function), getattr(function, "__name__", None)
    if isinstance(function, MethodType) or not isinstance(name, str):
        return None
    if not module.startswith(_MODULE) or module.startswith(f"{_MODULE}.csgraph"):
        return None
    return lambda frame, *args, **kwargs: _function(frame, function, args, kwargs)


def _method(frame: Frame, function: MethodType, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`L.dot(u)`, `L.tocsc()` of a matrix from outside."""
    if function.__name__ in _CHANGING:
        raise errors.UnsupportedSyntaxError(
            f"`{function.__name__}` changes a sparse matrix from outside, or one of known numbers",
            frame.builder.loc,
            hint="call it before, and capture the result",
        )
    known = _known(args, kwargs)
    if known is not None:
        return _made(frame, function, *known)
    owner = record_of(frame, frame.look("attribute", function, "__self__"))
    if not hasattr(owner.cls, function.__name__):
        raise _unsupported(frame, f"`{function.__name__}` of a sparse matrix")
    return frame.call(getattr(owner.cls, function.__name__), (owner, *args), kwargs)


def _function(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`sparse.diags(...)`, `spsolve(A, b)`, `csr_matrix(...)`."""
    name = function.__name__
    _check_settled(frame, name, kwargs)
    known = None if name[:4] in _FILLED else _known(args, kwargs)
    if known is not None:
        return _made(frame, function, *known)
    body = _functions().BODIES.get(name)
    if body is not None:
        return frame.call(body, args, kwargs)
    if any(is_sparse(v) or stands_for_one(v) for v in (*args, *kwargs.values())):
        raise _unsupported(frame, f"`{name}` of `scipy.sparse`")
    from stgrad.frontend.source_calls import call_source

    return call_source(frame, function, args, kwargs)


def _check_settled(frame: Frame, name: str, kwargs: dict[str, Value]) -> None:
    """Refuse what gives another matrix at each call, or depends on more than its arguments."""
    seed = next((static_of(kwargs[k]) for k in ("random_state", "rng", "seed") if k in kwargs), None)
    if name in _FILES or name in _DRAWN and type(seed) is not int:
        raise errors.UnsupportedSyntaxError(
            f"`{name}` of `scipy.sparse` inside a differentiated function",
            frame.builder.loc,
            reason="what it gives is not settled by its arguments",
            hint="call it outside, or give `random_state` a number" if name in _DRAWN else "call it outside, and capture the matrix",
        )


def _known(args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[tuple[Value, ...], dict[str, Value]] | None:
    """The arguments, where all are known."""
    args, kwargs = static_of(tuple(args)), {k: static_of(v) for k, v in kwargs.items()}
    known = is_static(args) and is_static(kwargs) and not any(isinstance(leaf, Closure) for leaf in leaves((args, kwargs)))
    return (args, kwargs) if known else None


def _made(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """What SciPy computes while the program is read."""
    from stgrad.frontend.source_calls import computed

    try:
        found = computed(frame, function, args, kwargs)
    except (RuntimeError, NotImplementedError) as problem:  # of a singular matrix, or what SciPy does not do
        raise errors.TypeInferenceError(f"{type(problem).__name__}: {problem}", frame.builder.loc) from problem
    return map_leaves(lambda leaf, _: frame.call(np.array, (leaf,), {}) if type(leaf) is np.ndarray else leaf, found)


def _unsupported(frame: Frame, what: str) -> errors.StgradError:
    return errors.UnknownFunctionError(
        f"{what} has no derivative rule", frame.builder.loc, hint="write it with the entries (`tocoo()`: row, col, data), or of `toarray()`"
    )


__all__ = ["is_sparse", "meaning", "operands", "record_of", "stands_for_one"]
