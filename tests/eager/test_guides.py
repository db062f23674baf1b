"""The cells of TensorFlow's two automatic-differentiation guides, grouped by part, with the results they document."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import stgrad.eager as tf


def show(capsys, *values) -> str:
    print(*values)
    return capsys.readouterr().out


# ------------------------------------------------------------------ introduction


def test_scalars():
    x = tf.constant(3.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = x * x
    dy_dx = t.gradient(y, x)
    assert dy_dx.numpy() == 6.0


def test_matrices(capsys):
    x = tf.constant([3.0, 3.0])
    with tf.GradientTape() as t:
        t.watch(x)
        z = tf.multiply(x, x)
    assert show(capsys, z) == "tf.Tensor([9. 9.], shape=(2,), dtype=float32)\n"
    assert show(capsys, t.gradient(z, x)) == "tf.Tensor([6. 6.], shape=(2,), dtype=float32)\n"


def test_intermediate_results():
    x = tf.constant([3.0, 3.0])
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.multiply(x, x)
        z = tf.multiply(y, y)
    assert t.gradient(z, y).numpy().tolist() == [18.0, 18.0]


def test_variables_are_watched_on_access():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as t:
        y_sq = y * y
        z = x + y_sq
    assert z.numpy() == 11.0
    watched = t.watched_variables()
    assert isinstance(watched, tuple) and [v is w for v, w in zip(watched, (x, y))] == [True, True]


def test_persistent_tape():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x * x
        z = y * y
    assert t.gradient(z, x).numpy() == 108.0
    assert t.gradient(y, x).numpy() == 6.0
    del t


@pytest.mark.parametrize(("n", "expected"), [(6, 12.0), (5, 12.0), (4, 4.0)])
def test_control_flow(n, expected):
    def f(x, y):
        output = 1.0
        for i in range(y):
            if i > 1 and i < 5:
                output *= x
        return output

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        out = f(x, n)
    assert t.gradient(out, x).numpy() == expected


def test_none_for_integers():
    with tf.GradientTape() as tape:
        x = tf.Variable([[2, 2], [2, 2]], dtype=tf.int8)
        y = x * x
    assert tape.gradient(y, x) is None


def test_none_for_unconnected():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y * y
    assert tape.gradient(x, y) is None
    with tf.GradientTape() as tape:
        y * y
    assert tape.gradient(x, y, unconnected_gradients=tf.UnconnectedGradients.ZERO).numpy() == 0.0


# ------------------------------------------------------------------ recording


def test_stop_recording(capsys):
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as t:
        x_sq = x * x
        with t.stop_recording():
            y_sq = y * y
        z = x_sq + y_sq
    grad = t.gradient(z, {"x": x, "y": y})
    assert show(capsys, "dz/dx:", grad["x"]) == "dz/dx: tf.Tensor(4.0, shape=(), dtype=float32)\n"
    assert show(capsys, "dz/dy:", grad["y"]) == "dz/dy: None\n"


def test_reset():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    reset = True
    with tf.GradientTape() as t:
        y_sq = y * y
        if reset:
            t.reset()
        z = x * x + y_sq
    grad = t.gradient(z, {"x": x, "y": y})
    assert grad["x"].numpy() == 4.0
    assert grad["y"] is None


def test_watching_by_hand():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False, persistent=True) as t:
        t.watch(y)
        y_sq = y * y
        z = x + y_sq
    assert t.gradient(z, x) is None
    assert t.gradient(z, y).numpy() == 6.0


def test_gradient_inside_stop_recording_then_reset():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as t:
        y_sq = y * y
        with t.stop_recording():
            assert t.gradient(y_sq, y).numpy() == 6.0
        z = x + y_sq
        t.reset()
    assert t.gradient(z, y) is None


def test_stop_gradient():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as t:
        y_sq = y**2
        z = x**2 + tf.stop_gradient(y_sq)
    grad = t.gradient(z, {"x": x, "y": y})
    assert grad["x"].numpy() == 4.0
    assert grad["y"] is None


# ------------------------------------------------------------------ custom gradients


@tf.custom_gradient
def clip_gradients(y):
    def backward(dy):
        return tf.clip_by_norm(dy, 0.5)

    return y, backward


def test_custom_gradient():
    v = tf.Variable(2.0)
    with tf.GradientTape() as t:
        output = clip_gradients(v * v)
    assert t.gradient(output, v).numpy() == 2.0


def test_saved_custom_gradient(tmp_path):
    class MyModule(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(None)])
        def call_custom_grad(self, x):
            return clip_gradients(x)

    model = MyModule()
    path = str(tmp_path / "saved_model")
    tf.saved_model.save(model, path, options=tf.saved_model.SaveOptions(experimental_custom_gradients=True))
    v = tf.Variable(2.0)
    loaded = tf.saved_model.load(path)
    with tf.GradientTape() as t:
        output = loaded.call_custom_grad(v * v)
    assert t.gradient(output, v).numpy() == 2.0


# ------------------------------------------------------------------ several tapes, higher order


def test_multiple_tapes():
    x0 = tf.constant(0.0)
    x1 = tf.constant(0.0)
    with tf.GradientTape() as tape0, tf.GradientTape() as tape1:
        tape0.watch(x0)
        tape1.watch(x1)
        y0 = tf.math.sin(x0)
        y1 = tf.nn.sigmoid(x1)
        y = y0 + y1
        ys = tf.reduce_sum(y)
    assert tape0.gradient(ys, x0).numpy() == 1.0
    assert tape1.gradient(ys, x1).numpy() == 0.25


def test_higher_order():
    x = tf.Variable(1.0)
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            y = x * x * x
        dy_dx = t1.gradient(y, x)
    d2y_dx2 = t2.gradient(dy_dx, x)
    assert dy_dx.numpy() == 3.0
    assert d2y_dx2.numpy() == 6.0


def test_input_gradient_regularisation():
    x = tf.random.normal([7, 5])
    layer = tf.keras.layers.Dense(10, activation=tf.nn.relu)
    with tf.GradientTape() as t2:
        with tf.GradientTape(watch_accessed_variables=False) as t1:
            t1.watch(x)
            layer(x)
            out = tf.reduce_sum(layer(x) ** 2)
        g1 = t1.gradient(out, x)
        g1_mag = tf.norm(g1)
    dg1_mag = t2.gradient(g1_mag, layer.trainable_variables)
    assert repr([var.shape for var in dg1_mag]) == "[TensorShape([5, 10]), TensorShape([10])]"


# ------------------------------------------------------------------ Jacobians


def test_scalar_source():
    x = tf.linspace(-10.0, 10.0, 200 + 1)
    delta = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.nn.sigmoid(x + delta)
    dy_dx = tape.jacobian(y, delta)
    assert (str(y.shape), str(dy_dx.shape)) == ("(201,)", "(201,)")
    np.testing.assert_allclose(dy_dx, y * (1.0 - y), rtol=1e-5)
    plt.plot(x.numpy(), y, label="y")
    plt.plot(x.numpy(), dy_dx, label="dy/dx")
    plt.legend()
    _ = plt.xlabel("x")
    plt.close()


def test_tensor_source():
    x = tf.random.normal([7, 5])
    layer = tf.keras.layers.Dense(10, activation=tf.nn.relu)
    with tf.GradientTape(persistent=True) as tape:
        y = layer(x)
    assert repr(y.shape) == "TensorShape([7, 10])"
    assert repr(layer.kernel.shape) == "TensorShape([5, 10])"
    j = tape.jacobian(y, layer.kernel)
    assert repr(j.shape) == "TensorShape([7, 10, 5, 10])"
    g = tape.gradient(y, layer.kernel)
    assert str(g.shape) == "(5, 10)"
    j_sum = tf.reduce_sum(j, axis=[0, 1])
    delta = tf.reduce_max(abs(g - j_sum)).numpy()
    assert delta < 1e-3


def imshow_zero_center(image, **kwargs):
    lim = tf.reduce_max(abs(image))
    plt.imshow(image, vmin=-lim, vmax=lim, cmap="seismic", **kwargs)
    plt.colorbar()


def test_hessian_and_newton_step():
    x = tf.random.normal([7, 5])
    layer1 = tf.keras.layers.Dense(8, activation=tf.nn.relu)
    layer2 = tf.keras.layers.Dense(6, activation=tf.nn.relu)
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            x = layer1(x)
            x = layer2(x)
            loss = tf.reduce_mean(x**2)
        g = t1.gradient(loss, layer1.kernel)
    h = t2.jacobian(g, layer1.kernel)
    assert f"layer.kernel.shape: {layer1.kernel.shape}" == "layer.kernel.shape: (5, 8)"
    assert f"h.shape: {h.shape}" == "h.shape: (5, 8, 5, 8)"
    n_params = tf.reduce_prod(layer1.kernel.shape)
    g_vec = tf.reshape(g, [n_params, 1])
    h_mat = tf.reshape(h, [n_params, n_params])
    np.testing.assert_allclose(h_mat, tf.transpose(h_mat), atol=1e-6)
    imshow_zero_center(h_mat)
    plt.close()
    eps = 1e-3
    eye_eps = tf.eye(h_mat.shape[0]) * eps
    update = tf.linalg.solve(h_mat + eye_eps, g_vec)
    before = layer1.kernel.numpy()
    _ = layer1.kernel.assign_sub(tf.reshape(update, layer1.kernel.shape))
    np.testing.assert_allclose(layer1.kernel.numpy(), before - update.numpy().reshape(5, 8), rtol=1e-6)


def plot_as_patches(j):
    j = tf.transpose(j, [1, 0, 3, 2])
    lim = tf.reduce_max(abs(j))
    j = tf.pad(j, [[0, 0], [1, 1], [0, 0], [1, 1]], constant_values=-lim)
    s = j.shape
    j = tf.reshape(j, [s[0] * s[1], s[2] * s[3]])
    imshow_zero_center(j, extent=[-0.5, s[2] - 0.5, s[0] - 0.5, -0.5])


def test_batch_jacobian():
    x = tf.random.normal([7, 5])
    layer1 = tf.keras.layers.Dense(8, activation=tf.nn.elu)
    layer2 = tf.keras.layers.Dense(6, activation=tf.nn.elu)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = layer1(x)
        y = layer2(y)
    assert repr(y.shape) == "TensorShape([7, 6])"
    j = tape.jacobian(y, x)
    assert repr(j.shape) == "TensorShape([7, 6, 7, 5])"
    imshow_zero_center(j[:, 0, :, 0])
    _ = plt.title("A (batch, batch) slice")
    plot_as_patches(j)
    plt.close("all")
    j_sum = tf.reduce_sum(j, axis=2)
    assert str(j_sum.shape) == "(7, 6, 5)"
    j_select = tf.einsum("bxby->bxy", j)
    assert str(j_select.shape) == "(7, 6, 5)"
    jb = tape.batch_jacobian(y, x)
    assert repr(jb.shape) == "TensorShape([7, 6, 5])"
    error = tf.reduce_max(abs(jb - j_sum))
    assert error < 1e-3
    assert tf.reduce_max(abs(jb - j_select)) < 1e-3


def test_batch_jacobian_across_the_batch():
    x = tf.random.normal([7, 5])
    layer1 = tf.keras.layers.Dense(8, activation=tf.nn.elu)
    bn = tf.keras.layers.BatchNormalization()
    layer2 = tf.keras.layers.Dense(6, activation=tf.nn.elu)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = layer1(x)
        y = bn(y, training=True)
        y = layer2(y)
    j = tape.jacobian(y, x)
    assert f"j.shape: {j.shape}" == "j.shape: (7, 6, 7, 5)"
    off_diagonal = j.numpy()[0, :, 1:, :]
    assert abs(off_diagonal).max() > 0
    plot_as_patches(j)
    plt.close("all")
    jb = tape.batch_jacobian(y, x)
    assert f"jb.shape: {jb.shape}" == "jb.shape: (7, 6, 5)"
