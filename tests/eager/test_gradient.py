"""What `gradient` takes and gives: targets, sources, cotangents, unconnected sources, errors."""

from __future__ import annotations

import math
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import stgrad.eager as tf

Pair = namedtuple("Pair", "a b")


def value(t):
    return None if t is None else t.numpy().tolist()


@pytest.fixture
def squares():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y, z = x**2, x**3
    return tape, x, y, z


@pytest.mark.parametrize("form", [list, tuple, lambda t: {"y": t[0], "z": t[1]}, lambda t: Pair(*t)])
def test_targets_are_summed(squares, form):
    tape, x, y, z = squares
    assert value(tape.gradient(form([y, z]), x)) == 33.0


def test_target_twice_counts_twice(squares):
    tape, x, y, _ = squares
    assert value(tape.gradient([y, y], x)) == 12.0


def test_non_scalar_targets_are_summed():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    assert value(tape.gradient(y, x)) == [2.0, 4.0]


def test_empty_structures(squares):
    tape, x, y, _ = squares
    assert tape.gradient(y, []) == []
    assert tape.gradient(y, {}) == {}
    assert tape.gradient(y, ()) == ()
    assert tape.gradient([], x) is None
    mixed = tape.gradient(y, {"a": [], "b": (x,)})
    assert mixed["a"] == [] and value(mixed["b"][0]) == 6.0


def test_result_has_the_structure_of_the_sources(squares):
    tape, x, y, _ = squares
    g = tape.gradient(y, {"b": [x, (x,)], "a": Pair(x, {"c": x}), "e": [], "o": OrderedDict(z=x, a=x)})
    assert sorted(g) == ["a", "b", "e", "o"]
    assert value(g["b"][1][0]) == 6.0 and isinstance(g["b"][1], tuple)
    assert isinstance(g["a"], Pair) and value(g["a"].b["c"]) == 6.0
    assert g["e"] == [] and list(g["o"]) == ["z", "a"]


def test_target_that_is_the_source():
    x, v = tf.constant([1.0, 2.0]), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        v * 2.0
    assert value(tape.gradient(x, x)) == [1.0, 1.0]
    assert value(tape.gradient(v, v)) == 1.0
    assert value(tape.gradient([x, x], x)) == [2.0, 2.0]


def test_cancelling_dependence_gives_zero():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x - x
    assert value(tape.gradient(y, x)) == 0.0


def test_unconnected(squares):
    tape, x, y, _ = squares
    u = tf.Variable([1.0, 2.0])
    assert tape.gradient(y, u) is None
    assert tape.gradient(y, u, unconnected_gradients="none") is None
    for zero in ("zero", tf.UnconnectedGradients.ZERO):
        assert value(tape.gradient(y, u, unconnected_gradients=zero)) == [0.0, 0.0]
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
        tape.gradient(y, u, unconnected_gradients="nought")


@pytest.mark.parametrize("source", [tf.constant(3), tf.constant(True), tf.constant("text"), tf.Variable(3)])
def test_sources_without_derivatives(squares, source):
    tape, _, y, _ = squares
    assert tape.gradient(y, source) is None


def test_integer_paths():
    x = tf.Variable(2.5)
    with tf.GradientTape(persistent=True) as tape:
        i = tf.cast(x, tf.int32)
        y = tf.cast(i, tf.float32) * 2.0
    assert tape.gradient(i, x) is None
    assert tape.gradient(y, x) is None


def test_errors(squares):
    tape, x, y, _ = squares
    with pytest.raises(TypeError, match="received None"):
        tape.gradient(None, x)
    with pytest.raises(TypeError, match="Cannot convert the argument `type_value`: None to a TensorFlow DType."):
        tape.gradient(y, None)
    with pytest.raises(TypeError, match="None to a TensorFlow DType"):
        tape.gradient([y, None], x)
    with pytest.raises(AttributeError, match="dtype"):
        tape.gradient(y, 3.0)
    with pytest.raises(AttributeError, match="dtype"):
        tape.gradient(3.0, x)


def test_operation_without_gradient():
    w = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.math.bincount([0, 1, 1], weights=w)
    with pytest.raises(LookupError, match="gradient registry has no entry for: .*bincount"):
        tape.gradient(y, w)


# ------------------------------------------------------------------ output_gradients


