"""`Layer`: a module that makes its weights when it is first called."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from stgrad.eager import dtypes, structures
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.keras import functional, initializers, regularizers
from stgrad.eager.module import Module
from stgrad.eager.scopes import name_scope
from stgrad.eager.tensor import is_tensor
from stgrad.eager.variable import Variable

_names: Counter[str] = Counter()


class Layer(Module):
    """Subclasses write `build(input_shape)`, which adds weights, and `call(inputs, ...)`.

    A layer has no variables before its first call.
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        if kwargs.keys() - {"input_shape", "input_dim", "activity_regularizer", "autocast"}:
            raise ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}")
        super().__init__(_fresh_name(type(self)) if name is None else name)
        self.trainable = trainable
        self.built = False
        self._dtype = dtypes.as_dtype(dtypes.float32 if dtype is None else dtype)
        self._own: list[Variable] = []
        shape = kwargs.get("input_shape", (kwargs["input_dim"],) if "input_dim" in kwargs else None)
        if shape is not None:
            self._input_shape = tuple(shape)

    def build(self, input_shape: Any) -> None:
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `call()` method implemented.")

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_tensor(inputs) and functional.symbolic((inputs, args)):
            return functional.apply(self, (inputs, *args), kwargs)
        inputs = structures.map_structure(
            lambda x: x if is_tensor(x) or x is None else convert_to_tensor(x, dtype_hint=self._dtype), inputs
        )
        if not self.built:
            shapes = structures.map_structure(lambda x: None if x is None else x.shape, inputs)
            with name_scope(self.name):
                self.build(shapes)
            self.built = True
        return self.call(inputs, *args, **kwargs)

    def add_weight(
        self, shape: Any = (), initializer: Any = "glorot_uniform", dtype: Any = None, trainable: bool = True, regularizer: Any = None,
        constraint: Any = None, name: str | None = None, **_: Any,
    ) -> Variable:  # fmt: skip
        """A variable of this layer."""
        make = initializers.get(initializer)
        value = make(tuple(shape), dtype=self._dtype if dtype is None else dtypes.as_dtype(dtype))
        weight = Variable(value, trainable=trainable and self.trainable, name=name, constraint=constraint)
        weight.regularizer = regularizers.get(regularizer)
        self._own.append(weight)
        return weight

    # -------------------------------------------------------------- weights

    def _ordered(self) -> list[Variable]:
        """The layer's own weights in the order they were made, then those of its parts."""
        own = {id(v): v for v in self._own}
        found = dict(own)
        for name, value in vars(self).items():
            if name != "_own":
                _collect(value, found, {id(self)})
        return list(found.values())

    @property
    def variables(self) -> list[Variable]:
        return self._ordered()

    weights = variables

    @property
    def trainable_variables(self) -> list[Variable]:
        return [v for v in self._ordered() if v.trainable] if self.trainable else []

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self) -> list[Variable]:
        trainable = {id(v) for v in self.trainable_variables}
        return [v for v in self._ordered() if id(v) not in trainable]

    non_trainable_weights = non_trainable_variables

    @property
    def losses(self) -> list[Any]:
        return [v.regularizer(v) for v in self._ordered() if getattr(v, "regularizer", None) is not None]

    @property
    def dtype(self) -> Any:
        return self._dtype.name

    def get_weights(self) -> list[Any]:
        return [v.numpy() for v in self.variables]

    def set_weights(self, weights: Any) -> None:
        own = self.variables
        if len(own) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of length {len(weights)}, "
                f"but the layer was expecting {len(own)} weights."
            )
        for variable, value in zip(own, weights):
            variable.assign(value)

    def count_params(self) -> int:
        return sum(int(v._a.size) for v in self.variables)


def _collect(value: Any, found: dict[int, Variable], seen: set[int]) -> None:
    if isinstance(value, Variable):
        found.setdefault(id(value), value)
    elif isinstance(value, Layer) and id(value) not in seen:
        seen.add(id(value))
        for variable in value._ordered():
            found.setdefault(id(variable), variable)
    elif isinstance(value, Module) and id(value) not in seen:
        seen.add(id(value))
        for variable in value.variables:
            found.setdefault(id(variable), variable)
    elif isinstance(value, (list, tuple)):
        for e in value:
            _collect(e, found, seen)
    elif isinstance(value, dict):
        for e in value.values():
            _collect(e, found, seen)


def _fresh_name(cls: type) -> str:
    base = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()
    count = _names[base]
    _names[base] += 1
    return base if count == 0 else f"{base}_{count}"
