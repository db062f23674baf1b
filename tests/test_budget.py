"""Memory budgets: the gradients are those without one, whatever runs again, and what they take stays below it."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad import errors, runtime
from stgrad.budgets import budget_of
from stgrad.errors import RunsPlainlyWarning
from stgrad.runtime import available
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


def until_small(x, n):
    u, k = x * 1.0, 0
    while np.sum(u * u) > 1e-3 and k < n:
        u = u - 0.01 * np.sin(u) * u - 0.002 * u
        k += 1
    return np.sum(u)


def jumps(x, n):
    v, a = 0.0, x[0]
    for t in range(n):
        v = v - 0.1 * math.sin(a) * x[1]
        if v < -3.0:
            break
        if math.cos(3.0 * a) > 0.3:
            continue
        a = a + 0.1 * v + 0.01 * t
    return a * v


def open_in_place(x, n):
    u, k = x.copy(), 0
    while k < n:
        u[1:-1] = 0.5 * u[1:-1] + 0.4 * np.sin(u[2:]) * u[:-2]
        u[k % 5] += 0.1 * x[0]
        k += 1
    return np.sum(u * u)


def open_in_open(x, n):
    w, k = x * 1.0, 0
    while k < n:
        z, error = 0.5, 1.0
        while abs(error) > 1e-9:
            error = z * z - w[0] * w[0] - 1.0
            z = z - error / (2 * z)
        for _ in range(4):
            w = w + 0.01 * z * w * np.cos(w)
        k = k + 1
    return np.sum(w)


def open_in_loop(x, n):
    w = x * 1.0
    for r in range(3):
        k, s = 0, np.sum(w) * 0.1
        while s < 1.0 + n * 0.1 and k < n:
            s, k = s + 0.05 * np.exp(-s * w[r]), k + 1
        w = w + 0.1 * s * w
    return np.sum(w)


def open_buffers(x, n):
    a, b, k = x.copy(), np.zeros_like(x), 0
    while k < n:
        for i in range(1, len(a) - 1):
            b[i] = a[i] * a[i - 1] + 0.2 * np.sin(a[i + 1])
        a, b = b, a
        k += 1
    return np.sum(a * b) + np.sum(a)


def growing_trips(x, n):
    s, k = x * 1.0, 1
    for _ in range(n):
        for _ in range(k):
            s = s + 0.1 * np.sin(s)
        k = k + 1 if k < 5 else 1
    return np.sum(s)


def triangle(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s = math.sin(s * x[0] + j)
    return s


def adaptive(x, n):
    t, h, y = 0.0, 0.1, x[0] * 1.0
    while t < n * 0.05:
        d = -y * math.sin(y) * h + 0.1 * h
        if abs(d) > 0.02 and h > 1e-3:
            h = h * 0.5
        else:
            y, t, h = y + d, t + h, min(h * 1.2, 0.1)
    return y * y


BUDGETS: list[tuple[Callable[..., Any], int, tuple[int, ...]]] = [
    (in_place, 40, (10**6, 900)),
    (one_after_another, 41, (1800,)),
    (epochs, 40, (3500,)),
    (scalars, 40, (10**6, 500)),
    (branches, 50, (150,)),
    (roots, 20, (1500,)),
    (buffers, 8, (1500,)),
    (until_small, 300, (10**6, 2000)),
    (jumps, 300, (1000,)),
    (open_in_place, 300, (10**6, 1500)),
    (open_in_open, 60, (3000,)),
    (open_in_loop, 300, (1500,)),
    (open_buffers, 100, (1500,)),
    (growing_trips, 40, (2500,)),
    (adaptive, 300, (1000,)),
    (triangle, 40, (10**6, 1000)),
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


def open_pendulum(x, n):
    v, y, k = 0.0, x[0], 0
    while k < n:
        v = v - 0.1 * math.sin(y) - 0.01 * v
        y, k = y + 0.1 * v, k + 1
    return y


PEAKS = [(pendulum, 5000, 10_000), (scalars, 1500, 10_000), (open_pendulum, 5000, 10_000), (jumps, 4000, 20_000), (adaptive, 3000, 10_000)]


@pytest.mark.parametrize(("program", "n", "budget"), PEAKS)
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


@pytest.mark.parametrize("program", [jumps, open_in_place, open_in_open])
def test_compiled_while(program: Any) -> None:
    gradient, expected = stgrad.grad(program, memory="3 kB"), stgrad.grad(program, jit=False)
    for n in (1, 60):
        np.testing.assert_allclose(gradient(X, n), expected(X, n), rtol=1e-12)


def test_while_that_does_not_fit() -> None:
    with pytest.raises(errors.MemoryBudgetError, match="too small for this call"):
        stgrad.grad(open_in_place, memory=400)(X, 60)

    def two_names(x, n):
        a, k = x * 1.0, 0
        b = a
        while k < n:
            a[1:] = np.sin(a[:-1]) * b[1:]
            if k % 3 == 0:
                b = a.copy()
            elif k % 5 == 0:
                b = a
            k += 1
        return np.sum(a) + np.sum(b)

    expected = stgrad.grad(two_names, jit=False)(X, 20)
    for jit in (False, True):  # the arrays cannot be told apart, so that no trip runs again: what is kept is counted
        gradient = stgrad.grad(two_names, jit=jit, memory="20 kB")
        np.testing.assert_allclose(gradient(X, 20), expected, rtol=1e-12)
        with pytest.raises(errors.MemoryBudgetError, match="too small for this call"):
            gradient(X, 2000)

    def of_two_sizes(x, n):
        u, k = x * 1.0, 0
        w = u[::2]
        while k < n:
            u[:] = u + 0.1 * np.sin(u)
            w = u[::2] if k % 2 else u[1::2]
            w[0] = w[1] * w[2]
            k += 1
        return np.sum(u) + w[1]

    with pytest.raises(errors.MemoryBudgetError, match="nobody can tell how much memory a trip of this loop keeps"):
        stgrad.grad(of_two_sizes, jit=False, memory="20 kB")(np.ones(70), 20)  # whose extent is not compiled in


def test_everything_fits() -> None:
    """With room for all trips none runs again: the trips that do are counted."""
    text = stgrad.grad(one_after_another, jit=False, memory="1 GB").lowered(X, 9)
    assert "budget_cut" in text
    text = stgrad.grad(np.sum, jit=False, memory="1 GB").lowered(X)  # nothing is kept, and its own arrays are tested
    assert [line.split("(")[0].strip() for line in text.splitlines() if "budget" in line] == ["runtime.budget_check"]


def test_second_order() -> None:
    direction = np.cos(X)
    expected = stgrad.hvp(in_place, (X, 40), (direction, None), jit=False)[0]
    for budget in (10**6, 3000):
        np.testing.assert_allclose(stgrad.hvp(in_place, (X, 40), (direction, None), jit=False, memory=budget)[0], expected, rtol=1e-12)
    with pytest.raises(errors.MemoryBudgetError):
        stgrad.hvp(in_place, (X, 40), (direction, None), jit=False, memory=1000)

    for program in (until_small, open_in_place, jumps):
        expected = stgrad.hvp(program, (X, 60), (direction, None), jit=False)[0]
        np.testing.assert_allclose(stgrad.hvp(program, (X, 60), (direction, None), jit=False, memory=4000)[0], expected, rtol=1e-11)

    def twice(x, n):
        return np.sum(stgrad.grad(in_place)(x, n) * direction)

    np.testing.assert_allclose(stgrad.grad(twice, jit=False, memory="1 MB")(X, 12), stgrad.grad(twice, jit=False)(X, 12), rtol=1e-12)
    with pytest.raises(errors.MemoryBudgetError):  # its lists cannot be made again: what they take is tested
        stgrad.grad(twice, jit=False, memory="20 kB")(X, 1200)

    def of_while(x, n):
        return np.sum(stgrad.grad(until_small)(x, n) * direction)

    np.testing.assert_allclose(stgrad.grad(of_while, jit=False, memory="1 MB")(X, 12), stgrad.grad(of_while, jit=False)(X, 12), rtol=1e-12)
    with pytest.raises(errors.MemoryBudgetError):
        stgrad.grad(of_while, jit=False, memory="20 kB")(X, 1200)


def test_jacobians() -> None:
    def steps(x, n):
        for _ in range(n):
            x = x + 0.1 * np.sin(x) * x[::-1]
        return x

    def batch(x):
        return steps(x, 60)

    expected = stgrad.jacobian(steps, jit=False)(X, 60)
    for jacobian in (stgrad.jacobian, stgrad.jacrev):
        np.testing.assert_allclose(jacobian(steps, jit=False, memory="10 kB")(X, 60), expected, rtol=1e-12)
    for memory, least in (("10 kB", 0), (None, 60_000)):
        peak = stgrad.jacrev(steps, memory=memory).memory(X, 1000).peak
        assert peak is not None and least <= peak <= (10_000 if memory else 10**6)
    with pytest.raises(errors.MemoryBudgetError, match="too small for this call"):
        stgrad.jacrev(steps, jit=False, memory="200 B")(X, 60)
    rows = X[:, None] * np.ones(3)
    each = stgrad.batch_jacobian(batch, jit=False)(rows)
    np.testing.assert_allclose(stgrad.batch_jacobian(batch, jit=False, memory="10 kB")(rows), each, rtol=1e-12)


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
        assert budget_of(text).bytes == size
    for bad in ("2 XB", "-3 MB", 0, -1, True, "", 1.5, "MB"):
        with pytest.raises(errors.MemoryBudgetError, match="is no size of memory"):
            stgrad.grad(in_place, memory=bad)  # type: ignore[call-overload]


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stgrad.grad(in_place).options.memory is None
    monkeypatch.setenv("STGRAD_MEMORY", "3 MB")
    assert stgrad.grad(in_place).options.memory == stgrad.Budget(3_000_000)
    assert stgrad.grad(in_place, memory="1 kB").options.memory == stgrad.Budget(1000)
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


@pytest.mark.parametrize("program", [pendulum, open_pendulum])
@pytest.mark.parametrize("jit", [False, True])
def test_what_the_machine_does_not_have(program: Any, jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient that keeps more than is free is refused, when it asks, and has not yet written."""
    gradient = stgrad.grad(program, jit=jit)
    expected = gradient(X, 50)
    monkeypatch.setattr(available, "available", lambda: 10**8)
    np.testing.assert_array_equal(gradient(X, 50), expected)
    if jit or program is pendulum:  # a list in Python grows as it is
        with pytest.raises(errors.MemoryBudgetError, match="do not fit into the memory of this machine"):
            gradient(X, 35_000_000)


def test_promised_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available, "available", lambda: 10**9)
    one = runtime.empty(75_000_000)
    with pytest.raises(errors.MemoryBudgetError):
        runtime.empty((2, 37_500_000))
    monkeypatch.setenv("STGRAD_MEMORY_CHECK", "0")
    two = runtime.empty((2, 37_500_000))
    monkeypatch.delenv("STGRAD_MEMORY_CHECK")
    assert one.nbytes == two.nbytes == 6 * 10**8
    del one, two
    runtime.empty(75_000_000)


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
