"""What stands around a derivative (Jacobians, Hessians, maps) is named, described, called and kept as a gradient is."""

import math
import pickle

import numba
import numpy as np
import pytest

import stgrad

X = np.array([0.3, -0.2, 0.5])
V = np.array([1.0, 0.5, -1.0])


def layer(x, w=2.0):
    """One layer."""
    return np.tanh(w * x)


def loss(x, k=2.0):
    return k * np.sum(np.sin(x) ** 2 * x[0])


def pair(a, b):
    return a * math.sin(b)


MADE = {
    "jacobian": (stgrad.jacobian(layer), (X, 2.0)),
    "jacfwd": (stgrad.jacfwd(layer), (X, 2.0)),
    "jacrev": (stgrad.jacrev(layer), (X, 2.0)),
    "hessian": (stgrad.hessian(loss), (X, 2.0)),
    "hvp": (stgrad.hvp(loss), (X, 2.0, V)),
    "vmap": (stgrad.vmap(layer, (0, None)), (X, 2.0)),
    "vmap of grad": (stgrad.vmap(stgrad.grad(loss), (0, None)), (np.stack([X, V]), 2.0)),
    "batch_jacobian": (stgrad.batch_jacobian(layer), (np.stack([X, V]), 2.0)),
    "elementwise_grad": (stgrad.elementwise_grad(layer), (X, 2.0)),
    "forward": (stgrad.grad(pair, (0, 1), mode="forward"), (0.5, 1.5)),
    "auto": (stgrad.value_and_grad(pair, (0, 1), mode="auto"), (0.5, 1.5)),
}


def same(one, other):
    if isinstance(other, tuple):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    return np.allclose(one, other, rtol=1e-13)


def in_compiled_code(derivative, count):
    """A call of it in a function under `njit`."""
    if count == 1:
        return numba.njit(lambda a: derivative(a))
    return numba.njit(lambda a, b: derivative(a, b)) if count == 2 else numba.njit(lambda a, b, c: derivative(a, b, c))


@pytest.mark.parametrize("name", MADE)
def test_compiled_code_calls_it(name):
    derivative, args = MADE[name]
    wanted = derivative(*args)
    assert same(in_compiled_code(derivative, len(args))(*args), wanted)
    assert same(derivative.dispatcher(*args)(*args), wanted)


def test_compiled_code_calls_functions_of_any_number_of_arguments():
    gradient = stgrad.grad(lambda *xs: xs[0] * xs[1] ** 2, (0, 1))
    assert in_compiled_code(gradient, 2)(2.0, 3.0) == (9.0, 12.0)


@pytest.mark.parametrize("name", MADE)
def test_another_process_gets_it(name):
    derivative, args = MADE[name]
    again = pickle.loads(pickle.dumps(derivative))
    assert repr(again) == repr(derivative)
    assert same(again(*args), derivative(*args))


@pytest.mark.parametrize("name", MADE)
def test_it_is_seen_as_a_gradient_is(name):
    derivative, args = MADE[name]
    assert "args" not in derivative.source(*args)
    assert derivative.memory(*args).peak is not None
    assert derivative.explain(*args) is not None


@pytest.mark.parametrize("name", ["jacobian", "hessian", "hvp", "elementwise_grad", "forward"])
def test_types_are_guessed(name):
    assert "def " in MADE[name][0].source()


def test_names_and_texts():
    jacobian, hessian, product = (MADE[name][0] for name in ("jacobian", "hessian", "hvp"))
    assert (jacobian.__name__, hessian.__name__, product.__name__) == ("layer_jacobian", "loss_hessian", "loss_hvp")
    assert jacobian.__doc__ == "Jacobian of layer with respect to x.\n\nOne layer."
    assert repr(hessian) == "<stgrad Hessian of loss(x, k=2.0) with respect to x>"
    assert "def loss_hessian(x, k):" in hessian.source(X, 2.0)
    assert "def loss_hvp(x, k, vector):" in product.source(X, 2.0, V)
    assert repr(MADE["vmap of grad"][0]) == "<stgrad map over a batch of loss_grad(x, k=2.0)>"
    assert repr(stgrad.jacobian(jacobian)) == "<stgrad Jacobian of layer_jacobian(x, w=2.0) with respect to x>"
