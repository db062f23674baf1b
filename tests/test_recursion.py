"""Recursion by value at run time: functions that call each other, and what is refused of them."""

from __future__ import annotations

import math
import subprocess
import sys

import numba
import numpy as np
import pytest

import stgrad
from stgrad import errors

X = np.array([0.5, 0.8, 1.3])


def deep(x, n):
    if n <= 0:
        return x
    return math.sin(deep(x, n - 1.0)) + x


def by_hand(x, n):
    y, dy = x, 1.0
    while n > 0:
        y, dy, n = math.sin(y) + x, math.cos(y) * dy + 1.0, n - 1.0
    return y, dy


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_as_deep_as_python_goes(jit, mode):
    assert np.isclose(stgrad.grad(deep, jit=jit, mode=mode)(0.3, 200.5), by_hand(0.3, 200.5)[1])


def test_deeper_raises_as_python_does():
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        stgrad.grad(deep)(0.3, 1e9)


def test_the_value_comes_with_the_gradient():
    """Each call makes its gradient once: what is below it runs once, however deep it is."""
    text = stgrad.grad(deep).lowered(0.3, 2.0)
    assert text.count("@runtime.unit") == 1
    assert "def deep_gradient(x, n, depth)" in text



def fibonacci(x, n):
    return x if n <= 1 else fibonacci(x, n - 1.0) * 0.9 + fibonacci(x, n - 2.0) * x


def test_called_from_compiled_code_and_with_the_operators():
    gradient = stgrad.grad(fibonacci)
    expected = (fibonacci(0.7 + 1e-6, 6.0) - fibonacci(0.7 - 1e-6, 6.0)) / 2e-6
    caller = numba.njit(lambda x: gradient(x, 6.0))
    assert np.isclose(caller(0.7), expected)
    value, pullback = stgrad.vjp(fibonacci, 0.7, 6.0)
    assert np.isclose(value, fibonacci(0.7, 6.0)) and np.isclose(pullback(2.0)[0], 2.0 * expected)
    assert np.isclose(stgrad.jvp(lambda x: fibonacci(x, 6.0), (0.7,), (2.0,))[1], 2.0 * expected)


def test_another_process_calls_it(tmp_path):
    """Numba does not load code that calls itself: it is compiled again there."""
    (tmp_path / "program.py").write_text(
        "import math, stgrad\n"
        "def deep(x, n):\n    return x if n <= 0 else math.sin(deep(x, n - 1.0)) + x\n"
        "print(stgrad.grad(deep)(0.3, 20.5))\n"
    )
    found = [float(subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout) for _ in range(2)]
    assert np.allclose(found, by_hand(0.3, 20.5)[1])


def writes(x):
    y = np.zeros(len(x))

    def go(i):
        if i >= len(x):
            return 0.0
        y[i] = x[i] * 2.0
        return y[i] + go(i + 1)

    return go(0)


def appends(x):
    found = []

    def go(i):
        if i >= len(x):
            return 0.0
        found.append(x[i] ** 2)
        return go(i + 1)

    return go(0) + sum(found) + x[0]


def endless(x):
    return endless(x * 2.0) + x[0]


def test_writes_to_what_is_around_it():
    x = np.linspace(0.5, 1.5, 65)
    np.testing.assert_allclose(stgrad.grad(writes)(x), np.full(65, 2.0))


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (appends, errors.UnsupportedSyntaxError, "changes a list, dict or object from outside of it"),
        (endless, errors.NeedStaticError, "no path through it ends"),
    ],
)
def test_refused_with_the_line(function, error, message):
    with pytest.raises(error, match=message) as caught:  # of more numbers than calls are written out for
        stgrad.grad(function, jit=True)(np.ones(65))
    assert f"{__file__}:" in str(caught.value)


def test_integers_that_become_floats_deeper_down():
    def total(x, acc, i):
        return acc if i >= len(x) else total(x, acc + x[i] ** 2, i + 1)

    def function(x):
        return total(x, 0, 0) * x[0]

    expected = 2.0 * X * X[0]
    expected[0] += np.sum(X**2)
    assert np.allclose(stgrad.grad(function)(X), expected)


def test_captured_arrays():
    table = np.array([2.0, -1.0, 0.5])

    def weighted(x, i):
        return 0.0 if i >= len(table) else table[i] * math.exp(x) + x * weighted(x, i + 1)

    def plain(x):
        return math.exp(x) * (2.0 - x + 0.5 * x * x)

    expected = (plain(0.7 + 1e-6) - plain(0.7 - 1e-6)) / 2e-6
    assert np.isclose(stgrad.grad(lambda x: weighted(x, 0))(0.7), expected)
    table[0] = 0.0
    assert np.isclose(stgrad.grad(lambda x: weighted(x, 0))(0.7), expected - 2.0 * math.exp(0.7))


