"""Loops on threads: which become parallel, which are refused and why, and that the results stay."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stgrad


def loss(x, a):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(-a * x[i] ** 2) * math.sin(x[i])
    return total


def elementwise(x, a):
    return np.sum(np.exp(-a * x**2) * np.sin(x))


def rows(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * w[j]
        total += s * s
    return total


def stencil(u, n):
    u = u.copy()
    for _ in range(n):
        v = u.copy()
        for i in range(1, len(u) - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u = v
    return np.sum(u * u)


def pairs(x):
    energy = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            dx, dy = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1]
            energy += 1.0 / math.sqrt(dx * dx + dy * dy + 0.1)
    return energy


def bins(x, index, centre):
    sums = np.zeros(7)
    for i in range(len(x)):
        sums[index[i]] += (x[i] - centre[index[i]]) ** 2
    return np.sum(sums * sums)


def likelihood(w, x, y):
    total = 0.0
    for i in range(x.shape[0]):
        z = 0.0
        for j in range(x.shape[1]):
            z += x[i, j] * w[j]
        total += math.log(1.0 + math.exp(-y[i] * z))
    return total


def diffusion(u, steps):
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * a[i, j]
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                a[i, j] = b[i, j]
    return np.sum(a * a)


def paths(spot, sigma, noise):
    total = 0.0
    for p in range(noise.shape[0]):
        s = spot
        for t in range(noise.shape[1]):
            s = s * math.exp(sigma * noise[p, t] - 0.5 * sigma * sigma)
        total += max(s - 1.0, 0.0)
    return total / noise.shape[0]


RNG = np.random.default_rng(0)
CASES = [
    (loss, (RNG.random(50), 0.7), (0, 1)),
    (elementwise, (RNG.random(50), 0.7), (0, 1)),
    (rows, (RNG.random((40, 5)), RNG.random(5)), (0, 1)),
    (stencil, (RNG.random(40), 3), 0),
    (pairs, (RNG.random((90, 2)),), 0),
    (bins, (RNG.random(300), RNG.integers(0, 7, 300), RNG.random(7)), (0, 2)),
    (likelihood, (RNG.random(5), RNG.standard_normal((80, 5)), RNG.standard_normal(80)), 0),
    (diffusion, (RNG.random((45, 20)), 3), 0),
    (diffusion, (RNG.random((4, 5)), 2), 0),
    (paths, (1.0, 0.2, RNG.standard_normal((70, 6))), (0, 1)),
]


@pytest.mark.parametrize(("f", "args", "argnums"), CASES, ids=lambda v: getattr(v, "__name__", None))
@pytest.mark.parametrize("jit", [True, False])
def test_same_gradient(f, args, argnums, jit):
    alone = stgrad.value_and_grad(f, argnums)(*args)
    together = stgrad.value_and_grad(f, argnums, jit=jit, parallel=True)(*args)
    assert together[0] == pytest.approx(alone[0], rel=1e-12)
    pairs = zip(alone[1], together[1], strict=True) if isinstance(argnums, tuple) else [(alone[1], together[1])]
    for a, b in pairs:
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-13)


def sums_of_groups(x, groups):
    """The lists of the dict grow: their cotangents are taken off one list and are on another, too."""
    sums = {}
    for value, group in zip(x, groups):
        sums[group] = sums.get(group, 0.0) + value
    return sum(v * v for v in sums.values())


def steps_kept_twice(x, n):
    """What a list holds goes on under another name."""
    state, kept = x, []
    for _ in range(n):
        kept.append(state)
        state = np.sin(state) if len(kept) % 2 else state
    return sum(np.sum(k * k) for k in kept) + np.sum(state)


@pytest.mark.parametrize(
    ("f", "args"), [(sums_of_groups, (np.array([0.3, -0.5, 0.8, 1.1]), np.array([4, 2, 4, 7]))), (steps_kept_twice, (np.linspace(0.1, 0.9, 4), 3))]
)
def test_stores_to_what_lists_hold_are_kept(f, args):
    """Numba dropped those that nothing reads under the name that they are written by."""
    np.testing.assert_allclose(stgrad.grad(f, parallel=True, jit=True)(*args), stgrad.grad(f, jit=False)(*args), rtol=1e-12)


def test_forward_and_reverse_are_parallel():
    text = stgrad.grad(elementwise, (0, 1), parallel=True).lowered(np.ones(5), 0.5)
    assert "in numba.prange(" in text
    assert "prange" not in stgrad.grad(elementwise, (0, 1)).lowered(np.ones(5), 0.5)


def test_the_primal():
    f = stgrad.jit(loss, parallel=True)
    x = RNG.random(100)
    assert "total += " in f.lowered(x, 0.5) and "numba.prange" in f.lowered(x, 0.5)
    assert f(x, 0.5) == pytest.approx(loss(x, 0.5), rel=1e-13)


def carried(x):
    y = 1.0
    for i in range(len(x)):
        y = math.sin(y * x[i])
    return y


def prefix(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i]
    return y


def wraps(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i - 1] = x[i]
    return y


def gathers(x, index):
    y = np.zeros(3)
    for i in range(len(x)):
        y[index[i]] += x[i]
    return y


def strided(x):
    y = x.copy()
    for i in range(0, len(x), 2):
        y[i] = 2.0 * x[i]
    return y


def last(x):
    t = 0.0
    for i in range(len(x)):
        t = x[i] * 2.0
    return t


@pytest.mark.parametrize(
    ("f", "args", "reason"),
    [
        (carried, (np.ones(40),), "`y` is carried from trip to trip"),
        (prefix, (np.ones(40),), "`y_beside` is carried from trip to trip"),
        (wraps, (np.ones(40),), "two trips may touch the same part of `y`"),
            (strided, (np.ones(40),), "its step is not 1"),
        (last, (np.ones(40),), "`t` is "),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_refused(f, args, reason):
    compiled = stgrad.jit(f, parallel=True)
    assert f"# not parallel: {reason}" in compiled.lowered(*args)
    np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-13)


def test_sums_at_any_place_are_added_to_copies():
    """Where positions are not tested: a test in the loop keeps its iterations from running on threads."""
    text = stgrad.jit(gathers, parallel=True, checked=False).lowered(np.ones(40), np.zeros(40, int))
    assert "y_parts = np.zeros((parts, y.shape[0]))" in text
    assert "y_part[index[i]] += x[i]" in text


def test_a_stencil_is_swept_in_strips_without_copies():
    text = stgrad.grad(diffusion, parallel=True, without=("gather",)).lowered(np.ones((9, 9)), 2)
    assert " = runtime.strips(" in text
    assert "_parts = np.zeros(" not in text.replace("total_parts", "")


def test_a_stencil_that_is_gathered_needs_no_strips():
    text = stgrad.grad(diffusion, parallel=True).lowered(np.ones((9, 9)), 2)
    assert "w_work[" in text
    assert " = runtime.strips(" not in text


def test_results_do_not_depend_on_the_threads():
    from numba import get_num_threads, set_num_threads

    x = RNG.random((200, 2))
    gradient = stgrad.value_and_grad(pairs, parallel=True)
    before = get_num_threads()
    results = []
    for threads in {1, before}:
        set_num_threads(threads)
        results.append(gradient(x))
    set_num_threads(before)
    assert all(value == results[0][0] and np.array_equal(bar, results[0][1]) for value, bar in results)


@pytest.mark.parametrize(("trips", "work", "size"), [(0, 10, 5), (-3, 10, 5), (1000, 100, 10), (1000, 1, 1000), (10**6, 10**4, 10**9)])
def test_parts(trips, work, size):
    from stgrad import runtime

    parts = runtime.chunks(trips, work, size)
    assert 1 <= parts <= 16 and (parts == 1 or parts * size <= 1 << 25)
    assert 1 <= runtime.strips(trips, 3) <= 16


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore")
def test_random_tables_with_parts_in_any_order(seed, monkeypatch):
    """Parts that run in another order than that of the program give the same: no trip reads what another one writes."""
    import numba

    from tests import tables

    monkeypatch.setattr(numba, "prange", lambda *bounds: reversed(range(*bounds)))
    _, program, twin = tables.pair(seed + 5000, 5)
    rng = np.random.default_rng(seed)
    x, dx = rng.standard_normal(37), rng.standard_normal(37)
    expected = tables.slope(twin, x, 0.7, dx, 0.3)
    if not np.isfinite(expected) or abs(expected) > 1e8:
        pytest.skip("grows without bound")
    x_bar, y_bar = stgrad.grad(program, (0, 1), jit=False, parallel=True)(x, 0.7)
    assert x_bar @ dx + y_bar * 0.3 == pytest.approx(expected, rel=1e-7, abs=1e-8)


def test_names_are_apart_from_versions_of_other_names():
    """In loops on threads Numba calls the second version of `w` by the name `w_2`, and ended where there was one."""

    def f(s, n):
        w = np.ones(len(s)) / len(s)
        for _ in range(n):
            g = s @ w - 1 / w / len(s)
            w = w - 0.5 * g
        w /= w.sum()
        return np.sqrt(w @ s @ w)

    s = np.eye(4) + 0.1
    np.testing.assert_allclose(stgrad.grad(f, parallel=True, jit=True)(s, 3), stgrad.grad(f, jit=True)(s, 3), rtol=1e-12)
