"""Arrays that `functools.partial` holds, and defaults that are arrays, in derivatives that put a program around the function."""

import functools

import numpy as np
import pytest

import stgrad

X = np.array([1.0, 2.0, 3.0])


def loss(a, b, scale=2.0):
    c = a * b
    return scale * np.sum(c**2)


def with_default(a, b=X + 1.0):
    return np.sum((a * b) ** 2)


def by_keyword(a, *, b=X + 1.0, k=(X, 2)):
    return np.sum((a * b) ** 2) * k[0][1] / k[1]


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, a, b=X + 1.0):
        return np.sum((a * b) ** 2) + np.sum(self.w * a)


FUNCTIONS = [
    functools.partial(loss, b=X + 1.0),
    functools.partial(functools.partial(loss, b=X + 1.0), scale=1.0),
    functools.partial(with_default, b=X * 2.0),
    with_default,
    by_keyword,
    Model(X).loss,
]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("jit", [False, True])
def test_all_derivatives(f, jit):
    direction = np.array([0.3, -1.0, 0.5])
    gradient = stgrad.grad(f, jit=jit)(X)
    value, tangent = stgrad.jvp(f, (X,), (direction,), jit=jit)
    assert np.isclose(value, f(X)) and np.isclose(tangent, gradient @ direction)
    hessian = np.stack([(stgrad.grad(f, jit=False)(X + e) - stgrad.grad(f, jit=False)(X - e)) / 2.0 for e in np.eye(3)])  # they are quadratic
    assert np.allclose(stgrad.hessian(f, jit=jit)(X), hessian)
    (product,) = stgrad.hvp(f, (X,), (direction,), jit=jit)
    assert np.allclose(product, hessian @ direction)
    assert np.allclose(stgrad.jacfwd(f, jit=jit)(X), gradient)


def test_the_array_is_read_at_each_call():
    held = X + 1.0
    f = functools.partial(loss, b=held)
    push = lambda: stgrad.jvp(f, (X,), (X,))[1]  # noqa: E731
    first = push()
    held *= 2.0
    assert np.isclose(push(), 4.0 * first)
    assert np.isclose(stgrad.jvp(functools.partial(loss, b=X + 1.0), (X,), (X,))[1], first)


def test_a_default_that_is_replaced():
    def f(a, b=X):
        return np.sum(a * b)

    assert np.isclose(stgrad.jvp(f, (X,), (X,))[1], X @ X)
    f.__defaults__ = (3.0 * X,)
    assert np.isclose(stgrad.jvp(f, (X,), (X,))[1], 3.0 * X @ X)
