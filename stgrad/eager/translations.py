"""Operations of the eager API in NumPy, for the compiler: what it reads in place of a call of `tf.sin` or `tf.reduce_sum`.

Each body takes arrays and numbers where the operation takes tensors, with TensorFlow's argument names and its convention at kinks. What
has no body here is refused by the compiler, and the function that uses it runs eagerly.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from stgrad import errors, hooks
from stgrad.eager import dtypes
from stgrad.frontend.builtins import HANDLERS
from stgrad.frontend.library import LIBRARY, refuse
from stgrad.rules.core import static

_BODIES: dict[str, Callable[..., Any]] = {}


def body(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a body for functions of `stgrad.eager`, by their dotted names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _BODIES[name] = function
        return function

    return register


_UNARY = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp,
    "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "square": np.square, "negative": np.negative,
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "rint": np.rint, "erf": scipy.special.erf,
    "reciprocal": np.reciprocal, "logical_not": np.logical_not, "nn.tanh": np.tanh,
}  # fmt: skip
_BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "pow": np.power, "equal": np.equal,
    "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "atan2": np.arctan2,
    "greater_equal": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or, "floordiv": np.floor_divide,
    "floormod": np.remainder,
}  # fmt: skip


def unary(function: Any) -> Any:
    def translated(x, name=None):  # type: ignore[no-untyped-def]
        return function(x)

    return translated


def binary(function: Any) -> Any:
    def translated(x, y, name=None):  # type: ignore[no-untyped-def]
        return function(x, y)

    return translated


_BODIES |= {name: unary(function) for name, function in _UNARY.items()}
_BODIES |= {name: binary(function) for name, function in _BINARY.items()}


@static
def as_numpy(dtype: Any) -> Any:
    """A dtype for NumPy."""
    return dtypes.as_dtype(dtype).dtype.type


@static
def constant_dtype(value: Any) -> Any:
    """The dtype of a tensor of Python numbers."""
    array = np.asarray(value)
    kinds = {"f": np.float32, "i": np.int32, "b": np.bool_}
    return kinds[array.dtype.kind] if not isinstance(value, (np.ndarray, np.generic)) else array.dtype.type


@static
def is_known(value: Any) -> bool:
    return True


@static
def is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


@static
def as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


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


@body("sigmoid", "nn.sigmoid")
def sigmoid(x, name=None):  # type: ignore[no-untyped-def]
    return 0.5 * (1.0 + np.tanh(0.5 * x))


@body("softplus", "nn.softplus")
def softplus(x, name=None):  # type: ignore[no-untyped-def]
    return np.logaddexp(x, 0.0 * x)


@body("nn.relu")
def relu(features, name=None):  # type: ignore[no-untyped-def]
    return np.where(features > 0.0, features, 0.0 * features)


@body("nn.elu")
def elu(features, name=None):  # type: ignore[no-untyped-def]
    return np.where(features > 0.0, features, np.expm1(np.where(features > 0.0, 0.0 * features, features)))


@body("nn.leaky_relu")
def leaky_relu(features, alpha=0.2, name=None):  # type: ignore[no-untyped-def]
    return np.where(features > 0.0, features, alpha * features)


@body("nn.silu", "nn.swish")
def silu(features, beta=1.0):  # type: ignore[no-untyped-def]
    return features * sigmoid(beta * features)


@body("nn.softmax")
def softmax(logits, axis=None, name=None):  # type: ignore[no-untyped-def]
    along = -1 if axis is None else axis
    e = np.exp(logits - hooks.stop_gradient(np.max(logits, axis=along, keepdims=True)))
    return e / np.sum(e, axis=along, keepdims=True)


@body("nn.log_softmax")
def log_softmax(logits, axis=None, name=None):  # type: ignore[no-untyped-def]
    along = -1 if axis is None else axis
    shifted = logits - hooks.stop_gradient(np.max(logits, axis=along, keepdims=True))
    return shifted - np.log(np.sum(np.exp(shifted), axis=along, keepdims=True))


@body("nn.bias_add")
def bias_add(value, bias, data_format=None, name=None):  # type: ignore[no-untyped-def]
    refuse(data_format is not None, "tf.nn.bias_add with a data format")
    return value + bias


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


@body("cumsum")
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):  # type: ignore[no-untyped-def]
    refuse(exclusive or reverse, "tf.cumsum that is exclusive or reversed")
    return np.cumsum(x, axis=axis)


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


@body("linalg.solve")
def solve(matrix, rhs, adjoint=False, name=None):  # type: ignore[no-untyped-def]
    return np.linalg.solve(np.swapaxes(matrix, -1, -2) if adjoint else matrix, rhs)


@body("reshape")
def reshape(tensor, shape, name=None):  # type: ignore[no-untyped-def]
    return np.reshape(tensor, tuple(shape))


@body("transpose")
def transpose(a, perm=None, conjugate=False, name=None):  # type: ignore[no-untyped-def]
    return np.transpose(a) if perm is None else np.transpose(a, tuple(perm))


@body("expand_dims")
def expand_dims(input, axis, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.expand_dims(input, axis)


@body("squeeze")
def squeeze(input, axis=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.squeeze(input, axis=as_tuple(axis))


@body("concat")
def concat(values, axis, name=None):  # type: ignore[no-untyped-def]
    return np.concatenate(values, axis=axis)


@body("stack")
def stack(values, axis=0, name="stack"):  # type: ignore[no-untyped-def]
    return np.stack(values, axis=axis)


@body("zeros_like")
def zeros_like(input, dtype=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.zeros_like(input) if dtype is None else np.zeros_like(input, dtype=as_numpy(dtype))


@body("ones_like")
def ones_like(input, dtype=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.ones_like(input) if dtype is None else np.ones_like(input, dtype=as_numpy(dtype))


@body("zeros")
def zeros(shape, dtype="float32", name=None):  # type: ignore[no-untyped-def]
    return np.zeros(tuple(shape) if is_list(shape) else shape, dtype=as_numpy(dtype))


@body("ones")
def ones(shape, dtype="float32", name=None):  # type: ignore[no-untyped-def]
    return np.ones(tuple(shape) if is_list(shape) else shape, dtype=as_numpy(dtype))


@body("where")
def where(condition, x=None, y=None, name=None):  # type: ignore[no-untyped-def]
    refuse(x is None, "tf.where with a condition alone")
    return np.where(condition, x, y)


@body("range")
def range_(start, limit=None, delta=1, dtype=None, name=None):  # type: ignore[no-untyped-def]
    refuse(dtype is not None, "tf.range with a dtype")
    return range(start) if limit is None else range(start, limit, delta)


@body("norm")
def norm(tensor, ord="euclidean", axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    refuse(ord != "euclidean", "tf.norm of another order")
    return np.sqrt(np.sum(tensor * tensor, axis=as_tuple(axis), keepdims=keepdims))


@body("keras.activations.linear")
def linear(x):  # type: ignore[no-untyped-def]
    return x


@body("clip_by_norm")
def clip_by_norm(t, clip_norm, axes=None, name=None):  # type: ignore[no-untyped-def]
    size = np.sqrt(np.sum(t * t, axis=as_tuple(axes), keepdims=axes is not None))
    return t * clip_norm / np.where(size > clip_norm, size, clip_norm)


# --------------------------------------------------------------------------- what the compiler knows of this package

_installed: list[bool] = []


def install() -> None:
    """Tell the compiler the bodies, and that it must not read the rest of this package. Once, when the first function is compiled."""
    if _installed:
        return
    _installed.append(True)
    from stgrad.eager import custom, keras

    for name, function in _BODIES.items():
        LIBRARY[operation(name)] = function
    HANDLERS[custom._call] = _custom
    HANDLERS[keras.layers.Layer.__call__] = _layer
    for function in _own_functions():
        if function not in LIBRARY and function not in HANDLERS:
            HANDLERS[function] = _refusal(function)


def operation(name: str) -> Any:
    """A function of `stgrad.eager` by its dotted name."""
    found: Any = sys.modules["stgrad.eager"]
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _custom(frame: Any, f: Any, args: Any, kwargs: Any) -> Any:
    """A function made by `tf.custom_gradient`: the compiler has the same."""
    return frame.call(hooks.custom_gradient(f), tuple(args), kwargs)


def dense(inputs, kernel, activation):  # type: ignore[no-untyped-def]
    return activation(inputs @ kernel)


def dense_with_bias(inputs, kernel, bias, activation):  # type: ignore[no-untyped-def]
    return activation(inputs @ kernel + bias)


def _layer(frame: Any, layer: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a layer that has its weights: Dense and Sequential, and layers of the user's own by their `call`."""
    from stgrad.eager.keras import Sequential
    from stgrad.eager.keras.layers import Dense

    if layer.built and type(layer) is Dense:
        weights = [frame.capture_attribute(layer, n, getattr(layer, n)) for n in ("kernel", "bias")[: 1 + layer.use_bias]]
        return frame.call(dense_with_bias if layer.use_bias else dense, (inputs, *weights, layer.activation), {})
    if layer.built and type(layer) is Sequential and not args and not kwargs:
        for part in layer.layers:
            inputs = frame.call(part, (inputs,), {})
        return inputs
    if layer.built and not type(layer).call.__module__.startswith("stgrad."):
        return frame.call(type(layer).call, (layer, inputs, *args), kwargs)
    what = type(layer).__name__
    reason = "it makes its weights in this call" if not layer.built else "it has no translation for the compiler"
    raise errors.UnknownFunctionError(f"a layer `{what}` is called", frame.builder.loc, reason=reason)


def _own_functions() -> list[Any]:
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("stgrad.eager") and m.__name__ != __name__]
    found = {}
    for module in modules:
        for value in list(vars(module).values()):
            members = vars(value).values() if isinstance(value, type) and value.__module__.startswith("stgrad.eager") else (value,)
            for member in members:
                plain = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if isinstance(plain, types.FunctionType) and plain.__module__.startswith("stgrad.eager"):
                    found[plain] = None
    return list(found)


def _refusal(function: Any) -> Any:
    def refused(frame: Any, *args: Any, **kwargs: Any) -> Any:
        raise errors.UnknownFunctionError(
            f"`{function.__qualname__}` of stgrad.eager has no translation for the compiler", frame.builder.loc
        )

    return refused
