"""`np.broadcast(a, b)`: the shape that arrays have together, of which results are made."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def quaternions(p, q):
    made = np.empty(np.broadcast(p, q).shape)
    made[..., 0] = p[..., 0] * q[..., 0] - np.sum(p[..., 1:] * q[..., 1:], axis=-1)
    made[..., 1:] = p[..., 0, np.newaxis] * q[..., 1:] + q[..., 0, np.newaxis] * p[..., 1:] + np.cross(p[..., 1:], q[..., 1:])
    return np.sum(made**3)


def told(p, q):
    both = np.broadcast(p, 2.0, q)
    return np.sum(p) * both.size + np.sum(q) * both.ndim * both.numiter + both.nd


RNG = np.random.default_rng(4)
PAIRS = [(RNG.standard_normal((3, 4)), RNG.standard_normal(4)), (RNG.standard_normal((1, 4)), RNG.standard_normal((2, 1, 4)))]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("args", PAIRS)
@pytest.mark.parametrize("function", [quaternions, told])
def test_shape_of_arrays_together(function, args, jit):
    assert stgrad.value_and_grad(function, jit=jit)(*args)[0] == pytest.approx(function(*args))
    check_gradient(function, args, argnums=(0, 1), jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_shapes_that_do_not_fit(jit):
    with pytest.raises(ValueError, match=r"broadcast"):
        stgrad.grad(quaternions, jit=jit)(np.ones((3, 4)), np.ones((2, 4)))


@pytest.mark.parametrize("jit", [True, False])
def test_its_items_are_pairs(jit):
    def by_items(p, q):
        return sum(a * b**2 for a, b in np.broadcast(p, q))

    check_gradient(by_items, (np.array([[0.5], [1.5]]), np.array([1.0, 2.0, -0.5])), jit=jit)
