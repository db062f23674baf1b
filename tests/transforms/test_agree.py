"""A state keeps the extents it starts with where its loop asks for it, and slices have those of what they meet; nothing else is assumed."""

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RNG = np.random.default_rng(8)
W, V, B = RNG.standard_normal((3, 3)) * 0.4, RNG.standard_normal((3, 12)) * 0.4, RNG.standard_normal(3)
X, S = RNG.standard_normal((5, 3)), RNG.standard_normal((4, 2, 3))


def recurrent(w, b, x):
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + x[t] + b)
    return np.sum(h * h)


def gates(v, b, s):
    n = b.shape[0]
    h = c = np.zeros((s.shape[1], n))
    for t in range(s.shape[0]):
        z = (s[t] + h) @ v
        c = np.tanh(z[:, :n]) * c + np.exp(-z[:, n : 2 * n]) * b
        h = np.tanh(z[:, 2 * n : 3 * n] + z[:, 3 * n :]) * c
    return np.sum(h)


def pair(w, b, x):
    a, h = np.zeros(b.shape[0]), np.ones(w.shape[0])
    for t in range(x.shape[0]):
        a, h = np.tanh(w @ h + a), a * x[t] + b
    return np.sum(a * h)


def while_state(w, b, x):
    h, t = np.zeros(b.shape[0]), 0
    while t < x.shape[0] and np.sum(h * h) < 50.0:
        h = np.tanh(w @ h) + x[t] + b
        t += 1
    return np.sum(h * h)


def growing(w, b, x):
    h = b
    for t in range(3):
        h = np.concatenate((h, np.tanh(h[:2] * b[0])))
    return np.sum(h * h)


def shrinking(w, b, x):
    h = b * x[0]
    for t in range(2):
        h = np.tanh(h[1:] * 2.0)
    return np.sum(h)


def doubling(w, b, x):
    """Only some trips change the extent, and nothing compares it."""
    h = b
    for t in range(3):
        if t == 1:
            h = np.concatenate((h, h))
        h = np.sin(h)
    return np.sum(h)


def window(w, b, x):
    total = 0.0
    for t in range(1, x.shape[0]):
        y = x[:t]
        total += np.sum(np.tanh(y) ** 2)
    return total


def clipped(w, b, x):
    """The last slices are cut short."""
    total = 0.0
    for k in range(b.shape[0]):
        total += math.sin(np.sum(np.exp(b[k : k + 2])))
    return total


def branches(w, b, x):
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0]):
        if x[t, 0] > 0.0:
            h = np.tanh(w @ h) + b
        else:
            h = h * x[t] + b
    return np.sum(h)


PROGRAMS = [recurrent, pair, while_state, growing, shrinking, doubling, window, clipped, branches]
SETTLED = [recurrent, pair]


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f):
    check_gradient(f, (W, B, X), argnums=(0, 1, 2))


def test_gradient_of_gates():
    check_gradient(gates, (V, B, S), argnums=(0, 1, 2))


@pytest.mark.parametrize("f", PROGRAMS)
def test_same_without_it(f):
    ours, plain = (stgrad.grad(f, (0, 1, 2), jit=False, without=w)(W, B, X) for w in ((), ("agree",)))
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("f", SETTLED)
def test_states_are_kept_in_one_array(f):
    assert all(k.place in ("array", "variable") for k in stgrad.grad(f, (0, 1, 2)).memory(W, B, X).kept)


def test_gates_are_kept_in_arrays_and_computed_in_one_loop():
    gradient = stgrad.grad(gates, (0, 1))
    assert {k.place for k in gradient.memory(V, B, S).kept} <= {"array", "variable"}
    assert ".append" not in gradient.lowered(V, B, S)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "args",
    [
        (W, np.ones(2), X),
        (W, np.ones(4), X),
        (np.ones((3, 4)), B, X),
        (np.ones((4, 3)), B, X),
        (W, B, np.ones((5, 4))),
    ],
)
def test_extents_that_do_not_fit_raise(args, jit):
    with pytest.raises(ValueError):
        recurrent(*args)
    with pytest.raises(ValueError):
        stgrad.grad(recurrent, (0, 1, 2), jit=jit)(*args)


@pytest.mark.parametrize("jit", [False, True])
def test_slices_that_do_not_fit_raise(jit):
    v = np.ones((3, 11))
    with pytest.raises(ValueError):
        gates(v, B, S)
    with pytest.raises(ValueError):
        stgrad.grad(gates, (0, 1), jit=jit)(v, B, S)


def test_no_trips():
    assert stgrad.grad(recurrent)(W, B, np.zeros((0, 3))).tolist() == np.zeros((3, 3)).tolist()
    assert stgrad.grad(recurrent, 1)(np.ones((7, 9)), B, np.zeros((0, 3))).tolist() == [0.0] * 3


@pytest.mark.parametrize("jit", [False, True])
def test_second_order(jit):
    def norm(w, b, x):
        return sum(np.sum(g * g) for g in stgrad.grad(recurrent, (0, 1), jit=jit)(w, b, x))

    check_gradient(norm, (W, B, X), argnums=(0, 1))
