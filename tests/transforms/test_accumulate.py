"""Local derivatives are accumulated before the adjoint is multiplied with them, in adjoints alone."""

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def logistic(r, x0, n):
    x = x0
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


def two_factors(a, n):
    x = 1.0
    for i in range(n):
        x = x * math.sin(a * x) / (1.0 + x * x) - 0.1 * x * a
    return x


def branches(a, x, n):
    for i in range(n):
        if x > 0.5:
            x = x * a * math.cos(x)
        else:
            x = x + a * x * 0.3
    return x


def coupled(a, b, n):
    for i in range(n):
        a, b = a * b * 0.9, math.sin(a) + b * 0.5
    return a + b


def test_one_product_carries_the_adjoint():
    text = stgrad.grad(logistic, (0, 1)).lowered(3.5, 0.2, 10)
    updates = [line for line in text.splitlines() if line.strip().startswith("x_bar")]
    assert len(updates) == 2, text  # the seed, and one product


def test_the_primal_keeps_its_order_of_operations():
    value, _ = stgrad.value_and_grad(two_factors, jit=False)(0.7, 20)
    assert value == two_factors(0.7, 20)


@pytest.mark.parametrize(("f", "args"), [(logistic, (3.5, 0.2, 7)), (two_factors, (0.7, 6)), (branches, (0.9, 0.8, 6)), (coupled, (0.4, 0.3, 5))])
def test_gradients(f, args):
    check_gradient(f, args)


def test_a_tangent_waits_for_one_product_and_one_sum():
    text = stgrad.hvp(logistic, (0, 1)).lowered(3.5, 0.2, 10, (1.0, 1.0))
    updates = [line.split(" = ")[1] for line in text.splitlines() if line.strip().startswith(("x_dot =", "x_bar_dot ="))]
    carried = [right for right in updates if "_dot * " in right]
    assert len(carried) == 2, text
    assert all(right.count("x_dot * ") + right.count("x_bar_dot * ") == 1 for right in carried), text


def rests(a, x, n):
    """Constants, quotients and signs on the way."""
    y = x
    for i in range(n):
        y = -(1.0 - (a * y + 0.3 * i) * math.cos(y)) / (2.0 + x * y) - y * a
        x = x + 0.01 * a
    return y


@pytest.mark.parametrize(("f", "args"), [(logistic, (3.5, 0.2, 7)), (two_factors, (0.7, 6)), (branches, (0.9, 0.8, 6)), (rests, (0.4, 0.3, 5))])
@pytest.mark.parametrize("jit", [False, True])
def test_tangents(f, args, jit):
    count = len(args) - 1
    argnums = tuple(range(count))
    gradient, v, h = stgrad.grad(f, argnums, jit=False), np.array([0.7, -1.3])[:count], 1e-6
    point = np.array(args[:count])
    forward = stgrad.grad(f, argnums, mode="forward", jit=jit)(*args)
    np.testing.assert_allclose(forward, gradient(*args), rtol=1e-12)
    found = stgrad.hvp(f, argnums, jit=jit)(*args, tuple(map(float, v)))
    after, before = (np.array(gradient(*map(float, point + s * h * v), args[-1])) for s in (1, -1))
    np.testing.assert_allclose(found, (after - before) / (2.0 * h), rtol=1e-6, atol=1e-8)


def test_float32_is_left_alone():
    x = np.float32(0.2)
    bar = stgrad.grad(logistic, 1, jit=False)(np.float32(3.5), x, 5)
    assert bar.dtype == np.float32
