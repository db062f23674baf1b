"""Random numbers, control flow, checks of numerics, derivatives against differences, and own messages of errors."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad.eager as tf


def value(t):
    return t.numpy().tolist()


def test_seeds():
    tf.random.set_seed(5)
    a = tf.random.normal([3]), tf.random.uniform([3])
    tf.random.set_seed(5)
    b = tf.random.normal([3]), tf.random.uniform([3])
    assert value(a[0]) == value(b[0]) and value(a[1]) == value(b[1])
    assert value(tf.random.normal([3])) != value(a[0])
    assert value(tf.random.stateless_normal([3], seed=[1, 2])) == value(tf.random.stateless_normal([3], seed=[1, 2]))
    g, h = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    assert value(g.normal([2])) == value(h.normal([2])) and value(g.uniform([2])) == value(h.uniform([2]))
    assert value(g.split(2)[0].normal([2])) == value(h.split(2)[0].normal([2]))


def test_distributions():
    tf.random.set_seed(0)
    x = tf.random.normal([20000], 3.0, 2.0).numpy()
    assert x.dtype == np.float32 and abs(x.mean() - 3) < 0.1 and abs(x.std() - 2) < 0.1
    u = tf.random.uniform([1000], 2.0, 5.0).numpy()
    assert 2 <= u.min() and u.max() < 5
    i = tf.random.uniform([1000], 0, 5, tf.int32).numpy()
    assert i.dtype == np.int32 and set(i) == set(range(5))
    assert abs(tf.random.truncated_normal([1000]).numpy()).max() <= 2
    assert tf.random.normal([2], dtype=tf.float64).dtype == tf.float64
    assert tf.random.gamma([10], [1.0, 2.0]).shape == (10, 2) and tf.random.poisson([10], 3.0).shape == (10,)
    assert tf.random.categorical([[0.0, 100.0]], 5).numpy().tolist() == [[1] * 5]
    assert sorted(tf.random.shuffle(tf.range(5)).numpy().tolist()) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="maxval"):
        tf.random.uniform([2], dtype=tf.int32)
    with pytest.raises(TypeError, match="dtype"):
        tf.random.normal([2], dtype=tf.int32)


def test_reparameterised_draws():
    mean, stddev = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        x = tf.random.normal([5], mean, stddev)
        y = tf.reduce_sum(x)
    gm, gs = tape.gradient(y, [mean, stddev])
    assert float(gm) == 5.0 and float(gs) == pytest.approx(float(tf.reduce_sum((x - mean) / stddev)), rel=1e-4)


def test_control_flow():
    assert tf.case([(tf.constant(False), lambda: 1), (tf.constant(True), lambda: 2)]) == 2
    assert tf.case({tf.constant(False).ref(): lambda: 1} and [(False, lambda: 1)], default=lambda: 3) == 3
    assert tf.switch_case(tf.constant(1), [lambda: 1, lambda: 2]) == 2
    assert tf.switch_case(5, {0: lambda: 1}, default=lambda: 9) == 9
    i, total = tf.while_loop(lambda i, t: i < 10, lambda i, t: (i + 1, t + i), (0, 0), maximum_iterations=4)
    assert (value(i), value(total)) == (4, 6)
    pairs = tf.scan(lambda a, e: (a[0] + e[0], a[1] * e[1]), (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])))
    assert [value(p) for p in pairs] == [[1.0, 3.0], [3.0, 12.0]]
    assert value(tf.foldr(lambda a, e: a - e, tf.constant([1.0, 2.0, 3.0]))) == 0.0
    assert value(tf.vectorized_map(lambda e: e * 2.0, tf.constant([1.0, 2.0]))) == [2.0, 4.0]
    with pytest.raises(TypeError, match="'true_fn' must be callable."):
        tf.cond(True, 1, 2)
    with pytest.raises(ValueError, match="structure"):
        tf.while_loop(lambda i: i < 3, lambda i: (i, i), (0,))
    with pytest.raises(ValueError, match="loop_vars"):
        tf.while_loop(lambda: True, lambda: (), ())
    with pytest.raises(ValueError, match="tf.case"):
        tf.case([(False, lambda: 1)])


def test_check_numerics():
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Detected Infinity or NaN in output 0 .*np.log") as info:
            tf.math.log(tf.constant([0.0, 1.0]))
        assert "Input tensor: <tf.Tensor: shape=(2,)" in str(info.value) and "-Inf" in str(info.value)
        x = tf.Variable(0.0)
        with tf.GradientTape() as tape:
            y = tf.sqrt(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Infinity or NaN"):
            tape.gradient(y, x)
        tf.debugging.enable_check_numerics()
    finally:
        tf.debugging.disable_check_numerics()
    tf.math.log(0.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had Inf values"):
        tf.debugging.check_numerics(tf.constant(np.inf), "bad")


def test_assertions():
    tf.debugging.assert_equal(1, 1)
    tf.debugging.assert_near(1.0, 1.0 + 1e-7)
    tf.debugging.assert_shapes([(tf.ones([2, 3]), ("n", 3)), (tf.ones([2]), ("n",))])
    for call in (
        lambda: tf.debugging.assert_less(2, 1), lambda: tf.debugging.assert_near(1.0, 2.0), lambda: tf.debugging.assert_positive(-1.0),
        lambda: tf.Assert(False, []), lambda: tf.debugging.assert_all_finite(np.nan, "no"),
    ):  # fmt: skip
        with pytest.raises(tf.errors.InvalidArgumentError):
            call()
    with pytest.raises(ValueError, match="rank"):
        tf.debugging.assert_rank(1.0, 2)
    with pytest.raises(ValueError, match="shape"):
        tf.debugging.assert_shapes([(tf.ones([2, 3]), ("n", "n"))])
    with pytest.raises(TypeError):
        tf.debugging.assert_type(1.0, tf.int32)


def test_compute_gradient():
    theory, numbers = tf.test.compute_gradient(lambda x, y: x * tf.sin(y), [np.array([1.0, 2.0]), np.array([0.5, 1.5])])
    for a, b in zip(theory, numbers):
        assert a.shape == (2, 2)
        np.testing.assert_allclose(a, b, atol=1e-5)
    with pytest.raises(ValueError, match="list"):
        tf.test.compute_gradient(lambda x: x, 1.0)


def test_error_types():
    assert issubclass(tf.errors.InvalidArgumentError, tf.OpError) and issubclass(tf.errors.OperatorNotAllowedInGraphError, TypeError)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3\] \[Op:AddV2\]") as info:
        tf.ones([2]) + tf.ones([3])
    assert info.value.op == "AddV2"
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="cannot compute Mul as input #1.zero-based. was expected to be a float tensor but is a double tensor",
    ):
        tf.constant(1.0) * tf.constant(1.0, tf.float64)
    with pytest.raises(TypeError, match="Cannot convert 2.5 to EagerTensor of dtype int32"):
        tf.constant(1) * 2.5


def test_special_functions_have_second_derivatives():
    for f in (tf.math.erf, tf.math.lgamma, tf.math.digamma, tf.math.erfinv, tf.math.ndtri, tf.math.bessel_i0e):
        x = tf.Variable(0.3, dtype=tf.float64)
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = f(x)
            g = inner.gradient(y, x)
        h = outer.gradient(g, x)
        theory, numbers = tf.test.compute_gradient(lambda t, f=f: derivative(f, t), [np.array(0.3)], delta=1e-5)
        np.testing.assert_allclose(h, numbers[0].item(), rtol=1e-4)
        np.testing.assert_allclose(theory, numbers, rtol=1e-4)


def derivative(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def test_small_neighbours(capsys):
    tf.print("x", tf.constant([1.0, 2.0]), output_stream=__import__("sys").stdout)
    assert capsys.readouterr().out == "x [1. 2.]\n"
    with tf.device("CPU:0"), tf.control_dependencies([]):
        pass
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        with tf.init_scope():
            y = x * x
        z = x * 1.0 + y
    assert value(tape.gradient(z, x)) == 1.0
    assert tf.ensure_shape(tf.ones([2]), [None]).shape == (2,)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.ensure_shape(tf.ones([2]), [3])
    assert value(tf.math.confusion_matrix([0, 1], [1, 1])) == [[0, 1], [0, 1]]
    assert value(tf.bitwise.bitwise_and(1, 3)) == 1
    assert value(tf.math.lbeta([1.0, 2.0])) == pytest.approx(-0.6931472)
    assert bool(tf.math.is_non_decreasing([1, 1])) and not bool(tf.math.is_strictly_increasing([1, 1]))
    assert value(tf.math.invert_permutation([2, 0, 1])) == [1, 2, 0]
    assert value(tf.histogram_fixed_width([1.0, 2.0], [0.0, 3.0], 3)) == [0, 1, 1]
    assert value(tf.as_string([1, 2])) == [b"1", b"2"]
    assert tf.keras.utils.to_categorical([0, 2]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert value(tf.nn.log_poisson_loss(1.0, 2.0)) == pytest.approx(5.389056)
    assert tf.zeros_initializer()([2]).shape == (2,) and tf.get_static_value(tf.constant(3)) == 3
    with pytest.raises(AttributeError, match="not all of TensorFlow"):
        _ = tf.image


@pytest.mark.parametrize(
    "f", [np.cumprod, np.prod, np.sort, np.diff, np.cross, np.kron, np.convolve, np.median, np.var, np.ptp, np.trapezoid]
)
def test_numpy_functions_of_any_kind_of_rule(f):
    """First and second order of NumPy functions that TensorFlow does not have, in both modes."""
    x = tf.Variable([1.3, 0.7, 2.1], dtype=tf.float64)
    call = (lambda t: f(t, np.array([1.0, 2.0, 0.5]))) if f in (np.cross, np.kron, np.convolve) else f
    with tf.GradientTape() as outer, tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.5, -1.0], tf.float64)) as acc:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(call(x * x) ** 2)
        g = inner.gradient(y, x)
    h = outer.jacobian(g, x, unconnected_gradients="zero")
    numbers = tf.test.compute_gradient(lambda t: first(call, t), [x.numpy()], delta=1e-6)[1][0]
    np.testing.assert_allclose(h, numbers, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(acc.jvp(y), np.sum(g.numpy() * [1.0, 0.5, -1.0]), rtol=1e-9)
    np.testing.assert_allclose(acc.jvp(g), h.numpy() @ [1.0, 0.5, -1.0], rtol=1e-9, atol=1e-12)


def first(call, t):
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = tf.reduce_sum(call(t * t) ** 2)
    return tape.gradient(y, t)
