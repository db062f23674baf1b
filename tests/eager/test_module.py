"""`Module` and saved models."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import stgrad.eager as tf


def value(t):
    return None if t is None else t.numpy().tolist()


class Linear(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.w = tf.Variable(2.0, name="w")
        self.b = tf.Variable(1.0, name="b")

    def __call__(self, x):
        return self.w * x + self.b


class Deep(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Linear(), Linear()]
        self.by_name = {"z": tf.Variable(5.0, name="z"), "a": tf.Variable(6.0, name="a")}
        self.counter = tf.Variable(0, trainable=False, name="counter")
        self.again = self.layers[0]


def test_collecting():
    deep = Deep()
    assert isinstance(deep.variables, tuple)
    assert len(deep.variables) == 7 and len(deep.trainable_variables) == 6
    assert [v.name for v in deep.non_trainable_variables] == ["counter:0"]
    assert [v.name for v in Linear().variables] == ["b:0", "w:0"]
    assert [v.name for v in deep.variables][:3] == ["a:0", "z:0", "counter:0"]
    assert len(deep.submodules) == 2 and deep.submodules[0] is deep.again


def test_names():
    assert Deep().name == "deep" and Linear("first").name == "first"
    with pytest.raises(ValueError, match="'bad name' is not a valid module name"):
        tf.Module(name="bad name")

    class Scoped(tf.Module):
        @tf.Module.with_name_scope
        def build(self):
            return tf.Variable(1.0, name="w")

    assert Scoped("outer").build().name == "outer/w:0"
    with Scoped("other").name_scope as scope:
        assert scope == "other/"


def test_without_super_init():
    class Careless(tf.Module):
        def __init__(self):
            self.v = tf.Variable(1.0)

    assert len(Careless().trainable_variables) == 1


# ------------------------------------------------------------------ saved models


class Saved(tf.Module):
    def __init__(self):
        super().__init__()
        self.inner = Linear()
        self.scale = tf.Variable([1.0, 2.0], name="scale")
        self.frozen = tf.Variable(7.0, trainable=False)
        self.same = self.scale

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def call(self, x):
        return self.inner(x) * self.scale * self.helper(x)

    def helper(self, x):
        return x if tf.reduce_sum(x) > 0 else -x


def test_save_and_load(tmp_path):
    model = Saved()
    tf.saved_model.save(model, tmp_path / "m")
    assert tf.saved_model.contains_saved_model(tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    assert type(loaded) is not Saved
    assert value(loaded.call(tf.constant([1.0, 3.0]))) == value(model.call(tf.constant([1.0, 3.0])))
    assert len(loaded.variables) == 4 and len(loaded.trainable_variables) == 3
    assert loaded.same is loaded.scale
    loaded.scale.assign([0.0, 0.0])
    assert value(loaded.call(tf.constant([1.0, 3.0]))) == [0.0, 0.0] and value(model.scale) == [1.0, 2.0]
    x = tf.Variable([1.0, 3.0])
    with tf.GradientTape() as tape:
        y = loaded.call(x)
    assert [None if g is None else g.shape for g in tape.gradient(y, [x, loaded.scale, loaded.inner.w])] == [(2,), (2,), ()]
    with pytest.raises(AttributeError, match="Saved.* has no attribute 'nothing'"):
        _ = loaded.nothing
    with pytest.raises(TypeError, match="not callable"):
        loaded(1.0)
    with pytest.raises(TypeError, match="Binding inputs"):
        loaded.call(tf.constant(1.0))


def test_errors(tmp_path):
    with pytest.raises(ValueError, match="Expected an object of type `Trackable`"):
        tf.saved_model.save(3, tmp_path / "m")
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        tf.saved_model.load(tmp_path / "nowhere")


def test_layers_can_be_saved(tmp_path):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(3, activation="tanh")

        @tf.function
        def __call__(self, x):
            return self.dense(x)

    model = Model()
    x = tf.ones([2, 4])
    expected = value(model(x))
    tf.saved_model.save(model, tmp_path / "m", signatures={"run": model.__call__})
    loaded = tf.saved_model.load(tmp_path / "m")
    assert value(loaded(x)) == expected
    assert list(loaded.signatures) == ["run"]


SAVE = """
import stgrad.eager as tf

@tf.custom_gradient
def hundred(x):
    return x * 1.0, lambda dy: dy * 100.0 * CONSTANT

CONSTANT = 1.0

class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def call(self, x):
        return hundred(x) * self.w

for keep in (True, False):
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=keep)
    tf.saved_model.save(Model(), f"{DIR}/{keep}", options=options)
again = tf.saved_model.load(f"{DIR}/False")
x = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = again.call(x)
print("same process", tape.gradient(y, x).numpy())
"""

LOAD = """
import logging
logging.basicConfig(level=logging.WARNING)
import stgrad.eager as tf
for keep in (True, False):
    model = tf.saved_model.load(f"{DIR}/{keep}")
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = model.call(x)
    print(keep, y.numpy(), model.w.numpy(), [v.numpy() for v in model.variables])
    try:
        print(keep, tape.gradient(y, x).numpy())
    except LookupError as error:
        print(keep, "LookupError", error)
"""


def run(code, directory):
    script = f"DIR = {str(directory)!r}\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_fresh_process(tmp_path):
    saved, _ = run(SAVE, tmp_path)
    assert saved == "same process 300.0\n"
    out, log = run(LOAD, tmp_path)
    lines = out.splitlines()
    assert lines[:2] == ["True 6.0 3.0 [np.float32(3.0)]", "True 300.0"]
    assert lines[2] == "False 6.0 3.0 [np.float32(3.0)]"
    assert lines[3].startswith("False LookupError No gradient defined for operation'IdentityN' (op type: IdentityN)")
    assert "ops with unsaved custom gradients. Will likely fail if a gradient is requested." in log


def test_numpy_values_survive(tmp_path):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.table = np.arange(3.0)
            self.v = tf.Variable(np.arange(3.0))

        @tf.function
        def call(self):
            return self.v * self.table

    tf.saved_model.save(Model(), tmp_path / "m")
    assert value(tf.saved_model.load(tmp_path / "m").call()) == [0.0, 1.0, 4.0]
