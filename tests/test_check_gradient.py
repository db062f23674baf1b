"""What `check_gradient` says of a gradient that is not the one of differences."""

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.testing import GradientError, check_gradient


@pytest.mark.parametrize("function", [lambda x: np.sum(np.abs(x)), lambda x: np.sum(np.maximum(x, 0.0)), lambda x: np.sum(np.floor(x + 1.0) * x)])
def test_kinks_are_told(function):
    with pytest.raises(GradientError, match="there is a kink or a jump at these arguments"):
        check_gradient(function, [np.array([1.0, 0.0, 2.0])])


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
