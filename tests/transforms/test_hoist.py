"""Sums of outer products leave their loops; where the loop uses the matrix for something else, they stay."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RNG = np.random.default_rng(5)
W, U, B = RNG.standard_normal((4, 4)) * 0.4, RNG.standard_normal((4, 3)) * 0.4, RNG.standard_normal(4)
X = RNG.standard_normal((6, 3))


def recurrent(w, u, b, x):
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + u @ x[t] + b)
    return np.sum(h * h)


def from_one(w, u, b, x):
    h, total = np.zeros(b.shape[0]), 0.0
    for t in range(1, x.shape[0] - 1):
        h = np.tanh(w @ h + u @ (x[t] - x[t - 1]) + b)
        total += h[0] * h[1]
    return total


def backwards(w, u, b, x):
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0] - 1, -1, -1):
        h = np.tanh(w @ h + u @ x[t] + b)
    return np.sum(h)


def every_other(w, u, b, x):
    h = np.zeros(b.shape[0])
    for t in range(0, x.shape[0], 2):
        h = np.tanh(w @ h + u @ x[t] + b)
    return np.sum(h)


def two_steps(w, u, b, x):
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + b)
        h = np.tanh(w @ h + u @ x[t])
    return np.sum(h)


def rows_of_sequences(w, u, b, x):
    total = 0.0
    for k in range(3):
        h = np.zeros(b.shape[0]) + k
        for t in range(k, x.shape[0]):
            h = np.tanh(w @ h + u @ x[t] + b)
        total += np.sum(h * h)
    return total


def two_layers(w, u, b, x):
    g = h = np.zeros(b.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + u @ x[t] + b)
        g = np.tanh(w @ g + w.T @ h)
    return np.sum(g * h)


def some_trips(w, u, b, x):
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0]):
        if x[t, 0] > 0.0:
            h = np.tanh(w @ h + u @ x[t] + b)
    return np.sum(h)


def input_overwritten(w, u, b, x):
    x = x.copy()
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0] - 1):
        h = np.tanh(w @ h + u @ x[t] + b)
        x[t + 1] = x[t + 1] * h[:3]
        x[t] = 0.0
    return np.sum(h)


def decaying(w, u, b, x):
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + u @ x[t] + b)
        w = w * 0.9
    return np.sum(h)


def scaled_sum(w, u, b, x):
    h = np.zeros(b.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + u @ x[t] + b) + np.sum(w) * h
    return np.sum(h)


PROGRAMS = [recurrent, from_one, backwards, every_other, two_steps, rows_of_sequences, two_layers, some_trips, input_overwritten, decaying, scaled_sum]
BOTH = [recurrent, from_one, backwards, two_steps, rows_of_sequences, two_layers, input_overwritten, scaled_sum]  # others use w otherwise, or leave trips out
NONE = [every_other, some_trips]


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f):
    check_gradient(f, (W, U, B, X), argnums=(0, 1, 2, 3))


@pytest.mark.parametrize("f", PROGRAMS)
def test_without_it(f):
    ours, plain = (stgrad.grad(f, (0, 1, 2, 3), jit=False, without=w)(W, U, B, X) for w in ((), ("hoist",)))
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("f", PROGRAMS)
def test_where_the_product_stands(f):
    text = stgrad.grad(f, (0, 1)).stages(W, U, B, X)["hoist"]
    assert ("_rows" in text) == (f not in NONE)
    assert ("np.outer" in text) == (f not in BOTH)


@pytest.mark.parametrize("jit", [False, True])
def test_second_order(jit):
    def norm(w, u, b, x):
        gw, gu = stgrad.grad(recurrent, (0, 1), jit=jit)(w, u, b, x)
        return np.sum(gw * gw) + np.sum(gu)

    check_gradient(norm, (W, U, B, X), argnums=(0, 1))


def test_no_trips():
    for got in stgrad.grad(recurrent, (0, 1))(W, U, B, np.zeros((0, 3))):
        assert not got.any()


def test_single_precision():
    args = tuple(a.astype(np.float32) for a in (W, U, B, X))
    ours, exact = stgrad.grad(recurrent, (0, 1))(*args), stgrad.grad(recurrent, (0, 1))(W, U, B, X)
    for a, b in zip(ours, exact, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_the_programs_own_sums_keep_their_order():
    def moments(x):
        s = np.zeros((x.shape[1], x.shape[1]))
        for t in range(x.shape[0]):
            s += np.outer(x[t], x[t])
        return np.sum(s**2)

    assert "_rows" not in stgrad.grad(moments).lowered(X)


def test_the_report_of_memory_shows_the_rows():
    kept = {k.name: k for k in stgrad.grad(recurrent, (0, 1)).memory(W, U, B, X).kept}
    rows = [k for name, k in kept.items() if "_rows" in name]
    assert rows and all(k.place == "array" and k.steps == "x.shape[0]" and k.bytes_per_step.startswith("8 * ") for k in rows)


@stgrad.custom_gradient
def stretched(v):
    return v * 1.5, lambda v_bar: v_bar * 1.5


def driven(w, u, b, x):
    """A loop that has a rule in it keeps its products, whatever stands still."""
    h = b
    for t in range(x.shape[0]):
        h = np.tanh(stretched(u @ x[0]) + w @ b * h)
    return np.sum(h * h)


def test_beside_a_factor_that_stands_still_the_other_is_summed():
    check_gradient(driven, (W, U, B, X), argnums=(0, 1, 2, 3))
    text = stgrad.grad(driven, (0, 1)).stages(W, U, B, X)["hoist"]
    assert "_sum += " in text
