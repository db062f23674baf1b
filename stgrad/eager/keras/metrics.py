"""Metrics: running means over what they are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.keras import losses
from stgrad.eager.tensor import Tensor


class Metric:
    """Base: `update_state`, `result`, `reset_state`; a call updates and gives the result."""

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        self.name = name or type(self).__name__.lower()
        self.reset_state()

    def reset_state(self) -> None:
        self.total, self.count = 0.0, 0.0

    reset_states = reset_state

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def result(self) -> Tensor:
        return Tensor(np.float32(self.total / self.count if self.count else 0.0))

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        self.update_state(*args, **kwargs)
        return self.result()


class Mean(Metric):
    """The mean of everything seen."""

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        v = np.asarray(convert_to_tensor(values)._a, np.float64)
        w = (
            np.ones_like(v)
            if sample_weight is None
            else np.broadcast_to(np.asarray(convert_to_tensor(sample_weight)._a, np.float64), v.shape)
        )
        self.total += float(np.sum(v * w))
        self.count += float(np.sum(w))


class Sum(Mean):
    """The sum of everything seen."""

    def result(self) -> Tensor:
        return Tensor(np.float32(self.total))


class MeanMetricWrapper(Mean):
    """The mean of a function of (y_true, y_pred)."""

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name or fn.__name__, dtype)
        self._fn, self._kwargs = fn, kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        super().update_state(self._fn(y_true, y_pred, **self._kwargs), sample_weight)


def _arrays(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    return np.asarray(convert_to_tensor(y_true)._a), np.asarray(convert_to_tensor(y_pred)._a)


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    t, p = _arrays(y_true, y_pred)
    return Tensor(np.mean(t == (p > threshold), axis=-1).astype(np.float32))


def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    t, p = _arrays(y_true, y_pred)
    return Tensor((np.argmax(t, -1) == np.argmax(p, -1)).astype(np.float32))


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    t, p = _arrays(y_true, y_pred)
    t = t[..., 0] if t.ndim == p.ndim and t.shape[-1] == 1 else t
    return Tensor((t == np.argmax(p, -1)).astype(np.float32))


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """The accuracy that fits the shapes."""
    t, p = _arrays(y_true, y_pred)
    if p.ndim and p.shape[-1] > 1:
        return categorical_accuracy(t, p) if t.shape == p.shape else sparse_categorical_accuracy(t, p)
    return binary_accuracy(t.reshape(p.shape), p)


def _metric(fn: Callable[..., Any], name: str) -> Any:
    def __init__(self: Any, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:  # noqa: N807
        MeanMetricWrapper.__init__(self, fn, name, dtype, **kwargs)

    return type(name, (MeanMetricWrapper,), {"__init__": __init__, "__doc__": f"The mean of `{fn.__name__}`."})


Accuracy = _metric(lambda t, p: Tensor((np.asarray(t) == np.asarray(p)).astype(np.float32)), "Accuracy")
BinaryAccuracy, CategoricalAccuracy = _metric(binary_accuracy, "BinaryAccuracy"), _metric(categorical_accuracy, "CategoricalAccuracy")
SparseCategoricalAccuracy = _metric(sparse_categorical_accuracy, "SparseCategoricalAccuracy")
MeanSquaredError, MeanAbsoluteError = (
    _metric(losses.mean_squared_error, "MeanSquaredError"),
    _metric(losses.mean_absolute_error, "MeanAbsoluteError"),
)
BinaryCrossentropy = _metric(losses.binary_crossentropy, "BinaryCrossentropy")


class RootMeanSquaredError(Mean):
    """The root of the mean squared error."""

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        super().update_state(losses.mean_squared_error(y_true, y_pred), sample_weight)

    def result(self) -> Tensor:
        return Tensor(np.sqrt(super().result()._a))


CategoricalCrossentropy = _metric(losses.categorical_crossentropy, "CategoricalCrossentropy")
SparseCategoricalCrossentropy = _metric(losses.sparse_categorical_crossentropy, "SparseCategoricalCrossentropy")
KLDivergence, Poisson = _metric(losses.kl_divergence, "KLDivergence"), _metric(losses.poisson, "Poisson")
Hinge, LogCoshError = _metric(losses.hinge, "Hinge"), _metric(losses.log_cosh, "LogCoshError")
CosineSimilarity = _metric(lambda t, p, axis=-1: -losses.cosine_similarity(t, p, axis), "CosineSimilarity")
MeanAbsolutePercentageError = _metric(losses.mean_absolute_percentage_error, "MeanAbsolutePercentageError")


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    return sparse_top_k_categorical_accuracy(np.argmax(_arrays(y_true, y_pred)[0], -1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    t, p = _arrays(y_true, y_pred)
    own = np.take_along_axis(p, np.asarray(t, np.int64).reshape(*p.shape[:-1], 1), axis=-1)
    return Tensor((np.sum(p > own, -1) < k).astype(np.float32))


TopKCategoricalAccuracy = _metric(top_k_categorical_accuracy, "TopKCategoricalAccuracy")
SparseTopKCategoricalAccuracy = _metric(sparse_top_k_categorical_accuracy, "SparseTopKCategoricalAccuracy")


class _Confusion(Metric):
    """Counts of right and wrong answers at a threshold."""

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        self.threshold = 0.5 if thresholds is None else float(thresholds)
        super().__init__(name, dtype)

    def reset_state(self) -> None:
        self.counts = np.zeros((2, 2))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        t, p = _arrays(y_true, y_pred)
        t, said = np.ravel(t).astype(bool), np.ravel(p) > self.threshold
        w = np.ones(t.shape) if sample_weight is None else np.broadcast_to(np.ravel(convert_to_tensor(sample_weight)._a), t.shape)
        for i in (0, 1):
            for j in (0, 1):
                self.counts[i, j] += np.sum(w * ((t == i) & (said == j)))

    def result(self) -> Tensor:
        return Tensor(np.float32(self.value(*self.counts.ravel())))

    def value(self, tn: float, fp: float, fn: float, tp: float) -> float:
        raise NotImplementedError


def _confusion(name: str, value: Callable[..., float], doc: str) -> Any:
    return type(name, (_Confusion,), {"value": lambda self, *counts: value(*counts), "__doc__": doc})


TrueNegatives = _confusion("TrueNegatives", lambda tn, fp, fn, tp: tn, "The number of right denials.")
FalsePositives = _confusion("FalsePositives", lambda tn, fp, fn, tp: fp, "The number of wrong assents.")
FalseNegatives = _confusion("FalseNegatives", lambda tn, fp, fn, tp: fn, "The number of wrong denials.")
TruePositives = _confusion("TruePositives", lambda tn, fp, fn, tp: tp, "The number of right assents.")
Precision = _confusion("Precision", lambda tn, fp, fn, tp: tp / max(tp + fp, 1e-30), "The share of assents that are right.")
Recall = _confusion("Recall", lambda tn, fp, fn, tp: tp / max(tp + fn, 1e-30), "The share of what is true that is found.")
_BY_NAME: dict[str, Any] = {
    "accuracy": accuracy, "acc": accuracy, "binary_accuracy": binary_accuracy, "categorical_accuracy": categorical_accuracy,
    "sparse_categorical_accuracy": sparse_categorical_accuracy, "mse": losses.mean_squared_error, "mae": losses.mean_absolute_error,
    "mean_squared_error": losses.mean_squared_error, "mean_absolute_error": losses.mean_absolute_error,
}  # fmt: skip


def get(identifier: Any) -> Any:
    """A metric from its name, a function, a class or itself."""
    if isinstance(identifier, Metric):
        return identifier
    if isinstance(identifier, str):
        if identifier not in _BY_NAME:
            raise ValueError(f"Could not interpret metric identifier: {identifier}")
        return MeanMetricWrapper(_BY_NAME[identifier], identifier)
    return identifier() if isinstance(identifier, type) else MeanMetricWrapper(identifier)
