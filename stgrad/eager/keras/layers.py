"""Layers, with Keras's defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import nn, ops_math, random
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.keras import activations, functional
from stgrad.eager.keras.layer import Layer
from stgrad.eager.ops_array import concat, reshape
from stgrad.eager.ops_index import gather
from stgrad.eager.ops_products import matmul, tensordot
from stgrad.eager.ops_reduce import reduce_max, reduce_mean

__all__ = [
    "Activation", "Add", "AveragePooling2D", "BatchNormalization", "Concatenate", "Conv1D", "Conv2D", "Dense", "Dropout",
    "Embedding", "Flatten", "GaussianNoise", "GlobalAveragePooling2D", "InputLayer", "Lambda", "Layer", "LayerNormalization",
    "LeakyReLU", "MaxPooling2D", "MaxPool2D", "ReLU", "Reshape", "Softmax",
]  # fmt: skip


class Dense(Layer):
    """activation(x kernel + bias), over the last axis."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(units, (int, np.integer)) or units <= 0:
            raise ValueError(f"Received an invalid value for `units`, expected a positive integer. Received: units={units}")
        self.units = int(units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self._initializers = kernel_initializer, bias_initializer
        self._regularizers = kernel_regularizer, bias_regularizer
        self.bias = None

    def build(self, input_shape: Any) -> None:
        kernel, bias = self._initializers
        self.kernel = self.add_weight((input_shape[-1], self.units), kernel, name="kernel", regularizer=self._regularizers[0])
        if self.use_bias:
            self.bias = self.add_weight((self.units,), bias, name="bias", regularizer=self._regularizers[1])

    def call(self, inputs: Any, training: Any = None) -> Any:
        if inputs.shape[-1] != self.kernel.shape[0]:
            raise ValueError(
                f'Input 0 of layer "{self.name}" is incompatible with the layer: expected axis -1 of input shape to have value '
                f"{self.kernel.shape[0]}, but received input with shape {inputs.shape}"
            )
        y = matmul(inputs, self.kernel) if inputs.ndim == 2 else tensordot(inputs, self.kernel, 1)
        return self.activation(y if self.bias is None else y + self.bias)


class _Normalization(Layer):
    """What the normalisations share: scale gamma and offset beta."""

    def __init__(self, axis: Any, epsilon: float, center: bool, scale: bool, beta: Any, gamma: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis, self.epsilon, self.center, self.scale = axis, epsilon, center, scale
        self._initializers = gamma, beta
        self.gamma: Any = None
        self.beta: Any = None

    def _add_affine(self, shape: Any) -> None:
        if self.scale:
            self.gamma = self.add_weight(shape, self._initializers[0], name="gamma")
        if self.center:
            self.beta = self.add_weight(shape, self._initializers[1], name="beta")

    def _along(self, weight: Any, inputs: Any, axes: tuple[int, ...]) -> Any:
        """A weight with axes of extent 1 so that it broadcasts."""
        if weight is None or axes == (inputs.ndim - 1,):
            return weight
        return reshape(weight, [inputs.shape[i] if i in axes else 1 for i in range(inputs.ndim)])


class BatchNormalization(_Normalization):
    """Normalises each channel over the batch when training, by moving averages otherwise."""

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, **kwargs)
        self.momentum = momentum
        self._moving = moving_mean_initializer, moving_variance_initializer

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[self.axis],)
        self._add_affine(shape)
        self.moving_mean = self.add_weight(shape, self._moving[0], trainable=False, name="moving_mean")
        self.moving_variance = self.add_weight(shape, self._moving[1], trainable=False, name="moving_variance")

    def call(self, inputs: Any, training: Any = False, mask: Any = None) -> Any:
        channel = self.axis % inputs.ndim
        over = [i for i in range(inputs.ndim) if i != channel]
        if training and self.trainable:
            mean, variance = nn.moments(inputs, over)
            self._move(self.moving_mean, mean)
            self._move(self.moving_variance, variance)
        else:
            mean, variance = self.moving_mean, self.moving_variance
        parts = [None if w is None else self._along(w, inputs, (channel,)) for w in (mean, variance, self.beta, self.gamma)]
        return nn.batch_normalization(inputs, parts[0], parts[1], parts[2], parts[3], self.epsilon)

    def _move(self, average: Any, value: Any) -> None:
        average.assign(ops_math.stop_gradient(average * self.momentum + value * (1.0 - self.momentum)))


class LayerNormalization(_Normalization):
    """Normalises each example over its own axes."""

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, **kwargs)

    def _axes(self, rank: int) -> tuple[int, ...]:
        return tuple(i % rank for i in (self.axis if isinstance(self.axis, (list, tuple)) else [self.axis]))

    def build(self, input_shape: Any) -> None:
        self._add_affine([input_shape[i] for i in self._axes(len(input_shape))])

    def call(self, inputs: Any, training: Any = None) -> Any:
        over = self._axes(inputs.ndim)
        mean, variance = nn.moments(inputs, list(over), keepdims=True)
        beta, gamma = self._along(self.beta, inputs, over), self._along(self.gamma, inputs, over)
        return nn.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)


class Dropout(Layer):
    """Random zeros when training."""

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= rate <= 1:
            raise ValueError(f"Invalid value received for argument `rate`. Expected a float value between 0 and 1. Received: rate={rate}")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        return nn.dropout(inputs, self.rate, self.noise_shape, self.seed) if training and self.rate > 0 else inputs


