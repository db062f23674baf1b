"""`batch_jacobian` against the Jacobian of each item."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad.errors import ShapeError

RNG = np.random.default_rng(0)
XS, W = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 2))


def layer(x, w):
    return np.tanh(x @ w)


@pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
def test_against_each_item(jit):
    found = stgrad.batch_jacobian(layer, jit=jit)(XS, W)
    one = stgrad.jacobian(layer, jit=False)
    np.testing.assert_allclose(found, [one(x, W) for x in XS])
    np.testing.assert_allclose(found, stgrad.vmap(stgrad.jacobian(layer), (0, None), jit=False)(XS, W))


def test_shapes():
    images = RNG.normal(size=(4, 2, 3))
    found = stgrad.batch_jacobian(lambda s, x: s * np.stack([x[:, 0] ** 2, x[:, 1]], axis=-1), "x", jit=False)(2.0, images)
    assert found.shape == (4, 3, 2, 2, 3)
    np.testing.assert_allclose(found[1, 2, 0, 0, 2], 4.0 * images[1, 0, 2])
    assert stgrad.batch_jacobian(lambda x: np.sum(x**2, axis=1), jit=False)(XS).shape == (5, 3)


def test_refusals():
    for f in (lambda x: np.sum(x), lambda x: (x, x)):
        with pytest.raises(ShapeError, match="the result is no array"):
            stgrad.batch_jacobian(f, jit=False)(XS)


def test_several_arguments_are_refused():
    with pytest.raises(TypeError, match="argnums is one argument"):
        stgrad.batch_jacobian(lambda x, y: x * y, (0, 1))
