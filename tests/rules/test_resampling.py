"""Images at other places: the values of SciPy's for all borders, and its refusals of arguments of another length."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage as nd
import scipy.signal as ss

import stgrad
from stgrad import errors
from stgrad.rules import resampling


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", resampling.MODES)
@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 2), (1, 4)])
def test_places_far_outside(shape, mode, order) -> None:
    rng = np.random.default_rng(0)
    x, places = rng.normal(size=shape), rng.uniform(-13.0, 13.0, (len(shape), 50))
    wanted = nd.map_coordinates(x, places, order=order, mode=mode, cval=0.3)
    np.testing.assert_allclose(resampling.map_coordinates(x, places, order=order, mode=mode, cval=0.3), wanted, atol=1e-12)


X = np.arange(12.0).reshape(3, 4)
OTHER_LENGTHS = [
    lambda x: nd.map_coordinates(x, np.ones((3, 2)), order=1),
    lambda x: nd.shift(x, (1.0, 2.0, 3.0), order=1),
    lambda x: nd.zoom(x, (1.0, 2.0, 3.0), order=1),
    lambda x: nd.affine_transform(x, np.ones(3), order=1),
    lambda x: nd.median_filter(x, (3, 3, 3)),
]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", OTHER_LENGTHS)
def test_a_number_for_each_axis(f, jit) -> None:
    with pytest.raises(RuntimeError):
        f(X)
    with pytest.raises(RuntimeError, match="length equal to input rank"):
        stgrad.grad(lambda x: np.sum(f(x)), jit=jit)(X)


def test_refusals() -> None:
    with pytest.raises(errors.UnsupportedSyntaxError, match="order=1"):
        stgrad.grad(lambda x: np.sum(nd.zoom(x, 2)))(X)
    with pytest.raises(errors.UnsupportedSyntaxError, match="odd size"):
        stgrad.grad(lambda x: np.sum(ss.medfilt(x, 2)))(X)
    np.testing.assert_allclose(stgrad.value_and_grad(lambda x: np.sum(ss.medfilt(x, None)))(X)[0], np.sum(ss.medfilt(X)))
