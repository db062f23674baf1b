"""Products of no numbers are 1, and their gradients empty; products of shapes need no array."""

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def of_all(x):
    return np.prod(x) + x.sum()


def of_columns(x):
    return np.prod(x, axis=0).sum() + np.sum(x)


def of_rows(x):
    return np.prod(x, axis=1).sum() + np.sum(x)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("f", "shape"), [(of_all, (0,)), (of_all, (2, 0)), (of_columns, (0, 3)), (of_columns, (3, 0)), (of_rows, (0, 3)), (of_rows, (3, 0))])
def test_gradients_of_empty_products(f, shape, jit):
    x = np.zeros(shape)
    value, gradient = stgrad.value_and_grad(f, jit=jit)(x)
    assert value == f(x) and gradient.shape == shape


def of_items(x, n):
    return math.prod((x[0], x[1], n)) + math.prod([x[2], 3], start=2.0) * math.prod(()) + math.prod(v * 2 for v in x) + np.prod((x[0], x[3]))


def by_the_shape(x, n):
    return x.sum() / math.prod(x.shape) / np.prod((n, n + 1))


@pytest.mark.parametrize("jit", [False, True])
def test_products_of_items(jit):
    check_gradient(of_items, (np.array([0.7, -1.2, 0.4, 1.9]), 3), argnums=0, jit=jit)
    check_gradient(by_the_shape, (np.ones((2, 3)), 3), argnums=0, jit=jit)


def test_the_product_of_a_shape_calls_nothing():
    text = stgrad.grad(by_the_shape).lowered(np.ones((2, 3)), 3)
    assert "call_python" not in text
