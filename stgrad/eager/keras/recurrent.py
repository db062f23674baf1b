"""Recurrent layers over (batch, time, features): SimpleRNN, LSTM and GRU, step by step on the tape."""

from __future__ import annotations

from typing import Any

from stgrad.eager.keras import activations
from stgrad.eager.keras.layer import Layer
from stgrad.eager.ops_array import concat, split, stack, zeros
from stgrad.eager.ops_products import matmul


class _Recurrent(Layer):
    """What they share. `gates` parts of the weights; states of `units` numbers."""

    gates, states = 1, 1

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros",
        return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**{k: v for k, v in kwargs.items() if k not in ("unroll", "stateful", "dropout", "recurrent_dropout")})
        if kwargs.get("dropout") or kwargs.get("recurrent_dropout") or kwargs.get("stateful"):
            raise NotImplementedError(f"{type(self).__name__} has no dropout of its own and keeps no state; put a Dropout layer before it")
        self.units, self.use_bias = units, use_bias
        self.activation, self.recurrent_activation = activations.get(activation), activations.get(recurrent_activation)
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self._initializers = kernel_initializer, recurrent_initializer, bias_initializer

    def build(self, input_shape: Any) -> None:
        wide = self.units * self.gates
        self.kernel = self.add_weight((input_shape[-1], wide), self._initializers[0], name="kernel")
        self.recurrent_kernel = self.add_weight((self.units, wide), self._initializers[1], name="recurrent_kernel")
        self.bias = self.add_weight(self._bias_shape(wide), self._initializers[2], name="bias") if self.use_bias else None

    def _bias_shape(self, wide: int) -> tuple[int, ...]:
        return (wide,)

    def call(self, inputs: Any, initial_state: Any = None, training: Any = None, mask: Any = None) -> Any:
        start = [zeros([inputs.shape[0], self.units], inputs.dtype) for _ in range(self.states)]
        state = start if initial_state is None else list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        outputs = []
        steps = inputs.shape[1]
        for i in range(steps):
            state = self.step(inputs[:, steps - 1 - i if self.go_backwards else i], state)
            if self.return_sequences:
                outputs.append(state[0])
        y = stack(outputs, 1) if self.return_sequences else state[0]
        return [y, *state] if self.return_state else y

    def step(self, x: Any, state: list[Any]) -> list[Any]:
        """The next state; its first part is the output."""
        raise NotImplementedError

    def _added(self, y: Any, row: Any = None) -> Any:
        return y if self.bias is None else y + (self.bias if row is None else self.bias[row])


class SimpleRNN(_Recurrent):
    """h = activation(x W + h U + b)."""

    def step(self, x: Any, state: list[Any]) -> list[Any]:
        return [self.activation(self._added(matmul(x, self.kernel)) + matmul(state[0], self.recurrent_kernel))]


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter & Schmidhuber 1997); the bias of the forget gate begins at 1."""

    gates, states = 4, 2

    def __init__(self, units: int, unit_forget_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if self.bias is not None and self.unit_forget_bias:
            value = self.bias.numpy().copy()
            value[self.units : 2 * self.units] = 1.0
            self.bias.assign(value)

    def step(self, x: Any, state: list[Any]) -> list[Any]:
        h, c = state
        parts = split(self._added(matmul(x, self.kernel) + matmul(h, self.recurrent_kernel)), 4, 1)
        i, f, o = [self.recurrent_activation(p) for p in (parts[0], parts[1], parts[3])]
        c = f * c + i * self.activation(parts[2])
        return [o * self.activation(c), c]


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al. 2014), by default with the reset gate after the product."""

    gates = 3

    def __init__(self, units: int, reset_after: bool = True, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        self.reset_after = reset_after

    def _bias_shape(self, wide: int) -> tuple[int, ...]:
        return (2, wide) if self.reset_after else (wide,)

    def step(self, x: Any, state: list[Any]) -> list[Any]:
        h = state[0]
        xz, xr, xh = split(self._added(matmul(x, self.kernel), 0 if self.reset_after else None), 3, 1)
        if self.reset_after:
            hz, hr, hh = split(self._added(matmul(h, self.recurrent_kernel), 1), 3, 1)
            r = self.recurrent_activation(xr + hr)
            new = self.activation(xh + r * hh)
        else:
            gates, candidate = self.recurrent_kernel[:, : 2 * self.units], self.recurrent_kernel[:, 2 * self.units :]
            hz, hr = split(matmul(h, gates), 2, 1)
            r = self.recurrent_activation(xr + hr)
            new = self.activation(xh + matmul(r * h, candidate))
        z = self.recurrent_activation(xz + hz)
        return [z * h + (1.0 - z) * new]


class TimeDistributed(Layer):
    """A layer of every step."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layer = layer

    def call(self, inputs: Any, training: Any = None) -> Any:
        return stack([self.layer(inputs[:, t]) for t in range(inputs.shape[1])], 1)


class Bidirectional(Layer):
    """A recurrent layer in both directions, joined."""

    def __init__(self, layer: Any, merge_mode: str = "concat", backward_layer: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if merge_mode not in ("concat", "sum", "mul", "ave"):
            raise ValueError(f"Invalid merge mode. Received: {merge_mode}. Merge mode should be one of ['sum', 'mul', 'ave', 'concat']")
        self.forward_layer, self.merge_mode = layer, merge_mode
        self.backward_layer = backward_layer or type(layer)(layer.units, return_sequences=layer.return_sequences, go_backwards=True)

    def call(self, inputs: Any, training: Any = None) -> Any:
        one, two = self.forward_layer(inputs), self.backward_layer(inputs)
        if self.forward_layer.return_sequences:
            two = two[:, ::-1]
        if self.merge_mode == "concat":
            return concat([one, two], -1)
        return one * two if self.merge_mode == "mul" else (one + two) * (0.5 if self.merge_mode == "ave" else 1.0)


__all__ = ["GRU", "LSTM", "Bidirectional", "SimpleRNN", "TimeDistributed"]
