"""`has_aux` of Jacobians, Hessians, products with them and derivatives of items: a second result that is given back as it is, as in JAX."""

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.testing import check_gradient

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


def each(x, w):
    y = np.sin(x) * w
    return y, {"mean": np.mean(y)}


def batch(x):
    return x**2 * x[:, ::-1], np.sum(x)


@pytest.mark.parametrize("jit", [True, False])
def test_elementwise_and_of_each_item(jit):
    found, aux = stgrad.elementwise_grad(each, (0, 1), has_aux=True, jit=jit)(X, 2.0 * X)
    np.testing.assert_allclose(found[0], np.cos(X) * 2.0 * X)
    np.testing.assert_allclose(aux["mean"], np.mean(np.sin(X) * 2.0 * X))
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    found, aux = stgrad.batch_jacobian(batch, has_aux=True, jit=jit)(rows)
    np.testing.assert_allclose(found, stgrad.batch_jacobian(lambda x: batch(x)[0], jit=jit)(rows))
    assert aux == 10.0


@pytest.mark.parametrize("jit", [True, False])
def test_hessian_times_a_vector(jit):
    v = np.array([1.0, -1.0, 2.0])
    wanted = stgrad.hessian(lambda x, w: loss(x, w)[0], jit=jit)(X, W) @ v
    (product, none), z = stgrad.hvp(loss, (X, W), (v, None), has_aux=True, jit=jit)
    np.testing.assert_allclose(product, wanted, rtol=1e-12)
    np.testing.assert_allclose(none, stgrad.hvp(lambda x, w: loss(x, w)[0], (X, W), (v, None), jit=jit)[1])
    np.testing.assert_allclose(z, W @ X)
    product, z = stgrad.hvp(loss, has_aux=True, jit=jit)(X, W, v)
    np.testing.assert_allclose(product, wanted, rtol=1e-12)
    np.testing.assert_allclose(z, W @ X)


def test_hessian_times_a_vector_inside():
    def inner(x):
        (product, none), z = stgrad.hvp(loss, (x, W), (x, None), has_aux=True)
        other, z2 = stgrad.hvp(loss, argnums=0, has_aux=True)(x, W, x)
        return np.sum(product * other) + np.sum(z * z2)

    wanted = np.sum((stgrad.hessian(lambda x, w: loss(x, w)[0])(X, W) @ X) ** 2) + np.sum((W @ X) ** 2)
    np.testing.assert_allclose(stgrad.jit(inner)(X), wanted, rtol=1e-12)
    check_gradient(inner, (X,))


@pytest.mark.parametrize("jit", [True, False])
def test_sparse(jit):
    found, aux = stgrad.sparse_jacobian(lambda x: (x[1:] * x[:-1], np.sum(x)), has_aux=True, jit=jit)(X)
    np.testing.assert_allclose(found.toarray(), [[X[1], X[0], 0.0], [0.0, X[2], X[1]]])
    np.testing.assert_allclose(aux, np.sum(X))
    found, aux = stgrad.sparse_hessian(lambda x: (np.sum(x[1:] * x[:-1] ** 2), {"first": x[0]}), has_aux=True, jit=jit)(X)
    np.testing.assert_allclose(found.toarray(), stgrad.hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2), jit=jit)(X))
    assert aux == {"first": X[0]}
