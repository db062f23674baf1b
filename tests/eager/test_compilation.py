"""`tf.function` by the compiler: one node, results and gradients equal to the eager run, and said aloud where it runs eagerly."""

from __future__ import annotations

import gc
import warnings
import weakref

import numpy as np
import pytest

import stgrad.eager as tf
from stgrad.eager.compilation import RunsEagerlyWarning

W = tf.Variable([1.0, -2.0])
K = tf.constant([0.5, 0.25])


def branchy(x):
    total = tf.reduce_sum(W * tf.sin(x))
    for i in range(4):
        if total > 1.0:
            total = total * 0.5
        else:
            total = total * x[0] + tf.maximum(K[1], 0.1 * i)
    return total


def loop(x):
    total = x[0] * 1.0
    steps = 0
    while total < 50.0 and steps < 30:
        total = total * 1.5 + tf.reduce_mean(x)
        steps += 1
    return total * total


def layer(x):
    return tf.nn.softmax(tf.reshape(x, [1, 2]) @ tf.transpose(tf.reshape(W, [1, 2])) * tf.ones([1, 3]) + tf.concat([x, K[:1]], 0))


def activations(x):
    y = tf.nn.relu(x) + tf.nn.elu(x) + tf.sigmoid(x) + tf.tanh(x) + tf.nn.softplus(x) + tf.nn.leaky_relu(x) + tf.nn.silu(x)
    return tf.stack([tf.abs(y), tf.square(x), tf.minimum(x, y), tf.clip_by_value(x, -0.2, 0.4), tf.nn.log_softmax(x)])


def casts(x):
    return tf.cast(tf.cast(x, tf.float64) * tf.constant(2.0, tf.float64), tf.float32) + tf.stop_gradient(x) * x


@tf.custom_gradient
def doubled(x):
    def grad(dy):
        return 2.0 * dy * x

    return x * x * x, grad


def with_custom(x):
    return doubled(x) * 3.0


class Cubes:
    def __init__(self, scale):
        self.scale = scale

    @tf.custom_gradient
    def cube(self, x):
        return self.scale * x * x * x, lambda dy: dy * x


cubes = Cubes(2.0)


def with_custom_method(x):
    return cubes.cube(x) * 3.0


def two_results(x):
    return {"sum": tf.reduce_sum(x), "pair": (x * 2.0, tf.exp(x))}


PROGRAMS = [branchy, loop, layer, activations, casts, with_custom, with_custom_method, two_results]


def results(f, x, second):
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape(persistent=True) as tape:
            flat = tf.nest.flatten(f(x))
        grads = [g for g in tape.gradient(flat, [x, W, K]) if g is not None]
        total = sum([tf.reduce_sum(g * g) for g in grads], tf.constant(0.0))
    return flat, grads, [g for g in outer.gradient(total, [x, W, K]) if g is not None] if second else [], tape


