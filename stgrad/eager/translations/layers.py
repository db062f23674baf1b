"""Calls of layers that have their weights, and what the compiler reads of their own text."""

from __future__ import annotations

import inspect
from typing import Any

from stgrad import errors

# Layers whose `call` is written in operations that have translations.
READ = """Flatten Reshape Activation ReLU LeakyReLU Softmax Concatenate Add GlobalAveragePooling2D GlobalMaxPooling2D Embedding Lambda
    InputLayer Multiply Subtract Average Maximum Minimum Identity Permute RepeatVector Rescaling UpSampling2D ELU PReLU
    GlobalAveragePooling1D GlobalMaxPooling1D SimpleRNN LSTM GRU""".split()


def dense(inputs, kernel, activation):  # type: ignore[no-untyped-def]
    return activation(inputs @ kernel)


def dense_with_bias(inputs, kernel, bias, activation):  # type: ignore[no-untyped-def]
    return activation(inputs @ kernel + bias)


def normalised(inputs, mean, variance, offset, scale, epsilon):  # type: ignore[no-untyped-def]
    factor = (variance + epsilon) ** -0.5
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    return inputs * factor + shift


def layer(frame: Any, owner: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a layer that has its weights; of layers of the user's own by their `call`."""
    from stgrad.eager import keras

    cls = type(owner)
    if not owner.built:
        raise _refused(frame, owner, "it makes its weights in this call")
    if not cls.call.__module__.startswith("stgrad."):
        return frame.call(cls.call, (owner, inputs, *args), kwargs)
    if cls is keras.Model and owner._graph is not None:
        return _functional(frame, owner, inputs, *args, **kwargs)
    if cls is keras.Sequential:
        return _sequential(frame, owner, inputs, *args, **kwargs)
    training = kwargs.get("training", args[0] if args else None)
    found = _OWN.get(cls.__name__)
    if found is not None:
        return found(frame, owner, inputs, training)
    if cls.__name__ in READ:
        return frame.call(cls.call, (owner, inputs, *args), kwargs)
    raise _refused(frame, owner, "it has no translation for the compiler")


def _refused(frame: Any, owner: Any, reason: str) -> Exception:
    return errors.UnknownFunctionError(f"a layer `{type(owner).__name__}` is called", frame.builder.loc, reason=reason)


def _weight(frame: Any, owner: Any, name: str) -> Any:
    return frame.look("attribute", owner, name)


def _sequential(frame: Any, owner: Any, inputs: Any, training: Any = None) -> Any:
    for part in owner.layers:
        takes = training is not None and "training" in inspect.signature(getattr(part, "call", part)).parameters
        inputs = frame.call(part, (inputs,), {"training": training} if takes else {})
    return inputs


def _functional(frame: Any, owner: Any, inputs: Any, training: Any = None) -> Any:
    from stgrad.eager.keras import functional

    def call(part: Any, args: Any, kwargs: Any) -> Any:
        takes = training is not None and "training" in inspect.signature(getattr(part, "call", part)).parameters
        return frame.call(part, tuple(args), {**({"training": training} if takes else {}), **kwargs})

    symbols, outputs = owner._graph
    given = inputs if isinstance(symbols, (list, tuple)) else [inputs]
    return functional.evaluate(outputs, dict(zip(map(id, symbols if isinstance(symbols, (list, tuple)) else [symbols]), given)), call)


def _dense(frame: Any, owner: Any, inputs: Any, training: Any) -> Any:
    weights = [_weight(frame, owner, n) for n in ("kernel", "bias")[: 1 + owner.use_bias]]
    return frame.call(dense_with_bias if owner.use_bias else dense, (inputs, *weights, owner.activation), {})


def _conv2d(frame: Any, owner: Any, inputs: Any, training: Any) -> Any:
    from stgrad.eager import nn

    if owner.channels_first or owner.groups != 1:
        raise _refused(frame, owner, "it has channels first or in groups")
    y = frame.call(nn.conv2d, (inputs, _weight(frame, owner, "kernel"), owner.strides, owner.padding, "NHWC", owner.dilation_rate), {})
    if owner.bias is not None:
        y = frame.call(nn.bias_add, (y, _weight(frame, owner, "bias")), {})
    return frame.call(owner.activation, (y,), {})


def _pooling(frame: Any, owner: Any, inputs: Any, training: Any) -> Any:
    return frame.call(type(owner)._pool, (inputs, owner.pool_size, owner.strides, owner.padding, owner.layout), {})


def _dropout(frame: Any, owner: Any, inputs: Any, training: Any) -> Any:
    if training and getattr(owner, "rate", 1) > 0:
        raise _refused(frame, owner, "it draws random numbers")
    return inputs


def _batch_normalization(frame: Any, owner: Any, inputs: Any, training: Any) -> Any:
    if training and owner.trainable:
        raise _refused(frame, owner, "it assigns to its moving averages")
    if owner.axis not in (-1, inputs.type.rank - 1):
        raise _refused(frame, owner, "it normalises another axis than the last")
    parts = [_weight(frame, owner, n) for n in ("moving_mean", "moving_variance", "beta", "gamma")]
    return frame.call(normalised, (inputs, *parts, owner.epsilon), {})


def _layer_normalization(frame: Any, owner: Any, inputs: Any, training: Any) -> Any:
    from stgrad.eager import nn

    if owner._axes(inputs.type.rank) != (inputs.type.rank - 1,):
        raise _refused(frame, owner, "it normalises another axis than the last")
    mean, variance = frame.call(nn.moments, (inputs, [-1]), {"keepdims": True})
    return frame.call(
        normalised, (inputs, mean, variance, _weight(frame, owner, "beta"), _weight(frame, owner, "gamma"), owner.epsilon), {}
    )


_OWN: dict[str, Any] = {
    "Dense": _dense, "Conv2D": _conv2d, "MaxPooling2D": _pooling, "AveragePooling2D": _pooling, "Dropout": _dropout,
    "GaussianNoise": _dropout, "BatchNormalization": _batch_normalization, "LayerNormalization": _layer_normalization,
}  # fmt: skip
