"""Memory budgets of what stands around a reverse sweep: Hessians, maps over batches, gradients that programs call."""

from __future__ import annotations

import numpy as np
import pytest
from test_budget import X, branches, epochs, in_place

import stgrad
from stgrad import errors


def steps(x, n):
    for _ in range(n):
        x = x + 0.1 * np.sin(x) * x[::-1]
    return np.sum(x * x)


def until(x, n):
    k = 0
    while k < n and x[0] > 0.01:
        x = x - 0.01 * np.sin(x) * x[::-1]
        k += 1
    return np.sum(x * x)


PROGRAMS = [steps, until, epochs, branches, in_place]


@pytest.mark.parametrize(("f", "jit"), [*((f, False) for f in PROGRAMS), (until, "auto")])
def test_hessian(f, jit) -> None:
    within = stgrad.hessian(f, memory="30 kB", jit=jit)
    np.testing.assert_allclose(within(X, 60), stgrad.hessian(f, jit=jit)(X, 60), rtol=1e-10, atol=1e-12)


def test_hessian_of_a_long_loop() -> None:
    within = stgrad.hessian(steps, memory="100 kB")
    peak, free = within.memory(X, 5000).peak, stgrad.hessian(steps).memory(X, 5000).peak
    assert peak is not None
    assert free is not None
    assert peak <= 100_000 < 1_000_000 < free
    np.testing.assert_allclose(within(X, 5000), stgrad.hessian(steps)(X, 5000), rtol=1e-9)
    with pytest.raises(errors.MemoryBudgetError, match="too small for this call"):
        stgrad.hessian(steps, memory="400 B", jit=False)(X, 60)
    with pytest.raises(errors.MemoryBudgetError, match="mode='reverse'"):
        stgrad.hessian(steps, memory="1 MB", mode="reverse")


@pytest.mark.parametrize("f", PROGRAMS)
def test_vmap(f) -> None:
    rows = np.stack([X, X + 0.05, X[::-1]])
    expected = stgrad.vmap(stgrad.grad(f), (0, None))(rows, 60)
    for within in (stgrad.vmap(stgrad.grad(f), (0, None), memory="20 kB"), stgrad.vmap(stgrad.grad(f, memory="20 kB"), (0, None))):
        np.testing.assert_allclose(within(rows, 60), expected, rtol=1e-11)


def test_the_smaller_budget_holds() -> None:
    rows = np.stack([X, X + 0.05, X[::-1]])
    for inner, outer in (("20 kB", None), (None, "20 kB"), ("20 kB", "1 GB"), ("1 GB", "20 kB")):
        peak = stgrad.vmap(stgrad.grad(steps, memory=inner), (0, None), memory=outer).memory(rows, 5000).peak
        assert peak is not None
        assert peak <= 20_000
    with pytest.raises(errors.MemoryBudgetError, match="threads"):
        stgrad.vmap(stgrad.grad(steps), (0, None), memory="20 kB", parallel=True)


def test_a_program_that_calls_a_gradient() -> None:
    def squared(x, n):
        return np.sum(stgrad.grad(steps, memory="20 kB")(x, n) ** 2)

    peak = stgrad.jit(squared).memory(X, 5000).peak
    assert peak is not None
    assert peak <= 20_000
    np.testing.assert_allclose(stgrad.jit(squared)(X, 60), np.sum(stgrad.grad(steps)(X, 60) ** 2), rtol=1e-12)
    np.testing.assert_allclose(  # a sweep back over it keeps everything
        stgrad.grad(squared, jit=False)(X, 30), 2.0 * stgrad.hessian(steps, jit=False)(X, 30) @ stgrad.grad(steps, jit=False)(X, 30), rtol=1e-10
    )


def test_arrays_around_a_sweep_in_a_loop_are_counted() -> None:
    def table(x, n):
        big = np.zeros((3, 1000))
        for k in range(3):
            big[k, : x.shape[0]] = stgrad.grad(steps)(x * (1.0 + 0.1 * k), n)
        return big

    within = stgrad.vmap(table, (0, None), memory="30 kB")  # of which `big` is 24 kB
    rows = np.stack([X, X[::-1]])
    with pytest.raises(errors.MemoryBudgetError, match="too small for this call"):
        within(rows, 400)  # the result is 48 kB
    assert stgrad.vmap(table, (0, None), memory="100 kB")(rows, 400).shape == (2, 3, 1000)
