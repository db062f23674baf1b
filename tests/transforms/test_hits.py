"""Loops that are left out where a cotangent is zero, and arrays that only they read."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def nearest(x, y):
    return np.sum(np.min(np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2), axis=1))


def largest(x, w):
    return np.sum(np.max(np.sum(x[:, None, :] * w[None, :, :], axis=2), axis=1) ** 2)


def chosen(x, y):
    d = np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)
    near = np.where(d < 1.5, np.sqrt(d), 1.0)
    return np.sum(near)


def kept_for_later(x, y):
    """The differences are read without a test, too."""
    z = x[:, None, :] - y[None, :, :]
    return np.sum(np.min(np.sum(z**2, axis=2), axis=1)) + np.sum(np.sin(z) * np.cos(z))


PROGRAMS = [nearest, largest, chosen, kept_for_later]
RANDOM = np.random.default_rng(0)
POINTS = RANDOM.standard_normal((6, 3)), RANDOM.standard_normal((4, 3))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_gradients_are_those_of_differences(program, jit):
    x, y = POINTS
    value, bars = stgrad.value_and_grad(program, (0, 1), jit=jit)(x, y)
    assert np.isclose(value, program(x, y))
    dx, dy = (1e-6 * RANDOM.standard_normal(a.shape) for a in (x, y))
    slope = (program(x + dx, y + dy) - program(x - dx, y - dy)) / 2.0
    np.testing.assert_allclose(np.sum(bars[0] * dx) + np.sum(bars[1] * dy), slope, rtol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_those_without_the_pass(program):
    with_, without = (stgrad.value_and_grad(program, (0, 1), jit=False, **options) for options in ({}, {"without": "hits"}))
    for a, b in zip(with_(*POINTS)[1], without(*POINTS)[1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_nothing_is_tested_or_kept_in_the_loop():
    text = stgrad.grad(nearest, (0, 1)).lowered(*POINTS)
    assert "isfinite" not in text and "!= 0.0:" in text
    assert "np.isfinite" in stgrad.grad(nearest, (0, 1), without="hits").lowered(*POINTS)
    rows = [line for line in text.splitlines() if "_row = " in line and "(n" in line]
    assert len(rows) <= len([line for line in stgrad.grad(nearest, (0, 1), without="hits").lowered(*POINTS).splitlines() if "_row = " in line]) - 2


def test_what_is_infinite_and_not_chosen_adds_nothing():
    x, y = POINTS
    far = np.vstack([y, np.full((1, 3), np.inf)])
    for a, b in zip(stgrad.grad(nearest, (0, 1))(x, far), stgrad.grad(nearest, (0, 1))(x, y), strict=True):
        np.testing.assert_array_equal(a[: len(b)], b)
    assert not stgrad.grad(nearest, 1)(x, far)[-1].any()


def test_nan_is_not_taken_for_zero():
    x, y = POINTS
    x = x.copy()
    x[2, 1] = np.nan
    bars = stgrad.grad(nearest, (0, 1))(x, y)
    plain = stgrad.grad(nearest, (0, 1), without="hits")(x, y)
    for a, b in zip(bars, plain, strict=True):
        np.testing.assert_array_equal(a, b)


def test_ties_are_shared():
    x = np.zeros((1, 2))
    y = np.array([[1.0, 0.0], [-1.0, 0.0], [3.0, 3.0]])
    np.testing.assert_allclose(stgrad.grad(nearest, 1)(x, y), [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])


# ---------------------------------------------------------------- cotangents that are zero in loops over numbers


def warped(x, y):
    """The cost of the cheapest path through a table: one cell in three has a cotangent."""
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), 1e30)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost[i, j] = np.sum((x[i - 1] - y[j - 1]) ** 2) + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


def pairs(x, y):
    """A potential with a cutoff."""
    energy = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            if r2 < 3.0:
                s = (y[0, 0] ** 2 / r2) ** 3
                energy += s * s - s
    return energy


def asian(x, y):
    """The mean over paths of which many pay nothing: their sweep back is left out as a whole."""
    total = 0.0
    for p in range(len(x)):
        s, a = 1.0, 0.0
        for t in range(x.shape[1]):
            s = s * np.exp(0.1 * x[p, t] * y[t, 0] - 0.01)
            a += s
        total += max(a - 3.0, 0.0)
    return total


def layers(x, y):
    """Units that are off add to no weight."""
    total = 0.0
    for i in range(len(x)):
        out = 0.0
        for j in range(len(y)):
            s = 0.0
            for k in range(x.shape[1]):
                s += x[i, k] * y[j, k]
            if s > 0.0:
                out += s * np.sqrt(s)
        total += out**2
    return total


LOOPS = [warped, pairs, asian, layers]


@pytest.mark.parametrize("program", LOOPS)
@pytest.mark.parametrize("jit", [False, True])
def test_loops_over_numbers(program, jit):
    test_gradients_are_those_of_differences(program, jit)


@pytest.mark.parametrize("program", LOOPS)
def test_what_is_left_out_of_loops(program):
    test_results_are_those_without_the_pass(program)
    tests = [stgrad.grad(program, (0, 1), **options).lowered(*POINTS).count("!= 0.0:") for options in ({}, {"without": "hits"})]
    assert tests[0] > tests[1]


def test_single_statements_of_a_loop_that_is_packed_stay():
    def clipped(x):
        total = 0.0
        for i in range(len(x)):
            total += max(np.sin(x[i]) * np.cos(x[i]), 0.1)
        return total

    assert "!= 0.0:" not in stgrad.grad(clipped).lowered(np.ones(3))


HEADS = ["z = a if a < b else 0.0", "z = max(a, 0.0)", "z = 0.0\nif a * b > 0.2:\n    z = a * a", "z = min(a, b, 0.5)"]
PARTS = [
    "s += z * np.sin(b) * w[k]", "h[i] = h[i] + z * b", "z = z * w[k]", "s = s + z / (1.5 + b * b) * a", "b = b + z * a * w[i]", "h[k] = z * h[i] + s * 0.1",
    "if b > 0.3:\n    s += z * np.exp(a * w[i])", "for j in range(k, n):\n    s += z * w[j] * a\n    h[j] += z * b", "z = max(z, b) * a", "a = z",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_random_loops(seed, tmp_path, monkeypatch):
    rng = np.random.default_rng(seed)
    lines = [str(rng.choice(HEADS)), *(str(rng.choice(PARTS)) for _ in range(5)), "s += z * np.cos(a)"]
    body = "\n".join(f"            {line}" for part in lines for line in part.splitlines())
    text = "import numpy as np\n\n\ndef f(x, w):\n    n = len(w)\n    h = np.zeros(n)\n    s = 0.0\n    for i in range(n):\n        for k in range(n):\n"
    text += f"            a = x[i, k % 3]\n            b = w[k]\n{body}\n    return s + np.sum(h * w)\n"
    (tmp_path / f"hits_{seed}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    f = __import__(f"hits_{seed}").f
    x, w = 0.4 * rng.standard_normal((5, 3)), 0.4 * rng.standard_normal(5)
    bars = stgrad.grad(f, (0, 1))(x, w)
    plain = stgrad.grad(f, (0, 1), without="hits", jit=False)(x, w)
    for a, b in zip(bars, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def lattice(x, y):
    """An American option: products of one cotangent share a test for infinite factors."""
    n, spot, up = len(x), 1.0 + 0.1 * y[0, 0], 1.1
    v = np.empty(n + 1)
    for i in range(n + 1):
        v[i] = max(1.05 - spot * up ** (2 * i - n), 0.0)
    for t in range(n - 1, -1, -1):
        p = 0.5 + 0.01 * x[t, 0]
        for i in range(t + 1):
            hold = np.exp(-0.01 * y[1, 0]) * (p * v[i + 1] + (1.0 - p) * v[i])
            v[i] = max(hold, 1.05 - spot * up ** (2 * i - t))
    return v[0]


@pytest.mark.parametrize("jit", [False, True])
def test_one_test_for_several_products(jit):
    test_gradients_are_those_of_differences(lattice, jit)
    test_results_are_those_without_the_pass(lattice)
    guards = [stgrad.grad(lattice, (0, 1), **options).lowered(*POINTS).count("== 0.0 else") for options in ({}, {"without": "hits"})]
    assert guards[0] < guards[1]


def test_what_is_added_to_may_become_zero():
    """`u_bar = -w_bar` is zero only with `w_bar`; once something is added to it, it may be zero all the same, and its infinite factor does not count."""

    def f(x, a):
        s = 0.0
        for i in range(len(x)):
            u = 1.0 / x[i]
            w = -u * a[i] - u
            c = 10.0
            for k in range(i):
                c = c * 0.9 + a[k]
            s += w if w < c else 0.0
        return s

    x = np.full(40, 4.0)
    x[0] = 1e-200
    assert stgrad.grad(f)(x, np.full(40, -1.0))[0] == 0.0


@pytest.mark.parametrize("jit", [False, True])
def test_zero_over_zero_in_a_value_stays(jit):
    def f(b, x):
        s, y = 0.0, np.zeros(len(x))
        for i in range(len(x)):
            c = 1.0
            for k in range(i):
                c = c * 0.9 + b[k]
            y[i] = x[i] if x[i] > 0.0 else 0.0
            d = y[i]
            m = 2.0 * d
            s += c + d / m
        return s

    x = np.full(40, 4.0)
    x[2] = -1.0
    with np.errstate(invalid="ignore"):
        assert np.isnan(f(np.ones(40), x))
        assert np.isnan(stgrad.value_and_grad(f, jit=jit)(np.ones(40), x)[0])


def test_elements_that_a_sum_goes_to_are_set():
    """A cotangent that was read from an element, and added to since, says nothing of that element any more."""

    def f(x, w):
        h, s = np.zeros(len(w)), 0.0
        for i in range(len(w)):
            for k in range(len(w)):
                z = max(x[i] * w[k], 0.1)
                h[k] = np.exp(-h[k] * w[i]) * z + h[k] * x[k]
                s += min(h[k] * z, 0.7) * w[k]
        return s

    x, w = 0.7 * RANDOM.standard_normal(6), 0.7 * RANDOM.standard_normal(6)
    for a, b in zip(stgrad.grad(f, (0, 1))(x, w), stgrad.grad(f, (0, 1), without="hits")(x, w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
