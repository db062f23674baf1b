"""Typed containers and instances of a `jitclass` as arguments: the derivatives are those of the plain forms."""

import numba
import numpy as np
import pytest
from numba.experimental import jitclass
from numba.typed import Dict, List

import stgrad
from stgrad import errors


@jitclass([("k", numba.float64), ("w", numba.float64[:])])
class Spring:
    def __init__(self, k, w):
        self.k = k
        self.w = w

    def energy(self, x):
        return self.twice * np.sum(self.w * x) * self.shifted(x[0])

    @property
    def twice(self):
        return 2.0 * self.k

    @staticmethod
    def shifted(x):
        return x + 1.0


@jitclass([("a", Spring.class_type.instance_type), ("n", numba.int64)])
class Pair:
    def __init__(self, a, n):
        self.a = a
        self.n = n

    def energy(self, x):
        return self.a.energy(x) ** self.n


X = np.array([1.0, 2.0])
OUTSIDE = Spring(1.0, np.ones(2))


@pytest.mark.parametrize("jit", [True, False])
def test_an_object_of_a_jitclass(jit):
    spring = Spring(3.0, np.array([0.5, 2.0]))
    value, (x_bar, bar) = stgrad.value_and_grad(lambda x, s: s.energy(x), (0, 1), jit=jit)(X, spring)
    assert value == spring.energy(X) == 54.0
    np.testing.assert_allclose(x_bar, [6.0 * 0.5 * 2.0 + 27.0, 6.0 * 2.0 * 2.0])
    assert bar.k == 18.0
    np.testing.assert_allclose(bar.w, 12.0 * X)
    spring.k = 1.0
    assert stgrad.value_and_grad(lambda x, s: s.energy(x), jit=jit)(X, spring)[0] == 18.0


def test_one_in_another():
    pair = Pair(Spring(1.0, np.ones(2)), 2)
    gradient = stgrad.grad(lambda x, p: p.energy(x))(X, pair)
    e = OUTSIDE.energy(X)
    np.testing.assert_allclose(gradient, 2.0 * e * np.array([4.0 + 6.0, 4.0]))


@pytest.mark.parametrize("jit", [True, False])
def test_typed_containers(jit):
    numbers, arrays, table = List([1.0, 2.0]), List([np.ones(2), np.zeros(3)]), Dict()
    table["a"], table["b"] = 3.0, 4.0
    assert stgrad.grad(lambda v: v[0] * v[1] ** 2, jit=jit)(numbers) == [4.0, 4.0]
    found = stgrad.grad(lambda v: sum(np.sum(a**2 + a) for a in v), jit=jit)(arrays)
    np.testing.assert_array_equal(np.concatenate(found), [3.0, 3.0, 1.0, 1.0, 1.0])
    assert stgrad.grad(lambda d: d["a"] * d["b"], jit=jit)(table) == {"a": 4.0, "b": 3.0}
    assert stgrad.grad(lambda x, v: x * v[1], jit=jit)(2.0, numbers) == 2.0


def test_an_object_from_outside_is_refused():
    with pytest.raises(errors.UnknownFunctionError, match="pass the object as an argument") as caught:
        stgrad.grad(lambda x: OUTSIDE.energy(x))(X)
    assert caught.value.loc.file == __file__
