"""Keras's functional style: symbolic tensors that remember the layers they went through, and the model between two of them.

A symbolic tensor carries an example of its value, zeros with a batch of one: layers are built by calling them on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import dtypes, structures
from stgrad.eager.record import recorders
from stgrad.eager.shapes import TensorShape
from stgrad.eager.tensor import Tensor


class KerasTensor:
    """The result of a layer, or an input, before there is a value."""

    def __init__(self, example: Any, layer: Any = None, arguments: tuple[Any, Any] = ((), {}), open_axes: tuple[int, ...] = (0,)) -> None:
        self.example, self.layer, self.arguments = example, layer, arguments
        self.shape = TensorShape([None if i in open_axes else n for i, n in enumerate(example._a.shape)])
        self.dtype = example.dtype.name

    @property
    def ndim(self) -> int:
        return int(self.example._a.ndim)

    def __repr__(self) -> str:
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype}>"

    def __getitem__(self, index: Any) -> KerasTensor:
        return apply(lambda x: x[index], (self,), {})


def _operator(function: Callable[..., Any], swapped: bool = False) -> Any:
    def method(self: KerasTensor, other: Any = None) -> KerasTensor:
        return apply(function, (other, self) if swapped else (self, other), {})

    return method


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul"):
    setattr(KerasTensor, f"__{_name}__", _operator(getattr(operator, _name)))
    setattr(KerasTensor, f"__r{_name}__", _operator(getattr(operator, _name), swapped=True))
KerasTensor.__neg__ = lambda self: apply(operator.neg, (self,), {})  # type: ignore[attr-defined]


def make_input(
    shape: Any = None, batch_size: Any = None, dtype: Any = None, name: str | None = None, batch_shape: Any = None, **_: Any
) -> KerasTensor:
    """A symbolic input; `shape` is that of one example."""
    inner = tuple(shape) if shape is not None else tuple(batch_shape[1:])
    found = KerasTensor(
        Tensor(np.zeros((1, *[1 if n is None else int(n) for n in inner]), dtypes.as_dtype(dtype or "float32").dtype)),
        open_axes=(0, *[i + 1 for i, n in enumerate(inner) if n is None]),
    )
    found.name = name  # type: ignore[attr-defined]
    return found


def symbolic(arguments: Any) -> bool:
    """Whether a symbolic tensor is among the leaves."""
    return any(isinstance(leaf, KerasTensor) for leaf in structures.flatten(arguments))


def apply(layer: Any, args: Any, kwargs: Any) -> Any:
    """The symbolic results of a layer or function."""
    with recorders(()):
        example = layer(*_replaced(args, lambda t: t.example), **_replaced(kwargs, lambda t: t.example))
    leaves, rebuild = structures.flatten_with(example)
    if len(leaves) == 1 and leaves[0] is example:
        return KerasTensor(example, layer, (args, kwargs))
    whole = KerasTensor(leaves[0], layer, (args, kwargs))
    return rebuild([KerasTensor(leaf, _part(i), ((whole,), {})) for i, leaf in enumerate(leaves)])


def _part(i: int) -> Callable[[Any], Any]:
    return lambda result: structures.flatten(result)[i]


def _replaced(arguments: Any, value: Callable[[KerasTensor], Any]) -> Any:
    return structures.map_structure(lambda leaf: value(leaf) if isinstance(leaf, KerasTensor) else leaf, arguments)


def evaluate(outputs: Any, known: dict[int, Any], call: Callable[[Any, Any, Any], Any]) -> Any:
    """The values of symbolic tensors; `known` has those of the inputs, by id, and `call(layer, args, kwargs)` calls a layer."""

    def value(t: KerasTensor) -> Any:
        if id(t) not in known:
            if t.layer is None:
                raise ValueError("an output depends on an input that is not among the inputs of the model")
            args, kwargs = t.arguments
            known[id(t)] = call(t.layer, _replaced(args, value), _replaced(kwargs, value))
        return known[id(t)]

    return _replaced(outputs, value)


def layers_between(outputs: Any) -> list[Any]:
    """The layers that lead to the outputs, in the order they are called, each once."""
    found: dict[int, Any] = {}
    seen: set[int] = set()

    def visit(t: Any) -> None:
        if id(t) in seen or not isinstance(t, KerasTensor):
            return
        seen.add(id(t))
        for leaf in structures.flatten(t.arguments):
            visit(leaf)
        if hasattr(t.layer, "variables"):
            found.setdefault(id(t.layer), t.layer)

    for output in structures.flatten(outputs):
        visit(output)
    return list(found.values())
