"""`sorted`, `list.sort`, `max`, `min` and `[a, b] * n` by numbers of the running program: which item stands where is found as it runs."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.3, -0.9, 0.6, 0.2])
WEIGHTS = np.array([1.0, 2.0, 3.0, 5.0])


def by_key(x):
    a = sorted(x, key=abs)
    b = sorted(range(len(x)), key=lambda i: -x[i])
    return a[0] * 3.0 + a[1] * a[2] + sum(WEIGHTS[k] * x[b[k]] ** 2 for k in range(4))


def tuples(x):
    p = [(v * v, i) for i, v in enumerate(x)]
    p.sort()
    q = sorted([(1, x[0]), (1, x[1]), (0, x[2])], reverse=True)
    return p[0][0] * p[1][0] + p[2][1] * x[0] + q[0][1] + 2.0 * q[1][1] * q[2][1]


def equal_keys_keep_their_places(x):
    p = [(2, x[0]), (1, x[1]), (2, x[2]), (1, x[3])]
    k = [v if x[0] > 0.0 else -v for v, _ in p]
    up, down = sorted(range(4), key=lambda i: k[i]), sorted(range(4), key=lambda i: k[i], reverse=True)
    return sum(WEIGHTS[i] * (x[up[i]] + x[down[i]] ** 2) for i in range(4))


def lists_that_grow(x):
    p = []
    for i in range(len(x)):
        if x[i] < 0.5:
            p.append((x[i], x[i] * x[0]))
    p.sort(key=lambda t: -t[0])
    total = 0.0
    for i, (a, b) in enumerate(p):
        total += a * b * (i + 1)
    q = list(x)
    q.sort(reverse=True)
    return total + q[0] * 2.0 + q[-1] ** 3


def lists_stay_lists(x):
    both = sorted([x[0], x[1]]) + sorted(x[2:])
    a, b, c = sorted([x[0], x[1], x[2]], reverse=True)
    return both[0] + 2.0 * both[1] + 3.0 * both[2] * both[3] + a + 2.0 * b * b + 3.0 * c


def extremes(x):
    i = max(range(len(x)), key=lambda k: x[k] ** 2)
    pair = min(((v, v * v) for v in x), key=lambda t: t[1])
    none = max([v for v in x if v > 9.0], key=abs, default=x[3])
    return x[i] ** 3 + max(x, key=abs) ** 2 + min([x[0], x[1]], key=lambda v: v * v) * x[2] + pair[0] + pair[1] + none * none


def repeated(x, n):
    pair = [x[0], x[1] * 2.0] * n
    pair[1] = x[2]
    total = 0.0
    for a, b in [(x[0], 1.0), (x[1], 2.0)] * n:
        total += a * a * b
    square = [[0.0] * len(x) for _ in range(len(x))]
    seen = [False] * len(x)
    for i in range(len(x)):
        square[i][i] = x[i] * n
        seen[i] = x[i] > 0.25
    return total + sum(pair[i] * (i + 1) for i in range(len(pair))) + square[0][0] * square[1][1] + sum(x[i] ** 2 for i in range(len(x)) if seen[i])


def extremes_of_tuples(x):
    v, i = max((v * v, i) for i, v in enumerate(x))
    w, j = min(zip(x, range(len(x))))
    top, name = max((x[0] * x[2], "product"), (x[0] + x[2], "sum"), (x[3], "last"))
    tied = max([(1, x[0], 2.0), (1, x[2], x[1]), (0, x[3], x[3])])
    names = ["a", "b", "c", "d"]
    best = max(zip(x, names))[1]
    rows = [(int(u > 0.0), u) for u in x]
    first = min(rows, key=lambda row: (-row[0], row[1]))
    return v * i + w**3 * x[j] + (top if name == "sum" else top * x[1]) + tied[1] * tied[2] + x[names.index(best)] ** 2 + first[1] ** 3


PROGRAMS = [extremes_of_tuples, by_key, tuples, equal_keys_keep_their_places, lists_that_grow, lists_stay_lists, extremes]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f):
    check_gradient(f, (X,), order=2 if f in (tuples, extremes) else 1)


@pytest.mark.parametrize("f", [by_key, extremes_of_tuples], ids=lambda f: f.__name__)
def test_under_numba(f):
    check_gradient(f, (X,), order=1, jit=True)


def test_a_list_repeated_as_often_as_the_program_says():
    check_gradient(repeated, (X, 3), order=1)
    assert np.isfinite(stgrad.grad(repeated, jit=False)(X, 0 + 2)).all()
    first = stgrad.grad(lambda x: ([None] * len(x[x > 0.0]))[0] or x[0], jit=True)(X)
    assert first.tolist() == np.eye(len(X))[0].tolist()


def test_what_has_no_order():
    with pytest.raises(stgrad.errors.NeedStaticError, match="without an order"):
        stgrad.grad(lambda x: sorted([x[0] * 1j, x[1] * 1j], key=lambda v: v)[0].imag, jit=True)(X)


def sorted_in_place(x):
    numbers = []
    for v in x:
        numbers.append(v * 2.0)
    numbers.sort()
    return numbers[0] * 3.0 + numbers[1]


SORTED = {
    "array": lambda x: sorted(x)[0] * 3.0 + sorted(x)[1],
    "list": sorted_in_place,
    "keys": lambda x: x[sorted(range(len(x)), key=lambda i: -x[i])[0]],
    "tuples": lambda x: sorted([(x[0], 1.0), (x[1], x[2]), (x[2], 3.0)])[0][1] * x[0],
}


@pytest.mark.parametrize("name", SORTED)
@pytest.mark.parametrize("jit", [False, True])
def test_numbers_without_an_order_are_not_sorted(name, jit):
    """Python leaves [2, nan, 1] as it is: what comes first is a matter of how it sorts."""
    for x in ([2.0, np.nan, 1.0], [np.nan, 1.0, 2.0]):
        with pytest.raises(ValueError, match="NaN is among"):
            stgrad.grad(SORTED[name], jit=jit)(np.array(x))
