"""All sensitivities of an Asian option by Monte Carlo: one reverse sweep, compared with bumping each input.

The payoff is max(mean of the price - strike, 0), the price follows geometric Brownian motion with a volatility of its own for
each month. The program is a loop over paths and, inside it, a loop over time steps, as one writes it for Numba.
"""

from __future__ import annotations

import math
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import stgrad

PATHS, STEPS, MONTHS = 20_000, 252, 12
SPOT, STRIKE, RATE, MATURITY = 100.0, 100.0, 0.03, 1.0


def price(spot, strike, rate, volatility, maturity, normals):
    """Discounted mean payoff over the paths.

    `volatility` (months,) holds one volatility for each month, `normals` (paths, steps) the random numbers.
    """
    paths, steps = normals.shape
    dt = maturity / steps
    total = 0.0
    for path in range(paths):
        s = spot
        mean = 0.0
        for step in range(steps):
            sigma = volatility[step * len(volatility) // steps]
            s *= math.exp((rate - 0.5 * sigma**2) * dt + sigma * math.sqrt(dt) * normals[path, step])
            mean += s / steps
        if mean > strike:
            total += mean - strike
    return math.exp(-rate * maturity) * total / paths


def bumps(model, arguments: tuple, step: float = 1e-6) -> list[float]:
    """Central differences in each input, with two prices for each."""
    spot, strike, rate, volatility, maturity, normals = arguments

    def difference(at, value: float) -> float:
        h = step * value
        return (at(value + h) - at(value - h)) / (2.0 * h)

    def with_month(month: int, sigma: float) -> float:
        moved = volatility.copy()
        moved[month] = sigma
        return model(spot, strike, rate, moved, maturity, normals)

    return [
        difference(lambda v: model(v, strike, rate, volatility, maturity, normals), spot),
        difference(lambda v: model(spot, v, rate, volatility, maturity, normals), strike),
        difference(lambda v: model(spot, strike, v, volatility, maturity, normals), rate),
        difference(lambda v: model(spot, strike, rate, volatility, v, normals), maturity),
        *(difference(lambda v, month=month: with_month(month, v), volatility[month]) for month in range(len(volatility))),
    ]


def timed(function, *arguments):
    """The result and the seconds it took, without compilation."""
    function(*arguments)
    started = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - started


def main() -> None:
    console = Console()
    rng = np.random.default_rng(0)
    volatility = np.linspace(0.15, 0.25, MONTHS)
    arguments = (SPOT, STRIKE, RATE, volatility, MATURITY, rng.standard_normal((PATHS, STEPS)))

    model = stgrad.jit(price)
    greeks = stgrad.value_and_grad(price, argnums=("spot", "strike", "rate", "maturity", "volatility"))
    with console.status("compiling and running"):
        value, seconds = timed(model, *arguments)
        (same, (*scalars, vegas)), seconds_greeks = timed(greeks, *arguments)
        by_bumps, seconds_bumps = timed(bumps, model, arguments)
    assert np.isclose(value, same, rtol=1e-12)

    names = ["delta (spot)", "strike", "rho (rate)", "theta (maturity)", *(f"vega, month {m + 1}" for m in range(MONTHS))]
    table = Table("sensitivity", "reverse sweep", "bumps", title=f"Asian call, {PATHS:,} paths of {STEPS} steps: {value:.4f}")
    worst = 0.0
    for name, ours, theirs in zip(names, [*scalars, *vegas], by_bumps, strict=True):
        table.add_row(name, f"{ours:.6f}", f"{theirs:.6f}")
        worst = max(worst, abs(ours - theirs) / max(abs(theirs), 1e-2))
    console.print(table)
    console.print(f"the price {1e3 * seconds:6.0f} ms")
    console.print(f"{len(names)} sensitivities by one reverse sweep {1e3 * seconds_greeks:6.0f} ms, {seconds_greeks / seconds:.1f} prices")
    console.print(f"{len(names)} sensitivities by bumps {1e3 * seconds_bumps:6.0f} ms, {seconds_bumps / seconds:.1f} prices")
    console.print(f"largest relative difference {worst:.1e}")
    assert worst < 1e-3  # a path that crosses the strike within a bump spoils the bump, not the sweep


if __name__ == "__main__":
    main()
