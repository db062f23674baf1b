"""Lists whose length the running program decides, as results: values, pullbacks, tangents, data beside a gradient, callers that cannot have them."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors

X = np.array([0.3, 0.6, 0.9, 0.2])


def numbers(x, n):
    found = []
    for i in range(n):
        if x[i] > 0.25:
            found.append(x[i] * x[i - 1])
    return found


def pairs(x, n):
    return [(v * v, np.sin(v)) for v in x if v > 0.5], x[0] * n


def rows(x, n):
    return {"rows": [[x[i], x[i] * x[0]] for i in range(n)], "n": n}


def arrays(x, n):
    return [x * i for i in range(n) if x[i] > 0.25]


def named(x, n):
    return [{"name": "v", "value": v**2} for v in x[:n]]


def empty(x, n):
    return [v for v in x if v > n]


def weights(value, seed=0):
    """Cotangents in the structure of a value."""
    if isinstance(value, (tuple, list)):
        return type(value)(weights(v, seed + 3 * i + 1) for i, v in enumerate(value))
    if isinstance(value, dict):
        return {k: weights(v, seed + 7) for k, v in value.items()}
    return np.cos(seed + 0.3 * np.arange(np.size(value))).reshape(np.shape(value)) if isinstance(value, (float, np.ndarray)) else None


def product(a, b):
    """The sum of the products of the numbers of two structures."""
    if isinstance(a, (tuple, list)):
        return sum(product(v, w) for v, w in zip(a, b, strict=True))
    if isinstance(a, dict):
        return sum(product(a[k], b[k]) for k in a)
    return float(np.sum(a * b)) if isinstance(a, (float, np.ndarray)) and b is not None else 0.0


PROGRAMS = (numbers, pairs, rows, arrays, named, empty)


@pytest.mark.parametrize(("f", "jit"), [(f, False) for f in PROGRAMS] + [(pairs, True), (rows, True)])
def test_value_pullback_and_tangent(f, jit):
    value, pullback = stgrad.vjp(f, X, 4, jit=jit)
    assert type(value) is type(f(X, 4))
    np.testing.assert_equal(value, f(X, 4))
    seed, direction, e = weights(value), np.array([0.7, -0.4, 1.1, 0.3]), 1e-6
    gradient, _ = pullback(seed)
    found = (product(f(X + e * direction, 4), seed) - product(f(X - e * direction, 4), seed)) / (2.0 * e)
    np.testing.assert_allclose(gradient @ direction, found, rtol=1e-7, atol=1e-9)
    _, tangent = stgrad.jvp(lambda x: f(x, 4), (X,), (direction,), jit=jit)
    np.testing.assert_allclose(product(tangent, seed), found, rtol=1e-7, atol=1e-9)


def test_other_lengths():
    value, pullback = stgrad.vjp(numbers, X[::-1].copy(), 3, jit=False)
    assert len(value) == 2
    np.testing.assert_allclose(pullback([1.0, 0.0])[0], [0.9, 0.2, 0.0, 0.0])


def test_inside_another_function():
    def total(x):
        value, tangent = stgrad.jvp(lambda v: arrays(v, 4), (x,), (x * x,))
        return np.sum(value[1]) + tangent[0][1] * sum(stgrad.jit(numbers)(x, 4))

    e = 1e-6
    found = [(total(X + e * d) - total(X - e * d)) / (2.0 * e) for d in np.eye(4)]
    np.testing.assert_allclose(stgrad.grad(total, jit=False)(X), found, rtol=1e-7, atol=1e-9)


def test_data_beside_a_gradient():
    def f(x):
        return np.sum(x * x), [2.0 * v for v in x if v > 0.5]

    (value, aux), gradient = stgrad.value_and_grad(f, has_aux=True, jit=False)(X)
    assert aux == [1.2, 1.8] and value == np.sum(X * X)
    np.testing.assert_allclose(gradient, 2.0 * X)


def test_cotangents_of_another_length():
    _, pullback = stgrad.vjp(numbers, X, 4, jit=False)
    with pytest.raises(ValueError, match="shape"):
        pullback([1.0])
    with pytest.raises(TypeError, match="a list where there is a float"):
        pullback(1.0)


def test_what_cannot_have_them():
    with pytest.raises(errors.TypeInferenceError, match="Jacobian of a function that returns a list"):
        stgrad.jacobian(numbers, jit=True)(X, 4)
    with pytest.raises(errors.UnsupportedCallerError, match="cannot return a list"):
        stgrad.jit(numbers).dispatcher(X, 4)
    with pytest.raises(errors.NotDifferentiableError, match="a list"):
        stgrad.grad(numbers, jit=True)(X, 4)
