"""SciPy's sparse matrices in programs: from outside, made inside, joined, multiplied and solved with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import MatrixRankWarning, bicgstab, cg, factorized, norm, splu, spsolve, spsolve_triangular
from thorough import check_gradient

import stgrad
from stgrad import testing
from stgrad.errors import StgradError

N = 6
BANDS = sparse.diags([1.0, -2.5, 1.3], [-1, 0, 2], shape=(N, N))
ROWS, COLUMNS, TRIPLES = BANDS.tocsr(), BANDS.tocsc(), BANDS.tocoo()
TWICE = sparse.coo_matrix((np.array([1.0, 2.0, 4.0]), ([0, 0, 5], [1, 1, 2])), shape=(N, N))  # one place has two entries
WIDE = sparse.random(4, N, 0.5, random_state=3, format="csr")
ARRAY = sparse.csr_array(ROWS)
LISTS = ROWS.tolil()
SHIFTED = (sparse.eye(N) * 4.0 - BANDS).tocsc()
LU = splu(SHIFTED)
SOLVE = factorized(SHIFTED)
COMPLEX = splu((SHIFTED * (1.0 + 0.5j)).tocsc())
SYMMETRIC = (BANDS.T @ BANDS + sparse.eye(N)).tocsr()
U = np.random.default_rng(1).normal(size=N)
M = np.random.default_rng(2).normal(size=(N, 3))


class Operator:
    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def __call__(self, u: Any) -> Any:
        return self.matrix @ u


OPERATOR = Operator(ROWS)


def products(u: Any) -> Any:
    return u @ (ROWS @ u) + np.sum((COLUMNS @ u) ** 2) + np.sum((TRIPLES @ u) * u) + np.sum((BANDS @ u) ** 3) + np.sum((TWICE @ u) ** 2)


def other_ways(u: Any) -> Any:
    return np.sum(ROWS.dot(u) * (u @ ROWS)) + np.sum((ROWS * u) ** 2) + u @ (BANDS.T @ u) + np.sum(WIDE @ u) * np.sum((WIDE.T @ u[:4]) ** 2)


def of_columns(m: Any) -> Any:
    return np.sum((ROWS @ m) ** 2) + np.sum((COLUMNS @ m) * m) + np.sum((BANDS @ m) ** 2) + np.sum((m.T @ TRIPLES) ** 2) + np.sum((LISTS @ m) ** 2)


def of_arrays(u: Any) -> Any:
    return np.sum((ARRAY @ u) ** 2) + np.sum((ARRAY * u).toarray() ** 2) + np.sum(ARRAY.multiply(u) @ u)


def through_objects(u: Any) -> Any:
    for _ in range(3):
        u = u + 0.1 * OPERATOR(np.tanh(u))
    return u @ u


def of_known_ones(u: Any) -> Any:
    a = sparse.kron(sparse.eye(2), sparse.diags([1.0, 2.0], [0, 1], shape=(3, 3))).tocsr()
    return u @ (a @ u) + np.sum(a.diagonal() * u) + np.sum((ROWS @ ROWS.T) @ u * u)


def scaled(u: Any) -> Any:
    a = u[0] * ROWS - ROWS * u[1] + (-ROWS) / u[2]
    return u @ (a @ u) + a.sum() + np.sum(a.diagonal() ** 2) + np.sum(a.toarray() ** 2) + a.trace() + a[0, 0] * a[-1, 2]


def with_weights(u: Any) -> Any:
    w = sparse.diags(u**2)
    normal = ROWS.T @ w @ ROWS + 0.1 * sparse.identity(N)
    return np.sum(normal.toarray() ** 2) + u @ (normal @ u)


def from_triples(u: Any) -> Any:
    i, j = np.array([0, 1, 2, 3, 4, 5, 0]), np.array([1, 2, 3, 4, 5, 0, 1])
    a = sparse.csr_matrix((np.append(u, u[0] * u[1]), (i, j)), shape=(N, N))
    return np.sum((a @ a @ u) ** 2) + np.sum(a.data**3) + np.sum(a.power(2) @ u) + np.sum(abs(a) @ u) + norm(a)


def by_rows(u: Any) -> Any:
    a = sparse.csr_matrix((u, ROWS.indices[:N], np.arange(N + 1)), shape=(N, N))
    a.data[2] = u[0] ** 2
    a.data *= 2.0
    b = a.copy()
    b.data[0] = 0.0
    return np.sum((a @ u) ** 2) + np.sum(b.tocoo().tocsc() @ u)


def from_diagonals(u: Any) -> Any:
    n = len(u)
    a = sparse.diags([u[1:], 1.0 + u**2, 2.0 * u[:-2]], [-1, 0, 2])
    b = sparse.spdiags(np.vstack((u, u**2)), [0, 1], n, n)
    return np.sum((a @ u) ** 2) + np.sum((a.tocsr() + b) @ u) + np.sum((a.T @ b).toarray() ** 2) + np.sum(sparse.diags([u[0], 2.0], [0, 1], shape=(n, n)) @ u)


def joined(u: Any) -> Any:
    a = sparse.diags(u)
    block = sparse.bmat([[a, ROWS], [None, a]], format="csr")
    both = sparse.vstack([a, ROWS]) @ u
    wide = sparse.hstack([a, ROWS]) @ np.concatenate((u, u))
    tall = sparse.block_diag((a, ROWS)) @ np.concatenate((u, u))
    grid = sparse.kron(a, sparse.diags(u[:2])) @ np.repeat(u, 2)
    return np.sum(block @ np.concatenate((u, u**2))) + both @ both + wide @ wide + tall @ tall + np.sum(grid**2) + np.sum(sparse.tril(ROWS * u[0]) @ u)


def elementwise(u: Any) -> Any:
    a = sparse.csr_matrix((u, (np.arange(N), np.arange(N)[::-1])), shape=(N, N))
    some = np.sum(a.multiply(u[:, None]) @ u)
    return some + np.sum(a.multiply(ROWS) @ u) + np.sum(a.multiply(np.outer(u, u)).toarray()) + np.sum(a.multiply(u).toarray() ** 2)


def implicit_steps(u: Any) -> Any:
    a = sparse.eye(N, format="csc") - (0.1 * u[0] ** 2) * COLUMNS
    for _ in range(3):
        u = spsolve(a, u)
    return u @ u


def nonlinear_steps(u: Any) -> Any:
    for _ in range(2):
        a = sparse.diags([-0.1 * u[1:], 2.0 + u**2, -0.1 * np.ones(N - 1)], [-1, 0, 1]).tocsr()
        u = spsolve(a, u)
    return np.sum(u**2)


def known_decompositions(u: Any) -> Any:
    return np.sum(SOLVE(u) ** 2) + LU.solve(u, "T") @ u + np.sum(LU.solve(np.outer(u, u)) ** 2)


def decompositions(u: Any) -> Any:
    solve = factorized((4.0 + u[0] ** 2) * sparse.eye(N, format="csc") - COLUMNS)
    lu = splu(sparse.diags([3.0 + u**2, np.ones(N - 1)], [0, 1]).tocsc())
    return np.sum(solve(solve(u)) ** 2) + lu.solve(u, trans="T") @ u + np.sum(lu.solve(np.outer(u, u)) ** 2)


def triangular(u: Any) -> Any:
    low = sparse.diags([2.0 + u**2, u[1:]], [0, -1]).tocsr()
    return np.sum(spsolve_triangular(low, u) ** 2) + np.sum(spsolve_triangular(low.T.tocsr(), u, lower=False))


def iterations(u: Any) -> Any:
    x, info = cg(SYMMETRIC + sparse.diags(u**2), u, rtol=1e-14)
    y, _ = bicgstab((5.0 + u[0]) * sparse.eye(N, format="csr") - ROWS, u, rtol=1e-14)
    assert info == 0
    return x @ x + np.sum(y)


def fresh(u: Any) -> Any:
    a = sparse.eye(N, format="csr")
    a.data *= 2.0
    a.data[0] = u[1]
    return u @ (a @ u)


def filled(u: Any) -> Any:
    a = sparse.lil_matrix((N, N))
    for i in range(N):
        a[i, i] = 2.0 + u[i] ** 2
        if i > 0:
            a[i, i - 1] = -u[i]
    a.setdiag(u[1:], 1)
    a[0, :] = 0.0
    a[-N, 0] = 1.0
    return np.sum(spsolve(a.tocsr(), u) ** 2) + np.sum((2.0 * a) @ u)


def with_complex_numbers(u: Any) -> Any:
    a = (sparse.eye(N) + 0.5j * ROWS * u[0]).tocsc()
    x = spsolve(a, u)
    return np.sum(np.abs(x) ** 2) + np.sum(np.real(a @ x)) + np.sum(np.abs(COMPLEX.solve(u)) ** 2)


def in_place(u: Any) -> Any:
    a = sparse.csr_matrix((u, (np.arange(N), np.arange(N))), shape=(N, N))
    b = a
    a *= u[0]
    a /= 1.0 + u[1] ** 2
    a += ROWS
    c = sparse.lil_matrix((N, N))
    c[0, 0], c[1, 2] = u[0], u[1]
    d = c
    c *= 3.0
    return np.sum(b @ u) + np.sum(a @ u) + np.sum(d @ u)


def shared(u: Any) -> Any:
    data = u * 1.0
    a = sparse.csr_matrix((data, np.arange(N), np.arange(N + 1)), shape=(N, N))
    b, c, d = sparse.csr_matrix(a), sparse.csr_matrix(a, copy=True), sparse.csr_matrix(a)
    data[0] = 7.0 * u[1]
    d.data = u**2
    e = sparse.coo_matrix((u * 1.0, (np.arange(N), np.arange(N))), shape=(N, N))
    e.tocoo().data[0] = 3.0 * u[1]
    return np.sum(a.T @ u) + np.sum(b @ u) + np.sum(c @ u) + np.sum(d @ u) + np.sum(e @ u)


def of_joined_arrays(u: Any) -> Any:
    tall = sparse.vstack([sparse.csr_array(np.outer(u, u)), ARRAY * u[0]])
    return np.sum((tall * np.ones((2 * N, N))).toarray() ** 2) + np.sum((sparse.hstack([ARRAY * u[1], ARRAY]) * 2.0).toarray())


def lines_of_lists(u: Any) -> Any:
    a = sparse.lil_matrix((N, N))
    a[:, 0] = u
    a[1, :] = u**2
    a[2] = 2.0 * u
    a.setdiag(u[:2])
    a.setdiag([4.0], 1)
    return np.sum((a.tocsr() @ u) ** 2)


def rows_in_loops(u: Any) -> Any:
    total = 0.0
    for i in range(N):
        total = total + ROWS[i, i] * u[i] ** 2 + np.sum((ROWS[i] @ u) ** 2)
    return total


def several_right_hand_sides(u: Any) -> Any:
    a = (5.0 + u[0]) * sparse.eye(N, format="csc") - COLUMNS
    return np.sum(spsolve(a, u.reshape(-1, 1)) ** 2) + np.sum(spsolve(a, np.outer(u, u)) ** 2)


def by_keys(u: Any) -> Any:
    a = sparse.dok_matrix((N, N))
    for i in range(N - 1):
        a[i, i] += u[i]
        a[i + 1, i + 1] += u[i]
        a[i, i + 1] -= u[i]
        a[i + 1, i] -= u[i]
    return u @ (a.tocsr() @ u)


def parts(u: Any) -> Any:
    a = (u[0] * ROWS + sparse.diags(u)).tocsr()
    inner = a[1:-1, 1:-1] + 5.0 * sparse.eye(N - 2)
    some = np.sum((a[2:4] @ u) ** 2) + np.sum(a.tocsc()[:, [0, 3]] @ u[:2]) + np.sum(a[np.array([1, 1, 2])] @ u) + np.sum(a[3] @ u)
    return some + np.sum(spsolve(inner.tocsc(), u[1:-1]) ** 2) + np.sum(a.getrow(2).toarray() ** 2)


def masked(u: Any) -> Any:
    a = sparse.csr_matrix((u, (np.arange(N), np.arange(N)[::-1])), shape=(N, N))
    free = np.arange(N) > 1
    return np.sum((a[free][:, free] @ u[free]) ** 2) + np.sum(a[np.ix_(free, free)].toarray() ** 3)


PROGRAMS: list[Callable[[Any], Any]] = [
    products, other_ways, of_arrays, through_objects, of_known_ones, scaled, with_weights, from_triples, by_rows, from_diagonals, joined, elementwise,
    implicit_steps, nonlinear_steps, known_decompositions, decompositions, triangular, iterations, filled,
    by_keys, parts, masked, with_complex_numbers, in_place, shared, of_joined_arrays, lines_of_lists, rows_in_loops,
    several_right_hand_sides,
]  # fmt: skip


@pytest.mark.parametrize("program", [*PROGRAMS, of_columns], ids=lambda f: f.__name__)
def test_right(program: Callable[[Any], Any]) -> None:
    check_gradient(program, (M if program is of_columns else U,))


@pytest.mark.parametrize("program", [other_ways, from_triples, implicit_steps, known_decompositions, filled], ids=lambda f: f.__name__)
def test_right_compiled(program: Callable[[Any], Any]) -> None:
    testing.check_gradient(program, (U,), order=1, jit=True)


def test_numbers_that_change() -> None:
    matrix = ROWS.copy()

    def energy(u: Any) -> Any:
        return u @ (matrix @ u)

    gradient = stgrad.grad(energy)
    for data in (ROWS.data, ROWS.data * 2.0):
        matrix.data[:] = data
        np.testing.assert_allclose(gradient(U), matrix @ U + matrix.T @ U)
    for matrix in ((3.0 * ROWS).tocsc(), ROWS.tolil(), ROWS.T.tocoo()):
        np.testing.assert_allclose(gradient(U), matrix @ U + matrix.T @ U)
    matrix = ROWS.tolil()
    for k in range(3):
        matrix[0, k] = 2.0 + k
        np.testing.assert_allclose(gradient(U), matrix @ U + matrix.T @ U)


@pytest.mark.parametrize("jit", [True, False])
def test_arguments_and_shapes(jit: bool) -> None:
    gradient = stgrad.grad(lambda a, u: u @ (a @ u), argnums=1, jit=jit)
    for a in (ROWS, COLUMNS, BANDS, TRIPLES):
        np.testing.assert_allclose(gradient(a, U), a @ U + a.T @ U)
    with pytest.raises(ValueError, match="dimension mismatch"):
        stgrad.grad(lambda u: np.sum(ROWS @ u[:3]), jit=jit)(U)


def pairs(u: Any) -> Any:
    return np.sum((u[0] * ROWS).tocsr()[[1, 2], [2, 3]])


def own(u: Any) -> Any:
    ROWS.setdiag(1.0)
    return np.sum(ROWS @ u)


def returned(u: Any) -> Any:
    return sparse.diags(u)


def drawn(u: Any) -> Any:
    return np.sum(sparse.random(N, N, 0.5) @ u)


def of_whole_numbers(u: Any) -> Any:
    a = sparse.lil_matrix((N, N), dtype=int)
    a[0, 0] = 3.0 * u[0]
    return np.sum(a @ u)


def outside_in_place(u: Any) -> Any:
    a = ROWS
    a *= u[0]
    return np.sum(a @ u)


def of_both_kinds(u: Any) -> Any:
    return np.sum((sparse.eye(N) * u[0] + ARRAY) @ u)


def paired(u: Any) -> Any:
    a = sparse.lil_matrix((N, N))
    a[[0, 1], [1, 2]] = u[:2]
    return np.sum(a @ u)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("shift", [-1, 1])
def test_places_outside(shift: int, jit: bool) -> None:
    def beyond(u: Any) -> Any:
        return np.sum(sparse.coo_matrix((u, (np.arange(N) + shift, np.arange(N))), shape=(N, N)) @ u)

    with pytest.raises(ValueError, match="exceeds the dimensions"):
        stgrad.grad(beyond, jit=jit)(U)


REFUSED = [
    (drawn, "not settled by its arguments"), (of_whole_numbers, "another dtype"), (outside_in_place, "writes to `data`"),
    (of_both_kinds, "a sparse matrix and a sparse array"), (paired, "pairs of indices"),
    (own, "`setdiag` changes"), (fresh, "writes to `data`"), (pairs, "pairs of indices"), (returned, "returns a dia_matrix"),
]  # fmt: skip


@pytest.mark.parametrize("program, message", REFUSED)
def test_refused(program: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(StgradError, match=message):
        stgrad.grad(program, jit=True)(U)


def test_singular() -> None:
    def solved(u: Any) -> Any:
        return np.sum(spsolve(sparse.diags([0.0 * u[0], 1.0], [0, 1], shape=(N, N), format="csc"), u))

    with pytest.warns(MatrixRankWarning):
        assert np.isnan(stgrad.grad(solved, jit=True)(U)).all()
