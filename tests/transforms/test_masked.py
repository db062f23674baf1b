"""Guarded products test their cotangent alone, once no derivative is taken any more (`masked`)."""

import numpy as np
import pytest

import stgrad
from tests.thorough import check_gradient


def ratios(x, w):
    """A pole that a branch leaves out, in each trip."""
    total = 0.0
    for i in range(len(x)):
        r = np.sin(x[i] / w[i])
        total += r * x[i] if w[i] > 0 else x[i]
    return total


def slopes(q):
    """A limiter: quotients that a choice leaves out, element by element."""
    a, b = q[1:-1] - q[:-2], q[2:] - q[1:-1]
    return np.sum(np.where(a * b > 0.0, 2.0 * a * b / (a + b), 0.0) ** 2)


X, W, Q = np.array([0.5, 2.0, -1.0]), np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 1.0, 1.0, 1.5, 3.0])


@pytest.mark.parametrize(("function", "args"), [(ratios, (X, W)), (slopes, (Q,))])
def test_no_partial_is_tested(function, args):
    gradient = stgrad.grad(function, tuple(range(len(args))))
    assert "isfinite" not in gradient.lowered(*args)
    assert "isfinite" in stgrad.grad(function, tuple(range(len(args))), without="masked").lowered(*args)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("function", "args"), [(ratios, (X, W)), (slopes, (Q,))])
def test_what_is_left_out_is_zero(function, args, jit):
    wrt = tuple(range(len(args)))
    with np.errstate(divide="ignore", invalid="ignore"):
        with_, without = (stgrad.grad(function, wrt, jit=jit, **options)(*args) for options in ({}, {"without": "masked"}))
    for a, b in zip(with_, without, strict=True):
        assert np.all(np.isfinite(a))
        np.testing.assert_array_equal(a, b)


def test_not_a_number_stays():
    """A partial that is infinite where the cotangent is not zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x_bar, _ = stgrad.grad(ratios, (0, 1))(X, np.array([1.0, np.nan, 2.0]))
    assert x_bar[1] == 1.0
    assert np.isnan(stgrad.grad(ratios)(np.array([np.nan, 1.0, 1.0]), np.ones(3))[0])


def test_derivatives():
    check_gradient(ratios, (X, np.array([1.0, -0.5, 2.0])))
    check_gradient(slopes, (np.array([0.0, 1.0, 1.7, 1.2, 1.5, 3.0]),))


def test_second_derivatives_where_a_cotangent_is_zero():
    """The product's derivative in the cotangent is the partial: it is needed where the cotangent is zero."""
    hessian = stgrad.hessian(lambda x: np.sum(np.where(x > 0.0, (x - 1.0) * np.sin(x) / x, 0.0)))(np.array([1.0, 2.0]))
    assert hessian[0, 0] == pytest.approx(2.0 * (np.cos(1.0) - np.sin(1.0)), rel=1e-9)


def solved(x, v):
    s = x * 0.5
    r = v * np.exp(-s * v) * np.sin(s)
    while abs(x - s - r) > 1e-3:
        s = s + 0.3 * (x - s - r) / (1.0 + v * s)
        r = v * np.exp(-s * v) * np.sin(s)
    return s


def chosen(x):
    """The last residual of the loop is not read: its cotangent is zero in the first trip of the reverse sweep."""
    s = solved(x[0], x[1])
    return s * 2.0 if x[0] > s else x[0] - x[1]


def test_products_that_are_left_out_still_take_their_factors_off_the_stack():
    check_gradient(chosen, (np.array([2.0, 1.3]),), order=1)
    check_gradient(chosen, (np.array([2.0, 1.3]),), order=1, jit=True)
    expected = stgrad.grad(chosen, jit=False, mode="forward")(np.array([2.0, 1.3]))
    np.testing.assert_allclose(stgrad.grad(chosen)(np.array([2.0, 1.3])), expected, rtol=1e-12)