def quadrature(x):
    f = lambda t: math.exp(-x * t)  # noqa: E731

    def halves(a, b):
        return (b - a) * f(0.5 * (a + b)) if b - a < 0.3 * x else halves(a, 0.5 * (a + b)) + halves(0.5 * (a + b), b)

    return halves(0.0, x)


def test_what_recurs_is_blamed_not_what_it_calls(monkeypatch):
    """Each function that is blamed costs one more reading of everything: 150 of them, when that was the lambda."""
    blamed = []
    original = errors.RecursionDepthError.__init__

    def noted(self, *args, **kwargs):
        blamed.append(kwargs["tree"].name)
        original(self, *args, **kwargs)

    monkeypatch.setattr(errors.RecursionDepthError, "__init__", noted)
    gradient = stgrad.grad(quadrature, jit=False)(1.3)
    assert set(blamed) == {"halves"} and len(blamed) <= 2
    assert np.isclose(gradient, (quadrature(1.3 + 1e-6) - quadrature(1.3 - 1e-6)) / 2e-6)


def simpson(f, left, right, eps, depth=0):
    middle, h = (left + right) / 2, right - left
    once = h / 6 * (f(left) + 4 * f(middle) + f(right))
    twice = h / 12 * (f(left) + 4 * f((left + middle) / 2) + 2 * f(middle) + 4 * f((middle + right) / 2) + f(right))
    if abs(once - twice) < eps or depth > 6:
        return twice
    return simpson(f, left, middle, eps / 2, depth + 1) + simpson(f, middle, right, eps / 2, depth + 1)


def adaptive(a):
    return simpson(lambda t: math.exp(-a * t * t), 0.0, 1.0, 1e-6)


def fourier(x):
    n = len(x)
    if n == 1:
        return x * (1.0 + 0.0j)
    even, odd = fourier(x[::2]), fourier(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate((even + turned, even - turned))


def spectrum(x):
    return np.sum(np.abs(fourier(x)) ** 2 * np.arange(len(x)))


def grown(depth):
    """A tree of pairs with numbers at its ends."""
    return (grown(depth - 1), grown(depth - 1)) if depth else 0.3


TREE = grown(6)


def folded(tree, x):
    return np.sin(tree * x) if not isinstance(tree, tuple) else folded(tree[0], x) * x + folded(tree[1], x * x)


def over_a_tree(x):
    return folded(TREE, x)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("f", "x", "lines"), [(adaptive, 2.0, 250), (spectrum, np.cos(np.arange(64.0)), 400), (over_a_tree, 0.8, 1000)])
def test_what_calls_itself_often_is_a_function(f, x, lines, jit):
    gradient = stgrad.grad(f, jit=jit, mode="reverse")
    way = np.cos(np.arange(np.size(x))).reshape(np.shape(x))
    slope = np.sum(gradient(x) * way)
    assert np.isclose(slope, (f(x + 1e-6 * way) - f(x - 1e-6 * way)) / 2e-6, rtol=1e-6)
    assert len(gradient.source().splitlines()) < lines


def checked(x, t):
    if t <= 0.0:
        return x
    if x > 5.0:
        raise ValueError("too large")
    return checked(x * 1.5, t - 1.0)


def called_for_its_error(x, t):
    checked(x, t)
    return x * 2.0


def scaled_to_nothing(x, t):
    return 0.0 * checked(x, t) + x * 2.0


def caught(x, t):
    try:
        return checked(x, t) * x
    except ValueError:
        return x * 3.0


def opaque_on_one_side(x, t):
    if t <= 0.0:
        return x
    if t > 100.0:
        return opaque_on_one_side(x, t - 1.0) * (1.0 if open(__file__).close() is None else 0.0)
    return opaque_on_one_side(x, t - 1.0) * x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("make", [stgrad.grad, stgrad.value_and_grad])
@pytest.mark.parametrize("f", [called_for_its_error, scaled_to_nothing])
def test_errors_come_where_no_result_is_read(f, make, jit):
    gradient = make(f, jit=jit)
    with pytest.raises(ValueError, match="too large"):
        gradient(4.0, 3.0)
    assert np.ravel(gradient(1.0, 3.0))[-1] == 2.0


def test_errors_that_a_try_catches_are_refused():
    with pytest.raises(errors.UnsupportedSyntaxError, match="`checked`, which is a function beside the program, may raise the ValueError"):
        stgrad.grad(caught, jit=True)(4.0, 3.0)


@pytest.mark.parametrize("make", [stgrad.grad, stgrad.value_and_grad])
def test_sides_that_cannot_be_compiled_are_no_results(make):
    gradient = make(opaque_on_one_side, jit=False)
    assert np.isclose(np.ravel(gradient(1.01, 2.5))[-1], 4 * 1.01**3)
    with pytest.raises(errors.UnsupportedSyntaxError, match="`open` is not supported"):
        gradient(1.01, 101.5)
