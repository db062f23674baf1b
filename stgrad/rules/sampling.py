"""Sample calls for elementwise operations, as `samples` wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .core import samples

Call = tuple[tuple[Any, ...], dict[str, Any]]


def unary(*ops: Callable[..., Any], low: float = -2.0, high: float = 2.0, complex_too: bool = False) -> None:
    """Arrays and scalars between `low` and `high`; complex ones too for holomorphic operations."""

    @samples(*ops)
    def draw(rng: np.random.Generator) -> Iterator[Call]:
        yield (rng.uniform(low, high, size=(2, 3)),), {}
        yield (float(rng.uniform(low, high)),), {}
        if complex_too:
            yield (rng.uniform(low, high, size=3) + 1j * rng.uniform(0.1, 0.9, size=3),), {}


def scalar(*ops: Callable[..., Any], low: float = -2.0, high: float = 2.0, count: int = 1) -> None:
    """`count` Python floats, for the functions of `math`."""

    @samples(*ops)
    def draw(rng: np.random.Generator) -> Iterator[Call]:
        yield tuple(float(rng.uniform(low, high)) for _ in range(count)), {}
        yield tuple(float(rng.uniform(low, high)) for _ in range(count)), {}


def binary(*ops: Callable[..., Any], low: float = -2.0, high: float = 2.0, complex_too: bool = False) -> None:
    """Two arguments of equal shape, and broadcast in each way."""

    @samples(*ops)
    def draw(rng: np.random.Generator) -> Iterator[Call]:
        yield (rng.uniform(low, high, size=3), rng.uniform(low, high, size=3)), {}
        yield (rng.uniform(low, high, size=(2, 1)), rng.uniform(low, high, size=3)), {}
        yield (float(rng.uniform(low, high)), rng.uniform(low, high, size=(2, 3))), {}
        yield (rng.uniform(low, high, size=(2, 3)), float(rng.uniform(low, high))), {}
        if complex_too:
            z = rng.uniform(low, high, size=3) + 1j * rng.uniform(0.1, 0.9, size=3)
            w = rng.uniform(low, high, size=3) + 1j * rng.uniform(0.1, 0.9, size=3)
            yield (z, w), {}
            yield (rng.uniform(low, high, size=3), w), {}
