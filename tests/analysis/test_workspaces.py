"""Arrays that each trip fills anew do not keep a loop from being united with its reversal; all others do."""

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RNG = np.random.default_rng(1)
X, W, M = RNG.random((4, 3)), RNG.random(3), RNG.random((3, 3))


def softmax_rows(x, w):
    n, d = x.shape
    z = np.empty(d)
    total = 0.0
    for p in range(n):
        for i in range(d):
            z[i] = x[p, i] * w[i]
        top = z[0]
        for i in range(1, d):
            top = max(top, z[i])
        s = 0.0
        for i in range(d):
            s += math.exp(z[i] - top)
        total += top + math.log(s)
    return total


def hidden_layer(x, m):
    n, d = x.shape
    h = np.zeros(d)
    y = np.zeros(d)
    total = 0.0
    for p in range(n):
        for i in range(d):
            h[i] = 0.1 * i
            for j in range(d):
                h[i] += m[i, j] * x[p, j]
        for i in range(d):
            y[i] = math.tanh(h[i]) * h[d - 1 - i]
        for i in range(d):
            total += y[i] * y[i]
    return total


def mixture(a, m, x):
    n, d = x.shape
    k = len(a)
    centred = np.empty(d)
    terms = np.empty(k)
    total = 0.0
    for p in range(n):
        for c in range(k):
            for i in range(d):
                centred[i] = x[p, i] - m[c, i]
            s = 0.0
            for i in range(d):
                for j in range(i):
                    s += centred[i] * centred[j] * a[c]
                centred[i] = math.sin(centred[i])
                s += centred[i]
            terms[c] = a[c] - s * s
        t = 0.0
        for c in range(k):
            t += math.exp(terms[c])
        total += math.log(t)
    top = np.max(a)
    return total - top * np.log(np.sum(np.exp(a - top)))


def updated(x, w):
    """The workspace is changed after it was filled, and read before and after that."""
    n, d = x.shape
    z = np.empty(d)
    total = 0.0
    for p in range(n):
        for i in range(d):
            z[i] = x[p, i] * w[i]
        for i in range(1, d):
            total += z[i] * z[i - 1]
            z[i] = z[i - 1] * math.sin(z[i])
        total += z[d - 1] ** 3
    return total


def table(x, w):
    n, d = x.shape
    g = np.empty((d, d))
    total = 0.0
    for p in range(n):
        for i in range(d):
            for j in range(d):
                g[i, j] = x[p, i] * w[j]
        for i in range(1, d):
            for j in range(1, d):
                g[i, j] = g[i, j] + math.sin(g[i - 1, j]) * g[i, j - 1]
        total += g[d - 1, d - 1]
    return total


def first_left_out(x, w):
    z = np.ones(x.shape[1])
    total = 0.0
    for p in range(x.shape[0]):
        total += z[0] * w[0]
        for i in range(1, x.shape[1]):
            z[i] = x[p, i] * w[i]
        z[0] = z[1] * z[2]
        total += z[0]
    return total


def smoothed(x, w):
    z = np.zeros(x.shape[1])
    total = 0.0
    for p in range(x.shape[0]):
        for i in range(x.shape[1]):
            z[i] = 0.5 * z[i] + x[p, i] * w[i]
        for i in range(x.shape[1]):
            total += z[i] * z[i]
    return total


def neighbour_of_before(x, w):
    d = x.shape[1]
    z = np.ones(d)
    total = 0.0
    for p in range(x.shape[0]):
        for i in range(d):
            z[i] = x[p, i] * w[i] * z[(i + 1) % d]
        for i in range(d):
            total += z[i] * z[i]
    return total


def sometimes_filled(x, w):
    d = x.shape[1]
    z = np.ones(d)
    total = 0.0
    for p in range(x.shape[0]):
        if p % 2 == 0:
            for i in range(d):
                z[i] = x[p, i] * w[i]
        for i in range(d):
            total += z[i] * z[i] * x[p, i]
    return total


def partly_filled(x, w):
    d = x.shape[1]
    z = np.ones(d)
    total = 0.0
    for p in range(x.shape[0]):
        for i in range(d - p % 2):
            z[i] = x[p, i] * w[i]
        for i in range(d):
            total += z[i] * z[i] * x[p, i]
    return total


def read_afterwards(x, w):
    d = x.shape[1]
    z = np.ones(d)
    total = 0.0
    for p in range(x.shape[0]):
        for i in range(d):
            z[i] = x[p, i] * w[i]
        total += z[0] * z[1]
    return total * z[2] * z[0]


def another_name(x, w):
    d = x.shape[1]
    z = np.ones(d)
    v = z
    total = 0.0
    for p in range(x.shape[0]):
        total += v[0] * w[1]
        for i in range(d):
            z[i] = x[p, i] * w[i]
        total += z[0] * v[1]
    return total


def no_trip_inside(x, w, k):
    d = x.shape[1]
    z = np.ones(d)
    total = 0.0
    for p in range(x.shape[0]):
        for c in range(k):
            for i in range(d):
                z[i] = x[p, i] * w[i] * (c + 1.0)
            total += z[0] * z[0]
        total += z[1] * w[0]
    return total


def left_behind(x, y):
    u = x
    total = 0.0
    for i in range(len(y)):
        total += math.tanh(u) * y[i]
        u = y[i] * y[i]
    return total


def started_over(x, y, n):
    u = x
    total = 0.0
    for i in range(n):
        total += math.tanh(u) * y
        u = 1.0
    return total


UNITED = [(softmax_rows, (X, W)), (hidden_layer, (X, M)), (mixture, (RNG.random(2), M[:2], X)), (updated, (X, W)), (table, (X, W))]
APART = [
    *((f, (X, W)) for f in (first_left_out, smoothed, neighbour_of_before, sometimes_filled, partly_filled, read_afterwards, another_name)),
    (no_trip_inside, (X, W, 0)),
    (no_trip_inside, (X, W, 2)),
    (left_behind, (0.3, W)),
    (started_over, (0.3, 0.7, 3)),
]


@pytest.mark.parametrize(("f", "args"), UNITED, ids=[f.__name__ for f, _ in UNITED])
def test_trips_with_workspaces_of_their_own_are_united(f, args):
    text = stgrad.grad(f, tuple(range(len(args)))).lowered(*args)
    assert text.count("for p ") == 1 and "p_down" not in text, text
    check_gradient(f, args, jit=False)


@pytest.mark.parametrize(("f", "args"), APART, ids=[f.__name__ for f, _ in APART])
def test_trips_that_see_what_others_left_stay_apart(f, args):
    check_gradient(f, args, jit=False)


def test_compiled_and_second_order():
    check_gradient(mixture, (RNG.random(2), M[:2], X))
    check_gradient(updated, (X, W), order=2, jit=False)
