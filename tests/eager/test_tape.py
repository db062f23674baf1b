"""The life cycle of a tape: entering, leaving, stopping, resetting, nesting, threads, memory."""

from __future__ import annotations

import gc
import logging
import threading
import weakref

import numpy as np
import pytest

import stgrad.eager as tf
from stgrad.eager.record import state


def value(t):
    return None if t is None else t.numpy().tolist()


def test_second_gradient_of_a_single_use_tape():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only be used to compute one set of gradients"):
        tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="one set of gradients"):
        tape.jacobian(y, x)


def test_never_entered():
    x = tf.constant(3.0)
    tape = tf.GradientTape()
    assert tape.watched_variables() == ()
    with pytest.raises(RuntimeError):
        tape.gradient(x, x)
    with pytest.raises(AttributeError, match="with tf.GradientTape"):
        tape.watch(x)
    with pytest.raises(RuntimeError, match="Trying to stop recording a tape which is not recording."), tape.stop_recording():
        pass
    with pytest.raises(ValueError, match="Tape is not recording."):
        tape.reset()


def test_gradient_inside_the_context_ends_a_single_use_tape():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        assert value(tape.gradient(y, x)) == 6.0
        y * x
        with pytest.raises(RuntimeError):
            tape.gradient(y, x)
    assert state.recorders == ()


def test_gradient_inside_the_context_of_a_persistent_tape_is_recorded(caplog):
    from stgrad.eager import logs

    logs._given.clear()
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape, caplog.at_level(logging.WARNING, "stgrad"):
        y = x * x * x
        g = tape.gradient(y, x)
        tape.gradient(y, x)
    assert [r.getMessage()[:41] for r in caplog.records] == ["Calling GradientTape.gradient on a persis"]
    assert value(g) == 27.0
    assert value(tape.gradient(g, x)) == 18.0


def test_re_entry():
    x = tf.Variable(3.0)
    tape = tf.GradientTape(persistent=True)
    with tape:
        y = x * x
    between = x * 10.0
    with tape:
        z = y * x + between
    assert value(tape.gradient(z, x)) == 27.0  # `between` is constant
    single = tf.GradientTape()
    with single:
        y = x * x
    with single:
        z = y * x
    assert value(single.gradient(z, x)) == 27.0
    with single:
        y = x * x * x
    assert value(single.gradient(y, x)) == 27.0


def test_entering_an_active_tape():
    with (
        tf.GradientTape() as tape,
        pytest.raises(ValueError, match="Tape is still recording, This can happen if you try to re-enter an already-active tape."),
    ):
        tape.__enter__()


def test_exception_in_the_block():
    x = tf.Variable(3.0)
    with pytest.raises(KeyError), tf.GradientTape() as tape:
        y = x * x
        raise KeyError
    assert state.recorders == ()
    assert value(tape.gradient(y, x)) == 6.0


def test_stop_recording_stops_only_its_own_tape():
    x = tf.Variable(3.0)
    with tf.GradientTape() as one, tf.GradientTape() as two:
        with one.stop_recording():
            y = x * x
        z = y * x
    assert value(one.gradient(z, x)) == 9.0
    assert value(two.gradient(z, x)) == 27.0


def test_recording_resumes_after_an_exception():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError
        y = x * x
    assert value(tape.gradient(y, x)) == 6.0


def test_gradient_inside_stop_recording_uses_up_a_single_use_tape():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            assert value(tape.gradient(y, x)) == 6.0
        z = y * 2.0
    assert tape.gradient(z, x) is None


