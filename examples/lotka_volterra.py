"""Fit the Lotka-Volterra equations to the hares and lynxes of the Hudson Bay, 1900 to 1920.

    d hare / dt = ( alpha - beta * lynx) * hare
    d lynx / dt = (-gamma + delta * hare) * lynx

A Runge-Kutta loop, written as one writes it for Numba, integrates the equations; SciPy's minimiser walks down the gradient that
stgrad makes of it. Writes to `examples/output/`: the fit as a picture, and the source of the gradient program.
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from scipy.optimize import OptimizeResult, minimize

import stgrad

HERE = Path(__file__).parent
OUTPUT = HERE / "output"
NAMES = ("alpha", "beta", "gamma", "delta", "hare in 1900", "lynx in 1900")
GUESS = np.log([0.5, 0.02, 0.8, 0.02, 30.0, 4.0])
STEPS = 50  # of the integrator, a year
MAX_ITERATIONS = 100


def rates(z, rate, dz):
    """Growth of hares and lynxes `z` (2,), written to `dz` (2,)."""
    hare, lynx = z
    dz[0] = (rate[0] - rate[1] * lynx) * hare
    dz[1] = (rate[3] * hare - rate[2]) * lynx


def simulate(theta, years, steps):
    """Hares and lynxes at the end of each year, (years, 2), by the classical Runge-Kutta method.

    `theta` (6,) holds the logarithms of the four rates and of the two populations in the first year.
    """
    rate = np.exp(theta[:4])
    dt = 1.0 / steps
    k1, k2, k3, k4 = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    z = np.exp(theta[4:])
    path = np.empty((years, 2))
    path[0] = z
    for year in range(1, years):
        for _ in range(steps):
            rates(z, rate, k1)
            rates(z + 0.5 * dt * k1, rate, k2)
            rates(z + 0.5 * dt * k2, rate, k3)
            rates(z + dt * k3, rate, k4)
            z += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        path[year] = z
    return path


def loss(theta, data, steps):
    """Mean squared difference of the logarithms of model and data."""
    path = simulate(theta, data.shape[0], steps)
    return np.mean((np.log(path) - np.log(data)) ** 2)


def read_data() -> tuple[np.ndarray, np.ndarray]:
    """Years (21,), and hares and lynxes in thousands of pelts (21, 2)."""
    table = np.genfromtxt(HERE / "data" / "hudson_bay.csv", delimiter=",", names=True, skip_header=2)
    return table["year"], np.column_stack([table["hare"], table["lynx"]])


def differences(theta: np.ndarray, data: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The gradient by central differences: two runs of the model for each parameter."""
    model = stgrad.jit(loss)
    rows = step * np.eye(theta.size)
    return np.array([(model(theta + e, data, STEPS) - model(theta - e, data, STEPS)) / (2.0 * step) for e in rows])


def fit(gradient, data: np.ndarray, console: Console) -> OptimizeResult:
    """Minimise the loss, with a line on the terminal that moves with it."""
    columns = (TextColumn("fitting"), BarColumn(), TextColumn("{task.fields[now]}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("fit", total=MAX_ITERATIONS, now="")

        def show(intermediate_result: OptimizeResult) -> None:
            progress.update(task, advance=1, now=f"loss {intermediate_result.fun:.6f}")

        result = minimize(
            gradient, GUESS, args=(data, STEPS), jac=True, method="BFGS", callback=show, options={"maxiter": MAX_ITERATIONS, "gtol": 1e-6}
        )
        progress.update(task, completed=MAX_ITERATIONS)
    return result


def draw(path: Path, years: np.ndarray, data: np.ndarray, theta: np.ndarray) -> None:
    """The data as points, the fit as curves with ten points a year."""
    fine = simulate(theta - np.log([10.0] * 4 + [1.0] * 2), (len(years) - 1) * 10 + 1, STEPS // 10)
    figure, axes = plt.subplots(figsize=(8.0, 4.5), layout="constrained")
    when = np.linspace(years[0], years[-1], len(fine))
    for column, (name, colour) in enumerate([("hare", "tab:blue"), ("lynx", "tab:orange")]):
        axes.plot(years, data[:, column], "o", color=colour, label=f"{name}, counted")
        axes.plot(when, fine[:, column], color=colour, label=f"{name}, fitted")
    axes.set(title="Pelts of the Hudson's Bay Company", xlabel="year", ylabel="thousands", ylim=(0.0, 95.0))
    axes.set_xticks(years[::4].astype(int))
    axes.legend(ncols=4, frameon=False, loc="upper center")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    console = Console()
    OUTPUT.mkdir(exist_ok=True)
    years, data = read_data()
    gradient = stgrad.value_and_grad(loss)

    started = time.perf_counter()
    with console.status("compiling the gradient"):
        value, bar = gradient(GUESS, data, STEPS)
    console.print(f"compiled the gradient in {time.perf_counter() - started:.1f} s")
    by_differences = differences(GUESS, data)
    error = np.max(np.abs(bar - by_differences)) / np.max(np.abs(bar))
    console.print(f"gradient against central differences: relative error {error:.1e}")
    assert error < 1e-6, (bar, by_differences)

    started = time.perf_counter()
    result = fit(gradient, data, console)
    took = time.perf_counter() - started
    steps = (len(years) - 1) * STEPS
    console.print(f"loss {value:.4f} -> {result.fun:.4f} in {result.nfev} gradients of {steps} Runge-Kutta steps each, {took:.2f} s")
    for name, parameter in zip(NAMES, np.exp(result.x), strict=True):
        console.print(f"  {name:<12} {parameter:8.4f}", highlight=False)
    assert result.fun < 0.1

    draw(OUTPUT / "lotka_volterra.png", years, data, result.x)
    (OUTPUT / "lotka_volterra_grad.py").write_text(gradient.lowered(GUESS, data, STEPS))
    console.print("picture:  examples/output/lotka_volterra.png")
    console.print("gradient: examples/output/lotka_volterra_grad.py")


if __name__ == "__main__":
    main()
