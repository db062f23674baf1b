"""Slices whose bounds are run-time values: loops over scalars, clipped as Python clips."""

from __future__ import annotations

import linecache
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.ir import NONE, Dim, Slice
from stgrad.transforms.lower.views import one_slice

RNG = np.random.default_rng(3)
X, W = RNG.normal(size=11), RNG.normal(size=3)
A = RNG.normal(size=(7, 7)) + 7.0 * np.eye(7)


def lowered(f: Callable[..., Any], *args: Any) -> str:
    """The compiled text of the gradient, with respect to the first argument."""
    return stgrad.grad(f).stages(*args)["specialised"]


def slices(text: str) -> int:
    return sum(len(re.findall(r"\w\[[^\]]*:[^\]]*\]", line)) for line in text.splitlines() if "#" not in line and "raise " not in line)


def check(f: Callable[..., Any], *args: Any) -> str:
    """Value, and gradient against a complex step; returns the compiled text."""
    value, gradient = stgrad.value_and_grad(f, jit=False)(*args)
    assert value == pytest.approx(f(*args), rel=1e-12, abs=1e-12)
    direction = RNG.normal(size=args[0].shape)
    step = f(args[0] + 1e-30j * direction, *args[1:]).imag / 1e-30
    assert np.sum(gradient * direction) == pytest.approx(step, rel=1e-9, abs=1e-9)
    return lowered(f, *args)


def check_real(f: Callable[..., Any], *args: Any) -> str:
    """The same by differences, for functions that take complex numbers in another sense."""
    gradient = stgrad.grad(f, jit=False)(*args)
    direction = RNG.normal(size=args[0].shape)
    difference = (f(args[0] + 1e-6 * direction, *args[1:]) - f(args[0] - 1e-6 * direction, *args[1:])) / 2e-6
    assert np.sum(gradient * direction) == pytest.approx(difference, rel=1e-6, abs=1e-7)
    return lowered(f, *args)


# ------------------------------------------------------------- windows in range


def convolution(x: Any, w: Any) -> Any:
    k, total = len(w), 0.0
    for i in range(len(x) - k + 1):
        total += np.sum(x[i : i + k] * w) ** 2
    return total


def products_of_windows(x: Any, w: Any) -> Any:
    k, total = w.shape[0], 0.0
    for i in range(x.shape[0] - k + 1):
        total += np.dot(x[i : i + k], w) * (w @ x[i : i + k])
    return total


def into_an_array(x: Any, w: Any) -> Any:
    y = np.zeros(len(x) + len(w), x.dtype)
    for i in range(len(x)):
        y[i : i + len(w)] += x[i] * w
    return np.sum(y**3)


def pairs(x: Any) -> Any:
    total = 0.0
    for i in range(len(x) // 2):
        total += np.sum(x[2 * i : 2 * i + 2] ** 2) * x[i]
    return total


def pooled(x: Any, w: Any) -> Any:
    rows = (x.shape[0] - 3) // 2 + 1
    total = 0.0
    for i in range(rows):
        for j in range(rows):
            total += np.sum(x[2 * i : 2 * i + 3, j : j + 3][:, 1:] ** 2) * w[0]
    return total


@pytest.mark.parametrize("f, args", [(convolution, (X, W)), (products_of_windows, (X, W)), (into_an_array, (X, W)), (pairs, (X,))])
def test_a_window_in_range_needs_no_clipping(f: Callable[..., Any], args: Any) -> None:
    text = check(f, *args)
    assert slices(text) == 0
    assert "clipped" not in text and "raise" not in text and "np.empty(k" not in text


def test_views_of_windows() -> None:
    assert slices(check(pooled, A, W)) == 0


# -------------------------------------------------------------------- triangles


def cholesky(a: Any) -> Any:
    n = a.shape[0]
    L = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i):
            L[i, j] = (a[i, j] - np.sum(L[i, :j] * L[j, :j])) / L[j, j]
        L[i, i] = (a[i, i] - np.sum(L[i, :i] * L[i, :i])) ** 0.5
    return np.sum(L * L)


def elimination(a: Any) -> Any:
    u = a.copy()
    for k in range(len(u) - 1):
        u[k + 1 :, k] /= u[k, k]
        u[k + 1 :, k + 1 :] -= np.outer(u[k + 1 :, k], u[k, k + 1 :])
    return np.sum(u * u)


