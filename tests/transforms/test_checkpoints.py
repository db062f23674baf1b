"""Checkpointed loops: the same gradients as without the mark, whatever the number of snapshots, and the trips run again that the theorem says."""

from __future__ import annotations

import warnings
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import checkpointed, errors
from stgrad.runtime.snapshots import next_snapshot, segment

X = np.linspace(0.1, 0.9, 6)
W = np.linspace(0.5, 1.0, 5)


def ordinary(trips, snapshots):
    return trips


# --------------------------------------------------------------------------- programs


def written_in_place(x, n, s, loop):
    u = x * x
    total = np.sum(np.sin(u))
    for t in loop(range(n), s):
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[:-2]) * u[2:] * total
        u[t % 5] = u[(t + 1) % 5] ** 2 + x[0]
    total = total * np.sum(u)
    u[1] = u[2] * total
    return np.sum(u * u)


def two_buffers(x, n, s, loop):
    a = x.copy()
    b = np.zeros_like(x)
    for _ in loop(range(n), s):
        for i in range(1, len(a) - 1):
            b[i] = a[i] * a[i - 1] + 0.2 * np.sin(a[i + 1])
        a, b = b, a
    for _ in loop(range(1, n, 2), s):
        a[1:] = a[:-1] * b[1:]
        b = b * a[1]
    return np.sum(a * b) + np.sum(a)


def nested(x, n, s, loop):
    total = 0.0
    y = x * 1.0
    for k in range(3):
        v = y[0] * k
        for t in loop(range(n), s):
            r = v
            for j in loop(range(t + 2), s):
                r = np.cos(r * x[1]) + 0.1 * j
                y[1] = y[1] * r
            v = np.sin(v) + y[k] * r
            y[k] = y[k] * 1.1 + 0.1 * v
        total += v * y[k]
    return total + np.sum(y * y)


def branches(x, n, s, loop):
    total = x[0] * x[1]
    if x[1] > 0.2:
        for t in loop(range(1, n, 2), s):
            total = total * np.cos(total) + t * x[2]
    else:
        for t in loop(range(n, 0, -1), s):
            if total > 0.3:
                total = total * np.sin(total) + t * x[2]
            else:
                k = 0
                while k < 3 and total < 5.0:
                    total = total + x[k] * total
                    k += 1
    return total * total


def many_kinds(x, n, s, loop):
    v = 0.0
    m = np.zeros((2, 3), dtype=np.float32)
    flag = False
    k = 3
    t = 0
    for t in loop(range(n), s):
        if flag:
            v = v + x[k % 5] * W[t % 5]
        flag = v < 0.7 and not flag
        k = k * 5 % 7
        v = np.sin(v * x[k % 5]) + 0.3
        m[t % 2] = m[t % 2] * np.float32(0.5) + np.float32(1.0)
    return v * v * (t + 1.0) + np.sum(m)


def advanced(u, dt, n, s, loop):
    for _ in loop(range(n), s):
        u = u + dt * np.sin(u)
    return u


def in_helpers(x, n, s, loop):
    a = advanced(x, 0.1, n, s, loop)
    w = x[0]
    b = advanced(a * a, w, n + 1, s, loop)
    w = w * np.sum(b)
    return np.sum(a * b) * w


def views(x, n, s, loop):
    table = np.ones((3, 6)) * x
    for t in loop(range(n), s):
        row = table[t % 3]
        row[1:] *= np.sin(row[:-1]) + x[1:]
    return np.sum(table * table)


