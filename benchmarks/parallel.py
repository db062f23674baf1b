"""`python -m benchmarks.parallel`: gradients with `parallel=True` against the same on one thread, in wall time.

The programs are those that threads are for: paths of a Monte Carlo price, forces between all pairs, a likelihood summed over rows, and a
non-linear stencil. Each round runs both in turn; the ratio is that of the fastest runs, for a machine that others use too.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

import stgrad


def monte_carlo(spot, sigma, rate, noise):
    dt = 1.0 / noise.shape[1]
    total = 0.0
    for p in range(noise.shape[0]):
        s = spot
        mean = 0.0
        for t in range(noise.shape[1]):
            s = s * math.exp((rate - 0.5 * sigma * sigma) * dt + sigma * math.sqrt(dt) * noise[p, t])
            mean += s
        total += max(mean / noise.shape[1] - 1.0, 0.0)
    return math.exp(-rate) * total / noise.shape[0]


def pairwise(x, charge):
    energy = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            dx, dy, dz = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            energy += charge[i] * charge[j] / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
    return energy


def likelihood(w, x, y):
    total = 0.0
    for i in range(x.shape[0]):
        z = 0.0
        for j in range(x.shape[1]):
            z += x[i, j] * w[j]
        total += math.log(1.0 + math.exp(-y[i] * z))
    return total


def diffusion(u, steps):
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                flow = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4.0 * a[i, j]
                b[i, j] = a[i, j] + 0.1 * flow / (1.0 + a[i, j] * a[i, j])
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                a[i, j] = b[i, j]
    return np.sum(a * a)


def cases() -> list[tuple[Callable[..., Any], tuple[Any, ...], Any]]:
    rng = np.random.default_rng(0)
    return [
        (monte_carlo, (1.0, 0.2, 0.03, rng.standard_normal((3_000, 50))), (0, 1, 2)),
        (pairwise, (rng.standard_normal((500, 3)), rng.standard_normal(500)), (0, 1)),
        (likelihood, (rng.standard_normal(30), rng.standard_normal((50_000, 30)), rng.standard_normal(50_000)), 0),
        (diffusion, (rng.standard_normal((300, 300)), 4), 0),
    ]


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parallel", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    table = Table("program", "one thread", f"{numba.get_num_threads()} threads", "speed-up", title="gradients on threads")
    for function, args, argnums in cases():
        alone, together = (stgrad.value_and_grad(function, argnums, parallel=p) for p in (False, True))
        if not np.isclose(alone(*args)[0], together(*args)[0], rtol=1e-12):
            raise SystemExit(f"{function.__name__}: the values differ")
        times = [(seconds(lambda: alone(*args)), seconds(lambda: together(*args))) for _ in range(rounds)]  # noqa: B023
        one, many = map(min, zip(*times, strict=True))
        table.add_row(function.__name__, f"{one * 1e3:.1f} ms", f"{many * 1e3:.1f} ms", f"{one / many:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
