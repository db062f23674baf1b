"""Counters of `while` loops and of loops that break are counted down; stacks that loops fill are filled by spans."""

from __future__ import annotations

import sys

import numba
import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import runtime

RNG = np.random.default_rng(7)


def breaks(x, limit):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.sin(x[i]) * total + x[i] ** 2
        if total > limit:
            break
    return total


def breaks_from_two(x, limit):
    total = 0.0
    for i in range(2, x.shape[0], 2):
        if total > limit:
            break
        total += np.sin(x[i] * total) + x[i - 1]
    return total


def counts_by_threes(x):
    total, k = 1.0, 1
    while k < x.shape[0] and total < 50.0:
        total = total * np.cosh(x[k])
        k += 3
    return total


def begins_elsewhere(x, k):
    total = 1.0
    while k < x.shape[0]:
        total = np.sin(total) * x[k] + total
        k += 1
    return total


def steps_twice(x):
    total, k = 1.0, 0
    while k < x.shape[0]:
        if x[k] > 0.0:
            k += 1
        total = np.sin(total) * x[min(k, x.shape[0] - 1)] + total
        k += 1
    return total


def nested(x):
    total = 0.0
    for i in range(x.shape[0]):
        y = x[i]
        for k in range(10):
            y = np.sin(y) + 0.1 * x[k % x.shape[0]]
            if y < 0.5:
                break
        for k in range(10):
            y = np.cos(y) * x[k % x.shape[0]]
            if abs(y) < 0.2:
                break
        total += y
    return total


@pytest.mark.parametrize("function", [breaks, breaks_from_two, counts_by_threes, begins_elsewhere, steps_twice, nested])
def test_counters(function):
    x = RNG.uniform(0.3, 1.2, 11)
    args = (x, 4.0) if function in (breaks, breaks_from_two) else (x, 3) if function is begins_elsewhere else (x,)
    check_gradient(function, args, order=2)
    kept = stgrad.grad(function).lowered(*args)
    if function not in (begins_elsewhere, steps_twice):
        assert "push(v_k" not in kept and "push(k_" not in kept


def relaxed(b, omega):
    n = b.shape[0]
    u = np.zeros((n, n))
    for _ in range(100):
        error = 0.0
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                r = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - b[i, j]) / 4.0 - u[i, j]
                u[i, j] += omega * np.sin(r)
                error = max(error, abs(r))
        if error < 1e-3:
            break
    return np.sum(u**2)


def downwards(v, weights, cap, t):
    d = np.zeros(cap + 1)
    for i in range(v.shape[0]):
        for c in range(cap, weights[i] - 1, -1):
            a, b = d[c], d[c - weights[i]] + v[i]
            d[c] = max(a, b) + t * np.log1p(np.exp(-abs(a - b) / t))
    return d[cap]


def halved(x):
    y, n = 1.0 * x, x.shape[0]
    while n > 1:
        n = n // 2
        for k in range(n):
            y[k] = np.tanh(y[2 * k] * y[2 * k + 1])
    return y[0]


def bound_anew(x, n):
    y = 1.0 * x[0]
    while n > 2:
        for i in range(1, n):
            y = np.sin(y) * x[i] + np.cos(y)
            n = i
        n = n - 1
        low = n - 1
        for i in range(n, low - 2, -1):
            y = np.tanh(y) * x[i]
            low = i - 5
    return y


def truths(x):
    """A stack of bools, and loops without trips."""
    total, n = 0.1, x.shape[0]
    while n > 0:
        for k in range(n - 3):
            if x[k] * total < 0.3:
                total = total + np.sin(x[k + 1]) * total + 0.1
            total = total * x[k]
        n -= 2
    return total


@pytest.mark.parametrize(
    ("function", "args", "argnums"),
    [
        (relaxed, (RNG.standard_normal((6, 7))[:6, :6], 1.2), (0, 1)),
        (downwards, (RNG.random(6), RNG.integers(1, 5, 6), 12, 0.3), (0, 3)),
        (halved, (RNG.uniform(0.5, 1.5, 16),), 0),
        (bound_anew, (RNG.uniform(0.5, 1.5, 12), 11), 0),
        (truths, (RNG.uniform(0.5, 1.5, 9),), 0),
    ],
)
def test_spans(function, args, argnums):
    check_gradient(function, args, order=2, argnums=argnums)
    text = stgrad.grad(function, argnums).lowered(*args)
    assert ("runtime.span(" in text) == ("runtime.unspan(" in text)
    assert "runtime.span(" in text or function is bound_anew


def test_spans_grow_the_stack():
    """Beyond its first block, and by single items in between."""

    def grows(x, n):
        total = 0.0
        while n > 0:
            for k in range(n):
                total = np.sin(total) + x[k % 5]
            n -= 37
        return total

    x = RNG.uniform(0.5, 1.5, 5)
    check_gradient(grows, (x, 500), order=1)
    check_gradient(grows, (x, 40), order=1)


def raises_early(x, n, rounds):
    total = 0.0
    while rounds > 0:
        for k in range(n):
            total = np.sin(total) + x[k % 3]
            if k > 20:
                raise ValueError("enough")
        rounds -= 1
    return total


def test_a_loop_that_an_exception_ends_asks_for_no_memory_ahead():
    with pytest.raises(ValueError, match="enough"):
        stgrad.grad(raises_early)(np.ones(3), sys.maxsize, 2)


def test_more_items_than_any_memory_has():
    @numba.njit
    def keeps(n):
        stack = runtime.new_stack(0.0)
        return runtime.span(stack, n).shape[0]

    assert keeps(1000) == 1000
    assert keeps(-1) == 0
    for n in (2**41, 2**61, sys.maxsize):
        with pytest.raises(MemoryError, match="are to be kept for the sweep back"):
            keeps(n)
