"""Sparse Jacobians and Hessians against dense ones; patterns through loops, branches and tables of positions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import stgrad
from stgrad import colouring, errors

BOTH = pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=8)


def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def arrow(x):
    return x[0] * np.sum(x**2) + np.sum(x**3)


def heat(u, k):
    """The residual of a nonlinear heat equation on a grid."""
    r = np.zeros_like(u)
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            r[i, j] = k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]) - u[i, j] ** 3
    return r


def sliced(u):
    return u[2:] - 2.0 * u[1:-1] * u[:-2]


def bundle(cameras, points, seen_by, seen, image):
    """Distances between what cameras see and what they should see."""
    errors = np.zeros((len(seen_by), 2))
    for i in range(len(seen_by)):
        c, p = cameras[seen_by[i]], points[seen[i]]
        turned = p - np.array([c[0], c[1], c[2]])
        depth = 5.0 + turned[2] * np.cos(c[3])
        errors[i, 0] = c[4] * turned[0] / depth - image[i, 0]
        errors[i, 1] = c[4] * turned[1] / depth - image[i, 1]
    return errors


def one_side(x):
    return np.array([x[0] if x[3] > 0.0 else x[1], x[2] * x[2]])


def whole(dense, rows):
    return np.reshape(dense, (rows, -1))


@BOTH
def test_pde_residual(jit):
    u = RNG.normal(size=(5, 4))
    f = stgrad.sparse_jacobian(heat, jit=jit)
    found, plan = f(u, 0.7), f.plan(u, 0.7)
    np.testing.assert_allclose(found.toarray(), whole(stgrad.jacobian(heat, jit=False)(u, 0.7), 20))
    assert plan.sweeps <= 7
    assert found.nnz == 6 * 5
    np.testing.assert_allclose(f(2.0 * u, 0.7).toarray(), whole(stgrad.jacobian(heat, jit=False)(2.0 * u, 0.7), 20))
    assert f.plan(2.0 * u, 0.7) is plan


@BOTH
@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_bundle_adjustment(mode, jit):
    cameras, points = RNG.normal(size=(3, 5)), RNG.normal(size=(6, 3))
    seen_by, seen = np.repeat(np.arange(3), 4), np.array([0, 1, 2, 3, 2, 3, 4, 5, 5, 0, 1, 4])
    image = RNG.normal(size=(12, 2))
    args = (cameras, points, seen_by, seen, image)
    f = stgrad.sparse_jacobian(bundle, (0, 1), mode=mode, jit=jit)
    dense = np.concatenate([whole(d, 24) for d in stgrad.jacobian(bundle, (0, 1), jit=False)(*args)], axis=1)
    np.testing.assert_allclose(f(*args).toarray(), dense, atol=1e-14)
    assert f.plan(*args).pattern.nnz <= 24 * 8
    other = (cameras, points, seen_by, seen[::-1].copy(), image)  # other positions, another pattern
    dense = np.concatenate([whole(d, 24) for d in stgrad.jacobian(bundle, (0, 1), jit=False)(*other)], axis=1)
    np.testing.assert_allclose(f(*other).toarray(), dense, atol=1e-14)


def test_the_number_of_sweeps_does_not_grow():
    f = stgrad.sparse_jacobian(sliced, jit=False)
    assert f.plan(np.ones(10)).sweeps == f.plan(np.ones(200)).sweeps == 3


@BOTH
def test_hessians(jit):
    for f, most in ((rosenbrock, 3), (arrow, 2), (lambda x: np.sum(x**4), 1)):
        h = stgrad.sparse_hessian(f, jit=jit)
        np.testing.assert_allclose(h(X).toarray(), stgrad.hessian(f, jit=False)(X), rtol=1e-12, atol=1e-12)
        assert h.plan(X).sweeps <= most
    nothing = stgrad.sparse_hessian(lambda x: np.sum(x), jit=False)(X)
    assert nothing.shape == (8, 8)
    assert nothing.nnz == 0


def test_patterns_hold_for_all_values():
    pattern = stgrad.sparsity(one_side, np.array([1.0, 2.0, 0.0, 3.0])).toarray()
    np.testing.assert_array_equal(pattern, [[True, True, False, False], [False, False, True, False]])
    for x in (np.array([1.0, 2.0, 0.0, 3.0]), np.array([1.0, 2.0, 4.0, -3.0])):
        np.testing.assert_array_equal(stgrad.sparse_jacobian(one_side, jit=False)(x).toarray(), stgrad.jacobian(one_side, jit=False)(x))


def until_small(x):
    while x[0] > 1.0:
        x = np.concatenate([x[1:], x[:1] * 0.1])
    return x


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (lambda x: np.cumsum(x), np.tril(np.ones((3, 3)))),
        (lambda x: np.sort(x), np.ones((3, 3))),
        (lambda x: x[int(x[0])] * x[:1], np.ones((1, 3))),
        (lambda x: np.floor(x) + np.array([x[0], x[0], 0.0]), [[1, 0, 0], [1, 0, 0], [0, 0, 0]]),
        (lambda x: stgrad.stop_gradient(x) * x[::-1], np.eye(3)[::-1]),
        (lambda x: (x[0], {"a": x[1:].reshape(2, 1) * np.ones(2)}), [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]),
        (lambda x: np.outer(x[:2], x[1:])[:, 0], [[1, 1, 0], [0, 1, 0]]),
        (lambda x: np.ones((2, 3)) @ x, np.ones((2, 3))),
        (lambda x: np.where(x > 0, x, x[::-1]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]]),
        (lambda x: np.stack([x, x**2]).sum(axis=0)[[2, 0]], [[0, 0, 1], [1, 0, 0]]),
        (until_small, np.ones((3, 3))),
    ],
)
def test_patterns(f, wanted):
    np.testing.assert_array_equal(stgrad.sparsity(f, np.array([0.5, 1.5, 2.5])).toarray(), np.array(wanted, dtype=bool))


def test_structures_of_patterns_and_jacobians():
    def f(p):
        return {"a": p["w"] * p["b"], "n": 3, "s": p["w"][0]}

    p = {"w": np.array([1.0, 2.0]), "b": 3.0}
    np.testing.assert_allclose(stgrad.sparse_jacobian(f, jit=False)(p).toarray(), [[3.0, 0.0, 1.0], [0.0, 3.0, 2.0], [1.0, 0.0, 0.0]])


def test_colourings():
    sparse = pytest.importorskip("scipy.sparse")
    for seed in range(10):
        a = np.random.default_rng(seed).random((12, 12)) < 0.2
        a |= a.T
        pattern = sparse.csr_array(a)
        values = np.random.default_rng(seed).normal(size=a.shape)
        values = (values + values.T) * a
        for colour, places in ((colouring.columns, colouring.positions), (colouring.star, colouring.mirrored_positions)):
            colours = colour(pattern)
            compressed = colouring.seeds(colours) @ values.T
            np.testing.assert_allclose(compressed.ravel()[places(pattern, colours)], values[a])
        rows = colouring.columns(pattern.T.tocsr())
        np.testing.assert_allclose((colouring.seeds(rows) @ values).ravel()[colouring.row_positions(pattern, rows)], values[a])


def test_refusals():
    with pytest.raises(ValueError, match="none of auto"):
        stgrad.sparse_jacobian(sliced, mode="sideways")
    with pytest.raises(TypeError, match="argnums is one argument"):
        stgrad.sparse_hessian(rosenbrock, (0, 1))


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_results_and_arguments_without_elements(mode):
    x, empty = np.array([0.4, 0.9, -0.2]), np.zeros(0)
    for f, given, shape in ((lambda x: x[:0], x, (0, 3)), (lambda x: 2.0 * x, empty, (0, 0)), (lambda x: np.concatenate((x, np.ones(2))), empty, (2, 0))):
        assert stgrad.sparse_jacobian(f, mode=mode, jit=False)(given).shape == shape
    assert stgrad.sparse_hessian(lambda x: np.sum(x**2), jit=False)(empty).shape == (0, 0)


def test_arrays_from_outside_that_change():
    chosen, turned, matrix = np.array([0, 1, 2]), np.array([1.0]), csr_array(np.diag([1.0, 2.0, 3.0]))

    def gathered(x):
        return x[chosen] * 2.0

    def by_a_branch(x):
        return x[:3] * 2.0 if turned[0] > 0 else x[::-1][:3] * 2.0

    def product(x):
        return matrix @ x[:3]

    x = np.arange(7.0) + 0.5
    made = [(f, stgrad.sparse_jacobian(f)) for f in (gathered, by_a_branch, product)]
    curved = stgrad.sparse_hessian(lambda x: np.sum(x[chosen] ** 2 * x[0]))
    for f, jacobian in made:
        np.testing.assert_array_equal(jacobian(x).toarray(), stgrad.jacobian(f)(x))
    curved(x)
    chosen[:], turned[0], matrix.indices[:] = [4, 5, 6], -1.0, [2, 1, 0]
    for f, jacobian in made:
        np.testing.assert_array_equal(jacobian(x).toarray(), stgrad.jacobian(f)(x))
    np.testing.assert_allclose(curved(x).toarray(), stgrad.hessian(lambda x: np.sum(x[chosen] ** 2 * x[0]))(x))


def test_a_jacobian_has_the_type_of_its_argument():
    x = np.linspace(0.5, 1.5, 5, dtype=np.float32)
    assert stgrad.sparse_jacobian(lambda x: x[1:] * x[:-1])(x).dtype == np.float32
    assert stgrad.sparse_hessian(lambda x: np.sum(x[1:] * x[:-1]))(x).dtype == np.float32
    assert stgrad.sparse_jacobian(lambda x: x[1:] * x[:-1])(x.astype(float)).dtype == np.float64
    with pytest.raises(errors.NotDifferentiableError, match="result is complex"):
        stgrad.sparse_jacobian(lambda x: np.exp(1j * x))(x)


def test_patterns_of_complex_results():
    x = np.array([0.3, 0.7])
    assert stgrad.sparsity(lambda x: np.concatenate((np.exp(1j * x).real, x)), x).nnz == 4
