# mypy: allow-untyped-defs, allow-untyped-calls
"""The layouts of SciPy's sparse matrices, as programs read them: how their entries stand, and what each does in its own way."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from stgrad.frontend.library import refuse
from stgrad.frontend.sparse_arrays import Sparse
from stgrad.frontend.sparse_basics import CLASSES, is_sparse, make, scalars
from stgrad.runtime import diagonal_places, entry_lines, last_places


class Coordinates(Sparse):
    """`coo`: entries in any order, several of one place count together."""

    format = "coo"

    def __init__(self, shape, data, row, col):
        self.shape, self.data, self.row, self.col = shape, data, row, col

    @property
    def coords(self):
        return (self.row, self.col)

    def entries(self):
        return self.row, self.col, self.data

    def scaled(self, data):
        return make("coo", self.is_matrix, self.shape, data, self.row, self.col)

    def simple(self):
        return self.tocsr()

    def tocoo(self, copy=False):
        return self.copy() if copy else self

    def transpose(self, axes=None, copy=False):
        return make("coo", self.is_matrix, (self.shape[1], self.shape[0]), self.data, self.col, self.row)


class Compressed(Sparse):
    """`csr` and `csc`: one row, or column, behind the other."""

    def __init__(self, shape, data, indices, indptr):
        self.shape, self.data, self.indices, self.indptr = shape, data, indices, indptr

    def lines(self):
        """For each entry the row, or column, that it is in."""
        return entry_lines(self.indptr)

    def scaled(self, data):
        return make(self.format, self.is_matrix, self.shape, data, self.indices, self.indptr)

    def simple(self):
        """Entries of one place together, where there may be several: `sum_duplicates` was not asked for."""
        made = self.tocoo()
        return made.tocsr() if self.format == "csr" else made.tocsc()

    def transpose(self, axes=None, copy=False):
        turned = "csc" if self.format == "csr" else "csr"
        return make(turned, self.is_matrix, (self.shape[1], self.shape[0]), self.data, self.indices, self.indptr)


class Rows(Compressed):
    """`csr`."""

    format = "csr"

    def entries(self):
        return self.lines(), self.indices, self.data

    def tocsr(self, copy=False):
        return self.copy() if copy else self

    def times(self, x):
        data, indices, indptr = self.data, self.indices, self.indptr
        y = np.zeros((self.shape[0], *np.shape(x)[1:]), np.result_type(data, x))
        for i in range(self.shape[0]):
            for k in range(indptr[i], indptr[i + 1]):
                y[i] += data[k] * x[indices[k]]
        return y


class Columns(Compressed):
    """`csc`."""

    format = "csc"

    def entries(self):
        return self.indices, self.lines(), self.data

    def tocsc(self, copy=False):
        return self.copy() if copy else self

    def times(self, x):
        data, indices, indptr = self.data, self.indices, self.indptr
        y = np.zeros((self.shape[0], *np.shape(x)[1:]), np.result_type(data, x))
        for j in range(self.shape[1]):
            for k in range(indptr[j], indptr[j + 1]):
                y[indices[k]] += data[k] * x[j]
        return y


class Diagonals(Sparse):
    """`dia`: `data[d, j]` stands in column j, `offsets[d]` to the right of the diagonal."""

    format = "dia"

    def __init__(self, shape, data, offsets):
        self.shape, self.data, self.offsets = shape, data, offsets

    def todia(self, copy=False):
        return self.copy() if copy else self

    def scaled(self, data):
        return make("dia", self.is_matrix, self.shape, data, self.offsets)

    def ends(self, d):
        """The columns that a diagonal reaches."""
        k = self.offsets[d]
        return max(0, k), min(self.shape[1], self.shape[0] + k, np.shape(self.data)[1])

    def entries(self):
        rows, columns, places = diagonal_places(self.shape[0], self.shape[1], np.shape(self.data)[1], self.offsets)
        return rows, columns, np.ravel(self.data)[places]

    def transpose(self, axes=None, copy=False):
        rows, columns, data = self.entries()
        return make("coo", self.is_matrix, (self.shape[1], self.shape[0]), data, columns, rows)

    def times(self, x):
        data, offsets = self.data, self.offsets
        y = np.zeros((self.shape[0], *np.shape(x)[1:]), np.result_type(data, x))
        for d in range(len(offsets)):
            first, last = self.ends(d)
            for j in range(first, last):
                y[j - offsets[d]] += data[d, j] * x[j]
        return y


class Assembled(Sparse):
    """`lil` and `dok`: what was set, in its order; of one place the last counts."""

    def __init__(self, shape, rows, columns, values):
        self.shape, self.rows, self.columns, self.values = shape, rows, columns, values

    @property
    def dtype(self):
        return np.dtype(float)

    def changed(self, factor):
        for k in range(len(self.values)):
            self.values[k] *= factor
        return self

    def entries(self):
        rows, columns, values = np.array(self.rows, np.int64), np.array(self.columns, np.int64), np.array(self.values)
        kept = last_places(rows, columns, self.shape[1])
        return rows[kept], columns[kept], values[kept]

    def numbers(self):
        return self.entries()[2]

    def scaled(self, data):
        rows, columns, _ = self.entries()
        return make("coo", self.is_matrix, self.shape, data, rows, columns).tocsr()

    def simple(self):
        return self.tocsr()

    def copy(self):
        return make(self.format, self.is_matrix, self.shape, list(self.rows), list(self.columns), list(self.values))

    def transpose(self, axes=None, copy=False):
        return self.tocsr().transpose()

    def at(self, i, j):
        y = 0.0
        for k in range(len(self.values)):
            if self.rows[k] == i and self.columns[k] == j:
                y = self.values[k]
        return y

    def put(self, i, j, value):
        n, m = self.shape
        if i >= n or i < -n or j >= m or j < -m:
            raise IndexError("index out of range")
        self.rows.append(i + n if i < 0 else i)
        self.columns.append(j + m if j < 0 else j)
        self.values.append(1.0 * value)

    def __setitem__(self, key, value):
        i, j = key if isinstance(key, tuple) else (key, slice(None))
        if scalars(i, j):
            self.put(i, j, value)
        else:
            refuse(is_sparse(value), "a part of a sparse matrix that is set to another one is not supported", "use its `toarray()`")
            refuse(np.ndim(i) > 0 and np.ndim(j) > 0, "pairs of indices are not supported", "set one item after the other")
            rows, columns = np.atleast_1d(np.arange(self.shape[0])[i]), np.atleast_1d(np.arange(self.shape[1])[j])
            given = np.asarray(value)
            taken = np.broadcast_to(np.reshape(given, (-1, 1)) if scalars(j) and np.ndim(given) == 1 else given, (len(rows), len(columns)))
            for k in range(len(rows)):
                for c in range(len(columns)):
                    self.put(rows[k], columns[c], taken[k, c])

    def setdiag(self, values, k=0):
        length = min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0))
        for i in range(length if np.ndim(values) == 0 else min(length, len(values))):
            self.put(i - min(k, 0), i + max(k, 0), values if np.ndim(values) == 0 else values[i])


class Lists(Assembled):
    """`lil`."""

    format = "lil"


class Keys(Assembled):
    """`dok`."""

    format = "dok"


def _standing_for(base: type[Sparse], name: str, matrix: bool) -> type[Sparse]:
    theirs = getattr(sparse, name)
    return type(base.__name__, (base,), {"stands_for": theirs, "is_matrix": matrix, "__module__": __name__})


for _base in (Rows, Columns, Coordinates, Diagonals, Lists, Keys):
    for _matrix in (True, False):
        CLASSES[_base.format, _matrix] = _standing_for(_base, f"{_base.format}_{'matrix' if _matrix else 'array'}", _matrix)
