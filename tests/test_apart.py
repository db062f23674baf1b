"""Arrays that share memory, and a function that writes to one of them: the derivative works on a copy, so it is refused everywhere, or it is right."""

import copy

import numpy as np
import pytest

import stgrad
from stgrad.errors import AliasingError
from stgrad.testing import check_gradient

X = np.array([1.0, 2.0, 3.0])
V = np.ones(3)


def writes(a, b):
    a[0] = 2.0 * b[0]
    return np.sum(a * b)


def reads(a, b):
    return np.sum(a * b)


CALLS = {
    "grad": lambda f, x, y: stgrad.grad(f, (0, 1))(x, y),
    "value_and_grad": lambda f, x, y: stgrad.value_and_grad(f, (0, 1))(x, y)[1],
    "jvp": lambda f, x, y: stgrad.jvp(f, (x, y), (V, V))[1],
    "hvp": lambda f, x, y: stgrad.hvp(f, (x, y), (V, V)),
    "vjp": lambda f, x, y: stgrad.vjp(f, x, y)[1](1.0),
    "linearize": lambda f, x, y: stgrad.linearize(f, x, y)[1](V, V),
    "jacobian": lambda f, x, y: stgrad.jacobian(f, (0, 1))(x, y),
    "jacfwd": lambda f, x, y: stgrad.jacfwd(f, (0, 1))(x, y),
    "jacrev": lambda f, x, y: stgrad.jacrev(f, (0, 1))(x, y),
    "hessian": lambda f, x, y: stgrad.hessian(f, (0, 1))(x, y),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_that_is_written(name):
    call, shared = CALLS[name], X.copy()
    for x, y in ((shared, shared), (shared, shared[::-1])):
        with pytest.raises(AliasingError, match="share memory"):
            call(writes, x, y)
    np.testing.assert_array_equal(shared, X)
    expected = call(writes, X.copy(), X.copy())
    for got, want in zip(stgrad.flatten(expected)[0], stgrad.flatten(call(writes, X, X.copy()))[0], strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_that_is_read(name):
    call = CALLS[name]
    for got, want in zip(stgrad.flatten(call(reads, X, X))[0], stgrad.flatten(call(reads, X, X.copy()))[0], strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["grad", "jvp", "jacfwd", "linearize", "vjp"])
def test_inside_of_a_program(name):
    """Known where the program is read: one array under two names; known at the call: two arguments."""
    call = CALLS[name]

    def twice(x):
        y = x * 1.0
        return call(writes, y, y)

    def overlapping(x):
        y = x * 1.0
        return call(writes, y, y[::-1])

    def given(x, z):
        return call(writes, x, z)

    for f in (twice, overlapping):
        with pytest.raises(AliasingError, match="share memory"):
            stgrad.jit(f)(X)
    with pytest.raises(AliasingError, match="share memory"):
        stgrad.jit(given)(X, X)
    for got, want in zip(stgrad.flatten(stgrad.jit(given)(X, X + 1.0))[0], stgrad.flatten(call(writes, X, X + 1.0))[0], strict=True):
        np.testing.assert_allclose(got, want)


def deep(x, y):
    a, b = copy.deepcopy([x, y])
    a[0] = 3.0 * b[0]
    return np.sum(a * b)


def deep_and_read(x, y):
    a, b = copy.deepcopy((x, y))
    return np.sum(a * b)


def test_deep_copies_of_arguments():
    """`copy.deepcopy` copies one array once: whether two arguments are one is known at the call."""
    with pytest.raises(AliasingError, match="share memory"):
        stgrad.grad(deep, (0, 1))(X, X)
    check_gradient(deep, (X, X + 1.0), argnums=(0, 1), order=2, jit=False)
    check_gradient(deep_and_read, (X, X), argnums=(0, 1), jit=False)


def test_deep_copies_of_what_a_loop_gives():
    def swapped(x, y):
        a, b = x * 1.0, y * 1.0
        for _ in range(3):
            a, b = b, a
        p, q = copy.deepcopy([a, b])
        p[0] = q[0]
        return np.sum(p * q)

    with pytest.raises(AliasingError, match="share memory"):
        stgrad.grad(swapped)(X, X + 1.0)
