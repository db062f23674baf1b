"""Functions that are called once for each element, or for each row: `np.vectorize`, `numba.vectorize`, `numba.guvectorize`.

Their bodies are written for one element. Here they are read so, in a loop over the elements of the broadcast arguments, with the
dtypes that their signatures give them:

    y = f(a, b)                 ->      y = np.zeros(n, dtype)
                                        for k in range(n): y[k] = f(a[k], b[k])
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import library
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import State
from stgrad.frontend.values import Sym, Value, is_number, type_of
from stgrad.ir import Type

_MADE_BY_NUMBA = {"DUFunc": "vectorize", "GUFunc": "guvectorize"}
_NO_LOOP = "no signature of it takes these arguments"


def is_compiled_ufunc(function: Any) -> bool:
    """Whether it is what `numba.vectorize` or `numba.guvectorize` makes."""
    return type(function).__name__ in _MADE_BY_NUMBA and type(function).__module__.startswith("numba.np.ufunc.")


def python_function_of(function: Any) -> Any:
    """The function behind what `np.frompyfunc` made, which only its garbage collector tells; None for NumPy's own ufuncs."""
    if not isinstance(function, np.ufunc) or not function.types or set(function.types[0]) - {"O", "-", ">"} or len(function.types) > 1:
        return None
    return next((f for f in gc.get_referents(function) if callable(f)), None)


