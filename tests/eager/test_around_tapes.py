"""What code around tapes uses: datasets, checkpoints, functional models, arrays of tensors, options of functions."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad.eager as tf

# ------------------------------------------------------------------ datasets


def numbers(dataset):
    return [v.tolist() for v in dataset.as_numpy_iterator()]


def test_datasets():
    pairs = tf.data.Dataset.from_tensor_slices((np.arange(6, dtype="f4"), np.arange(6, dtype="i4")))
    batches = list(pairs.batch(4))
    assert [b[0].numpy().tolist() for b in batches] == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0]]
    assert [b[1].dtype for b in batches] == [tf.int32, tf.int32] and len(pairs.batch(4)) == 2
    assert len(pairs.batch(4, drop_remainder=True)) == 1
    assert pairs.element_spec == (tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32))
    assert numbers(tf.data.Dataset.range(5).map(lambda v: v * 2).filter(lambda v: v > 2)) == [4, 6, 8]
    assert sorted(numbers(tf.data.Dataset.range(5).shuffle(10))) == [0, 1, 2, 3, 4]
    assert numbers(tf.data.Dataset.range(3).repeat().take(7)) == [0, 1, 2, 0, 1, 2, 0]
    assert numbers(tf.data.Dataset.range(4).skip(2).concatenate(tf.data.Dataset.range(1)).cache().prefetch(tf.data.AUTOTUNE)) == [2, 3, 0]
    assert numbers(tf.data.Dataset.from_tensors([1, 2]).unbatch()) == [1, 2]
    assert [(int(i), int(v)) for i, v in tf.data.Dataset.range(5, 7).enumerate()] == [(0, 5), (1, 6)]
    assert next(iter(tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [3, 4]})))["b"].numpy() == 3
    assert int(tf.data.Dataset.range(4).reduce(0, lambda s, v: s + tf.cast(v, tf.int32))) == 6
    assert numbers(tf.data.Dataset.from_generator(lambda: iter([1, 2]), output_types=tf.int32)) == [1, 2]
    zipped = tf.data.Dataset.zip((tf.data.Dataset.range(2), tf.data.Dataset.range(3)))
    assert int(zipped.cardinality()) == 2 and int(tf.data.Dataset.range(2).repeat().cardinality()) == -1
    with pytest.raises(TypeError, match="unknown"):
        len(tf.data.Dataset.range(2).filter(lambda v: v > 0))
    with pytest.raises(ValueError, match="not compatible"):
        tf.data.Dataset.from_tensor_slices(([1, 2], [1]))


# ------------------------------------------------------------------ checkpoints


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(5)

    def call(self, x):
        return self.first(x)


def test_checkpoints(tmp_path):
    net, optimizer = Net(), tf.keras.optimizers.Adam(0.1)
    net(tf.ones([1, 2]))
    checkpoint = tf.train.Checkpoint(step=tf.Variable(1), optimizer=optimizer, net=net)
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    assert manager.latest_checkpoint is None and tf.train.latest_checkpoint(tmp_path) is None
    checkpoint.restore(manager.latest_checkpoint)
    kernel = net.first.kernel.numpy()
    paths = [manager.save() for _ in range(3)]
    net.first.kernel.assign(tf.zeros([2, 5]))
    checkpoint.step.assign_add(4)
    checkpoint.restore(paths[-1]).assert_consumed()
    np.testing.assert_array_equal(net.first.kernel, kernel)
    assert int(checkpoint.step) == 1 and tf.train.latest_checkpoint(tmp_path) == paths[-1]
    assert len(list(tmp_path.glob("*.npz"))) == 2
    fresh = Net()
    status = tf.train.Checkpoint(net=fresh).restore(paths[-1])
    fresh(tf.ones([1, 2]))
    with pytest.raises(AssertionError, match="no counterpart"):
        status.assert_consumed()
    np.testing.assert_array_equal(fresh.first.kernel, kernel)
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find"):
        checkpoint.restore(tmp_path / "nothing")
    (tmp_path / "bad.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="damaged"):
        checkpoint.restore(tmp_path / "bad")


def test_weights_in_a_file(tmp_path):
    one, other = Net(), Net()
    x = tf.ones([1, 2])
    one(x), other(x)
    one.save_weights(tmp_path / "w.npz")
    other.load_weights(tmp_path / "w.npz")
    np.testing.assert_array_equal(one(x), other(x))


# ------------------------------------------------------------------ functional models


def test_functional_models():
    inputs = tf.keras.Input(shape=(3,))
    first = tf.keras.layers.Dense(4, activation="relu", kernel_initializer="ones")(inputs)
    second = tf.keras.layers.Dense(4, kernel_initializer="ones")(first)
    outputs = tf.keras.layers.Dense(2, kernel_initializer="ones")(tf.keras.layers.Add()([first, second]) * 2.0)
    model = tf.keras.Model(inputs=inputs, outputs=outputs, name="between")
    x = tf.ones([2, 3])
    assert model(x).numpy().tolist() == [[120.0, 120.0]] * 2
    assert model.name == "between" and tuple(outputs.shape) == (None, 2) and len(model.trainable_variables) == 6
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    assert all(g is not None for g in tape.gradient(loss, model.trainable_variables))
    compiled = tf.function(lambda v: model(v))
    np.testing.assert_allclose(compiled(x), model(x))
    assert any(p is not None for c in compiled._traces.values() for p in c._programs.values())
    both = tf.keras.Model(inputs, [first, outputs])
    assert [tuple(y.shape) for y in both(x)] == [(2, 4), (2, 2)]
    assert model.get_layer(index=1) is model.layers[1]
    with pytest.raises(ValueError, match="not among the inputs"):
        tf.keras.Model(tf.keras.Input((3,)), outputs)(x)


def test_sequential_with_a_known_input_has_its_weights():
    for layers in (
        [tf.keras.Input((3,)), tf.keras.layers.Dense(2)],
        [tf.keras.layers.Dense(2, input_shape=(3,))],
        [tf.keras.layers.InputLayer((3,)), tf.keras.layers.Dense(2)],
    ):
        assert [tuple(w.shape) for w in tf.keras.Sequential(layers).weights] == [(3, 2), (2,)]
    open_extents = tf.keras.Sequential([tf.keras.Input((None, None, 3)), tf.keras.layers.Conv2D(2, 3), tf.keras.layers.Conv2D(2, 3)])
    assert tuple(open_extents(tf.zeros([1, 6, 6, 3])).shape) == (1, 2, 2, 2)


def test_layers_of_a_model():
    class Parts(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.a = tf.keras.layers.Dense(2)
            self.more = [tf.keras.layers.Dense(3), self.a]

    assert [layer.units for layer in Parts().layers] == [2, 3]


# ------------------------------------------------------------------ tensor arrays, options of functions


def test_tensor_arrays():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in range(3):
            array = array.write(i, x ** float(i + 1))
        y = tf.reduce_sum(array.stack())
    assert (y.numpy(), tape.gradient(y, x).numpy(), int(array.size())) == (14.0, 17.0, 3)
    rows = tf.TensorArray(tf.float32, size=2).unstack([[1.0], [2.0]])
    assert rows.read(1).numpy().tolist() == [2.0] and rows.concat().numpy().tolist() == [1.0, 2.0]
    assert rows.gather([1, 0]).numpy().tolist() == [[2.0], [1.0]]
    assert tf.TensorArray(tf.int32, 2).write(1, 5).stack().numpy().tolist() == [0, 5]
    with pytest.raises(tf.errors.OutOfRangeError, match="not resizeable"):
        tf.TensorArray(tf.float32, size=1).write(1, 1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="TensorArray dtype"):
        tf.TensorArray(tf.float32, size=1).write(0, tf.constant(1))


def test_functions_can_run_eagerly():
    seen = []

    @tf.function
    def f(x):
        seen.append(1)
        return x * 2.0

    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly()
        f(tf.constant(1.0)), f(tf.constant(1.0))
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(seen) == 2 and tf.config.list_physical_devices("GPU") == []


def test_concrete_functions_keep_python_values():
    @tf.function
    def power(a, b, scale=1.0):
        return scale * a**b

    square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
    assert square(tf.constant(10.0)).numpy() == square(a=tf.constant(10.0)).numpy() == square(tf.constant(10.0), b=2).numpy() == 100.0
    with pytest.raises(TypeError, match="`b` being 2 in this trace, not 3"):
        square(tf.constant(10.0), b=3)


def test_a_variable_that_is_returned_is_made_again():
    @tf.function
    def f(x):
        v = tf.Variable(1.0)
        v.assign_add(x)
        return v

    with pytest.raises(ValueError, match="singleton"):
        f(tf.constant(1.0))


def test_a_missing_name_says_what_is_there():
    with pytest.raises(AttributeError, match="has no 'reduce_summ'.*there is reduce_sum"):
        tf.reduce_summ([1.0])
