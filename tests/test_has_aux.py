"""`has_aux` of Jacobians and Hessians: a second result that is given back as it is, as in JAX."""

import numpy as np
import pytest

import stgrad
from stgrad import errors

X = np.array([0.3, -0.2, 0.5])
W = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]])


def layer(x, w, *, scale=2.0):
    z = w @ x
    return scale * np.tanh(z), {"z": z, "size": x.shape[0]}


def only(x, w, *, scale=2.0):
    return layer(x, w, scale=scale)[0]


def loss(x, w):
    z = w @ x
    return np.sum(np.sin(z) ** 2), z


@pytest.mark.parametrize("make", [stgrad.jacobian, stgrad.jacfwd, stgrad.jacrev])
@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("argnums", [0, (0, 1), "w"])
def test_jacobians(make, jit, argnums):
    found, aux = make(layer, argnums, has_aux=True, jit=jit)(X, W, scale=3.0)
    wanted = make(only, argnums, jit=jit)(X, W, scale=3.0)
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    np.testing.assert_allclose(aux["z"], W @ X)
    assert aux["size"] == 3


@pytest.mark.parametrize("jit", [True, False])
def test_hessian(jit):
    found, z = stgrad.hessian(loss, has_aux=True, jit=jit)(X, W)
    np.testing.assert_allclose(found, stgrad.hessian(lambda x, w: loss(x, w)[0], jit=jit)(X, W), rtol=1e-13)
    np.testing.assert_allclose(z, W @ X)


def test_it_is_a_decorator_and_a_program():
    @stgrad.jacfwd(has_aux=True)
    def squares(x):
        return x**2, np.sum(x)

    np.testing.assert_allclose(squares(X)[0], np.diag(2.0 * X))
    assert squares.__name__ == "squares_jacobian"
    assert "def squares_jacobian(x):" in squares.source(X)
    np.testing.assert_allclose(stgrad.grad(lambda x: np.sum(squares(x)[0]) + squares(x)[1])(X), 3.0)


def test_functions_of_one_name_with_other_parameters():
    one = stgrad.jacobian(lambda x: (x**2, 1.0), has_aux=True)
    two = stgrad.jacobian(lambda x, y: (x * y, 1.0), has_aux=True)
    np.testing.assert_allclose(one(X)[0], np.diag(2.0 * X))
    np.testing.assert_allclose(two(X, 3.0)[0], 3.0 * np.eye(3))
    np.testing.assert_allclose(one(X[:2])[0], np.diag(2.0 * X[:2]))


def test_a_function_without_a_second_result_is_refused():
    with pytest.raises(errors.StgradError):
        stgrad.jacobian(lambda x: 2.0 * np.sum(x), has_aux=True, jit=True)(X)
