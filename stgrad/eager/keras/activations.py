"""Activations by name."""

from __future__ import annotations

from typing import Any

from stgrad.eager import ops_math
from stgrad.eager.nn import elu, gelu, leaky_relu, log_softmax, relu, relu6, selu, silu, softmax, softplus, softsign
from stgrad.eager.ops_math import exp as exponential
from stgrad.eager.ops_math import sigmoid, tanh

__all__ = [
    "elu", "exponential", "gelu", "get", "hard_sigmoid", "leaky_relu", "linear", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid",
    "silu", "softmax", "softplus", "softsign", "swish", "tanh",
]  # fmt: skip
swish = silu


def linear(x: Any) -> Any:
    return x


def hard_sigmoid(x: Any) -> Any:
    """Piecewise linear: relu6(x + 3) / 6."""
    return relu6(x + 3.0) / 6.0


def mish(x: Any) -> Any:
    return x * ops_math.tanh(softplus(x))


def get(identifier: Any) -> Any:
    """An activation from its name, a callable, or None (linear)."""
    if identifier is None:
        return linear
    if callable(identifier):
        return identifier
    if isinstance(identifier, str) and identifier in __all__ and identifier != "get":
        return globals()[identifier]
    raise ValueError(f"Could not interpret activation function identifier: {identifier}")
