"""Compiled functions on tensors: one node, the compiled pullback, higher orders."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
import stgrad.eager as tf


def swing(x, y, n=2):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.sin(x[i]) * y**n
    return total


def call(f, *args, **kwargs):
    """What a compiled function does when it meets a tensor."""
    owner = next(a for a in (*args, *kwargs.values()) if tf.is_tensor(a))
    return owner.__stgrad_function__(f, args, kwargs)


def value(t):
    return t.numpy().tolist()


def test_one_node_and_its_pullback():
    f = stgrad.jit(swing)
    x, y = tf.Variable([0.0, 1.0]), tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(y)
        z = call(f, x, y)
        w = z * 10.0
    assert [node[0].name for node in tape._tape.nodes] == ["swing", "np.multiply"]
    assert z.dtype == tf.float32 and value(z) == pytest.approx(4 * np.sin(1.0), rel=1e-6)
    gx, gy = tape.gradient(w, [x, y])
    np.testing.assert_allclose(gx, 40 * np.cos([0.0, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(gy, 40 * np.sin(1.0), rtol=1e-6)


def test_second_order():
    f = stgrad.jit(swing)
    x, y = tf.Variable([0.5, 1.0]), tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            z = call(f, x, y, n=3)
        gx, gy = inner.gradient(z, [x, y])
        total = tf.reduce_sum(gx)
    hx, hy = outer.gradient(total, [x, y])
    np.testing.assert_allclose(hx, -8 * np.sin([0.5, 1.0]), rtol=1e-5)
    np.testing.assert_allclose(hy, 12 * np.cos([0.5, 1.0]).sum(), rtol=1e-5)


def test_in_place_writes_and_structures():
    def scan(p):
        out = np.zeros(p["x"].shape[0])
        carry = 0.0
        for i in range(p["x"].shape[0]):
            carry = carry * 0.5 + p["x"][i]
            out[i] = carry * carry
        return out

    f = stgrad.jit(scan)
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x.__stgrad_function__(f, ({"x": x},), {}))
        g = tape.gradient(y, x)
    np.testing.assert_allclose(g, [2.0 + 2 * 2.5 * 0.5, 5.0])
    np.testing.assert_allclose(outer.jacobian(g, x), [[2.5, 1.0], [1.0, 2.0]])


def test_unwatched_calls_give_values():
    assert value(call(stgrad.jit(swing), tf.constant([0.0]), 2.0)) == 0.0


def test_decorated_functions_take_tensors():
    f = stgrad.jit(swing)
    x, y = tf.Variable([0.0, 1.0]), tf.constant(2.0)
    with tf.GradientTape() as tape:
        z = f(x, y)
    np.testing.assert_allclose(tape.gradient(z, x), 4 * np.cos([0.0, 1.0]), rtol=1e-6)


@pytest.mark.parametrize("jit", [True, False])
def test_a_gradient_function_is_differentiated_again(jit):
    @stgrad.grad(jit=jit)
    def slope(x):
        return x**3 * np.sin(x)

    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = slope(x)
        g = tape.gradient(y, x)
    s, c = np.sin(2.0), np.cos(2.0)
    np.testing.assert_allclose(y, 12 * s + 8 * c, rtol=1e-6)
    np.testing.assert_allclose(g, 12 * s + 24 * c - 8 * s, rtol=1e-5)
    np.testing.assert_allclose(outer.gradient(g, x), 6 * s + 36 * c - 36 * s - 8 * c, rtol=1e-5)


def test_value_and_gradient_of_two_arguments():
    @stgrad.value_and_grad(argnums=("a", "b"))
    def product(a, b):
        return a * a * b

    a, b = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y, (ga, gb) = product(a, b)
        total = y + ga + gb
    assert [value(t) for t in (y, ga, gb)] == [12.0, 12.0, 4.0]
    assert [value(g) for g in tape.gradient(total, [a, b])] == [12.0 + 6.0 + 4.0, 4.0 + 4.0]


def test_pairs_are_made_once_and_go_with_the_function():
    import gc
    import weakref

    def f(x):
        return x * x

    stgrad.vjp(f, 2.0, jit=False)
    kept = dict(f._stgrad_programs[1])
    stgrad.vjp(f, 3.0, jit=False)
    assert len(kept) == 1
    assert f._stgrad_programs[1] == kept
    alive = weakref.ref(f)
    del f, kept
    for k in range(8):  # the last few are kept for others of the same code
        stgrad.vjp(lambda x, k=k: x * k, 2.0, jit=False)
    gc.collect()
    assert alive() is None
