"""`while` loops that are known to run less than three times are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def by_squaring(x: Any, order: int) -> Any:
    """As `scipy.stats.moment` does it."""
    orders = [order]
    while order > 2:
        order = (order - 1) // 2 if order % 2 else order // 2
        orders.append(order)
    power = x * 1.0 if orders[-1] == 1 else x**2
    for n in orders[-2::-1]:
        power = power**2
        if n % 2:
            power = power * x
    return np.sum(power)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 7, 9, 17])
def test_the_trips_are_written_out(order: int) -> None:
    x = np.array([0.5, 1.5])
    text = stgrad.grad(lambda x: by_squaring(x, order)).source(x)
    assert ("while" in text) == (order == 17)
    np.testing.assert_allclose(stgrad.grad(by_squaring)(x, order), order * x ** (order - 1))


def ended_early(x: Any, n: int) -> Any:
    k, total = 0, 0.0
    while k < n:
        k += 1
        if x[k] > 1.0:
            break
        total += x[k] ** 2
    else:
        total *= 3.0
    return total * k


def raised(x: Any) -> Any:
    k = 0
    while k < 2:
        k += 1
        if k == 2:
            raise ValueError("two")
    return x


def grown(x: Any) -> Any:
    rows: list[Any] = []
    for i in range(len(x)):
        k = 0
        while k < 2:
            rows.append(x[i] * k)
            k += 1
    return sum(r**2 for r in rows)


@pytest.mark.parametrize("jit", [False, True])
def test_ends(jit: bool) -> None:
    x = np.array([0.3, 0.7, 0.5, 1.4, 0.2])
    for n in (0, 1, 2, 4):
        check_gradient(lambda x: ended_early(x, n), (x,), order=1, jit=jit)
    with pytest.raises(ValueError, match="two"):
        stgrad.grad(raised, jit=jit)(2.0)
    check_gradient(grown, (x,), order=1, jit=jit)
