"""Small layers: that join several tensors, that change a shape, that pool along one or three axes, and activations with a shape."""

from __future__ import annotations

import functools
from typing import Any

from stgrad.eager import nn, ops_math, windows
from stgrad.eager.keras import layers
from stgrad.eager.keras.layer import Layer
from stgrad.eager.ops_array import expand_dims, pad, repeat, tile, transpose
from stgrad.eager.ops_reduce import reduce_max, reduce_mean, reduce_sum

__all__ = [
    "Average", "AveragePooling1D", "AveragePooling3D", "Conv2DTranspose", "Conv3D", "Cropping2D", "DepthwiseConv2D", "Dot", "ELU",
    "GlobalAveragePooling1D", "GlobalMaxPooling1D", "Identity", "MaxPooling1D", "MaxPooling3D", "Maximum", "Minimum", "Multiply", "PReLU",
    "Permute", "RepeatVector", "Rescaling", "Subtract", "UpSampling2D", "ZeroPadding2D",
]  # fmt: skip


class Multiply(Layer):
    """The product of a list of tensors."""

    def call(self, inputs: Any) -> Any:
        return functools.reduce(lambda a, b: a * b, inputs)


class Subtract(Layer):
    """The first of two tensors less the second."""

    def call(self, inputs: Any) -> Any:
        return inputs[0] - inputs[1]


class Average(Layer):
    """The mean of a list of tensors."""

    def call(self, inputs: Any) -> Any:
        return functools.reduce(lambda a, b: a + b, inputs) / float(len(inputs))


class Maximum(Layer):
    """The elementwise maximum of a list of tensors."""

    def call(self, inputs: Any) -> Any:
        return functools.reduce(ops_math.maximum, inputs)


class Minimum(Layer):
    """The elementwise minimum of a list of tensors."""

    def call(self, inputs: Any) -> Any:
        return functools.reduce(ops_math.minimum, inputs)


class Dot(Layer):
    """Scalar products of two batches of vectors."""

    def __init__(self, axes: Any = -1, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if axes not in (-1, 1, (1, 1), (-1, -1)):
            raise NotImplementedError("Dot is there for vectors alone, axes=1; use tf.einsum")
        self.normalize = normalize

    def call(self, inputs: Any) -> Any:
        a, b = [nn.l2_normalize(x, -1) for x in inputs] if self.normalize else inputs
        return reduce_sum(a * b, -1, keepdims=True)


class Identity(Layer):
    """What comes in."""

    def call(self, inputs: Any) -> Any:
        return inputs


class Permute(Layer):
    """Another order of the axes after the first, counted from 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)

    def call(self, inputs: Any) -> Any:
        return transpose(inputs, [0, *self.dims])


class RepeatVector(Layer):
    """(b, c) -> (b, n, c)."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n

    def call(self, inputs: Any) -> Any:
        return tile(expand_dims(inputs, 1), [1, self.n, 1])


class Rescaling(Layer):
    """x scale + offset."""

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs: Any) -> Any:
        return ops_math.cast(inputs, self._dtype) * self.scale + self.offset


