"""Matrix products in loops: memory is used again only where the last result is forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def steps(A, x, n):
    for _ in range(n):
        x = A @ x
    return np.sum(x * x)


def within(A, b, n):
    s = 0.0
    for t in range(n):
        y = A @ (b + t)
        z = A @ y
        s += z[0] * y[1] + t
    return s


def kept(A, b, n):
    """The result of the last trip is read in the next one."""
    y = b
    s = 0.0
    for _ in range(n):
        z = A @ b
        s += np.sum(z * y)
        y = z
        b = b * 1.1
    return s


def delayed(A, b, n):
    """Two trips apart."""
    y = z = b
    s = 0.0
    for t in range(n):
        s += np.sum(z * y)
        z = y
        y = A @ (b * (t + 1.0))
    return s


def collected(A, b, n):
    found = []
    for _ in range(n):
        found.append(A @ b)
        b = b * 0.9
    s = 0.0
    for y in found:
        s += np.sum(y * y)
    return s


def sometimes(A, b, n):
    y = b
    s = 0.0
    for t in range(n):
        if t % 2 == 0:
            y = A @ (b + t)
        s += np.sum(y * b)
    return s


def last_one(A, b, n):
    y = b
    for t in range(n):
        y = A @ (b * (t + 1.0))
    return np.sum(y * y)


def nested(A, b, n):
    y = b
    s = 0.0
    for i in range(n):
        s += np.sum(y * y)
        for j in range(i):
            y = A @ (b + j)
            s += y[0]
    return s


def views(A, b, n):
    s = 0.0
    row = b
    for t in range(n):
        P = A @ A * (t + 1.0)
        Q = P @ A.T
        s += np.sum(row * Q[0])
        row = Q[1]
    return s


def overwritten(A, b, n):
    s = 0.0
    for _ in range(n):
        y = A @ b
        y[0] = y[0] * y[1]
        s += np.sum(y * y)
        y += b
        s += np.sum(np.sin(y))
    return s


def filtered(A, b, n):
    P = np.eye(len(b))
    s = 0.0
    for t in range(n):
        P = A @ P @ A.T + 0.1
        k = P @ b
        P = P - np.outer(k, k) / (1.0 + b @ k)
        s += k[0] * (t + 1.0)
    return s


def powers(A, b, n):
    X = A
    while n > 0:
        X = X @ A
        n -= 1
    return np.sum(X * X) + b[0]


PROGRAMS = [steps, within, kept, delayed, collected, sometimes, last_one, nested, views, overwritten, filtered, powers]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("extent", [3, 12])
def test_gradients_are_right(program, extent):
    rng = np.random.default_rng(extent)
    A, b = rng.standard_normal((extent, extent)) / np.sqrt(extent), rng.standard_normal(extent)
    for n in (0, 1, 4):
        check_gradient(program, (A, b, n), order=2 if n else 1)
    if extent == 12:
        plain, compiled = (stgrad.grad(program, (0, 1), jit=jit)(A, b, 4) for jit in (False, True))
        for one, other in zip(plain, compiled, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def text(program, *args):
    return stgrad.grad(program, (0, 1)).lowered(*args)


def test_memory_is_used_again():
    assert "out=" in text(within, np.eye(2), np.ones(2), 3)


def test_results_that_are_still_needed_stay():
    forward = text(delayed, np.eye(2), np.ones(2), 3).split("_bar =")[0]
    assert "out=" not in forward


def test_results_of_the_last_iteration_take_turns():
    """While the last one is read, the next one is written to other memory."""
    forward = stgrad.value_and_grad(kept, (0, 1)).lowered(np.eye(2), np.ones(2), 3).split("_bar =")[0]
    assert "z_work_2, z_work = z_work, z_work_2\n        z = runtime.matmul(A, b_2, out=z_work)" in forward


@pytest.mark.parametrize("program", [kept, delayed])
def test_results_that_are_still_needed_are_right(program):
    check_gradient(program, (np.array([[0.3, 0.5], [0.2, 0.7]]), np.array([0.4, 0.9]), 4), argnums=(0, 1), jit=True)


def test_loops_on_threads_share_no_memory():
    def rows(A, x):
        s = 0.0
        for i in range(len(x)):
            s += np.sum((A @ x[i]) ** 2)
        return s

    source = stgrad.grad(rows, (0, 1), parallel=True).lowered(np.eye(2), np.ones((40, 2)))
    assert "out=" not in source


def joints(angles, rest):
    pose = np.eye(4)
    total = 0.0
    for q in angles:
        c, s = np.cos(q), np.sin(q)
        pose = pose @ np.array([[c, -s, 0.0, s], [s, c, 0.0, c], [0.0, 0.0, 1.0, q], [0.0, 0.0, 0.0, 1.0]])
        total += np.sum((pose @ rest) ** 2) + np.sum((rest @ pose) ** 3)
    return total


def test_products_of_few_constant_extents_are_loops():
    """A vector of an argument has an extent that only a run tells: its products stay calls."""
    args = (np.array([0.3, -0.4, 1.2]), np.array([0.5, 0.2, -0.7, 1.0]))
    source = text(joints, *args)
    assert "matmul(pose, pose" not in source and "matmul(pose_bar" not in source, source
    check_gradient(joints, args, jit=False)
    check_gradient(joints, args, jit=True, order=1)