PROGRAMS = [written_in_place, two_buffers, nested, branches, many_kinds, in_helpers, views]


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_gradient(program: Any) -> None:
    gradient = stgrad.value_and_grad(program, jit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (0, 1, 2, 7, 12):
            value, expected = gradient(X.copy(), n, 1, ordinary)
            for snapshots in (1, 2, 5, 100):
                found = gradient(X.copy(), n, snapshots, checkpointed)
                assert found[0] == value
                np.testing.assert_allclose(found[1], expected, rtol=1e-13, atol=1e-300)


def small(x, n, s, loop):
    u = x * x
    v = 0.0
    for t in loop(range(n), s):
        v = np.sin(v) + u[1]
        u[t % 5] = u[t % 5] * v
    return v * np.sum(u * u)


def test_compiled() -> None:
    gradient = stgrad.grad(small)
    expected = stgrad.grad(small, jit=False)
    for n in (0, 1, 9):
        for snapshots in (1, 3):
            np.testing.assert_allclose(gradient(X, n, snapshots, checkpointed), expected(X, n, 1, ordinary), rtol=1e-12)


def test_second_order() -> None:
    direction = np.cos(X)

    def directional(x, n, s, loop):
        return np.sum(np.sin(stgrad.grad(small)(x, n, s, loop)) * direction)

    second, hessian = stgrad.grad(directional, jit=False), stgrad.hessian(small, jit=False)
    for derivative in (second, hessian):
        np.testing.assert_allclose(derivative(X, 5, 2, checkpointed), derivative(X, 5, 1, ordinary), rtol=1e-11)


def test_default() -> None:
    def f(x, n):
        for _ in checkpointed(range(n)):
            x = x - 0.1 * np.sin(x)
        return x

    def g(x, n):
        for _ in range(n):
            x = x - 0.1 * np.sin(x)
        return x

    assert stgrad.grad(f, jit=False)(1.5, 50) == stgrad.grad(g, jit=False)(1.5, 50)
    assert "_kept" in stgrad.grad(f).source(1.5, 50)
    assert f(1.5, 3) == g(1.5, 3)


# --------------------------------------------------------------------------- calls


def plainly(function):
    return function


def layer(h, w):
    for i in range(2):
        h = np.tanh(h * w) + h[i] * w
    return h, np.sum(h * h)


def bump(u, k):
    u[k] = u[k] * u[0]
    return u[k] * np.sin(u[k])


def network(x, n, again):
    h = x * 1.0
    u = x * x
    total = np.sum(u * u)
    w = x[0]
    for i in range(n):
        h, size = again(layer)(h, x * w)
        w = w + 0.1 * size
        if size > 2.0:
            total = total + again(bump)(u, i % 6) * size
        u[2] = u[2] * w
    w = w * again(lambda a: np.cos(a) * a * w)(total)
    return np.sum(h * u) * total * w


def test_calls() -> None:
    gradient = stgrad.value_and_grad(network, jit=False)
    for n in (0, 1, 4):
        value, expected = gradient(X, n, plainly)
        found = gradient(X, n, stgrad.checkpoint)
        assert found[0] == value
        np.testing.assert_allclose(found[1], expected, rtol=1e-13)


@stgrad.checkpoint
def squashed(x):
    y = np.sin(x)
    return y * y * y


def second_of_squashed(x):
    """The derivative of the square of (sin(x)³ x)'."""
    s, c = np.sin(x), np.cos(x)
    first = 3 * s**2 * c * x + s**3
    return 2 * first * (6 * s * c**2 * x - 3 * s**3 * x + 6 * s**2 * c)


def test_decorated() -> None:
    def total(x):
        return np.sum(squashed(x) * squashed(x * x))

    def plain(x):
        return np.sum(np.sin(x) ** 3 * np.sin(x * x) ** 3)

    gradient = stgrad.grad(total)
    np.testing.assert_allclose(gradient(X), stgrad.grad(plain, jit=False)(X), rtol=1e-12)
    np.testing.assert_allclose(stgrad.jvp(total, (X,), (X,))[1], gradient(X) @ X, rtol=1e-12)
    assert stgrad.grad(squashed, jit=False)(0.5) == pytest.approx(3 * np.sin(0.5) ** 2 * np.cos(0.5))
    for squash in (squashed, squashed.fun):
        second = stgrad.grad(lambda x, squash=squash: stgrad.grad(lambda y: squash(y) * y)(x) ** 2, jit=False)
        assert second(0.5) == pytest.approx(second_of_squashed(0.5))
    assert "sin" in stgrad.grad(total).stages(X)["reverse"].partition("# grad")[2]


# --------------------------------------------------------------------------- the schedule


@lru_cache(None)
def least(trips: int, snapshots: int) -> int:
    """Trips that have to run before the reversal of each: by trying all cuts."""
    if trips <= 1:
        return 0
    if snapshots == 1:
        return trips * (trips - 1) // 2
    return min(m + least(trips - m, snapshots - 1) + least(m, snapshots) for m in range(1, trips))


def runs(trips: int, snapshots: int) -> int:
    """The trips that a generated program runs apart from those it reverses at once, and a check that it keeps no more than it may."""
    kept: list[int] = []
    steps = due = 0
    for t in range(trips):
        if t == due:
            kept.append(t)
            due = next_snapshot(t, trips + 1, snapshots - len(kept))
        steps += 1
    for part in range(trips - 1, -1, -1):
        at = kept[-1]
        while at < part:
            to = next_snapshot(at, part + 1, snapshots - len(kept))
            steps += to - at
            at = to
            if at < part:
                kept.append(at)
        assert at == part
        assert len(kept) <= snapshots
        if kept[-1] == part:
            kept.pop()
    return steps


def test_least_recomputation() -> None:
    for snapshots in range(1, 8):
        for trips in range(1, 45):
            assert runs(trips, snapshots) == least(trips + 1, snapshots)  # what follows the loop is one more trip to be reversed


def test_theorem() -> None:
    for trips, snapshots in ((5000, 12), (3000, 40), (700, 3)):
        repeats = next(r for r in range(1, 10**4) if comb(snapshots + r, r) >= trips + 1)
        assert runs(trips, snapshots) == repeats * (trips + 1) - comb(snapshots + repeats, repeats - 1)


def test_segment() -> None:
    for trips in (2, 3, 4, 99, 100, 101, 10**6 - 1, 10**6 + 1):
        length = segment(trips, 0)
        assert (length - 1) ** 2 < trips <= length**2


# --------------------------------------------------------------------------- refused


def left_early(x, n):
    for _ in checkpointed(range(n)):
        x = x * x
        if x > 10.0:
            break
    return x


def returned(x, n):
    for _ in checkpointed(range(n)):
        x = x * x
        if x > 10.0:
            return x
    return x


def enumerated(x, n):
    for _, _ in enumerate(checkpointed(range(n))):
        x = x * x
    return x


def no_range(x, n):
    for _ in checkpointed([1, 2, 3]):
        x = x * x
    return x


def no_snapshots(x, n):
    for _ in checkpointed(range(n), 0):
        x = x * x
    return x


@pytest.mark.parametrize("program", [left_early, returned, enumerated, no_range, no_snapshots])
def test_refused(program: Any) -> None:
    with pytest.raises((errors.UnsupportedSyntaxError, errors.TypeInferenceError), match=r"test_checkpoints\.py:"):
        stgrad.grad(program)(1.5, 3)


def one_array(x, n):
    a = x.copy()
    b = a
    for _ in checkpointed(range(n)):
        b = b * 2.0
        a[0] = a[0] * b[1]
        b[1] = a[0]
    return np.sum(a * b)


def looks_in(x, n):
    a = x.copy()
    row = a[1:]
    for _ in checkpointed(range(n)):
        a[1] = a[1] * row[0] * row[2]
    return np.sum(a)


@pytest.mark.parametrize("program", [one_array, looks_in])
def test_shared_memory(program: Any) -> None:
    """Never wrong: refused, or as without the mark."""
    with pytest.raises(errors.AliasingError, match="checkpointed loop"):
        stgrad.grad(program)(X, 3)


MATRIX = np.array([[0.5, 0.2], [-0.3, 0.4]])
RUN_AGAIN = {
    "product": lambda z: MATRIX @ z,
    "product and sum": lambda z: np.tanh(MATRIX @ z) + z,
    "column": lambda z: MATRIX[:, 0] * z,
    "pair": lambda z: (MATRIX @ z) * np.sum(z),
    "scalar": lambda z: z @ (MATRIX @ z) * z,
}


@pytest.mark.parametrize("name", RUN_AGAIN)
@pytest.mark.parametrize("jit", [False, True])
def test_calls_with_captured_arrays_run_again(name, jit) -> None:
    """The extents of a captured array are not known to be those of the argument: the adjoint of the result is the one from behind the call."""
    block = stgrad.checkpoint(RUN_AGAIN[name])

    def once(x):
        y = block(x)
        return np.sum(y**2) + y[0]

    def repeated(x, n):
        for _ in range(n):
            x = block(x)
        return np.sum(x**3)

    x = np.array([0.3, -0.8])
    check_gradient(once, (x,), jit=jit)
    check_gradient(repeated, (x, 3), argnums=0, jit=jit)


@stgrad.checkpoint
def given_back(z):
    return z


def changed_behind(x):
    y = given_back(x)
    y[0] = y[0] * 2.0
    return np.sum(x**2)


def made_in_the_last_trip(x, n):
    y = x
    for i in stgrad.checkpointed(range(n)):
        y = np.cumsum(x[: i + 1]) * np.sin(x[: i + 1])
    return np.sum(y * y)


@pytest.mark.parametrize(("f", "rest"), [(changed_behind, ()), (made_in_the_last_trip, (2,))])
def test_what_is_made_there_and_changed_behind_is_refused(f, rest) -> None:
    with pytest.raises(stgrad.errors.AliasingError, match="cannot be kept apart"):
        stgrad.grad(f, jit=False)(np.array([0.3, -0.8]), *rest)
