"""The corpus: plain functions with example arguments, collected by a decorator that changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Example:
    """A program, arguments away from its kinks, the order to check, and whether it is in the subset that Numba compiles."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    order: int = 2
    jit: bool = False
    argnums: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"


EXAMPLES: list[Example] = []


def example(*args: Any, order: int = 2, jit: bool = False, argnums: tuple[int, ...] | None = None) -> Callable[..., Any]:
    """Register a function with its arguments."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        EXAMPLES.append(Example(function, args, order, jit, argnums))
        return function

    return register


def vector(n: int, seed: int = 0) -> Any:
    """n numbers in (-2, 2), none near zero, no two equal."""
    rng = np.random.default_rng(seed + 100 * n)
    return rng.uniform(0.2, 2.0, n) * rng.choice([-1.0, 1.0], n)


def positive(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + 100 * n).uniform(0.3, 2.0, n)


def matrix(n: int, m: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed + 100 * n + m)
    return rng.uniform(0.2, 2.0, (n, m)) * rng.choice([-1.0, 1.0], (n, m))


def spd(n: int, seed: int = 0) -> Any:
    """A symmetric positive definite matrix."""
    a = matrix(n, n, seed)
    return a @ a.T + n * np.eye(n)
