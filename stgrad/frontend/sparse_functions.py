# mypy: allow-untyped-defs, allow-untyped-calls
"""Functions of `scipy.sparse` and `scipy.sparse.linalg` as programs: what makes a sparse matrix, joins some, or solves with one.

Solutions are SciPy's own (SuperLU), called from the program; their derivatives are solutions with the transpose (Giles, Collected matrix derivative
results for forward and reverse mode, 2008, section 2.3.1), at the places of the entries:

    A x = b:    b_bar = A^-T x_bar,    A_bar[i, j] = -b_bar[i] x[j]
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stgrad.frontend import sparse_layouts as sparse_layouts  # the classes that `make` makes
from stgrad.frontend.library import refuse
from stgrad.frontend.sparse_arrays import summed
from stgrad.frontend.sparse_basics import PARTS, is_column, is_sparse, make, read
from stgrad.registered import register_gradient
from stgrad.runtime.sparse_solutions import by_factors, iterated, solved

# --------------------------------------------------------------------------- making one


def made_of(layout, matrix, arg1, shape=None, dtype=None, copy=False):
    """`csr_matrix(arg1)`: of another one, of entries with their places, of an array, or an empty one."""
    if is_sparse(arg1):
        given = read(arg1)
        found = given.scaled(np.copy(given.numbers()) if copy else given.numbers())
    elif isinstance(arg1, tuple) and len(arg1) == 3:
        refuse(layout not in ("csr", "csc"), "three arrays make a matrix of layout csr or csc alone")
        lines, across = len(arg1[2]) - 1, 1 + np.max(arg1[1]) if shape is None else 0
        known = shape if shape is not None else (lines, across) if layout == "csr" else (across, lines)
        if len(arg1[2]) != 1 + known[0 if layout == "csr" else 1]:
            raise ValueError("index pointer size does not fit the shape")
        found = make(layout, matrix, known, held(arg1[0], copy), np.asarray(arg1[1]), np.asarray(arg1[2]))
    elif isinstance(arg1, tuple) and layout == "dia" and np.ndim(arg1[0]) > 0:
        refuse(shape is None, "a matrix of diagonals needs its shape")
        found = make("dia", matrix, shape, np.atleast_2d(held(arg1[0], copy)), np.atleast_1d(np.asarray(arg1[1])))
    elif isinstance(arg1, tuple) and len(arg1) == 2 and np.ndim(arg1[0]) == 0:
        none = np.zeros(0, np.int64)
        found = make("coo", matrix, arg1, np.zeros(0), none, none)
    elif isinstance(arg1, tuple):
        row, col = np.asarray(arg1[1][0]), np.asarray(arg1[1][1])
        known = shape if shape is not None else (1 + np.max(row), 1 + np.max(col))
        if len(row) != len(arg1[0]) or len(col) != len(row):
            raise ValueError("row, column, and data array must all be the same length")
        if np.any(row >= known[0]) or np.any(row < 0) or np.any(col >= known[1]) or np.any(col < 0):
            raise ValueError("an index exceeds the dimensions of the matrix, or is negative")
        found = make("coo", matrix, known, held(arg1[0], copy), row, col)
    else:
        found = of_array(matrix, np.asarray(arg1))
    if layout in ("lil", "dok"):
        refuse(dtype is not None and np.dtype(dtype) != np.dtype(float), f"a matrix of layout {layout} of another dtype than float64 is not supported")
        rows, columns, data = found.entries()
        return make(layout, matrix, found.shape, list(rows), list(columns), list(data))
    found = found if dtype is None else found.astype(dtype)
    return in_kind(found.asformat(layout), matrix)


def held(data, copy):
    """The entries, in the memory of the argument where that is an array."""
    return np.array(data) if copy else np.asarray(data)


def in_kind(found, matrix):
    """As `csr_matrix` or as `csr_array`: they differ in what `*` means."""
    if found.is_matrix == matrix:
        return found
    if found.format == "coo":
        return make("coo", matrix, found.shape, found.data, found.row, found.col)
    if found.format == "dia":
        return make("dia", matrix, found.shape, found.data, found.offsets)
    return make(found.format, matrix, found.shape, found.data, found.indices, found.indptr)


def of_array(matrix, a):
    """All elements of an array: a zero may have a derivative."""
    refuse(np.ndim(a) != 2, "a sparse matrix is made of an array of two axes", "use reshape")
    places = np.arange(np.size(a))
    return make("coo", matrix, np.shape(a), np.copy(np.ravel(a)), places // max(a.shape[1], 1), places % max(a.shape[1], 1))


def of_diagonals(matrix, diagonals, offsets=0, shape=None, format=None, dtype=None):  # noqa: A002
    """`diags`: each diagonal behind its offset, a number all along it."""
    if np.ndim(offsets) == 0:
        if np.ndim(diagonals) > 0 and np.ndim(diagonals[0]) > 0:
            raise ValueError("Different number of diagonals and offsets.")
        parts, places = [np.atleast_1d(np.asarray(diagonals))], [offsets]
    else:
        parts, places = [np.atleast_1d(np.asarray(d)) for d in diagonals], list(offsets)
    if len(parts) != len(places):
        raise ValueError("Different number of diagonals and offsets.")
    n, m = (len(parts[0]) + abs(places[0]), len(parts[0]) + abs(places[0])) if shape is None else shape
    width = max([max(0, min(n + k, m - k) + max(0, k)) for k in places])
    data = np.zeros((len(places), width), np.result_type(float, *parts) if dtype is None else dtype)
    for d in range(len(places)):
        first, length = max(0, places[d]), min(n + places[d], m - places[d], n, m)
        if length < 0:
            raise ValueError("Offset out of bounds")
        if len(parts[d]) != 1 and len(parts[d]) < length:
            raise ValueError("Diagonal length does not agree with array size.")
        data[d, first : first + length] = parts[d][:length]
    return make("dia", matrix, (n, m), data, np.array(places)).asformat(format)


def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):  # noqa: A002
    return of_diagonals(True, diagonals, offsets, shape, format, dtype)


def diags_array(diagonals, /, *, offsets=0, shape=None, format=None, dtype=None):  # noqa: A002
    return of_diagonals(False, diagonals, offsets, shape, format, dtype)


def eye(m, n=None, k=0, dtype=float, format=None):  # noqa: A002
    return of_diagonals(True, [1.0], [k], (m, m if n is None else n), format, dtype)


def eye_array(m, n=None, *, k=0, dtype=float, format=None):  # noqa: A002
    return of_diagonals(False, [1.0], [k], (m, m if n is None else n), format, dtype)


def identity(n, dtype=float, format=None):  # noqa: A002
    return eye(n, dtype=dtype, format=format)


def spdiags(data, diags, m=None, n=None, format=None):  # noqa: A002
    shape = (len(data[0]), len(data[0])) if m is None else m if isinstance(m, tuple) else (m, n)
    return made_of("dia", True, (data, diags), shape).asformat(format)


# --------------------------------------------------------------------------- of several


def entries_of(a):
    """A sparse matrix, or an array, as one of layout coo."""
    return (read(a) if is_sparse(a) else of_array(True, np.asarray(a))).tocoo(copy=False)


def kron(A, B, format=None):  # noqa: A002, N803
    a, b = entries_of(A), entries_of(B)
    rows = np.ravel(np.reshape(a.row, (-1, 1)) * b.shape[0] + b.row)
    columns = np.ravel(np.reshape(a.col, (-1, 1)) * b.shape[1] + b.col)
    data = np.ravel(np.reshape(a.data, (-1, 1)) * b.data)
    return make("coo", a.is_matrix and b.is_matrix, (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]), data, rows, columns).asformat(format)


def kronsum(A, B, format=None):  # noqa: A002, N803
    left, right = kron(eye(B.shape[0]), A), kron(B, eye(A.shape[0]))
    return (left + right).asformat(format)


def bmat(blocks, format=None, dtype=None):  # noqa: A002
    parts = [[None if b is None else entries_of(b) for b in line] for line in blocks]
    heights = [max([0 if b is None else b.shape[0] for b in line]) for line in parts]
    widths = [max([0 if line[j] is None else line[j].shape[1] for line in parts]) for j in range(len(parts[0]))]
    rows, columns, data = [], [], []
    for i in range(len(parts)):
        for j in range(len(parts[i])):
            if parts[i][j] is not None:
                if parts[i][j].shape[0] != heights[i] or parts[i][j].shape[1] != widths[j]:
                    raise ValueError("blocks has incompatible dimensions")
                rows.append(parts[i][j].row + sum(heights[:i]))
                columns.append(parts[i][j].col + sum(widths[:j]))
                data.append(parts[i][j].data)
    matrix = all([b is None or not is_sparse(b) or read(b).is_matrix for line in blocks for b in line])  # noqa: C419  (generators are read later)
    found = make("coo", matrix, (sum(heights), sum(widths)), np.concatenate(data), np.concatenate(rows), np.concatenate(columns))
    return (found if dtype is None else found.astype(dtype)).asformat(format)


def hstack(blocks, format=None, dtype=None):  # noqa: A002
    return bmat([blocks], format, dtype)


def vstack(blocks, format=None, dtype=None):  # noqa: A002
    return bmat([[b] for b in blocks], format, dtype)


def block_diag(mats, format=None, dtype=None):  # noqa: A002
    return bmat([[mats[i] if i == j else None for j in range(len(mats))] for i in range(len(mats))], format, dtype)


def of_arrays(joined):
    """What joins sparse arrays gives one."""

    def found(blocks, *, format=None, dtype=None):  # noqa: A002
        return in_kind(joined(blocks, format, dtype), False)

    return found


def tril(A, k=0, format=None):  # noqa: A002, N803
    a = entries_of(A)
    kept = np.flatnonzero(a.col - a.row <= k)
    return make("coo", a.is_matrix, a.shape, a.data[kept], a.row[kept], a.col[kept]).asformat(format)


def triu(A, k=0, format=None):  # noqa: A002, N803
    a = entries_of(A)
    kept = np.flatnonzero(a.col - a.row >= k)
    return make("coo", a.is_matrix, a.shape, a.data[kept], a.row[kept], a.col[kept]).asformat(format)


def find(A):  # noqa: N803
    a = entries_of(A)
    return summed(a.row, a.col, a.data, a.shape[1])


def norm(x, ord=None, axis=None):  # noqa: A002
    refuse(ord not in (None, "fro") or axis is not None, "norms of sparse matrices other than Frobenius' are not supported")
    return np.sqrt(np.sum(np.abs(read(x).simple().data) ** 2))


def issparse(x):
    return is_sparse(x)


# --------------------------------------------------------------------------- solutions


def columns_of(A):  # noqa: N803
    """A square matrix column by column, or its transpose so, and which of both it is."""
    a = read(A) if is_sparse(A) else of_array(True, np.asarray(A))
    if a.shape[0] != a.shape[1]:
        raise ValueError("matrix must be square")
    return (a, True) if a.format == "csr" else (a.tocsc(), False)


def spsolve(A, b, permc_spec=None, use_umfpack=True):  # noqa: N803
    refuse(is_sparse(b), "`spsolve` with a sparse right-hand side is not supported", "use b.toarray()")
    a, turned = columns_of(A)
    right = np.ravel(b) if is_column(b) else np.asarray(b)
    if np.shape(b)[0] != a.shape[0]:
        raise ValueError("matrix - rhs dimension mismatch")
    if np.ndim(right) == 2 and np.shape(right)[1] == 1:
        raise ValueError("one right-hand side is a vector in the result: give it as one")
    return solved(a.data, a.indices, a.indptr, right, turned, True)


class Factors:
    """What `splu` makes of values: the matrix, which is decomposed where it is solved with."""

    def __init__(self, matrix, turned):
        self.matrix, self.turned, self.shape = matrix, turned, matrix.shape

    def solve(self, rhs, trans="N"):
        if trans == "H":
            return np.conj(self.solve(np.conj(rhs), "T"))
        a = self.matrix
        return solved(a.data, a.indices, a.indptr, np.asarray(rhs), self.turned != (trans == "T"), False)


def splu(A, permc_spec=None, diag_pivot_thresh=None, relax=None, panel_size=None, options=None):  # noqa: N803
    return Factors(*columns_of(A))


def factorized(A):  # noqa: N803
    return splu(A).solve


def inverse_times(self, rhs, trans="N"):
    """`SuperLU.solve` of a decomposition from outside."""
    if trans == "H":
        return np.conj(by_factors(self, np.conj(rhs), True))
    return by_factors(self, np.asarray(rhs), trans == "T")


def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):  # noqa: N803
    a = read(A).tocsr()
    n = a.shape[0]
    x = np.array(b, np.result_type(a.data, b, float))
    for step in range(n):
        i = step if lower else n - 1 - step
        pivot = 1.0
        for k in range(a.indptr[i], a.indptr[i + 1]):
            j = a.indices[k]
            if j == i and not unit_diagonal:
                pivot = a.data[k]
            elif (j < i) if lower else (j > i):
                x[i] -= a.data[k] * x[j]
        x[i] = x[i] / pivot
    return x


def by_iteration(method, A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=None, M=None, callback=None, **options):  # noqa: N803
    """`cg`, `gmres`...: SciPy's own iteration; its derivative is that of the solution which it comes near."""
    refuse(callback is not None, f"`callback` of {method} is not supported")
    refuse(not is_sparse(A) and np.ndim(A) != 2, f"`{method}` of a linear operator is not supported", "give the matrix")
    a, turned = columns_of(A)
    start = np.zeros(a.shape[0]) if x0 is None else np.asarray(x0)
    named = tuple(options.items())
    return iterated((method, rtol, atol, maxiter, M, named), a.data, a.indices, a.indptr, np.asarray(b), start, turned)


