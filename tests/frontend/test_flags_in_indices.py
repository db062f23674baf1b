"""Masks that are one flag, beside other entries of an index, and numbers that become arrays without axes on one path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors


def number_on_one_path(x: Any) -> Any:
    y = np.zeros_like(x)
    y[...] = x**2
    if x > 0.5:
        y = 3.0 * x
    y = np.asarray(y)
    y[y > 0.7] *= 3.0
    return y + 0.0


def new_axis_beside_a_flag(x: Any) -> Any:
    e = np.asarray(x)
    ok = e > 0.1
    return np.sum(e[ok, np.newaxis]) * 2 + np.sum(e[~ok, None] * 7)


def flag_beside_a_position(x: Any) -> Any:
    row = np.zeros(3) + x
    ok = np.asarray(x) > 0.1
    row[ok, 0] = -2.0 * x
    row[~ok, 1] = 5.0 * x
    row[ok, 2] += x * x
    return np.sum(row * np.array([1.0, 2.0, 3.0]))


def placed_in_turn(x: Any) -> Any:
    x = np.asarray(x)
    y = np.zeros(x.shape)
    high = x > 0.3
    np.place(y, high, np.extract(high, x) ** 2)
    np.place(y, ~high, np.extract(~high, x) ** 3)
    return y + 0.0


def logarithm_where_finite(x: Any) -> Any:
    a = np.asarray(x)
    b = np.where(a > 0.2, a * a, 1.0)
    lost = np.isinf(b)
    if np.any(lost):
        b[lost] = np.log(a[lost])
    return float(np.transpose(b) * a)


FUNCTIONS = (number_on_one_path, new_axis_beside_a_flag, flag_beside_a_position, placed_in_turn, logarithm_where_finite)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("x", [0.7, 0.05])
def test_of_a_number(function: Any, x: float) -> None:
    check_gradient(function, (x,))


def flag_before_a_slice(x: Any) -> Any:
    y = x * 1.0
    ok = np.sum(x) > 0.1
    y[ok] = 2.0
    y[~ok, 1:] = 5.0 * x[1:]
    some = y[ok, 1:]
    return np.sum(y * x) + np.sum(some * some)


def placed(x: Any) -> Any:
    y = np.zeros_like(x)
    np.place(y, x > 0.3, x[x > 0.3] ** 2)
    np.place(y, x < 0.0, [1.0 * x[0], 2.0])
    return np.sum(y * np.arange(1.0, 6.0))


@pytest.mark.parametrize("function", [flag_before_a_slice, placed])
@pytest.mark.parametrize("x", [np.array([0.1, 0.5, 0.6, -0.2, -0.3]), np.array([0.1, 0.1, 0.1, -0.2, -0.3])])
def test_of_an_array(function: Any, x: Any) -> None:
    check_gradient(function, (x,))
    check_gradient(function, (x,), order=1, jit=True)


def small_as_zero(e: Any) -> Any:
    try:
        e[abs(e) < 1e-3] = 0.0
    except TypeError:
        if abs(e) < 1e-3:
            e = 0.0
    return e * e + e


def test_a_number_has_no_items() -> None:
    """NumPy's scalars raise, as Python's numbers do; what may be an array without axes is refused."""
    assert stgrad.grad(small_as_zero, jit=False)(2.0) == 5.0
    assert stgrad.grad(lambda x: small_as_zero(np.sin(x)), jit=False)(0.5) == pytest.approx((2 * np.sin(0.5) + 1) * np.cos(0.5))
    with pytest.raises(errors.TypeInferenceError, match="an item of a scalar"):
        stgrad.grad(small_as_zero, jit=False)(np.array(2.0))
