"""Shapes that are arrays of integers, and stand for their items."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def along_the_last(h):
    shape = np.ones(h.ndim, dtype=int)
    shape[-1] = h.shape[-1]
    phase = np.ones(h.shape[-1])
    phase[1::2] = -1.0
    return np.sum((h * phase.reshape(shape)) ** 2 * np.arange(4.0))


def padded(x):
    shape = np.array(x.shape)
    shape[0] += 4
    out = np.zeros(shape)
    out[2:-2] = x
    return np.sum(out * out * np.full(shape, 0.5)) + np.sum(np.reshape(out, shape[::-1]) ** 3)


def along(x, axis):
    shape = np.ones(x.ndim, dtype=int)
    shape[axis] = x.shape[axis]
    w = np.arange(x.shape[axis]) * 1.0
    return np.sum(x * w.reshape(shape) + np.broadcast_to(w.reshape(shape), np.array(x.shape)) * x**2)


X = np.arange(12.0).reshape(3, 4) + 0.3


@pytest.mark.parametrize("f", [along_the_last, padded, lambda x: along(x, 0), lambda x: along(x, 1)])
@pytest.mark.parametrize("jit", [False, True])
def test_derivatives(f, jit):
    check_gradient(f, (X,), jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_another_size_is_refused(jit):
    def bad(x):
        shape = np.array(x.shape)
        shape[0] = 7
        return np.sum(x.reshape(shape))

    with pytest.raises(ValueError):
        stgrad.grad(bad, jit=jit)(X)