# --------------------------------------------------------------------------- derivatives of solutions


def _like(b: Any) -> Any:
    """A solution is what its right-hand side is."""
    return np.zeros(np.shape(b), np.result_type(b, float))


def fitting(bar, x):
    """A cotangent of what is real is real."""
    return bar if np.iscomplexobj(x) else np.real(bar)


def conjugate(x):
    return np.conj(x) if np.iscomplexobj(x) else x


def at_entries(b_bar, y, data, indices, indptr, turned):
    """`-b_bar[i] conj(y[j])` at the places (i, j) of the entries."""
    found = np.zeros(len(data), np.result_type(b_bar, y))
    for line in range(len(indptr) - 1):
        for k in range(indptr[line], indptr[line + 1]):
            i, j = (line, indices[k]) if turned else (indices[k], line)
            found[k] = -b_bar[i] * conjugate(y[j]) if np.ndim(y) == 1 else -np.sum(b_bar[i] * conjugate(y[j]))
    return fitting(found, data)


def solved_vjp(y, y_bar, data, indices, indptr, b, turned, quiet):
    b_bar = conjugate(solved(data, indices, indptr, conjugate(y_bar), not turned, quiet))
    return at_entries(b_bar, y, data, indices, indptr, turned), None, None, fitting(b_bar, b), None, None


