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
from scipy import sparse

from stgrad.frontend import sparse_objects
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.library import refuse
from stgrad.frontend.shapes import shaped
from stgrad.frontend.values import Record, Sym, Value, is_number
from stgrad.ir import Type
from stgrad.rules.core import nondiff
from stgrad.runtime import diagonal_places, entry_lines, paired_places, united_places


def make(layout: str, is_matrix: bool, shape: Any, *parts: Any) -> Any:
    """A sparse matrix of known parts, in the order in which its class names them."""
    return CLASSES[layout, is_matrix](shape, *parts)


def is_sparse(value: Any) -> bool:
    """Whether a value stands for a sparse matrix."""
    return isinstance(value, Sparse)


def read(value: Any) -> Any:
    """A sparse matrix from outside as one of the program; other values as they are."""
    return value


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

    def scaled(self, data: Any) -> Any:
        raise NotImplementedError

    def get_shape(self):
        return self.shape

    def getnnz(self):
        return self.nnz

    # ----------------------------------------------------------------------- layouts

    def tocoo(self, copy=True):
        rows, columns, data = self.entries()
        return make("coo", self.is_matrix, self.shape, np.copy(data), np.copy(rows), np.copy(columns))

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
        refuse(not isinstance(key, tuple) or len(key) != 2 or not scalars(*key), "rows and parts of a sparse matrix are not supported", self.instead)
        n, m = self.shape
        i, j = key
        if i >= n or i < -n or j >= m or j < -m:
            raise IndexError("index out of range")
        i, j = i + n if i < 0 else i, j + m if j < 0 else j
        rows, columns, data = self.entries()
        y = 0.0 * np.sum(data[:1])
        for k in range(len(data)):
            if rows[k] == i and columns[k] == j:
                y += data[k]
        return y

    # ----------------------------------------------------------------------- entry by entry

    def copy(self):
        return self.scaled(np.copy(self.data))

    def astype(self, dtype, casting="unsafe", copy=True):
        return self.scaled(self.data.astype(dtype))

    def conj(self, copy=True):
        return self.scaled(np.conj(self.data))

    def conjugate(self, copy=True):
        return self.conj()

    def power(self, n, dtype=None):
        refuse(n == 0, "a sparse matrix to the power of zero is dense")
        made = self.simple()
        return made.scaled(made.data**n)

    def __abs__(self):
        made = self.simple()
        return made.scaled(np.abs(made.data))

    def __neg__(self):
        return self.scaled(-self.data)

    def __truediv__(self, other):
        refuse(np.ndim(other) != 0 or is_sparse(other), "division of a sparse matrix by an array is not supported", "use `multiply(1 / array)`")
        return self.scaled(self.data / other)

    def simple(self) -> Any:
        """Itself where each place has one entry, which is what functions of the entries need."""
        return self

    def multiply(self, other):
        if is_sparse(other):
            return both(self, read(other))
        if np.ndim(other) == 0:
            return self.scaled(self.data * other)
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
    found = make("coo", a.is_matrix and b.is_matrix, a.shape, np.concatenate((data, sign * more)), rows, columns)
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
    return make("csr", a.is_matrix and b.is_matrix, a.shape, y, columns, np.searchsorted(rows, np.arange(a.shape[0] + 1)))


def of_two(a, b):
    """The product of two of layout csr: each entry of a with each of a row of b."""
    if a.shape[1] != b.shape[0]:
        raise ValueError("dimension mismatch")
    left, right = paired_places(a.indices, b.indptr)
    rows, columns, data = summed(a.lines()[left], b.indices[right], a.data[left] * b.data[right], b.shape[1])
    shape = (a.shape[0], b.shape[1])
    return make("csr", a.is_matrix and b.is_matrix, shape, data, columns, np.searchsorted(rows, np.arange(shape[0] + 1)))


def scalars(*values: Any) -> bool:
    """Whether indices are numbers."""
    return all(np.ndim(v) == 0 and not isinstance(v, slice) for v in values)


def _standing_for(base: type[Sparse], name: str, matrix: bool) -> type[Sparse]:
    theirs = getattr(sparse, name)
    return type(base.__name__, (base,), {"stands_for": theirs, "is_matrix": matrix, "__module__": __name__})


PARTS = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col"), "dia": ("data", "offsets")}
CLASSES: dict[tuple[str, bool], Any] = {
    (base.format, matrix): _standing_for(base, f"{base.format}_{'matrix' if matrix else 'array'}", matrix)
    for base in (Rows, Columns, Coordinates, Diagonals)
    for matrix in (True, False)
}


# --------------------------------------------------------------------------- what the front end makes of these helpers


@handles(make)
def _make(frame: Frame, layout: Value, is_matrix: Value, shape: Value, *parts: Value) -> Record:
    return Record(CLASSES[layout, is_matrix], {"shape": shape, **dict(zip(PARTS[layout], map(frame.keep, parts), strict=True))})


@handles(is_sparse)
def _is_sparse(frame: Frame, value: Value) -> bool:
    return sparse_objects.stands_for_one(value) or sparse_objects.is_sparse(value)


@handles(read)
def _read(frame: Frame, value: Value) -> Value:
    return sparse_objects.record_of(frame, value)


@handles(scalars)
def _scalars(frame: Frame, *values: Value) -> bool:
    return all(is_number(v) or isinstance(v, Sym) and not v.type.rank for v in values)


@shaped(entry_lines)
def _lines(frame: Frame, *_: Value) -> Type:
    return Type("int64", (frame.builder.fresh_dim(),), array=True)


@shaped(united_places)
def _united(frame: Frame, *given: Value) -> tuple[Type, ...]:
    slot, place = (Type("int64", (frame.builder.fresh_dim(),), array=True) for _ in range(2))
    return slot, place, place


@shaped(diagonal_places, paired_places)
def _places(frame: Frame, *given: Value) -> tuple[Type, ...]:
    return (Type("int64", (frame.builder.fresh_dim(),), array=True),) * (3 if len(given) > 2 else 2)


for _function in (diagonal_places, entry_lines, paired_places, united_places):
    nondiff(_function, name=f"runtime.{_function.__name__}", fresh_shape=True)