def test_output_gradients(squares):
    tape, x, y, z = squares
    assert value(tape.gradient([y, z], x, output_gradients=[tf.constant(2.0), tf.constant(10.0)])) == 282.0
    assert value(tape.gradient([y, z], x, output_gradients=[tf.constant(2.0)])) == 39.0
    assert value(tape.gradient(y, x, output_gradients=2.0)) == 12.0
    with pytest.raises(ValueError, match="None"):
        tape.gradient([y, z], x, output_gradients=[None, tf.constant(1.0)])


def test_output_gradients_of_another_shape():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    assert value(tape.gradient(y, x, output_gradients=tf.constant(10.0))) == [20.0, 40.0]
    assert value(tape.gradient(y, x, output_gradients=tf.constant([1.0, 0.0]))) == [2.0, 0.0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tape.gradient(y, x, output_gradients=tf.constant([1.0, 2.0, 3.0]))


def test_output_gradient_is_differentiable():
    x, seed = tf.Variable(3.0), tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = x * x
        g = tape.gradient(y, x, output_gradients=seed)
    assert [value(h) for h in outer.gradient(g, [x, seed])] == [4.0, 6.0]


# ------------------------------------------------------------------ dtypes, kinds of sources


def test_gradients_have_the_dtype_of_their_source():
    for dtype in (tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128):
        x = tf.Variable([1.0, 2.0], dtype=dtype) if not dtype.is_complex else tf.Variable([1.0 + 0j, 2.0], dtype=dtype)
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x * x)
        assert tape.gradient(y, x).dtype == dtype


def test_complex_convention():
    z = tf.Variable(1.0 + 2.0j)
    with tf.GradientTape(persistent=True) as tape:
        square = tf.abs(z) ** 2
        product = z * z
    assert tape.gradient(square, z).numpy() == pytest.approx(2 + 4j)
    assert tape.gradient(product, z).numpy() == pytest.approx(2 - 4j)


def test_gathers_have_dense_gradients():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.gather(w, [0, 0])
        z = w[0]
    assert value(tape.gradient(y, w)) == [[2.0, 2.0], [0.0, 0.0]]
    assert value(tape.gradient(z, w)) == [[1.0, 1.0], [0.0, 0.0]]
    assert isinstance(tape.gradient(y, w), tf.Tensor)


def test_python_max_over_variables():
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = max(a, b) * 2.0
    assert [value(g) for g in tape.gradient(y, [a, b])] == [None, 2.0]


def test_broadcasting():
    a, b = tf.Variable([[1.0], [2.0]]), tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = a * b + 1.0
    ga, gb = tape.gradient(y, [a, b])
    assert value(ga) == [[6.0], [6.0]] and value(gb) == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_any_order(order):
    x = tf.Variable(2.0)

    def derivative(n):
        if n == 0:
            return x**5
        with tf.GradientTape() as tape:
            y = derivative(n - 1)
        return tape.gradient(y, x)

    factor = np.prod([5 - k for k in range(order)])
    assert value(derivative(order)) == factor * 2.0 ** (5 - order)


def test_hessian_vector_products():
    x, v = tf.Variable([1.0, 2.0, 3.0]), tf.constant([1.0, 0.0, -1.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(x**3)
        g = inner.gradient(y, x)
    assert value(outer.gradient(g, x, output_gradients=v)) == [6.0, 0.0, -18.0]


def test_numpy_operands_and_operands_that_change():
    x = tf.Variable([1.0, 2.0])
    a = np.array([3.0, 4.0], np.float32)
    with tf.GradientTape() as tape:
        y = x * a
    a[:] = 0
    assert value(tape.gradient(y, x)) == [3.0, 4.0]


def test_numpy_functions_are_recorded():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = np.sum(np.sin(x) * np.array([1.0, 2.0])) + np.dot(x, x)
    np.testing.assert_allclose(tape.gradient(y, x), np.cos([1.0, 2.0]) * [1, 2] + [2, 4], rtol=1e-6)


SMOOTH = {
    "softplus": (tf.math.softplus, 0.25),
    "log_sigmoid": (tf.math.log_sigmoid, -0.25),
    "sigmoid": (tf.math.sigmoid, 0.0),
    "swish": (tf.nn.swish, 0.5),
    "gelu": (tf.nn.gelu, 4 / math.sqrt(2 * math.pi) / 2),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_what_is_smooth_at_zero_has_its_second_derivative_there(name):
    """A rule that is written with `np.abs(x)` is right at first order, and bends at zero to the next."""
    function, expected = SMOOTH[name]
    x = tf.constant([0.0], tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        slope = inner.gradient(y, x)
    assert outer.gradient(slope, x).numpy() == pytest.approx([expected], abs=1e-12)
