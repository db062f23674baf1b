"""Copies within one array, against NumPy itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import stgrad
from stgrad.analysis.affine import number
from stgrad.analysis.known import at_start
from stgrad.analysis.overlaps import _Cut, _Looks, _View
from stgrad.errors import AliasingError
from stgrad.ir import NONE, Const, Operand, Pack, Slice
from stgrad.ir.text import parse

SLICES = [slice(a, b, s) for a, b, s in itertools.product((None, 0, 1, 2, 5, -3), (None, 4, 7, -1), (None, 1, 2, 3))]
ENTRIES = [0, 1, 3, -1, slice(None), slice(1, None), slice(0, 3), slice(None, None, 2), slice(2, 5)]


def _operand(entry: int | slice) -> Operand:
    if isinstance(entry, int):
        return Const(entry)
    return Slice(*(NONE if p is None else Const(p) for p in (entry.start, entry.stop, entry.step)))


def _looks() -> _Looks:
    fn = parse("def f(x: float64['n']):\n    return x")
    return _Looks(at_start(fn), fn)


@pytest.mark.parametrize("known", [True, False])
def test_what_is_said_to_be_in_order_is_what_copies_give(known: bool) -> None:
    views, in_order = _looks(), 0
    for n, to, source in itertools.product((6, 9), SLICES, SLICES):
        x = np.arange(float(n))
        if x[to].shape != x[source].shape:
            continue
        whole = _View(1, 1, 1, (_Cut(number(0), 1, number(n) if known else None),), (0,))
        a, b = views.at(whole, _operand(to)), views.at(whole, _operand(source))
        expected = x.copy()
        expected[to] = x[source]
        x[to] = x[source]
        if views.in_order(a, b):
            in_order += 1
            np.testing.assert_array_equal(x, expected)
        else:
            assert not known or not np.array_equal(x, expected)
    assert in_order > 100


@pytest.mark.parametrize("known", [True, False])
def test_rows_and_columns(known: bool) -> None:
    views, in_order, refused = _looks(), 0, 0
    extent = number(5) if known else None
    whole = _View(1, 1, 2, (_Cut(number(0), 1, extent), _Cut(number(0), 1, extent)), (0, 1))
    lines = [key for key in itertools.product(ENTRIES, ENTRIES) if sum(isinstance(e, slice) for e in key) == 1]
    for to, source in itertools.product(lines, lines):
        a = np.arange(25.0).reshape(5, 5)
        if a[to].shape != a[source].shape:
            continue
        mine, other = (views.at(whole, Pack(tuple(map(_operand, key)))) for key in (to, source))
        expected = a.copy()
        expected[to] = a[source].copy()
        a[to] = a[source]
        if views.in_order(mine, other):
            in_order += 1
            np.testing.assert_array_equal(a, expected, str((to, source)))
        else:
            refused += 1
    assert in_order > 300
    assert refused > 50


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


def column_of_a_row(x):  # type: ignore[no-untyped-def]
    a = np.outer(x, x)
    a[:, 2] = a[1]
    return np.sum(a * a)


def row_of_a_turned_one(x):  # type: ignore[no-untyped-def]
    a = np.outer(x, x)
    r, c = a[1], a.T[-1]
    r[:] = c
    return np.sum(a * a)


def flattened(x):  # type: ignore[no-untyped-def]
    a = np.outer(x, x)
    a.reshape(-1)[5:10] = a[:, 2]
    return np.sum(a * a)


def of_one_row(x):  # type: ignore[no-untyped-def]
    y = np.outer(x, x)[0]
    y[::2] = y[:3]
    return np.sum(y)


def carried_along(x):  # type: ignore[no-untyped-def]
    a = np.outer(x, x)
    r = a[0]
    for i in range(5):
        if i > 0:
            a[:, i] = r  # the row of the trip before
        r = a[i]
    return np.sum(a * a)


def counted_on(x):  # type: ignore[no-untyped-def]
    a, k = np.outer(x, x), 1
    r = a[k]
    while k < 3:
        k += 1
    a[:, k] = r
    return np.sum(a * a)


def copied(x):  # type: ignore[no-untyped-def]
    a = np.outer(x, x)
    np.copyto(a[:, -1], a[1])
    return np.sum(a)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("jit", [False, True])
def test_an_order_that_matters_is_refused(jit: bool, plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STGRAD_PLAIN", str(int(plain)))
    five = np.array([1.0, 2.0, 4.0, -1.0, 0.5])
    lines = (column_of_a_row, row_of_a_turned_one, flattened, of_one_row, carried_along, counted_on, copied)
    programs = [(spread, np.arange(5.0)), (through_views, np.arange(6.0)), *((f, five) for f in lines)]
    for f, x in programs:
        with pytest.raises(AliasingError, match="overlap, with different steps"):
            stgrad.grad(f, jit=jit)(x)


@pytest.mark.parametrize("jit", [False, True])
def test_copies_in_order_are_differentiated(jit: bool) -> None:
    np.testing.assert_array_equal(stgrad.grad(packed, jit=jit)(np.arange(5.0)), [0.0, 0.0, 3.0, 3.0, 4.0])
    a = np.arange(9.0).reshape(3, 3)
    direction, step = np.cos(a), 1e-6
    slope = (rows(a + step * direction) - rows(a - step * direction)) / (2 * step)
    np.testing.assert_allclose(np.sum(stgrad.grad(rows, jit=jit)(a) * direction), slope, rtol=1e-7)


def filled(x, n):  # type: ignore[no-untyped-def]
    a = np.outer(x, x**2)
    for i in range(n):
        a[i + 1 :, i] = a[i, i + 1 :]
        a[i, :i] = a[:i, i]
    a[:, 0] = a[0]
    a[-1] = a[:, -1]
    a[2:, 0] = a[1, 2:]
    a[::2, 1] = a[0, ::2] * 1.0
    a[::-1, 2] = a[1]
    k = 0
    while k < n - 1:
        a[k + 1 :, k] = a[k, k + 1 :]
        k += 1
    old, new = x * 1.0, x * 2.0
    for _ in range(n):
        new[1:] = old[:-1]
        new[0] = old[-1] * a[0, 0]
        old, new = new, old
    a[1] += old
    last, queue = x * 1.0, list(x)
    for _ in range(n):
        stages = np.zeros((3, 5))  # another array than that of the trip before, whose last row this is
        stages[0] = last
        stages[1] = np.sin(stages[0])
        stages[2] = stages[1] * stages[0]
        last = stages[-1]
        queue.append(queue.pop(0) * 0.5)
    a[3] += last * queue[1]
    return np.sum(a * np.arange(25.0).reshape(5, 5))


@pytest.mark.parametrize("jit", [False, True])
def test_rows_and_columns_that_do_not_meet_or_meet_in_time(jit: bool) -> None:
    x = np.array([1.0, 2.0, 4.0, -1.0, 0.5])
    value, slope = stgrad.value_and_grad(filled, jit=jit)(x, 5)
    assert np.isclose(value, filled(x, 5))
    differences = [(filled(x + 1e-6 * e, 5) - filled(x - 1e-6 * e, 5)) / 2e-6 for e in np.eye(5)]
    np.testing.assert_allclose(slope, differences, rtol=1e-6)


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
