"""`tf.nn`: activations, losses from logits, normalisation and dropout; convolution and pooling are in `windows`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stgrad.eager import ops_math, random, rules_nn
from stgrad.eager.calling import check_kind, pair, run, static, unary
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.ops_array import reshape
from stgrad.eager.ops_index import gather, where
from stgrad.eager.ops_math import erf, log_sigmoid, sigmoid, softplus, softsign, tanh
from stgrad.eager.ops_products import l2_normalize
from stgrad.eager.ops_reduce import reduce_mean, reduce_sum, top_k
from stgrad.eager.tensor import Tensor
from stgrad.eager.windows import (
    atrous_conv2d,
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    conv1d,
    conv2d,
    conv2d_transpose,
    conv3d,
    convolution,
    depthwise_conv2d,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)

__all__ = [
    "avg_pool3d", "conv3d", "max_pool3d", "log_poisson_loss", "normalize_moments", "separable_conv2d",
    "atrous_conv2d", "avg_pool", "avg_pool1d", "avg_pool2d", "batch_normalization", "bias_add", "conv1d", "conv2d",
    "conv2d_transpose", "convolution", "crelu", "depthwise_conv2d", "dropout", "elu", "embedding_lookup", "gelu", "in_top_k",
    "l2_loss", "l2_normalize", "leaky_relu", "log_sigmoid", "log_softmax", "max_pool", "max_pool1d", "max_pool2d", "moments",
    "relu", "relu6", "scale_regularization_loss", "selu", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softplus", "softsign", "sparse_softmax_cross_entropy_with_logits", "swish", "tanh",
    "top_k", "weighted_cross_entropy_with_logits", "weighted_moments", "zero_fraction",
]  # fmt: skip


def _activation(fn: Any, name: str, kinds: str = "f") -> Any:
    function = unary(fn, name, kinds)

    def activation(features: Any, name: str | None = None) -> Tensor:
        return function(features)

    activation.__name__ = activation.__qualname__ = name
    activation.__doc__ = f"The activation `{name}`."
    return activation


relu, relu6 = _activation(rules_nn.relu, "relu", "iuf"), _activation(rules_nn.relu6, "relu6", "iuf")
elu, selu = _activation(rules_nn.elu, "elu"), _activation(rules_nn.selu, "selu")


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """x for positive x, else alpha x."""
    t = convert_to_tensor(features)
    return run(rules_nn.leaky_relu, t, float(getattr(alpha, "_a", alpha)))


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """x times the normal distribution function at x."""
    t = convert_to_tensor(features)
    check_kind(t, "f", "Gelu")
    if approximate:
        return run(rules_nn.gelu_tanh, t)
    return 0.5 * t * (1.0 + erf(t / math.sqrt(2.0)))


def silu(features: Any, beta: Any = 1.0) -> Tensor:
    """x sigmoid(beta x)."""
    t = convert_to_tensor(features)
    return t * sigmoid(t if isinstance(beta, float) and beta == 1.0 else beta * t)


swish = silu


def crelu(features: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """relu of x and of -x, joined."""
    t = convert_to_tensor(features)
    return relu(run(np.concatenate, (t, -t), axis=axis))


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis (the last)."""
    t = convert_to_tensor(logits)
    check_kind(t, "f", "Softmax")
    return run(rules_nn.softmax, t, axis=-1 if axis is None else static(axis))


def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """log of the softmax along an axis (the last)."""
    t = convert_to_tensor(logits)
    check_kind(t, "f", "LogSoftmax")
    return run(rules_nn.log_softmax, t, axis=-1 if axis is None else static(axis))


# ------------------------------------------------------------------ losses


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Tensor:
    """max(x, 0) - x z + log(1 + exp(-|x|)), for labels z and logits x of one shape."""
    x, z = pair(logits, labels, "logistic_loss")
    if x._a.shape != z._a.shape:
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({x.shape} vs {z.shape}).")
    return softplus(x) - x * z


def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any, name: str | None = None) -> Tensor:
    """The sigmoid cross entropy with positive examples weighted."""
    x, z = pair(logits, labels, "logistic_loss")
    weight = 1.0 + (pos_weight - 1.0) * z
    return (1.0 - z) * x + weight * softplus(-x)


