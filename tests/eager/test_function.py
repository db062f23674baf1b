"""`tf.function`: signatures, traces, and what tracing refuses."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import stgrad.eager as tf


def value(t):
    return None if t is None else t.numpy().tolist()


def test_calls_and_gradients():
    w = tf.Variable(2.0)

    @tf.function
    def f(x, power=2):
        """Doc."""
        return w * x**power

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = f(x, power=3)
    assert [value(g) for g in tape.gradient(y, [x, w])] == [54.0, 27.0]
    assert f.__doc__ == "Doc." and f.__name__ == "f" and f.python_function is f.__wrapped__
    assert isinstance(f(3.0), tf.Tensor) and isinstance(f(np.ones(2, np.float32)), tf.Tensor)


def test_one_trace_for_each_signature():
    @tf.function
    def f(x):
        return x * 2

    for x in (tf.constant(1.0), tf.constant(2.0), 1.0, 2.0, tf.constant([1.0]), tf.constant([1.0, 2.0])):
        f(x)
    assert f.experimental_get_tracing_count() == 5
    assert "f(x)" in f.pretty_printed_concrete_signatures()


def test_reduce_retracing():
    @tf.function(reduce_retracing=True)
    def f(x):
        return x * 2

    for n in range(1, 7):
        f(tf.ones([n]))
    assert f.experimental_get_tracing_count() == 2


def test_retracing_warns(caplog):
    @tf.function
    def f(x):
        return x * 2

    with caplog.at_level(logging.WARNING, "stgrad"):
        for n in range(7):
            f(float(n))
    assert "triggered tf.function retracing" in caplog.text


def test_input_signature():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        return x * 2

    assert value(f([1.0, 2.0])) == [2.0, 4.0]
    assert value(f(x=tf.constant([1.0]))) == [2.0]
    f(tf.constant([1.0, 2.0, 3.0]))
    assert f.input_signature == (tf.TensorSpec([None]),)
    for bad in ([[1.0]], tf.constant([1])):
        with pytest.raises(TypeError, match="Binding inputs to tf.function failed due to"):
            f(bad)
    with pytest.raises(TypeError, match="Binding inputs to tf.function failed due to"):
        f([1.0], [2.0])
    with pytest.raises(TypeError, match="input_signature must be either a tuple or a list, got <class 'int'>."):
        tf.function(lambda x: x, input_signature=3)
    with pytest.raises(TypeError, match="Keyword only argument"):

        @tf.function(input_signature=[tf.TensorSpec([])])
        def g(x, *, scale):
            return x * scale


def test_unknown_shapes():
    f = tf.function(lambda x: x * 2, input_signature=[tf.TensorSpec(None)])
    assert value(f(1.0)) == 2.0 and value(f([[1.0]])) == [[2.0]]


def test_variables_are_made_once():
    class Adder:
        v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable(10.0)
            return self.v.assign_add(x)

    adder = Adder()
    adder(tf.constant(1.0))
    assert value(adder(tf.constant(1.0))) == 12.0

    @tf.function
    def bad(x):
        v = tf.Variable(1.0)
        return v * x

    with pytest.raises(ValueError, match="tf.function only supports singleton tf.Variables created on the first call"):
        bad(tf.constant(1.0))
    with pytest.raises(ValueError, match="singleton tf.Variables"), tf.GradientTape():
        bad(tf.constant(1.0))


def test_without_autograph():
    captured = tf.constant(True)

    @tf.function(autograph=False)
    def f(x):
        if captured:
            x = x + 1.0
        if x > 0:
            return x
        return -x

    with pytest.raises(
        tf.errors.OperatorNotAllowedInGraphError, match="Using a symbolic `tf.Tensor` as a Python `bool` is not allowed"
    ) as info:
        f(tf.constant(1.0))
    assert isinstance(info.value, TypeError)

    @tf.function(autograph=False)
    def g(x):
        return [row for row in x]

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="Iterating"):
        g(tf.constant([1.0]))
    assert bool(tf.constant(True))


def test_variable_of_one_branch():
    @tf.function
    def f(x):
        if x > 0:
            y = x * 2
        return y

    with pytest.raises(ValueError, match="'y' must also be initialized in the else branch"):
        f(tf.constant(1.0))

    @tf.function
    def g(x):
        y = x
        if x > 0:
            y = x * 2
        return y

    assert value(g(tf.constant(1.0))) == 2.0


def test_loops_differentiate():
    @tf.function
    def f(x):
        total = x
        while total < 100.0:
            total = total * x
        for i in tf.range(5):
            if i > 2:
                break
            total = total + x
        return total

    x = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = f(x)
        g = tape.gradient(y, x)
    assert value(g) == 5 * 3.0**4 + 3.0
    assert value(outer.gradient(g, x)) == 20 * 3.0**3


def test_gradients_inside():
    @tf.function
    def f(x):
        y = x**3
        z = y * 2.0
        return tf.gradients(z, [x, y]), tf.gradients(z, x, grad_ys=tf.constant(10.0)), tf.gradients(z + x, x, stop_gradients=[y])

    (gx, gy), (seeded,), (stopped,) = f(tf.constant(2.0))
    assert (value(gx), value(gy), value(seeded), value(stopped)) == (24.0, 2.0, 240.0, 1.0)
    with pytest.raises(RuntimeError, match="tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


def test_concrete_functions():
    f = tf.function(lambda x: x * 2)
    concrete = f.get_concrete_function(tf.TensorSpec([None]))
    assert value(concrete(tf.constant([1.0, 2.0]))) == [2.0, 4.0]
    with pytest.raises(TypeError, match="Binding inputs"):
        concrete(tf.constant(1))
    with pytest.raises(NotImplementedError):
        f.experimental_get_compiler_ir()


def test_methods_are_bound_and_collected():
    import gc
    import weakref

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(3.0)

        @tf.function
        def call(self, x):
            return self.w * x

    model = Model()
    assert value(model.call(tf.constant(2.0))) == 6.0
    assert model.call is model.call
    alive = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert alive() is None
    finally:
        gc.enable()


def test_executing_eagerly():
    seen = []
    f = tf.function(lambda x: seen.append(tf.executing_eagerly()) or x)
    f(tf.constant(1.0))
    assert seen == [False] and tf.executing_eagerly()


def test_methods_of_objects_that_cannot_be_keys():
    class Plain:
        __slots__ = ("w",)

        def __init__(self):
            self.w = 3.0

        @tf.function
        def call(self, x):
            return x * self.w

        def __eq__(self, other):
            return True

    assert value(Plain().call(tf.constant(2.0))) == 6.0
