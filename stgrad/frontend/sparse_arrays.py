# mypy: allow-untyped-defs, allow-untyped-calls
"""SciPy's sparse matrices as programs of NumPy: what stands for one while a function is read (see `stgrad.frontend.sparse_objects`).

    csr, csc  `data (entries,)`, `indices`, `indptr (rows + 1,)`      dia  `data (diagonals, columns)`, `offsets`
    coo       `data (entries,)`, `row`, `col`

The numbers are values of the running program, and so are the places: a product is a loop over the entries, a sum sorts those of both. An entry stays one
when it is zero, as its derivative may not be; SciPy drops zeros of sums, and of diagonals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.frontend.library import refuse
from stgrad.frontend.sparse_basics import is_sparse, make, read, scalars, whole
from stgrad.runtime import paired_places, united_places


class Sparse:
    """What all layouts share: operations over `entries()`, their rows, columns and values."""

    __array_priority__ = 10.1  # as SciPy's: arrays leave products with one to it
    instead = "write it with the entries (`tocoo()`: row, col, data), or of `toarray()`"
    format = ""
    ndim = 2
    is_matrix = True

    shape: Any
    data: Any

    @property
    def dtype(self):
        return self.data.dtype

    @property
    def nnz(self):
        return len(self.entries()[2])

    @property
    def size(self):
        return self.nnz

    @property
    def T(self):  # noqa: N802
        return self.transpose()

    def entries(self) -> Any:
        raise NotImplementedError

    def numbers(self) -> Any:
        """The values that `scaled` takes others for."""
        return self.data

    def scaled(self, data: Any) -> Any:
        raise NotImplementedError

    def get_shape(self):
        return self.shape

    def getnnz(self):
        return self.nnz

    # ----------------------------------------------------------------------- layouts

    def tocoo(self, copy=True):
        rows, columns, data = self.entries()
        return make("coo", self.is_matrix, self.shape, np.copy(data) if copy else data, np.copy(rows), np.copy(columns))

    def tocsr(self, copy=False):
        rows, columns, data = self.entries()
        rows, columns, data = summed(rows, columns, data, self.shape[1])
        return make("csr", self.is_matrix, self.shape, data, columns, np.searchsorted(rows, np.arange(self.shape[0] + 1)))

    def tocsc(self, copy=False):
        rows, columns, data = self.entries()
        columns, rows, data = summed(columns, rows, data, self.shape[0])
        return make("csc", self.is_matrix, self.shape, data, rows, np.searchsorted(columns, np.arange(self.shape[1] + 1)))

    def asformat(self, format, copy=False):  # noqa: A002
        if format is None or format == self.format:
            return self
        if format == "csr":
            return self.tocsr()
        if format == "csc":
            return self.tocsc()
        refuse(format != "coo", f"the layout `{format}` of sparse matrices is not supported in a program", "use csr, csc or coo")
        return self.tocoo()

    def toarray(self, order=None, out=None):
        refuse(out is not None, "`out` of `toarray` is not supported")
        rows, columns, data = self.entries()
        y = np.zeros(self.shape, data.dtype)
        for k in range(len(data)):
            y[rows[k], columns[k]] += data[k]
        return y

    def todense(self, order=None, out=None):
        refuse(self.is_matrix, "`todense` makes an `np.matrix`, whose operations are not those of arrays", "use `toarray()`")
        return self.toarray(order, out)

    # ----------------------------------------------------------------------- parts

    def diagonal(self, k=0):
        rows, columns, data = self.entries()
        n = min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0))
        y = np.zeros(max(n, 0), data.dtype)
        for i in range(len(data)):
            if columns[i] - rows[i] == k:
                y[rows[i] + min(k, 0)] += data[i]
        return y

    def trace(self, offset=0):
        return np.sum(self.diagonal(offset))

    def sum(self, axis=None, dtype=None, out=None):
        refuse(dtype is not None or out is not None, "`dtype` and `out` of the sum of a sparse matrix are not supported")
        if axis is None:
            return np.sum(self.entries()[2])
        refuse(self.is_matrix, "the sum of a sparse matrix along an axis is an `np.matrix`", "multiply by ones, or use a sparse array (csr_array)")
        ones = np.ones(self.shape[axis])
        return self @ ones if axis in (1, -1) else self.transpose() @ ones

    def mean(self, axis=None, dtype=None, out=None):
        total = self.sum(axis, dtype, out)
        return total / (self.shape[0] * self.shape[1] if axis is None else self.shape[axis])

    def __len__(self):
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __getitem__(self, key):
        i, j = key if isinstance(key, tuple) else (key, slice(None))
        if scalars(i, j):
            return self.entry(i, j)
        refuse(not self.is_matrix and (scalars(i) or scalars(j)), "a row of a sparse array has one axis, which is not supported", "use a slice: a[i : i + 1]")
        if np.ndim(i) > 0 and np.ndim(j) > 0:
            refuse(np.ndim(i) != 2 or np.ndim(j) != 2, "pairs of indices are not supported", "take one item after the other, or np.ix_ for a grid of them")
            if np.shape(i)[1] != 1 or np.shape(j)[0] != 1:
                raise ValueError("indices of rows and columns that are no grid: use np.ix_")
        return self.copy() if whole(i) and whole(j) else self.part(i, j)

    def part(self, i, j):
        """Some rows and columns: products with matrices that pick them."""
        found = self if whole(i) else of_two(picking(np.ravel(np.arange(self.shape[0])[i]), self.shape[0], self.is_matrix), self.tocsr())
        if whole(j):
            return found
        columns = np.ravel(np.arange(self.shape[1])[j])
        return of_two(found.tocsr(), picking(columns, self.shape[1], self.is_matrix).transpose().tocsr())

    def getrow(self, i):
        return self.part(i, slice(None))

    def getcol(self, j):
        return self.part(slice(None), j)

    def entry(self, i, j):
        n, m = self.shape
        if i >= n or i < -n or j >= m or j < -m:
            raise IndexError("index out of range")
        return self.at(i + n if i < 0 else i, j + m if j < 0 else j)

    def at(self, i: Any, j: Any) -> Any:
        rows, columns, data = self.entries()
        y = 0.0 * np.sum(data[:1])
        for k in range(len(data)):
            if rows[k] == i and columns[k] == j:
                y += data[k]
        return y

    # ----------------------------------------------------------------------- entry by entry

    def copy(self):
        return self.scaled(np.copy(self.numbers()))

    def astype(self, dtype, casting="unsafe", copy=True):
        return self.scaled(self.numbers().astype(dtype))

    def conj(self, copy=True):
        return self.scaled(np.conj(self.numbers()))

    def conjugate(self, copy=True):
        return self.conj()

    def power(self, n, dtype=None):
        refuse(n == 0, "a sparse matrix to the power of zero is dense")
        made = self.simple()
        return made.scaled(made.data**n)

    def __abs__(self):
        made = self.simple()
        return made.scaled(np.abs(made.data))

    def __imul__(self, other):
        return self.changed(other) if not is_sparse(other) and np.ndim(other) == 0 else self * other

    def __itruediv__(self, other):
        return self.changed(1.0 / other) if not is_sparse(other) and np.ndim(other) == 0 else self / other

    def changed(self, factor):
        """All numbers in their place, as SciPy multiplies by a number."""
        self.data *= factor
        return self

    def __neg__(self):
        return self.scaled(-self.numbers())

    def __truediv__(self, other):
        refuse(np.ndim(other) != 0 or is_sparse(other), "division of a sparse matrix by an array is not supported", "use `multiply(1 / array)`")
        return self.scaled(self.numbers() / other)

    def simple(self) -> Any:
        """Itself where each place has one entry, which is what functions of the entries need."""
        return self

    def multiply(self, other):
        if is_sparse(other):
            return both(self, read(other))
        if np.ndim(other) == 0:
            return self.scaled(self.numbers() * other)
        rows, columns, data = self.entries()
        n, m = self.shape
        if np.ndim(other) == 1:
            other = np.reshape(other, (1, -1))
        if other.shape[0] not in (1, n) or other.shape[1] not in (1, m):
            raise ValueError("inconsistent shapes")
        taken = np.empty(len(data), np.result_type(data, other))
        for k in range(len(data)):
            taken[k] = data[k] * other[rows[k] if other.shape[0] > 1 else 0, columns[k] if other.shape[1] > 1 else 0]
        return make("coo", self.is_matrix, self.shape, taken, rows, columns)

    # ----------------------------------------------------------------------- sums and products

    def __add__(self, other):
        return plus(self, other, 1.0)

    def __radd__(self, other):
        return plus(self, other, 1.0)

    def __sub__(self, other):
        return plus(self, other, -1.0)

    def __rsub__(self, other):
        return plus(-self, other, 1.0)

    def __mul__(self, other):
        return self.dot(other) if self.is_matrix else self.multiply(other)

    def __rmul__(self, other):
        return self.multiply(other) if np.ndim(other) == 0 or not self.is_matrix else self.__rmatmul__(other)

    def dot(self, other):
        if is_sparse(other):
            return of_two(self.tocsr(), read(other).tocsr())
        return self.multiply(other) if np.ndim(other) == 0 else self.times(checked(self, other))

    def __matmul__(self, other):
        if not is_sparse(other) and np.ndim(other) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(other)

    def __rmatmul__(self, other):
        if np.ndim(other) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        turned = self.transpose()
        return turned.times(checked(turned, other)) if np.ndim(other) == 1 else np.transpose(turned.times(checked(turned, np.transpose(other))))

    def transpose(self, axes: Any = None, copy: Any = False) -> Any:
        raise NotImplementedError

    def times(self, x):
        """The product with a vector, or with the columns of a matrix."""
        rows, columns, data = self.entries()
        y = np.zeros((self.shape[0], *np.shape(x)[1:]), np.result_type(data, x))
        for k in range(len(data)):
            y[rows[k]] += data[k] * x[columns[k]]
        return y


def checked(a, x):
    """An operand behind a sparse matrix."""
    refuse(np.ndim(x) > 2, "the product of a sparse matrix and an array of more than two axes is not supported", "multiply its slices")
    if np.shape(x)[0] != a.shape[1]:
        raise ValueError("dimension mismatch")
    return x


def summed(major, minor, data, width):
    """Entries in order, those of one place as one."""
    slot, majors, minors = united_places(major, minor, width)
    y = np.zeros(len(majors), data.dtype)
    for k in range(len(data)):
        y[slot[k]] += data[k]
    return majors, minors, y


def of_one_kind(a, b):
    """Whether `*` of a result is the product of matrices: the class that SciPy gives one of both kinds depends on their layouts."""
    refuse(a.is_matrix != b.is_matrix, "a sparse matrix and a sparse array in one operation are not supported", "make both arrays: csr_array(matrix)")
    return a.is_matrix


def plus(a, b, sign):
    """`a + sign * b`."""
    if not is_sparse(b):
        refuse(np.ndim(b) == 0, "adding a number to a sparse matrix is not supported", "add it to `.data`, or to `.toarray()`")
        refuse(a.is_matrix, "the sum of a sparse matrix and an array is an `np.matrix`", "use `toarray()`")
        return a.toarray() + sign * b
    if a.shape != b.shape:
        raise ValueError("inconsistent shapes")
    rows, columns, data = a.entries()
    more_rows, more_columns, more = b.entries()
    rows, columns = np.concatenate((rows, more_rows)), np.concatenate((columns, more_columns))
    found = make("coo", of_one_kind(a, b), a.shape, np.concatenate((data, sign * more)), rows, columns)
    return found.tocsc() if a.format == "csc" else found.tocsr()


def both(a, b):
    """The products of the entries that both have."""
    if a.shape != b.shape:
        raise ValueError("inconsistent shapes")
    rows, columns, data = a.entries()
    other_rows, other_columns, other = b.entries()
    rows, columns, data = summed(rows, columns, data, a.shape[1])
    other_rows, other_columns, other = summed(other_rows, other_columns, other, a.shape[1])
    keys, other_keys = rows * a.shape[1] + columns, other_rows * a.shape[1] + other_columns
    place = np.searchsorted(other_keys, keys)
    y = np.zeros(len(data), np.result_type(data, other))
    for k in range(len(data)):
        if place[k] < len(other) and other_keys[place[k]] == keys[k]:
            y[k] = data[k] * other[place[k]]
    return make("csr", of_one_kind(a, b), a.shape, y, columns, np.searchsorted(rows, np.arange(a.shape[0] + 1)))


def picking(places, n, matrix):
    """A matrix whose product picks rows of one with n of them."""
    return make("csr", matrix, (len(places), n), np.ones(len(places)), places, np.arange(len(places) + 1))


def of_two(a, b):
    """The product of two of layout csr: each entry of a with each of a row of b."""
    if a.shape[1] != b.shape[0]:
        raise ValueError("dimension mismatch")
    left, right = paired_places(a.indices, b.indptr)
    rows, columns, data = summed(a.lines()[left], b.indices[right], a.data[left] * b.data[right], b.shape[1])
    shape = (a.shape[0], b.shape[1])
    return make("csr", of_one_kind(a, b), shape, data, columns, np.searchsorted(rows, np.arange(shape[0] + 1)))
