"""`scipy.spatial.transform`: what SciPy has in C is read from its twin in Python."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

pytest.importorskip("scipy.spatial.transform._rotation_xp")
from scipy.spatial.transform import RigidTransform, Rotation, Slerp  # noqa: E402

W = np.arange(1.0, 10.0).reshape(3, 3) / 7.0
Q = np.array([0.3, -0.5, 0.2, 0.8])
V = np.array([0.3, -0.5, 0.7])
MANY = np.array([[0.3, 0.2, 0.5], [0.1, -0.7, 0.2], [0.4, 0.1, 0.1]])


def of_quaternion(q):
    return np.sum(W * Rotation.from_quat(q).as_matrix())


def composed(v):
    r = Rotation.from_rotvec(v) * Rotation.from_euler("zyx", 30.0 * v, degrees=True).inv()
    return np.sum(W[0] * r.apply(W[1])) + r.magnitude()


def angles(v):
    return np.sum(W[1] * Rotation.from_mrp(v).as_euler("xyz"))


def of_matrix(a):
    return np.sum(np.arange(1.0, 5.0) * Rotation.from_matrix(a @ a.T * np.array([1.0, 2.0, 3.0]) + 3.0 * np.eye(3)).as_quat())


def each(v):
    return np.sum(Rotation.from_rotvec(v).apply(W[0]) * v)


def between(v):
    return np.sum(W * Slerp(np.array([0.0, 1.0, 2.0]), Rotation.from_rotvec(v))(0.4).as_matrix())


def rigid(v):
    return np.sum(W * RigidTransform.from_components(v, Rotation.from_rotvec(v)).as_matrix()[:3, 1:])


CASES = [(of_quaternion, Q), (composed, V), (angles, V), (of_matrix, MANY), (each, MANY), (between, MANY), (rigid, V)]


@pytest.mark.parametrize(("f", "x"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_rotations(f, x):
    check_gradient(f, (x,), order=1)


@pytest.mark.parametrize(("f", "x"), [(of_quaternion, Q), (angles, V), (each, MANY)], ids=lambda v: getattr(v, "__name__", ""))
def test_rotations_in_native_code(f, x):
    value, gradient = stgrad.value_and_grad(f, jit=True)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, stgrad.grad(f, jit=False)(x), rtol=1e-9)


def test_rotations_to_the_second_order():
    check_gradient(of_quaternion, (Q,))
