"""unbroadcast, compiled and plain."""

import numba
import numpy as np
import pytest

from stgrad.runtime import unbroadcast


@numba.njit
def compiled(g, like):
    return unbroadcast(g, like)


@pytest.mark.parametrize(
    ("shape", "like"),
    [
        ((2, 3), (3,)),
        ((2, 3), (2, 1)),
        ((2, 3), (1, 1)),
        ((4, 2, 3), (2, 1)),
        ((2, 3), (2, 3)),
        ((2, 3), ()),
        ((3,), None),
        ((1, 3), (1, 3)),
        ((0, 3), (1, 3)),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_sums_over_stretched_axes(shape, like, dtype):
    g = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape).astype(dtype)
    target = 0.5 if like is None else np.zeros(like, dtype)
    # The defining property: the adjoint of broadcasting, <g, broadcast(u)> = <unbroadcast(g), u>.
    u = np.asarray(np.random.default_rng(0).normal(size=like or ()))
    for f in (unbroadcast, compiled):
        y = f(g, target)
        assert np.shape(y) == (like or ()) and (like is None or y.dtype == dtype)  # Numba hands float32 scalars out as float
        np.testing.assert_allclose(np.sum(y * u), np.sum(g * np.broadcast_to(u, shape)), rtol=1e-5)
        assert not np.shares_memory(y, g)


def test_scalars_pass():
    assert unbroadcast(2.5, 1.0) == compiled(2.5, 1.0) == 2.5
