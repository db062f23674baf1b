"""Activations, losses from logits, normalisation."""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from stgrad import hooks
from stgrad.eager.translations.bodies import as_tuple, body
from stgrad.frontend.library import refuse


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
    refuse(data_format is not None and data_format.startswith("NC"), "tf.nn.bias_add with channels first")
    return value + bias


@body("keras.activations.linear")
def linear(x):  # type: ignore[no-untyped-def]
    return x


@body("nn.relu6")
def relu6(features, name=None):  # type: ignore[no-untyped-def]
    return np.where(features > 0.0, np.where(features < 6.0, features, 6.0 + 0.0 * features), 0.0 * features)


@body("nn.selu")
def selu(features, name=None):  # type: ignore[no-untyped-def]
    low = 1.0507009873554805 * 1.6732632423543772 * np.expm1(np.where(features > 0.0, 0.0 * features, features))
    return np.where(features > 0.0, 1.0507009873554805 * features, low)


@body("nn.softsign")
def softsign(features, name=None):  # type: ignore[no-untyped-def]
    return features / (np.abs(features) + 1.0)


@body("nn.gelu")
def gelu(features, approximate=False, name=None):  # type: ignore[no-untyped-def]
    if approximate:
        return 0.5 * features * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (features + 0.044715 * features**3)))
    return 0.5 * features * (1.0 + scipy.special.erf(features / math.sqrt(2.0)))


@body("nn.l2_loss")
def l2_loss(t, name=None):  # type: ignore[no-untyped-def]
    return 0.5 * np.sum(t * t)


@body("nn.l2_normalize", "linalg.l2_normalize")
def l2_normalize(x, axis=None, epsilon=1e-12, name=None):  # type: ignore[no-untyped-def]
    size = np.sum(x * x, axis=as_tuple(axis), keepdims=True)
    return x / np.sqrt(np.where(size >= epsilon, size, epsilon))


# --------------------------------------------------------------------------- losses from logits


@body("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):  # type: ignore[no-untyped-def]
    return np.logaddexp(logits, 0.0 * logits) - logits * labels


@body("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None):  # type: ignore[no-untyped-def]
    return -np.sum(labels * log_softmax(logits, axis), axis=axis)


@body("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(labels, logits, name=None):  # type: ignore[no-untyped-def]
    if np.size(labels) > 0 and (np.min(labels) < 0 or np.max(labels) >= logits.shape[-1]):
        raise ValueError("Received a label value which is outside the valid range")
    chosen = np.expand_dims(labels, -1) == np.arange(logits.shape[-1])
    return -np.sum(np.where(chosen, log_softmax(logits), 0.0), axis=-1)


# --------------------------------------------------------------------------- normalisation


@body("nn.moments")
def moments(x, axes, shift=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
    over = as_tuple(axes)
    mean = np.mean(x, axis=over, keepdims=True)
    variance = np.mean(np.square(x - hooks.stop_gradient(mean)), axis=over, keepdims=True)
    if keepdims:
        return mean, variance
    return np.squeeze(mean, axis=over), np.squeeze(variance, axis=over)


@body("nn.batch_normalization")
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):  # type: ignore[no-untyped-def]
    factor = 1.0 / np.sqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    return x * factor + shift
