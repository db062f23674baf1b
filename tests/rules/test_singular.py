"""Determinants of singular and nearly singular matrices have derivatives of any order; inverses do not."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import eager as tf

RNG = np.random.default_rng(4)


def det(a):
    return np.linalg.det(a)


def used(a):
    return np.linalg.det(a) ** 2 + np.sin(np.linalg.det(a @ a.T + a))


def dependent(n):
    a = RNG.standard_normal((n, n))
    a[-1] = 2.0 * a[0]
    return a


def rank_one(n):
    return np.outer(np.arange(1.0, n + 1), np.ones(n))


SINGULAR = [np.zeros((1, 1)), np.zeros((2, 2)), dependent(2), np.ones((2, 2)), dependent(3), rank_one(3), dependent(4), rank_one(5), dependent(8)]
NEAR = [np.array([[1.0, 2.0], [2.0, 4.0 + 1e-9]]), dependent(3) + 1e-7 * np.eye(3)]
REGULAR = [RNG.standard_normal((n, n)) for n in (1, 2, 3, 5, 11)] + [np.diag([1e-8, 1.0, 1e8]), np.diag([1e-200, 1e100, 1e100])]


@pytest.mark.parametrize("f", [det, used])
@pytest.mark.parametrize("a", [*SINGULAR, *NEAR, *REGULAR[:-2]], ids=lambda a: str(len(a)))
def test_both_orders(a, f):
    if f is det or len(a) < 5:  # the other one is too steep then for differences
        check_gradient(f, (a,), jit=False)


@pytest.mark.parametrize("a", [SINGULAR[3], NEAR[1], REGULAR[2]], ids=lambda a: str(len(a)))
def test_compiled(a):
    check_gradient(used, (a,))


@pytest.mark.parametrize("a", REGULAR[-2:])
def test_badly_scaled_matrices_lose_nothing(a):
    np.testing.assert_allclose(np.diag(stgrad.grad(det)(a)), np.prod(np.diag(a)) / np.diag(a), rtol=1e-14)


def test_complex():
    a = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))
    a[2] = 1j * a[0]
    check_gradient(lambda a: np.abs(np.linalg.det(a) + 1.0) ** 2, (a,), jit=False)


def test_single_precision():
    a = np.ones((3, 3), np.float32)
    a[1] = 2.0
    a[0, 0] = 3.0
    ours = stgrad.grad(det)(a)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, stgrad.grad(det)(a.astype(np.float64)), atol=1e-5)


def test_tape():
    a = tf.constant(np.ones((2, 2)))
    with tf.GradientTape() as outer:
        outer.watch(a)
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.linalg.det(a)
        first = tape.gradient(y, a)
        total = tf.reduce_sum(first * first)
    np.testing.assert_allclose(np.asarray(first), [[1.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_allclose(np.asarray(outer.gradient(total, a)), [[2.0, 2.0], [2.0, 2.0]])


def test_what_has_no_derivative_raises():
    for f in (lambda a: np.sum(np.linalg.inv(a)), lambda a: np.linalg.slogdet(a)[1], lambda a: np.sum(np.linalg.solve(a, a[0]))):
        with pytest.raises(np.linalg.LinAlgError):
            stgrad.grad(f, jit=False)(np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):  # too large for the recurrence
        stgrad.grad(det, jit=False)(np.ones((12, 12)))


def fitted(p, q):
    """The rotation of centred points: their covariance has a singular value of about zero."""
    p, q = p - p.mean(axis=0), q - q.mean(axis=0)
    u, s, w = np.linalg.svd(p.T @ q)
    if np.linalg.det(u) * np.linalg.det(w) < 0.0:
        u[:, -1] = -u[:, -1]
    return np.sum(np.cos(p @ (u @ w)) * np.arange(16.0).reshape(4, 4)) + np.sum(s[:3])


@pytest.mark.parametrize("jit", [False, True])
def test_svd_of_centred_points(jit):
    rng = np.random.default_rng(4)
    p, q, move = rng.normal(size=(4, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    expected = (fitted(p, q + 1e-5 * move) - fitted(p, q - 1e-5 * move)) / 2e-5
    assert np.isclose(np.sum(stgrad.grad(fitted, 1, jit=jit)(p, q) * move), expected, rtol=1e-6)
    assert np.isclose(stgrad.jvp(lambda q: fitted(p, q), (q,), (move,), jit=jit)[1], expected, rtol=1e-6)
