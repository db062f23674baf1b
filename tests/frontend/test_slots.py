"""Lists of run-time length whose items may be None: `[None] * n` that is filled later, and what loops append."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.1, 0.5, 0.6, 0.9, 0.35])


def filled(x: Any, n: int) -> Any:
    xs = [None] * n
    for i in range(n):
        xs[i] = x * (i + 1.0)
    return sum(xs) + xs[0] * xs[n - 1]


def filled_in_part(x: Any, n: int) -> Any:
    xs: list[Any] = [None] * n
    xs[0] = x
    for i in range(1, n):
        if i % 3 != 0:
            xs[i] = xs[i - 1] * x if xs[i - 1] is not None else x + 1.0
    total = 0.0
    for v in xs:
        if v is not None:
            total += v * v
    return total


def rows(x: Any, n: int) -> Any:
    found: list[Any] = [None] * n
    for i in range(n):
        found[n - 1 - i] = np.cos(x * i)
    return np.sum(np.array(found) @ x) + np.sum(found[0] * found[-1])


def appended(x: Any) -> Any:
    seen = []
    for v in x:
        seen.append(None if v < 0.3 else v * v)
    total = 0.0
    for a in seen:
        total += 1.0 if a is None else a
    return total


def pairs(x: Any) -> Any:
    found: list[Any] = [None] * len(x)
    for i in range(len(x)):
        found[i] = (x[i] ** 2, i)
    best = found[0]
    for p in found:
        if p[0] > best[0]:
            best = p
    return best[0] * best[1]


def remembered(x: Any, n: int) -> Any:
    memo: list[Any] = [None] * (n + 1)
    memo[0], memo[1] = x, x * x
    for k in range(2, n + 1):
        if memo[k] is None:
            memo[k] = memo[k - 1] + 0.5 * memo[k - 2]
    return memo[n]


CASES = [(filled, (0.7, 4)), (filled, (0.7, 1)), (filled_in_part, (0.7, 7)), (rows, (X, 4)), (appended, (X,)), (pairs, (X,)), (remembered, (0.7, 6))]


@pytest.mark.parametrize(("function", "args"), CASES)
def test_gradient(function: Any, args: Any) -> None:
    check_gradient(function, args)
    check_gradient(function, args, order=1, jit=True)


def test_what_is_still_none_is_no_number() -> None:
    def summed(x: Any, n: int) -> Any:
        xs: list[Any] = [None] * n
        for i in range(n - 1):
            xs[i] = x
        return sum(xs)

    with pytest.raises(TypeError, match="None is used as a number"):
        stgrad.grad(summed, jit=False)(0.7, 3)


def test_a_result_with_none_in_it_is_refused() -> None:
    def returned(x: Any) -> Any:
        xs: list[Any] = [None] * len(x)
        for i in range(len(x)):
            xs[i] = x[i] * i
        return xs

    with pytest.raises(errors.TypeInferenceError, match="may be None"):
        stgrad.vjp(returned, np.ones(70), jit=False)
    np.testing.assert_array_equal(stgrad.vjp(returned, X, jit=False)[0], returned(X))  # each item has been given, as the extent is compiled in


def copied(x: Any) -> Any:
    d = {}
    for k in range(len(x)):
        d[int(10 * x[k])] = x[k] ** 2
    other, plain = d.copy(), dict(d)
    other[100] = 3.0
    key, value = plain.popitem()
    total = value * key
    for v in d.values():
        total += v
    return total + len(other) - len(plain)


def test_copies_of_dicts_with_keys_of_the_running_program() -> None:
    check_gradient(copied, (X + 0.03,), order=1)
