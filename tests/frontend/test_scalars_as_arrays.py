"""Numbers that are treated as arrays, iterators used by hand, and what code of packages does with constants."""

from __future__ import annotations

import enum
import operator

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.4, 0.7, 0.2, 0.9, 0.5])


class Place(enum.IntEnum):
    """Positions with names."""

    FIRST = 0
    LAST = 4


def places_with_names(x):
    return x[Place.FIRST] * x[Place.LAST]


def axes_of_a_number(x):
    a = np.asarray(np.sum(x))
    return np.sum(a[None] * a[..., np.newaxis] * a[...] * a[()])


def mask_of_a_number(x):
    a = np.asarray(np.sum(x))
    chosen = a[a > 0.1]
    return np.sum(chosen**2) + np.sum(a[a > 100.0])


def written_where(x):
    a = np.asarray(x[0] * 3.0, dtype=float)
    out = np.empty(a.shape)
    low = a <= 1.0
    out[low] = a[low] * 12.0
    out[~low] = 1.055 * a[~low] ** 0.4
    return out * np.sum(a[~(a > 1.0)]) + out


def written_and_returned(x):
    out = np.full((), 2.0)
    if x > 0.0:
        out[np.asarray(x) > 0.5] = x * x
    return out * x, out


def squeezed(x):
    y = x[:1] * 2.0 / 3.0
    return np.squeeze(y) ** 2


def taken_by_hand(x):
    it = iter(x)
    first, second = next(it), next(it)
    rest = iter((first, second))
    total = next(rest) * 2.0 + next(rest) + next(rest, 1.0)
    for v in it:
        total += v * v
    return total * second


def bounded_by_method(x):
    return np.sum(x.clip(0.3, 0.8, None) * x) + x[operator.index(2)]


def at_places_of_a_range(x):
    return np.sum(x[range(1, 4)] ** 2)


def _2x(x):
    _2y = 2.0 * np.sum(x)
    _2y = _2y * _2y
    return _2y


@pytest.mark.parametrize(
    "function",
    [places_with_names, axes_of_a_number, mask_of_a_number, written_where, squeezed, taken_by_hand, bounded_by_method, at_places_of_a_range, _2x],
)
def test_gradient(function):
    check_gradient(function, (X,))


@pytest.mark.parametrize("function", [axes_of_a_number, written_where, squeezed, taken_by_hand])
def test_under_numba(function):
    check_gradient(function, (X,), order=1, jit=True)


def test_value_of_what_is_squeezed():
    assert stgrad.vjp(squeezed, X, jit=False)[0] == pytest.approx(squeezed(X))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("x", [0.3, 0.8])
def test_an_array_without_axes_as_a_result(x, jit):
    value, pullback = stgrad.vjp(written_and_returned, x, jit=jit)
    assert [float(v) for v in value] == pytest.approx([float(v) for v in written_and_returned(x)])
    assert pullback((1.0, 0.0)) == pytest.approx((3.0 * x * x if x > 0.5 else 2.0,))


def test_cotangents_of_constants():
    value, pullback = stgrad.vjp(lambda x: (x * x, 1.0, None, 2), 3.0, jit=False)
    assert value == (9.0, 1.0, None, 2)
    assert pullback((1.0, 5.0, None, None)) == (6.0,)


def test_none_is_no_number():
    def f(x, n=3):
        return x * x if None in np.shape(x) or n in [-1, None] else x

    assert stgrad.grad(f, jit=False)(3.0) == 1.0
    assert stgrad.grad(f, jit=False)(3.0, -1) == 6.0


def test_a_method_that_is_not_called_is_named():
    with pytest.raises(stgrad.errors.TypeInferenceError, match="the method `mean`"):
        stgrad.grad(lambda x: np.any(x.mean) * x[0], jit=False)(X)


@pytest.mark.parametrize("value", [1.5, None])
def test_index_of_what_is_no_integer(value):
    with pytest.raises(stgrad.errors.TypeInferenceError, match="is no integer"):
        stgrad.grad(lambda x: x[operator.index(value)], jit=False)(X)


@pytest.mark.parametrize("jit", [False, True])
def test_convolution_with_a_number(jit):
    weights = np.arange(1.0, 6.0)
    check_gradient(lambda x: np.sum(np.convolve(x, x[0], mode="same") * weights), (X,), jit=jit)
    check_gradient(lambda x: np.sum(np.convolve(x[1], x) * weights) + np.convolve(x, [x[0], 1.0])[1] + np.convolve(x[2], x[3])[0], (X,), jit=jit)
