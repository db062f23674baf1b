"""Loops whose first trips alone find a number in a name that holds an array behind them."""

from __future__ import annotations

import warnings
from functools import reduce

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.errors import RunsPlainlyWarning, TypeInferenceError

X = np.array([0.3, 0.6, 0.9])


def horner(x, n):
    a = 0.0
    for k in (n, 2.0, x[1]) if n < 2 else np.arange(1.0, 4.0) * n:
        a = a * x + k
    return np.sum(a * a)


def two_names(x, n):
    d = 0.0
    v = 0.0
    s = 0
    for i in range(n):
        d = v + d * x
        v = v * x + i + 1.0
        s += np.sum(d)
    return s + np.sum(d * v)


def second_trip(x, n):
    level = x[0]
    total = 0.0
    for t in range(1, n):
        error = x[t - 1] - level
        total += error * error
        level = x * x[t - 1] + (1.0 - x) * level
    return np.sum(total)


def interrupted(x, n):
    t = 1.0
    for _ in range(n):
        t = t * x
        if np.sum(t) < 0.4:
            break
    return np.sum(t)


def nested_while(x, n):
    r = 0.0
    i = 0
    while i < n:
        t = 0
        for j in range(i + 1):
            t = t + x * j
        r = r + np.sum(t * t)
        i += 1
    t = 0.0
    k = 0
    while k < n:
        t = t + x * k
        k += 1
    return r * np.sum(t)


def summed(x, n):
    weights = [0.5 * k for k in range(n)]
    rows = [x * k for k in range(n)]
    mean = sum(w * r for w, r in zip(weights, rows)) / n
    return np.sum(mean * sum(rows)) + np.sum(reduce(lambda total, r: total * 0.5 + r, rows, 0.0))


@pytest.mark.parametrize("f", [horner, two_names, second_trip, interrupted, nested_while, summed], ids=lambda f: f.__name__)
def test_gradient(f):
    check_gradient(f, (X, 3), order=2 if f is horner else 1)


def test_under_numba():
    check_gradient(two_names, (X, 3), order=1, jit=True)


@pytest.mark.parametrize("f", [two_names, nested_while], ids=lambda f: f.__name__)
def test_no_trip_at_all(f, monkeypatch):
    """The program is written for arrays; where a number stays, the derivative is recorded, or the call is refused."""
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    gradient = stgrad.value_and_grad(f, jit=False)
    gradient(X, 2)
    with pytest.warns(RunsPlainlyWarning):
        value, slopes = gradient(X, 0)
    assert value == f(X, 0)
    np.testing.assert_array_equal(slopes, np.zeros_like(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunsPlainlyWarning)
        np.testing.assert_array_equal(gradient(X, 0)[1], slopes)
    with pytest.raises(TypeInferenceError, match="makes no trip"):
        stgrad.grad(f, jit=True)(X, 0)


def joined(x):
    pair = ()
    for i in range(2):
        pair = pair + (np.sin(x[i]),)
    return pair[0] * pair[1]


def nested(x):
    """Another rank in each trip."""
    y = x
    for _ in range(2):
        y = np.outer(y, x) if y.ndim == 1 else np.sum(y * y)
    return y


def turned(x):
    """Integers in the first trip, floats in the second."""
    knots, before = np.array([0]), 0
    for k in range(2):
        knots = np.concatenate((knots, np.linspace(before, x[k], 3)[1:]))
        before = x[k]
    return np.sum(knots**2)


@pytest.mark.parametrize("f", [joined, nested, turned], ids=lambda f: f.__name__)
def test_a_few_trips_of_which_no_two_are_alike(f):
    check_gradient(f, (np.array([0.7, 1.9]),))


def until_small(x, n):
    lat, err = x, np.ones(n)
    while np.max(np.abs(err)) > 1e-10:
        err = 0.5 * np.cos(lat) - lat + 0.1 * x
        lat = lat + err
    return lat


def path_of_rows(x, n):
    at = np.array([0, 0])
    total = x[0, 0]
    for k in range(1, n):
        at = np.vstack((at, np.array([k, n - k])))
        total = total + x[k, n - k] * at.shape[0]
    return total


@pytest.mark.parametrize("jit", [False, True])
def test_an_array_that_becomes_a_number_or_gets_an_axis(jit) -> None:
    check_gradient(until_small, (0.3, 1), argnums=0, jit=jit)
    check_gradient(until_small, (0.3, 3), argnums=0, jit=jit)
    x = np.arange(16.0).reshape(4, 4)
    assert stgrad.value_and_grad(path_of_rows, jit=jit)(x, 4)[0] == path_of_rows(x, 4)
    check_gradient(path_of_rows, (x, 4), argnums=0, jit=jit)
