"""How TensorFlow-named functions are made from NumPy functions: arguments converted, dtypes checked, calls recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import dtypes
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import apply, bind
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.record import QUIET, loud, quiet, record, state
from stgrad.eager.tensor import Tensor


def run(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a NumPy function to tensors; its shape complaints become InvalidArgumentError."""
    try:
        return apply(bind(fn), args, kwargs or None)
    except np.exceptions.AxisError as error:
        raise InvalidArgumentError(f"Invalid axis: {error}", _short(fn)) from None
    except (IndexError, np.linalg.LinAlgError) as error:
        raise InvalidArgumentError(str(error), _short(fn)) from None
    except ValueError as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"Incompatible shapes or values: {error}", _short(fn)) from None


def _short(fn: Any) -> str:
    return str(getattr(fn, "__name__", fn)).strip("_").title().replace("_", "")


def check_kind(t: Tensor, kinds: str, name: str) -> None:
    """InvalidArgumentError where the operation does not take this dtype."""
    if t._a.dtype.kind not in kinds:
        raise InvalidArgumentError(f"Value for attr 'T' of {dtypes.describe(t._a.dtype)} is not in the list of allowed values", name)


def unary(fn: Any, name: str, kinds: str = "fc") -> Callable[..., Any]:
    """The TensorFlow function of a NumPy function of one array. `kinds` are the dtype kinds that it takes."""
    op = bind(fn)
    plain = getattr(op, "partials", None) is not None

    def function(x: Any, name: str | None = None) -> Tensor:
        if type(x) is not Tensor:
            x = convert_to_tensor(x)
        if x._a.dtype.kind not in kinds:
            check_kind(x, kinds, op_title)
        if not plain:
            return run(fn, x)
        token = quiet(QUIET)
        try:
            y = Tensor(fn(x._a))
        finally:
            loud(token)
        if state.recorders:
            record(op, y, (x,), (x,))
        return y

    op_title = _short(fn)
    _name(function, name)
    function.__doc__ = f"Elementwise `{name}`, by `{op.name}` and its rule."
    return function


def pair(x: Any, y: Any, name: str = "") -> tuple[Tensor, Tensor]:
    """Two operands as tensors of one dtype: what is no tensor takes the dtype of the other."""
    if type(x) is not Tensor and hasattr(type(x), "_read"):
        x = x._read()
    if type(y) is not Tensor and hasattr(type(y), "_read"):
        y = y._read()
    if type(x) is Tensor:
        y = _beside(y, x)
    elif type(y) is Tensor:
        x = _beside(x, y)
    else:
        x = convert_to_tensor(x)
        y = convert_to_tensor(y, dtype_hint=x.dtype)
    if x._a.dtype != y._a.dtype and not state.numpy_promotion:
        one, two = dtypes.describe(x._a.dtype), dtypes.describe(y._a.dtype)
        raise InvalidArgumentError(
            f"cannot compute {name} as input #1(zero-based) was expected to be a {one} tensor but is a {two} tensor", name
        )
    return x, y


def _beside(value: Any, tensor: Tensor) -> Tensor:
    if type(value) is Tensor:
        return value
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
        return convert_to_tensor(value, tensor.dtype)
    return convert_to_tensor(value, dtype_hint=tensor.dtype)


def binary(fn: Any, name: str, kinds: str = "iufc") -> Callable[..., Any]:
    """The TensorFlow function of a NumPy function of two arrays."""
    title = _short(fn)

    def function(x: Any, y: Any, name: str | None = None) -> Tensor:
        a, b = pair(x, y, title)
        check_kind(a, kinds, title)
        return run(fn, a, b)

    _name(function, name)
    function.__doc__ = f"Elementwise `{name}` with broadcasting, by NumPy's `{title}` and its rule."
    return function


def operator_function(method: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    """The TensorFlow function of an operator: `tf.add(x, y)` from `x + y`."""

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        if type(x) is not Tensor:
            x, y = pair(x, y, title)
        return method(x, y)

    title = name.title()
    _name(function, name)
    function.__doc__ = f"Elementwise `{name}`, as the operator on tensors."
    return function


def _name(function: Any, name: str) -> None:
    """The function as if it were written in the module that made it (pickles find it there)."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = sys._getframe(2).f_globals["__name__"]


def static(value: Any) -> Any:
    """Axes, shapes and sizes as Python ints: tensors are read, lists become tuples."""
    if value is None or isinstance(value, (int, str)):
        return value
    if hasattr(type(value), "_a") or hasattr(value, "_a"):
        value = value._a
    if isinstance(value, (np.ndarray, np.generic)):
        return tuple(value.tolist()) if value.ndim == 1 else value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple([static(e) for e in value])
    return int(value)
