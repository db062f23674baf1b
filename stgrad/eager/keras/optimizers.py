"""Optimisers: SGD with momentum, RMSprop, Adam, Adagrad. State is kept in variables, one set for each trained variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import ops_products
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.keras import schedules as schedules
from stgrad.eager.keras.schedules import ExponentialDecay as ExponentialDecay
from stgrad.eager.record import recorders, state
from stgrad.eager.tape import GradientTape
from stgrad.eager.variable import Variable


class Optimizer:
    """Base: `apply_gradients`, `minimize`, `learning_rate`, `iterations`, `variables`."""

    slots: tuple[str, ...] = ()
    initial = 0.0

    def __init__(
        self, learning_rate: Any, weight_decay: float | None = None, clipnorm: float | None = None, clipvalue: float | None = None,
        global_clipnorm: float | None = None, name: str | None = None, **_: Any,
    ) -> None:  # fmt: skip
        self._learning_rate = learning_rate
        self.weight_decay, self.clipnorm, self.clipvalue, self.global_clipnorm = weight_decay, clipnorm, clipvalue, global_clipnorm
        self.name = name or type(self).__name__
        self.iterations = Variable(np.int64(0), trainable=False, name="iterations")
        self._state: dict[int, dict[str, Any]] = {}
        self._trained: dict[int, Variable] = {}

    @property
    def learning_rate(self) -> Any:
        if callable(self._learning_rate):
            return self._learning_rate(self.iterations)
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._learning_rate = value

    lr = learning_rate

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None, **_: Any) -> Any:
        """One step for pairs of gradient and variable; None gradients are left out, with an error where all are None."""
        pairs = [(g, v) for g, v in grads_and_vars]
        kept = [(convert_to_tensor(g), v) for g, v in pairs if g is not None]
        if pairs and not kept:
            raise ValueError(f"No gradients provided for any variable: {[v.name for _, v in pairs]}.")
        with recorders(tuple(r for r in state.recorders if getattr(r, "passive", False))):
            self._step(self._clipped(kept))
        return self.iterations

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        self.apply_gradients(zip(grads, list(self._trained.values()) if trainable_variables is None else trainable_variables))

    def minimize(self, loss: Any, var_list: Any, tape: GradientTape | None = None, **_: Any) -> Any:
        """One step on a loss: a function of no arguments, or a tensor with its tape."""
        if callable(loss) and tape is None:
            with GradientTape() as tape:
                value = loss()
        elif tape is None:
            raise ValueError("`tape` is required when a `Tensor` loss is passed.")
        else:
            value = loss
        variables = var_list() if callable(var_list) else var_list
        return self.apply_gradients(zip(tape.gradient(value, variables), variables))

    def _clipped(self, pairs: list[Any]) -> list[Any]:
        if self.clipvalue is not None:
            pairs = [(ops_products.clip_by_value(g, -self.clipvalue, self.clipvalue), v) for g, v in pairs]
        if self.clipnorm is not None:
            pairs = [(ops_products.clip_by_norm(g, self.clipnorm), v) for g, v in pairs]
        if self.global_clipnorm is not None:
            clipped, _ = ops_products.clip_by_global_norm([g for g, _ in pairs], self.global_clipnorm)
            pairs = [(g, v) for g, (_, v) in zip(clipped, pairs)]
        return pairs

    def _step(self, pairs: list[Any]) -> None:
        rate = float(convert_to_tensor(self.learning_rate)._a)
        step = int(self.iterations._a) + 1
        for g, variable in pairs:
            slots = self._state.get(variable._id)
            if slots is None:
                slots = self._state[variable._id] = {name: np.full_like(variable._a, self.initial) for name in self.slots}
                self._trained[variable._id] = variable
            value = variable._a
            if self.weight_decay:
                value = value - value * value.dtype.type(rate * self.weight_decay)
            new = self.update(value, np.asarray(g._a), slots, rate, step)
            if variable.constraint is not None:
                new = convert_to_tensor(variable.constraint(convert_to_tensor(new)))._a
            variable.assign(convert_to_tensor(new, variable.dtype))
        self.iterations.assign_add(1)

    def update(self, value: Any, g: Any, slots: dict[str, Any], rate: float, step: int) -> Any:
        """The new value of a variable from its value, gradient and state, all arrays."""
        raise NotImplementedError

    @property
    def variables(self) -> list[Any]:
        return [self.iterations]

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "learning_rate": self._learning_rate}


class SGD(Optimizer):
    """Gradient descent, with momentum or Nesterov's."""

    slots = ("momentum",)

    def __init__(self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False, **kwargs: Any) -> None:
        super().__init__(learning_rate, **kwargs)
        if not isinstance(momentum, float) or not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be a float between [0, 1].")
        self.momentum, self.nesterov = momentum, nesterov

    def update(self, value: Any, g: Any, slots: dict[str, Any], rate: float, step: int) -> Any:
        if not self.momentum:
            return value - rate * g
        m = slots["momentum"] = self.momentum * slots["momentum"] - rate * g
        return value + (self.momentum * m - rate * g if self.nesterov else m)


