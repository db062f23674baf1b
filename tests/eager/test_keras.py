"""Layers, models, optimisers, losses and metrics."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad.eager as tf
from stgrad.eager import keras

layers = keras.layers


def value(t):
    return t.numpy().tolist()


def test_dense_makes_its_weights_at_the_first_call():
    layer = layers.Dense(3, activation="relu")
    assert layer.variables == [] and not layer.built
    y = layer(np.ones((2, 4), np.float32))
    assert y.shape == (2, 3) and layer.built
    assert [v.path.rsplit("/")[-1] for v in layer.trainable_variables] == ["kernel", "bias"]
    limit = np.sqrt(6 / 7)
    assert abs(layer.kernel.numpy()).max() <= limit and not layer.bias.numpy().any()
    assert layers.Dense(2, use_bias=False)(tf.ones([1, 2])).shape == (1, 2)
    assert layers.Dense(2)(tf.ones([5, 4, 3])).shape == (5, 4, 2)
    with pytest.raises(ValueError, match="incompatible with the layer"):
        layer(tf.ones([2, 5]))
    with pytest.raises(ValueError, match="units"):
        layers.Dense(0)
    with pytest.raises(ValueError, match="Could not interpret activation"):
        layers.Dense(2, activation="nought")
    with pytest.raises(ValueError, match="Unrecognized keyword"):
        layers.Dense(2, nought=1)


def test_batch_normalization():
    x = tf.constant(np.random.default_rng(0).normal(2.0, 3.0, size=(8, 4)).astype(np.float32))
    layer = layers.BatchNormalization()
    np.testing.assert_allclose(layer(x), x.numpy() / np.sqrt(1.001), rtol=1e-5)  # infers by default
    y = layer(x, training=True)
    np.testing.assert_allclose(tf.reduce_mean(y, 0), np.zeros(4), atol=1e-5)
    np.testing.assert_allclose(layer.moving_mean, 0.01 * x.numpy().mean(0), rtol=1e-4)
    np.testing.assert_allclose(layer.moving_variance, 0.99 + 0.01 * x.numpy().var(0), rtol=1e-4)
    assert len(layer.trainable_variables) == 2 and len(layer.non_trainable_variables) == 2
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(x, training=True) ** 3)
    assert all(g is not None for g in tape.gradient(loss, layer.trainable_variables))


def test_other_layers():
    image = tf.ones([2, 4, 4, 3])
    assert layers.Conv2D(5, 3, padding="same", activation="relu")(image).shape == (2, 4, 4, 5)
    assert layers.Conv2D(6, 2, strides=2, groups=3)(image).shape == (2, 2, 2, 6)
    assert layers.Conv1D(5, 3)(tf.ones([2, 7, 3])).shape == (2, 5, 5)
    assert layers.MaxPooling2D()(image).shape == (2, 2, 2, 3)
    assert layers.AveragePooling2D()(image).numpy().max() == 1.0
    assert layers.Flatten()(image).shape == (2, 48)
    assert layers.GlobalAveragePooling2D()(image).shape == (2, 3)
    assert layers.Reshape([16, 3])(image).shape == (2, 16, 3)
    assert layers.Embedding(10, 4)(np.array([[1, 2]])).shape == (1, 2, 4)
    assert layers.Concatenate()([image, image]).shape == (2, 4, 4, 6)
    assert value(layers.Add()([tf.constant(1.0), tf.constant(2.0)])) == 3.0
    assert value(layers.Lambda(lambda x: x * 2.0)(tf.constant(1.0))) == 2.0
    normal = layers.LayerNormalization()(tf.constant([[1.0, 2.0, 3.0]]))
    assert abs(value(tf.reduce_mean(normal))) < 1e-6


def test_dropout():
    tf.random.set_seed(0)
    layer, x = layers.Dropout(0.5), tf.ones([1000])
    assert value(layer(x)) == [1.0] * 1000
    y = layer(x, training=True).numpy()
    assert set(np.unique(y)) == {0.0, 2.0} and 400 < (y == 0).sum() < 600
    with pytest.raises(ValueError, match="rate"):
        layers.Dropout(2.0)


def test_embedding_gradient_is_dense():
    layer = layers.Embedding(4, 2)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(layer(tf.constant([1, 1, 3])))
    g = tape.gradient(y, layer.embeddings)
    assert value(g) == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]


def test_sequential_and_model():
    model = keras.Sequential([layers.Dense(4, activation="tanh"), layers.Dropout(0.5), layers.Dense(1)])
    assert model(tf.ones([2, 3]), training=True).shape == (2, 1)
    assert [v.shape for v in model.trainable_variables] == [(3, 4), (4,), (4, 1), (1,)]
    assert model.count_params() == 21

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = layers.Dense(4)
            self.rest = [layers.Dense(2)]

        def call(self, x, training=False):
            return self.rest[0](self.first(x))

    model = Model()
    assert model(tf.ones([2, 3])).shape == (2, 2) and len(model.trainable_variables) == 4
    weights = [w * 0 for w in model.get_weights()]
    model.set_weights(weights)
    assert not model(tf.ones([2, 3])).numpy().any()
    with pytest.raises(ValueError, match="weight list of length 1"):
        model.set_weights(weights[:1])
    with pytest.raises(ValueError, match="can be added to a Sequential"):
        keras.Sequential([3])


def test_fit():
    tf.random.set_seed(1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.3
    model = keras.Sequential([layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    model.optimizer.learning_rate = 0.05
    history = model.fit(x, y, epochs=60, batch_size=16, validation_data=(x, y))
    assert history.history["loss"][-1] < 1e-2 < history.history["loss"][0]
    assert set(history.history) == {"loss", "mae", "val_loss", "val_mae"}
    assert model.evaluate(x, y)[0] < 1e-2
    assert model.predict(x).shape == (64, 1)


def test_custom_layers():
    class Scale(layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight((shape[-1],), "ones", name="factor", regularizer="l2")

        def call(self, x):
            return x * self.factor

    layer = Scale()
    assert value(layer(tf.constant([1.0, 2.0]))) == [1.0, 2.0]
    assert value(layer.losses[0]) == pytest.approx(0.02)
    layer.trainable = False
    assert layer.trainable_variables == [] and len(layer.non_trainable_variables) == 1
    with pytest.raises(NotImplementedError, match="call"):
        layers.Layer()(tf.constant(1.0))


# ------------------------------------------------------------------ optimisers


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: keras.optimizers.Adam(0.1),
    "amsgrad": lambda: keras.optimizers.Adam(0.1, amsgrad=True),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.1),
    "centered": lambda: keras.optimizers.RMSprop(0.1, momentum=0.5, centered=True),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "clipnorm": lambda: keras.optimizers.SGD(0.1, clipnorm=0.5),
    "clipvalue": lambda: keras.optimizers.SGD(0.1, clipvalue=0.1),
    "global": lambda: keras.optimizers.SGD(0.1, global_clipnorm=0.5),
    "decay": lambda: keras.optimizers.AdamW(0.1),
}
# Three steps on w² + b² from (1, 2) and 3, as Keras 3.15 makes them.
EXPECTED = {
    "sgd": ([0.512, 1.024], 1.536),
    "momentum": ([0.062, 0.124], 0.186),
    "nesterov": ([-0.10835, -0.2167], -0.32506),
    "adam": ([0.70159, 1.70063], 2.70038),
    "amsgrad": ([0.70159, 1.70063], 2.70038),
    "rmsprop": ([0.36918, 1.30872], 2.29177),
    "centered": ([0.02084, 0.89694], 1.86387),
    "adagrad": ([0.7823, 1.7763], 2.77457),
    "clipnorm": ([0.93292, 1.86584], 2.85),
    "clipvalue": ([0.97, 1.97], 2.97),
    "global": ([0.95991, 1.91982], 2.87973),
    "decay": ([0.70052, 1.69835], 2.69691),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    w, b = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    optimizer = OPTIMIZERS[name]()
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w) + b * b
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
    assert int(optimizer.iterations) == 3
    assert float(loss) < 14.0
    np.testing.assert_allclose(w, EXPECTED[name][0], atol=2e-5)
    np.testing.assert_allclose(b, EXPECTED[name][1], atol=2e-5)


def test_optimizer_calls():
    w = tf.Variable(1.0)
    optimizer = keras.optimizers.SGD(0.5)
    optimizer.minimize(lambda: w * w, [w])
    assert float(w) == 0.0
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(ValueError, match="`tape` is required"):
        optimizer.minimize(tf.constant(1.0), [w])
    with pytest.raises(ValueError, match="momentum"):
        keras.optimizers.SGD(momentum=2.0)
    with pytest.raises(ValueError, match="Could not interpret optimizer"):
        keras.optimizers.get("nought")
    schedule = keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
    optimizer = keras.optimizers.SGD(schedule)
    w.assign(0.0)
    for _ in range(2):
        optimizer.apply_gradients([(tf.constant(1.0), w)])
    assert float(w) == -1.5


def test_metrics():
    m = keras.metrics.Mean()
    m.update_state([1.0, 3.0])
    m.update_state(5.0)
    assert float(m.result()) == 3.0
    m.reset_state()
    assert float(m([7.0])) == 7.0
    assert float(keras.metrics.SparseCategoricalAccuracy()([1, 0], [[0.1, 0.9], [0.2, 0.8]])) == 0.5
    assert float(keras.metrics.CategoricalAccuracy()([[0.0, 1.0]], [[0.1, 0.9]])) == 1.0
    assert float(keras.metrics.BinaryAccuracy()([[1.0], [0.0]], [[0.9], [0.8]])) == 0.5
    assert float(keras.metrics.RootMeanSquaredError()([[1.0]], [[4.0]])) == 3.0
    assert float(keras.metrics.MeanSquaredError()([[1.0]], [[4.0]])) == 9.0
    with pytest.raises(ValueError, match="metric"):
        keras.metrics.get("nought")


def test_losses():
    assert keras.losses.get("mse")([[1.0]], [[3.0]]).numpy() == 4.0
    assert keras.losses.MeanSquaredError(reduction="sum")([[1.0], [1.0]], [[3.0], [3.0]]).numpy() == 8.0
    assert keras.losses.MeanSquaredError(reduction="none")([[1.0], [1.0]], [[3.0], [3.0]]).shape == (2,)
    assert keras.losses.MeanAbsoluteError()([[1.0]], [[3.0]], sample_weight=[0.5]).numpy() == 1.0
    for name in ("log_cosh", "hinge", "poisson", "kl_divergence"):
        assert np.isfinite(keras.losses.get(name)([[0.3, 0.7]], [[0.4, 0.6]]).numpy())
    with pytest.raises(ValueError, match="loss"):
        keras.losses.get("nought")


INITIALIZERS = "zeros ones random_normal random_uniform truncated_normal glorot_normal he_normal he_uniform lecun_normal identity"


@pytest.mark.parametrize("name", INITIALIZERS.split())
def test_initializers(name):
    assert keras.initializers.get(name)((20, 20)).shape == (20, 20)


def test_initializer_scale():
    tf.random.set_seed(3)
    he = keras.initializers.HeNormal()((200, 300)).numpy()
    assert he.std() == pytest.approx(np.sqrt(2 / 200), rel=0.02)
    with pytest.raises(ValueError, match="initializer"):
        keras.initializers.get("nought")