def iterated_vjp(y, y_bar, method, data, indices, indptr, b, start, turned):
    b_bar = conjugate(solved(data, indices, indptr, conjugate(y_bar[0]), not turned, True))
    return None, at_entries(b_bar, y[0], data, indices, indptr, turned), None, None, fitting(b_bar, b), None, None


def by_factors_vjp(y, y_bar, factors, b, turned):
    return None, fitting(conjugate(by_factors(factors, conjugate(y_bar), not turned)), b), None


register_gradient(solved, solved_vjp, abstract=lambda data, indices, indptr, b, *_: _like(b * np.result_type(data).type(1)))
register_gradient(iterated, iterated_vjp, abstract=lambda method, data, indices, indptr, b, *_: (_like(b * np.result_type(data).type(1)), 0))
register_gradient(by_factors, by_factors_vjp, abstract=lambda factors, b, _: _like(b * factors.L.dtype.type(1)))


_KINDS = {f"{layout}_{kind}": partial(made_of, layout, kind == "matrix") for layout in PARTS for kind in ("matrix", "array")}
_ITERATIONS = ("cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "minres", "qmr", "gcrotmk", "tfqmr")
BODIES: dict[str, Any] = {
    **_KINDS,
    **{name: partial(by_iteration, name) for name in _ITERATIONS},
    **{f.__name__: f for f in (bmat, block_diag, diags, diags_array, eye, eye_array, factorized, find, hstack, identity, issparse, kron, kronsum,
                               norm, spdiags, splu, spsolve, spsolve_triangular, tril, triu, vstack)},
    "block_array": of_arrays(bmat), "isspmatrix": issparse,
}  # fmt: skip
