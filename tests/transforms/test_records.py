"""Of a running maximum and its kin the trip of the last replacement is kept; whatever else a branch does keeps its values."""

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RNG = np.random.default_rng(2)
X, M = RNG.standard_normal(5), RNG.standard_normal((5, 3))


def largest(x, m):
    total = 0.0
    for j in range(m.shape[1]):
        top = x[0] + m[0, j]
        for i in range(1, len(x)):
            top = max(top, x[i] + m[i, j])
        s = 0.0
        for i in range(len(x)):
            s += math.exp(x[i] + m[i, j] - top)
        total += top + math.log(s)
    return total


def smallest_product(x, m):
    total = 0.0
    for j in range(m.shape[1]):
        low = 1e10
        for i in range(len(x)):
            if x[i] * m[i, j] < low:
                low = x[i] * m[i, j]
        total += low * low
    return total


def viterbi(x, m):
    v = x.copy()
    new = np.empty(len(x))
    for t in range(2):
        for j in range(m.shape[1]):
            best = -1e10
            for i in range(len(x)):
                if v[i] + m[i, j] * x[t] > best:
                    best = v[i] + m[i, j] * x[t]
            new[j] = best * 0.9
        for j in range(m.shape[1]):
            v[j] = new[j]
    return v[0] * v[1] + v[2]


def where_it_is(x, m):
    best, k = -1e10, 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            k = i
    return best * m[k, 0] + m[k, 1]


def two_at_once(x, m):
    best, other = -1e10, 0.0
    for i in range(len(x)):
        if x[i] * x[i] > best:
            best = x[i] * x[i]
            other = m[i, 0] * x[i]
    return best * other


def counted(x, m):
    best, total = -1e10, 0.0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            total += m[i, 0] * m[i, 0]
    return best * total


def faded(x, m):
    best, weight = -1e10, 1.0
    for i in range(len(x)):
        if m[i, 0] > best:
            best = m[i, 0]
            weight = weight * x[i]
    return best * weight


def watched(x, m):
    best, total = -1e10, 0.0
    for i in range(len(x)):
        best = max(best, x[i])
        total += best * m[i, 0]
    return total


def costly(x, m):
    best = -1e10
    for i in range(len(x)):
        if math.exp(x[i]) * m[i, 1] > best:
            best = math.exp(x[i]) * m[i, 1]
    return best * best


def kept_or_new(x, m):
    best, rest = -1e10, 0.0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
        else:
            rest = m[i, 0] * x[i]
    return best * rest


def halved(x, m):
    """The replacement depends on what is replaced."""
    best = 0.1
    for i in range(len(x)):
        if x[i] > best:
            best = 0.5 * best + x[i] * m[i, 0]
    return best


def begun_anew(x, m):
    """Trips set what the first one is given, which the trip of the last replacement alone would not undo."""
    best, shift = -1e10, x[0] * x[0]
    for i in range(len(x)):
        best = max(best, x[i] + shift)
        shift = 2.0
    return best * m[0, 0]


def begun_anew_behind(x, m):
    best, shift = -1e10, x[0] * x[0]
    for i in range(len(x)):
        if i > 1:
            shift = 1.0
        best = max(best, x[i] + shift)
        shift = 0.5
    return best * m[0, 0] + shift


def nearest(x, m):
    total = 0.0
    for i in range(len(x)):
        best = 1e10
        for j in range(m.shape[0]):
            distance = 0.0
            for k in range(m.shape[1]):
                distance += (x[i] - m[j, k]) ** 2
            best = min(best, distance)
        total += best
    return total


def nearest_of_products(x, m):
    """What the inner loop multiplies is needed on the way back."""
    best = 1e10
    for j in range(m.shape[0]):
        product, total = x[0], 0.0
        for k in range(m.shape[1]):
            product = product * m[j, k]
            total += product * x[k]
        best = min(best, total)
    return best * best


PROGRAMS = [
    begun_anew, begun_anew_behind, nearest, nearest_of_products, largest, smallest_product, viterbi, where_it_is, two_at_once, counted, faded, watched,
    costly, kept_or_new, halved,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_gradients(f):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        check_gradient(f, (rng.standard_normal(5), rng.standard_normal((5, 3))), jit=False)


@pytest.mark.parametrize("f", [largest, smallest_product])
def test_one_trip_is_kept_in_place_of_all_values(f):
    text = stgrad.grad(f, (0, 1)).lowered(X, M)
    assert "top_stack" not in text and "low_stack" not in text and "at" in text, text


def test_a_trip_with_loops_is_one_trip():
    text = stgrad.grad(nearest, (0, 1)).lowered(X, M)
    assert "range(at, max(at - 1, -1), -1)" in text, text


def test_no_trip_and_ties():
    grad = stgrad.grad(largest, (0, 1), jit=False)
    np.testing.assert_array_equal(grad(np.ones(1), np.ones((1, 2)))[1], np.ones((1, 2)))
    tied = stgrad.grad(smallest_product, jit=False)(np.ones(4), np.ones((4, 1)))
    np.testing.assert_array_equal(tied, [2.0, 0.0, 0.0, 0.0])


def test_compiled_and_second_order():
    check_gradient(smallest_product, (X, M))
    check_gradient(largest, (X, M), order=2, jit=False)
    check_gradient(nearest, (X, M), jit=True)
    check_gradient(begun_anew, (X, M), jit=True)
