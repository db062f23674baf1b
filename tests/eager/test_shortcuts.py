"""Shortcuts against the rules they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad.eager as tf
from stgrad.eager.dispatch import bind, tensors_in
from stgrad.eager.shortcuts import SHORTCUTS

RNG = np.random.default_rng(0)


def tensor(*shape, dtype=np.float64):
    values = RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else 0.0)
    return tf.Tensor(np.asarray(values).astype(dtype)[()])


PAIRS = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((2, 3), ()), ((1,), (1,)), ((1, 1), (2, 3)), ((0, 3), (3,)), ((), ())]
REDUCTIONS = [((3, 4), None), ((3, 4), (0,)), ((3, 4), (-1,)), ((2, 3, 4), (0, -1)), ((), None), ((2, 3), ()), ((80, 90), (1,)), ((1, 3), (0,))]


def compare(fn, y_bar, args, kwargs=None):
    """The shortcut gives what the rule gives, and leaves out what nobody follows."""
    op = bind(fn)
    y = tf.Tensor(fn(*[x._a if isinstance(x, tf.Tensor) else x for x in args], **(kwargs or {})))
    tensors = tensors_in(args)
    bars = SHORTCUTS[fn](y_bar, args, kwargs, {x._id for x in tensors})
    if bars is None:
        return False
    for x, bar, wanted in zip(tensors, bars, op.pull(y, y_bar, args, kwargs), strict=True):
        assert np.shape(bar) == x._a.shape
        np.testing.assert_allclose(bar, np.broadcast_to(wanted, x._a.shape), rtol=1e-6)
        assert np.asarray(bar).dtype == np.asarray(wanted).dtype
    for x in tensors[1:] if len({t._id for t in tensors}) == len(tensors) else []:
        alone = SHORTCUTS[fn](y_bar, args, kwargs, {x._id})
        assert [bar is None for bar in alone] == [t is not x for t in tensors]
    return True


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("fn", [np.add, np.subtract, np.multiply], ids=lambda f: f.__name__)
def test_arithmetic(fn, dtype):
    for one, two in PAIRS:
        a, b = tensor(*one, dtype=dtype), tensor(*two, dtype=dtype)
        y_bar = tensor(*np.broadcast_shapes(one, two), dtype=dtype)._a
        taken = compare(fn, y_bar, (a, b))
        assert taken or fn is np.multiply
        for number in (2.5, np.float32(0.0)):
            compare(fn, tensor(*one, dtype=dtype)._a, (a, number))
            compare(fn, tensor(*one, dtype=dtype)._a, (number, a))
        compare(fn, tensor(*one, dtype=dtype)._a, (a, a))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matmul(dtype):
    a, b = tensor(3, 4, dtype=dtype), tensor(4, 2, dtype=dtype)
    assert compare(np.matmul, tensor(3, 2, dtype=dtype)._a, (a, b))
    assert not compare(np.matmul, tensor(5, 3, 2, dtype=dtype)._a, (tensor(5, 3, 4, dtype=dtype), b))
    assert not compare(np.matmul, tensor(3, dtype=dtype)._a, (a, tensor(4, dtype=dtype)))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("fn", [np.sum, np.mean], ids=lambda f: f.__name__)
def test_reductions(fn, keepdims):
    for shape, axis in REDUCTIONS:
        for dtype in (np.float32, np.float64, np.complex64):
            y_bar = tensor(*np.sum(np.zeros(shape), axis=axis, keepdims=keepdims).shape, dtype=dtype)._a
            assert compare(fn, y_bar, (tensor(*shape, dtype=dtype),), {"axis": axis, "keepdims": keepdims})
    assert not compare(fn, tensor(3)._a, (tensor(2, 3), 0))


def test_reductions_are_those_of_numpy():
    for shape, axis in REDUCTIONS:
        for dtype in (np.float16, np.float32, np.float64, np.complex128):
            t = tensor(*shape, dtype=dtype)
            for ours, numpys in ((tf.reduce_sum, np.sum), (tf.reduce_mean, np.mean)):
                for keepdims in (False, True):
                    y, wanted = ours(t, axis, keepdims).numpy(), numpys(t._a, axis=axis, keepdims=keepdims)
                    np.testing.assert_array_equal(y, wanted)
                    assert y.dtype == wanted.dtype
    assert np.isnan(tf.reduce_mean(tf.zeros([0])).numpy())
