"""`Module` and saved models."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import stgrad.eager as tf
from stgrad.eager.core_language import SavedModelError


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
    np.testing.assert_allclose(loaded(x), expected, rtol=1e-6)
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
    """Output and log of a program in a process of its own; in a file, so that its functions have source."""
    file = directory / "program.py"
    file.write_text(f"DIR = {str(directory)!r}\n" + textwrap.dedent(code))
    done = subprocess.run([sys.executable, "-W", "ignore::UserWarning", str(file)], capture_output=True, text=True, check=False)
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


# ------------------------------------------------------------------ what a saved model refuses


class Small(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([1.0, 2.0])
        self.dense = tf.keras.layers.Dense(2, activation="tanh")
        self.dense(tf.ones([1, 2]))
        self.power = 3

    @tf.function
    def call(self, x):
        total = tf.zeros_like(x)
        for i in range(self.power):
            if tf.reduce_sum(x) > 1.0:
                total += self.w * x**i
        return total

    @tf.function
    def layered(self, x):
        return tf.nn.relu(self.dense(x)) * np.pi


@pytest.fixture
def saved(tmp_path):
    tf.saved_model.save(Small(), tmp_path / "m")
    return tmp_path / "m"


def parts(place):
    manifest = json.loads((place / "manifest.json").read_text())
    return manifest, place / manifest["folder"] / "functions.py", place / manifest["folder"] / "arrays.npz"


def rewrite(place, text=None, generated=None, **changes):
    """A forged model whose hashes are right."""
    manifest, functions, _ = parts(place)
    for file, content in (("functions.py", text), ("generated.py", generated)):
        if content is not None:
            (functions.parent / file).write_text(content)
            manifest["files"][f"{manifest['folder']}/{file}"] = hashlib.sha256(content.encode()).hexdigest()
    manifest |= changes
    del manifest["sum"]
    manifest["sum"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    (place / "manifest.json").write_text(json.dumps(manifest))


def test_layers_and_loops_survive(tmp_path):
    model = Small()
    tf.saved_model.save(model, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    x = tf.constant([[0.5, 2.0]])
    assert value(loaded.call(x)) == pytest.approx(np.array(value(model.call(x))))
    np.testing.assert_allclose(loaded.layered(x), model.layered(x))
    loaded.dense.kernel.assign([[0.0, 0.0], [0.0, 0.0]])
    assert value(loaded.layered(x)) == [[0.0, 0.0]]
    again = tmp_path / "again"
    tf.saved_model.save(loaded, again)
    assert value(tf.saved_model.load(again).layered(x)) == [[0.0, 0.0]]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_changed_byte_is_refused(saved, which):
    path = (saved / "manifest.json", *parts(saved)[1:])[which]
    data = bytearray(path.read_bytes())
    for place in range(0, len(data), max(len(data) // 25, 1)):
        forged = bytearray(data)
        forged[place] ^= 1
        path.write_bytes(forged)
        with pytest.raises(SavedModelError):
            tf.saved_model.load(saved)
    path.write_bytes(data)
    assert tf.saved_model.load(saved).power == 3


def test_missing_files_and_newer_formats_are_refused(saved):
    rewrite(saved, format=3)
    with pytest.raises(SavedModelError, match="format 3.*reads up to 2"):
        tf.saved_model.load(saved)
    for wrong in (True, -1, 0, "2", 2.0):
        rewrite(saved, format=wrong)
        with pytest.raises(SavedModelError, match="has no format number"):
            tf.saved_model.load(saved)
    rewrite(saved, format=2)
    parts(saved)[2].unlink()
    with pytest.raises(SavedModelError, match="arrays.npz.* is missing"):
        tf.saved_model.load(saved)


EVIL = {
    "import os": "a statement outside",
    "print(1)": "a statement outside",
    "def f1(x):\n    import os\n    return x": "`Import`",
    "def f1(x):\n    return open('/etc/passwd')": "the name `open`",
    "def f1(x):\n    return eval('1')": "the name `eval`",
    "def f1(x):\n    return x.__class__": "the attribute `__class__`",
    "def f1(x):\n    return x._a.tofile('y')": "the attribute `tofile`",
    "def f1(x):\n    return np.load('y', allow_pickle=True)": "`np.load`",
    "def f1(x):\n    return tf.py_function(x)": "`tf.py_function`",
    "def f1(x):\n    return tf.saved_model.load(x)": "`tf.saved_model.load`",
    "def f1(x):\n    return tf": "the name `tf`",
    "def f1(x):\n    tf = x\n    return tf.y": "to bind the name `tf`",
    "def f1(range):\n    return range": "to bind the name `range`",
    "def f1(x, tf=1):\n    return x": "to bind the name `tf`",
    "def f1(x):\n    np.pi = 3\n    return x": "to set the attribute `pi`",
    "def f1(x=__builtins__):\n    return x": "a default that names `__builtins__`",
    "def f1(x=tf.zeros(3)):\n    return x": "a default that is computed",
    "def f1(x=v0):\n    return x": "a default that names `v0`",
    "def f1(x):\n    def g(y=open):\n        return y\n    return g()": "the name `open`",
    "@tf.identity\ndef f1(x):\n    return x": "a decorator outside",
    "def f1(x):\n    return np.add.at(x)": "`np.add.at`",
    "def f1(x):\n    return np.frompyfunc(x)": "`np.frompyfunc`",
    "def f1(x):\n    return tf.io.read_file(x)": "`tf.io.read_file`",
    "def f1(x):\n    return tf.keras.layers.Lambda(x)": "`tf.keras.layers.Lambda`",
    "def f1(x):\n    return tf.function(x)": "`tf.function`",
    "def f1(x: open):\n    return x": "an annotation",
    "@open\ndef f1(x):\n    return x": "a decorator outside",
    "def f1(x):\n    def len(y):\n        return y\n    return len(x)": "to bind the name `len`",
    "def f1(x):\n    return f'{x!r}'": "`JoinedStr`",
    "def f1(x):\n    global y\n    y = x": "`Global`",
    "def f1(x):\n    return (y := x)": "`NamedExpr`",
    "def f1(x):\n    with x:\n        pass": "`With`",
    "def f1(x):\n    try:\n        pass\n    except x:\n        pass": "`Try`",
    "def f1(x):\n    del x": "`Delete`",
    "class A:\n    pass": "a statement outside",
    "def f1(x) -> open:\n    return x": "an annotation",
    "def v1(x):\n    return x": "to bind the name `v1`",
    "def tf(x):\n    return x": "to bind the name `tf`",
    "def f1(x)": "no Python text",
    "async def f1(x):\n    return x": "a statement outside",
    "def f1(x):\n    return x.format(x)": "the attribute `format`",
    "def f1(x):\n    return (lambda open=open: open)()": "the name `open`",
    "def f1(x):\n    return [getattr for getattr in x]": "",
}


@pytest.mark.parametrize("text", EVIL)
def test_other_code_is_never_run(saved, text):
    rewrite(saved, text)
    if not EVIL[text]:  # names of one's own are free
        with pytest.raises(SavedModelError, match="is missing"):
            tf.saved_model.load(saved)
        return
    with pytest.raises(SavedModelError, match=re.escape(EVIL[text])):
        tf.saved_model.load(saved)


@pytest.mark.parametrize(
    "root",
    [{"operation": "os.system"}, {"operation": "tf.py_function"}, {"object": 99}, {"object": -1}, {"object": True}, [1], {"float": []}, {"dtype": "x"}],
)
def test_other_values_are_refused(saved, root):
    rewrite(saved, root=root)
    with pytest.raises(SavedModelError):
        tf.saved_model.load(saved)


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "layer", "class": "Lambda", "attributes": {}, "functions": {}},
        {"kind": "module", "class": "M", "attributes": {"__class__": 1}, "functions": {}},
        {"kind": "python", "python": "tf"},
        {"kind": "python", "python": "__builtins__"},
        {"kind": "pickle"},
    ],
)
def test_other_objects_are_refused(saved, entry):
    rewrite(saved, objects=[entry] * len(parts(saved)[0]["objects"]))
    with pytest.raises(SavedModelError):
        tf.saved_model.load(saved)


def test_pickles_are_not_read(saved, tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was read",))

    manifest, _, arrays = parts(saved)
    with np.load(arrays) as stored:
        forged = {name: np.array([Evil()], dtype=object) for name in stored.files}
    np.savez(arrays, **forged)
    digest = hashlib.sha256(arrays.read_bytes()).hexdigest()
    rewrite(saved, files=manifest["files"] | {f"{manifest['folder']}/arrays.npz": digest})
    with pytest.raises(SavedModelError, match="allow_pickle"):
        tf.saved_model.load(saved)


def test_a_save_that_fails_leaves_the_old_model(saved, monkeypatch):
    def full(path, data):
        if "arrays" in path.name:
            raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("stgrad.eager.saved_model._write_through", full)
        with pytest.raises(OSError, match="no space"):
            tf.saved_model.save(Small(), saved)
    assert tf.saved_model.load(saved).power == 3
    assert [p.name for p in saved.glob(".*")] == []
    tf.saved_model.save(Small(), saved)
    assert len(list(saved.glob("model-*"))) == 1


class Unsaveable(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([])])
    def call(self, x):
        return open(x)

    @tf.function
    def later(self, x):
        return open(x)


def test_what_cannot_be_saved_says_so(tmp_path):
    with pytest.raises(SavedModelError, match="cannot be saved") as info:
        tf.saved_model.save(Unsaveable(), tmp_path)
    assert "open" in str(info.value) and "test_module.py" in str(info.value)
    with pytest.raises(SavedModelError, match="source"):
        tf.saved_model.save(tf.function(eval("lambda x: sum(x for _ in (1, 2))"), input_signature=[tf.TensorSpec([])]), tmp_path)


def test_losses_are_saved(tmp_path):
    class Fit(tf.Module):
        def __init__(self):
            super().__init__()
            self.loss, self.w = tf.keras.losses.Huber(0.5), tf.Variable([1.0, 2.0])

        @tf.function
        def __call__(self, x):
            return self.loss(x, self.w) + tf.reduce_sum(tf.keras.losses.mean_squared_error(x, self.w))

    model, x = Fit(), tf.constant([0.0, 3.0])
    expected = value(model(x))
    tf.saved_model.save(model, tmp_path)
    assert "_grad(" in generated(tmp_path)
    assert value(tf.saved_model.load(tmp_path)(x)) == pytest.approx(expected)


class Trained(tf.Module):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)
        self.optimizer, self.loss = tf.keras.optimizers.Adam(0.1), tf.keras.losses.MeanSquaredError()

    @tf.function
    def __call__(self, x):
        return self.dense(x)

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(y, self.dense(x))
        variables = self.dense.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def test_a_module_with_a_training_step_is_saved_for_inference(tmp_path, caplog):
    model, x, y = Trained(), tf.ones([3, 2]), tf.zeros([3, 2])
    assert float(model.train_step(x, y)) > float(model.train_step(x, y))
    expected = value(model(x))
    tf.saved_model.save(model, tmp_path)
    assert "train_step> is not saved" in caplog.text
    loaded = tf.saved_model.load(tmp_path)
    np.testing.assert_allclose(loaded(x), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="could not be written.*train_step"):
        loaded.train_step(x, y)
    with pytest.raises(SavedModelError):
        tf.saved_model.save(model, tmp_path, signatures=model.train_step)


def test_a_function_that_was_never_called_may_be_without_text(tmp_path):
    class Part(tf.Module):
        @tf.function
        def later(self, x):
            return open(x)

        def plain(self):
            return 1

    tf.saved_model.save(Part(), tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    with pytest.raises(ValueError, match="Found zero restored functions.*builtin_function"):
        loaded.later(1.0)
    with pytest.raises(AttributeError, match="has no attribute 'plain'"):
        loaded.plain()


# ------------------------------------------------------------------ generated programs


def generated(place):
    return (place / json.loads((place / "manifest.json").read_text())["folder"] / "generated.py").read_text()


class Programs(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.linspace(-1.0, 1.0, 6, dtype="f4").reshape(3, 2))
        self.b = tf.Variable(np.zeros(2, "f4"))
        self.unused = tf.Variable(1.0)
        self.table = np.arange(2.0).astype("f4")

    @tf.function
    def __call__(self, x):
        h = tf.tanh(x @ self.w + self.b) * self.table
        for _ in range(3):
            h = h * 1.5
            if tf.reduce_sum(h) > 3.0:
                h = tf.sin(h)
            else:
                h = h * h
        return {"total": [tf.reduce_sum(h**2), None], "h": h}

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def signed(self, x):
        y = x
        while tf.reduce_sum(y) < 50.0:
            y = y * y + 1.0
        return tf.exp(y * 0.01), tf.constant(2) + tf.cast(tf.reduce_sum(y), tf.int32)


def derivatives(model):
    x = tf.Variable(np.linspace(0.0, 1.0, 12, dtype="f4").reshape(4, 3))
    sources = [x, model.w, model.b, model.unused]
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as tape:
            y = model(x)
            loss = tf.reduce_sum(y["h"]) + y["total"][0]
        first = tape.gradient(loss, sources)
        size = tf.add_n([tf.reduce_sum(g * g) for g in first if g is not None])
    second = outer.gradient(size, sources)
    with tf.GradientTape() as tape:
        y = model(x)
    v = tf.Variable([0.5, 0.2, 0.1])
    with tf.GradientTape() as tape_of_signed:
        z, count = model.signed(v)
    return [y, z, count, first, second, tape.gradient([y["h"], y["total"][0]], sources), tape_of_signed.gradient(z, v)]


def test_the_stored_pullback_is_used(tmp_path):
    model = Programs()
    expected = derivatives(model)
    tf.saved_model.save(model, tmp_path)
    text = generated(tmp_path)
    assert "def p" in text and "_grad(inputs_0, captured_0, captured_1, y_bar, h_bar, table):" in text and "import" not in text
    loaded = tf.saved_model.load(tmp_path)
    found = derivatives(loaded)
    leaves = [tf.nest.flatten(part) for part in (expected, found)]
    assert [a is None for a in leaves[0]] == [b is None for b in leaves[1]]
    for a, b in zip(*leaves, strict=True):
        if a is not None:
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    loaded.b.assign([1.0, 2.0])  # variables are read when it is called
    model.b.assign([1.0, 2.0])
    x = tf.ones([2, 3])
    np.testing.assert_allclose(loaded(x)["h"], model(x)["h"], rtol=1e-5)


def test_the_first_derivative_is_that_of_the_text(tmp_path):
    class Cube(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None])])
        def call(self, x):
            return x * x * x

    tf.saved_model.save(Cube(), tmp_path)
    text = generated(tmp_path)
    head, tail = text.rsplit("return ", 1)
    value, bar = tail.rsplit(",", 1)
    rewrite(tmp_path, generated=f"{head}return {value}, 5.0 * ({bar.strip()})\n")
    loaded = tf.saved_model.load(tmp_path)
    x = tf.Variable([1.0, 2.0])
    for _ in range(2):  # as it stands, then compiled
        with tf.GradientTape() as tape:
            y = loaded.call(x)
        np.testing.assert_allclose(tape.gradient(y, x), [15.0, 60.0])


EVIL_PROGRAMS = {
    "import os\n": "a statement outside",
    "def p1_0(x):\n    return open(x)": "the name `open`",
    "def p1_0(x):\n    return tf.sin(x)": "`tf.sin`",
    "def p1_0(x):\n    return np.load(x)": "`np.load`",
    "def p1_0(x):\n    return np.lib.stride_tricks.as_strided(x)": "`np.lib.stride_tricks.as_strided`",
    "def p1_0(x):\n    return runtime.call(x)": "`runtime.call`",
    "def p1_0(x):\n    return x.tofile(x)": "the attribute `tofile`",
    "def p1_0(x):\n    return scipy.io": "`scipy.io`",
    "def p1_0(x):\n    return x.dtype.__class__": "the attribute `__class__`",
    "def f1(x):\n    return x": "to bind the name `f1`",
    "def p1_0(x):\n    raise x from x": "`Raise`",
    "def p1_0(np):\n    return np": "to bind the name `np`",
}


@pytest.mark.parametrize("text", EVIL_PROGRAMS)
def test_other_programs_are_never_run(saved, text):
    rewrite(saved, generated=text)
    with pytest.raises(SavedModelError, match=re.escape(EVIL_PROGRAMS[text])):
        tf.saved_model.load(saved)


def test_indices_of_stored_programs_are_tested(tmp_path):
    class Element(tf.Module):
        @tf.function
        def call(self, x):
            return x[2] * 2.0

    model = Element()
    model.call(tf.constant([1.0, 2.0, 3.0]))
    tf.saved_model.save(model, tmp_path)
    rewrite(tmp_path, generated=generated(tmp_path).replace("[2]", "[20000]"))
    loaded = tf.saved_model.load(tmp_path)
    x = tf.Variable([1.0, 2.0, 3.0])
    for _ in range(3):
        assert value(loaded.call(x)) == 6.0  # by the stored function
        with tf.GradientTape() as tape:
            y = loaded.call(x)
        assert value(tape.gradient(y, x)) == [0.0, 0.0, 2.0]


# ------------------------------------------------------------------ modules that call modules


class Lazy(tf.Module):
    def __init__(self, out):
        super().__init__()
        self.built, self.out = False, out

    def __call__(self, x):
        if not self.built:
            self.w = tf.Variable(tf.ones([x.shape[-1], self.out]))
            self.b = tf.Variable(tf.zeros([self.out]))
            self.built = True
        return tf.nn.relu(x @ self.w + self.b)


class Stack(tf.Module):
    def __init__(self):
        super().__init__()
        self.parts = [Lazy(4), Lazy(2)]
        self.scale = None

    @tf.function
    def __call__(self, x):
        if self.scale is None:
            self.scale = tf.Variable(2.0)
        for part in self.parts:
            x = part(x)
        return x * self.scale


def test_variables_made_by_the_first_call(tmp_path):
    model = Stack()
    x = tf.ones([2, 3])
    expected = value(model(x))
    tf.saved_model.save(model, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert "_grad(" in generated(tmp_path)
    np.testing.assert_allclose(loaded(x), expected)
    assert len(loaded.trainable_variables) == 5
    with tf.GradientTape() as tape:
        y = loaded(x)
    assert value(tape.gradient(y, loaded.scale)) == 48.0


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(2)
        self.rest = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="relu"), tf.keras.layers.Dense(1)])

    def call(self, x):
        return self.rest(self.first(x))


def test_keras_models(tmp_path):
    x = tf.ones([2, 3])
    inputs = tf.keras.Input((3,))
    between = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(tf.keras.layers.Dense(3)(inputs) + 1.0))
    for number, model in enumerate((Net(), between, tf.keras.Sequential([tf.keras.layers.Dense(2, activation="tanh")]))):
        expected = value(model(x))
        tf.saved_model.save(model, tmp_path / str(number))
        loaded = tf.saved_model.load(tmp_path / str(number))
        np.testing.assert_allclose(loaded(x), expected)
        np.testing.assert_allclose(loaded(x.numpy()), expected)
        with tf.GradientTape() as tape:
            y = loaded(x)
        assert all(g is not None for g in tape.gradient(y, list(loaded.trainable_variables)))
