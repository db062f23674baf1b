"""Gradients by the name of an operation: `RegisterGradient`, `no_gradient`, own operations, and overrides within a graph.

The registry is global. It is asked for operations made with `operation(name)`, and for any operation whose type is in a
`gradient_override_map` that is in force.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import Operation, tensors_in, wrap
from stgrad.eager.record import numpy_promotion, record, state
from stgrad.eager.tensor import Tensor

_gradients: dict[str, tuple[Any, str]] = {}

# The types of operations in TensorFlow, where they are not the title of NumPy's name.
_TYPES = {
    "np.add": "AddV2", "np.subtract": "Sub", "np.multiply": "Mul", "np.divide": "RealDiv", "np.negative": "Neg",
    "np.absolute": "Abs", "np.power": "Pow", "np.matmul": "MatMul", "np.sum": "Sum", "np.concatenate": "ConcatV2",
    "np.stack": "Pack", "np.where": "SelectV2", "np.arctan2": "Atan2", "np.arcsin": "Asin", "np.arccos": "Acos",
    "np.arctan": "Atan", "np.clip": "ClipByValue", "np.linalg.solve": "MatrixSolve",
}  # fmt: skip


def type_of(op: Operation) -> str:
    """The TensorFlow type of an operation: 'Square' for np.square."""
    short = op.name.rsplit(".", 1)[-1]
    known = {"power": "Pow", "power_number": "Pow", "identity_of": "Identity", "take_at": "StridedSlice"}
    return _TYPES.get(op.name) or known.get(short) or short.title().replace("_", "")


class RegisterGradient:
    """Decorator that registers `gradient(op, *grads)` for the operation type of a name.

    Raises:
        TypeError: the name is no string.
        KeyError: the name has a gradient already.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        _register(self._op_type, f)
        return f


def _register(name: str, gradient: Any) -> None:
    if name in _gradients:
        raise KeyError(f"Registering two gradient with name '{name}'! (Previous registration was in {_gradients[name][1]})")
    frame = traceback.extract_stack(limit=3)[0]
    _gradients[name] = (gradient, f"{frame.name} {frame.filename}:{frame.lineno}")


def no_gradient(op_type: str) -> None:
    """Declare that an operation type has no gradient: paths end there, without an error."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


class OpView:
    """What a registered gradient sees of the operation: `inputs`, `outputs`, `type`, `name`."""

    def __init__(self, name: str, inputs: tuple[Any, ...], outputs: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        self.type = self.name = name
        self.inputs, self.outputs = inputs, outputs
        self._attributes = attributes

    def get_attr(self, name: str) -> Any:
        try:
            return self._attributes[name]
        except KeyError:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.") from None


class Registered(Operation):
    """An operation whose gradient is the one registered under a name, when it is asked for."""

    key = "registered"  # each node has an operation of its own

    def pull(self, y: Any, y_bar: Any, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
        if self.name not in _gradients:
            raise LookupError(f"gradient registry has no entry for: {self.name}")
        gradient = _gradients[self.name][0]
        inputs = tensors_in(args)
        if gradient is None:
            return [None] * len(inputs)
        bars = y_bar if isinstance(y_bar, tuple) else (y_bar,)
        bare = not any(type(b) is Tensor for b in bars)
        view = OpView(self.name, tuple(inputs), y if isinstance(y, tuple) else (y,), kwargs or {})
        with numpy_promotion(False):
            grads = gradient(view, *[Tensor(b) if bare else b for b in bars])
        listed = list(grads) if isinstance(grads, (list, tuple)) else [grads]
        if len(listed) != len(inputs):
            raise ValueError(f"Num gradients {len(listed)} generated for op {self.name} do not match num inputs {len(inputs)}")
        found = [None if g is None else convert_to_tensor(g, dtype_hint=x.dtype) for g, x in zip(listed, inputs)]
        return [g._a if bare and g is not None else g for g in found]


def operation(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an operation of that type from a function of NumPy arrays; its gradient is the one registered under the name."""

    def make(fn: Callable[..., Any]) -> Callable[..., Any]:
        op = Registered(fn, name)

        @functools.wraps(fn)
        def call(*args: Any, **attributes: Any) -> Any:
            inputs = tuple([convert_to_tensor(x) for x in args])
            y = wrap(_arrays(fn(*[x._a for x in inputs], **attributes)))
            if state.recorders:
                record(op, y, inputs, inputs, attributes)
            return y

        return call

    return make


def _arrays(y: Any) -> Any:
    return tuple([np.asarray(e) for e in y]) if isinstance(y, (tuple, list)) else np.asarray(y)


class _Overriding:
    """A recorder with some operation types replaced."""

    def __init__(self, recorder: Any, names: dict[str, str]) -> None:
        self.recorder, self.names = recorder, names
        self.passive = recorder.passive

    @property
    def ids(self) -> Any:
        return self.recorder.ids

    def add(self, op: Any, y: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any) -> None:
        name = self.names.get(type_of(op))
        if name is not None:
            op, args = Registered(op.fn, name), inputs
        self.recorder.add(op, y, inputs, args, kwargs)

    def note(self, reason: str, x: Any, y: Any) -> None:
        self.recorder.note(reason, x, y)

    def watch_variable(self, variable: Any) -> None:
        self.recorder.watch_variable(variable)


@contextmanager
def gradient_override_map(op_type_map: dict[str, str]) -> Iterator[None]:
    """Within the block, operations of these types take the gradients registered under the other names."""
    if not isinstance(op_type_map, dict):
        raise TypeError("op_type_map must be a dictionary mapping strings to strings.")
    for key, value in op_type_map.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("op_type_map keys and values must be strings.")
    before = state.recorders
    state.recorders = tuple([_Overriding(r, op_type_map) for r in before])
    try:
        yield
    finally:
        state.recorders = before


class Graph:
    """What is left of TensorFlow's graph here: a place to call `gradient_override_map` on."""

    def gradient_override_map(self, op_type_map: dict[str, str]) -> Any:
        return gradient_override_map(op_type_map)

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        yield self


_default_graph = Graph()


def get_default_graph() -> Graph:
    return _default_graph
