"""Entries at places that the running program finds: what is raised, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad

JIT = pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])


def listed(x, keys):
    return sum([1.0, x][int(k)] * x for k in keys)


def keyed(x, keys):
    return sum({0: 1.0, 1: x}[int(k)] * x for k in keys)


@JIT
@pytest.mark.parametrize(("function", "kind"), [(listed, IndexError), (keyed, KeyError)])
def test_what_is_not_there_is_raised(function, kind, jit):
    for keys in ([0.0, 2.0], [-3.0]):
        with pytest.raises(kind):
            function(2.0, np.array(keys))
        with pytest.raises(kind):
            stgrad.grad(function, jit=jit)(2.0, np.array(keys))
    assert stgrad.grad(function, jit=jit)(2.0, np.array([0.0, 1.0])) == 5.0


def new_key(x, keys):
    found = {0: x}
    for k in keys:
        found[int(k)] = x * x
    return found[0]


@JIT
def test_a_new_key_is_a_new_entry(jit):
    gradient = stgrad.grad(new_key, jit=jit)
    assert gradient(2.0, np.array([0.0])) == 4.0
    assert gradient(2.0, np.array([1.0])) == 1.0


def of_a_default(x, keys):
    found = {}
    for k in keys:
        found.setdefault(int(k), x)
    return found.get(0, x * x)


@JIT
def test_a_default_that_makes_an_entry(jit):
    gradient = stgrad.grad(of_a_default, jit=jit)
    assert gradient(2.0, np.array([1.0])) == 4.0
    assert gradient(2.0, np.array([1.0, 0.0])) == 1.0


@JIT
def test_no_item_is_left(jit):
    def f(x):
        return next(v for v in x if v > 5.0) * 2.0

    with pytest.raises((StopIteration, RuntimeError)):
        stgrad.grad(f, jit=jit)(np.ones(2))
    assert list(stgrad.grad(f, jit=jit)(np.array([1.0, 6.0]))) == [0.0, 2.0]
