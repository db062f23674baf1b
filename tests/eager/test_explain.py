"""`GradientTape.explain`: the reason in words, with the user's line."""

from __future__ import annotations

import pytest

import stgrad.eager as tf


def tape_of(f, persistent, *sources):
    with tf.GradientTape(persistent=persistent) as tape:
        y = f(*sources)
    return tape, y


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize(
    ("f", "words", "line"),
    [
        (lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32) * 2.0, "a cast to int32", "tf.cast(tf.cast(x"),
        (lambda x: tf.constant(x.numpy()) * 2.0, ".numpy()", "x.numpy()"),
        (lambda x: tf.stop_gradient(x * 3.0) * 2.0, "stop_gradient", "tf.stop_gradient(x"),
        (lambda x: tf.round(x * 3.0) * 2.0, "np.rint", "tf.round(x"),
        (lambda x: tf.constant(float(x)) * 2.0, "float()", "float(x)"),
        (lambda x: tf.constant(x) * 2.0, "tf.constant of a variable", "tf.constant(x)"),
        (lambda x: tf.numpy_function(lambda a: a, [x], tf.float32) * 2.0, "numpy_function", "tf.numpy_function("),
        (lambda x: tf.cast(x > 1.0, tf.float32), "Greater", "x > 1.0"),
    ],
)
def test_cuts(f, words, line, persistent):
    x = tf.Variable(2.5)
    tape, y = tape_of(f, persistent, x)
    for _ in range(2):
        text = tape.explain(y, x)
        assert words in text and "test_explain.py:" in text and line in text, text
        assert "The path is cut by" in text
        if _ == 0:
            assert tape.gradient(y, x) is None


def test_assign():
    x, v = tf.Variable(2.0), tf.Variable(0.0)
    with tf.GradientTape() as tape:
        v.assign(x * 3.0)
        y = v * 2.0
    text = tape.explain(y, x)
    assert "assign to variable 'Variable:0'" in text and "v.assign(x * 3.0)" in text


def test_stopped_recording():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        with tape.stop_recording():
            y = x * 3.0
        z = y * 2.0
    text = tape.explain(z, x)
    assert "while recording was stopped" in text and "y = x * 3.0" in text or "not read inside the tape's context" in text
    with tf.GradientTape() as tape:
        a = x * 2.0
        with tape.stop_recording():
            y = a * 3.0
        z = y * 2.0
    assert "np.multiply while recording was stopped" in tape.explain(z, x)
    assert "y = a * 3.0" in tape.explain(z, x)


def test_not_watched():
    x, v, fixed = tf.constant(2.0), tf.Variable(1.0), tf.Variable(1.0, trainable=False)
    with tf.GradientTape() as tape:
        y = x * v * fixed
    assert "tape.watch(source)" in tape.explain(y, x)
    assert "trainable=False" in tape.explain(y, fixed)
    assert "not read inside the tape's context" in tape.explain(y, tf.Variable(2.0))
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = v * 2.0
    assert "watch_accessed_variables=False" in tape.explain(y, v)
    assert "never entered" in tf.GradientTape().explain(y, v)


def test_connected_and_independent():
    x, u = tf.Variable(2.0), tf.Variable(3.0)
    outside = x * 2.0
    with tf.GradientTape(persistent=True) as tape:
        y = tf.sin(x * 2.0)
        z = u * 2.0
    assert "through 2 recorded operations: np.multiply, np.sin" in tape.explain(y, x)
    assert "other watched tensors alone" in tape.explain(z, x)
    assert "outside the `with` block" in tape.explain(outside, x)
    assert "is the source" in tape.explain(x, x)
    assert "no tensor" in tape.explain(3.0, x)
    assert "dtype int32" in tape.explain(y, tf.constant(3))
    assert "dtype int32, which has no gradient" in tape.explain(tf.cast(y, tf.int32), x)


def test_after_a_gradient_that_worked():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    assert "depends on the source" in tape.explain(y, x)
