"""Gradients of the user's own: `custom_gradient` in all its forms, `recompute_grad`, `grad_pass_through`, `RegisterGradient`."""

from __future__ import annotations

import logging
import uuid

import numpy as np
import pytest

import stgrad.eager as tf


def value(t):
    return None if t is None else t.numpy().tolist()


def gradient(f, *values):
    xs = [tf.constant(v) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return [value(g) for g in tape.gradient(y, xs)]


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return tf.math.log(1 + e), grad


class Scaled:
    def __init__(self, k):
        self.k = k

    @tf.custom_gradient
    def square(self, x):
        return self.k * x * x, lambda dy: dy * 10.0 * self.k


class Twice(Scaled):
    def square(self, x):
        return 2.0 * super().square(x)


def test_methods_have_no_gradient_for_self():
    assert gradient(Scaled(3.0).square, 2.0) == [30.0]
    assert gradient(lambda x: Scaled.square(Scaled(3.0), x), 2.0) == [30.0]
    assert gradient(Twice(3.0).square, 2.0) == [60.0]


def test_stable_rule():
    assert gradient(log1pexp, 100.0) == [1.0]


def test_second_order_differentiates_the_rule():
    x = tf.Variable(0.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = log1pexp(x)
        g = inner.gradient(y, x)
    assert value(g) == 0.5
    assert value(outer.gradient(g, x)) == 0.25


def test_with_parentheses():
    @tf.custom_gradient()
    def f(x):
        return x * 2.0, lambda dy: dy * 10.0

    assert gradient(f, 1.0) == [10.0]


def test_several_inputs_and_none():
    @tf.custom_gradient
    def f(x, y, z):
        return x * y * z, lambda dy: (dy * 2.0, None, dy * 4.0)

    assert gradient(f, 1.0, 1.0, 1.0) == [2.0, None, 4.0]


def test_structures_in_and_out():
    @tf.custom_gradient
    def f(inputs):
        def grad(da, db):
            return {"x": da * 2.0, "y": db * 3.0}

        return [inputs["x"] * 1.0, inputs["y"] * 1.0], grad

    x, y = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        out = f({"x": x, "y": y})
        assert isinstance(out, list)
        z = out[0] + out[1] * 10.0
    assert [value(g) for g in tape.gradient(z, [x, y])] == [2.0, 30.0]


def test_unused_outputs_arrive_as_zeros():
    seen = []

    @tf.custom_gradient
    def f(x):
        def grad(da, db):
            seen.append((value(da), value(db)))
            return da

        return (x * 1.0, tf.stack([x, x])), grad

    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y, _ = f(x)
    assert value(tape.gradient(y, x)) == 1.0
    assert seen == [(1.0, [0.0, 0.0])]


def test_numbers_count_as_inputs():
    @tf.custom_gradient
    def f(x, scale):
        return x * scale, lambda dy: (dy * scale, None)

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x, 3.0)
    assert value(tape.gradient(y, x)) == 3.0


def test_wrong_number_of_gradients():
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda dy: dy

    with pytest.raises(ValueError, match="custom_gradient function expected to return 2 gradients, but returned 1 instead."):
        gradient(f, 1.0, 2.0)


def test_forgotten_grad_fn():
    @tf.custom_gradient
    def f(x):
        return x * 2.0

    with pytest.raises(TypeError, match="must return"):
        f(tf.constant(1.0))


def test_wrong_shape_and_dtype():
    @tf.custom_gradient
    def shape(x):
        return x * 1.0, lambda dy: tf.ones([3])

    @tf.custom_gradient
    def dtype(x):
        return x * 1.0, lambda dy: tf.cast(dy, tf.float64)

    with pytest.raises(ValueError, match=r"returned shape \(3,\) for an input of shape \(\)"):
        gradient(shape, 1.0)
    with pytest.raises(TypeError, match="returned dtype float64 for an input of dtype float32"):
        gradient(dtype, 1.0)


# ------------------------------------------------------------------ keywords


def test_keywords_are_passed():
    @tf.custom_gradient
    def f(x, power=2.0):
        return x**power, lambda dy: dy * power

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = f(x, power=3.0)
    assert value(y) == 27.0 and value(tape.gradient(y, x)) == 3.0


def test_a_call_by_keywords_alone_uses_the_rule():
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda dy: (dy * 100.0, dy * 200.0)

    x, y = tf.Variable(3.0), tf.Variable(4.0)
    with tf.GradientTape(persistent=True) as tape:
        z = f(y=y, x=x)
        w = f(x, y=y)
    assert [value(g) for g in tape.gradient(z, [x, y])] == [100.0, 200.0]
    assert [value(g) for g in tape.gradient(w, [x, y])] == [100.0, 200.0]


# ------------------------------------------------------------------ variables


def test_captured_variables():
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        def grad(dy, variables=None):
            assert [w is v for w in variables] == [True]
            return dy * 10.0, [dy * 20.0]

        return x * v, grad

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x)
    assert [value(g) for g in tape.gradient(y, [x, v])] == [10.0, 20.0]


def test_captured_variables_without_the_parameter():
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        return x * v, lambda dy: dy

    with pytest.raises(TypeError, match="grad_fn must accept keyword argument 'variables', since function uses variables"):
        f(tf.constant(1.0))


def test_variables_of_another_number_and_bare_result():
    v = tf.Variable(3.0)

    def rule(result):
        @tf.custom_gradient
        def f(x):
            return x * v, lambda dy, variables=None: result(dy)

        x = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            y = f(x)
        return tape.gradient(y, x)

    with pytest.raises(ValueError, match="gradient for each variable"):
        rule(lambda dy: (dy, [dy, dy]))
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        rule(lambda dy: dy)


