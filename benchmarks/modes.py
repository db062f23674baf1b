"""Forward and reverse mode against each other and against what one writes by hand: prints times and ratios.

python -m benchmarks.modes
"""

from __future__ import annotations

from benchmarks import threads

threads.pin()

import math  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numba  # noqa: E402
import numpy as np  # noqa: E402

import stgrad  # noqa: E402
from benchmarks import operators  # noqa: E402

ROUNDS = 7


def swing(x, damping, n):
    v = 0.0
    for _ in range(n):
        v = v - 0.1 * math.sin(x) - damping * v
        x = x + 0.1 * v
    return x


@numba.njit
def swing_by_hand(x, damping, n):
    v, v_x, v_damping, x_x, x_damping = 0.0, 0.0, 0.0, 1.0, 0.0
    for _ in range(n):
        c = 0.1 * math.cos(x)
        v_damping = v_damping - c * x_damping - damping * v_damping - v
        v_x = v_x - c * x_x - damping * v_x
        v = v - 0.1 * math.sin(x) - damping * v
        x_x, x_damping, x = x_x + 0.1 * v_x, x_damping + 0.1 * v_damping, x + 0.1 * v
    return x_x, x_damping


def layer(x, w, b):
    return np.tanh(w @ x + b)


@numba.njit
def layer_by_hand(x, w, b):
    y = np.tanh(w @ x + b)
    return (1.0 - y * y).reshape((-1, 1)) * w


def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def logistic(x, r, n):
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


def neighbours(x):
    total = 0.0
    for i in range(1, len(x)):
        total += math.exp(-((x[i] - x[i - 1]) ** 2)) * math.cos(x[i])
    return total


def fastest(f: Callable[..., Any], *args: Any) -> float:
    """Seconds of the fastest of some calls, after those that compile."""
    times = []
    for _ in range(3 + ROUNDS):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times[3:])


def main() -> None:
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=200), rng.normal(size=(200, 200)) / 14.0, rng.normal(size=200)
    point, v = rng.normal(size=100_000), rng.normal(size=100_000)
    steps = (1.0, 0.2, 1_000_000)
    grad, hessian = stgrad.grad, stgrad.hessian
    show("loop of 1e6 steps in two numbers", ("by hand", swing_by_hand, steps), *((m, grad(swing, (0, 1), mode=m), steps) for m in ("forward", "reverse")))
    modes = ("forward", "reverse", "auto")
    show("Jacobian of a 200 x 200 layer", ("by hand", layer_by_hand, (x, w, b)), *((m, stgrad.jacobian(layer, mode=m), (x, w, b)) for m in modes))
    show("Hessian of Rosenbrock's function, n = 100", *((m, hessian(rosenbrock, mode=m), (point[:100],)) for m in ("reverse", "forward")))
    for f in (rosenbrock, neighbours):
        show(f"hvp of {f.__name__}, n = 100000", ("gradient", grad(f), (point,)), ("hvp", stgrad.hvp, (f, (point,), (v,))))
    for f, args in ((swing, steps), (logistic, (0.3, 3.7, 100_000))):
        show(f"hvp of {f.__name__}", ("gradient", grad(f, (0, 1)), args), ("hvp", stgrad.hvp(f, (0, 1)), (*args, (1.0, 1.0))))
    after_others(rng)
    calls()


def after_others(rng: np.random.Generator) -> None:
    """Programs of ADBench and GradBench; particle and saddle have no other row to be compared with."""
    o = operators
    hand = o.hand_data(rng, 544)
    show("Jacobian of a tracked hand", ("by hand", o.hand_jacobian_by_hand, hand), ("forward", stgrad.jacfwd(o.hand_residuals), hand))
    for points, means in ((rng.normal(size=(10_000, 8)), rng.normal(size=(10, 8))), (rng.normal(size=(1000, 32)), rng.normal(size=(64, 32)))):
        title = f"gradient and diagonal of the Hessian of k-means, {len(points)} points, {len(means)} means in {means.shape[1]} dimensions"
        costs = (("loops", o.cost_of_means), ("arrays", o.cost_of_means_with_arrays))
        show(title, ("by hand", o.means_by_hand, (means, points)), *((name, o.gradient_and_diagonal(cost), (means, points)) for name, cost in costs))
    m = rng.normal(size=(9, 9))
    value, gradient = ("value", stgrad.jit(o.determinant), (m,)), ("gradient", stgrad.grad(o.determinant), (m,))
    show("determinant of 9 x 9 by minors", ("by hand", o.determinant_by_hand, (m, 1.0)), value, gradient)
    show("particle: a descent over a path through a field", ("stgrad", stgrad.jit(o.particle), (0.0,)))
    show("saddle: a descent over descents", ("stgrad", stgrad.jit(o.saddle), (np.ones(2),)))


def calls() -> None:
    """What a call costs beside the compiled code that it calls, of a function of five numbers."""
    x, v = np.full(5, 0.3), np.ones(5)
    push, product, gradient = stgrad.jvp(rosenbrock), stgrad.hvp(rosenbrock), stgrad.grad(rosenbrock)
    linear, pullback = stgrad.linearize(rosenbrock, x)[1], stgrad.vjp(rosenbrock, x)[1]
    rows: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "grad": (gradient, (x,)), "grad, Numba's own call": (gradient.dispatcher(x), (x,)), "hvp(f)": (product, (x, v)),
        "hvp(f), Numba's own call": (product.dispatcher(x, v), (x, v)), "hvp": (stgrad.hvp, (rosenbrock, (x,), (v,))), "jvp(f)": (push, ((x,), (v,))),
        "jvp": (stgrad.jvp, (rosenbrock, (x,), (v,))), "what linearize gives": (linear, (v,)), "vjp": (stgrad.vjp, (rosenbrock, x)),
        "a pullback": (pullback, (1.0,)),
    }  # fmt: skip
    print("calls of a function of five numbers, microseconds")
    for name, (f, args) in rows.items():
        print(f"    {name:26} {1e6 * fastest(lambda f=f, args=args: [f(*args) for _ in range(5000)]) / 5000:8.2f}")  # type: ignore[misc]


def show(title: str, *rows: tuple[str, Callable[..., Any], tuple[Any, ...]]) -> None:
    """One line for each way, with its ratio to the first."""
    print(title)
    first = 0.0
    for name, f, args in rows:
        seconds = fastest(f, *args)
        first = first or seconds
        print(f"    {name:10} {1e3 * seconds:10.3f} ms   {seconds / first:8.2f}")


if __name__ == "__main__":
    main()
