"""Tapes that come round again: compiled sweeps against interpreted ones, and everything that can come in between."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest
from sweeping import SETTINGS, set_settings

import stgrad.eager as tf
from stgrad.eager import plan, repeats
from stgrad.eager.background import Worker

RNG = np.random.default_rng(0)


@pytest.fixture
def plain(monkeypatch):
    """Compiled at the second meeting, without Numba."""
    set_settings(monkeypatch, SETTINGS["compiled"])
    monkeypatch.setattr(plan, "SHORTEST", 1)


@pytest.fixture
def native(monkeypatch, plain):
    monkeypatch.setattr(repeats.settings, "jit", True)


def entries(status="checked"):
    return [e for e in repeats._entries.values() if e.status == status]


def both(f, *sources, times=3, **options):
    """The gradients by the interpreter and, after some rounds, by the plan."""

    def gradients(compile):
        with tf.GradientTape(compile=compile, **options) as tape:
            tape.watch(sources)
            y = f(*sources)
        return [None if g is None else g.numpy() for g in tape.gradient(y, list(sources))]

    wanted = gradients(False)
    for _ in range(times):
        found = gradients(True)
        for a, b in zip(found, wanted, strict=True):
            assert (a is None) == (b is None)
            if b is not None:
                assert a.dtype == b.dtype and a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-5 if b.dtype.itemsize == 4 else 1e-11, atol=1e-6)
    return wanted


def matrix(*shape, dtype=np.float64):
    values = RNG.uniform(0.3, 1.7, size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.uniform(0.1, 1.0, size=shape)
    return tf.constant(values.astype(dtype))


FAMILIES = {
    "arithmetic": lambda x, y: (x * y - 2.0 * x) / (y + 1.0) + x**3 - y**0.5 + (-x) * 2,
    "functions": lambda x, y: tf.sin(x) * tf.exp(-y) + tf.math.log(x) * tf.tanh(y) + tf.sqrt(x) + tf.math.erf(y) + tf.square(x),
    "broadcasting": lambda x, y: (x + y[:1]) * y[:, :1] + tf.reduce_mean(x, axis=0) - tf.reduce_sum(y),
    "reductions": lambda x, y: tf.reduce_max(x, axis=1) * tf.reduce_prod(y, axis=1) + tf.norm(x) + tf.reduce_logsumexp(x * y, axis=1),
    "products": lambda x, y: tf.matmul(x, y, transpose_b=True) @ tf.einsum("ij,kj->ik", y, x) + tf.tensordot(x, y, 2),
    "indexing": lambda x, y: x[1] * y[:, 2][0] + tf.gather(x, [2, 0, 2])[0] + x[::-1][0] + y[..., tf.newaxis][0, :, 0],
    "shapes": lambda x, y: tf.reshape(tf.transpose(x), [-1]) * tf.reshape(y, [-1]) + tf.concat([x[0], y[1], x[2]], 0),
    "choices": lambda x, y: tf.where(x > y, x * x, y) + tf.maximum(x, y) + tf.minimum(x, 1.0) + tf.clip_by_value(y, 0.5, 1.2) + abs(x - y),
    "networks": lambda x, y: tf.nn.relu(x - 1.0) + tf.nn.softmax(y) * tf.nn.log_softmax(x) + tf.nn.elu(y - 1.0) + tf.nn.softplus(x) + tf.sigmoid(y),
    "scans": lambda x, y: tf.cumsum(x, axis=1) * tf.math.cumprod(y, axis=0),
    "pads and stacks": lambda x, y: tf.stack([x, y], axis=1)[:, 0] + tf.pad(y, [[0, 1], [0, 0]])[1:] + tf.tile(x[:, :1], [1, 3]) * y,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FAMILIES)
def test_families(name, dtype, plain):
    both(FAMILIES[name], matrix(3, 3, dtype=dtype), matrix(3, 3, dtype=dtype))
    assert entries()


@pytest.mark.parametrize("name", ["arithmetic", "broadcasting", "products", "indexing"])
def test_families_in_native_code(name, native):
    both(FAMILIES[name], matrix(3, 3, dtype=np.float32), matrix(3, 3, dtype=np.float32))
    assert entries()


def test_complex(plain):
    def f(z, w):
        return tf.math.real(tf.reduce_sum(z * tf.math.conj(w) + tf.exp(z) / w))

    both(f, matrix(3, dtype=np.complex128), matrix(3, dtype=np.complex128))
    assert entries()


def test_linear_algebra(plain):
    def f(a, b):
        return tf.reduce_sum(tf.linalg.solve(a + 3.0 * tf.eye(3, dtype=tf.float64), b)) + tf.linalg.det(a) + tf.reduce_sum(tf.linalg.inv(a))

    both(f, matrix(3, 3), matrix(3, 2))
    assert entries()


# --------------------------------------------------------------------------- what belongs to the structure, and what does not


def test_values_are_inputs(native):
    """Variables, tensors, Python floats and arrays that change from step to step change no structure."""
    w = tf.Variable(RNG.normal(size=(4,)))
    for step in range(6):
        rate, x = 0.5 + step, RNG.normal(size=(4,))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((w * x - rate) ** 2 * (step + 1) + tf.gather(w, [step % 4]) * rate)
        g = tape.gradient(loss, w).numpy()
        wanted = 2 * (w.numpy() * x - rate) * x * (step + 1)
        wanted[step % 4] += 4 * rate
        np.testing.assert_allclose(g, wanted, rtol=1e-10)
        w.assign_sub(0.01 * g)
    assert len(repeats._entries) == 1 and entries()


def test_attributes_are_structure(plain):
    x = tf.Variable(RNG.normal(size=(3, 3)))
    for axis in (0, 1, 0, 1, None, 0, None):
        for power in (2, 3):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.reduce_sum(x, axis=axis) ** power)
            total = np.sum(x.numpy(), axis=axis, keepdims=True)
            np.testing.assert_allclose(tape.gradient(y, x), np.broadcast_to(power * total ** (power - 1), (3, 3)), rtol=1e-12)
    assert len(repeats._entries) == 6


def test_shapes_dtypes_and_branches_change(plain):
    for step in range(12):
        n, dtype = 2 + step % 3, (tf.float32, tf.float64)[step % 2]
        x = tf.constant(RNG.normal(size=(n, 3)), dtype)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * 2.0 if step % 4 < 2 else tf.exp(x) * 2.0
        g = tape.gradient(y, x)
        np.testing.assert_allclose(g, 2.0 * (np.cos(x) if step % 4 < 2 else np.exp(x)), rtol=1e-6)
        assert g.dtype == dtype


def test_wiring_is_structure(plain):
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    for first, second in [(a, a), (a, b), (b, a), (b, b)] * 3:
        with tf.GradientTape() as tape:
            y = first * second + first
        found = [None if g is None else float(g) for g in tape.gradient(y, [a, b])]
        wanted = [0.0, 0.0]
        wanted[0 if first is a else 1] += float(second) + 1
        wanted[0 if second is a else 1] += float(first)
        assert found == [None if v not in (first, second) else w for v, w in zip((a, b), wanted, strict=True)] or first is not second
        assert [f or 0.0 for f in found] == wanted


def test_one_extent_is_another_program(plain):
    for n in (3, 1, 3, 1):
        x, y = tf.Variable(RNG.normal(size=(n, 2))), tf.Variable(RNG.normal(size=(3, 2)))
        with tf.GradientTape() as tape:
            z = tf.reduce_sum(x * y)
        gx, gy = tape.gradient(z, [x, y])
        np.testing.assert_allclose(gx, y.numpy() if n == 3 else y.numpy().sum(axis=0, keepdims=True))
        np.testing.assert_allclose(gy, np.broadcast_to(x.numpy(), (3, 2)))


def test_equal_extents_by_chance(plain):
    """Extents that are equal in one recording have one symbol; others are another structure."""
    for rows, columns in [(3, 3), (3, 4), (3, 3), (4, 3), (3, 4)]:
        x, w = tf.Variable(RNG.normal(size=(2, rows))), tf.Variable(RNG.normal(size=(rows, columns)))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.tanh(x @ w))
        slope = 1 - np.tanh(x.numpy() @ w.numpy()) ** 2
        gx, gw = tape.gradient(y, [x, w])
        np.testing.assert_allclose(gx, slope @ w.numpy().T)
        np.testing.assert_allclose(gw, x.numpy().T @ slope)


def test_minus_zero_in_an_attribute():
    from stgrad.eager.fingerprint import describe

    assert describe((0.0,)) != describe((-0.0,))
    assert describe((1,)) != describe((True,)) != describe((1.0,))


# --------------------------------------------------------------------------- kinds of tapes


def test_persistent_and_several_sources(plain):
    x, y = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            u = x * y
            v = tf.sin(u) * x
        for sources in (x, [x, y], [y, x], u, [u, x], {"x": x, "v": v}):
            interpreted = tf.nest.flatten(tape_without(tape).gradient(v, sources))
            for a, b in zip(tf.nest.flatten(tape.gradient(v, sources)), interpreted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6)


def tape_without(tape):
    """The same recording, interpreted."""
    other = tf.GradientTape(persistent=True, compile=False)
    other._tape = tape._tape
    return other


def test_several_targets_and_seeds(plain):
    x = tf.Variable([1.0, 2.0])
    for factor in (1.0, 2.0, 3.0):
        with tf.GradientTape(persistent=True) as tape:
            u = x * x
            v = tf.exp(u) * factor
        g = tape.gradient([u, v, u], x, output_gradients=[tf.constant([1.0, factor]), tf.constant([2.0, 1.0])])
        wanted = 2 * x.numpy() * (np.array([1.0, factor]) + 1.0 + np.exp(x.numpy() ** 2) * factor * [2.0, 1.0])
        np.testing.assert_allclose(g, wanted, rtol=1e-5)
        np.testing.assert_allclose(tape.gradient([x, u], x), 1.0 + 2 * x.numpy())


def test_unconnected(plain):
    x, y, z = tf.Variable(1.0), tf.Variable([2.0, 3.0]), tf.Variable(4, dtype=tf.int32)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            u = tf.sin(x) * 2.0
            v = tf.stop_gradient(y * y) * u
        found = tape.gradient(v, [x, y, z])
        assert found[1] is None and found[2] is None
        zeros = tape.gradient(v, [x, y], unconnected_gradients="zero")[1]
        np.testing.assert_array_equal(zeros, [0.0, 0.0])
        assert tape.gradient(u, y) is None


def test_nested_tapes(plain):
    x = tf.Variable([0.5, 1.5])
    for _ in range(4):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.sin(x) * x**3)
            g = inner.gradient(y, x)
            loss = tf.reduce_sum(g * g)
        v = x.numpy()
        first = np.cos(v) * v**3 + 3 * np.sin(v) * v**2
        second = -np.sin(v) * v**3 + 6 * np.cos(v) * v**2 + 6 * np.sin(v) * v
        np.testing.assert_allclose(g, first, rtol=1e-5)
        np.testing.assert_allclose(outer.gradient(loss, x), 2 * first * second, rtol=1e-4)
    assert entries()


def test_jacobians(plain):
    x = tf.Variable(RNG.normal(size=(3, 2)))
    for _ in range(2):
        with tf.GradientTape(persistent=True) as tape:
            y = tf.tanh(x * x) @ tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], tf.float64)
        full, rows = tape.jacobian(y, x), tape.batch_jacobian(y, x)
        np.testing.assert_allclose(full, tape_without(tape).jacobian(y, x), rtol=1e-12)
        np.testing.assert_allclose(rows, tape_without(tape).batch_jacobian(y, x), rtol=1e-12)
    assert entries()


def test_nodes_that_are_not_compiled_split_the_sweep(plain):
    @tf.custom_gradient
    def clipped(x):
        return x * 2.0, lambda dy: tf.clip_by_norm(dy, 0.5) * 2.0

    @tf.function
    def squared(x):
        return x * x

    def f(x):
        for _ in range(3):
            x = tf.sin(x) * 1.5 + tf.exp(x) * 0.1
        x = squared(clipped(x))
        for _ in range(3):
            x = tf.cos(x) * 1.5 - x
        return x

    both(f, matrix(4))
    entry = max(entries(), key=lambda e: len(e.plan.steps))
    assert [type(s) for s in entry.plan.steps] == [plan.Run, int, int, plan.Run]


def test_long_tapes_share_programs(native):
    def f(x):
        for _ in range(150):
            x = tf.sin(x) * 1.01
        return x

    both(f, tf.constant(0.5))
    (entry,) = entries()
    assert len(entry.plan.steps) == 3
    assert len({step.sweep.text for step in entry.plan.steps}) == 1


def test_long_programs_are_divided(plain, monkeypatch):
    monkeypatch.setattr(plan, "LINES", 12)
    both(lambda x: tf.sin(tf.cos(tf.exp(-x) * x) + x) * tf.tanh(x), matrix(4))
    (entry,) = entries()
    assert len(entry.plan.steps) > 1


def test_numbers_of_other_types_are_left_alone(plain):
    both(lambda x: tf.reduce_sum(tf.cast(tf.cast(x, tf.float16) * 2.0, tf.float32) * x), matrix(3, dtype=np.float32))
    both(lambda x: tf.reduce_sum(x[:0] * 2.0) + tf.reduce_sum(x * x), matrix(3))


def test_arrays_in_another_order(native):
    w = tf.Variable(RNG.normal(size=(4, 4)))
    values = RNG.normal(size=(4, 4))
    for x in [values, values.T, values[::-1], values] * 2:
        t = tf.Tensor(x)
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.sin(t * w) * t)
        np.testing.assert_allclose(tape.gradient(y, w), np.cos(x * w.numpy()) * x * x)
    (entry,) = entries()
    assert len(entry.plan.steps[0].layouts) == 3


# --------------------------------------------------------------------------- switches


def test_switched_off(plain):
    x = tf.Variable(1.0)

    def gradient(**options):
        with tf.GradientTape(**options) as tape:
            y = tf.sin(x) * x
        return tape, float(tape.gradient(y, x))

    for _ in range(3):
        tape, _ = gradient(compile=False)
        assert tape.compiled_source() is None
    assert not repeats._entries
    assert tf.config.optimizer.get_jit() == "autoclustering"
    tf.config.optimizer.set_jit(False)
    gradient()
    assert not repeats._entries and tf.config.optimizer.get_jit() == ""
    tf.config.optimizer.set_jit(True)
    tape, _ = gradient()
    assert "def sweep(" in tape.compiled_source()
    with pytest.raises(ValueError, match="Invalid value"):
        tf.config.optimizer.set_jit("fast")


def test_source_reads_and_runs(plain):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.tanh(x) * 3.0
    tape.gradient(y, x)
    text = tape.compiled_source()
    assert "\n\n\ndef sweep(x0, y0, c0, y1_bar):\n" in text
    assert '"""Reverse sweep of 2 recorded operations: np.tanh, np.multiply."""' in text
    names = {}
    exec(text, names)
    seed = np.ones(2, np.float32)
    np.testing.assert_allclose(names["sweep"](x.numpy(), np.tanh(x.numpy()), 3.0, seed), 3.0 * (1.0 - np.tanh(x) ** 2), rtol=1e-6)


def test_seen_often_and_long_enough(monkeypatch):
    set_settings(monkeypatch, repeats.Settings(seen=3, seconds=0.0, shortest=2, wait=True, jit=False, trials=0))
    x = tf.Variable(1.0)
    status = []
    for _ in range(8):
        with tf.GradientTape() as tape:
            y = tf.sin(tf.exp(x) * 2.0) * x
        tape.gradient(y, x)
        (entry,) = repeats._entries.values()
        status.append(entry.status)
    assert status == ["new"] * 3 + ["made"] * 2 + ["checked"] * 3
    monkeypatch.setattr(repeats.settings, "seconds", 10.0)
    with tf.GradientTape() as tape:
        y = tf.sin(x) * x * 3.0
    tape.gradient(y, x)
    assert [e.status for e in repeats._entries.values()] == ["checked", "new"]


def test_no_faster_is_given_up(monkeypatch, plain):
    monkeypatch.setattr(repeats.settings, "trials", 2)
    monkeypatch.setattr(repeats.settings, "strict", False)
    x = tf.Variable(1.0)
    for _ in range(4):
        with tf.GradientTape() as tape:
            y = tf.sin(x) * x
        (g,) = tape.gradient(y, [x])
        for entry in repeats._entries.values():
            entry.best = 0.0
    assert float(g) == pytest.approx(np.sin(1.0) + np.cos(1.0))
    assert [e.reason for e in entries("refused")] == ["the interpreted sweep is as fast"]


def test_structures_are_bounded(monkeypatch, plain):
    monkeypatch.setattr(repeats.settings, "structures", 8)
    x = tf.Variable(np.ones(30))
    for n in range(1, 20):
        for _ in range(2):
            with tf.GradientTape() as tape:
                y = x[:n] * 2.0
            tape.gradient(y, x)
        assert len(repeats._entries) <= 8
    for _ in range(60):  # always new: most of them are not even looked at
        with tf.GradientTape() as tape:
            y = x[: 1 + _ % 29] ** (2 + _)
        tape.gradient(y, x)
    assert repeats.state.new_structures < 45


# --------------------------------------------------------------------------- failures


def test_what_the_compiler_refuses_is_remembered(monkeypatch):
    set_settings(monkeypatch, repeats.Settings(seen=0, seconds=0.0, shortest=1, wait=True, jit=False))
    calls = []

    def broken(facts, refused):
        calls.append(facts)
        raise ValueError("planted")

    monkeypatch.setattr(plan, "make_plan", broken)
    x = tf.Variable(2.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = x * x * x
        assert float(tape.gradient(y, x)) == 12.0
    assert len(calls) == 1 and entries("refused")[0].reason == "ValueError: planted"


def test_a_wrong_plan_is_never_used(monkeypatch, plain):
    monkeypatch.setattr(repeats.settings, "strict", False)
    monkeypatch.setattr(repeats.settings, "checks", 3)
    right = plan.Run.pull_back
    rounds = []

    def wrong(self, nodes, grads, sources):
        right(self, nodes, grads, sources)
        rounds.append(None)
        if len(rounds) > 1:
            for key in grads:
                grads[key] = grads[key] * 1.01

    monkeypatch.setattr(plan.Run, "pull_back", wrong)
    x = tf.Variable(2.0)
    for _ in range(5):
        with tf.GradientTape() as tape:
            y = x * x * x
        assert float(tape.gradient(y, x)) == 12.0
    assert len(rounds) == 2 and "differ" in entries("refused")[0].reason


def test_errors_of_gradients_are_raised(plain, monkeypatch):
    monkeypatch.setattr(repeats.settings, "strict", False)

    @tf.custom_gradient
    def bad(x):
        return x * 1.0, lambda dy: tf.constant([1.0, 2.0])

    x = tf.Variable(1.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = bad(tf.sin(x) * tf.cos(x) + x)
        with pytest.raises(tf.errors.GradientMismatchError, match="shape"):
            tape.gradient(y, x)


def test_check_numerics_is_interpreted(plain):
    x = tf.Variable(0.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = tf.sqrt(x) * 2.0 + x
        tape.gradient(y, x)
    tf.debugging.enable_check_numerics()
    try:
        with tf.GradientTape() as tape:
            y = tf.sqrt(x) * 2.0 + x
        with pytest.raises(tf.errors.InvalidArgumentError, match="Inf"):
            tape.gradient(y, x)
    finally:
        tf.debugging.disable_check_numerics()


# --------------------------------------------------------------------------- memory, threads, processes


def test_no_tensor_is_kept(native):
    x = tf.Variable(np.ones(1000))
    refs = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            u = tf.sin(x) * 2.0
            y = tf.reduce_sum(u * u)
        refs += [weakref.ref(tape), weakref.ref(u), weakref.ref(y), weakref.ref(u._a)]
        tape.gradient(y, x)
    del tape, u, y
    gc.collect()
    assert [r for r in refs if r() is not None] == []
    assert entries()


def test_gradients_are_freed_without_the_collector(plain):
    gc.disable()
    try:
        x = tf.Variable([1.0, 2.0])
        for _ in range(4):
            with tf.GradientTape() as tape:
                u = tf.sin(x) * 2.0
                y = tf.exp(u)
            ref = weakref.ref(u)
            tape.gradient(y, x)
            del tape, u, y
            assert ref() is None
    finally:
        gc.enable()


def step(x, rate):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.tanh(tf.sin(x) * rate) * x)
    return tape.gradient(y, x).numpy()


def slope(x, rate):
    t = np.tanh(np.sin(x) * rate)
    return (1 - t * t) * np.cos(x) * rate * x + t


def test_threads_in_the_background(monkeypatch):
    """Many threads run one structure while it is compiled, and afterwards."""
    set_settings(monkeypatch, repeats.Settings(seconds=0.0, trials=0))
    wrong = []

    def run(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            x, rate = rng.normal(size=(3,)), float(rng.uniform(0.5, 2.0))
            if not np.allclose(step(tf.constant(x), rate), slope(x, rate), rtol=1e-8):
                wrong.append((x, rate))

    for _ in range(2):
        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        repeats.worker.wait()
    assert not wrong and entries()


def test_the_compiler_on_several_threads(monkeypatch):
    """Programs are generated on the calling threads while tapes are compiled on the other."""
    import stgrad

    set_settings(monkeypatch, repeats.Settings(seen=1, seconds=0.0, trials=0, jit=False))
    wrong = []

    def run(seed):
        rng = np.random.default_rng(seed)
        for n in range(6):
            factor = float(seed + n)

            def loss(x):
                return np.sum(np.tanh(x * factor) * x)  # noqa: B023

            x = rng.normal(size=4)
            t = np.tanh(x * factor)
            if not np.allclose(stgrad.grad(loss, jit=False)(x), (1 - t * t) * factor * x + t):
                wrong.append(n)
            for _ in range(3):
                both(lambda z: tf.reduce_sum(tf.tanh(z[: 1 + n]) * z[: 1 + n]) + tf.cumsum(z)[n], matrix(8), times=1)  # noqa: B023

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    repeats.worker.wait()
    assert not wrong and entries("made") + entries() and not entries("refused")


def test_training_in_the_background(monkeypatch):
    """A loop that is overtaken by the compiler ends where the interpreted one ends."""
    data = tf.constant(RNG.normal(size=(20, 3)), tf.float64)

    def train(compile):
        tf.random.set_seed(0)
        w, b = tf.Variable(np.full((3, 1), 0.1)), tf.Variable(np.zeros(1))
        for i in range(300):
            with tf.GradientTape(compile=compile) as tape:
                loss = tf.reduce_mean((tf.tanh(data @ w + b) - tf.sin(data[:, :1])) ** 2)
            for v, g in zip((w, b), tape.gradient(loss, [w, b]), strict=True):
                v.assign_sub(0.1 * g)
            if i == 100:
                repeats.worker.wait()
        return w.numpy()

    wanted = train(False)
    set_settings(monkeypatch, repeats.Settings(seconds=0.0, trials=0))
    np.testing.assert_allclose(train(True), wanted, rtol=1e-9)
    assert entries()


def sweeps_in_the_background():
    for _ in range(5):
        np.testing.assert_allclose(step(tf.constant([0.1, 0.2, 0.3], tf.float64), 1.5), slope(np.array([0.1, 0.2, 0.3]), 1.5))
    repeats.worker.wait()
    step(tf.constant([0.1, 0.2, 0.3], tf.float64), 1.5)
    (entry,) = repeats._entries.values()
    return entry


def test_without_another_process(monkeypatch):
    set_settings(monkeypatch, repeats.Settings(seconds=0.0, trials=0))
    monkeypatch.setattr(sys, "executable", "")
    assert sweeps_in_the_background().status == "made"


def test_a_process_that_dies(monkeypatch, tmp_path):
    set_settings(monkeypatch, repeats.Settings(seconds=0.0, trials=0))
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nexit 3\n")
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dying))
    assert sweeps_in_the_background().status == "made"


def test_a_process_that_refuses(monkeypatch):
    from stgrad.eager import aside

    set_settings(monkeypatch, repeats.Settings(seconds=0.0, trials=0))
    monkeypatch.setattr(aside, "_ask", lambda question: ([], {"planted"}, "ValueError: planted"))
    entry = sweeps_in_the_background()
    assert (entry.status, entry.reason) == ("refused", "RefusedError: ValueError: planted")
    assert "planted" in repeats._refused


def test_worker_turns_away_what_is_too_much():
    worker, gate = Worker(), threading.Event()
    done = []
    assert worker.submit(gate.wait)
    taken = [worker.submit(lambda: done.append(1)) for _ in range(60)]
    gate.set()
    worker.wait()
    assert 0 < sum(taken) == len(done) < 60
    assert worker.submit(lambda: done.append(2))  # a new thread
    worker.wait()
    assert done[-1] == 2
    worker.close()
    assert not worker.submit(gate.wait)


PROCESS = """
import os, sys, time
import stgrad.eager as tf
from stgrad.eager import repeats
repeats.settings.seconds = 0.0
x = tf.Variable([[0.5, 1.0], [0.1, 0.2]])
def gradient():
    with tf.GradientTape() as tape:
        y = x
        for _ in range(%(length)d):
            y = tf.sin(y @ x) * 1.01
    return tape.gradient(y, x)
