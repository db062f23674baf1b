"""Lists that get an array in each trip, whose extents no one knows before the loop."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def regulator(A, B, Q, R, x, n):
    """A linear-quadratic regulator: gains backwards in time, the states forwards."""
    P = Q
    gains = []
    for _ in range(n):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        gains.append(K)
    cost = 0.0
    for t in range(n):
        u = -gains[n - 1 - t] @ x
        cost += x @ Q @ x + u @ R @ u
        x = A @ x + B @ u
    return cost + x @ Q @ x


def gated(W, U, x):
    h = c = np.zeros(U.shape[0])
    states = []
    for t in range(x.shape[0]):
        i, f, o, g = np.split(x[t] @ W + h @ U, 4)
        c = c / (1.0 + np.exp(-f)) + np.tanh(g) * i
        h = o * np.tanh(c)
        states.append(h)
    return np.sum(np.stack(states) ** 2)


def parts(x, n):
    found = []
    for k in range(n):
        found.append(np.split(x, 2)[0] * (k + 1.0))
    total = 0.0
    for part in found:
        total += np.sum(part**3)
    return total


RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((3, 3)) / 2.0, RNG.standard_normal((3, 2))
CASES = [
    (regulator, (A, B, np.eye(3), 2.0 * np.eye(2), RNG.standard_normal(3), 4), range(5)),
    (gated, (RNG.standard_normal((2, 12)), RNG.standard_normal((3, 12)), RNG.standard_normal((5, 2))), range(3)),
    (parts, (RNG.standard_normal(4), 3), range(1)),
]


@pytest.mark.parametrize(("function", "args", "argnums"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients_are_right(function, args, argnums):
    check_gradient(function, args, argnums=argnums)


def test_compiled():
    function, args, argnums = CASES[2]
    np.testing.assert_allclose(stgrad.grad(function)(*args), stgrad.grad(function, jit=False)(*args))


def test_a_solution_has_the_extents_of_the_right_hand_side():
    """So the buffer is made before the loop, and nothing is copied as it grows."""
    function, args, argnums = CASES[0]
    assert "gains_count" not in stgrad.jit(function).lowered(*args)


def shrinking(x, n):
    """`h` has n items in the first trip, and two in all others."""
    h = np.zeros(n)
    total = 0.0
    for t in range(3):
        total += np.sum(np.sin(h) * h)
        h = x[t : t + 2] * x[0]
    return total + np.sum(h)


def test_a_name_that_starts_longer_than_it_goes_on():
    check_gradient(shrinking, (np.arange(1.0, 7.0), 4), argnums=(0,))
    np.testing.assert_allclose(stgrad.grad(shrinking)(np.arange(1.0, 7.0), 4), stgrad.grad(shrinking, jit=False)(np.arange(1.0, 7.0), 4))


def twice_around_a_branch(x, c):
    found = []
    for v in x:
        found.append(v * c)
        if v > 0.3:
            t = c
        else:
            t = v * v
        found.append(t)
    return sum(found) + found[1] * found[-1]


def a_choice_behind_a_choice(x, c):
    found = []
    for v in x:
        found.append(v if v > c else c)
        found.append(c if v > c else v * v)
        while len(found) < 3:
            found.append(c)
    return sum(k * w for k, w in enumerate(found))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [twice_around_a_branch, a_choice_behind_a_choice], ids=lambda f: f.__name__)
def test_lists_that_get_several_items_in_a_trip(f, jit):
    check_gradient(f, (np.array([0.7, -0.2, 0.4]), 0.5), jit=jit)
    check_gradient(f, (np.array([0.1]), 0.5), order=1, jit=jit)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("join", [np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack])
def test_no_arrays_cannot_be_joined(join, jit):
    def joined(x, n):
        parts = []
        for k in range(n):
            parts.append(x * (k + 1.0))
        return np.sum(join(parts) ** 2)

    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(stgrad.grad(joined, jit=jit)(x, 2), 10.0 * x)
    with pytest.raises(ValueError, match="need at least one array to") as numpys:
        joined(x, 0)
    with pytest.raises(ValueError, match=str(numpys.value)):
        stgrad.grad(joined, jit=jit)(x, 0)
