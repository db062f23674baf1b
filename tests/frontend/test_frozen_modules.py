"""Methods of modules that are frozen into Python are read from the files of these modules; functions behind caches are functions."""

import collections
import collections.abc
import functools
import math

import pytest

import stgrad
from stgrad import testing


class Scenario(collections.UserDict):
    def __getattr__(self, name):
        if name == "data":
            raise AttributeError(name)
        return self.data[name]


class Table(collections.abc.MutableMapping):
    def __init__(self):
        self.d = {}

    def __getitem__(self, key):
        return self.d[key]

    def __setitem__(self, key, value):
        self.d[key] = value

    def __delitem__(self, key):
        del self.d[key]

    def __iter__(self):
        return iter(self.d)

    def __len__(self):
        return len(self.d)


@functools.lru_cache(maxsize=8)
def cached(x, n=2):
    return math.sin(x) * n


@functools.cache
def twice_cached(x):
    return cached(x, 3) * x


def user_dicts(x):
    s = Scenario(a=x, b=2.0 * x)
    s["c"] = x * x
    return s["a"] * s["b"] + s.c + s.get("d", 1.0)


def mappings(x):
    t = Table()
    t["a"] = x
    t.update({"b": x * x})
    t.setdefault("c", 3.0 * x)
    a = t.pop("a")
    return a * t["b"] + sum(t.values()) + len(t) + ("a" in t)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("function", [user_dicts, mappings, cached, twice_cached])
def test_are_read(function, jit):
    testing.check_gradient(function, (0.7,), order=2, jit=jit)


def test_a_cached_function_as_it_is():
    assert stgrad.vjp(twice_cached, 0.7)[0] == twice_cached(0.7)
    assert stgrad.grad(cached, "x")(0.7, n=4) == pytest.approx(4.0 * math.cos(0.7))
    assert stgrad.jit(cached)(0.7) == cached(0.7)
