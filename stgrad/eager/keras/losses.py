"""Losses as functions of (y_true, y_pred), one value for each example, and as objects that average them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import nn, ops_math
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.ops_array import one_hot
from stgrad.eager.ops_index import where
from stgrad.eager.ops_products import clip_by_value, l2_normalize
from stgrad.eager.ops_reduce import reduce_max, reduce_mean, reduce_sum
from stgrad.eager.tensor import Tensor

_EPSILON = 1e-7


def _pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    p = convert_to_tensor(y_pred)
    t = ops_math.cast(y_true, p.dtype)
    if t._a.ndim + 1 == p._a.ndim and p._a.shape[-1] == 1:
        t = convert_to_tensor(t)[..., None]
    return t, p


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    return reduce_mean(ops_math.squared_difference(p, t), -1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    return reduce_mean(ops_math.abs(p - t), -1)


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    t, p = _pair(y_true, y_pred)
    error = ops_math.abs(p - t)
    return reduce_mean(where(error <= delta, 0.5 * ops_math.square(error), delta * error - 0.5 * delta**2), -1)


def log_cosh(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    d = p - t
    return reduce_mean(d + ops_math.softplus(-2.0 * d) - float(np.log(2.0)), -1)


def hinge(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    t = where(t > 0, t, t * 2.0 - 1.0) if np.all((t._a == 0) | (t._a == 1)) else t
    return reduce_mean(ops_math.maximum(1.0 - t * p, 0.0), -1)


def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1) -> Any:
    t, p = _pair(y_true, y_pred)
    if label_smoothing:
        t = t * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        return reduce_mean(nn.sigmoid_cross_entropy_with_logits(t, p), axis)
    p = clip_by_value(p, _EPSILON, 1.0 - _EPSILON)
    return reduce_mean(-(t * ops_math.log(p) + (1.0 - t) * ops_math.log(1.0 - p)), axis)


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1) -> Any:
    t, p = _pair(y_true, y_pred)
    if label_smoothing:
        t = t * (1.0 - label_smoothing) + label_smoothing / t._a.shape[axis]
    if from_logits:
        return nn.softmax_cross_entropy_with_logits(t, p, axis)
    p = p / reduce_sum(p, axis, keepdims=True)
    return -reduce_sum(t * ops_math.log(clip_by_value(p, _EPSILON, 1.0 - _EPSILON)), axis)


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, ignore_class: Any = None, axis: int = -1) -> Any:
    ids = ops_math.cast(y_true, np.int64)
    p = convert_to_tensor(y_pred)
    if ids._a.ndim == p._a.ndim and ids._a.shape[-1] == 1:
        ids = Tensor(ids._a[..., 0])
    if from_logits:
        return nn.sparse_softmax_cross_entropy_with_logits(ids, p)
    return categorical_crossentropy(one_hot(ids, p._a.shape[-1], dtype=p.dtype), p)


def kl_divergence(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    t, p = clip_by_value(t, _EPSILON, 1.0), clip_by_value(p, _EPSILON, 1.0)
    return reduce_sum(t * ops_math.log(t / p), -1)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    t, p = _pair(y_true, y_pred)
    return -reduce_sum(l2_normalize(t, axis) * l2_normalize(p, axis), axis)


def poisson(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    return reduce_mean(p - t * ops_math.log(p + _EPSILON), -1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    return ops_math.maximum(reduce_max((1.0 - t) * p, -1) - reduce_sum(t * p, -1) + 1.0, 0.0)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    t = where(t > 0, t, t * 2.0 - 1.0) if np.all((t._a == 0) | (t._a == 1)) else t
    return reduce_mean(ops_math.square(ops_math.maximum(1.0 - t * p, 0.0)), -1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    t, p = _pair(y_true, y_pred)
    return 100.0 * reduce_mean(ops_math.abs((t - p) / ops_math.maximum(ops_math.abs(t), _EPSILON)), -1)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    t, p = (ops_math.log(ops_math.maximum(x, _EPSILON) + 1.0) for x in _pair(y_true, y_pred))
    return reduce_mean(ops_math.squared_difference(p, t), -1)


class Loss:
    """A loss function with a reduction over the batch."""

    def __init__(
        self, fn: Callable[..., Any], reduction: str | None = "sum_over_batch_size", name: str | None = None, **kwargs: Any
    ) -> None:
        self.fn, self.reduction, self.kwargs = fn, reduction, kwargs
        self.name = name or fn.__name__

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        values = self.fn(y_true, y_pred, **self.kwargs)
        if sample_weight is not None:
            values = values * ops_math.cast(sample_weight, values.dtype)
        if self.reduction in (None, "none"):
            return values
        total = reduce_sum(values)
        return total if self.reduction == "sum" else total / float(max(values._a.size, 1))


def _loss(fn: Callable[..., Any], name: str) -> Any:
    def __init__(self: Any, *args: Any, reduction: str | None = "sum_over_batch_size", **kwargs: Any) -> None:  # noqa: N807
        names = list(fn.__code__.co_varnames[2 : fn.__code__.co_argcount])
        Loss.__init__(self, fn, reduction, kwargs.pop("name", None), **dict(zip(names, args)), **kwargs)

    return type(name, (Loss,), {"__init__": __init__, "__doc__": f"`{fn.__name__}`, averaged over the batch."})


MeanSquaredError, MeanAbsoluteError = _loss(mean_squared_error, "MeanSquaredError"), _loss(mean_absolute_error, "MeanAbsoluteError")
Huber, LogCosh, Hinge = _loss(huber, "Huber"), _loss(log_cosh, "LogCosh"), _loss(hinge, "Hinge")
BinaryCrossentropy = _loss(binary_crossentropy, "BinaryCrossentropy")
CategoricalCrossentropy = _loss(categorical_crossentropy, "CategoricalCrossentropy")
SparseCategoricalCrossentropy = _loss(sparse_categorical_crossentropy, "SparseCategoricalCrossentropy")
KLDivergence, CosineSimilarity, Poisson = (
    _loss(kl_divergence, "KLDivergence"),
    _loss(cosine_similarity, "CosineSimilarity"),
    _loss(poisson, "Poisson"),
)
CategoricalHinge, SquaredHinge = _loss(categorical_hinge, "CategoricalHinge"), _loss(squared_hinge, "SquaredHinge")
MeanAbsolutePercentageError = _loss(mean_absolute_percentage_error, "MeanAbsolutePercentageError")
MeanSquaredLogarithmicError = _loss(mean_squared_logarithmic_error, "MeanSquaredLogarithmicError")
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kl_divergence
logcosh = log_cosh
MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
_SHORT = {"mse": "mean_squared_error", "mae": "mean_absolute_error", "kld": "kl_divergence", "mape": "mean_absolute_percentage_error"}


def get(identifier: Any) -> Any:
    """A loss that averages over the batch, from a name, a function or itself."""
    if identifier is None or isinstance(identifier, Loss):
        return identifier
    if isinstance(identifier, str):
        identifier = _SHORT.get(identifier.lower(), identifier)
        found = globals().get(identifier)
        if found is None:
            raise ValueError(f"Could not interpret loss identifier: {identifier}")
        return found() if isinstance(found, type) else Loss(found)
    return identifier() if isinstance(identifier, type) else Loss(identifier)
