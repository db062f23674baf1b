"""The part of Keras that tape code uses: layers, models, optimisers, losses, metrics."""

from __future__ import annotations

from stgrad.eager.keras import activations, initializers, layers, losses, metrics, optimizers, regularizers
from stgrad.eager.keras.extras import backend, utils
from stgrad.eager.keras.layer import Layer
from stgrad.eager.keras.models import Model, Sequential

Input = layers.Input
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
