"""What a program of the unseen set says about itself: the function as somebody writes it, its inputs, where it comes from.

`@program(...)` above a function registers it. Derivatives are taken in all its floats and arrays of floats but those that it only compares and rounds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
MODULES = tuple("products solvers stencils medley networks physics data rodinia adbench statistics fields quants motions trajectories grids frames".split())


@dataclass(frozen=True)
class Unseen:
    """One program.

    Attributes:
        suite: the collection whose kernel it is.
        inputs: `(rng, *size) -> arguments`.
        size, small: extents for a measurement (a primal of 1 to 30 ms) and for a test.
        fixed: positions of floats in which no derivative is taken.
        by_hand: `(*arguments) -> (value, gradient, ...)`, an adjoint written by hand under Numba; None where nobody wrote one.
    """

    name: str
    suite: str
    function: Function
    inputs: Callable[..., tuple[Any, ...]]
    size: tuple[int, ...]
    small: tuple[int, ...]
    by_hand: Function | None = None
    fixed: tuple[int, ...] = ()

    def args(self, small: bool = False) -> tuple[Any, ...]:
        """The arguments, the same in each call."""
        return self.inputs(np.random.default_rng(1), *(self.small if small else self.size))

    def wrt(self, args: tuple[Any, ...]) -> tuple[int, ...]:
        """Positions of the arguments in which derivatives are taken."""
        floats = (k for k, a in enumerate(args) if isinstance(a, float) or getattr(a, "dtype", None) == np.float64)
        return tuple(k for k in floats if k not in self.fixed)


REGISTRY: dict[str, Unseen] = {}


def program(
    suite: str,
    inputs: Callable[..., tuple[Any, ...]],
    size: tuple[int, ...],
    small: tuple[int, ...],
    by_hand: Function | None = None,
    fixed: tuple[int, ...] = (),
) -> Callable[[Function], Function]:
    """Register the function below as a program of the set."""

    def registered(function: Function) -> Function:
        REGISTRY[function.__name__] = Unseen(function.__name__, suite, function, inputs, size, small, by_hand, fixed)
        return function

    return registered


def load() -> dict[str, Unseen]:
    """All programs by name, in the order of `MODULES`."""
    for module in MODULES:
        importlib.import_module(f"benchmarks.unseen.{module}")
    return REGISTRY