def test_variables_parameter_without_variables(caplog):
    from stgrad.eager import logs

    logs._given.clear()
    for result in (lambda dy: (dy, []), lambda dy: dy):

        @tf.custom_gradient
        def f(x, result=result):
            return x * 2.0, lambda dy, variables=None: result(dy)

        with caplog.at_level(logging.WARNING, "stgrad"):
            assert gradient(f, 1.0) == [1.0]
    assert "no Variables were used" in caplog.text


def test_variables_as_arguments():
    @tf.custom_gradient
    def f(v):
        return v * v, lambda dy: dy * 7.0

    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = f(v)
    assert value(tape.gradient(y, v)) == 7.0


# ------------------------------------------------------------------ nested rules, several orders


def test_nested_custom_gradients():
    """The documented pattern: the first-order rule is itself a function with a custom gradient."""

    @tf.custom_gradient
    def op(x):
        def first_order_gradient(dy):
            @tf.custom_gradient
            def first_order_custom(unused_x):
                def second_order_and_transpose(ddy):
                    return tf.constant(1234.0) * ddy

                return tf.constant(99.0) * dy, second_order_and_transpose

            return first_order_custom(x)

        return x * x, first_order_gradient

    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = op(x)
        g = inner.gradient(y, x)
    assert value(g) == 99.0
    assert value(outer.gradient(g, x)) == 1234.0


def test_naive_nesting_differentiates_in_dy():
    @tf.custom_gradient
    def op(x):
        @tf.custom_gradient
        def grad(dy):
            return dy * 3.0, lambda ddy: ddy * 100.0

        return x * 3.0, grad

    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = op(x)
        g = inner.gradient(y, x)
    assert value(g) == 3.0
    assert outer.gradient(g, x) is None


def test_the_rule_does_not_run_where_nothing_needs_it():
    calls = []

    @tf.custom_gradient
    def f(x):
        return x * 1.0, lambda dy: calls.append(1) or dy

    x, u = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x) + u
    assert value(tape.gradient(y, u)) == 1.0
    assert calls == []


def test_forward_mode_through_a_custom_gradient():
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as acc:
        y = log1pexp(x)
    assert value(acc.jvp(y)) == pytest.approx(0.9526, abs=1e-4)


# ------------------------------------------------------------------ recompute_grad, grad_pass_through


def test_recompute_grad():
    calls = []
    w = tf.Variable(2.0)

    @tf.recompute_grad
    def f(x, scale=1.0):
        calls.append(1)
        return tf.sin(x) * w * scale

    x = tf.Variable(0.5)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = f(x, scale=3.0)
        gx, gw = tape.gradient(y, [x, w])
    assert len(calls) == 2
    assert value(gx) == pytest.approx(6 * np.cos(0.5), rel=1e-6)
    assert value(gw) == pytest.approx(3 * np.sin(0.5), rel=1e-6)
    assert value(outer.gradient(gx, x)) == pytest.approx(-6 * np.sin(0.5), rel=1e-6)
    assert f.__wrapped__ is not None


def test_recompute_grad_keeps_nothing():
    import weakref

    kept = []

    @tf.recompute_grad
    def f(x):
        middle = tf.sin(x)
        kept.append(weakref.ref(middle))
        return tf.exp(middle)

    x = tf.Variable(0.5)
    with tf.GradientTape() as tape:
        y = f(x)
    assert kept[0]() is None
    assert value(tape.gradient(y, x)) == pytest.approx(np.cos(0.5) * np.exp(np.sin(0.5)), rel=1e-6)


def test_grad_pass_through():
    x = tf.Variable(1.4)
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(tf.round)(x * 2.0)
    assert value(y) == 3.0 and value(tape.gradient(y, x)) == 2.0


# ------------------------------------------------------------------ the registry


def fresh():
    return "StgTest" + uuid.uuid4().hex[:8]


def test_registered_gradient_of_an_own_operation():
    name = fresh()

    @tf.RegisterGradient(name)
    def rule(op, grad):
        assert op.type == name and value(op.outputs[0]) == value(op.inputs[0]) ** 3
        return grad * op.get_attr("factor")

    cube = tf.operation(name)(lambda a, factor: a**3)
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = cube(x, factor=5.0)
    assert value(y) == 8.0 and value(tape.gradient(y, x)) == 5.0


def test_own_operation_without_gradient():
    name = fresh()
    f = tf.operation(name)(lambda a: a * 2)
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x)
    with pytest.raises(LookupError, match=f"gradient registry has no entry for: {name}"):
        tape.gradient(y, x)
    tf.no_gradient(name)
    with tf.GradientTape() as tape:
        y = f(x)
    assert tape.gradient(y, x) is None


def test_registry_errors():
    name = fresh()
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(3)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.no_gradient(3)
    tf.RegisterGradient(name)(lambda op, g: g)
    with pytest.raises(KeyError, match=f"Registering two gradient with name '{name}'! .Previous registration was in .*test_custom.py"):
        tf.RegisterGradient(name)(lambda op, g: g)


def test_gradient_override_map():
    name = fresh()

    @tf.RegisterGradient(name)
    def rule(op, grad):
        return grad * 9.0

    @tf.function
    def f(x):
        with tf.compat.v1.get_default_graph().gradient_override_map({"Square": name}):
            return tf.square(x)

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x)
    assert value(y) == 4.0 and value(tape.gradient(y, x)) == 9.0
    with pytest.raises(TypeError, match="must be strings"), tf.Graph().gradient_override_map({"Square": 3}):
        pass
