"""What is saved between the sweeps, what is made again, and what is read back from where it was stored."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad.analysis.affine import named, number
from stgrad.analysis.cut import Network
from stgrad.analysis.inequalities import contradictory
from tests import tables


def stacks(function: Callable[..., Any], *args: Any, argnums: Any = 0) -> int:
    """How many stacks the gradient program has."""
    text = stgrad.grad(function, argnums).stages(*args)["reverse"]
    return len(re.findall(r"^    \w+ = \[\]$", text, re.MULTILINE))



# ----------------------------------------------------------------- programs


def factor(K):
    n = len(K)
    L = np.zeros((n, n))
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = K[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
        total += math.log(L[i, i])
    return total


def shortest(cost):
    n, m = cost.shape
    best = np.zeros((n + 1, m + 1))
    for i in range(n):
        for j in range(m):
            best[i + 1, j + 1] = cost[i, j] * cost[i, j] + 0.5 * min(best[i, j + 1], best[i + 1, j])
    return best[n, m] * best[n - 1, m]


def tables_by_row(x, n):
    rows = np.zeros((n + 1, x.shape[0]))
    rows[0] = x
    for t in range(n):
        rows[t + 1] = np.sin(rows[t]) + 0.5 * x
    return np.sum(rows[n] * rows[n])


def in_place(x):
    for t in range(3):
        for i in range(1, x.shape[0]):
            x[i] = math.sin(x[i - 1] * x[i])
    return np.sum(x * x)


def queue(gaps, services):
    wait, total = 0.0, 0.0
    for i in range(gaps.shape[0]):
        wait = max(0.0, wait + services[i] - gaps[i])
        total += wait * wait
    return total


def stepper(x, k, end):
    t, h = 0.0, 0.05
    while t < end:
        slope = -k * x
        middle = x + 0.5 * h * slope
        new = x - h * k * middle
        error = abs(new - (x + h * slope))
        if error < 1e-3:
            t += h
            x = new
        h = h * min(1.5, max(0.5, 0.9 * math.sqrt(1e-3 / (error + 1e-9))))
    return x


def barrier(spot, sigma, noise):
    total = 0.0
    for p in range(noise.shape[0]):
        s, alive = spot, True
        for t in range(noise.shape[1]):
            s = s * (1.0 + sigma * noise[p, t])
            if s > 1.4 * 1.0:
                alive = False
        if alive:
            total += max(s - 1.0, 0.0)
    return total / noise.shape[0]


def clipped(x, a, n):
    for _ in range(n):
        x = x + a * math.sin(x)
        if x > 1.0:
            x = 1.0 + 0.1 * (x - 1.0)
        elif x < -1.0:
            x = -1.0
    return x * x


def sweeps_over_a_line(x, n):
    for t in range(n):
        for i in range(1, x.shape[0] - 1):
            x[i] = x[i] + 0.1 * (x[i - 1] - 2.0 * x[i] + x[i + 1]) * x[i]
    return np.sum(x)


RANDOM = np.random.default_rng(7)
SPD = np.eye(5) * 3.0 + 0.1 * (RANDOM.standard_normal((5, 5)) + RANDOM.standard_normal((5, 5)).T)
PROGRAMS = [  # program, arguments, stacks that a person would use
    (factor, (SPD,), 0, 0),
    (shortest, (RANDOM.uniform(0.2, 1.0, (4, 5)),), 0, 0),
    (tables_by_row, (RANDOM.standard_normal(4), 3), 0, 0),
    (in_place, (RANDOM.standard_normal(5),), 0, 1),
    (queue, (RANDOM.uniform(0.5, 1.0, 8), RANDOM.uniform(0.4, 1.2, 8)), (0, 1), 1),
    (stepper, (1.0, 0.8, 1.0), (0, 1), 2),
    (barrier, (1.0, 0.2, RANDOM.standard_normal((6, 4))), (0, 1), 4),
    (clipped, (0.3, 0.7, 9), (0, 1), 3),
    (sweeps_over_a_line, (RANDOM.standard_normal(6), 3), 0, 1),
]


@pytest.mark.parametrize(("function", "args", "argnums", "most"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS])
def test_no_more_is_saved_than_by_hand(function: Any, args: Any, argnums: Any, most: int) -> None:
    assert stacks(function, *args, argnums=argnums) <= most


@pytest.mark.parametrize(("function", "args", "argnums", "most"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS])
def test_gradients_are_right(function: Any, args: Any, argnums: Any, most: int) -> None:
    which = (argnums,) if isinstance(argnums, int) else argnums
    bars = stgrad.grad(function, which, jit=False)(*args)
    for position, bar in zip(which, bars, strict=True):
        along = np.random.default_rng(1).standard_normal(np.shape(args[position]))
        h = 1e-6

        def moved(step: float, position: int = position, along: Any = along) -> Any:
            return function(*(np.copy(a) + step * along if i == position else np.copy(a)[()] for i, a in enumerate(args)))

        expected = (moved(h) - moved(-h)) / (2 * h)
        assert np.isclose(np.sum(bar * along), expected, rtol=1e-5, atol=1e-7)


# ----------------------------------------------------------------- random tables


def along(seed: int) -> tuple[Any, float, Any, float]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(5), 0.7, rng.standard_normal(5), 0.3


@pytest.mark.parametrize("seed", [11, 14, 226, 232, 271, 324, 337, 377, *range(30)])
@pytest.mark.filterwarnings("ignore")
def test_random_tables(seed: int) -> None:
    _, program, twin = tables.pair(seed, 8 if seed > 30 else 12)
    x, y, dx, dy = along(seed)
    expected = tables.slope(twin, x, y, dx, dy)
    if not np.isfinite(expected) or abs(expected) > 1e8:
        pytest.skip("grows without bound")
    x_bar, y_bar = stgrad.grad(program, (0, 1), jit=False)(x, y)
    assert np.isclose(x_bar @ dx + y_bar * dy, expected, rtol=1e-8, atol=1e-8)


# ----------------------------------------------------------------- the pieces


def test_a_cut_takes_the_cheapest_edges() -> None:
    network = Network()
    for tail, head, capacity in [("s", "a", 9), ("a", "b", 2), ("a", "c", 3), ("b", "t", 9), ("c", "t", 1)]:
        network.join(tail, head, capacity)
    assert network.near("s", "t") == {"s", "a", "c"}


I, J, ONE = named("i"), named("j"), number(1)


@pytest.mark.parametrize(
    ("zero", "nonnegative", "expected"),
    [
        ([I - J], [I - J - ONE], True),  # i = j, i > j
        ([I.scaled(2) - J.scaled(2) + ONE], [], True),  # 2 i = 2 j - 1: even and odd
        ([], [I, number(3) - I], False),  # 0 <= i <= 3
        ([], [I.scaled(2) - ONE, ONE - I.scaled(2)], True),  # no integer is 1/2
        ([], [I - number(Fraction(1, 2)), number(Fraction(1, 2)) - I], True),
        ([ONE], [], True),
    ],
)
def test_contradictions(zero: Any, nonnegative: Any, expected: bool) -> None:
    assert contradictory(zero, nonnegative) is expected


def fails_late(x, bad):
    s, k = 0.0, 0.0
    while k < 200_000.0:
        s = math.sin(s + x)
        k = k + 1.0
        if bad > 0.5 and k > 199_990.0:
            raise ValueError("too late")
    return s * s


def test_stacks_are_freed_when_the_program_raises() -> None:
    resource = pytest.importorskip("resource")
    gradient = stgrad.grad(fails_late)
    gradient(1.0, 0.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(60):
        with pytest.raises(ValueError, match="too late"):
            gradient(1.0, 1.0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # kilobytes; each run stacks 1600
