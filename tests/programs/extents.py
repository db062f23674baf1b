"""Extents of one that only the running program knows, where operands meet otherwise than element by element; and places that are numbered or come twice."""

import numpy as np

from .registry import example, matrix, positive, vector


@example(vector(3), 3)
def einsum_of_a_slice(x, n):
    return np.einsum("i,i->", x[:n], x * x) + np.einsum("i,j,j->", x, x[:n] ** 2, x)


@example(matrix(3, 3), 3)
def products_of_slices(a, n):
    return np.einsum("ij,jk->", a[:, :n], a) + np.sum(np.einsum("...i,...i->...", a[:n], a**2))


@example(vector(3), vector(1))
@example(vector(1), vector(3))
def einsum_sums_over_one_item(x, y):
    return np.einsum("i,i->", x, y * y)


@example(matrix(3, 2), 3)
def stacks_of_matrices(a, n):
    stack = a[:, :, None] * a[:, None, :]
    return np.sum((stack[:n] @ stack) ** 2)


@example(vector(3), 3)
def stretched_to_a_shape(x, n):
    wide = np.broadcast_to(x[:n] ** 2, x.shape)
    u, v = np.broadcast_arrays(x, x[:n])
    return np.sum(wide * x + u * v)


@example(vector(3), 3)
def selects_from_slices(x, n):
    b = x[:n] ** 2
    picked = np.select([x > 1.0, b > 0.5], [b, x * b], b**2)
    return np.sum(picked) + np.sum(np.choose(np.array([0, 1, 0])[:n], [x, x * b]))


@example(matrix(3, 4), 3)
def taken_along_an_axis(a, n):
    columns = np.array([[0, 1], [1, 2], [2, 3]])
    b = a * 1.0
    np.put_along_axis(b, columns[:n, :1], 0.5, axis=1)
    return np.sum(np.take_along_axis(a[:n], columns, axis=1) ** 2 * np.take_along_axis(b, columns[:n], axis=1))


@example(matrix(3, 4), positive(4), 3)
def integrated(y, x, n):
    places = np.cumsum(np.abs(y) + 0.1, axis=1)
    return np.sum(np.trapezoid(y, places[:n], axis=1) * x[0]) + np.sum(np.trapezoid(y[:n], np.cumsum(x), axis=1))


@example(matrix(3, 3), 3)
def index_arrays_that_stretch(a, n):
    rows, columns = np.arange(3)[:n], np.array([0, 1, 0])
    b = a.copy()
    b[np.arange(3), columns] = a[:n, 0] * 2.0
    b[rows, columns] += 0.5
    np.add.at(b, (columns, columns), a[:n, 1])
    return np.sum(a[rows, columns] * b[columns, rows]) + np.sum(np.cross(a[:n], b))


# --------------------------------------------------------------------------- places


@example(matrix(3, 4), vector(2))
def operations_at_places(a, v):
    b = a.copy()
    np.multiply.at(b, (np.array([0, 2]), np.array([1, 1])), v)
    np.multiply.at(b, [0, 0], 1.5)
    np.maximum.at(b, np.array([1, 1]), 0.25)
    np.negative.at(b, ([2, 2, 1], [0, 0, 3]))
    np.power.at(b, b > 1.0, 2.0)
    return np.sum(b * b * a)


@example(vector(5), vector(3))
def operations_at_places_of_a_vector(x, v):
    y = x.copy()
    np.multiply.at(y, np.array([0, 2, 0]), v)
    np.divide.at(y, -1, 2.0)
    np.subtract.at(y, [3, 3, 1], v)
    counts = np.zeros(5, dtype=int)
    np.add.at(counts, np.array([0, 0, 3]), 1)
    return np.sum(y * x * counts) + np.sum(y)


@example(matrix(3, 4), 2)
@example(matrix(3, 4), -1)
def writes_by_number(a, n):
    b = a.copy()
    b.flat[n] = a[0, 0]
    b.flat[[0, 5]] = a[0, 0] * np.array([1.0, 2.0])
    b.flat[::4] = a[1, 1]
    b.flat[1:5] *= 2.0
    b.flat[6] += a[2, 2]
    b.flat[7:12] = a[0, :2]
    np.put(b, [3, -2], a[1, :2])
    np.put(b, 99, a[0, 3], mode="clip")
    return np.sum(b * a) + b.flat[n] * np.sum(b.flat[2:5])


@example(vector(4))
def whole_arrays_by_number(x):
    y = x * 1.0
    part = y.flat[1:]
    part[0] = 9.0
    y.flat[2] = y.flat[1] * 3.0
    z = np.zeros((2, 2))
    z.flat = x**2
    return np.sum(y * x) + np.sum(z * z) + part[1]


@example(vector(3))
def without_axes(x):
    c = np.zeros(())
    c[()] = x[0]
    c[()] += x[1]
    c[...] *= 2.0
    y = x.copy()
    y[()] = x**2
    v = y[()]
    v[0] = c[()]
    return np.sum(y * x) * c[()]


@example(vector(3), 1, jit=True)
def a_slice_without_elements(x, k):
    """Its extents are told by an array that comes after what nothing needs."""
    y = np.outer(x, x)[None]
    return np.sum(y[1:, k::-1]) + np.sum(y[0])
