"""`ForwardAccumulator`."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad.eager as tf

Accumulator = tf.autodiff.ForwardAccumulator


def value(t):
    return None if t is None else t.numpy().tolist()


def test_jvp():
    x = tf.constant([1.0, 2.0])
    with Accumulator(x, tf.constant([1.0, 10.0])) as acc:
        y = x * x
        z = tf.reduce_sum(y)
    assert value(acc.jvp(y)) == [2.0, 40.0]
    assert value(acc.jvp({"z": z, "rest": (y,)})["z"]) == 42.0


def test_unconnected():
    x = tf.constant(1.0)
    acc = Accumulator(x, tf.constant(1.0))
    assert acc.jvp(tf.constant(3.0)) is None
    assert value(acc.jvp(tf.constant([3.0, 4.0]), unconnected_gradients="zero")) == [0.0, 0.0]
    with acc:
        y = x * 2.0
    with acc:  # it can be used again
        z = y * 3.0
    assert value(acc.jvp(z)) == 6.0


def test_variables_and_several_primals():
    v, w = tf.Variable(3.0), tf.Variable([1.0, 2.0])
    with Accumulator([v, w], [tf.constant(1.0), tf.constant([1.0, 0.0])]) as acc:
        y = v * w
    assert value(acc.jvp(y)) == [4.0, 2.0]


def test_nested_accumulators():
    x = tf.constant(3.0)
    with Accumulator(x, tf.constant(1.0)) as outer:
        with Accumulator(x, tf.constant(1.0)) as inner:
            y = x**3
        first = inner.jvp(y)
    assert value(outer.jvp(first)) == 18.0


def test_accumulator_over_tape():
    x = tf.Variable([1.0, 3.0])
    with Accumulator(x, tf.constant([0.0, 1.0])) as acc:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x**3)
        g = tape.gradient(y, x)
    assert value(acc.jvp(g)) == [0.0, 18.0]


def test_tape_over_accumulator():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with Accumulator(x, tf.constant(1.0)) as acc:
            y = x**3
        dot = acc.jvp(y)
    assert value(tape.gradient(dot, x)) == 18.0


def test_errors():
    x = tf.constant(1.0)
    one = tf.constant(1.0)
    with Accumulator(x, one) as acc, pytest.raises(ValueError, match="Accumulator is already recording."):
        acc.__enter__()
    with pytest.raises(ValueError, match="was specified as a primal multiple times. This may indicate an error."):
        Accumulator([x, x], [one, one])
    with pytest.raises(ValueError, match="dtype"):
        Accumulator(x, tf.constant(1.0, tf.float64))
    with pytest.raises(AttributeError, match="dtype"):
        Accumulator(1.0, 1.0)
    Accumulator(x, tf.constant([1.0, 2.0]))  # shapes are not compared


def test_integer_primals_warn(caplog):
    from stgrad.eager import logs

    logs._given.clear()
    with caplog.at_level("WARNING", "stgrad"):
        acc = Accumulator(tf.constant(1), tf.constant(1))
    assert "must be floating" in caplog.text
    assert acc.jvp(tf.constant(1)) is None


FUNCTIONS = {
    "polynomial": lambda x: x**3 * 2.0 - x / (1.0 + x * x),
    "elementwise": lambda x: tf.exp(tf.sin(x)) + tf.tanh(x) * tf.nn.softplus(x),
    "kinks": lambda x: tf.nn.relu(x) + tf.maximum(x, 0.3) + abs(x) + tf.clip_by_value(x, -0.5, 0.5),
    "reductions": lambda x: tf.reduce_max(x) + tf.reduce_mean(x, 1) * tf.reduce_prod(x, 1),
    "softmax": lambda x: tf.nn.softmax(x) * tf.nn.log_softmax(x, 0),
    "shapes": lambda x: tf.concat([tf.transpose(x), tf.reshape(x, [4, 3])], 0)[1:, ::-1],
    "joins": lambda x: tf.stack(tf.unstack(x), 1) @ tf.pad(x, [[1, 0], [0, 0]])[:3],
    "gather": lambda x: tf.gather(x, [0, 2, 0], axis=1) + tf.cumsum(x, 1)[:, :3],
    "sort": lambda x: tf.sort(x, 1) + tf.math.top_k(x, 4)[0],
    "products": lambda x: tf.einsum("ij,kj->ik", x, x) + tf.tensordot(x, tf.transpose(x), 1),
    "linalg": lambda x: tf.linalg.solve(x @ tf.transpose(x) + tf.eye(3, dtype=x.dtype), x) * tf.linalg.det(x[:, :3]),
    "scatter": lambda x: tf.tensor_scatter_nd_update(x, [[0, 1]], [x[1, 1]]) + tf.scatter_nd([[0], [0], [2]], x, [3, 4]),
    "where": lambda x: tf.where(x > 0, tf.sqrt(abs(x) + 1.0), x * x),
    "conv": lambda x: tf.nn.conv2d(tf.reshape(x, [1, 3, 4, 1]), tf.reshape(x[:2, :2], [2, 2, 1, 1]), 1, "SAME"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_agrees_with_reverse(name):
    f = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(3, 4)))
    dot = tf.constant(rng.normal(size=(3, 4)))
    with Accumulator(x, dot) as acc, tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        bar = tf.constant(rng.normal(size=y.shape))
    forward = np.sum(acc.jvp(y).numpy() * bar.numpy())
    reverse = np.sum(tape.gradient(y, x, output_gradients=bar).numpy() * dot.numpy())
    assert forward == pytest.approx(reverse, rel=1e-8)
