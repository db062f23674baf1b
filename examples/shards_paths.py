"""Sensitivities of an option by Monte Carlo, with a seed for each shard of paths: price, delta and vega, and how sure they are.

    python examples/shards_paths.py --paths 10_000_000 --engine dask
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from rich.console import Console
from scipy.special import ndtr

import stgrad
from stgrad import distributed

STEPS = 16
SPOT, STRIKE, RATE, SIGMA, MATURITY = 100.0, 105.0, 0.02, 0.2, 1.0


def price(spot, sigma, normals):
    """Discounted mean payoff of a call over paths of geometric Brownian motion; `normals` (paths, steps)."""
    paths, steps = normals.shape
    dt = MATURITY / steps
    total = 0.0
    for path in range(paths):
        s = spot
        for step in range(steps):
            s *= math.exp((RATE - 0.5 * sigma**2) * dt + sigma * math.sqrt(dt) * normals[path, step])
        total += max(s - STRIKE, 0.0)
    return math.exp(-RATE * MATURITY) * total / paths


def normals(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((5_000, STEPS))


def exact() -> tuple[float, float, float]:
    """The formula of Black and Scholes: price, delta, vega."""
    d = (math.log(SPOT / STRIKE) + (RATE + 0.5 * SIGMA**2) * MATURITY) / (SIGMA * math.sqrt(MATURITY))
    value = SPOT * ndtr(d) - STRIKE * math.exp(-RATE * MATURITY) * ndtr(d - SIGMA * math.sqrt(MATURITY))
    return value, ndtr(d), SPOT * math.sqrt(MATURITY) * math.exp(-0.5 * d**2) / math.sqrt(2.0 * math.pi)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paths", type=int, default=100_000)
    parser.add_argument("--engine", default="threads", choices=("threads", "processes", "dask", "ray"))
    options = parser.parse_args()

    seeds = distributed.from_function(normals, max(2, options.paths // 5_000), keep=False)
    with distributed.map(stgrad.value_and_grad(price, ("spot", "sigma")), shards="normals", engine=options.engine) as each:
        found = np.array([(value, *slopes) for value, slopes in each(SPOT, SIGMA, seeds)])
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
    console = Console()
    for name, m, e, wanted in zip(("price", "delta", "vega"), mean, error, exact(), strict=True):
        console.print(f"{name:6} {m:9.4f} +- {e:.4f}, by the formula {wanted:9.4f}")
    console.print(f"farthest off {np.max(np.abs(mean - exact()) / error):.1f} standard errors")


if __name__ == "__main__":
    main()