while "waiting" not in {e.status for e in repeats._entries.values()}:
    gradient()
"""


def run_process(tail, length, tmp_path, **environment):
    text = PROCESS % {"length": length} + textwrap.dedent(tail)
    env = os.environ | {"STGRAD_CACHE_DIR": str(tmp_path)} | environment
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=env, timeout=120, check=False)


@pytest.mark.parametrize("delay", [0.0, 0.7, 2.5])
def test_the_end_of_the_process_while_compiling(tmp_path, delay):
    done = run_process(f"time.sleep({delay}); print('end')", 40, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


IN_A_DEL = """
import time
from stgrad.eager.background import Worker

class Slow:
    def __del__(self):
        while True:
            pass

def job():
    for made in (Slow(), None):
        del made

worker = Worker()
worker.submit(job)
time.sleep(0.3)
print("end")
"""


def test_the_end_of_the_process_while_something_is_deleted():
    done = subprocess.run([sys.executable, "-c", IN_A_DEL], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_fork_while_compiling(tmp_path):
    tail = """
        time.sleep(0.2)
        child = os.fork()
        gradient()
        if not child:
            repeats._entries.clear()
            repeats.settings.jit = False
            for _ in range(5):
                gradient()
            repeats.worker.wait()
            gradient()
            os._exit(0 if [e.status for e in repeats._entries.values()] == ["made"] else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = run_process(tail, 3, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_the_environment_decides(tmp_path):
    text = "from stgrad.eager.repeats import settings; print(settings.enabled, settings.wait, settings.jit)"
    for value, wanted in {"0": "False False True", "1": "True False True", "now": "True True True", "plain": "True True False"}.items():
        env = os.environ | {"STGRAD_TAPE_COMPILE": value}
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=env, check=True)
        assert done.stdout.strip() == wanted
