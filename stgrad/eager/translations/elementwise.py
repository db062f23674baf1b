"""Elementwise operations, reductions and products."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from stgrad import hooks
from stgrad.eager.translations.bodies import BODIES, as_numpy, as_tuple, body, constant_dtype, is_list
from stgrad.frontend.library import refuse

_UNARY = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp,
    "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "square": np.square, "negative": np.negative,
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "rint": np.rint, "erf": scipy.special.erf,
    "reciprocal": np.reciprocal, "logical_not": np.logical_not, "nn.tanh": np.tanh, "math.erfc": scipy.special.erfc,
    "math.lgamma": scipy.special.gammaln, "math.digamma": scipy.special.psi, "math.is_nan": np.isnan, "math.is_inf": np.isinf,
    "math.is_finite": np.isfinite,
}  # fmt: skip
_BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "pow": np.power, "equal": np.equal,
    "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "atan2": np.arctan2,
    "greater_equal": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or, "floordiv": np.floor_divide,
    "floormod": np.remainder, "math.floormod": np.remainder,
}  # fmt: skip


def unary(function: Any) -> Any:
    def translated(x, name=None):  # type: ignore[no-untyped-def]
        return function(x)

    return translated


def binary(function: Any) -> Any:
    def translated(x, y, name=None):  # type: ignore[no-untyped-def]
        return function(x, y)

    return translated


BODIES |= {name: unary(function) for name, function in _UNARY.items()}
BODIES |= {name: binary(function) for name, function in _BINARY.items()}


@body("constant", "convert_to_tensor")
def constant(value, dtype=None, shape=None, name="Const"):  # type: ignore[no-untyped-def]
    refuse(shape is not None, "tf.constant with a shape")
    if hasattr(value, "dtype"):
        return value if dtype is None else cast(value, dtype)
    kind = constant_dtype(value) if dtype is None else as_numpy(dtype)
    return np.array(value, dtype=kind) if is_list(value) else kind(value)


@body("cast")
def cast(x, dtype, name=None):  # type: ignore[no-untyped-def]
    kind = as_numpy(dtype)
    return kind(x) if np.ndim(x) == 0 else np.asarray(x).astype(kind)


@body("identity")
def identity(input, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return input


@body("stop_gradient")
def stop_gradient(input, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return hooks.stop_gradient(input)


@body("maximum")
def maximum(x, y, name=None):  # type: ignore[no-untyped-def]
    return np.where(np.logical_or(x >= y, x != x), x, y)


@body("minimum")
def minimum(x, y, name=None):  # type: ignore[no-untyped-def]
    return np.where(np.logical_or(x <= y, x != x), x, y)


@body("clip_by_value")
def clip_by_value(t, clip_value_min, clip_value_max, name=None):  # type: ignore[no-untyped-def]
    return np.where(t < clip_value_min, clip_value_min, np.where(t > clip_value_max, clip_value_max, t))


@body("squared_difference")
def squared_difference(x, y, name=None):  # type: ignore[no-untyped-def]
    return np.square(x - y)


@body("rsqrt")
def rsqrt(x, name=None):  # type: ignore[no-untyped-def]
    return 1.0 / np.sqrt(x)


@body("reduce_sum")
def reduce_sum(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.sum(input_tensor, axis=as_tuple(axis), keepdims=keepdims)


@body("reduce_mean")
def reduce_mean(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.mean(input_tensor, axis=as_tuple(axis), keepdims=keepdims)


@body("reduce_prod")
def reduce_prod(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.prod(input_tensor, axis=as_tuple(axis), keepdims=keepdims)


@body("reduce_max")
def reduce_max(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.max(input_tensor, axis=as_tuple(axis), keepdims=keepdims)


@body("reduce_min")
def reduce_min(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.min(input_tensor, axis=as_tuple(axis), keepdims=keepdims)


@body("matmul")
def matmul(a, b, transpose_a=False, transpose_b=False, name=None):  # type: ignore[no-untyped-def]
    left = np.swapaxes(a, -1, -2) if transpose_a else a
    right = np.swapaxes(b, -1, -2) if transpose_b else b
    return left @ right


@body("tensordot")
def tensordot(a, b, axes, name=None):  # type: ignore[no-untyped-def]
    return np.tensordot(a, b, axes=axes)


@body("einsum")
def einsum(equation, *inputs):  # type: ignore[no-untyped-def]
    return np.einsum(equation, *inputs)


@body("norm")
def norm(tensor, ord="euclidean", axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    if ord == 1:
        return np.sum(np.abs(tensor), axis=as_tuple(axis), keepdims=keepdims)
    refuse(ord not in ("euclidean", 2), "tf.norm of another order")
    return np.sqrt(np.sum(tensor * tensor, axis=as_tuple(axis), keepdims=keepdims))


@body("clip_by_norm")
def clip_by_norm(t, clip_norm, axes=None, name=None):  # type: ignore[no-untyped-def]
    size = np.sqrt(np.sum(t * t, axis=as_tuple(axes), keepdims=axes is not None))
    return t * clip_norm / np.where(size > clip_norm, size, clip_norm)


@body("sign")
def sign(x, name=None):  # type: ignore[no-untyped-def]
    return np.sign(hooks.stop_gradient(x)) + 0.0 * x


@body("math.divide_no_nan")
def divide_no_nan(x, y, name=None):  # type: ignore[no-untyped-def]
    zero = y == 0
    return np.where(zero, 0.0 * x, x / np.where(zero, 1.0 + 0.0 * y, y))


@body("math.multiply_no_nan")
def multiply_no_nan(x, y, name=None):  # type: ignore[no-untyped-def]
    return np.where(y == 0, 0.0, x) * y


@body("math.xlogy")
def xlogy(x, y, name=None):  # type: ignore[no-untyped-def]
    zero = x == 0
    return np.where(zero, 0.0, x * np.log(np.where(zero, 1.0, y)))


@body("math.log_sigmoid")
def log_sigmoid(x, name=None):  # type: ignore[no-untyped-def]
    return -np.logaddexp(-x, 0.0 * x)


@body("add_n")
def add_n(inputs, name=None):  # type: ignore[no-untyped-def]
    total = inputs[0]
    for term in inputs[1:]:
        total = total + term
    return total


@body("reduce_any")
def reduce_any(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.any(input_tensor, axis=as_tuple(axis), keepdims=keepdims)


@body("reduce_all")
def reduce_all(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.all(input_tensor, axis=as_tuple(axis), keepdims=keepdims)


@body("reduce_logsumexp")
def reduce_logsumexp(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    along = as_tuple(axis)
    top = hooks.stop_gradient(np.max(input_tensor, axis=along, keepdims=True))
    y = np.log(np.sum(np.exp(input_tensor - top), axis=along, keepdims=True)) + top
    if keepdims:
        return y
    return np.sum(y, axis=along)


@body("math.reduce_variance")
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    along = as_tuple(axis)
    return np.mean(np.square(input_tensor - np.mean(input_tensor, axis=along, keepdims=True)), axis=along, keepdims=keepdims)


@body("math.reduce_std")
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.sqrt(reduce_variance(input_tensor, axis, keepdims))


@body("math.reduce_euclidean_norm")
def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    return np.sqrt(np.sum(input_tensor * input_tensor, axis=as_tuple(axis), keepdims=keepdims))


@body("argmax")
def argmax(input, axis=None, output_type="int64", name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.argmax(input, axis=0 if axis is None else axis).astype(as_numpy(output_type))


@body("argmin")
def argmin(input, axis=None, output_type="int64", name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.argmin(input, axis=0 if axis is None else axis).astype(as_numpy(output_type))


@body("global_norm")
def global_norm(t_list, name=None):  # type: ignore[no-untyped-def]
    total = np.sum(t_list[0] * t_list[0])
    for t in t_list[1:]:
        total = total + np.sum(t * t)
    return np.sqrt(total)


@body("clip_by_global_norm")
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):  # type: ignore[no-untyped-def]
    size = global_norm(t_list) if use_norm is None else use_norm
    factor = clip_norm / np.where(size > clip_norm, size, clip_norm)
    return [t * factor for t in t_list], size
