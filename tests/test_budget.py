"""Memory budgets: the gradients are those without one, whatever runs again, and what they take stays below it."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.budgets import budget_of
from stgrad.plain.running import RunsPlainlyWarning
from stgrad.runtime.budget import budget_length, budget_slots

X = np.linspace(0.1, 0.9, 6)


def in_place(x, n):
    u = x * x
    total = np.sum(np.sin(u))
    for t in range(n):
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[:-2]) * np.cos(u[2:] * total)
        u[t % 5] = u[(t + 1) % 5] ** 2 - x[0]
    u[1] = u[2] * total
    return np.sum(u * u)


def one_after_another(x, n):
    u = x * 1.0
    for t in range(1, n, 2):
        u = u + 0.01 * np.sin(u * t)
    v = 0.0
    for t in range(n, 0, -1):
        v = v - 0.01 * np.sin(v) * u[t % 6]
    return np.sum(u * u) * np.cos(v)


def epochs(x, n):
    w = x * 1.0
    for _ in range(4):
        u = w * w
        for t in range(n):
            u = u + 0.1 * np.sin(u) * w[t % 3]
        w = w + 0.1 * u
    return np.sum(w)


def branches(x, n):
    total = x[0] * x[1]
    if x[1] > 0.0:
        for t in range(1, n):
            total = np.cos(total) + t * x[2]
    else:
        for t in range(n):
            total = np.sin(total) + t * x[2]
    return total * total


def roots(x, n):
    u = x * 1.0
    for _ in range(n):
        z, error = 0.5, 1.0
        while abs(error) > 1e-9:
            error = z * z - u[0] * u[0] - 1.0
            z = z - error / (2 * z)
        u = u + 0.01 * z * u
    return np.sum(u)


def buffers(x, n):
    a, b = x.copy(), np.zeros_like(x)
    for _ in range(n):
        for i in range(1, len(a) - 1):
            b[i] = a[i] * a[i - 1] + 0.2 * np.sin(a[i + 1])
        a, b = b, a
    return np.sum(a * b) + np.sum(a)


def scalars(x, n):
    a = x[0]
    for _ in range(3):
        b = a
        for t in range(n):
            b = b - 0.01 * math.sin(b) * a + 0.001 * math.cos(t * b)
        a = math.cos(a * b)
    return a


def pendulum(x, n):
    v, y = 0.0, x[0]
    for _ in range(n):
        v = v - 0.1 * math.sin(y) - 0.01 * v
        y = y + 0.1 * v
    return y


BUDGETS: list[tuple[Callable[..., Any], int, tuple[int, ...]]] = [
    (in_place, 40, (10**6, 900)),
    (one_after_another, 41, (1800,)),
    (epochs, 40, (3500,)),
    (scalars, 40, (10**6, 500)),
    (branches, 50, (150,)),
    (roots, 20, (1500,)),
    (buffers, 8, (1500,)),
]


@pytest.mark.parametrize(("program", "n", "budgets"), BUDGETS)
def test_same_gradient(program: Any, n: int, budgets: tuple[int, ...]) -> None:
    expected = [stgrad.value_and_grad(program, jit=False)(X, k) for k in (0, 1, n)]
    for budget in budgets:
        gradient = stgrad.value_and_grad(program, jit=False, memory=budget)
        for k, (value, slope) in zip((0, 1, n), expected, strict=True):
            found = gradient(X, k)
            assert found[0] == value
            np.testing.assert_allclose(found[1], slope, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize(("program", "n", "budget"), [(pendulum, 5000, 10_000), (scalars, 1500, 10_000)])
def test_peak(program: Any, n: int, budget: int) -> None:
    gradient = stgrad.grad(program, jit=False, memory=budget)
    gradient(X, 30)
    gradient(X, 30)
    tracemalloc.start()
    gradient(X, n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert budget / 10 < peak < 1.05 * budget + 5000  # arrays have heads, and numbers are objects here
    assert n * X.itemsize > budget


def test_compiled() -> None:
    gradient, expected = stgrad.grad(in_place, memory="1 kB"), stgrad.grad(in_place, jit=False)
    for n in (0, 1, 40):
        np.testing.assert_allclose(gradient(X, n), expected(X, n), rtol=1e-12)
    with pytest.raises(errors.MemoryBudgetError, match="too small for this call"):
        gradient(np.ones(500), 40)


def test_everything_fits() -> None:
    """With room for all trips none runs again: the trips that do are counted."""
    text = stgrad.grad(one_after_another, jit=False, memory="1 GB").lowered(X, 9)
    assert "budget_cut" in text
    assert "budget" not in stgrad.grad(np.sum, jit=False, memory="1 GB").lowered(X)  # nothing is kept


def test_second_order() -> None:
    direction = np.cos(X)
    expected = stgrad.hvp(in_place, (X, 40), (direction, None), jit=False)[0]
    for budget in (10**6, 3000):
        np.testing.assert_allclose(stgrad.hvp(in_place, (X, 40), (direction, None), jit=False, memory=budget)[0], expected, rtol=1e-12)
    with pytest.raises(errors.MemoryBudgetError):
        stgrad.hvp(in_place, (X, 40), (direction, None), jit=False, memory=1000)

    def twice(x, n):
        return np.sum(stgrad.grad(in_place)(x, n) * direction)

    np.testing.assert_allclose(stgrad.grad(twice, jit=False, memory="1 MB")(X, 12), stgrad.grad(twice, jit=False)(X, 12), rtol=1e-12)
    with pytest.raises(errors.MemoryBudgetError):  # its lists cannot be made again: what they take is tested
        stgrad.grad(twice, jit=False, memory="20 kB")(X, 1200)


def test_vjp() -> None:
    def steps(x, n):
        for _ in range(n):
            x = x + 0.1 * np.sin(x)
        return x

    value, pullback = stgrad.vjp(steps, X, 50, jit=False, memory="2 kB")
    expected, pulled = stgrad.vjp(steps, X, 50, jit=False)
    assert np.array_equal(value, expected)
    np.testing.assert_allclose(pullback(X)[0], pulled(X)[0], rtol=1e-13)


def test_sizes() -> None:
    for text, size in (("8 MB", 8 * 10**6), ("2GiB", 2 << 30), ("1.5 kb", 1500), ("77", 77), (5, 5)):
        assert budget_of(text) == size
    for bad in ("2 XB", "-3 MB", 0, -1, True, "", 1.5, "MB"):
        with pytest.raises(errors.MemoryBudgetError, match="is no size of memory"):
            stgrad.grad(in_place, memory=bad)  # type: ignore[call-overload]


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stgrad.grad(in_place).options.memory is None
    monkeypatch.setenv("STGRAD_MEMORY", "3 MB")
    assert stgrad.grad(in_place).options.memory == 3_000_000
    assert stgrad.grad(in_place, memory="1 kB").options.memory == 1000
    monkeypatch.setenv("STGRAD_MEMORY", "much")
    with pytest.raises(errors.MemoryBudgetError, match="STGRAD_MEMORY='much' is no size"):
        stgrad.grad(in_place)


def test_no_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    def unreadable(x):
        with open("/dev/null"):
            return x * x

    with pytest.warns(RunsPlainlyWarning):
        assert stgrad.grad(unreadable)(3.0) == 6.0
    with pytest.raises(errors.UnsupportedSyntaxError):
        stgrad.grad(unreadable, memory="1 GB")(3.0)


def test_choice() -> None:
    """Parts and snapshots fit in the share, and each trip runs once more where that can be."""
    for trips in (2, 17, 1000, 10**5):
        for state, kept in ((8, 8), (800, 8), (8, 800)):
            for share in (state + kept, 10 * (state + kept), 50_000, 10**7):
                if state + kept <= share:
                    length = budget_length(trips, state, kept, share)
                    slots = budget_slots(trips, length, state, kept, share)
                    assert length * kept + slots * state <= share
                    least = 2 * np.sqrt(trips * state * kept) + 2 * (state + kept)
                    if share > 1.6 * least:
                        assert slots == -(-trips // length)
