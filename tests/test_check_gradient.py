"""What `check_gradient` says of a gradient that is not the one of differences."""

import warnings

import numba
import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors, testing
from stgrad.testing import GradientError, gradients


@pytest.mark.parametrize("function", [lambda x: np.sum(np.abs(x)), lambda x: np.sum(np.maximum(x, 0.0)), lambda x: np.sum(np.floor(x + 1.0) * x)])
def test_kinks_are_told(function):
    with pytest.raises(GradientError, match="there is a kink or a jump at these arguments"):
        check_gradient(function, [np.array([1.0, 0.0, 2.0])])


@pytest.mark.parametrize("function", [lambda x: np.sum(np.abs(x)), lambda x: np.sum(np.maximum(x, 0.0)) + x[0] * x[2], lambda x: abs(x[1]) * x[2]])
def test_a_kink_that_the_gradient_passes_by_is_told(function):
    with pytest.warns(errors.KinkWarning, match="a kink or a jump is at these arguments, seen as argument `x` moves") as caught:
        testing.check_gradient(function, (np.array([1.0, 0.0, 2.0]),))
    assert {w.filename for w in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.KinkWarning)
        testing.check_gradient(function, (np.array([1.0, 0.5, 2.0]),))
        testing.check_gradient(lambda x: np.exp(20.0 * np.sum(x)), (np.array([0.3, 0.4]),))


def test_smooth_functions_get_no_such_hint():
    @stgrad.custom_gradient
    def wrong(x):
        return x**3, lambda g: g * x**2

    with pytest.raises(GradientError) as found:
        check_gradient(lambda x: np.sum(wrong(x)), [np.array([1.0, 2.0])])
    assert "kink" not in str(found.value)


def rows(x):
    return np.stack([x, x])


def test_a_hessian_of_an_array_is_refused_where_the_function_stands():
    with pytest.raises(errors.NotDifferentiableError, match=r"returns an array of float64(.|\n)*test_check_gradient.py:\d+\n\s+return np.stack"):
        stgrad.hessian(rows, jit=False)(np.ones(2))


def test_compiled_code_is_checked_too(monkeypatch):
    """What is right in plain Python, and not in compiled code, is wrong."""
    monkeypatch.setattr(gradients, "grad", lambda f, argnums, jit: stgrad.grad((lambda x: 2.0 * f(x)) if jit else f, argnums, jit=jit))
    check_gradient(smooth, (0.5,), order=1)
    with pytest.raises(GradientError, match=r"smooth \(Numba\): gradient, argument `x`: .* should be"):
        testing.check_gradient(smooth, (0.5,))


def smooth(x):
    return np.sin(x) * x


def test_functions_under_njit_that_write_in_place():
    @numba.njit
    def relaxed(x, n):
        y = np.zeros_like(x)
        for k in range(n):
            for i in range(1, len(x) - 1):
                y[i] = 0.5 * y[i] + 0.25 * (x[i - 1] + x[i + 1]) * x[i]
        return np.sum(y)

    testing.check_gradient(relaxed, (np.array([1.0, -0.5, 2.0, 0.3]), 3), argnums="x")


def test_arguments_that_are_not_there():
    with pytest.raises(ValueError, match="the function has no parameter 'zz', but x"):
        check_gradient(lambda x: x * x, (2.0,), argnums="zz")
