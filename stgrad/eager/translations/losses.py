"""Losses of Keras: functions of (y_true, y_pred), and objects that average them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad import errors
from stgrad.eager.translations.bodies import body
from stgrad.eager.translations.nn import log_softmax, sigmoid_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits

_EPSILON = 1e-7


def like(y_true, y_pred):  # type: ignore[no-untyped-def]
    """The targets in the dtype of the predictions, with an axis of one where those have one."""
    t = np.asarray(y_true).astype(y_pred.dtype)
    if np.ndim(t) + 1 == np.ndim(y_pred) and y_pred.shape[-1] == 1:
        return np.expand_dims(t, -1)
    return t


@body("keras.losses.mean_squared_error")
def mean_squared_error(y_true, y_pred):  # type: ignore[no-untyped-def]
    return np.mean(np.square(y_pred - like(y_true, y_pred)), axis=-1)


@body("keras.losses.mean_absolute_error")
def mean_absolute_error(y_true, y_pred):  # type: ignore[no-untyped-def]
    return np.mean(np.abs(y_pred - like(y_true, y_pred)), axis=-1)


@body("keras.losses.huber")
def huber(y_true, y_pred, delta=1.0):  # type: ignore[no-untyped-def]
    error = np.abs(y_pred - like(y_true, y_pred))
    return np.mean(np.where(error <= delta, 0.5 * np.square(error), delta * error - 0.5 * delta**2), axis=-1)


@body("keras.losses.log_cosh")
def log_cosh(y_true, y_pred):  # type: ignore[no-untyped-def]
    d = y_pred - like(y_true, y_pred)
    return np.mean(d + np.logaddexp(-2.0 * d, 0.0 * d) - 0.6931471805599453, axis=-1)


def clipped(p):  # type: ignore[no-untyped-def]
    return np.where(p < _EPSILON, _EPSILON, np.where(p > 1.0 - _EPSILON, 1.0 - _EPSILON, p))


@body("keras.losses.binary_crossentropy")
def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):  # type: ignore[no-untyped-def]
    t = like(y_true, y_pred)
    if label_smoothing:
        t = t * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        return np.mean(sigmoid_cross_entropy_with_logits(t, y_pred), axis=axis)
    p = clipped(y_pred)
    return np.mean(-(t * np.log(p) + (1.0 - t) * np.log(1.0 - p)), axis=axis)


@body("keras.losses.categorical_crossentropy")
def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):  # type: ignore[no-untyped-def]
    t = like(y_true, y_pred)
    if label_smoothing:
        t = t * (1.0 - label_smoothing) + label_smoothing / t.shape[axis]
    if from_logits:
        return -np.sum(t * log_softmax(y_pred, axis), axis=axis)
    p = y_pred / np.sum(y_pred, axis=axis, keepdims=True)
    return -np.sum(t * np.log(clipped(p)), axis=axis)


@body("keras.losses.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, ignore_class=None, axis=-1):  # type: ignore[no-untyped-def]
    ids = np.asarray(y_true).astype(np.int64)
    if np.ndim(ids) == np.ndim(y_pred) and ids.shape[-1] == 1:
        ids = ids[..., 0]
    if from_logits:
        return sparse_softmax_cross_entropy_with_logits(ids, y_pred)
    hot = (np.expand_dims(ids, -1) == np.arange(y_pred.shape[-1])).astype(y_pred.dtype)
    return categorical_crossentropy(hot, y_pred)


def averaged(values, weight, reduction):  # type: ignore[no-untyped-def]
    if weight is not None:
        values = values * weight
    if reduction is None or reduction == "none":
        return values
    total = np.sum(values)
    return total if reduction == "sum" else total / max(np.size(values), 1)


def loss(frame: Any, owner: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
    """A call of a loss object: its function, then the reduction."""
    if not hasattr(owner, "fn"):
        raise errors.UnknownFunctionError("a loss that is made in this function is called", frame.builder.loc)
    values = frame.call(owner.fn, (y_true, y_pred), dict(owner.kwargs))
    return frame.call(averaged, (values, sample_weight, owner.reduction), {})
