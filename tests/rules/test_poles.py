"""Rules count as NumPy does: where a derivative of a function of Python's numbers is infinite, it is infinite, and no exception."""

import math

import numpy as np
import pytest

import stgrad

POLES = {
    "log": (lambda x: np.log(x), 0.0, np.inf),
    "log2 of an item": (lambda x: np.log2(np.array([x, 1.0])[0]), 0.0, np.inf),
    "arctanh": (lambda x: np.arctanh(x), 1.0, np.inf),
    "divide": (lambda x: np.divide(1.0, x), 0.0, -np.inf),
    "quotient of a sum": (lambda x: np.add(x, 1.0) / x, 0.0, np.nan),
    "negative power": (lambda x: np.power(x, -2), 0.0, -np.inf),
    "quotient by a number": (lambda x: np.sum(np.ones(3) * x / (x - 1.0)), 1.0, np.nan),
}


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", POLES)
def test_poles(name, jit):
    f, x, expected = POLES[name]
    value, slope = stgrad.value_and_grad(f, jit=jit)(x)
    np.testing.assert_equal(float(value), float(f(x)))
    np.testing.assert_equal(float(slope), expected)
    np.testing.assert_equal(np.abs(float(stgrad.jvp(f, (x,), (1.0,), jit=jit)[1])) < np.inf, False)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("jit", [False, True])
def test_a_weight_that_is_zero_in_some_trips(jit):
    def f(x):
        s = 0.0
        for k in range(len(x)):
            s += x[k] ** 2 / (1.0 if k % 2 == 0 else 0.0)
        return s

    np.testing.assert_equal(stgrad.grad(f, jit=jit)(np.array([1.0, 2.0, 3.0])), [2.0, np.inf, 6.0])


@pytest.mark.parametrize("jit", [False, True])
def test_what_python_refuses_is_refused(jit):
    for f in (lambda x: 1.0 / x, lambda x: x**-1.5, lambda x: math.log(x)):
        with pytest.raises((ZeroDivisionError, ValueError)):
            stgrad.grad(f, jit=jit)(0.0)
