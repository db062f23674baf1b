"""Dicts, sets and counters whose keys the running program finds."""

from collections import Counter, defaultdict

import numpy as np

from .registry import example, vector

KEYS = np.array([2, 0, 2, 1, 0])


@example(vector(5), KEYS, jit=True)
def sums_by_key(x, ks):
    d = defaultdict(float)
    for v, k in zip(x, ks, strict=True):
        d[k] += v * v
    return sum(v * v * (k + 1) for k, v in d.items())


@example(vector(5), KEYS, jit=True)
def counts_with_get(x, ks):
    d = {}
    for v, k in zip(x, ks, strict=True):
        d[k] = d.get(k, 1.0) * v
    return sum(d.values()) * len(d)


@example(vector(5), KEYS, jit=True)
def first_of_each_key(x, ks):
    d = {}
    for v, k in zip(x, ks, strict=True):
        d.setdefault(int(k), v * v)
    return sum(v * v for v in d.values())


@example(vector(5))
def memo_of_a_recurrence(x):
    n = len(x)
    m = {0: x[0], 1: x[1] * x[0]}
    for i in range(2, n):
        m[i] = m[i - 1] + 0.5 * m[i - 2] * x[i]
    return m[n - 1] * len(m)


@example(vector(3))
def pairs_as_keys(x):
    n = len(x)
    d = {}
    for i in range(n):
        for j in range(i + 1):
            if (i - 1, j) in d:
                d[i, j] = d[i - 1, j] * x[j]
            else:
                d[i, j] = x[i] ** 2
    return d[n - 1, 0] + sum(d.values())


@example(vector(5), KEYS)
def entries_leave(x, ks):
    d = {}
    for v, k in zip(x, ks, strict=True):
        d[int(k)] = d.pop(int(k), 1.0) * v
    del d[ks[1]]
    return sum(v * v * (1 + k) for k, v in d.items())


@example(vector(5), KEYS, jit=True)
def counted_keys(x, ks):
    c = Counter(ks.tolist())
    k, n = c.most_common(1)[0]
    return x[k] ** n * x[1] + x[0] ** 2 * c[9] + c.total()


@example(vector(5), KEYS, jit=True)
def keys_that_were_seen(x, ks):
    seen = set()
    s = 0.0
    for v, k in zip(x, ks, strict=True):
        if k in seen:
            continue
        seen.add(k)
        s += v * v
    for k in sorted(seen):
        s = s * 0.5 + x[k]
    return s * len(seen)


@example(vector(5), KEYS)
def arrays_by_key(x, ks):
    d = {}
    for i in range(len(ks)):
        d[ks[i]] = d.get(ks[i], np.zeros(len(x))) + x * x[i]
    return sum(np.sum(v * v) for v in d.values())


@example(vector(5), KEYS)
def views_of_entries(x, ks):
    d = {}
    seen = d.keys()
    for i in range(len(ks)):
        d[int(ks[i])] = x[i] ** 2
    total = 0.0
    for k, v in zip(d.keys(), d.values()):
        total += k * v
    for k in seen:
        total += d[k] * 3.0
    return total + max(d.values()) - min(d.values()) * len(d.items())


@example(vector(5), KEYS, jit=True)
def keys_from_pairs(x, ks):
    d = {int(k): v * v for k, v in zip(ks, x)}
    e = dict(zip(ks.tolist(), x))
    f = {int(ks[0]): x[0], 77: x[1]}
    f[int(ks[0])] *= x[2]
    best = max(e, key=e.get)
    return sum(d.values()) + e[best] * f[77] + sum(f.values())


@example(vector(5), KEYS)
def a_copy_of_entries(x, ks):
    d = {}
    for v, k in zip(x, ks, strict=True):
        d[int(k)] = v * v
    e, f = dict(d), d.copy()
    e[int(ks[0])] = 0.0
    del f[int(ks[0])]
    for k in list(d):
        d[k + 100] = d[k] * 2.0
    return sum(d.values()) + sum(e.values()) * 3.0 + sum(f.values()) * x[0]


@example(vector(5), KEYS)
def a_dict_that_changes_while_it_is_updated(x, ks):
    d = {1: x[0]}

    def more():
        for v, k in zip(x, ks, strict=True):
            d[int(k)] = v * x[1]
        return 0.5

    d.update({9: more()})
    return sum(v * k for k, v in d.items())
