"""Programs of several lines under TensorFlow and here: tapes, variables, own gradients, functions. `out`, or the error's type, must agree.

Skipped where TensorFlow is not installed.
"""

from __future__ import annotations

import os
import textwrap

import numpy as np
import pytest
from test_against_tensorflow import agree, plain

import stgrad.eager as eager

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tensorflow = pytest.importorskip("tensorflow")

SCRIPTS = r"""
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = {"a": x ** 2, "b": [x ** 3]}
out = t.gradient(y, x)
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
a = t.gradient(y, [])
out = a
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
out = t.gradient([], x)
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
out = t.gradient(y, {"p": x, "q": (x, [x])})
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
out = t.gradient(y, x, unconnected_gradients="bad")
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
out = t.gradient(None, x)
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
out = t.gradient(y, None)
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
out = t.gradient([y, None], x)
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
out = t.gradient(y, 3.0)
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
out = t.gradient(x, x)
---
x = tf.Variable(3.0)
with tf.GradientTape(persistent=True) as t:
    y, z = x ** 2, x ** 3
out = t.gradient([y, z], x, output_gradients=[tf.constant(2.0)])
---
x = tf.Variable(3.0)
with tf.GradientTape(persistent=True) as t:
    y, z = x ** 2, x ** 3
out = t.gradient([y, z], x, output_gradients=[None, tf.constant(2.0)])
---
x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as t:
    y = x * x
out = t.gradient(y, x, output_gradients=tf.constant(3.0))
---
x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as t:
    y = x * x
out = t.gradient(y, x, output_gradients=tf.constant([1.0, 2.0, 3.0]))
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
    g = t.gradient(y, x)
out = [g, y]
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
    g = t.gradient(y, x)
    z = t.gradient(y, x)
out = z
---
x = tf.Variable(3.0)
with tf.GradientTape(persistent=True) as t:
    y = x * x
    g = t.gradient(y, x)
out = t.gradient(g, x)
---
t = tf.GradientTape()
with t:
    with t:
        pass
out = 1
---
t = tf.GradientTape()
t.reset()
out = 1
---
t = tf.GradientTape()
with t.stop_recording():
    pass
out = 1
---
x = tf.constant(3.0)
with tf.GradientTape() as t:
    t.watch(x)
    y = x * x
    t.reset()
    z = x * x
out = t.gradient(z, x)
---
x = tf.Variable(3.0)
t = tf.GradientTape()
with t:
    y = x * x
with t:
    z = y * x
out = t.gradient(z, x)
---
x = tf.Variable(3.0)
t = tf.GradientTape()
with t:
    y = x * x
g = t.gradient(y, x)
with t:
    z = x * x * x
out = [g, t.gradient(z, x)]
---
x = tf.Variable(3.0)
with tf.GradientTape() as t:
    y = x * x
    with t.stop_recording():
        g = t.gradient(y, x)
    z = y * 2.0
out = [g, t.gradient(z, x)]
---
x = tf.constant(3)
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.cast(x, tf.float32) * 2.0
out = t.gradient(y, x)
---
x = tf.Variable(2.5)
with tf.GradientTape() as t:
    y = tf.cast(tf.cast(x, tf.int32), tf.float32) * x
out = t.gradient(y, x)
---
v = tf.Variable(2.0)
with tf.GradientTape() as t:
    y = v * v
    v.assign_add(1.0)
    z = y * v
out = t.gradient(z, v)
---
v, w = tf.Variable(2.0), tf.Variable(0.0)
with tf.GradientTape() as t:
    w.assign(v * v)
    y = w * 3.0
out = t.gradient(y, [v, w])
---
v = tf.Variable([1.0, 2.0, 3.0])
with tf.GradientTape() as t:
    y = v[0] * v[2]
out = t.gradient(y, v)
---
v = tf.Variable(2.0, trainable=False)
with tf.GradientTape() as t:
    y = v * v
out = [t.gradient(y, v), len(t.watched_variables())]
---
a, b = tf.Variable(2.0), tf.Variable(3.0)
with tf.GradientTape() as t:
    y = b * a
out = [float(v) for v in t.watched_variables()]
---
x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as t:
    y = tf.stack([x[0] ** 2, x[0] * x[1], x[1] ** 3])
out = t.jacobian(y, x)
---
x, u = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0, 3.0])
with tf.GradientTape(persistent=True) as t:
    y = x * x
    z = u * 1.0
out = [t.jacobian(y, u), t.jacobian(y, u, unconnected_gradients="zero"), t.jacobian(y, {"x": x, "u": u})]
---
x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as t:
    y = x * x
out = t.jacobian([y], x)
---
x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as t:
    y = x * x
out = t.jacobian(y, x, experimental_use_pfor=False)
---
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = x * tf.reduce_sum(x, 1, keepdims=True)
out = t.batch_jacobian(y, x)
---
x = tf.constant([[1.0], [2.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = x * tf.reduce_sum(x)
out = t.batch_jacobian(y, x)
---
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as t:
    t.watch(x)
    y = x * x
out = t.batch_jacobian(y, x)
---
x = tf.constant([[1.0], [2.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.concat([x, x], 0)
out = t.batch_jacobian(y, x)
---
x, u = tf.constant([[1.0], [2.0]]), tf.constant([[1.0, 2.0], [2.0, 3.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = x * x
out = t.batch_jacobian(u, x)
---
x = tf.Variable(2.0)
with tf.GradientTape() as a:
    with tf.GradientTape() as b:
        with tf.GradientTape() as c:
            y = x ** 4
        d1 = c.gradient(y, x)
    d2 = b.gradient(d1, x)
out = a.gradient(d2, x)
---
@tf.custom_gradient
def f(x, y):
    return x * y, lambda dy: dy
x = tf.Variable(2.0)
with tf.GradientTape() as t:
    y = f(x, x)
out = t.gradient(y, x)
---
@tf.custom_gradient
def f(x):
    return [x * 2.0, x * 3.0], lambda da, db: da * 10.0 + db
x = tf.Variable(2.0)
with tf.GradientTape() as t:
    y = f(x)
    z = y[0] * 5.0
out = [isinstance(y, list), t.gradient(z, x)]
---
@tf.custom_gradient
def f(x):
    return x * 2.0
out = f(tf.constant(1.0))
---
v = tf.Variable(2.0)
@tf.custom_gradient
def f(x):
    return x * v, lambda dy: dy
out = f(tf.constant(1.0))
---
v = tf.Variable(2.0)
@tf.custom_gradient
def f(x):
    def grad(dy, variables=None):
        return dy * 7.0, [dy * 9.0 for _ in variables]
    return x * v, grad
x = tf.Variable(1.0)
with tf.GradientTape() as t:
    y = f(x)
out = t.gradient(y, [x, v])
---
v = tf.Variable(2.0)
@tf.custom_gradient
def f(x):
    return x * v, lambda dy, variables=None: dy
x = tf.Variable(1.0)
with tf.GradientTape() as t:
    y = f(x)
out = t.gradient(y, x)
---
@tf.custom_gradient
def f(d):
    return d["a"] * d["b"], lambda dy: {"a": dy * 2.0, "b": None}
a, b = tf.Variable(1.0), tf.Variable(2.0)
with tf.GradientTape() as t:
    y = f({"a": a, "b": b})
out = t.gradient(y, [a, b])
---
@tf.custom_gradient
def f(x):
    e = tf.exp(x)
    return tf.math.log(1 + e), lambda up: up * (1 - 1 / (1 + e))
x = tf.Variable(0.5)
with tf.GradientTape() as o:
    with tf.GradientTape() as t:
        y = f(x)
    g = t.gradient(y, x)
out = [g, o.gradient(g, x)]
---
@tf.custom_gradient
def f(x):
    return tf.identity(x), lambda dy: tf.clip_by_norm(dy, 0.5)
x = tf.Variable([3.0, 4.0])
with tf.GradientTape() as t:
    y = tf.reduce_sum(f(x) * [30.0, 40.0])
out = t.gradient(y, x)
---
@tf.recompute_grad
def f(x):
    return tf.sin(x) * x
x = tf.Variable(0.5)
with tf.GradientTape() as t:
    y = f(x)
out = t.gradient(y, x)
---
x = tf.constant(3.0)
with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as o:
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as i:
        y = x ** 3
    g = i.jvp(y)
out = [g, o.jvp(g)]
---
x = tf.Variable(3.0)
with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as acc:
    with tf.GradientTape() as t:
        y = x ** 3
    g = t.gradient(y, x)
out = [acc.jvp(g), acc.jvp(y)]
---
x = tf.constant(3.0)
out = tf.autodiff.ForwardAccumulator([x, x], [x, x])
---
x = tf.constant(3.0)
acc = tf.autodiff.ForwardAccumulator(x, x)
out = [acc.jvp(x * x), acc.jvp(x * x, unconnected_gradients="zero")]
---
x = tf.constant(3.0)
out = tf.autodiff.ForwardAccumulator(x, tf.constant(1.0, tf.float64))
---
v = tf.Variable(1.0)
v += 1.0
out = 1
---
v = tf.Variable([1.0, 2.0])
v[0] = 3.0
out = 1
---
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
v[:, 0].assign([9.0, 8.0])
out = v
---
v = tf.Variable([1.0, 2.0])
out = v.assign([3.0, 4.0], read_value=False)
---
v = tf.Variable([1.0, 2.0, 3.0])
v.scatter_update(tf.IndexedSlices(tf.constant([9.0]), tf.constant([1])))
v.scatter_nd_add([[0], [0]], [1.0, 2.0])
v.scatter_max(tf.IndexedSlices(tf.constant([5.0]), tf.constant([2])))
out = v
---
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
v.batch_scatter_update(tf.IndexedSlices(tf.constant([[9.0], [8.0]]), tf.constant([[1], [0]])))
out = v
---
a = np.ones(2, np.float32)
c, v = tf.constant(a), tf.Variable(a)
a[:] = 5
out = [c, v]
---
class M(tf.Module):
    def __init__(self):
        super().__init__()
        self.z = tf.Variable(1.0, name="z")
        self.a = [tf.Variable(2.0, name="a0"), {"k": tf.Variable(3.0, name="ak")}]
        self.n = tf.Variable(4.0, trainable=False, name="n")
        self.sub = tf.Module(name="sub")
m = M()
out = [[v.name for v in m.variables], [v.name for v in m.trainable_variables], [s.name for s in m.submodules], m.name]
---
class M(tf.Module):
    def __init__(self):
        self.z = tf.Variable(1.0)
out = len(M().trainable_variables)
---
class Outer(tf.Module):
    def __init__(self):
        super().__init__()
        self.b = Inner()
        self.a = tf.Variable(1.0, name="a")
        self.c = tf.Variable(1.0, name="c")
class Inner(tf.Module):
    def __init__(self):
        super().__init__()
        self.y = tf.Variable(1.0, name="y")
        self.x = tf.Variable(1.0, name="x")
out = [v.name for v in Outer().variables]
---
@tf.function
def f(x):
    return x * 2
for x in (tf.constant(1.0), tf.constant(2.0), 1.0, 2.0, tf.constant([1.0]), tf.constant([1.0, 2.0])):
    f(x)
out = f.experimental_get_tracing_count()
---
@tf.function(reduce_retracing=True)
def f(x):
    return x * 2
for n in range(1, 7):
    f(tf.ones([n]))
out = f.experimental_get_tracing_count()
---
@tf.function
def f(x):
    v = tf.Variable(1.0)
    return v * x
out = f(tf.constant(1.0))
---
@tf.function(autograph=False)
def f(x):
    if x > 0:
        return x
    return -x
out = f(tf.constant(1.0))
---
@tf.function
def f(x):
    y = x * x
    return tf.gradients(y, x)
out = f(tf.constant(3.0))
---
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32)])
def f(x, y):
    return x * y
out = [f([1.0, 2.0], 3.0), f(x=tf.constant([1.0]), y=tf.constant(2.0))]
---
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def f(x):
    return x
out = f(tf.constant([1.0]), tf.constant([1.0]))
---
tf.saved_model.load("/nowhere/at/all")
out = 1
---
tf.saved_model.save(3, "/tmp/never")
out = 1
---
layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
before = len(layer.variables)
x = tf.constant([[1.0, 2.0]])
with tf.GradientTape() as t:
    y = tf.reduce_sum(layer(x) ** 2)
out = [before, t.gradient(y, layer.trainable_variables)]
---
bn = tf.keras.layers.BatchNormalization()
x = tf.constant([[1.0, 2.0], [3.0, 7.0], [0.0, 1.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.reduce_sum(bn(x, training=True) ** 3)
out = [t.gradient(y, x), bn.moving_mean + 0.0, bn.moving_variance + 0.0, len(bn.trainable_variables)]
---
def f(x, y):
    return tf.sin(x) * y
theory, numbers = tf.test.compute_gradient(f, [np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0], np.float32)])
out = [a.shape for a in theory + numbers]
---
x = tf.Variable(1.0 + 2.0j)
with tf.GradientTape(persistent=True) as t:
    a = tf.abs(x) ** 2
    b = x * x
out = [t.gradient(a, x), t.gradient(b, x)]
---
x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as t:
    y = tf.math.bincount([0, 1], weights=x)
out = t.gradient(y, x)
---
x, y = tf.Variable(2.0), tf.Variable(3.0)
with tf.GradientTape() as t:
    z = max(x, y) * 2.0
out = t.gradient(z, [x, y])
---
x = tf.Variable([3.0, 1.0])
with tf.GradientTape() as t:
    total = 0.0
    for e in x:
        if e > 2.0:
            total += e * e
        else:
            total -= e
out = t.gradient(total, x)
---
x = tf.Variable(2.0)
with tf.GradientTape() as t:
    y = x
    while y < 100.0:
        y = y * x
out = t.gradient(y, x)
---
out = [str(tf.GradientTape().watched_variables()), tf.UnconnectedGradients.NONE.value, tf.UnconnectedGradients.ZERO.value]
---
r = tf.constant(1.0).ref()
d = {r: 3}
out = d[r]
---
x = tf.ragged_like = tf.constant([1.0, 2.0])
a, b = x
out = [a, b]
---
out = [tf.constant([1, 2, 3])[i] for i in tf.range(2)]
---
grads, norm = tf.clip_by_global_norm([tf.constant([3.0]), None, tf.constant([4.0])], 1.0)
out = [grads, norm]
---
x = tf.Variable(1.0)
opt = tf.keras.optimizers.SGD(0.5)
with tf.GradientTape() as t:
    y = x * x
opt.apply_gradients([(t.gradient(y, x), x)])
out = x
---
x = tf.Variable(2.0)
with tf.GradientTape() as t:
    a = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in range(3):
        a = a.write(i, x ** float(i + 1))
    y = tf.reduce_sum(a.stack())
out = [y, t.gradient(y, x), a.size()]
---
a = tf.TensorArray(tf.float32, size=1)
a.write(1, 1.0)
---
data = tf.data.Dataset.from_tensor_slices((np.arange(6.0), np.arange(6)))
out = [v for pair in data.batch(4).map(lambda a, b: (a * 2.0, b + 1)) for v in pair]
---
data = tf.data.Dataset.range(10).filter(lambda v: v % 2 == 0).skip(1).take(3).repeat(2)
out = [v for v in data.enumerate().map(lambda i, v: i * 100 + v)]
---
out = [tf.data.Dataset.range(7).batch(3, drop_remainder=True).cardinality(), tf.data.Dataset.range(7).repeat().cardinality()]
---
inputs = tf.keras.Input((3,))
h = tf.keras.layers.Dense(4, activation="relu", kernel_initializer="ones")(inputs)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(2, kernel_initializer="ones")(h))
x = tf.constant([[1.0, 2.0, -1.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = model(x)
out = [y, t.gradient(y, x)]
---
@tf.function
def power(a, b):
    return a ** b
square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
out = square(tf.constant(10.0))
---
@tf.function
def power(a, b):
    return a ** b
square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
square(tf.constant(10.0), b=3)
---
@tf.function
def f(x):
    total = x * 0.0
    for i in tf.range(4):
        if i % 2 == 0:
            total += x * tf.cast(i, tf.float32)
        else:
            total -= tf.sin(x)
    return total
x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as outer:
    with tf.GradientTape() as t:
        y = f(x)
    g = t.gradient(y, x)
out = [y, g, outer.gradient(g, x)]
---
image = tf.reshape(tf.range(32.0), [1, 4, 4, 2])
kernel = tf.Variable(tf.reshape(tf.cos(tf.range(24.0)), [2, 2, 2, 3]))
@tf.function
def f(x):
    return tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME")), 2, 2, "VALID")
with tf.GradientTape() as t:
    y = f(image)
out = [y, t.gradient(y, kernel)]
---
logits = tf.Variable([[1.0, 2.0, 0.5], [0.1, -1.0, 2.0]])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
@tf.function
def f(labels):
    return loss(labels, logits) + tf.reduce_mean(tf.nn.moments(logits, [0])[1])
with tf.GradientTape() as t:
    y = f(tf.constant([2, 0]))
out = [y, t.gradient(y, logits)]
"""


def outcome(script, tf):
    space = {"tf": tf, "np": np}
    try:
        exec(compile(textwrap.dedent(script), SOURCE(script), "exec"), space)
        out = space["out"]
        return [plain(o) for o in out] if isinstance(out, list) else plain(out)
    except Exception as error:  # noqa: BLE001
        return type(error)


def SOURCE(script):
    """A file that holds the script, for functions whose source is read."""
    import linecache

    name = f"<script {abs(hash(script))}>"
    linecache.cache[name] = (len(script), None, script.splitlines(keepends=True), name)
    return name


ALL = [script.strip("\n") for script in SCRIPTS.split("---\n")]


@pytest.mark.parametrize("script", ALL, ids=range(len(ALL)))
def test_scripts(script):
    if "tf.saved_model.save" in script and os.path.exists("/tmp/never"):
        pytest.skip("directory is there")
    agree(outcome(script, eager), outcome(script, tensorflow), 1e-4)
