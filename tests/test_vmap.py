"""`vmap` against a loop: axes, structures, errors, and what it composes with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import stgrad
from stgrad.errors import ShapeError, TypeInferenceError

BOTH = pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
XS = np.random.default_rng(0).normal(size=(5, 3))
W = np.random.default_rng(1).normal(size=(4, 3))


def layer(x, w):
    return np.tanh(w @ x), np.sum(x)


def loss(w, x):
    return np.sum(np.tanh(w @ x) ** 2)


@dataclass
class Pair:
    a: float
    b: float


@BOTH
def test_against_a_loop(jit):
    hidden, total = stgrad.vmap(layer, (0, None), jit=jit)(XS, W)
    np.testing.assert_allclose(hidden, [np.tanh(W @ x) for x in XS])
    np.testing.assert_allclose(total, [np.sum(x) for x in XS])


@BOTH
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_axes(axis, jit):
    items = np.moveaxis(np.random.default_rng(2).normal(size=(2, 3, 4)), 0, axis)
    mapped = stgrad.vmap(lambda x: 2.0 * x, axis, axis, jit=jit)(items)
    np.testing.assert_array_equal(mapped, 2.0 * items)


def test_structures():
    f = stgrad.vmap(lambda d, e: {"a": d["x"] * e, "b": (d["y"], None, 1.5, [e > 0.1])}, jit=False)
    found = f({"x": XS, "y": np.arange(5)}, XS[:, 0])
    np.testing.assert_array_equal(found["a"], XS * XS[:, :1])
    np.testing.assert_array_equal(found["b"][0], np.arange(5))
    assert found["b"][0].dtype == np.int64
    assert found["b"][1] is None
    np.testing.assert_array_equal(found["b"][2], [1.5] * 5)
    np.testing.assert_array_equal(found["b"][3][0], XS[:, 0] > 0.1)
    pair = stgrad.vmap(lambda p: Pair(p.a * 2.0, p.b + p.a), jit=False)(Pair(np.ones(3), np.arange(3.0)))
    np.testing.assert_array_equal(pair.a, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(pair.b, [1.0, 2.0, 3.0])


def test_prefixes_of_structures():
    f = stgrad.vmap(lambda p, q: p["a"] * q[0] + q[1], ({"a": 0}, (None, 1)), jit=False)
    np.testing.assert_array_equal(f({"a": np.arange(3.0)}, (2.0, np.ones((2, 3)))), [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]])


def test_keywords_defaults_and_decorators():
    @stgrad.vmap(in_axes=(0,), jit=False)
    def f(x, *, y=2.0):
        return x * y

    np.testing.assert_array_equal(f(np.arange(3.0)), [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(f(np.arange(3.0), y=np.arange(3.0)), [0.0, 1.0, 4.0])


def test_sizes():
    assert stgrad.vmap(lambda x: x**2, jit=False)(np.zeros(0)).shape == (0,)
    np.testing.assert_array_equal(stgrad.vmap(lambda x: 2.0 * x, None, axis_size=2, jit=False)(1.0), [2.0, 2.0])


def test_items_that_run_through_loops_and_branches():
    def halved(x):
        n = 0
        while abs(x) > 1e-3:
            x, n = x / 2.0, n + 1
        return (x, n) if n > 3 else (0.0, n)

    value, count = stgrad.vmap(halved)(XS[:, 0])
    np.testing.assert_array_equal(value, [halved(x)[0] for x in XS[:, 0]])
    np.testing.assert_array_equal(count, [halved(x)[1] for x in XS[:, 0]])


def test_parts_that_are_the_same_for_all():
    scaled, factor = stgrad.vmap(lambda x, y: (x * y, y**2), (0, None), (0, None), jit=False)(XS, 3.0)
    np.testing.assert_array_equal(scaled, 3.0 * XS)
    assert factor == 9.0

    def chosen(x, y):
        return y if x > 0.0 else 2.0 * y

    for f in (lambda x, y: x, chosen):
        with pytest.raises(ShapeError, match="not the same for all items"):
            stgrad.vmap(f, (0, None), None, jit=False)(XS[:, 0], 3.0)


@pytest.mark.parametrize(
    ("make", "args", "error", "message"),
    [
        (lambda: stgrad.vmap(layer, jit=False), (XS, W), ValueError, "axis 0 of argument 0 and axis 0 of argument 1 differ"),
        (lambda: stgrad.vmap(layer, axis_size=4, jit=False), (XS, XS), ValueError, "and `axis_size` differ"),
        (lambda: stgrad.vmap(layer, jit=False), (XS, 1.0), ShapeError, "argument 1 is mapped along axis 0, and is a number"),
        (lambda: stgrad.vmap(layer, (2, None), jit=False), (XS, W), ShapeError, "along axis 2, and is an array with 2 axes"),
        (lambda: stgrad.vmap(layer, (0,), jit=False), (XS, W), ShapeError, "1 entries, and the call 2 arguments"),
        (lambda: stgrad.vmap(layer, None, jit=False), (XS, W), ShapeError, "no argument is mapped"),
        (lambda: stgrad.vmap(layer, ((0, 0), None), jit=False), (XS, W), ShapeError, "no prefix of its structure"),
        (lambda: stgrad.vmap(layer, (0, None), (5, 0), jit=False), (XS, W), ShapeError, "`out_axes` says 5"),
        (lambda: stgrad.vmap(layer, [0, None]), (), TypeError, "not a list"),
        (lambda: stgrad.vmap(3), (), TypeError, "takes a function, not int"),
        (lambda: stgrad.vmap(lambda x, n: np.zeros(n) + x, jit=False), (XS[:, 0], np.array([1, 2, 1, 1, 1])), TypeInferenceError, "different shapes"),
    ],
)
def test_refusals(make, args, error, message):
    with pytest.raises(error, match=message):
        make()(*args)


def test_a_list_that_grows_is_no_batch():
    def f(x):
        ys = []
        for v in x:
            ys.append(v)
        return stgrad.vmap(lambda y: y)(ys)

    with pytest.raises(TypeInferenceError, match="a list whose length"):
        stgrad.jit(f)(XS[0])


# --------------------------------------------------------------------------- with other operators


@BOTH
def test_gradients_for_each_example(jit):
    each = stgrad.vmap(stgrad.grad(loss), (None, 0), jit=jit)(W, XS)
    gradient = stgrad.grad(loss, jit=False)
    np.testing.assert_allclose(each, [gradient(W, x) for x in XS])
    value, again = stgrad.vmap(stgrad.value_and_grad(loss), (None, 0), jit=jit)(W, XS)
    np.testing.assert_allclose(value, [loss(W, x) for x in XS])
    np.testing.assert_allclose(again, each)


@BOTH
def test_inside_functions_that_are_differentiated(jit):
    def batch(w, xs):
        def own(x):
            return loss(w, x)

        return stgrad.vmap(own)(xs).sum() + np.sum(stgrad.vmap(stgrad.grad(own))(xs) ** 2)

    def by_hand(w, xs):
        total = 0.0
        for x in xs:
            g = stgrad.grad(loss, 1)(w, x)
            total += loss(w, x) + np.sum(g**2)
        return total

    found = stgrad.grad(batch, jit=jit)(W, XS)
    np.testing.assert_allclose(found, stgrad.grad(by_hand, jit=False)(W, XS))
    v = np.random.default_rng(3).normal(size=W.shape)
    h = 1e-6
    differences = (batch_value(by_hand, W + h * v) - batch_value(by_hand, W - h * v)) / (2 * h)
    np.testing.assert_allclose(np.sum(found * v), differences, rtol=1e-6)


def batch_value(f, w):
    return stgrad.jit(f)(w, XS)


def test_nested():
    table = stgrad.vmap(stgrad.vmap(lambda x, y: x * y, (None, 0)), (0, None), jit=False)
    np.testing.assert_array_equal(table(np.arange(3.0), np.arange(4.0)), np.outer(np.arange(3.0), np.arange(4.0)))


def test_of_second_order():
    mapped = stgrad.vmap(lambda x: x**3)
    np.testing.assert_allclose(stgrad.hessian(lambda x: np.sum(mapped(x)), jit=False)(XS[0]), np.diag(6.0 * XS[0]))
    np.testing.assert_allclose(stgrad.jacobian(mapped, jit=False)(XS[0]), np.diag(3.0 * XS[0] ** 2))
    value, tangent = stgrad.jvp(mapped, (XS[0],), (np.ones(3),), jit=False)
    np.testing.assert_allclose(tangent, 3.0 * XS[0] ** 2)
    value, pullback = stgrad.vjp(mapped, XS[0], jit=False)
    np.testing.assert_allclose(pullback(np.ones(3))[0], 3.0 * XS[0] ** 2)
    np.testing.assert_allclose(stgrad.vmap(stgrad.hessian(lambda x: np.sum(x**3)), jit=False)(XS), [np.diag(6.0 * x) for x in XS])


def test_of_a_derivative_of_a_local_function():
    def f(x):
        scaled = stgrad.vmap(lambda y: y * x)
        return stgrad.grad(lambda z: np.sum(scaled(z) * z * x))(x * np.ones(3))[0]

    assert stgrad.grad(f, jit=False)(3.0) == 54.0  # of 2 x^3


def test_on_threads():
    mapped = stgrad.vmap(lambda x: np.sum(np.sin(x) * x), parallel=True)
    xs = np.random.default_rng(4).normal(size=(200, 30))
    np.testing.assert_allclose(mapped(xs), np.sum(np.sin(xs) * xs, axis=1))
    assert "prange" in mapped.lowered(xs)


def test_one_loop_without_copies():
    text = stgrad.vmap(np.multiply, jit=False).lowered(XS[:, 0], XS[:, 0])
    assert text.count("for ") == 1


def test_pullbacks_take_stacks_of_cotangents():
    value, pullback = stgrad.vjp(lambda x: W @ np.sin(x), XS[0])
    rows = stgrad.jacrev(lambda x: W @ np.sin(x))(XS[0])
    np.testing.assert_allclose(stgrad.vmap(pullback)(np.eye(4))[0], rows)
    np.testing.assert_allclose(stgrad.vmap(pullback, 1, 1)(np.eye(4))[0], rows.T)
    np.testing.assert_allclose(stgrad.vmap(pullback)(np.eye(4))[0], rows)  # what was kept is there for the next one


def test_pullbacks_of_structures_take_stacks():
    def parts(x, n, z):
        return {"a": x * z, "b": (np.sum(x) * n,)}

    _, pullback = stgrad.vjp(parts, XS[0], 3, 2.0)
    stack = {"a": XS, "b": (np.arange(5.0),)}
    found = stgrad.vmap(pullback)(stack)
    for k in range(5):
        for whole, one in zip(found, pullback({"a": XS[k], "b": (float(k),)}), strict=True):
            assert whole is None if one is None else np.allclose(whole[k], one)
    same = stgrad.vmap(pullback, ({"a": None, "b": 0},))({"a": XS[2], "b": (np.arange(2.0),)})
    np.testing.assert_allclose(same[0][1], pullback({"a": XS[2], "b": (1.0,)})[0])
    with pytest.raises(ValueError, match="differ: 5 and 4"):
        stgrad.vmap(pullback)({"a": XS, "b": (np.arange(4.0),)})
    with pytest.raises(ShapeError, match="no items"):
        stgrad.vmap(pullback)({"a": XS[:0], "b": (np.arange(0.0),)})
    with pytest.raises(ShapeError, match="not the same for all"):
        stgrad.vmap(pullback, out_axes=None)(stack)
    with pytest.raises(ShapeError, match="mapped along axis 1, and is an array with 1 axes"):
        stgrad.vmap(pullback, 1)(stack)
