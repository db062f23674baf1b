"""`Model` and `Sequential`, with the training loop of Keras over the tape."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.keras import losses, metrics, optimizers
from stgrad.eager.keras.layer import Layer
from stgrad.eager.logs import logger
from stgrad.eager.ops_array import concat
from stgrad.eager.ops_math import add_n
from stgrad.eager.tape import GradientTape


class Model(Layer):
    """A layer that can be trained: `compile`, then `fit`, `evaluate`, `predict`; or a tape of your own."""

    def compile(self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None, **_: Any) -> None:
        """Choose the optimiser, the loss and the metrics, by name or as objects."""
        self.optimizer = optimizers.get(optimizer)
        self.loss = losses.get(loss)
        self._metrics = [_metric(m) for m in metrics or []]

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int = 32,
        epochs: int = 1,
        verbose: Any = 0,
        shuffle: bool = True,
        validation_data: Any = None,
        **_: Any,
    ) -> History:
        """Train on arrays; returns the losses and metrics of each epoch."""
        history = History()
        for epoch in range(epochs):
            total = _Mean()
            for bx, by in _batches(x, y, batch_size, shuffle):
                total.add(self.train_step((bx, by)), _rows(bx))
            logs = total.result()
            if validation_data is not None:
                logs |= {f"val_{k}": v for k, v in self.evaluate(*validation_data, batch_size=batch_size, return_dict=True).items()}
            history.append(logs)
            if verbose:
                logger.info("epoch %d: %s", epoch + 1, logs)
        return history

    def train_step(self, data: Any) -> dict[str, float]:
        """One step on one batch."""
        x, y = data
        with GradientTape() as tape:
            prediction = self(x, **_training(self, True))
            loss = self.compute_loss(x, y, prediction)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return self._logs(loss, y, prediction)

    def test_step(self, data: Any) -> dict[str, float]:
        x, y = data
        prediction = self(x, **_training(self, False))
        return self._logs(self.compute_loss(x, y, prediction), y, prediction)

    def compute_loss(self, x: Any, y: Any, y_pred: Any) -> Any:
        loss = self.loss(y, y_pred)
        return add_n([loss, *self.losses]) if self.losses else loss

    def _logs(self, loss: Any, y: Any, prediction: Any) -> dict[str, float]:
        found = {"loss": float(loss)}
        for metric in self._metrics:
            metric.reset_state()
            metric.update_state(y, prediction)
            found[metric.name] = float(metric.result())
        return found

    def evaluate(self, x: Any = None, y: Any = None, batch_size: int = 32, verbose: Any = 0, return_dict: bool = False, **_: Any) -> Any:
        """Loss and metrics on arrays."""
        total = _Mean()
        for bx, by in _batches(x, y, batch_size, False):
            total.add(self.test_step((bx, by)), _rows(bx))
        logs = total.result()
        values = list(logs.values())
        return logs if return_dict else values if len(values) > 1 else values[0]

    def predict(self, x: Any, batch_size: int = 32, verbose: Any = 0, **_: Any) -> Any:
        """Outputs as a NumPy array."""
        parts = [self(bx, **_training(self, False)) for bx, _ in _batches(x, None, batch_size, False)]
        return concat(parts, 0).numpy()

    def summary(self, print_fn: Any = print) -> None:
        print_fn(f"{self.name}: {self.count_params()} parameters")
        for variable in self.variables:
            print_fn(f"  {variable.path} {variable.shape}")


class Sequential(Model):
    """Layers one after the other."""

    def __init__(self, layers: Any = None, trainable: bool = True, name: str | None = None) -> None:
        super().__init__(trainable=trainable, name=name)
        self.layers: list[Any] = []
        for layer in layers or []:
            self.add(layer)

    def add(self, layer: Any) -> None:
        """Append a layer."""
        if not callable(layer):
            raise ValueError(
                f"Only instances of `keras.Layer` can be added to a Sequential model. Received: {layer} (of type {type(layer)})"
            )
        self.layers.append(layer)

    def pop(self) -> Any:
        return self.layers.pop()

    def call(self, inputs: Any, training: Any = None) -> Any:
        for layer in self.layers:
            inputs = layer(inputs, **_training(layer, training))
        return inputs


def _training(layer: Any, training: Any) -> dict[str, Any]:
    """The training flag, for layers that take it."""
    if training is None:
        return {}
    call = layer.call if isinstance(layer, Layer) else layer
    try:
        return {"training": training} if "training" in inspect.signature(call).parameters else {}
    except (TypeError, ValueError):
        return {}


class History:
    """What `fit` returns: `history`, a list for each quantity."""

    def __init__(self) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []

    def append(self, logs: dict[str, float]) -> None:
        self.epoch.append(len(self.epoch))
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)


class _Mean:
    """Means weighted by the number of examples."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.count = 0

    def add(self, logs: dict[str, float], n: int) -> None:
        self.count += n
        for name, value in logs.items():
            self.sums[name] = self.sums.get(name, 0.0) + value * n

    def result(self) -> dict[str, float]:
        return {name: total / max(self.count, 1) for name, total in self.sums.items()}


def _rows(x: Any) -> int:
    return len(structures.flatten(x)[0])


def _batches(x: Any, y: Any, size: int, shuffle: bool) -> Iterator[tuple[Any, Any]]:
    if y is None and not hasattr(x, "shape") and not isinstance(x, (list, tuple, dict)):
        yield from x  # an iterable of batches
        return
    arrays = structures.map_structure(lambda a: np.asarray(convert_to_tensor(a)._a), (x, y) if y is not None else (x,))
    order = np.arange(_rows(arrays))
    if shuffle:
        from stgrad.eager.random import shuffle as shuffled

        order = shuffled(order).numpy()
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        batch = structures.map_structure(lambda a, rows=rows: convert_to_tensor(a[rows]), arrays)
        yield batch[0], batch[1] if len(batch) > 1 else None


def _metric(identifier: Any) -> Any:
    return metrics.get(identifier)
