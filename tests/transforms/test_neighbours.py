"""Loops whose elements around the counter stay in scalars."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def thomas(x, w):
    """A tridiagonal system: the sweep down, and the sweep up."""
    n = len(x)
    c, d = np.zeros(n), np.zeros(n)
    c[0], d[0] = w[0] / 4.0, x[0] / 4.0
    for i in range(1, n):
        m = 4.0 - w[i] * c[i - 1]
        c[i] = w[i] / m
        d[i] = (x[i] - w[i] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] = d[i] - c[i] * d[i + 1]
    return np.sum(d**2)


def in_place(x, w):
    """Gauss and Seidel: both neighbours, one of them new."""
    u = x.copy()
    for _ in range(3):
        for i in range(1, len(u) - 1):
            u[i] = 0.3 * (u[i - 1] * w[i] + u[i + 1]) + u[i] * u[i]
    return np.sum(u * w)


def branched(x, w):
    """Elements in branches, beside those that each trip meets."""
    y = x * 1.0
    for i in range(2, len(x)):
        y[i] = y[i] + w[i] * y[i - 2]
        if y[i] > 0.2:
            y[i - 1] = y[i - 1] * 0.5
        else:
            y[i] -= y[i - 1] * w[0]
    return np.sum(np.sin(y))


def some_rows(x, w):
    """A table of which a row is walked along, from the right."""
    t = np.zeros((2, len(x) + 1))
    for r in range(2):
        for j in range(len(x) - 1, -1, -1):
            t[r, j] = np.tanh(t[r, j + 1] * w[j] + x[j] * (r + 1))
    return np.sum(t[0] * t[1])


def at_the_edge(x, w):
    """Conditions keep the positions inside: the ends are not met in each trip."""
    y = x * 1.0
    n = len(x)
    for i in range(n):
        if i > 0:
            y[i] += w[i] * y[i - 1]
        if i < n - 1:
            y[i + 1] *= 1.1
    return np.sum(y**2)


def from_the_end(x, w):
    """Positions below 0 count from the end."""
    y = x * 1.0
    for i in range(len(x)):
        y[i] = y[i] * 0.7 + w[i] * y[i - 1]
    return np.sum(y**3)


def no_trip(x, w):
    y = x * 1.0
    for i in range(1, int(w[0]) - 3):
        y[i] += y[i - 1] * w[i]
    return np.sum(y * y)


PROGRAMS = [thomas, in_place, branched, some_rows, at_the_edge, from_the_end, no_trip]
RANDOM = np.random.default_rng(5)
X, W = RANDOM.uniform(0.2, 0.9, 7), RANDOM.uniform(0.3, 0.8, 7)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_derivatives(program, jit):
    check_gradient(program, (X, W), jit=jit)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_results_are_those_without_the_pass(program, jit):
    found, plain = (stgrad.value_and_grad(program, (0, 1), mode="reverse", jit=jit, **more)(X, W) for more in ({}, {"without": "neighbours"}))
    np.testing.assert_allclose(found[0], plain[0], rtol=1e-14)
    for a, b in zip(found[1], plain[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("program", PROGRAMS)
def test_which_loops_have_scalars(program):
    text = stgrad.grad(program, (0, 1), mode="reverse").lowered(X, W)
    assert ("_beside" in text) is (program not in (at_the_edge, from_the_end)), text


def test_two_names_of_one_array_stay_in_memory():
    def f(x, w):
        y = x * 1.0
        z = y[1:]
        for i in range(1, len(x) - 1):
            y[i] = y[i - 1] * w[i] + z[i]
            z[i - 1] += 0.1
        return np.sum(y * y)

    check_gradient(f, (X, W))
    assert "y_beside" not in stgrad.jit(f).lowered(X, W)


STEPS = [
    "y[i] = y[i] * a + y[i - 1]", "y[i + 1] += y[i] * w[i]", "y[i - 1] = np.sin(y[i + 1]) * a", "a = a + y[i] * 0.1", "y[i] -= a * 0.2",
    "if y[i] > 0.4:\n    y[i] = y[i] * 0.5\n    z[i] += y[i - 1]", "z[i] = z[i - 1] + y[i]", "z[i + 1] = y[i + 1] * z[i]", "a = y[i - 1] + y[i + 1]",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_random_loops(seed, tmp_path, monkeypatch):
    rng = np.random.default_rng(seed)
    steps = [str(rng.choice(STEPS)) for _ in range(5)]
    bounds = str(rng.choice(["1, n - 1", "n - 2, 0, -1", "1, n - 1, 2", "1, n // 2"]))
    body = "\n".join(f"            {line}" for step in steps for line in step.splitlines())
    text = "import numpy as np\n\n\ndef f(x, w):\n    n = len(x)\n    y, z, a = x * 1.0, w * 1.0, 0.3\n    for t in range(2):\n"
    text += f"        for i in range({bounds}):\n{body}\n    return np.sum(y * w) + np.sum(z * x) + a\n"
    (tmp_path / f"near_{seed}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    f = __import__(f"near_{seed}").f
    value, bars = stgrad.value_and_grad(f, (0, 1))(X, W)
    np.testing.assert_allclose(value, f(X, W), rtol=1e-13)
    plain = stgrad.grad(f, (0, 1), without=("neighbours", "hits"), jit=False)(X, W)
    for a, b in zip(bars, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def bound_again(x, w):
    """The name of a bound has another value behind the loop."""
    y, n = x * 1.0, len(x)
    for i in range(1, n):
        y[i] += y[i - 1] * w[i]
        n = i
    return np.sum(y * n)


def rows_found_in_the_loop(x, w):
    """The position on the other axis is computed in each trip."""
    t = np.ones((3, len(x)))
    for r in range(1, 3):
        for j in range(1, len(x)):
            p = r - 1 if w[j] > 0.1 else 0
            t[r, j] = t[r, j - 1] * w[j] + t[p, j] * x[j]
            q = r - 1
            t[q, j] += t[q, j - 1]
    return np.sum(t**2)


@pytest.mark.parametrize("program", [bound_again, rows_found_in_the_loop])
@pytest.mark.parametrize("jit", [False, True])
def test_names_that_the_loop_binds(program, jit):
    check_gradient(program, (X, W), jit=jit)
    test_results_are_those_without_the_pass(program, jit)