def call_compiled_ufunc(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`function(*args)` for a function that `numba.vectorize` or `numba.guvectorize` made."""
    kind = _MADE_BY_NUMBA[type(function).__name__]
    if kwargs:
        raise errors.UnsupportedSyntaxError(f"`numba.{kind}` with keyword arguments is not supported", frame.builder.loc, hint="assign the result instead")
    if kind == "guvectorize":
        return _by_rows(frame, function, args)
    given = tuple(args[: function.nin])
    dtypes = _loop(frame, function, given)
    if dtypes is not None:
        given = tuple(_cast(frame, a, d) for a, d in zip(given, dtypes, strict=False))
    result = over_elements(frame, function._dispatcher.py_func, given, None if dtypes is None else dtypes[-1])
    return result if len(args) == len(given) else _written(frame, args[-1], result)


def over_elements(frame: Frame, function: Any, args: tuple[Value, ...], dtype: str | None = None) -> Value:
    """The results of one call for each element of the broadcast arguments; `dtype` that of the elements, where it is not what a call gives."""
    if not any(_is_array(a) for a in args):
        return _cast(frame, frame.call(function, args, {}), dtype or _element_type(frame, function, args))
    dtype = dtype or _element_type(frame, function, args)
    return frame.call(library.vectorized, (function, np.dtype(dtype), *args), {})


def _is_array(value: Value) -> bool:
    return isinstance(value, (list, np.ndarray)) or isinstance(value, Sym) and value.type.array


def _element_type(frame: Frame, function: Any, args: Sequence[Value]) -> str:
    """The dtype of one call's result: the function is read on elements, and what that wrote is taken back."""
    state = State(frame)
    with frame.builder.block():
        elements = tuple(frame.builder.variable("_t", Type(type_of(_as_array(frame, a)).dtype)) if _is_array(a) else a for a in args)
        result = frame.call(function, elements, {})
    state.restore()
    if not (isinstance(result, Sym) and not result.type.rank or is_number(result)):
        raise errors.TypeInferenceError("a function of elements must return one number", frame.builder.loc, hint="write a loop")
    return type_of(result).dtype


def _as_array(frame: Frame, value: Value) -> Value:
    return value if isinstance(value, Sym) else frame.call(np.asarray, (value,), {})


def _cast(frame: Frame, value: Value, dtype: str) -> Value:
    """A value as a NumPy scalar or array of a dtype."""
    if _is_array(value):
        value = _as_array(frame, value)
        return value if value.type.dtype == dtype else frame.call(np.astype, (value, np.dtype(dtype)), {})
    return frame.call(np.dtype(dtype).type, (value,), {})


def _written(frame: Frame, target: Value, result: Value) -> Value:
    frame.call(np.copyto, (target, result), {})
    return target


def _loop(frame: Frame, function: Any, args: Sequence[Value]) -> list[str] | None:
    """The dtypes of the first signature that takes the arguments without loss; None where the function is compiled for what comes."""
    if not function._frozen and not getattr(function, "gufunc_builder", None):
        return None
    for text in function.types:
        dtypes = [np.dtype(c).name for c in text.replace("->", "")]
        if all(_fits(type_of(a) if isinstance(a, Sym) or is_number(a) else type_of(_as_array(frame, a)), d) for a, d in zip(args, dtypes, strict=False)):
            return dtypes
    if not function.types:
        return None
    kinds = ", ".join(str(type_of(a)) for a in args if isinstance(a, Sym) or is_number(a))
    raise errors.TypeInferenceError(f"`{function.__name__}` does not take these arguments: {kinds}", frame.builder.loc, reason=_NO_LOOP)


def _fits(given: Type, wanted: str) -> bool:
    return bool(np.can_cast(given.dtype, wanted, "same_kind" if given.weak else "safe"))


# --------------------------------------------------------------------------- rows


def _by_rows(frame: Frame, function: Any, args: tuple[Value, ...]) -> Value:
    """`numba.guvectorize`: a call for each place of the leading axes; the body writes what it returns into its last arguments."""
    builder = function.gufunc_builder
    inner, outer = builder.sin, builder.sout
    if len(args) == len(inner) and function.is_dynamic:
        raise errors.TypeInferenceError(f"`{function.__name__}` has no signature: it needs arrays for its results, too", frame.builder.loc)
    arrays = [_as_array(frame, a) if _is_array(a) else a for a in args[: len(inner)]]
    dtypes = _loop(frame, function, arrays) or _dynamic(arrays, len(outer))
    arrays = [_cast(frame, a, d) for a, d in zip(arrays, dtypes, strict=False)]
    targets = args[len(inner) :]
    lead, sizes = _shapes(frame, function, [*arrays, *targets], [*inner, *outer])
    unknown = [n for names in outer for n in names if n not in sizes]
    if unknown:
        raise errors.UnsupportedSyntaxError(f"the extent `{unknown[0]}` of the result is that of no argument", frame.builder.loc)
    made = tuple(tuple(sizes[n] for n in names) or (1,) for names in outer)
    alone = tuple(_takes_number(builder, k) for k in range(len(inner)))
    kept, kinds = tuple(bool(names) for names in outer), tuple(map(np.dtype, dtypes[len(inner) :]))
    result = frame.call(library.by_rows, (builder.py_func, lead, tuple(map(len, inner)), alone, made, kept, kinds, tuple(targets), *arrays), {})
    found = [_written(frame, target, r) for target, r in zip(targets, result, strict=True)] if targets else list(result)
    return found[0] if len(found) == 1 else tuple(found)


def _shapes(frame: Frame, function: Any, arrays: Sequence[Value], inner: Sequence[Sequence[str]]) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The extents of the leading axes, and those of one call by their names in the layout."""
    sizes: dict[str, Value] = {}
    leads = []
    for value, names in zip(arrays, inner, strict=False):
        shape = frame.call(np.shape, (value,), {})
        if len(shape) < len(names):
            raise errors.ShapeError(f"`{function.__name__}` takes arrays of {len(names)} axes or more there", frame.builder.loc)
        leads.append(shape[: len(shape) - len(names)])
        for name, n in zip(names, shape[len(shape) - len(names) :], strict=True):
            sizes.setdefault(name, n)
    return _together(frame, leads), sizes


def _together(frame: Frame, shapes: Sequence[tuple[Value, ...]]) -> tuple[Value, ...]:
    """The shape to which these broadcast."""
    found: list[Value] = [1] * max(map(len, shapes))
    for shape in shapes:
        for back, n in enumerate(reversed(shape), 1):
            have = found[-back]
            if not isinstance(have, Sym):
                found[-back] = n if have == 1 else have
            elif isinstance(n, Sym) and n.type.value != have.type.value or not isinstance(n, Sym) and n != 1:
                found[-back] = frame.builder.call("joint", (have, n), Type("int64", weak=True))
    return tuple(found)


def _takes_number(builder: Any, position: int) -> bool:
    """Whether the body gets a number, not an array of one item, for an argument without axes of its own."""
    if builder.sin[position]:
        return False
    return not builder._sigs or not hasattr(builder._sigs[0].args[position], "ndim")


def _dynamic(arrays: Sequence[Value], results: int) -> list[str]:
    """Dtypes where no signature is given: those that come, and theirs together for the results."""
    given = [type_of(a).dtype for a in arrays]
    return [*given, *[str(np.result_type(*given))] * results]


def options_of(made: np.vectorize) -> dict[str, Any]:
    """The options that an object of `np.vectorize` was made with."""
    given = {"otypes": made.otypes, "excluded": made.excluded, "cache": made.cache, "signature": made.signature}
    return {name: value for name, value in given.items() if value}