class GaussianNoise(Layer):
    """Normal noise when training."""

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev, self.seed = stddev, seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        return inputs + random.normal(inputs.shape, 0.0, self.stddev, inputs.dtype, self.seed) if training else inputs


class Embedding(Layer):
    """Rows of a table by number."""

    def __init__(self, input_dim: int, output_dim: int, embeddings_initializer: Any = "uniform", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.input_dim, self.output_dim = input_dim, output_dim
        self._initializer = embeddings_initializer

    def build(self, input_shape: Any) -> None:
        self.embeddings = self.add_weight((self.input_dim, self.output_dim), self._initializer, name="embeddings")

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        ids = convert_to_tensor(inputs)
        return super().__call__(ids if ids._a.dtype.kind in "iu" else ops_math.cast(ids, np.int32), *args, **kwargs)

    def call(self, inputs: Any) -> Any:
        return gather(self.embeddings, inputs)


class _Conv(Layer):
    rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.filters, self.groups, self.use_bias = filters, groups, use_bias
        self.kernel_size = (kernel_size,) * self.rank if isinstance(kernel_size, int) else tuple(kernel_size)
        self.strides, self.padding, self.dilation_rate = strides, padding.upper(), dilation_rate
        self.channels_first = data_format == "channels_first"
        self.activation = activations.get(activation)
        self._initializers = kernel_initializer, bias_initializer
        self._regularizer = kernel_regularizer
        self.bias = None

    def build(self, input_shape: Any) -> None:
        channels = input_shape[1 if self.channels_first else -1]
        if channels % self.groups:
            raise ValueError(
                "The number of input channels must be evenly divisible by the number of groups. Received "
                f"groups={self.groups}, but the input has {channels} channels"
            )
        shape = (*self.kernel_size, channels // self.groups, self.filters)
        self.kernel = self.add_weight(shape, self._initializers[0], name="kernel", regularizer=self._regularizer)
        if self.use_bias:
            self.bias = self.add_weight((self.filters,), self._initializers[1], name="bias")

    def call(self, inputs: Any) -> Any:
        layout = "NC" if self.channels_first else "N"
        y = nn.convolution(inputs, self.kernel, self.strides, self.padding, layout, self.dilation_rate)
        return self.activation(y if self.bias is None else nn.bias_add(y, self.bias, layout))


class Conv2D(_Conv):
    """activation(conv2d(x, kernel) + bias) for images (b, h, w, c)."""


class Conv1D(_Conv):
    """activation(conv1d(x, kernel) + bias) for sequences (b, w, c)."""

    rank = 1


class MaxPooling2D(Layer):
    """The maximum over windows."""

    _pool: Callable[..., Any] = staticmethod(nn.max_pool2d)

    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: str = "valid", data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size, self.strides, self.padding = pool_size, pool_size if strides is None else strides, padding.upper()
        self.layout = "NCHW" if data_format == "channels_first" else "NHWC"

    def call(self, inputs: Any) -> Any:
        return type(self)._pool(inputs, self.pool_size, self.strides, self.padding, self.layout)


MaxPool2D = MaxPooling2D


class AveragePooling2D(MaxPooling2D):
    """The mean over windows."""

    _pool = staticmethod(nn.avg_pool2d)


class GlobalAveragePooling2D(Layer):
    """The mean over space."""

    def call(self, inputs: Any) -> Any:
        return reduce_mean(inputs, [1, 2])


class GlobalMaxPooling2D(Layer):
    """The maximum over space."""

    def call(self, inputs: Any) -> Any:
        return reduce_max(inputs, [1, 2])


class Flatten(Layer):
    """Everything but the batch axis in one."""

    def call(self, inputs: Any) -> Any:
        return reshape(inputs, [inputs.shape[0], int(np.prod(inputs.shape[1:]))])


class Reshape(Layer):
    """Another shape for each example."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        return reshape(inputs, [inputs.shape[0], *self.target_shape])


class Activation(Layer):
    """An activation as a layer."""

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class ReLU(Layer):
    def call(self, inputs: Any) -> Any:
        return nn.relu(inputs)


class LeakyReLU(Layer):
    def __init__(self, negative_slope: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.negative_slope = negative_slope

    def call(self, inputs: Any) -> Any:
        return nn.leaky_relu(inputs, self.negative_slope)


class Softmax(Layer):
    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return nn.softmax(inputs, self.axis)


class Lambda(Layer):
    """Any function as a layer."""

    def __init__(self, function: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function = function

    def call(self, inputs: Any) -> Any:
        return self.function(inputs)


class Concatenate(Layer):
    """A list of tensors joined along an axis."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return concat(inputs, self.axis)


class Add(Layer):
    """The sum of a list of tensors."""

    def call(self, inputs: Any) -> Any:
        return sum(inputs[1:], start=inputs[0])


class InputLayer(Layer):
    """Declares the shape of what comes in, and checks it."""

    def __init__(self, shape: Any = None, input_shape: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.shape = tuple(shape if shape is not None else input_shape or ())

    def call(self, inputs: Any) -> Any:
        given = tuple(inputs.shape[1:])
        if len(given) != len(self.shape) or any(w is not None and w != n for w, n in zip(self.shape, given)):
            raise InvalidArgumentError(f"expected inputs of shape (batch, {', '.join(map(str, self.shape))}), got {inputs.shape}")
        return inputs


Input = functional.make_input