class Adam(Optimizer):
    """Adam (Kingma & Ba 2014), with the AMSGrad variant."""

    slots = ("m", "v", "v_max")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon, self.amsgrad = beta_1, beta_2, epsilon, amsgrad

    def update(self, value: Any, g: Any, slots: dict[str, Any], rate: float, step: int) -> Any:
        alpha = rate * np.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)
        m = slots["m"] = slots["m"] + (g - slots["m"]) * (1 - self.beta_1)
        v = slots["v"] = slots["v"] + (g * g - slots["v"]) * (1 - self.beta_2)
        if self.amsgrad:
            v = slots["v_max"] = np.maximum(slots["v_max"], v)
        return value - (m * float(alpha)) / (np.sqrt(v) + self.epsilon)


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float = 0.004, **kwargs: Any) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **kwargs)


class RMSprop(Optimizer):
    """Gradients divided by a running root mean square."""

    slots = ("velocity", "momentum", "average")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def update(self, value: Any, g: Any, slots: dict[str, Any], rate: float, step: int) -> Any:
        v = slots["velocity"] = self.rho * slots["velocity"] + (1 - self.rho) * g * g
        if self.centered:
            mean = slots["average"] = self.rho * slots["average"] + (1 - self.rho) * g
            v = v - mean * mean
        change = rate * g / np.sqrt(v + self.epsilon)
        if self.momentum:
            change = slots["momentum"] = self.momentum * slots["momentum"] + change
        return value - change


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares."""

    slots = ("accumulator",)

    def __init__(self, learning_rate: Any = 0.001, initial_accumulator_value: float = 0.1, epsilon: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(learning_rate, **kwargs)
        self.initial, self.epsilon = initial_accumulator_value, epsilon

    def update(self, value: Any, g: Any, slots: dict[str, Any], rate: float, step: int) -> Any:
        total = slots["accumulator"] = slots["accumulator"] + g * g
        return value - rate * g / np.sqrt(total + self.epsilon)


class Adamax(Optimizer):
    """Adam by the maximum norm."""

    slots = ("m", "u")

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def update(self, value: Any, g: Any, slots: dict[str, Any], rate: float, step: int) -> Any:
        m = slots["m"] = slots["m"] + (g - slots["m"]) * (1 - self.beta_1)
        u = slots["u"] = np.maximum(self.beta_2 * slots["u"], np.abs(g))
        return value - (rate * m) / ((1 - self.beta_1**step) * (u + self.epsilon))


class Adadelta(Optimizer):
    """Steps by the ratio of two running means of squares."""

    slots = ("squares", "steps")

    def __init__(self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(learning_rate, **kwargs)
        self.rho, self.epsilon = rho, epsilon

    def update(self, value: Any, g: Any, slots: dict[str, Any], rate: float, step: int) -> Any:
        squares = slots["squares"] = self.rho * slots["squares"] + (1 - self.rho) * g * g
        change = -np.sqrt(slots["steps"] + self.epsilon) * g / np.sqrt(squares + self.epsilon)
        slots["steps"] = self.rho * slots["steps"] + (1 - self.rho) * change * change
        return value + rate * change


_BY_NAME: dict[str, Callable[..., Optimizer]] = {
    "sgd": SGD, "adam": Adam, "adamw": AdamW, "rmsprop": RMSprop, "adagrad": Adagrad, "adamax": Adamax, "adadelta": Adadelta,
}  # fmt: skip


def get(identifier: Any) -> Any:
    """An optimiser from its name or itself."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str) and identifier.lower() in _BY_NAME:
        return _BY_NAME[identifier.lower()]()
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")
