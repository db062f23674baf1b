"""What a benchmark program says about itself.

A file in `programs/` binds `PROGRAM`: the function as a user writes it, its inputs, an adjoint written by hand, and ports to
other tools. A port is a factory, so that its tool is imported only when it is there and asked for; it returns the function
itself, not its gradient (`variants` differentiates it the way that tool is meant to be used).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks import programs

Function = Callable[..., Any]
Factory = Callable[[], Function]


@dataclass(frozen=True)
class Program:
    """One program of the suite.

    Args:
        function: the plain Python function.
        wrt: positions of the arguments to differentiate in.
        sizes: name of a size → factory of the arguments, smallest first.
        by_hand: `(*args) -> (value, gradient, ...)`, an expert's adjoint in Numba.
        jax: the direct port; integers among the arguments are static.
        jax_expert: as an expert would rewrite it (scan, vectorised, associative).
        torch, autograd: ports; they get tensors and arrays.
        upto: variant → the largest size at which it ends in reasonable time; "" for none.
        tolerance: relative, between any two gradients.
    """

    name: str
    function: Function
    wrt: tuple[int, ...]
    sizes: Mapping[str, Callable[[], tuple[Any, ...]]]
    by_hand: Function | None = None
    jax: Factory | None = None
    jax_expert: Factory | None = None
    torch: Factory | None = None
    autograd: Factory | None = None
    upto: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = 1e-8

    def runs(self, variant: str, size: str) -> bool:
        """Whether a variant takes part at this size."""
        names = ["", *self.sizes]
        return names.index(size) <= names.index(self.upto.get(variant, names[-1]))


# In the order of the table.
ORDER = (
    "logistic while_loop adaptive branchy jacobi_2d elementwise rk4_fit black_scholes mlp_float32 mlp_float64 heat_3d seidel_2d burgers "
    "n_body kalman lstm hmm hmm_scaled soft_dtw gmm bundle heston conv2d cholesky attention rosenbrock small_array"
).split()


def names() -> list[str]:
    """The programs that exist, in the order of the table."""
    found = {m.name for m in pkgutil.iter_modules(programs.__path__)}
    return [n for n in ORDER if n in found] + sorted(found - set(ORDER))


def load(name: str) -> Program:
    """The program of a file in `programs/`."""
    program: Program = importlib.import_module(f"benchmarks.programs.{name}").PROGRAM
    return program