@pytest.mark.filterwarnings("error::stgrad.eager.RunsEagerlyWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_equal_to_the_eager_run(program):
    x = tf.Variable([0.7, -0.3])
    wanted = results(program, x, True)[:3]
    f = tf.function(program)
    for _ in range(2):
        found = results(f, x, True)
        for some, others in zip(found[:3], wanted):
            assert len(some) == len(others)
            for a, b in zip(some, others):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
        assert [node[0].name for node in found[3]._tape.nodes] == [program.__name__]


class Residual(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(2, activation="relu")
        self.rest = tf.keras.Sequential([tf.keras.layers.Dense(4, activation=tf.tanh, use_bias=False), tf.keras.layers.Dense(2)])

    def call(self, x):
        return x + self.rest(self.first(x))


@pytest.mark.filterwarnings("error::stgrad.eager.RunsEagerlyWarning")
def test_layers_compile():
    tf.random.set_seed(0)
    model = Residual()
    x = tf.random.normal([5, 2])

    def loss(x):
        return tf.reduce_mean(model(x) ** 2)

    loss(x)
    f = tf.function(loss)
    found = []
    for run in (loss, f, f):
        with tf.GradientTape() as tape:
            y = run(x)
        found.append([y, *tape.gradient(y, model.trainable_variables)])
    for one in found[1:]:
        for a, b in zip(one, found[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("default::stgrad.eager.RunsEagerlyWarning")
def test_the_warning_points_at_the_call():
    f = tf.function(lambda x: x + tf.random.normal([2]))
    with pytest.warns(RunsEagerlyWarning, match="no translation") as caught:
        f(tf.ones([1, 2]))
    assert caught[0].filename == __file__


def test_variables_are_read_when_it_is_called():
    v = tf.Variable(2.0)
    f = tf.function(lambda x: v * x)
    assert f(tf.constant(3.0)).numpy() == 6.0
    v.assign(10.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = f(tf.constant(3.0)) * v
        v.assign(0.0)
        g = tape.gradient(y, v)
    assert y.numpy() == 300.0 and g.numpy() == 60.0
    assert outer.gradient(g, v).numpy() == 6.0


def test_unconnected_is_none():
    f = tf.function(lambda x, y: x * x)
    x, y = tf.Variable(3.0), tf.Variable(4.0)
    with tf.GradientTape() as tape:
        z = f(x, y)
    gx, gy = tape.gradient(z, [x, y])
    assert gx.numpy() == 6.0 and gy is None


def test_integers_shapes_and_python_values():
    @tf.function
    def f(x, i, name="a", n=2):
        return x[i] * n if name == "a" else x[0]

    x = tf.Variable([1.0, 5.0])
    with tf.GradientTape() as tape:
        y = f(x, tf.constant(1)) + f(x, tf.constant(0), name="b") + f(x, tf.constant(1), n=7)
    assert y.numpy() == 10.0 + 1.0 + 35.0
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 9.0]


def test_forward_mode():
    f = tf.function(lambda x: tf.sin(x) * x)
    x = tf.constant(0.5)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as acc:
        y = f(x)
    np.testing.assert_allclose(acc.jvp(y), np.sin(0.5) + 0.5 * np.cos(0.5), rtol=1e-6)


def test_functions_call_functions():
    inner = tf.function(lambda x: x * x)
    outer = tf.function(lambda x: inner(x) + inner(2.0 * x))
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = outer(x)
    assert y.numpy() == 45.0 and tape.gradient(y, x).numpy() == 30.0


SECRET = []


def draws(x):
    return x * tf.random.uniform([])


def assigns(x):
    W.assign_add(x)
    return x


def formats(x):
    return x * len(str(x))


def mixed(x):
    with tf.name_scope("a"):
        return x * 2.0


def appends(x):
    SECRET.append(x)
    return x * 2.0


def prints(x):
    print("called")
    return x * 2.0


COUNT = np.zeros(1)


def writes(x):
    COUNT[0] += 1.0
    return x * 2.0


@pytest.mark.filterwarnings("default::stgrad.eager.RunsEagerlyWarning")
def test_effects_happen_once_a_call(capsys):
    x = tf.constant(1.0)
    for program in (appends, prints, writes):
        f = tf.function(program)
        with pytest.warns(RunsEagerlyWarning), tf.GradientTape() as tape:
            tape.watch(x)
            f(x)
        f(x)
    assert [len(SECRET), COUNT[0], capsys.readouterr().out] == [2, 2.0, "called\ncalled\n"]


@pytest.mark.parametrize("program", [draws, assigns, formats, mixed], ids=lambda p: p.__name__)
@pytest.mark.filterwarnings("default::stgrad.eager.RunsEagerlyWarning")
def test_what_is_not_compiled_says_so_once(program):
    f = tf.function(program)
    x = tf.constant([1.0, 2.0])
    with pytest.warns(RunsEagerlyWarning, match=f"{program.__name__} runs eagerly, it is not compiled: .*"):
        f(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(x)
        f(tf.constant([1.0, 2.0]) * 2.0)


@pytest.mark.filterwarnings("default::stgrad.eager.RunsEagerlyWarning")
def test_side_effects_happen_as_in_the_eager_run():
    v = tf.Variable(1.0)

    @tf.function
    def step(x):
        return v.assign_add(x) * 1.0

    with pytest.warns(RunsEagerlyWarning):
        assert step(tf.constant(2.0)).numpy() == 3.0
    assert step(tf.constant(2.0)).numpy() == 5.0 and v.numpy() == 5.0


def test_errors_are_those_of_the_eager_run():
    f = tf.function(lambda x, y: x * y)
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant(1.0), tf.constant(1.0, tf.float64))
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0, 3.0]))


def test_a_module_is_not_kept_alive():
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(3.0)
            self.scale = 2.0

        @tf.function
        def call(self, x):
            return self.w * x * self.scale

    model = Model()
    with tf.GradientTape() as tape:
        y = model.call(tf.constant(2.0))
    assert tape.gradient(y, model.w).numpy() == 4.0
    alive = weakref.ref(model)
    del model, tape, y
    gc.collect()
    assert alive() is None