def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """-sum(labels log softmax(logits)) along an axis."""
    x, z = pair(logits, labels, "softmax_cross_entropy_with_logits")
    return -reduce_sum(z * log_softmax(x, axis), axis)


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """-log softmax(logits) at the label, along the last axis."""
    x, ids = convert_to_tensor(logits), convert_to_tensor(labels)._a
    if x._a.shape[:-1] != ids.shape:
        raise InvalidArgumentError(
            f"`logits` and `labels` must have the same shape except the last axis, received {list(x._a.shape)} and {list(ids.shape)}"
        )
    classes = x._a.shape[-1]
    if ids.size and (ids.min() < 0 or ids.max() >= classes):
        raise InvalidArgumentError(
            f"Received a label value of {ids.max()} which is outside the valid range of [0, {classes}).",
            "SparseSoftmaxCrossEntropyWithLogits",
        )
    chosen = run(np.take_along_axis, log_softmax(x), np.asarray(ids)[..., None], axis=-1)
    return -run(np.squeeze, chosen, axis=-1)


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """sum(t²) / 2."""
    return reduce_sum(ops_math.square(t)) * 0.5


def scale_regularization_loss(regularization_loss: Any) -> Any:
    return regularization_loss


def in_top_k(targets: Any, predictions: Any, k: int, name: str | None = None) -> Tensor:
    """Whether each target is among the k largest predictions."""
    ids, p = convert_to_tensor(targets)._a, convert_to_tensor(predictions)._a
    own = np.take_along_axis(p, ids[:, None], axis=1)
    return Tensor((p > own).sum(axis=1) < k)


# ------------------------------------------------------------------ normalisation


def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Mean and biased variance over axes."""
    t = convert_to_tensor(x)
    mean = reduce_mean(t, axes, keepdims=True)
    variance = reduce_mean(ops_math.squared_difference(t, ops_math.stop_gradient(mean)), axes, keepdims=True)
    if keepdims:
        return mean, variance
    over = static(axes)
    return run(np.squeeze, mean, axis=over), run(np.squeeze, variance, axis=over)


def weighted_moments(x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Weighted mean and variance over axes."""
    t, w = pair(x, frequency_weights, "weighted_moments")
    w = w + Tensor(np.zeros_like(t._a))
    total = reduce_sum(w, axes, keepdims=True)
    mean = reduce_sum(w * t, axes, keepdims=True) / total
    variance = reduce_sum(w * ops_math.squared_difference(t, mean), axes, keepdims=True) / total
    if keepdims:
        return mean, variance
    over = static(axes)
    return run(np.squeeze, mean, axis=over), run(np.squeeze, variance, axis=over)


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: float, name: str | None = None
) -> Tensor:
    """(x - mean) scale / sqrt(variance + epsilon) + offset."""
    factor = ops_math.rsqrt(convert_to_tensor(variance) + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    return convert_to_tensor(x) * factor + shift


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """A bias for each channel: the last axis, or the second with data_format 'NC...'."""
    t, b = pair(value, bias, "BiasAdd")
    first = data_format is not None and data_format.startswith("NC")
    axis = 1 if first else t._a.ndim - 1
    if b._a.ndim != 1 or b._a.shape[0] != t._a.shape[axis]:
        raise InvalidArgumentError(
            f"Must provide as many biases as the last dimension of the input tensor: {list(b._a.shape)} vs. {list(t._a.shape)}", "BiasAdd"
        )
    if first:
        b = reshape(b, [-1, *[1] * (t._a.ndim - 2)])
    return t + b


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """Zeros in random places, with probability `rate`; the rest scaled up by 1 / (1 - rate)."""
    t = convert_to_tensor(x)
    check_kind(t, "f", "dropout")
    share = float(getattr(rate, "_a", rate))
    if not 0 <= share < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    if share == 0:
        return t
    shape = t._a.shape if noise_shape is None else tuple(n if m is None else m for m, n in zip(static(noise_shape), t._a.shape))
    keep = random.uniform(shape, seed=seed)._a >= share
    return t * Tensor(keep.astype(t._a.dtype) / t._a.dtype.type(1 - share))


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Tensor:
    """Rows of a table."""
    return gather(params, ids)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The share of zeros."""
    return Tensor(np.float32(np.mean(convert_to_tensor(value)._a == 0)))


def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """exp(x) - x z for the logarithm x of a rate; with Stirling's term for large targets on request."""
    x, z = pair(log_input, targets, "log_poisson_loss")
    loss = ops_math.exp(x) - x * z
    if not compute_full_loss:
        return loss
    stirling = z * ops_math.log(z) - z + 0.5 * ops_math.log(2.0 * math.pi * z)
    return loss + where((z >= 0.0) & (z <= 1.0), ops_math.cast(x * 0.0, x.dtype), stirling)


def normalize_moments(counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Mean and variance from sums and sums of squares."""
    n = convert_to_tensor(counts)
    shifted = mean_ss / n
    mean = shifted if shift is None else shifted + shift
    return mean, variance_ss / n - ops_math.square(shifted)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A depthwise convolution, then one of 1 x 1."""
    each = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return convolution(each, pointwise_filter, 1, "VALID", data_format)
