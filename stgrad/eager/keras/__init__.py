"""The part of Keras that tape code uses: layers, models, optimisers, losses, metrics."""

from __future__ import annotations

from stgrad.eager.keras import activations, initializers, layers, losses, metrics, optimizers, recurrent, regularizers, shaping
from stgrad.eager.keras.extras import backend, utils
from stgrad.eager.keras.layer import Layer
from stgrad.eager.keras.models import Model, Sequential

Input = layers.Input
for _module in (recurrent, shaping):
    for _name in _module.__all__:
        setattr(layers, _name, getattr(_module, _name))
        layers.__all__.append(_name)
layers.MaxPool1D, layers.AvgPool1D, layers.AvgPool2D = shaping.MaxPooling1D, shaping.AveragePooling1D, layers.AveragePooling2D  # type: ignore[attr-defined]
layers.GlobalAvgPool2D, layers.GlobalMaxPool2D = layers.GlobalAveragePooling2D, layers.GlobalMaxPooling2D  # type: ignore[attr-defined]
layers.Convolution2D = layers.Conv2D  # type: ignore[attr-defined]
__all__ = [
    "Input",
    "backend",
    "utils",
    "Layer",
    "Model",
    "Sequential",
    "activations",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "optimizers",
    "regularizers",
]
