"""The bars: what is promised, and whether the measurements keep it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """All rows of a run: `timed` of `benchmarks.one`, `started` and `grown` (memory) of `benchmarks.startup`."""

    timed: Sequence[Row]
    started: Sequence[Row] = ()
    grown: Sequence[Row] = ()

    def row(self, program: str, size: str | None = None) -> Row | None:
        """The row of a program at a size, or at its largest."""
        rows = [r for r in self.timed if r["program"] == program and (size is None or r["size"] == size)]
        return rows[-1] if rows else None

    def over(self, program: str, size: str | None, *references: str) -> float | None:
        """Our time over the fastest of the references that took part."""
        row = self.row(program, size)
        ratios = [row["ratios"][r]["median"] for r in references if r in row["ratios"]] if row else []
        return max(ratios, default=None)

    def start(self, program: str, variant: str) -> Row | None:
        return next((r for r in self.started if r["program"] == program and r["variant"] == variant), None)


Measure = Callable[[Results], "float | None"]


@dataclass(frozen=True)
class Bar:
    """A promise: the measured number is at most `limit`."""

    what: str
    limit: float
    measure: Measure
    unit: str = "×"

    def verdict(self, results: Results) -> tuple[float | None, str]:
        value = self.measure(results)
        return value, "not measured" if value is None else "met" if value <= self.limit else f"missed by {value / self.limit:.2f}×"


def over(program: str, size: str | None, *references: str) -> Measure:
    return lambda results: results.over(program, size, *references)


PRIMALS = ("primal", "stgrad primal")
JAXES = ("jax", "jax expert")


def hand_ratios(results: Results) -> list[float]:
    """Our time over the adjoint by hand for every program at its largest size; those of `CALLS` only measure calls."""
    largest = {row["program"]: row for row in results.timed}
    return [r["ratios"]["by hand"]["median"] for name, r in largest.items() if "by hand" in r["ratios"] and name != "rosenbrock"]


def geometric_mean(results: Results) -> float | None:
    ratios = hand_ratios(results)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def worst(results: Results) -> float | None:
    return max(hand_ratios(results), default=None)


def behind_peers(results: Results) -> float | None:
    """The worst ratio to the best peer over programs at their largest size."""
    largest = {row["program"]: row for row in results.timed}
    ratios = [
        max(s["median"] for reference, s in r["ratios"].items() if reference not in ("by hand", *PRIMALS))
        for r in largest.values()
        if set(r["ratios"]) - {"by hand", *PRIMALS}
    ]
    return max(ratios, default=None)


def call_cost(results: Results) -> float | None:
    """Microseconds that a call costs above the bare dispatcher of the adjoint by hand."""
    row = results.row("rosenbrock")
    if row is None or "stgrad" not in row["seconds"] or "by hand" not in row["seconds"]:
        return None
    return float(row["seconds"]["stgrad"]["median"] - row["seconds"]["by hand"]["median"]) * 1e6


def recompiled(results: Results) -> float | None:
    counts = [row["warm"]["compilations"] for row in results.started if row["variant"] == "stgrad"]
    return float(max(counts)) if counts else None


def warm_seconds(results: Results) -> float | None:
    """Seconds from the start to the first gradient with a warm cache, above the import of NumPy and Numba."""
    spent = [row["warm"]["total"] - row["warm"]["imports"] for row in results.started if row["variant"] == "stgrad"]
    return max(spent, default=None)


def cold_over_primal(results: Results) -> float | None:
    ours, primal = results.start("rk4_fit", "stgrad"), results.start("rk4_fit", "primal")
    return float(ours["cold"]["first call"] / primal["cold"]["first call"]) if ours and primal else None


def stencils_of_jax(results: Results) -> float | None:
    ratios = [results.over(p, None, "jax") for p in ("jacobi_2d", "heat_3d", "burgers")]
    return max((r for r in ratios if r is not None), default=None)


FIRST = (
    Bar("for loop, 1e6 steps: gradient over primal", 4.0, over("logistic", "1e6", "primal")),
    Bar("while loop, 1e6 steps: gradient over primal", 4.0, over("while_loop", "1e6", "primal")),
    Bar("5-point stencil: gradient over the faster primal", 6.0, over("jacobi_2d", "50x150²", *PRIMALS)),
    Bar("fused elementwise, 1e6: of jax.jit(value_and_grad)", 1.0, over("elementwise", "1e6", "jax")),
    Bar("ten-line function: call above the bare dispatcher", 3.0, call_cost, "µs"),
    Bar("second process: functions compiled", 0.0, recompiled, ""),
)

FINAL = (
    Bar("over the adjoint by hand: geometric mean", 1.1, geometric_mean),
    Bar("over the adjoint by hand: worst", 1.5, worst),
    Bar("gradient over primal: for loop", 2.8, over("logistic", "1e6", "primal")),
    Bar("gradient over primal: while", 2.0, over("while_loop", "1e6", "primal")),
    Bar("gradient over primal: branchy nest", 2.6, over("branchy", "1500²", "primal")),
    Bar("gradient over stgrad.jit: fused elementwise", 1.6, over("elementwise", "1e4", "stgrad primal")),
    Bar("gradient over stgrad.jit: linear stencil", 3.5, over("jacobi_2d", "50x150²", "stgrad primal")),
    Bar("gradient over stgrad.jit: non-linear stencil", 7.0, over("burgers", None, "stgrad primal")),
    Bar("of JAX: elementwise 1e4", 0.10, over("elementwise", "1e4", "jax")),
    Bar("of JAX: elementwise 1e6", 0.15, over("elementwise", "1e6", "jax")),
    Bar("of JAX, direct port: stencils, worst", 0.25, stencils_of_jax),
    Bar("of JAX, expert scan: scalar loop", 0.6, over("logistic", "1e6", *JAXES)),
    Bar("of JAX: MLP float32", 0.95, over("mlp_float32", None, *JAXES)),
    Bar("of JAX: MLP float64", 0.65, over("mlp_float64", None, *JAXES)),
    Bar("of JAX: small function's call", 1 / 40, over("rosenbrock", None, "jax")),
    Bar("call above the bare dispatcher", 0.3, call_cost, "µs"),
    Bar("warm start above the imports of NumPy and Numba", 0.5, warm_seconds, "s"),
    Bar("cold compile of the RK4 fit: over its primal", 2.0, cold_over_primal),
    Bar("over the best peer: worst", 1.0, behind_peers),
)