class UpSampling2D(Layer):
    """Every pixel repeated."""

    def __init__(self, size: Any = (2, 2), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = (size, size) if isinstance(size, int) else tuple(size)

    def call(self, inputs: Any) -> Any:
        return repeat(repeat(inputs, self.size[0], axis=1), self.size[1], axis=2)


def _borders(value: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    pairs = (value, value) if isinstance(value, int) else tuple(value)
    high, wide = ((p, p) if isinstance(p, int) else tuple(p) for p in pairs)
    return high, wide


class ZeroPadding2D(Layer):
    """A border of zeros."""

    def __init__(self, padding: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.padding = _borders(padding)

    def call(self, inputs: Any) -> Any:
        return pad(inputs, [[0, 0], *map(list, self.padding), [0, 0]])


class Cropping2D(Layer):
    """Less a border."""

    def __init__(self, cropping: Any = ((0, 0), (0, 0)), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cropping = _borders(cropping)

    def call(self, inputs: Any) -> Any:
        (top, bottom), (left, right) = self.cropping
        return inputs[:, top : inputs.shape[1] - bottom, left : inputs.shape[2] - right]


class ELU(Layer):
    """x for positive x, else alpha (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:
        return nn.relu(inputs) + self.alpha * nn.elu(-nn.relu(-inputs))


class PReLU(Layer):
    """x for positive x, else a trained multiple of it."""

    def __init__(self, alpha_initializer: Any = "zeros", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._initializer = alpha_initializer

    def build(self, input_shape: Any) -> None:
        self.alpha = self.add_weight(tuple(input_shape)[1:], self._initializer, name="alpha")

    def call(self, inputs: Any) -> Any:
        return nn.relu(inputs) - self.alpha * nn.relu(-inputs)


class _Pooling(Layer):
    _pool: Any = None

    def __init__(self, pool_size: Any = 2, strides: Any = None, padding: str = "valid", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pool_size, self.strides, self.padding = pool_size, pool_size if strides is None else strides, padding.upper()

    def call(self, inputs: Any) -> Any:
        return type(self)._pool(inputs, self.pool_size, self.strides, self.padding)


class MaxPooling1D(_Pooling):
    """The maximum over windows of (b, w, c)."""

    _pool = staticmethod(windows.max_pool1d)


class AveragePooling1D(_Pooling):
    """The mean over windows of (b, w, c)."""

    _pool = staticmethod(windows.avg_pool1d)


class MaxPooling3D(_Pooling):
    """The maximum over windows of (b, d, h, w, c)."""

    _pool = staticmethod(windows.max_pool)


class AveragePooling3D(_Pooling):
    """The mean over windows of (b, d, h, w, c)."""

    _pool = staticmethod(windows.avg_pool)


class GlobalAveragePooling1D(Layer):
    """The mean over time."""

    def call(self, inputs: Any) -> Any:
        return reduce_mean(inputs, 1)


class GlobalMaxPooling1D(Layer):
    """The maximum over time."""

    def call(self, inputs: Any) -> Any:
        return reduce_max(inputs, 1)


class Conv3D(layers._Conv):
    """activation(conv3d(x, kernel) + bias) for volumes (b, d, h, w, c)."""

    rank = 3


class DepthwiseConv2D(layers._Conv):
    """Each channel with `depth_multiplier` filters of its own."""

    def __init__(self, kernel_size: Any, strides: Any = 1, padding: str = "valid", depth_multiplier: int = 1, **kwargs: Any) -> None:
        super().__init__(1, kernel_size, strides, padding, **kwargs)
        self.depth_multiplier = depth_multiplier

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight((*self.kernel_size, input_shape[-1], self.depth_multiplier), self._initializers[0], name="kernel")
        if self.use_bias:
            self.bias = self.add_weight((input_shape[-1] * self.depth_multiplier,), self._initializers[1], name="bias")

    def call(self, inputs: Any) -> Any:
        y = nn.depthwise_conv2d(inputs, self.kernel, self.strides, self.padding, None, self.dilation_rate)
        return self.activation(y if self.bias is None else nn.bias_add(y, self.bias))


class Conv2DTranspose(layers._Conv):
    """The adjoint of a Conv2D, with a bias and an activation."""

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight((*self.kernel_size, self.filters, input_shape[-1]), self._initializers[0], name="kernel")
        if self.use_bias:
            self.bias = self.add_weight((self.filters,), self._initializers[1], name="bias")

    def call(self, inputs: Any) -> Any:
        steps = (self.strides,) * 2 if isinstance(self.strides, int) else tuple(self.strides)
        more = [max(k - s, 0) if self.padding == "VALID" else 0 for k, s in zip(self.kernel_size, steps)]
        extents = [inputs.shape[i + 1] * steps[i] + more[i] for i in range(2)]
        shape = [inputs.shape[0], *extents, self.filters]
        y = nn.conv2d_transpose(inputs, self.kernel, shape, self.strides, self.padding)
        return self.activation(y if self.bias is None else nn.bias_add(y, self.bias))
