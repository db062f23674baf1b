"""`check_nan=True` names the first statement, forward or backward, that makes a NaN."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors

JIT = pytest.mark.parametrize("jit", [False, True])
X = np.array([1.0, -2.0, 3.0])


def raises(gradient, args, message, line, reason):
    with pytest.raises(errors.NotANumberError, match=message) as caught:
        gradient(*args)
    assert isinstance(caught.value, FloatingPointError)
    assert caught.value.loc.file == __file__
    assert line in caught.value.loc.text
    assert reason in caught.value.reason


@JIT
def test_forward(jit):
    def f(x):
        y = x * 2.0
        z = np.log(y)
        return np.sum(z * z)

    with np.errstate(all="ignore"):
        raises(stgrad.grad(f, jit=jit, check_nan=True), (X,), r"`np.log` makes a NaN at \[1\] in the program", "np.log(y)", "-4")
        assert np.isnan(stgrad.grad(f, jit=jit)(X)[1])
    np.testing.assert_allclose(stgrad.grad(f, jit=jit, check_nan=True)(np.abs(X)), stgrad.grad(f, jit=jit)(np.abs(X)))


@JIT
def test_backward(jit):
    """The value is fine, its derivative is 0 times infinity."""

    def f(x):
        square = x * x
        return np.log(square).sum()

    point = np.array([1.0, 0.0])
    with np.errstate(all="ignore"):
        assert stgrad.jit(f, check_nan=True)(point) == -np.inf
        assert np.isnan(stgrad.grad(f, jit=jit)(point)[1])
        raises(stgrad.grad(f, jit=jit, check_nan=True), (point,), r"makes a NaN at \[1\] in the backward pass", "x * x", "inf, 0")


@JIT
def test_infinities_in_loops(jit):
    def f(x, n):
        total = 0.0
        for i in range(n):
            big = x**40 * 1e300
            total = total + (big - big * (i > 1))
        return total

    with np.errstate(all="ignore"):
        assert stgrad.value_and_grad(f, jit=jit, check_nan=True)(1.0, 3)[0] == pytest.approx(2e300)
        raises(stgrad.value_and_grad(f, jit=jit, check_nan=True), (3.0, 3), "makes a NaN in the program", "big * (i > 1)", "inf")


@JIT
def test_arrays_of_elements(jit):
    def f(x):
        out = np.zeros_like(x)
        for i in range(x.shape[0]):
            out[i] += np.sqrt(x[i])
        return np.sum(out)

    with np.errstate(all="ignore"):
        raises(stgrad.grad(f, jit=jit, check_nan=True), (X,), "`np.sqrt` makes a NaN", "np.sqrt(x[i])", "-2")
    got = stgrad.grad(f, jit=jit, check_nan=True)(np.abs(X))
    np.testing.assert_allclose(got, 0.5 / np.sqrt(np.abs(X)))


def test_nans_that_are_given_are_none_that_are_made():
    given = np.array([1.0, np.nan])
    np.testing.assert_array_equal(stgrad.grad(lambda x: np.nansum(x * x), jit=False, check_nan=True)(given)[:1], [2.0])


def test_the_function_itself_and_forward_mode():
    with np.errstate(all="ignore"):
        raises(stgrad.jit(lambda x: np.sum(np.arcsin(x)), check_nan=True), (X,), "`np.arcsin` makes a NaN", "np.arcsin(x)", "-2")
        raises(stgrad.grad(lambda x: np.sqrt(x) * x, mode="forward", check_nan=True), (-1.0,), "`np.sqrt` makes a NaN", "np.sqrt(x)", "-1")
