"""What recording costs, and that nothing grows faster than the program: best times of many, so that a busy machine does not matter."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sweeping import set_settings

import stgrad.eager as tf
from stgrad.eager import repeats
from stgrad.eager.fingerprint import fingerprint


def best(f, n=300, rounds=30):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(n):
            f()
        times.append((time.perf_counter() - start) / n)
    return min(times)


OPERATIONS = {
    "multiply": (lambda t: t * t, lambda a: np.multiply(a, a)),
    "scale": (lambda t: t * 2.0, lambda a: np.multiply(a, 2.0)),
    "sin": (tf.sin, np.sin),
    "add": (lambda t: t + t, lambda a: np.add(a, a)),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shape", [(), (10,)])
def test_recording_costs_little(name, shape):
    ours, numpys = OPERATIONS[name]
    t = tf.constant(np.full(shape, 0.5, np.float32))
    plain = best(lambda: numpys(t._a))
    recorded = []
    for _ in range(10):
        with tf.GradientTape() as tape:
            tape.watch(t)
            recorded.append(best(lambda: ours(t), n=200, rounds=3))
    assert min(recorded) - plain < 2.5e-6


def chain(n):
    x = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(n):
            y = tf.sin(y) * 1.01
    return tape.gradient(y, x)


def test_time_is_linear_in_the_length():
    short, long = best(lambda: chain(100), 3, 5), best(lambda: chain(2000), 1, 5)
    assert long < 200 * short  # 20 times as long, and the garbage collector walks what is kept


def test_a_short_chain_and_a_small_network_step():
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(32, 10)).astype(np.float32))
    weights = [tf.Variable(rng.normal(size=s).astype(np.float32)) for s in ((10, 20), (20,), (20, 1), (1,))]

    def step():
        with tf.GradientTape() as tape:
            h = tf.tanh(x @ weights[0] + weights[1])
            loss = tf.reduce_mean((h @ weights[2] + weights[3]) ** 2)
        return tape.gradient(loss, weights)

    assert best(lambda: chain(100), 3, 10) < 3e-3  # 200 operations; TensorFlow's eager tape takes about 5 ms, autograd 1.8 ms
    assert best(step, 10, 10) < 1e-3


def test_the_key_of_a_structure_costs_little():
    """Less than a microsecond a node, where an interpreted sweep takes about two."""
    x = tf.constant(0.5)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x
        for _ in range(100):
            y = tf.sin(y) * 1.01
    nodes = tape._tape.nodes
    assert best(lambda: fingerprint(nodes, [y._id], [x._id]), 1, 200) < 1e-6 * len(nodes)


def test_a_compiled_sweep_is_faster(monkeypatch):
    set_settings(monkeypatch, repeats.Settings(seen=1, seconds=0.0, wait=True))
    x = tf.constant(0.5)

    def run(compile):
        with tf.GradientTape(persistent=True, compile=compile) as tape:
            tape.watch(x)
            y = x
            for _ in range(100):
                y = tf.sin(y) * 1.01
        return best(lambda: tape.gradient(y, x), 1, 50), float(tape.gradient(y, x))

    slow, wanted = run(False)
    fast, found = run(True)
    assert [e.status for e in repeats._entries.values()] == ["checked"]
    assert abs(found - wanted) < 1e-6 and fast < 0.7 * slow
