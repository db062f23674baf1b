"""`Variable`."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import stgrad.eager as tf


def value(t):
    return t.numpy().tolist()


def test_making():
    assert tf.Variable(1.0).dtype == tf.float32
    assert tf.Variable(lambda: [1.0, 2.0]).shape == (2,)
    assert tf.Variable(1.0, dtype=tf.float64).dtype == tf.float64
    v = tf.Variable([1.0], name="w", trainable=False, constraint=abs)
    assert (v.name, v.trainable, v.constraint) == ("w:0", False, abs)
    assert v.device.endswith("CPU:0")
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()
    with pytest.raises(ValueError, match="not compatible with the explicitly supplied `shape`"):
        tf.Variable([1.0], shape=[2])


def test_assign():
    v = tf.Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]) is v
    assert value(v.assign_add([1.0, 1.0])) == [4.0, 5.0]
    assert value(v.assign_sub([1.0, 1.0])) == [3.0, 4.0]
    assert v.assign([0.0, 0.0], read_value=False) is None
    with pytest.raises(ValueError, match="Cannot assign value to variable 'Variable:0': Shape mismatch"):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="dtype"):
        v.assign(tf.constant([1.0, 2.0], tf.float64))
    with pytest.raises(ValueError, match="shapes must be equal"):
        v.assign_add([1.0, 2.0, 3.0])
    free = tf.Variable([1.0], shape=tf.TensorShape(None))
    assert value(free.assign([[1.0, 2.0]])) == [[1.0, 2.0]]


def test_the_source_array_cannot_reach_the_variable():
    a = np.ones(2, np.float32)
    v = tf.Variable(a)
    a[:] = 5
    assert value(v) == [1.0, 1.0]
    v.assign(a)
    a[:] = 7
    assert value(v) == [5.0, 5.0]
    v.numpy()[:] = 9
    assert value(v) == [5.0, 5.0]


def test_sliced_assign():
    v = tf.Variable([1.0, 2.0, 3.0])
    v[0].assign(9.0)
    v[1:].assign([8.0, 7.0])
    v[-1].assign_add(1.0)
    assert value(v) == [9.0, 8.0, 8.0]
    with pytest.raises(TypeError):
        v[0] = 1.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        v[:2].assign([1.0, 2.0, 3.0])
    with pytest.raises(AttributeError):
        tf.constant([1.0])[0].assign(1.0)


def test_in_place_operators_are_refused():
    v = tf.Variable(1.0)
    with pytest.raises(RuntimeError, match="assign_add"):
        v += 1.0
    with pytest.raises(RuntimeError, match="assign_sub"):
        v -= 1.0
    with pytest.raises(RuntimeError, match="assign"):
        v *= 1.0
    with pytest.raises(RuntimeError, match="assign"):
        v /= 1.0


def test_hash_and_reference():
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"Variable is unhashable. Instead, use variable.ref\(\) as the key."):
        hash(v)
    assert v.ref() == v.ref() and v.ref() != w.ref()
    assert v.ref().deref() is v and len({v.ref(), v.ref(), w.ref()}) == 2
    t = tf.constant(1.0)
    with pytest.raises(TypeError, match="Tensor is unhashable"):
        hash(t)
    assert t.ref().deref() is t


def test_scatter():
    def fresh():
        return tf.Variable([1.0, 2.0, 3.0])

    s = tf.IndexedSlices(tf.constant([10.0, 4.0]), tf.constant([0, 2]))
    assert value(fresh().scatter_add(s)) == [11.0, 2.0, 7.0]
    assert value(fresh().scatter_sub(s)) == [-9.0, 2.0, -1.0]
    assert value(fresh().scatter_mul(s)) == [10.0, 2.0, 12.0]
    assert value(fresh().scatter_div(s)) == [np.float32(0.1), 2.0, 0.75]
    assert value(fresh().scatter_min(s)) == [1.0, 2.0, 3.0]
    assert value(fresh().scatter_max(s)) == [10.0, 2.0, 4.0]
    assert value(fresh().scatter_update(s)) == [10.0, 2.0, 4.0]
    assert value(fresh().scatter_nd_add([[0], [0]], [1.0, 2.0])) == [4.0, 2.0, 3.0]
    assert value(fresh().scatter_nd_sub([[0]], [1.0])) == [0.0, 2.0, 3.0]
    assert value(fresh().scatter_nd_update([[1]], [9.0])) == [1.0, 9.0, 3.0]
    batched = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    batched.batch_scatter_update(tf.IndexedSlices(tf.constant([[9.0], [8.0]]), tf.constant([[1], [0]])))
    assert value(batched) == [[1.0, 9.0], [8.0, 4.0]]
    with pytest.raises(TypeError, match="IndexedSlices"):
        fresh().scatter_add([1.0])


def test_count_up_to():
    v = tf.Variable(0)
    assert [int(v.count_up_to(2)) for _ in range(2)] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError):
        v.count_up_to(2)


def test_reading():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert isinstance(v.value(), tf.Tensor) and isinstance(v.read_value(), tf.Tensor)
    assert not isinstance(v, tf.Tensor) and tf.is_tensor(v)
    assert value(v.sparse_read([1])) == [[3.0, 4.0]]
    assert value(v.gather_nd([[0, 1]])) == [2.0]
    assert [value(row) for row in v] == [[1.0, 2.0], [3.0, 4.0]]
    assert len(v) == 2 and float(tf.Variable(2.0)) == 2.0 and bool(tf.Variable(2.0)) and int(tf.Variable(2)) == 2
    assert np.asarray(v).sum() == 10.0
    assert value(np.sum(v)) == 10.0
    assert list(range(3))[tf.Variable(1)] == 1


def test_operators():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 3.0])
    assert value(v == w) == [True, False]
    assert value(v < w) == [False, True]
    assert value(2.0 * v + w - 1.0) == [2.0, 6.0]
    assert value(np.ones(2) + v) == [2.0, 3.0]
    assert value(-v) == [-1.0, -2.0]
    assert value(tf.eye(2) @ tf.reshape(v, [2, 1])) == [[1.0], [2.0]]


def test_copies_and_pickles():
    v = tf.Variable([1.0, 2.0], name="w", trainable=False)
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert value(other) == [1.0, 2.0] and not other.trainable
        other.assign([0.0, 0.0])
        assert value(v) == [1.0, 2.0]


def test_set_shape():
    v = tf.Variable([1.0], shape=[None])
    v.set_shape([1])
    assert v.shape == (1,)
    with pytest.raises(ValueError, match="incompatible"):
        v.set_shape([2])


def test_value_and_source_are_not_shared_between_variables():
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable(v)
    w[0].assign(9.0)
    assert value(v) == [1.0, 2.0]