def substitution(a: Any) -> Any:
    n = len(a)
    x = np.zeros(n, a.dtype)
    for i in range(n - 1, -1, -1):
        x[i] = (1.0 - np.sum(a[i, i + 1 :] * x[i + 1 :])) / a[i, i]
    return np.sum(x * x)


def columns(a: Any) -> Any:
    total = 0.0
    for i in range(len(a)):
        total += np.sum(a[:i, i]) * np.sum(a[i, i:] ** 2)
    return total


@pytest.mark.parametrize("f", [cholesky, elimination, substitution, columns])
def test_triangles(f: Callable[..., Any]) -> None:
    text = check(f, A)
    assert slices(text) == (2 if f is elimination else 0)  # the operands of two products
    assert "clipped" not in text


# --------------------------------------------------------------------- clipping


def between(x: Any, lo: int, hi: int) -> Any:
    return np.sum(x[lo:hi] ** 3) + 2.0 * np.sum(x[lo:]) + np.sum(x[:hi] ** 2) + len(x[lo:hi]) * x[0]


def every_other(x: Any, lo: int, hi: int) -> Any:
    return np.sum(x[lo:hi:2] ** 2) + np.sum(x[lo::3] ** 3) * len(x[:hi:4])


def writes(x: Any, lo: int, hi: int) -> Any:
    y = x * 2.0
    y[lo:hi] += y[0] * 0.5
    y[lo:hi:2] *= 3.0
    return np.sum(y * y)


BOUNDS = [(2, 5), (-4, -1), (-40, 40), (5, 2), (30, 50), (0, 0), (-3, 2), (3, -30), (0, 11), (-11, 11)]


@pytest.mark.parametrize("f", [between, every_other, writes])
def test_bounds_are_clipped_as_python_clips(f: Callable[..., Any]) -> None:
    for lo, hi in BOUNDS:
        text = check(f, X, lo, hi)
    assert slices(text) == 0


def last_ones(x: Any, n: int) -> Any:
    return np.sum(x[-3:] ** 2) * np.sum(x[:-3]) + np.sum(x[0 : n - 4] ** 2) + np.sum(x[1 : n - 2] * x[2 : n - 1])


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_bounds_that_count_from_the_end(n: int) -> None:
    check(last_ones, X[:n].copy(), n)


def from_length(x: Any) -> Any:
    n = x.shape[0]
    return np.sum(x[0 : n - 4] ** 2) + np.sum(x[1 : n - 1] * x[2:n]) + np.sum(x[0 : n - 2])


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_bounds_from_the_length(n: int) -> None:
    check(from_length, X[:n].copy())


def test_windows_that_do_not_match_are_an_error() -> None:
    def f(x: Any, w: Any, step: int) -> Any:
        total = 0.0
        for i in range(5):
            total += np.sum(x[i * step : i * step + len(w)] * w)
        return total

    check(f, X, W, 2)
    with pytest.raises(ValueError, match="broadcast"):
        stgrad.grad(f, jit=False)(X, W, 3)


# -------------------------------------------------------- views and statistics


def recursion(x: Any, w: Any) -> Any:
    """Durbin's: products with vectors turned round."""
    y = x * 0.0
    for k in range(1, len(x)):
        y[:k] += 0.1 * np.flip(y[:k]) + x[k - 1 :: -1] * w[0]
        y[k] = np.sum(np.flip(x[:k]) * y[:k])
    return np.sum(y * y)


def diagonals(a: Any) -> Any:
    u = a.copy()
    u[0, 0] = 2.0
    return np.sum(np.diag(u) * np.diagonal(a)) + np.sum(np.moveaxis(u, 0, 1)[1:, 2] ** 2) + np.sum(np.fliplr(a)[0] * a[:, 1])


def spreads(x: Any) -> Any:
    total = 0.0
    for t in range(3, len(x)):
        total += np.var(x[t - 3 : t]) * np.var(x[t - 3 : t], ddof=1) * x[t]
    return total


@pytest.mark.parametrize("f, args", [(recursion, (X, W)), (diagonals, (A,)), (spreads, (X,))])
def test_no_call_into_python_is_left(f: Callable[..., Any], args: Any) -> None:
    assert "call_python" not in check_real(f, *args)


def test_variances_over_axes() -> None:
    def f(a: Any) -> Any:
        return np.sum(np.var(a, axis=0) * np.var(a, axis=1, ddof=1, keepdims=True)) + np.var(a)

    assert "call_python" not in check_real(f, A)


