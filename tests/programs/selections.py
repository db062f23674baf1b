"""Entries of known lists, tuples and dicts at places that the running program finds."""

from __future__ import annotations

import numpy as np
from programs.registry import example, vector

KEYS = np.array([0.0, 2.0, 1.0, 2.0])


@example(1.3, KEYS, argnums=(0,), jit=True)
@example(1.3, np.array([-1.0, -3.0]), argnums=(0,))
def numbers_of_a_list(x, keys):
    table = [1.0, x, x * x]
    s = 0.0
    for k in keys:
        s += table[int(k)] * x
    return s


@example(vector(2), KEYS, argnums=(0,))
def arrays_of_a_list(x, keys):
    weights = [np.array([1.0, 2.0]), np.array([3.0, -1.0]), x * x]
    s = 0.0
    for k in keys:
        s += np.sum(weights[int(k)] * x) ** 2
    return s


@example(1.3, KEYS, argnums=(0,))
def tuples_of_a_list(x, keys):
    points = [(1.0, x), (x, 2.0), (x * x, 3.0)]
    s = 0.0
    for k in keys:
        a, b = points[int(k)]
        s += a * b * b
    return s


@example(1.3, KEYS, argnums=(0,), jit=True)
def stored_at(x, keys):
    sums = [0.0, 0.0, 0.0]
    for k in keys:
        sums[int(k)] += x * x
    return sums[0] * sums[1] + sums[2] * x + sums[-1]


@example(np.array([1.5, -0.5, 3.0, 0.5]))
def classes_of_sizes(x):
    counts = {0: 0.0, 1: 0.0, 2: 0.0}
    for v in x:
        counts[min(int(abs(v)), 2)] += v * v
    return counts[0] + 2.0 * counts[1] + 3.0 * counts[2] ** 2


@example(1.3, np.array([0.0, 5.0, 1.0]), argnums=(0,), jit=True)
def keys_of_a_dict(x, keys):
    table = {0: 1.0, 1: x, 2: -3.0}
    s = 0.0
    for k in keys:
        s += table.get(int(k), 10.0 * x) * x
        s += x * x * x if int(k) in table else x
        try:
            s += table[int(k)] * x**2
        except KeyError:
            s *= x
    return s


@example(1.3, 7, argnums=(0,))
@example(1.3, 1, argnums=(0,))
def an_argument_as_key(x, k):
    return {0: 1.0, 1: 2.5}.get(k, 10.0) * x * x


@example(vector(4))
@example(vector(4) / 10.0)
def first_that_is_large(x):
    first = next((v for v in x if v > 1.0), 0.5 * x[0])
    where = next(i for i, name in enumerate(["a", "b"]) if name == "b")
    return first * first * x[where] + (x[0] if 2.0 in x else x[1])
