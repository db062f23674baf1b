"""How much recording and sweeping do, counted in Python frames: no clock, so that a busy machine changes nothing. Times are in `benchmarks`."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sweeping import set_settings

import stgrad.eager as tf
from stgrad.eager import repeats
from stgrad.eager.fingerprint import fingerprint


def frames(f):
    """Python functions that a call runs, without itself."""
    count = 0

    def seen(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        f()
    finally:
        sys.setprofile(None)
    return count - 1


OPERATIONS = {
    "multiply": (lambda t: t * t, 6),
    "scale": (lambda t: t * 2.0, 7),
    "add": (lambda t: t + t, 6),
    "sin": (tf.sin, 5),
    "reduce_sum": (tf.reduce_sum, 9),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shape", [(), (10,)])
def test_recording_runs_few_functions(name, shape):
    operation, limit = OPERATIONS[name]
    t = tf.constant(np.full(shape, 0.5, np.float32))
    with tf.GradientTape() as tape:
        tape.watch(t)
        operation(t)  # what the first call looks up
        assert min(frames(lambda: operation(t)) for _ in range(3)) <= limit


def chain(n):
    x = tf.constant(0.5)
    with tf.GradientTape(compile=False) as tape:
        tape.watch(x)
        y = x
        for _ in range(n):
            y = tf.sin(y) * 1.01
    return tape.gradient(y, x)


def test_work_is_linear_in_the_length():
    chain(3)
    counts = [frames(lambda n=n: chain(n)) for n in (100, 200, 400)]
    assert abs(counts[2] - counts[1] - 2 * (counts[1] - counts[0])) < 50  # the collector may run finalizers of other tests
    assert counts[1] - counts[0] <= 100 * 18  # for two operations: record, key and sweep


def recorded():
    x = tf.constant(0.5)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x
        for _ in range(100):
            y = tf.sin(y) * 1.01
    return tape, x, y


def test_the_key_of_a_structure_runs_no_function_a_node():
    tape, x, y = recorded()
    nodes = tape._tape.nodes
    assert frames(lambda: fingerprint(nodes, [y._id], [x._id])) < 60 < len(nodes)


def test_a_compiled_sweep_does_less(monkeypatch):
    set_settings(monkeypatch, repeats.Settings(seen=1, seconds=0.0, wait=True))
    tape, x, y = recorded()
    wanted = float(tape.gradient(y, x))
    for _ in range(40):  # the first ones are compared and timed
        found = float(tape.gradient(y, x))
    assert [e.status for e in repeats._entries.values()] == ["checked"]
    assert abs(found - wanted) < 1e-6
    assert frames(lambda: tape.gradient(y, x)) < 100 <= len(tape._tape.nodes)
