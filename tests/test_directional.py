"""`jvp` and `hvp`: as functions of a function, with None for what is zero, and what they keep between calls."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import stgrad
from stgrad import directional, points
from stgrad.errors import StgradError

BOTH = pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
X, Y = np.array([0.5, 1.0, 2.0]), 0.7


def energy(x, y, n=2):
    total = 0.0
    for i in range(len(x)):
        total += np.sin(x[i] * y) * x[i] ** n
    return total


def matrix():
    """The Hessian in x and y together."""
    blocks = stgrad.hessian(lambda z: energy(z[:3], z[3]))(np.append(X, Y))
    return np.asarray(blocks)


@BOTH
def test_hvp_as_a_function(jit):
    v, w = np.array([1.0, -2.0, 0.5]), 0.3
    H = matrix()
    both = stgrad.hvp(energy, argnums=(0, 1), jit=jit)(X, Y, (v, w))
    np.testing.assert_allclose(np.append(*both), H @ np.append(v, w), rtol=1e-12)
    np.testing.assert_allclose(stgrad.hvp(energy, jit=jit)(X, Y, v), H[:3, :3] @ v, rtol=1e-12)
    np.testing.assert_allclose(stgrad.hvp(energy, 1, jit=jit)(X, Y, w), H[3, 3] * w, rtol=1e-12)
    np.testing.assert_allclose(stgrad.hvp(energy, "y", jit=jit)(X, Y, w), H[3, 3] * w, rtol=1e-12)


@BOTH
def test_none_is_zero(jit):
    v, w, H = np.array([1.0, -2.0, 0.5]), 0.3, matrix()
    by_x, by_y = stgrad.hvp(energy, (X, Y), (None, w), jit=jit)
    np.testing.assert_allclose(np.append(by_x, by_y), H[:, 3] * w, rtol=1e-12)
    by_x, by_y = stgrad.hvp(energy, (0, 1), jit=jit)(X, Y, (v, None))
    np.testing.assert_allclose(np.append(by_x, by_y), H[:, :3] @ v, rtol=1e-12)
    value, slope = stgrad.jvp(energy, (X, Y), (None, w), jit=jit)
    np.testing.assert_allclose(slope, stgrad.grad(energy, "y")(X, Y) * w, rtol=1e-12)
    assert stgrad.jvp(energy, (X, Y), (None, None), jit=jit) == (value, 0.0)
    _, linear = stgrad.linearize(energy, X, Y, jit=jit)
    np.testing.assert_allclose(linear(v, None), stgrad.grad(energy)(X, Y) @ v, rtol=1e-12)


def test_none_is_zero_in_structures():
    def product(p):
        return p["a"] * np.sum(p["bs"][0] * p["bs"][1])

    p = {"a": 2.0, "bs": [X, X**2]}
    _, slope = stgrad.jvp(product, (p,), ({"a": None, "bs": [None, np.ones(3)]},), jit=False)
    np.testing.assert_allclose(slope, 2.0 * np.sum(X))
    (found,) = stgrad.hvp(product, (p,), ({"a": 1.0, "bs": None},), jit=False)
    np.testing.assert_allclose(found["bs"][0], X**2)
    assert found["a"] == 0.0


def test_none_is_zero_where_forward_mode_is_refused():
    @stgrad.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (cube(x), x), lambda x, g: (3.0 * x**2 * g,))

    def f(x, y):
        return cube(x) * y

    by_x, by_y = stgrad.hvp(f, (2.0, 3.0), (1.0, None), jit=False)
    assert (by_x, by_y) == pytest.approx((36.0, 12.0))
    assert stgrad.hvp(f, (0, 1), jit=False)(2.0, 3.0, (1.0, None)) == pytest.approx((36.0, 12.0))
    assert stgrad.hvp(f, 1, jit=False)(2.0, 3.0, 1.0) == pytest.approx(0.0)


@BOTH
def test_jvp_as_a_function(jit):
    push = stgrad.jvp(energy, jit=jit)
    assert push((X, Y), (X, 1.0)) == stgrad.jvp(energy, (X, Y), (X, 1.0), jit=jit)
    value, slope, aux = stgrad.jvp(lambda x: (x**2, "note"), has_aux=True, jit=jit)((3.0,), (1.0,))
    assert (value, slope, aux) == (9.0, 6.0, "note")


def in_products(x):
    push, product = stgrad.jvp(np.sin), stgrad.hvp(lambda z, s: np.sum(z**3) * s, 0)
    return np.sum(push((x,), (x,))[1]) + np.sum(product(x, 2.0, x))


@BOTH
def test_inside_functions(jit):
    expected = np.cos(X) - X * np.sin(X) + 24.0 * X
    np.testing.assert_allclose(stgrad.grad(in_products, jit=jit)(X), expected, rtol=1e-12)


@pytest.mark.parametrize("primals, tangents", [((X, Y), None), (None, (X, Y))])
def test_one_without_the_other_is_refused(primals, tangents):
    for transform in (stgrad.jvp, stgrad.hvp):
        with pytest.raises(TypeError, match="primals"):
            transform(energy, primals, tangents)


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError, match="tangent 0 has shape"):
        stgrad.jvp(energy, (X, Y), (X[:2], None))
    with pytest.raises(TypeError, match="leaves"):
        stgrad.jvp(lambda p: p[0], ((1.0, 2.0),), ((1.0, 2.0, 3.0),))
    with pytest.raises(StgradError, match="rank|shape|primal"):
        stgrad.hvp(energy, (0, 1), jit=False)(X, Y, (1.0, 1.0))


# --------------------------------------------------------------------------- what is kept


@dataclass
class Spring:
    stiffness: float

    def force(self, x):
        return self.stiffness * np.sin(x)


def test_a_method_and_a_fresh_lambda_are_read_once(monkeypatch):
    made, original = [], directional.pushforward
    monkeypatch.setattr(directional, "pushforward", lambda *args: made.append(args) or original(*args))
    spring, c = Spring(2.0), np.array([1.0, 2.0])
    for _ in range(3):
        assert stgrad.jvp(spring.force, (0.0,), (1.0,), jit=False)[1] == 2.0
        assert stgrad.jvp(lambda x: np.sum(x * c), (1.0,), (1.0,), jit=False)[1] == 3.0
    assert len(made) == 2


def test_fresh_functions_that_hold_other_values_are_others():
    def of(c, by=1.0):
        return lambda x, by=by: x * c * by

    for c, by in ((2.0, 1.0), (3.0, 1.0), (3.0, 5.0), (-0.0, 1.0), (0.0, 1.0), (2, 1.0), (2.0, 1.0)):
        value, slope = stgrad.jvp(of(c, by), (1.5,), (1.0,), jit=False)
        assert slope == c * by and np.copysign(1.0, value) == np.copysign(1.0, c * by)
    springs = [Spring(2.0), Spring(2.0)]
    springs[1].stiffness = 7.0
    assert [stgrad.jvp(s.force, (0.0,), (1.0,), jit=False)[1] for s in springs] == [2.0, 7.0]
    springs[0].stiffness = 4.0
    assert stgrad.jvp(springs[0].force, (0.0,), (1.0,), jit=False)[1] == 4.0


def test_variables_that_change_later_are_seen():
    """The twin of a function holds variables of its own, which change without it."""

    def counter():
        c = 2.0

        def f(x):
            return x * c

        def turn():
            nonlocal c
            c = 5.0

        return f, turn

    (f, _), (g, turn) = counter(), counter()
    assert stgrad.jvp(f, (1.0,), (1.0,), jit=False)[1] == stgrad.jvp(g, (1.0,), (1.0,), jit=False)[1] == 2.0
    turn()
    assert stgrad.jvp(f, (1.0,), (1.0,), jit=False)[1] == 2.0
    assert stgrad.jvp(g, (1.0,), (1.0,), jit=False)[1] == 5.0


def test_few_functions_are_kept_alive():
    class Big:
        pass

    def once(k):
        big = Big()
        assert stgrad.jvp(lambda x: x * 2.0 if big is not None else x + k, (1.0,), (1.0,), jit=False)[1] == 2.0
        return weakref.ref(big)

    found = [once(k) for k in range(points._recent.maxlen + 3)]
    gc.collect()
    assert sum(r() is not None for r in found) <= points._recent.maxlen
