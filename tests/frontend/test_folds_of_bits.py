"""`reduce` of ufuncs that are of bools and integers alone."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def any_of(x):
    return np.sum(x[np.bitwise_or.reduce(np.array([x > 3.0, x > 1.5, x > 5.0]))])


def not_all_of(x):
    m = np.bitwise_and.reduce(np.array([x > 3.0, x > 0.0]))
    return np.sum(np.where(~m, x, 2.0 * x))


def of_integers(x):
    return x[0] * np.bitwise_xor.reduce(np.array([5, 3, 8])) + x[1] * np.gcd.reduce(np.array([12, 18]))


@pytest.mark.filterwarnings("ignore::stgrad.errors.NativeCodeWarning")
@pytest.mark.parametrize(("f", "slope"), [(any_of, [1.0, 0.0, 1.0]), (not_all_of, [2.0, 1.0, 1.0]), (of_integers, [14.0, 6.0, 0.0])])
@pytest.mark.parametrize("jit", [False, True])
def test_folds(f, slope, jit):
    x = np.array([4.0, 1.0, 2.0])
    value, found = stgrad.value_and_grad(f, jit=jit)(x)
    assert value == f(x)
    np.testing.assert_array_equal(found, slope)
