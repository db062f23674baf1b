"""Layers, schedules, optimisers, losses and metrics, with the numbers that TensorFlow 2.x with Keras 3 gives for the same calls."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad.eager as tf

L, S, K, M = tf.keras.layers, tf.keras.optimizers.schedules, tf.keras.losses, tf.keras.metrics
TIMES, IMAGES, ROWS, VOLUMES = (2, 5, 3), (2, 6, 6, 3), (2, 3), (1, 4, 4, 4, 2)

# make, shapes of the inputs, shapes of the results, their sums, the squared norms of the gradients in inputs and weights
LAYERS = [
    (lambda: L.SimpleRNN(4), [TIMES], [(2, 4)], [0.4209], [0.061, 2.006, 0.109, 0.535]),
    (lambda: L.SimpleRNN(4, return_sequences=True, activation="relu"), [TIMES], [(2, 5, 4)], [2.3872], [0.124, 8.1, 0.104, 3.3]),
    (lambda: L.LSTM(4), [TIMES], [(2, 4)], [-0.6784], [0.005, 0.113, 0.0, 0.083]),
    (
        lambda: L.LSTM(4, return_sequences=True, return_state=True),
        [TIMES],
        [(2, 5, 4), (2, 4), (2, 4)],
        [-1.0175, -0.4687, -0.5971],
        [0.137, 1.74, 0.043, 2.827],
    ),
    (lambda: L.GRU(4), [TIMES], [(2, 4)], [-0.7262], [0.006, 0.1, 0.002, 0.395]),
    (lambda: L.GRU(4, reset_after=False, return_sequences=True), [TIMES], [(2, 5, 4)], [0.3039], [0.051, 2.192, 0.1, 3.736]),
    (lambda: L.LSTM(3, go_backwards=True), [TIMES], [(2, 3)], [-0.2276], [0.0, 0.001, 0.0, 0.002]),
    (
        lambda: L.Bidirectional(L.LSTM(3, return_sequences=True)),
        [TIMES],
        [(2, 5, 6)],
        [-1.7715],
        [0.003, 0.06, 0.002, 0.073, 0.094, 0.001, 0.066],
    ),
    (lambda: L.Bidirectional(L.GRU(3)), [TIMES], [(2, 6)], [-1.643], [0.012, 0.056, 0.006, 0.15, 0.064, 0.008, 0.158]),
    (lambda: L.TimeDistributed(L.Dense(2)), [TIMES], [(2, 5, 2)], [-1.3999], [2.048, 142.005, 61.673]),
    (lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same"), [IMAGES], [(2, 12, 12, 4)], [-131.0189], [485.286, 40969.098, 243399.281]),
    (lambda: L.Conv2DTranspose(4, 3, strides=2), [IMAGES], [(2, 13, 13, 4)], [-155.1977], [450.536, 44832.703, 295302.344]),
    (lambda: L.DepthwiseConv2D(3, depth_multiplier=2), [IMAGES], [(2, 4, 4, 6)], [-29.9509], [1074.587, 15590.809, 13559.725]),
    (lambda: L.Conv1D(2, 3, padding="same"), [TIMES], [(2, 5, 2)], [0.661], [7.026, 127.334, 47.878]),
    (lambda: L.Conv3D(2, 2), [(1, 3, 4, 4, 2)], [(1, 2, 3, 3, 2)], [-2.8619], [351.145, 11583.234, 3871.156]),
    (lambda: L.Conv2D(4, 3, dilation_rate=2), [IMAGES], [(2, 2, 2, 4)], [-3.8614], [613.707, 12969.237, 2575.7]),
    (lambda: L.MaxPooling1D(2), [TIMES], [(2, 2, 3)], [11.4962], [889.586]),
    (lambda: L.AveragePooling1D(2), [TIMES], [(2, 2, 3)], [1.8703], [43.753]),
    (lambda: L.MaxPooling3D(2), [VOLUMES], [(1, 2, 2, 2, 2)], [24.8389], [1278.318]),
    (lambda: L.AveragePooling3D(2), [VOLUMES], [(1, 2, 2, 2, 2)], [0.4957], [0.391]),
    (lambda: L.GlobalAveragePooling1D(), [TIMES], [(2, 3)], [0.8718], [1.492]),
    (lambda: L.GlobalMaxPooling1D(), [TIMES], [(2, 3)], [7.2874], [352.846]),
    (lambda: L.Multiply(), [ROWS, ROWS], [(2, 3)], [3.8945], [2258.285, 1161.121]),
    (lambda: L.Subtract(), [ROWS, ROWS], [(2, 3)], [-5.1161], [1026.288, 1026.288]),
    (lambda: L.Average(), [ROWS, ROWS], [(2, 3)], [-4.0055], [11.321, 11.321]),
    (lambda: L.Maximum(), [ROWS, ROWS], [(2, 3)], [4.3737], [87.247, 0.0]),
    (lambda: L.Minimum(), [ROWS, ROWS], [(2, 3)], [-2.4416], [46.024, 16.572]),
    (lambda: L.Add(), [ROWS, ROWS], [(2, 3)], [-4.9992], [754.08, 754.08]),
    (lambda: L.Concatenate(), [ROWS, ROWS], [(2, 6)], [1.8209], [23.401, 14.553]),
    (lambda: L.Dot(axes=1), [ROWS, ROWS], [(2, 1)], [-1.6829], [18.393, 46.517]),
    (lambda: L.Permute((2, 1)), [TIMES], [(2, 3, 5)], [-6.0495], [959.291]),
    (lambda: L.RepeatVector(3), [ROWS], [(2, 3, 3)], [-4.4043], [1652.715]),
    (lambda: L.UpSampling2D(2), [IMAGES], [(2, 12, 12, 3)], [-80.3296], [85575.211]),
    (lambda: L.ZeroPadding2D(1), [IMAGES], [(2, 8, 8, 3)], [-3.1534], [5059.55]),
    (lambda: L.Cropping2D(((1, 0), (2, 1))), [IMAGES], [(2, 5, 3, 3)], [3.884], [1750.303]),
    (lambda: L.ELU(0.5), [ROWS], [(2, 3)], [3.0435], [135.66]),
    (lambda: L.PReLU(), [ROWS], [(2, 3)], [2.0323], [67.884, 0.007]),
    (lambda: L.Identity(), [ROWS], [(2, 3)], [-0.7833], [1.015]),
    (lambda: L.LayerNormalization(), [ROWS], [(2, 3)], [-0.8059], [0.129, 1.23, 1.33]),
    (lambda: L.BatchNormalization(), [ROWS], [(2, 3)], [np.nan], [np.nan] * 3),
    (lambda: L.Dense(3, activation="softmax"), [ROWS], [(2, 3)], [2.0], [0.001, 0.014, 0.005]),
    (lambda: L.LeakyReLU(), [ROWS], [(2, 3)], [-0.6216], [4.441]),
]


@pytest.mark.parametrize(("make", "shapes", "results", "sums", "norms"), LAYERS, ids=range(len(LAYERS)))
def test_layers(make, shapes, results, sums, norms):
    place = [case[0] for case in LAYERS].index(make)
    rng = np.random.default_rng(0)
    for _, before, *_ in LAYERS[:place]:
        for shape in before:
            rng.normal(size=shape)
    inputs = [tf.constant(rng.normal(size=shape).astype("f4")) for shape in shapes]
    x = inputs[0] if len(inputs) == 1 else inputs
    layer = make()
    layer(x)
    layer.set_weights([(0.3 * np.cos(np.arange(w.size) + 1.0)).reshape(w.shape).astype("f4") for w in layer.get_weights()])
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        flat = tf.nest.flatten(layer(x))
        total = tf.add_n([tf.reduce_sum(y * y * y) for y in flat])
    grads = tape.gradient(total, inputs + list(layer.trainable_variables))
    assert [tuple(y.shape) for y in flat] == results
    np.testing.assert_allclose([float(tf.reduce_sum(y)) for y in flat], sums, rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose([float(tf.reduce_sum(g * g)) for g in grads], norms, rtol=2e-3, atol=2e-3)


SCHEDULES = [
    (S.ExponentialDecay(0.1, 10, 0.5), [0.1, 0.081225, 0.070711, 0.061557, 0.05, 0.043528, 0.020306]),
    (S.ExponentialDecay(0.1, 10, 0.5, staircase=True), [0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.025]),
    (S.InverseTimeDecay(0.1, 10, 0.5), [0.1, 0.086957, 0.08, 0.074074, 0.066667, 0.0625, 0.046512]),
    (S.PolynomialDecay(0.1, 10), [0.1, 0.07003, 0.05005, 0.03007, 0.0001, 0.0001, 0.0001]),
    (S.PolynomialDecay(0.1, 10, cycle=True, power=2.0), [0.1, 0.049051, 0.025075, 0.009091, 0.0001, 0.016084, 0.005539]),
    (S.PiecewiseConstantDecay([5, 10], [1.0, 0.5, 0.1]), [1.0, 1.0, 1.0, 0.5, 0.5, 0.1, 0.1]),
    (S.CosineDecay(0.1, 10, alpha=0.1), [0.1, 0.08145, 0.055, 0.02855, 0.01, 0.01, 0.01]),
    (S.CosineDecay(0.0, 10, warmup_target=0.1, warmup_steps=5), [0.0, 0.06, 0.1, 0.090451, 0.05, 0.020611, 0.0]),
]


@pytest.mark.parametrize(("schedule", "rates"), SCHEDULES, ids=range(len(SCHEDULES)))
def test_schedules(schedule, rates):
    np.testing.assert_allclose([float(schedule(i)) for i in (0, 3, 5, 7, 10, 12, 23)], rates, atol=2e-6)


OPTIMIZERS = {
    "SGD": [0.75656, 1.01573],
    "Adam": [0.54202, 1.50791],
    "RMSprop": [0.55222, 1.16668],
    "Adagrad": [0.75071, 1.69873],
    "Adamax": [0.62553, 1.55252],
    "Adadelta": [0.99928, 1.99928],
    "AdamW": [0.5407, 1.5044],
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    v, optimizer = tf.Variable([1.0, 2.0]), getattr(tf.keras.optimizers, name)(learning_rate=0.1)
    for _ in range(5):
        optimizer.apply_gradients([(v * v - 0.3, v)])
    np.testing.assert_allclose(v, OPTIMIZERS[name], atol=2e-5)


def test_a_schedule_with_momentum():
    v = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD(S.ExponentialDecay(0.1, 1, 0.5), momentum=0.9)
    for _ in range(3):
        optimizer.apply_gradients([(v * 2.0, v)])
    assert float(v) == pytest.approx(0.279, abs=2e-5)


TRUE, SAID = tf.constant([[0.0, 1.0], [1.0, 0.0]]), tf.constant([[0.2, 0.7], [0.6, 0.4]])
LOSSES = [
    (K.CategoricalHinge(), 0.65, [[0.5, -0.5], [-0.5, 0.5]]),
    (K.SquaredHinge(), 0.9125, [[0.6000000238418579, -0.15000000596046448], [-0.20000000298023224, 0.699999988079071]]),
    (K.MeanAbsolutePercentageError(), 150000032.0, [[250000000.0, -25.0], [-25.0, 250000000.0]]),
    (K.MeanSquaredLogarithmicError(), 0.05567, [[0.07599999755620956, -0.04780000075697899], [-0.06970000267028809, 0.12020000070333481]]),
    (K.Hinge(), 0.825, [[0.25, -0.25], [-0.25, 0.25]]),
    (K.LogCosh(), 0.05503, [[0.049300000071525574, -0.07280000299215317], [-0.0949999988079071, 0.0949999988079071]]),
    (K.KLDivergence(), 0.43375, [[-0.0, -0.7142999768257141], [-0.833299994468689, -0.0]]),
    (K.Poisson(), 0.69188, [[0.25, -0.1071000024676323], [-0.16670000553131104, 0.25]]),
    (K.CosineSimilarity(), -0.89679, [[0.18140000104904175, -0.05180000141263008], [-0.21330000460147858, 0.3199999928474426]]),
    (K.Huber(0.2), 0.045, [[0.05000000074505806, -0.05000000074505806], [-0.05000000074505806, 0.05000000074505806]]),
    (K.BinaryCrossentropy(), 0.40037, [[0.3125, -0.3571000099182129], [-0.41670000553131104, 0.41670000553131104]]),
    (
        K.CategoricalCrossentropy(label_smoothing=0.1),
        0.42253,
        [[0.43059998750686646, -0.12300000339746475], [-0.29170000553131104, 0.4375]],
    ),
]


@pytest.mark.parametrize(("loss", "value", "gradient"), LOSSES, ids=lambda p: type(p).__name__)
def test_losses(loss, value, gradient):
    x = tf.Variable(SAID)
    with tf.GradientTape() as tape:
        y = loss(TRUE, x)
    assert float(y) == pytest.approx(value, abs=2e-5, rel=1e-5)
    np.testing.assert_allclose(tape.gradient(y, x), gradient, rtol=1e-4, atol=2e-4)


METRICS = [
    (M.Precision(), 0.5),
    (M.Recall(), 0.5),
    (M.TruePositives(), 2.0),
    (M.FalsePositives(), 2.0),
    (M.TrueNegatives(), 2.0),
    (M.FalseNegatives(), 2.0),
    (M.CategoricalCrossentropy(), 0.74443),
    (M.KLDivergence(), 0.74694),
    (M.CosineSimilarity(), 0.67485),
    (M.TopKCategoricalAccuracy(k=1), 0.5),
    (M.BinaryAccuracy(), 0.5),
    (M.CategoricalAccuracy(), 0.5),
    (M.MeanSquaredError(), 0.2875),
    (M.RootMeanSquaredError(), 0.53619),
    (M.BinaryCrossentropy(), 0.78093),
    (M.Hinge(), 1.0),
    (M.Poisson(), 0.87347),
    (M.LogCoshError(), 0.1348),
    (M.MeanAbsoluteError(), 0.5),
]


@pytest.mark.parametrize(("metric", "value"), METRICS, ids=lambda p: type(p).__name__)
def test_metrics(metric, value):
    metric.update_state(TRUE, SAID)
    metric.update_state(TRUE, 1 - SAID)
    assert float(metric.result()) == pytest.approx(value, abs=2e-5)
    metric.reset_state()
    assert float(metric.result()) == 0.0


def test_sparse_metrics():
    for metric, value in ((M.SparseCategoricalCrossentropy(), 0.38107), (M.SparseTopKCategoricalAccuracy(k=1), 1.0)):
        metric.update_state([1, 0], SAID)
        assert float(metric.result()) == pytest.approx(value, abs=1e-4)


def test_orthogonal_initializer():
    matrix = tf.keras.initializers.Orthogonal()((3, 5)).numpy()
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-5)


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="put a Dropout layer before it"):
        L.LSTM(3, dropout=0.5)
    with pytest.raises(NotImplementedError, match="einsum"):
        L.Dot(axes=(1, 2))
    with pytest.raises(ValueError, match="Invalid merge mode"):
        L.Bidirectional(L.LSTM(3), merge_mode="other")
