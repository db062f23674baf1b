"""`Tensor` as a Python and NumPy object: immutability, protocols, conversions, printing beyond what TensorFlow itself checks."""

from __future__ import annotations

import copy
import pickle
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

import stgrad.eager as tf


def test_immutability():
    a = np.ones(3, np.float32)
    t = tf.constant(a)
    u = tf.convert_to_tensor(a)
    w = t * a
    a[:] = 9
    assert t.numpy().tolist() == u.numpy().tolist() == w.numpy().tolist() == [1.0, 1.0, 1.0]
    t.numpy()[:] = 5
    assert t.numpy().tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(TypeError, match="does not support item assignment"):
        t[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(t)[0] = 1.0
    np.array(t)[0] = 1.0


def test_numpy_gives_scalars():
    assert isinstance(tf.constant(1.0).numpy(), np.float32)
    assert isinstance(tf.reduce_sum([1.0]).numpy(), np.float32)
    assert isinstance(tf.constant(np.array(2)).numpy(), np.int64)


def test_numpy_functions_give_tensors():
    t = tf.constant([1.0, 2.0])
    for result in (
        np.sin(t),
        np.add(t, 1.0),
        np.sum(t),
        np.stack([t, t]),
        np.concatenate([t, t]),
        np.where(t > 1, t, 0.0),
        np.maximum(t, 1.5),
    ):
        assert isinstance(result, tf.Tensor) and result.dtype in (tf.float32,)
    assert np.shape(t) == (2,) and np.ndim(t) == 1 and np.size(t) == 2
    assert np.allclose(t, [1.0, 2.0]) and np.array_equal(t, [1.0, 2.0])
    out = np.zeros(2)
    np.add(t, 1.0, out=out)
    assert out.tolist() == [2.0, 3.0]
    assert np.add.reduce(t).numpy() == 3.0
    np.testing.assert_allclose(t, [1.0, 2.0])


def test_numpy_arrays_meet_tensors():
    t, a = tf.constant([1.0, 2.0]), np.array([1.0, 2.0])
    for result in (t + a, a + t, a * t, np.float64(2.0) * t, a - t, a / t, a**t, a > t, a == t):
        assert isinstance(result, tf.Tensor)
    assert (a * t).dtype == tf.float32


def test_no_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = tf.Variable([0.0, -1.0])
        with tf.GradientTape() as tape:
            y = tf.math.log(x) + tf.sqrt(x) + 1.0 / x + x / 0.0 + tf.exp(x * 1e10) + x**0.5
        tape.gradient(y, x)


def test_matplotlib():
    t = tf.linspace(0.0, 1.0, 5)
    (line,) = plt.plot(t, tf.sin(t))
    assert len(line.get_xdata()) == 5
    plt.imshow(tf.ones([2, 2]), vmin=-tf.constant(1.0), vmax=tf.constant(1.0))
    plt.close()


def test_copies_and_pickles():
    t = tf.constant([1.0, 2.0])
    for other in (copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert other is not t and other.numpy().tolist() == [1.0, 2.0]
    assert pickle.loads(pickle.dumps(tf.float32)) is tf.float32
    assert pickle.loads(pickle.dumps(tf.TensorSpec([None]))) == tf.TensorSpec([None])


def test_index_and_format():
    assert [10, 20][tf.constant(1)] == 20
    assert list(range(tf.constant(3))) == [0, 1, 2]
    with pytest.raises(TypeError):
        [10, 20][tf.constant(1.0)]
    assert f"{tf.constant(2.5):.1f} {tf.constant([1, 2])} {tf.constant([1, 2]).shape}" == "2.5 [1 2] (2,)"


def test_attributes_of_numpy_are_named_in_the_error():
    t = tf.constant([1.0, 2.0])
    with pytest.raises(AttributeError, match="tf.reduce_sum"):
        t.sum()
    with pytest.raises(AttributeError, match="tf.transpose"):
        _ = t.T
    with pytest.raises(AttributeError, match="undefined when eager execution is enabled"):
        _ = t.op
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        _ = t.foo


def test_strings():
    t = tf.constant(["a", "bc"])
    assert t.dtype == tf.string and t.numpy().tolist() == [b"a", b"bc"]
    assert repr(t) == "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'bc'], dtype=object)>"


def test_shapes():
    t = tf.ones([2, 3])
    assert t.shape == (2, 3) and t.shape == [2, 3] and t.shape[0] == 2 and t.shape[1:] == (3,) and t.shape.rank == 2
    assert repr(t.shape) == "TensorShape([2, 3])" and str(t.shape) == "(2, 3)"
    assert list(t.shape) == [2, 3] and len(t.shape) == 2
    t.set_shape([None, 3])
    with pytest.raises(ValueError, match="not compatible"):
        t.set_shape([3, 3])
    with pytest.raises(ValueError, match="unknown rank"):
        len(tf.TensorShape(None))
    with pytest.raises(ValueError, match="incompatible"):
        tf.TensorShape([1]).assert_is_compatible_with([2])


def test_dtypes():
    assert tf.float32 == np.float32 and tf.float32 == "float32" and tf.float32 != tf.float64 and tf.float32 != None  # noqa: E711
    assert {tf.float32: 1}[tf.as_dtype("float32")] == 1
    assert tf.int8.limits == (-128, 127) and tf.bool.max is True
    with pytest.raises(TypeError, match="Cannot convert the argument `type_value`: 'nought' to a TensorFlow DType."):
        tf.as_dtype("nought")
    with pytest.raises(TypeError, match="minimum"):
        _ = tf.string.min
