"""What dicts of run-time keys refuse and raise is what Python raises, or says what to write instead."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import stgrad
from stgrad import errors

X, KEYS = np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1])


def reads_a_missing_key(x, ks, k):
    d = {}
    for i in range(len(ks)):
        d[ks[i]] = x[i]
    return d[k]


@pytest.mark.parametrize("jit", [False, True])
def test_a_key_that_is_not_there(jit):
    gradient = stgrad.grad(reads_a_missing_key, jit=jit)
    assert gradient(X, KEYS, 1).tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(KeyError):
        gradient(X, KEYS, 7)


def test_a_table_is_no_result():
    def f(x, ks):
        d = defaultdict(float)
        for i in range(len(ks)):
            d[ks[i]] += x[i]
        return d

    with pytest.raises(errors.StgradError):
        stgrad.vjp(f, X, KEYS, jit=True)


def test_a_set_has_no_order():
    def f(x, ks):
        seen, s = set(), 0.0
        for i in range(len(ks)):
            seen.add(ks[i])
        for k in seen:
            s = 0.5 * s + x[k]
        return s

    with pytest.raises(errors.StgradError):
        stgrad.grad(f, jit=True)(X, KEYS)


def test_a_table_is_still_a_dict():
    def f(x, ks):
        d = {}
        for i in range(len(ks)):
            d[ks[i]] = x[i] ** 2
        return sum(d.values()) * isinstance(d, dict)

    assert stgrad.grad(f, jit=False)(X, KEYS).tolist() == [0.0, 4.0, 6.0]


def _entries(x, ks):
    d = {}
    for i in range(len(ks)):
        d[int(ks[i])] = x[i] ** 2
    return d


def adds_a_key(x, ks):
    d, total = _entries(x, ks), 0.0
    for k in d:
        d[k + 100] = 1.0
        total += d[k]
    return total


def removes_the_last_key(x, ks):
    d, total = _entries(x, ks), 0.0
    for k in d.keys():
        total += d[k]
        if len(d) == 2 and k == 0:
            del d[k]
    return total


def adds_beside_values(x, ks):
    d, total = _entries(x, ks), 0.0
    for v in d.values():
        total += v
        d[7 + len(d)] = v
    return total


def adds_beside_items(x, ks):
    d, total = _entries(x, ks), 0.0
    for (k, v), w in zip(d.items(), x):
        total += v * w
        d[k + 100] = v
    return total


def leaves_after_adding(x, ks):
    d, total = _entries(x, ks), 0.0
    for k in d:
        total += d[k]
        d[k + 100] = 1.0
        break
    return total + len(d)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [adds_a_key, removes_the_last_key, adds_beside_values, adds_beside_items])
def test_a_dict_keeps_its_size_while_it_is_iterated(f, jit):
    with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
        f(X, KEYS)
    with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
        stgrad.grad(f, jit=jit)(X, KEYS)


def test_a_dict_may_change_where_its_loop_ends():
    assert stgrad.grad(leaves_after_adding)(X, KEYS).tolist() == [0.0, 0.0, 6.0]