def test_reset_forgets_watches():
    x, v = tf.constant(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        tape.reset()
        y = x * v
    assert tape.gradient(y, x) is None
    assert value(tape.gradient(y, v)) == 2.0
    assert len(tape.watched_variables()) == 1 and tape.watched_variables()[0] is v


def test_overlapping_tapes():
    x = tf.Variable(3.0)
    one, two = tf.GradientTape(), tf.GradientTape()
    one.__enter__()
    y = x * x
    two.__enter__()
    z = y * x
    one.__exit__(None, None, None)
    w = z * x
    two.__exit__(None, None, None)
    assert value(one.gradient(z, x)) == 27.0
    assert value(two.gradient(w, x)) == 54.0  # w = y x x, where y came before the second tape


def test_watch():
    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch({"x": x, "rest": [y]})
        z = x * y
    assert [value(g) for g in tape.gradient(z, [x, y])] == [3.0, 2.0]


@pytest.mark.parametrize("thing", [3.0, np.ones(2), None])
def test_watch_of_what_is_no_tensor(thing):
    with tf.GradientTape() as tape, pytest.raises(ValueError, match="not tf.Tensor or tf.Variable or ExtensionType.*tf.constant"):
        tape.watch(thing)


def test_watch_of_integers_warns(caplog):
    from stgrad.eager import logs

    logs._given.clear()
    x = tf.constant(3)
    with tf.GradientTape() as tape, caplog.at_level(logging.WARNING, "stgrad"):
        tape.watch(x)
        y = tf.cast(x, tf.float32) * 2.0
    assert "The dtype of the watched tensor must be floating" in caplog.text
    assert tape.gradient(y, x) is None


def test_watch_is_local_and_too_late_for_the_past():
    x = tf.constant(3.0)
    with tf.GradientTape() as one, tf.GradientTape() as two:
        one.watch(x)
        y = x * x
        two.watch(x)
        z = y + x
    assert value(one.gradient(z, x)) == 7.0
    assert value(two.gradient(z, x)) == 1.0


def test_equal_constants_are_distinct():
    a, b = tf.constant(2.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = a * 3.0
    assert [value(g) for g in tape.gradient(y, [a, b])] == [3.0, None]


@pytest.mark.parametrize("f", [tf.identity, lambda x: x + 0.0, lambda x: x * 1.0])
def test_identities_make_new_tensors(f):
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        z = x * y
    assert value(tape.gradient(z, y)) == 2.0
    assert value(tape.gradient(z, x)) == 4.0


def test_watched_variables():
    late, early = None, None
    early = tf.Variable(1.0)
    late = tf.Variable(2.0)
    fixed = tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = late * early * early * fixed
    for _ in range(2):
        watched = tape.watched_variables()
        assert len(watched) == 2 and watched[0] is early and watched[1] is late
        tape = used_up(tape, y, early)


def used_up(tape, y, x):
    if tape._tape is not None:
        tape.gradient(y, x)
    return tape


def test_non_trainable_variables():
    v = tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * v
    assert tape.gradient(y, v) is None
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = v * v
    assert value(tape.gradient(y, v)) == 6.0


def test_values_at_the_time_of_reading():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        v.assign_add(1.0)
    assert value(tape.gradient(y, v)) == 6.0
    with tf.GradientTape() as tape:
        v.assign(v * v)
        y = v * 3.0
    assert value(tape.gradient(y, v)) == 3.0
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        a = v * 1.0
        v.assign(5.0)
        y = a + v * 10.0
    assert value(tape.gradient(y, v)) == 11.0


def test_numpy_cuts():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.constant(v.numpy() ** 2) * 1.0
    assert tape.gradient(y, v) is None


def test_thousands_of_operations():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x
        for _ in range(20000):
            y = y * 1.0001
    assert value(tape.gradient(y, x)) == pytest.approx(1.0001**20000, rel=1e-3)


def test_other_threads_are_not_recorded():
    x = tf.Variable(3.0)
    found = []
    with tf.GradientTape() as tape:
        thread = threading.Thread(target=lambda: found.append(x * x))
        thread.start()
        thread.join()
        y = found[0] + x
    assert value(tape.gradient(y, x)) == 1.0


def test_tapes_in_threads():
    def work(n):
        x = tf.Variable(float(n))
        for _ in range(50):
            with tf.GradientTape() as tape:
                y = x * x
            results[n] = value(tape.gradient(y, x))

    results = {}
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == {n: 2.0 * n for n in range(8)}


# ------------------------------------------------------------------ memory


@pytest.fixture
def no_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_memory_is_released_by_the_first_gradient(no_gc):
    x = tf.Variable(np.ones(10, np.float32))
    with tf.GradientTape() as tape:
        middle = tf.sin(x)
        alive = weakref.ref(middle)
        y = tf.reduce_sum(middle * middle)
    del middle
    assert alive() is not None
    tape.gradient(y, x)
    assert alive() is None


def test_memory_of_a_persistent_tape_is_released_with_it(no_gc):
    x = tf.Variable(np.ones(10, np.float32))
    with tf.GradientTape(persistent=True) as tape:
        middle = tf.sin(x)
        alive = weakref.ref(middle)
        y = tf.reduce_sum(middle * middle)
    del middle
    tape.gradient(y, x)
    assert alive() is not None
    own = weakref.ref(tape)
    del tape
    assert own() is None
    assert alive() is None


def test_memory_of_jacobians_and_higher_orders_is_released(no_gc):
    x = tf.Variable(np.ones(3, np.float32))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            middle = tf.sin(x)
            alive = weakref.ref(middle)
            y = middle * middle
        g = inner.gradient(y, x)
    del middle
    outer.jacobian(g, x)
    assert alive() is None


def test_unwatched_operations_are_not_kept(no_gc):
    with tf.GradientTape() as tape:
        middle = tf.sin(tf.constant([1.0]))
        alive = weakref.ref(middle)
        tf.exp(middle)
    del middle
    assert alive() is None
    assert tape is not None


def test_no_recorder_is_left_after_errors():
    v = tf.Variable(1.0)

    @tf.custom_gradient
    def bad(x):
        def grad(dy):
            raise KeyError("in grad")

        return x * 1.0, grad

    with tf.GradientTape() as tape:
        y = bad(v)
    with pytest.raises(KeyError):
        tape.gradient(y, v)
    assert state.recorders == ()
    assert state.numpy_promotion is False

    @tf.custom_gradient
    def worse(x):
        raise KeyError("in f")

    with pytest.raises(KeyError), tf.GradientTape():
        worse(v)
    assert state.recorders == ()