def test_rows_before_others_are_updated_in_place() -> None:
    def f(a: Any) -> Any:
        u = a.copy()
        for k in range(len(u) - 1):
            u[k + 1 :, :] -= u[k, :] * 0.1
        return np.sum(u)

    assert check(f, A).count("empty") == 3  # u, its adjoint and a row


# ------------------------------------------------------------------------- fuzz


class Writer:
    """Random programs of windows over a vector and a matrix."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def program(self) -> str:
        lines = ["def f(x, n, k, a, b):", "    y = x * 1.5", "    s = x[0] * 0.0"]
        for _ in range(self.rng.randint(1, 3)):
            lines += [f"    for i in range({self.pick('n', 'k', '2, n - 1', 'n - k + 1', 'n - 1, -1, -1', '0, n, 2')}):"]
            lines += [f"        {self.statement('i')}" for _ in range(self.rng.randint(1, 3))]
            lines += [f"    {self.statement('a')}"]
        return "\n".join([*lines, "    return s + np.sum(y * y)"]) + "\n"

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def bounds(self, i: str) -> str:
        start = self.pick(i, f"{i} - 2", f"{i} + 1", f"max(0, {i} - k)", "a", "b", "", "-k", f"2 * {i}", f"{i} * k")
        stop = self.pick(f"{i} + k", f"{i} + 3", "", "n - 1", f"min(n, {i} + k)", "b", f"n - {i}", "-a", f"2 * {i} + 2", f"{i}", "n - 4")
        return f"{start}:{stop}{self.pick('', '', '', ':2')}"

    def statement(self, i: str) -> str:
        w, source, target = self.bounds(i), self.pick("x", "y"), self.pick("x[0]", f"y[{i} % n]")
        return self.pick(
            f"s += np.sum({source}[{w}] ** 2) * {target}",
            f"s += np.sum({source}[{w}]) * 0.1 * len(x[{w}])",
            f"y[{w}] += {target} * 0.1",
            f"y[{w}] *= 0.5",
            f"y[{w}] = {source}[{w}] * 0.7 + {target} * 0.01",
            f"y[{w}] -= y[{w}] * x[{w}] * 0.1",
            f"s += np.dot(x[{w}], y[{w}])",
            f"s += np.sum(y[{w}][1:] * x[{w}][1:])",
        )


def test_bounds_that_a_name_takes_one_after_the_other() -> None:
    """In the rule of np.concatenate `total = 0` comes first: the 0 is not what the name stands for later."""

    def joined(x: Any) -> Any:
        return np.sum(np.concatenate((x[0], x[1], x[2])) * np.reshape(x, -1))

    x = X[:9].reshape(3, 3).copy()
    np.testing.assert_allclose(stgrad.grad(joined, jit=False)(x), 2.0 * x)


@pytest.mark.parametrize("seed", range(8))
def test_random_windows(seed: int) -> None:
    source = Writer(seed).program()
    name = f"<windows {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    for n, k, a, b in ((9, 3, 1, 6), (5, 7, 4, -2), (4, 1, 0, 2)):
        check(scope["f"], X[:n].copy(), n, k, a, b)


def test_checks_of_slices_come_before_all_loops() -> None:
    """What the checks find to be equal is one loop, and nothing is kept from one loop to the next."""

    def f(c: Any, a: Any, b: Any) -> Any:
        for i in range(a.shape[0]):
            c[i, : i + 1] += a[: i + 1, 0] * b[i, 0] + b[: i + 1, 0] * a[i, 0]
        return np.sum(c)

    args = (np.ones((3, 3)), np.ones((3, 2)), np.ones((3, 2)))
    adjoint = stgrad.grad(f, argnums=(1, 2)).lowered(*args).rpartition("# grad of line")[2]
    assert adjoint.count("for ") == 1 and "empty" not in adjoint
    with pytest.raises(ValueError, match="broadcast"):
        stgrad.grad(f, argnums=(1, 2), jit=False)(np.ones((3, 2)), *args[1:])
    check_gradient(lambda c, a, b: f(c, a, b) ** 2, args)


def test_of_an_extent_below_zero():
    """No run comes to such an array: it raised where it was made. The slice is empty."""
    everything = Slice(NONE, NONE, NONE)
    position, extent = one_slice(everything, Dim(None, -4), 0, lambda _: None)
    assert extent == Dim(None, 0) and position.depth == 0
