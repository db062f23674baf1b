"""Gradients called from compiled code: inside `numba.njit`, as first-class functions, and through C pointers."""

from __future__ import annotations

import ctypes
import math
from typing import NamedTuple

import numba
import numpy as np
import pytest

import stgrad
from stgrad.errors import UnsupportedCallerError

TABLE = np.array([1.0, 2.0, 3.0])


def wave(x, k=2.0):
    return math.sin(k * x)


def energy(x, options):
    a, (b, n) = options
    total = 0.0
    for i in range(n):
        total += a * x[i] ** 2 + b * TABLE[i]
    return total


class Line(NamedTuple):
    slope: float
    at: float


slope = stgrad.grad(wave)
both = stgrad.value_and_grad(energy)


def test_called_in_compiled_code():
    @numba.njit
    def descend(x, steps):
        for _ in range(steps):
            x -= 0.1 * slope(x)
        return x

    x = 0.3
    for _ in range(5):
        x -= 0.1 * 2.0 * math.cos(2.0 * x)
    assert descend(0.3, 5) == pytest.approx(x, rel=1e-14)


def test_defaults_keywords_and_other_types():
    @numba.njit
    def use(x, k):
        return slope(x), slope(x, k), slope(k=k, x=x)

    assert use(0.3, 3.0) == pytest.approx([2 * math.cos(0.6), 3 * math.cos(0.9), 3 * math.cos(0.9)])
    assert use(np.float32(0.3), 3.0)[1] == pytest.approx(3 * math.cos(0.9), rel=1e-6)


def test_structures_and_captured_arrays():
    @numba.njit
    def use(x, a, b, n):
        value, gradient = both(x, (a, (b, n)))
        return value, gradient

    x = np.array([1.0, 2.0, 3.0])
    value, gradient = use(x, 2.0, 3.0, 3)
    assert value == 46.0
    np.testing.assert_array_equal(gradient, 4.0 * x)
    np.testing.assert_array_equal(use(x[::-1], 2.0, 3.0, 3)[1], 4.0 * x[::-1])


def test_named_tuples():
    derivative = stgrad.grad(lambda line: line.slope * line.at**2)

    @numba.njit
    def use(a, b):
        return derivative(Line(a, b))

    assert use(2.0, 3.0) == Line(9.0, 12.0)


def test_as_an_argument():
    @numba.njit
    def apply(f, x):
        return f(x)

    assert apply(slope, 0.3) == pytest.approx(2 * math.cos(0.6))


def test_first_class_function_of_known_signature():
    double = numba.float64(numba.float64)

    @numba.njit(numba.float64(numba.types.FunctionType(double), numba.float64))
    def apply(f, x):
        return f(x)

    direct = stgrad.grad(lambda x: x * x * x).dispatcher(1.0)
    direct(1.0)
    assert apply(direct, 2.0) == 12.0


def test_dispatcher_is_the_bare_program():
    direct = stgrad.grad(lambda x, y: x * y).dispatcher(1.0, 2.0)
    assert isinstance(direct, numba.core.dispatcher.Dispatcher) and direct.targetoptions["nogil"]
    assert direct(3.0, 4.0) == 4.0


def test_compiled_in_integers_are_checked():
    gradient = stgrad.grad(lambda x, axis: np.sum(np.sum(x, axis) ** 2))
    x = np.ones((2, 3))
    direct = gradient.dispatcher(x, 1)
    np.testing.assert_array_equal(direct(x, 1), 6.0 * x)
    with pytest.raises(ValueError, match="another value: axis"):
        direct(x, 0)

    @numba.njit
    def use(x, axis):
        return gradient(x, axis)

    with pytest.raises(UnsupportedCallerError, match="the value of `axis` decides"):
        use(x, 1)


def test_refusals():
    def writes(x, y):
        x[0] = y[0]
        return np.sum(x * y)

    with pytest.raises(UnsupportedCallerError, match="writes to its argument `x`"):
        stgrad.grad(writes, 1).dispatcher(np.ones(2), np.ones(2))
    with pytest.raises(UnsupportedCallerError, match="cannot pass `p`"):
        stgrad.grad(lambda p: p["a"] * 2.0).dispatcher({"a": 1.0})
    with pytest.raises(UnsupportedCallerError, match="cannot return a dict"):
        stgrad.jit(lambda x: {"a": x}).dispatcher(1.0)


# --------------------------------------------------------------------------- C


def rosenbrock(x, a=1.0):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (a - x[i]) ** 2
    return total


def pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


