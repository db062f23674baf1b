"""`jacobian` and `batch_jacobian`."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad.eager as tf


@pytest.fixture
def tape_of_squares():
    x = tf.Variable([1.0, 2.0, 3.0])
    u = tf.Variable([1.0, 1.0, 1.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        tf.identity(u)
    return tape, x, y, u


def test_jacobian(tape_of_squares):
    tape, x, y, _ = tape_of_squares
    np.testing.assert_array_equal(tape.jacobian(y, x), np.diag([2.0, 4.0, 6.0]))


def test_nested_sources(tape_of_squares):
    tape, x, y, u = tape_of_squares
    found = tape.jacobian(y, {"x": x, "rest": [u]})
    assert found["x"].shape == (3, 3) and found["rest"] == [None]


def test_unconnected(tape_of_squares):
    tape, _, y, u = tape_of_squares
    assert tape.jacobian(y, u) is None
    zeros = tape.jacobian(y, u, unconnected_gradients="zero")
    assert zeros.shape == (3, 4) and not zeros.numpy().any()


def test_integer_target(tape_of_squares):
    tape, x, _, _ = tape_of_squares
    assert tape.jacobian(tf.constant([1, 2]), x) is None


def test_single_use():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    tape.jacobian(y, x)
    with pytest.raises(RuntimeError, match="one set of gradients"):
        tape.gradient(y, x)


def test_errors(tape_of_squares):
    tape, x, y, _ = tape_of_squares
    with pytest.raises(AttributeError):
        tape.jacobian([y], x)
    with tf.GradientTape() as single:
        y = x * x
    with pytest.raises(
        RuntimeError,
        match="must be created with persistent=True to compute the jacobian with eager execution enabled and with  "
        "experimental_use_pfor set to False",
    ):
        single.jacobian(y, x, experimental_use_pfor=False)
    np.testing.assert_array_equal(tape.jacobian(tape_of_squares[2], x, experimental_use_pfor=False), np.diag([2.0, 4.0, 6.0]))


def test_hessian_inside_tapes():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as third:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_prod(x) ** 2
            g = inner.gradient(y, x)
        h = outer.jacobian(g, x)
    np.testing.assert_allclose(h, [[8.0, 8.0], [8.0, 2.0]])
    t = third.jacobian(h, x)  # f = x0² x1²
    np.testing.assert_allclose(t, [[[0, 8], [8, 4]], [[8, 4], [4, 0]]])


def test_scalar_target_and_source():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.jacobian(y, x).numpy() == 6.0


def test_sources_of_several_ranks():
    a, b = tf.Variable([[1.0, 2.0]]), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.tile(a * b, [2, 1])
    ja, jb = tape.jacobian(y, [a, b])
    assert ja.shape == (2, 2, 1, 2) and jb.shape == (2, 2)


# ------------------------------------------------------------------ batch


def test_batch_jacobian():
    x = tf.constant(np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32))
    w = tf.constant(np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tanh(x @ w)
    full = tape.jacobian(y, x).numpy()
    np.testing.assert_allclose(tape.batch_jacobian(y, x), np.einsum("bxby->bxy", full), rtol=1e-5)


def test_batch_jacobian_sums_what_crosses_the_batch():
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * tf.reduce_sum(x)
    # d(x_i s)/dx_j is s delta_ij + x_i; summed over i, with s = 3, that is 6
    np.testing.assert_allclose(tape.batch_jacobian(y, x), [[[6.0]], [[6.0]]])


@pytest.mark.parametrize("mode", ["none", "zero"])
def test_unconnected_batch_jacobian_is_zeros(mode):
    x, y = tf.constant([[1.0], [2.0]]), tf.constant([[1.0, 2.0], [2.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        tf.identity(x)
    j = tape.batch_jacobian(y, x, unconnected_gradients=mode)
    assert j.shape == (2, 2, 1) and not j.numpy().any()


def test_integer_batch_target():
    x = tf.constant([[1], [2]])
    with tf.GradientTape() as tape:
        tf.identity(x)
    assert tape.batch_jacobian(x, x).dtype == tf.int32


def test_batch_errors():
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        m, n = tf.reshape(y, [3, 1]), tf.reshape(y[:2], [2, 1])
        s = tf.reduce_sum(y)
    with pytest.raises(ValueError, match="must have rank at least 2"):
        tape.batch_jacobian(y, x)
    with pytest.raises(IndexError):
        tape.batch_jacobian(s, s)
    with pytest.raises(ValueError, match="Need first dimension of target shape .* and source shape .* to match."):
        tape.batch_jacobian(m, n)
    with pytest.raises(AttributeError):
        tape.batch_jacobian(m, [m])
    with tf.GradientTape() as single:
        m = tf.reshape(x * x, [3, 1])
    with pytest.raises(RuntimeError, match="batch_jacobian"):
        single.batch_jacobian(m, m, experimental_use_pfor=False)
