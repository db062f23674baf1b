"""Copies within one array, against NumPy itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import stgrad
from stgrad.analysis.overlaps import _cut, _in_order, _Line
from stgrad.errors import AliasingError
from stgrad.ir import NONE, Const, Slice

SLICES = [slice(a, b, s) for a, b, s in itertools.product((None, 0, 1, 2, 5, -3), (None, 4, 7, -1), (None, 1, 2, 3))]


def _line(cut: slice, extent: int | None) -> _Line | None:
    lower, upper, step = (NONE if p is None else Const(p) for p in (cut.start, cut.stop, cut.step))
    return _cut(_Line("x", (), 0, 1, extent), Slice(lower, upper, step))


@pytest.mark.parametrize("known", [True, False])
def test_what_is_said_to_be_in_order_is_what_copies_give(known: bool) -> None:
    in_order = 0
    for n, to, source in itertools.product((6, 9), SLICES, SLICES):
        x = np.arange(float(n))
        if x[to].shape != x[source].shape:
            continue
        a, b = _line(to, n if known else None), _line(source, n if known else None)
        assert a is not None and b is not None
        expected = x.copy()
        expected[to] = x[source]
        x[to] = x[source]
        if _in_order(a, b):
            in_order += 1
            np.testing.assert_array_equal(x, expected)
        else:
            assert not known or not np.array_equal(x, expected)
    assert in_order > 100


def spread(x):  # type: ignore[no-untyped-def]
    x[::2] = x[0:3]
    return np.sum(x)


def through_views(x):  # type: ignore[no-untyped-def]
    front, v = x[:4], x[1:]
    v[::2] = front[1:]
    return np.sum(x)


def rows(a):  # type: ignore[no-untyped-def]
    for k in range(3):
        a[k, ::2] = a[k, :2]
        a[:, k] = a[k]
        a[k, 1:] = a[k, :-1]
    return np.sum(a * a)


def packed(x):  # type: ignore[no-untyped-def]
    n = np.size(x)
    x[: n // 2] = x[: n - 1 : 2]
    return np.sum(x * np.arange(n))


@pytest.mark.parametrize("jit", [False, True])
def test_an_order_that_matters_is_refused(jit: bool) -> None:
    for f, x in ((spread, np.arange(5.0)), (through_views, np.arange(6.0))):
        with pytest.raises(AliasingError, match="overlap, with different steps"):
            stgrad.grad(f, jit=jit)(x)


@pytest.mark.parametrize("jit", [False, True])
def test_copies_in_order_are_differentiated(jit: bool) -> None:
    np.testing.assert_array_equal(stgrad.grad(packed, jit=jit)(np.arange(5.0)), [0.0, 0.0, 3.0, 3.0, 4.0])
    a = np.arange(9.0).reshape(3, 3)
    direction, step = np.cos(a), 1e-6
    slope = (rows(a + step * direction) - rows(a - step * direction)) / (2 * step)
    np.testing.assert_allclose(np.sum(stgrad.grad(rows, jit=jit)(a) * direction), slope, rtol=1e-7)


def _forth_and_back(x, a, b, c, d):
    x[a:b] += x[c:d:-1]
    return np.sum(np.sin(x))


def _back_and_forth(x, a, b, c, d):
    x[c:d:-1] += x[a:b]
    return np.sum(np.sin(x))


def _both_back(x, a, b, c, d):
    x[b:a:-1] *= x[c:d:-1]
    return np.sum(np.sin(x))


def _by_twos(x, a, b, c, d):
    x[a : a + 2 * (c - d) : 2] += x[c:d:-1]
    return np.sum(np.sin(x))


@pytest.mark.parametrize("f", [_forth_and_back, _back_and_forth, _both_back, _by_twos])
def test_sums_read_before_they_write_in_compiled_code_too(f) -> None:
    rng, gradient = np.random.default_rng(0), stgrad.value_and_grad(f, jit=True)
    tried = 0
    for a, c in itertools.product(range(5), range(2, 8)):
        for count in range(1, 4):
            b, d = a + count, c - count
            x, h = rng.normal(size=9), 1e-6
            if d < 0 or f is _both_back and a + count > 8:
                continue
            v = rng.normal(size=9)
            value, x_bar = gradient(x.copy(), a, b, c, d)
            np.testing.assert_allclose(value, f(x.copy(), a, b, c, d), rtol=1e-13)
            np.testing.assert_allclose(x_bar @ v, (f(x + h * v, a, b, c, d) - f(x - h * v, a, b, c, d)) / (2 * h), rtol=1e-6, atol=1e-8)
            tried += 1
    assert tried > 50