@pytest.mark.parametrize("signature", ["float64(float64[:], float64)", "float64(float64[:], float64, float64[:], float64[:])"])
def test_c_function(signature):
    function = stgrad.cfunc(rosenbrock, signature, ("x", "a"))
    assert function.prototype == "double rosenbrock_grad(double *x, intptr_t x_0, double a, double *x_bar, double *a_bar);"
    x, x_bar, a_bar = np.array([0.5, -1.0, 2.0]), np.zeros(3), np.zeros(1)
    value = function.ctypes(pointer(x), 3, 1.5, pointer(x_bar), pointer(a_bar))
    expected, (gradient, a_gradient) = stgrad.value_and_grad(rosenbrock, ("x", "a"))(x, 1.5)
    assert value == expected and a_bar[0] == a_gradient
    np.testing.assert_array_equal(x_bar, gradient)


def test_c_function_of_fixed_size_with_user_data():
    function = stgrad.cfunc(lambda x: np.sum(np.exp(x)), "float64(float64[:, :], float64[:, :])", sizes={"x": (2, 3)}, user_data=True)
    assert function.prototype.endswith("(double *x, double *x_bar, void *user_data);")
    x, x_bar = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    declared = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(function.address)
    assert declared(x.ctypes.data, x_bar.ctypes.data, None) == pytest.approx(np.sum(np.exp(x)), rel=1e-14)
    np.testing.assert_allclose(x_bar, np.exp(x), rtol=1e-14)


def test_c_function_of_scalars_in_scipy():
    from scipy import LowLevelCallable
    from scipy.integrate import quad

    function = stgrad.cfunc(lambda x: x**3, "float64(float64)", user_data=True)

    bar = np.zeros(1)
    assert function.ctypes(2.0, pointer(bar), None) == 8.0 and bar[0] == 12.0
    value = stgrad.cfunc(lambda x: x**3, "float64(float64)", ())
    assert quad(LowLevelCallable(value.ctypes), 0.0, 1.0)[0] == pytest.approx(0.25)


def test_c_function_that_raises_gives_nan():
    def f(x):
        if x < 0.0:
            raise ValueError("negative")
        return math.sqrt(x)

    function = stgrad.cfunc(f, "float64(float64)")
    assert math.isnan(function.ctypes(-1.0, pointer(np.zeros(1))))


def test_c_refusals():
    with pytest.raises(UnsupportedCallerError, match="returns a float"):
        stgrad.cfunc(wave, "int64(float64, float64)")
    with pytest.raises(UnsupportedCallerError, match="has 1 arguments, the function 2"):
        stgrad.cfunc(wave, "float64(float64)")
    with pytest.raises(UnsupportedCallerError, match="buffer for the gradient of `x`"):
        stgrad.cfunc(wave, "float64(float64, float64, float32[:])")
    with pytest.raises(UnsupportedCallerError, match="2 axes, and 1 sizes"):
        stgrad.cfunc(lambda x: np.sum(x), "float64(float64[:, :])", sizes={"x": 3})
    with pytest.raises(UnsupportedCallerError, match="`sizes` names `z`, which is no array"):
        stgrad.cfunc(wave, "float64(float64, float64)", sizes={"z": 3})
    with pytest.raises(UnsupportedCallerError, match="'nonsense' is no signature in Numba's notation"):
        stgrad.cfunc(wave, "nonsense")


def turned(x, a):
    return np.sin(x) * a


X = np.array([0.3, 0.7])
pushed = stgrad.jvp(turned)
pushed_with_more = stgrad.jvp(lambda x: (x**2, x), has_aux=True)
linear = stgrad.linearize(turned, X.copy(), 2.0)[1]
pulled = stgrad.vjp(lambda a, b: a * b**2, 2.0, 3.0)[1]


def test_what_jvp_linearize_and_vjp_give():
    @numba.njit
    def call(x, a, v):
        return pushed((x, a), (v, 1.0)), linear(v, 1.0), pulled(a), pushed_with_more((a,), (1.0,))

    (value, tangent), along, back, more = call(X, 2.0, X)
    np.testing.assert_allclose(value, turned(X, 2.0))
    np.testing.assert_allclose(tangent, np.cos(X) * X * 2.0 + np.sin(X))
    np.testing.assert_allclose(along, tangent)
    assert back == (18.0, 24.0)
    assert more == (4.0, 4.0, 2.0)


def test_a_tangent_is_of_its_moment():
    x = X.copy()
    _, at = stgrad.linearize(turned, x, 2.0)
    before = at(x.copy(), None)
    x[:] = 0.0

    @numba.njit
    def call(v):
        return at(v, None)

    np.testing.assert_allclose(call(X), before)


def test_what_they_give_is_read_in_programs():
    found = stgrad.grad(lambda c: np.sum(linear(X * c, c) ** 2) + pulled(c)[1] * c)(2.0)
    slope = np.cos(X) * X * 2.0 + np.sin(X)
    assert found == pytest.approx(2.0 * 2.0 * np.sum(slope**2) + 2.0 * 12.0 * 2.0)


def test_a_pullback_at_arrays_is_refused():
    back = stgrad.vjp(turned, X, 2.0)[1]

    @numba.njit
    def call(c):
        return back(c)

    with pytest.raises(UnsupportedCallerError, match="was not made in"):
        call(X)
