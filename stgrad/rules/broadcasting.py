"""The adjoint of broadcasting, for rules that are not elementwise `partials` (there the caller does it)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import _register, samples


def unbroadcast(g: Any, like: Any) -> Any:
    """Sum `g` over the axes in which `like` was broadcast to the shape of `g`."""
    extra = np.ndim(g) - np.ndim(like)
    shape = np.shape(like)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and np.shape(g)[i + extra] != 1)
    return np.reshape(np.sum(g, axis=axes), shape)


def widen(g: Any, like: Any) -> Any:
    """`g`, of the rank of `like`, with the extents of `like` along axes where it has one item."""
    return np.broadcast_to(g, np.broadcast_shapes(np.shape(g), np.shape(like)))


def unbroadcast_adjoint(y: Any, y_bar: Any, g: Any, like: Any) -> Any:
    return np.broadcast_to(y_bar, np.shape(g))


def stretch(x: Any, shape: Any) -> Any:
    """`np.broadcast_to(x, shape)`, for a shape of the rank of `x`, where the running program decides which axes are stretched."""
    return np.broadcast_to(x, shape)


def shrink(g: Any, like: Any) -> Any:
    """The adjoint of `stretch`: `g` summed over the axes in which `like` has one item."""
    axes = tuple(i for i, n in enumerate(np.shape(like)) if n == 1)
    return np.sum(g, axis=axes, keepdims=True)


def stretch_adjoint(y: Any, y_bar: Any, x: Any, shape: Any) -> Any:
    return shrink(y_bar, x)


def shrink_adjoint(y: Any, y_bar: Any, g: Any, like: Any) -> Any:
    return stretch(y_bar, np.shape(g))


_register((stretch,), "linear", name="stretch", adjoint=stretch_adjoint)
_register((shrink,), "linear", name="shrink", adjoint=shrink_adjoint)
_register((unbroadcast,), "linear", name="unbroadcast", adjoint=unbroadcast_adjoint)


@samples(unbroadcast)
def _(rng):
    yield (rng.normal(size=(2, 3)), np.zeros((3,))), {}
    yield (rng.normal(size=(2, 3)), np.zeros((2, 1))), {}
    yield (rng.normal(size=(3,)), 0.0), {}


@samples(stretch)
def _(rng):
    yield (rng.normal(size=(1,)), (4,)), {}
    yield (rng.normal(size=(1, 3)), (2, 3)), {}
    yield (rng.normal(size=(2, 3)), (2, 3)), {}


@samples(shrink)
def _(rng):
    yield (rng.normal(size=(4,)), np.zeros(1)), {}
    yield (rng.normal(size=(2, 3)), np.zeros((2, 1))), {}
    yield (rng.normal(size=(2, 3)), np.zeros((2, 3))), {}
