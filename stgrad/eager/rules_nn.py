"""Elementwise functions of neural networks as operations of their own, with rules: as compositions they would overflow or cost more.

`sign` has derivative 0 rather than none (TensorFlow's convention); the kinks of relu and its kin are 0 at the border.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stgrad.rules.core import adjoint, partials, tangent

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def sign(x: Any) -> Any:
    return np.sign(x)


@partials(sign)
def sign_partials(y: Any, x: Any) -> Any:
    return 0.0


def relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


@partials(relu)
def relu_partials(y: Any, x: Any) -> Any:
    return y > 0


def relu6(x: Any) -> Any:
    return np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6))


@partials(relu6)
def relu6_partials(y: Any, x: Any) -> Any:
    return np.logical_and(x > 0, x < 6)


def leaky_relu(x: Any, alpha: float) -> Any:
    return np.where(x > 0, x, x.dtype.type(alpha) * x)


@partials(leaky_relu)
def leaky_relu_partials(y: Any, x: Any, alpha: float) -> Any:
    return np.where(x > 0, 1.0, alpha), None


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)); the exponent is never positive, so nothing overflows."""
    e = np.exp(-np.abs(x)) if x.dtype.kind == "f" else np.exp(-x)
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))[()] if x.dtype.kind == "f" else 1 / (1 + e)


@partials(sigmoid)
def sigmoid_partials(y: Any, x: Any) -> Any:
    return y * (1.0 - y)


def softplus(x: Any) -> Any:
    return np.logaddexp(x, x.dtype.type(0))


@partials(softplus)
def softplus_partials(y: Any, x: Any) -> Any:
    return sigmoid(x)  # smooth at zero, too, where what is written with `np.abs(x)` has a kink to the next derivative


def elu(x: Any) -> Any:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))[()]


@partials(elu)
def elu_partials(y: Any, x: Any) -> Any:
    return np.where(y < 0, y + 1.0, 1.0)


def selu(x: Any) -> Any:
    scale, alpha = x.dtype.type(SELU_SCALE), x.dtype.type(SELU_SCALE * SELU_ALPHA)
    return np.where(x > 0, scale * x, alpha * np.expm1(np.minimum(x, 0)))[()]


@partials(selu)
def selu_partials(y: Any, x: Any) -> Any:
    return np.where(y < 0, y + SELU_SCALE * SELU_ALPHA, 1.0 * SELU_SCALE)


def softsign(x: Any) -> Any:
    return x / (np.abs(x) + 1)


@partials(softsign)
def softsign_partials(y: Any, x: Any) -> Any:
    return 1.0 / np.square(1.0 + np.abs(x))


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - np.maximum.reduce(x, axis=axis, keepdims=True))
    return e / np.add.reduce(e, axis=axis, keepdims=True)


@adjoint(softmax)
def softmax_adjoint(y: Any, y_bar: Any, x: Any, axis: int = -1) -> Any:
    return y * (y_bar - np.sum(y * y_bar, axis=axis, keepdims=True))


@tangent(softmax)
def softmax_dot(y: Any, x: Any, x_dot: Any, axis: int = -1) -> Any:
    return y * (x_dot - np.sum(y * x_dot, axis=axis, keepdims=True))


def log_softmax(x: Any, axis: int = -1) -> Any:
    shifted = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


@adjoint(log_softmax)
def log_softmax_adjoint(y: Any, y_bar: Any, x: Any, axis: int = -1) -> Any:
    return y_bar - np.exp(y) * np.sum(y_bar, axis=axis, keepdims=True)


@tangent(log_softmax)
def log_softmax_dot(y: Any, x: Any, x_dot: Any, axis: int = -1) -> Any:
    return x_dot - np.sum(np.exp(y) * x_dot, axis=axis, keepdims=True)


def rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


@partials(rsqrt)
def rsqrt_partials(y: Any, x: Any) -> Any:
    return -0.5 * y * y * y


def divide_no_nan(a: Any, b: Any) -> Any:
    zero = b == 0
    return np.where(zero, a.dtype.type(0), a / np.where(zero, b.dtype.type(1), b))[()]


@partials(divide_no_nan)
def divide_no_nan_partials(y: Any, a: Any, b: Any) -> Any:
    safe = np.where(b == 0, 1.0, b)
    return np.where(b == 0, 0.0, 1.0 / safe), np.where(b == 0, 0.0, -y / safe)


def multiply_no_nan(x: Any, y: Any) -> Any:
    """x y, and 0 where y is 0 even if x is infinite or NaN."""
    return np.where(y == 0, x.dtype.type(0), x * y)[()]


@partials(multiply_no_nan)
def multiply_no_nan_partials(out: Any, x: Any, y: Any) -> Any:
    return y, x


def xlogy(x: Any, y: Any) -> Any:
    zero = x == 0
    return np.where(zero, x.dtype.type(0), x * np.log(np.where(zero, y.dtype.type(1), y)))[()]


@partials(xlogy)
def xlogy_partials(out: Any, x: Any, y: Any) -> Any:
    zero = x == 0
    return np.where(zero, 0.0, np.log(np.where(zero, 1.0, y))), np.where(zero, 0.0, x / np.where(zero, 1.0, y))


def xlog1py(x: Any, y: Any) -> Any:
    return np.where(x == 0, x.dtype.type(0), x * np.log1p(np.where(x == 0, y.dtype.type(0), y)))[()]


@partials(xlog1py)
def xlog1py_partials(out: Any, x: Any, y: Any) -> Any:
    zero = x == 0
    safe = np.where(zero, 0.0, y)
    return np.where(zero, 0.0, np.log1p(safe)), np.where(zero, 0.0, x / (1.0 + safe))


def xdivy(x: Any, y: Any) -> Any:
    return np.where(x == 0, x.dtype.type(0), x / np.where(x == 0, y.dtype.type(1), y))[()]


@partials(xdivy)
def xdivy_partials(out: Any, x: Any, y: Any) -> Any:
    zero = x == 0
    safe = np.where(zero, 1.0, y)
    return np.where(zero, 0.0, 1.0 / safe), np.where(zero, 0.0, -x / np.square(safe))


def gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@partials(gelu_tanh)
def gelu_tanh_partials(y: Any, x: Any) -> Any:
    t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * math.sqrt(2 / math.pi) * (1.0 + 3 * 0.044715 * x * x)
