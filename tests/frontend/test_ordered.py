"""NumPy's sets as sorted arrays, `bisect`, `heapq`, and the order of tuples: of values of the running program."""

from __future__ import annotations

import bisect
import heapq

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.35, -0.9, 0.62, 0.2])
KNOWN = np.array([0.62, 0.1, 0.3])


def differences(x):
    d = np.setdiff1d(x, [0.1, 0.3], True)
    return np.sum(d**2) + np.sum(np.union1d(x, KNOWN[1:]) ** 2) * x[0] + np.sum(np.setxor1d(x, KNOWN[1:]) ** 3) + np.sum(np.setdiff1d(x[2:], x[:1]) ** 2)


def places(x):
    g = sorted(x)
    i, j = bisect.bisect_left(g, 0.25), bisect.bisect(g, 0.4, 1)
    return g[i] ** 2 + j * g[0] + bisect.bisect_right([1.0, 2.0, 3.0], 2.0) * x[1]


def heap_of_tuples(x):
    heap = []
    for i in range(len(x)):
        heapq.heappush(heap, (x[i] * x[i], i))
    a, _ = heapq.heappop(heap)
    b, j = heapq.heappop(heap)
    return a * 3.0 + b * b + x[j]


def heap_in_place(x):
    heap = [x[0], x[1], x[2]]
    heapq.heapify(heap)
    first = heapq.heapreplace(heap, x[3])
    return first + heapq.heappop(heap) * 2.0 + heapq.heappushpop(heap, x[0] * x[1]) * heap[0] + sum(heapq.nsmallest(2, x)) * heapq.nlargest(1, [x[0], x[1]])[0]


def order_of_tuples(x):
    a, b = (x[0] > 0.0, x[1], 3), (x[2] > 0.0, x[3], 1)
    return (x[0] if a < b else x[1]) * (x[2] if (x[0], (x[1], 2)) >= (x[0], (x[1], 1)) else x[3]) + (x[2] if [x[0]] <= [x[0], 1.0] else x[3])


PROGRAMS = [differences, places, heap_of_tuples, heap_in_place, order_of_tuples]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f):
    check_gradient(f, (X,), order=2 if f is differences else 1)


@pytest.mark.parametrize("f", [heap_of_tuples, order_of_tuples], ids=lambda f: f.__name__)
def test_under_numba(f):
    check_gradient(f, (X,), order=1, jit=True)


def test_what_is_in_both_is_of_the_first():
    gradient = stgrad.grad(lambda x: np.sum(np.intersect1d(x, KNOWN) * x[0]), jit=False)(X)
    np.testing.assert_allclose(gradient, [0.62, 0.0, 0.35, 0.0])


def kept_in_order(x):
    s = []
    for v in x:
        bisect.insort(s, v)
    return sum((i + 1) * v for i, v in enumerate(s)) ** 2


def tuples_in_order(x):
    s, places = [], []
    for i, v in enumerate(x):
        bisect.insort(s, (v * v, i))
        bisect.insort_left(places, i, key=lambda k: -x[k])
    return sum(v * (j + 1) ** 2 * (i + 1) for j, (v, i) in enumerate(s)) + sum(x[i] * (j + 1) ** 3 for j, i in enumerate(places))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [kept_in_order, tuples_in_order])
def test_insort(function, jit):
    check_gradient(function, (X,), jit=jit)
