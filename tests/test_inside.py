"""Derivatives that are asked for inside functions that are compiled or differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import testing
from stgrad.errors import ShapeError, TypeInferenceError, UnsupportedCallerError

BOTH = pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
X = np.array([0.3, 1.0, 2.0])
A = np.array([[1.0, 0.5, 0.0], [0.2, -1.0, 3.0]])


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def by_jvp(x):
    value, tangent = stgrad.jvp(lambda z: A @ np.sin(z), (x,), (x**2,))
    return np.sum(value * tangent)


def by_vjp(x):
    value, pullback = stgrad.vjp(lambda z, s: (A @ np.sin(z) * s, s**2), x, x[0])
    by_x, by_s = pullback((value[0], 1.5))
    return np.sum(by_x * x) + by_s


def by_linearize(x):
    value, f_jvp = stgrad.linearize(lambda z: np.sum(z**3 * x), x)
    return value + f_jvp(x) * f_jvp(np.ones(3))


def by_hvp(x):
    (product,) = stgrad.hvp(lambda z: np.sum(z**4) * x[0], (x,), (np.cos(x),))
    return np.sum(product)


def by_jacobian(x):
    return np.sum(stgrad.jacobian(lambda z: A @ z**2 * x[1])(x) ** 2) + np.sum(stgrad.hessian(lambda z: np.sum(z**3))(x))


def by_vmap(x):
    return np.sum(stgrad.vmap(stgrad.grad(lambda z: z**3 * x[0]))(x))


def descent(x):
    """A few steps of a descent whose gradient is taken inside; the result depends on x twice."""
    y = np.zeros(3)
    for _ in range(3):
        y = y - 0.1 * stgrad.grad(lambda z: np.sum((z - x) ** 2 * (1.0 + z**2)))(y)
    return np.sum(y**2)


def pulled_later(x):
    """The pullback is of the moment when it was made."""
    z = x * 2.0
    _, pullback = stgrad.vjp(lambda v: np.sum(v**2), z)
    z[0] = 100.0
    return pullback(1.0)[0][0] * x[1]


ALL = [by_jvp, by_vjp, by_linearize, by_hvp, by_jacobian, by_vmap, descent, pulled_later]


@BOTH
@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_values_and_gradients(f, jit):
    plain = f(X)  # each derivative by itself
    np.testing.assert_allclose(stgrad.jit(f)(X), plain, rtol=1e-12)
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(X), differences(f, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("f", [by_jvp, by_vjp, by_hvp], ids=lambda f: f.__name__)
def test_of_second_order(f):
    gradient = stgrad.grad(f, jit=False)
    np.testing.assert_allclose(stgrad.hessian(f, jit=False)(X), differences(gradient, X), rtol=1e-6, atol=1e-6)


SEVEN = np.array([0.3, 1.0, 2.0, -0.7, 0.4, 1.6, 0.9])
ALONG = np.array([1.0, -0.5, 0.3, 0.8, 1.2, -0.4, 0.6])


def test_a_tangent_from_outside_has_extents_of_its_own():
    """Its symbols are not those that the program has for other arrays."""

    def odd(z):
        total = np.sum(z[1::2] ** 2)
        for i in range(0, 6, 2):
            total += z[i] * 3.0
        return total * z[2]

    def f(x):
        return stgrad.jvp(odd, (x,), (ALONG,))[1] + stgrad.vjp(odd, x)[1](x[0])[0] @ ALONG

    check_in_order(f, SEVEN)


def test_a_parameter_may_be_named_like_a_seed():
    def scaled(z, _seed, _seed0):
        return np.sum(z**2) * _seed + np.sum(z) * _seed0

    def f(x):
        return stgrad.jvp(scaled, (x, x[0], 3.0), (np.ones(3), 1.0, 0.5))[1] + stgrad.vjp(scaled, x, 2.0, x[1])[1](1.0)[1]

    check_in_order(f, X)


def test_a_program_that_tests_a_layout_stands_in_another_one():
    def turned(z):
        row = z.reshape((1, -1))
        row[0, 1] = 3.0 * z[0]
        return np.sum(z**3) * row[0, 2]

    def f(x):
        return np.sum(stgrad.grad(turned)(x) * x) + stgrad.vjp(turned, x)[1](x[2])[0][0]

    check_in_order(f, X)


def check_in_order(f, x):
    for jit in (False, True):
        np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x), differences(f, x), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(stgrad.hessian(f, jit=False)(x), differences(stgrad.grad(f, jit=False), x), rtol=1e-6, atol=1e-6)


def test_auxiliary_data():
    def f(x):
        value, tangent, aux = stgrad.jvp(lambda z: (z**2, {"n": 2.0 * z}), (x,), (1.0,), has_aux=True)
        again, pullback, same = stgrad.vjp(lambda z: (z**2, z), x, has_aux=True)
        return value + tangent * aux["n"] + again * pullback(1.0)[0] * same

    assert stgrad.grad(f, jit=False)(2.0) == pytest.approx(2 * 2.0 + 8 * 2.0 + 8 * 2.0**3)


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda x: stgrad.jvp(np.sum, x, x)[1], TypeInferenceError, "the primals are a tuple"),
        (lambda x: stgrad.jvp(np.sum, (x,), (x, x))[1], TypeInferenceError, "1 primals and 2 tangents"),
        (lambda x: stgrad.vjp(np.sum, x)[1](x)[0], ShapeError, "a cotangent is"),
        (lambda x: stgrad.vjp(np.sum, x)[1]((1.0, 2.0))[0], ShapeError, "not the structure"),
    ],
)
def test_refusals(f, error, message):
    with pytest.raises(error, match=message):
        stgrad.jit(f)(X)


OUTSIDE = {
    "sparse_jacobian": lambda x: np.sum(stgrad.sparse_jacobian(np.sin)(x).data),
    "sparse_hessian": lambda x: np.sum(stgrad.sparse_hessian(np.sum)(x).data),
    "sparsity": lambda x: np.sum(x) * stgrad.sparsity(np.sin, x).nnz,
    "Sparse": lambda x: np.sum(PATTERN(x).data),
    "source": lambda x: len(stgrad.grad(np.sum).source(x)) * np.sum(x),
    "explain": lambda x: stgrad.grad(np.sum).explain(x) and np.sum(x),
    "memory": lambda x: stgrad.grad(np.sum).memory(x).peak * np.sum(x),
    "check_gradient": lambda x: testing.check_gradient(np.sum, (x,)) or np.sum(x),
}
PATTERN = stgrad.sparse_jacobian(np.sin)


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_belongs_outside_is_refused(name):
    with pytest.raises(UnsupportedCallerError, match=f"`{name}` is called in a function that is read"):
        stgrad.grad(OUTSIDE[name], jit=False)(X)
