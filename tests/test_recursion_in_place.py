"""Functions that call themselves and write to arrays that they are given: what their callers see."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.3, 0.1, 0.25, 0.52, 0.4, 0.7, 0.2, 0.9])


def quicksort(a, lo, hi):
    if lo < hi:
        pivot, i = a[hi], lo
        for j in range(lo, hi):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[hi] = a[hi], a[i]
        quicksort(a, lo, i - 1)
        quicksort(a, i + 1, hi)


def in_place(x):
    a = x.copy()
    quicksort(a, 0, len(a) - 1)
    return a @ np.arange(len(a)) * a[2]


@numba.njit
def rotate(a, n):
    if n > 0:
        a[n], a[n - 1] = a[n - 1] * 1.1, a[n]
        rotate(a, n - 1)


def by_numba(x):
    a = x.copy()
    rotate(a, len(a) - 1)
    return a[1] * a[0] ** 2


def merge_sort(a, lo, hi, scratch):
    """The number of inversions."""
    if hi - lo < 2:
        return 0
    middle = (lo + hi) // 2
    count = merge_sort(a, lo, middle, scratch) + merge_sort(a, middle, hi, scratch)
    i, j = lo, middle
    for k in range(lo, hi):
        if j >= hi or (i < middle and a[i] <= a[j]):
            scratch[k] = a[i]
            i += 1
        else:
            scratch[k] = a[j]
            j += 1
            count += middle - i
    for k in range(lo, hi):
        a[k] = scratch[k]
    return count


def two_arrays_and_a_number(x):
    a = x.copy()
    inversions = merge_sort(a, 0, len(a), np.empty(len(a)))
    return a @ np.arange(len(a)) * inversions


def fill(image, seen, i, j):
    if i < 0 or j < 0 or i >= image.shape[0] or j >= image.shape[1] or seen[i, j] > 0:
        return
    seen[i, j] = 1.0
    image[i, j] = image[i, j] * image[i, j]
    for di, dj in ((0, 1), (1, 0), (-1, 0), (0, -1)):
        fill(image, seen, i + di, j + dj)


def flooded(x):
    image = np.outer(x[:4], x[:4])
    seen = np.zeros(image.shape)
    seen[1, 1] = 1.0
    fill(image, seen, 0, 0)
    return np.sum(image)


def transform(re, im, n):
    if n == 1:
        return
    half = n // 2
    even_re, even_im, odd_re, odd_im = re[::2].copy(), im[::2].copy(), re[1::2].copy(), im[1::2].copy()
    transform(even_re, even_im, half)
    transform(odd_re, odd_im, half)
    for k in range(half):
        c, s = np.cos(-2 * np.pi * k / n), np.sin(-2 * np.pi * k / n)
        t, u = c * odd_re[k] - s * odd_im[k], s * odd_re[k] + c * odd_im[k]
        re[k], im[k] = even_re[k] + t, even_im[k] + u
        re[k + half], im[k + half] = even_re[k] - t, even_im[k] - u


def spectrum(x):
    re, im = x.copy(), np.zeros(len(x))
    transform(re, im, len(x))
    return np.sum(re**2 * np.arange(len(x))) + np.sum(im**3)


def halves(x):
    m = len(x) // 2
    if m > 0:
        halves(x[:m])
        halves(x[m:])
        x[:m] += x[m : 2 * m] ** 2


def through_views(x):
    y = x * 1.0
    halves(y)
    return np.sum(y**2)


class Total:
    def __init__(self, n):
        self.parts, self.rate = np.zeros(n), 2.0

    def add(self, x, i):
        if i < len(x):
            self.parts[i] += self.rate * x[i] ** 2
            self.add(x, i + 1)


def held_by_an_object(x):
    total = Total(len(x))
    total.add(x, 0)
    return np.sum(total.parts**2)


def around(x):
    total, i = np.zeros(1), len(x)

    def add(k):
        if k < i:
            total[0] += x[k] ** 3
            add(k + 1)

    add(0)
    return total[0] * x[0]


def double(a, n):
    if n > 0:
        a[n - 1] *= 2
        add_next(a, n - 1)


def add_next(a, n):
    if n > 0:
        a[n - 1] += a[n]
        double(a, n - 1)


def each_other(x):
    a = x.copy()
    double(a, len(a) - 1)
    return np.sum(a**2)


def fibonacci(memo, n, x):
    if memo[n] == 0.0:
        if n < 2:
            memo[n] = x
        else:
            fibonacci(memo, n - 1, x)
            fibonacci(memo, n - 2, x)
            memo[n] = memo[n - 1] + memo[n - 2] * x


def table(x):
    memo = np.zeros(len(x) + 1)
    fibonacci(memo, len(x), x[0])
    return memo[len(x)] * x[1]


def permute(a, k, total):
    if k == len(a):
        total[0] += (a[0] + 2 * a[1] + 4 * a[2]) ** 3
    for i in range(k, len(a)):
        a[k], a[i] = a[i], a[k]
        permute(a, k + 1, total)
        a[k], a[i] = a[i], a[k]


def backtracking(x):
    total = np.zeros(1)
    permute(x[:3].copy(), 0, total)
    return total[0]


def exchange(a, b, n):
    if n > 0:
        a[0], b[0] = b[0], a[0] * 0.9
        exchange(b, a, n - 1)


def places_change(x):
    a, b = x.copy(), x * 2
    exchange(a, b, len(x) - 0.5)
    return np.sum(a * a) + np.sum(b)


def doubled(a, n):
    if n > 0:
        a[n - 1] *= 2
        return doubled(a, n - 1)
    return a * 1.0


def result_and_change(x):
    a = x.copy()
    return np.sum(doubled(a, len(a)) ** 2) * a[0]


PROGRAMS = [
    in_place, by_numba, two_arrays_and_a_number, flooded, spectrum, through_views, held_by_an_object, around, each_other, table, backtracking,
    places_change, result_and_change,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_callers_see_what_is_written(f):
    check_gradient(f, (X,), jit=False)
    way, step = np.cos(np.arange(8.0)), 1e-6
    slope = (f(X + step * way) - f(X - step * way)) / (2 * step)
    assert np.isclose(stgrad.jvp(f, (X,), (way,), jit=False)[1], slope, rtol=1e-6)


@pytest.mark.parametrize("f", [by_numba, two_arrays_and_a_number, flooded, held_by_an_object, table, places_change])
def test_compiled(f):
    check_gradient(f, (X,), order=1, jit=True)


def validated(x, n):
    if x[n] < 0:
        raise ValueError("negative")
    if n > 0:
        validated(x, n - 1)


@pytest.mark.parametrize("jit", [False, True])
def test_without_a_result(jit, capsys):
    def checked(x):
        validated(x, len(x) - 1)
        return np.sum(x**2)

    def said(n):
        print("at", n)
        if n > 0:
            said(n - 1)

    def told(x, n):
        said(n)
        return x * x

    gradient = stgrad.grad(checked, jit=jit)
    np.testing.assert_array_equal(gradient(X), 2 * X)
    with pytest.raises(ValueError, match="negative"):
        gradient(-X)
    capsys.readouterr()
    assert stgrad.grad(told, jit=jit)(3.0, 2) == 6.0
    if not jit:  # what compiled code prints passes by
        assert capsys.readouterr().out.count("at") == 3


def test_the_callers_own_array():
    def change(x, n):
        if n > 0:
            x[0] *= 3
            change(x, n - 1)

    x = np.ones(3)
    stgrad.jit(lambda x, n: change(x, n))(x, 2)
    np.testing.assert_array_equal(x, [9.0, 1.0, 1.0])


def given(a, n):
    return a if n <= 0 else given(a, n - 1)


def changes_the_result(x):
    a = x * 1.0
    b = given(a, len(x) + 0.5)
    b[0] = 5.0
    return np.sum(a * a)


def changes_the_argument(x):
    a = x * 1.0
    b = given(a, len(x) + 0.5)
    a[0] = 5.0
    return np.sum(b * b)


def one_array_twice(x):
    a = x.copy()
    exchange(a, a, len(x) - 0.5)
    return np.sum(a * a)


def overlapping(x):
    a = x.copy()
    exchange(a[1:], a[:-1], len(x) - 0.5)
    return np.sum(a * a)


@pytest.mark.parametrize("f", [changes_the_result, changes_the_argument, one_array_twice, overlapping])
def test_what_may_be_one_array_is_refused_or_run_plainly(f, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    x = np.linspace(0.3, 1.2, 70)
    with pytest.raises(errors.AliasingError, match="test_recursion_in_place.py:"):
        stgrad.grad(f, jit=True)(x)
    with pytest.warns(errors.RunsPlainlyWarning):
        slope = stgrad.grad(f)(x)
    for i in (0, 1, 69):
        step = 1e-6 * np.eye(70)[i]
        assert np.isclose(slope[i], (f(x + step) - f(x - step)) / 2e-6, rtol=1e-6, atol=1e-6)


def powers(a, a_given, n):
    if n > 0:
        a[0] = a[0] * a_given[0]
        powers(a, a_given, n - 1)


def names_that_its_copy_would_take(x):
    a = x.copy()
    powers(a, x * 1.1, len(x) - 0.5)
    return np.sum(a)


def tower(n, a, b, c, pegs):
    if n > 0:
        tower(n - 1, a, c, b, pegs)
        pegs[b] += pegs[a] * 0.5
        pegs[a] *= 0.9
        tower(n - 1, c, b, a, pegs)


def moved(x):
    pegs = x[:3].copy()
    tower(4, 0, 2, 1, pegs)
    return np.sum(pegs**2)


@pytest.mark.parametrize("f", [names_that_its_copy_would_take, moved])
def test_twice(f):
    check_gradient(f, (X,), order=2, jit=False)
