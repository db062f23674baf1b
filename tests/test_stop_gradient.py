"""No derivative passes `stop_gradient`: of numbers, and of arrays of every size (small ones become numbers before they are differentiated)."""

import itertools
import types

import numpy as np
import pytest

import stgrad
from stgrad import errors

SIZES = (1, 2, 3, 4, 5, 9)


def whole(x, w):
    return np.sum(stgrad.stop_gradient(x * w) * x)


def made_here(x, w):
    v = np.array([w, w * x[0]])
    return np.sum(stgrad.stop_gradient(v) * v)


def one_element(x, w):
    v = np.array([w, w * x[-1], x[0]])
    return stgrad.stop_gradient(v)[1] * w + v[2] * x[0]


def in_a_loop(x, w):
    v = np.array([w, x[0]])
    for _ in range(3):
        v = v * np.sin(stgrad.stop_gradient(v)) + w
    return np.sum(v)


def transposed(x, w):
    m = np.array([[w, x[0]], [w * x[0], 1.0]])
    return np.sum(stgrad.stop_gradient(m.T) @ m)


def of_a_filled_array(x, w):
    v = np.empty(3)
    v[0] = w
    v[1:] = x[0] * w
    s = stgrad.stop_gradient(v)
    return np.sum(np.exp(s)) * w + v[0] * s[1]


def in_a_tuple(x, w):
    a, b = stgrad.stop_gradient((x * w, w * w))
    return np.sum(a * x) + b * w


def of_one_of_two(x, w):
    v = np.array([w, x[0]])
    s = stgrad.stop_gradient(v) if w > 0.0 else v
    return np.sum(s * v)


def frozen(f, args):
    """f with what its calls of `stop_gradient` give for these arguments."""
    found = []
    ready = dict(f.__globals__, stgrad=types.SimpleNamespace(stop_gradient=lambda x: found.append(x) or x))
    types.FunctionType(f.__code__, ready)(*args)
    turn = itertools.cycle(found)
    return types.FunctionType(f.__code__, dict(f.__globals__, stgrad=types.SimpleNamespace(stop_gradient=lambda x: next(turn))))


@pytest.mark.parametrize("options", [{"jit": False}, {"jit": True}, {"mode": "forward", "jit": False}], ids=["plain", "compiled", "forward"])
@pytest.mark.parametrize("f", [whole, made_here, one_element, in_a_loop, transposed, of_a_filled_array, in_a_tuple, of_one_of_two])
def test_against_differences(f, options):
    for size in SIZES[:1] if options["jit"] else SIZES:
        x, w, step = np.linspace(0.4, 1.3, size), 0.7, 1e-6
        g, at = stgrad.grad(f, (0, 1), **options)(x, w), frozen(f, (x, w))
        steps = np.eye(size) * step
        np.testing.assert_allclose(g[0], [(at(x + e, w) - at(x - e, w)) / (2 * step) for e in steps], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(g[1], (at(x, w + step) - at(x, w - step)) / (2 * step), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("jit", [False, True])
def test_an_array_written_to_behind_it(jit):
    """What shares memory with the stopped array changes: that has no form."""

    def f(a, b):
        v = np.array([a, a * b])
        s = stgrad.stop_gradient(v)
        v[0] = b * a
        return s[0] * a + v[1] * b

    with pytest.raises(errors.AliasingError):
        stgrad.grad(f, jit=jit)(1.3, 0.7)
