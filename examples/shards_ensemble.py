"""Calibration of an ensemble of ODEs: predators and prey in many lakes share their rates, each lake has its own start and its own data.

    python examples/shards_ensemble.py --lakes 10_000 --engine dask
"""

from __future__ import annotations

import argparse
import functools

import numpy as np
import scipy.optimize
from rich.console import Console

from stgrad import distributed

TRUE = np.array([1.1, 0.4, 0.1, 0.4])
STEP, STEPS, EVERY = 0.02, 500, 25


def step(u, v, p):
    """One step of Heun's method for du = a u - b u v, dv = c u v - d v, with rates in logarithms."""
    a, b, c, d = np.exp(p[0]), np.exp(p[1]), np.exp(p[2]), np.exp(p[3])
    du, dv = a * u - b * u * v, c * u * v - d * v
    u1, v1 = u + STEP * du, v + STEP * dv
    return u + 0.5 * STEP * (du + a * u1 - b * u1 * v1), v + 0.5 * STEP * (dv + c * u1 * v1 - d * v1)


def misfit(p, lakes):
    """The sum of squares over lakes, of the logarithms; `lakes` (lakes, 2 + observations): starts, then prey at every 25th step."""
    total = 0.0
    for lake in range(len(lakes)):
        u = lakes[lake, 0]
        v = lakes[lake, 1]
        for k in range(STEPS):
            u, v = step(u, v, p)
            if (k + 1) % EVERY == 0:
                total += (np.log(u) - np.log(lakes[lake, 2 + k // EVERY])) ** 2
    return total


def observed(lakes: int, seed: int) -> np.ndarray:
    """Lakes with 5 % of noise in what is seen."""
    rng = np.random.default_rng(seed)
    data = np.empty((lakes, 2 + STEPS // EVERY))
    data[:, :2] = rng.uniform(5.0, 15.0, size=(lakes, 2))
    u, v = data[:, 0].copy(), data[:, 1].copy()
    for k in range(STEPS):
        u, v = step(u, v, np.log(TRUE))
        if (k + 1) % EVERY == 0:
            data[:, 2 + k // EVERY] = u * np.exp(0.05 * rng.normal(size=lakes))
    return data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lakes", type=int, default=64)
    parser.add_argument("--engine", default="threads", choices=("threads", "processes", "dask", "ray"))
    options = parser.parse_args()

    lakes = distributed.from_function(functools.partial(observed, 8), max(1, options.lakes // 8))
    start = np.log(TRUE * np.array([0.9, 1.1, 0.9, 1.1]))
    with distributed.value_and_grad(misfit, shards="lakes", engine=options.engine) as both:
        found = scipy.optimize.minimize(both, start, args=(lakes,), jac=True, method="BFGS", options={"gtol": 1e-3})
    rates = np.exp(found.x)
    console = Console()
    console.print(f"{8 * len(lakes)} lakes, {found.nfev} evaluations")
    for name, rate, true in zip(("prey born", "prey eaten", "predators born", "predators died"), rates, TRUE, strict=True):
        console.print(f"{name:15} {rate:.4f}, true {true}")
    console.print(f"largest relative error {np.max(np.abs(rates / TRUE - 1.0)):.4f}")


if __name__ == "__main__":
    main()
