"""A gradient raises where its function does, also where it does not need the value that fails."""

import numpy as np
import pytest

import stgrad

V, W, M = np.array([1.0, 2.0, 3.0]), np.ones(2), np.ones((2, 2))


def in_a_loop(x, a, n):
    h = np.zeros(2)
    for _ in range(n):
        h = h + a @ x
    return np.sum(h)


PROGRAMS = {
    "constant matrix": (lambda x: np.sum(np.ones((2, 2)) @ x), (V,)),
    "method": (lambda x: np.sum(np.ones((2, 4)).dot(x)), (V,)),
    "dot": (lambda x, y: np.dot(x, y), (V, W)),
    "matrix and vector": (lambda x, a: np.sum(a @ x), (V, M)),
    "of a slice": (lambda x, y: x[1:] @ y, (V, V)),
    "einsum": (lambda x, y: np.einsum("i,i->", x, y), (V, W)),
    "inner": (lambda x, y: np.inner(x, y), (V, W)),
    "vdot": (lambda x, y: np.vdot(x, y), (V, W)),
    "tensordot": (lambda x, y: np.sum(np.tensordot(x, y, 1)), (V, W)),
    "stack": (lambda x, y: np.sum(np.stack([x, y])), (V, W)),
    "interp": (lambda x, y: np.interp(0.5, y, x), (V, W)),
    "in a loop": (in_a_loop, (V, M, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_that_do_not_fit_raise(name):
    function, args = PROGRAMS[name]
    with pytest.raises(ValueError):
        function(*args)
    with pytest.raises(ValueError):
        stgrad.grad(function, jit=False)(*args)


def test_compiled_too():
    with pytest.raises(ValueError):
        stgrad.grad(in_a_loop)(V, M, 2)
    assert np.array_equal(stgrad.grad(in_a_loop)(W, M, 2), [4.0, 4.0])


def test_a_loop_without_trips_does_not_raise():
    assert np.array_equal(stgrad.grad(in_a_loop, jit=False)(V, M, 0), np.zeros(3))


def test_sizes_that_are_known_to_fit_are_not_compared():
    def layers(x, a, b):
        return np.sum(np.tanh(x @ a) @ b + x @ x)

    text = stgrad.grad(layers).stages(V, np.ones((3, 2)), W)["anf"]
    assert text.count("raise ValueError") == 2  # x and a, a and b; not x and x
