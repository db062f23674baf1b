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


def unbroadcast_adjoint(y: Any, y_bar: Any, g: Any, like: Any) -> Any:
    return np.broadcast_to(y_bar, np.shape(g))


_register((unbroadcast,), "linear", name="unbroadcast", adjoint=unbroadcast_adjoint)


@samples(unbroadcast)
def _(rng):
    yield (rng.normal(size=(2, 3)), np.zeros((3,))), {}
    yield (rng.normal(size=(2, 3)), np.zeros((2, 1))), {}
    yield (rng.normal(size=(3,)), 0.0), {}
