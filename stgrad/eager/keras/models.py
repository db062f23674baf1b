"""`Model` and `Sequential`, with the training loop of Keras over the tape."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.keras import functional, losses, metrics, optimizers
from stgrad.eager.keras.layer import Layer
from stgrad.eager.keras.layers import InputLayer
from stgrad.eager.logs import logger
from stgrad.eager.ops_array import concat
from stgrad.eager.ops_math import add_n
from stgrad.eager.record import recorders
from stgrad.eager.tape import GradientTape


class Model(Layer):
    """A layer that can be trained: `compile`, then `fit`, `evaluate`, `predict`; or a tape of your own.

    `Model(inputs, outputs)` is the model between symbolic tensors (see `functional`); subclasses write `call`.
    """

    def __init__(self, *args: Any, inputs: Any = None, outputs: Any = None, **kwargs: Any) -> None:
        if inputs is None and args and functional.symbolic(args[0]):
            inputs, outputs = args[0], args[1] if len(args) > 1 else outputs
        super().__init__(**kwargs)
        self._graph = None if inputs is None else (inputs, outputs)
        if inputs is not None:
            self._layers = functional.layers_between(outputs)
            self.built = True

    def call(self, inputs: Any, *args: Any, training: Any = None, **kwargs: Any) -> Any:
        if self.__dict__.get("_graph") is None:
            return super().call(inputs)
        symbols, outputs = self._graph
        names = [id(s) for s in structures.flatten(symbols)]
        known = dict(zip(names, structures.flatten(inputs)))
        return functional.evaluate(outputs, known, lambda layer, given, named: layer(*given, **{**_training(layer, training), **named}))

    @property
    def inputs(self) -> Any:
        return structures.flatten(self._graph[0]) if self._graph else None

    @property
    def outputs(self) -> Any:
        return structures.flatten(self._graph[1]) if self._graph else None

    @property
    def layers(self) -> list[Any]:
        """The layers that this model is made of."""
        found = self.__dict__.get("_layers")
        return found if found is not None else _layers_among([v for k, v in vars(self).items() if not k.startswith("_")])

    @layers.setter
    def layers(self, layers: Any) -> None:
        self._layers = layers

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer by name or place."""
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. Existing layers are: {[layer.name for layer in self.layers]}.")

    def save_weights(self, filepath: Any, **_: Any) -> None:
        """Write the weights, in order, to an archive of arrays."""
        with open(filepath, "wb") as file:
            np.savez(file, **{f"w{i}": w for i, w in enumerate(self.get_weights())})

    def load_weights(self, filepath: Any, **_: Any) -> None:
        """Read what `save_weights` wrote."""
        with np.load(filepath, allow_pickle=False) as stored:
            self.set_weights([stored[f"w{i}"] for i in range(len(stored.files))])

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
        self.layers = []
        self._example: Any = None  # zeros of the shape that comes next, where the shape of the input is known
        for layer in layers or []:
            self.add(layer)

    def add(self, layer: Any) -> None:
        """Append a layer."""
        if isinstance(layer, functional.KerasTensor):
            self._example = layer.example
            return
        if not callable(layer):
            raise ValueError(
                f"Only instances of `keras.Layer` can be added to a Sequential model. Received: {layer} (of type {type(layer)})"
            )
        self.layers.append(layer)
        self._build_next(layer)

    def _build_next(self, layer: Any) -> None:
        """Make the weights of a layer whose input has a known shape."""
        shape = getattr(layer, "_input_shape", getattr(layer, "shape", None) if isinstance(layer, InputLayer) else None)
        if self._example is None and shape is not None:
            self._example = functional.make_input(shape).example
        if self._example is not None:
            try:
                with recorders(()):
                    self._example = layer(self._example)
            except (InvalidArgumentError, ValueError):  # an extent of 1 stands for an open one, and may be too small
                self._example = None

    def pop(self) -> Any:
        return self.layers.pop()

    def call(self, inputs: Any, training: Any = None) -> Any:
        for layer in self.layers:
            inputs = layer(inputs, **_training(layer, training))
        return inputs


def _layers_among(values: Any) -> list[Any]:
    found: dict[int, Any] = {}
    for value in values:
        inner = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else None
        for layer in _layers_among(inner) if inner is not None else [value] if isinstance(value, Layer) else []:
            found.setdefault(id(layer), layer)
    return list(found.values())


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
