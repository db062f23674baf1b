"""Indexing: integers, slices, negative and strided, newaxis, ellipsis, integer and boolean arrays."""

import numpy as np

from .registry import example, matrix, positive, vector


@example(vector(5))
def negative_indices(x):
    return x[-1] * x[-2] + x[0] * x[-5]


@example(vector(7))
def slices(x):
    return np.sum(x[1:] * x[:-1]) + np.sum(x[::2] ** 2) + np.sum(x[5:1:-2] ** 3) + np.sum(x[-3:-1])


@example(vector(7))
def slice_past_the_end(x):
    return np.sum(x[2:100] ** 2) + np.sum(x[-100:3] ** 3) + np.sum(x[5:2])


@example(vector(7), 2, 5)
def slice_by_arguments(x, a, b):
    return np.sum(x[a:b] * x[a - 1 : b - 1])


@example(vector(7))
def slice_bounds_in_a_loop(x):
    s = 0.0
    for i in range(1, len(x)):
        s += np.sum(x[:i]) * x[i] + np.sum(x[i:] * x[i - 1])
    return s


@example(vector(4))
def newaxis(x):
    a = x[:, None] * x[np.newaxis, :]
    return np.sum(a * a[::-1])


@example(np.arange(24.0).reshape(2, 3, 4) / 7 + 0.3)
def ellipsis_index(a):
    return np.sum(a[..., 0] * a[..., -1]) + np.sum(a[0, ...] ** 2) + np.sum(a[1, ..., 2:])


@example(matrix(4, 5))
def two_dimensional(a):
    return np.sum(a[1:3, ::2] ** 2) + a[2, -1] * a[-1, 0] + np.sum(a[2]) * np.sum(a[:, 1])


@example(matrix(4, 5))
def row_then_element(a):
    return a[1][2] * a[-1][0]


@example(vector(6), np.array([0, 3, 3, -1]), jit=True)
def gathers(x, i):
    y = x[i]
    return np.sum(y * y * np.arange(1.0, 5.0))


@example(vector(6))
def gathers_by_list(x):
    y = x[[0, 2, 2]]
    return np.sum(y**3)


@example(matrix(4, 3), np.array([0, 2, 0]))
def gathers_rows(a, i):
    return np.sum(a[i] ** 2) + np.sum(a[:, i] ** 3)


@example(matrix(4, 3), np.array([0, 2, 0]), np.array([1, 1, 2]))
def gathers_pairs(a, i, j):
    return np.sum(a[i, j] ** 2)


@example(vector(6))
def boolean_mask(x):
    y = x[x > 0.0]
    return np.sum(y * y)


@example(vector(6))
def boolean_store(x):
    y = x * 1.0
    y[y < 0.0] = 0.0
    return np.sum(y * y * x)


@example(vector(6))
def boolean_augmented(x):
    y = x * 1.0
    y[x < 0.0] *= 3.0
    return np.sum(y * y)


@example(vector(6), np.array([1, 4]))
def integer_array_store(x, i):
    y = x * x
    y[i] = x[:2] * 3.0
    return np.sum(y * x)


@example(vector(6), np.array([1, 4]))
def integer_array_augmented(x, i):
    y = x * x
    y[i] += x[:2] * 3.0
    return np.sum(y * y)


@example(vector(6), 2)
def computed_index(x, k):
    s = 0.0
    for i in range(3):
        s += x[(i * k + 1) % 6] * x[i // 2]
    return s


@example(vector(5), vector(5, 1))
def index_from_argmax(x, w):
    k = np.argmax(x)
    return x[k] * w[k] * x[0]


@example(matrix(3, 3))
def strided_store(a):
    b = np.zeros((6, 3))
    b[::2] = a
    b[1::2, 0] = a[:, 1] * a[:, 2]
    return np.sum(b * b)


@example(np.arange(24.0).reshape(2, 3, 4) / 7 + 0.3)
def three_dimensions(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j, -1] * np.sum(a[i, j])
    a[0, 1, 2] = s
    return np.sum(a[:, 1, :] ** 2)


@example(vector(4))
def shape_zero(x):
    n = np.shape(x)[0]
    m = x.shape[-1]
    k = x.size
    return x[n - 1] * m + x[0] * k * len(x) + x[x.ndim]


@example(vector(5))
def take_and_roll(x):
    return np.sum(np.take(x, np.array([1, 1, 3])) ** 2) + np.sum(np.roll(x, 2) * x)


@example(vector(5), 3)
def matrix_from_vector(x, n):
    a = np.zeros((n, n))
    for i in range(n):
        a[i, i] = x[i]
        if i + 1 < n:
            a[i, i + 1] = x[i + 1] * x[i]
    return np.sum(a @ a)


@example(matrix(4, 3), vector(3))
def slices_of_one_item(a, x):
    y = a[:, :1] * x + a[1:2] * a[:, -1:]
    y[:, -2:-1] *= x[:1]
    return np.sum(y * a) + np.sum(x[2:3] * a)


@example(matrix(3, 4), matrix(3, 4, seed=1), 0.4, jit=True)
def masks_of_tables(x, y, c):
    """Masks of the shape of a table: read, written, added to, and a store from a part of the table itself."""
    inside = x > 0.2
    z = x * 1.0
    z[inside] = z[inside] ** 2 + c
    z[x < -0.5] = c
    w = y[inside]
    z[inside] *= w
    z[~inside] += 1.0
    first = np.zeros((3, 4), dtype=bool)
    first[1:, 0] = True
    z[first] = z[0, 1:3]
    return np.sum(z * z) + np.sum(w[1:] * w[:-1])


@example(vector(9), positive(9), 3, jit=True)
def means_of_rings(data, radius, n):
    """Means over the samples that each of n rings holds."""
    outer = radius.max() * 1.001
    means = np.zeros(n)
    for i in range(n):
        ring = np.logical_and(outer * i / n <= radius, radius < outer * (i + 1) / n)
        if np.any(ring):
            means[i] = (data[ring] ** 2).mean()
    return np.sum(means)


@example(vector(3), jit=True)
def shown_with_more_axes(x):
    row = np.array(x, ndmin=2, copy=None)
    row[0, 1] = 3.0 * x[0]
    number = np.array(x[0] ** 2, ndmin=1, copy=None)
    return np.sum(x) * row[0, 2] + number[0] + np.sum(np.zeros(2, np.common_type(x, number)))


@example(vector(3), 0.7, jit=True)
def diagonals_written_to_in_reverse(v, a):
    entries = np.empty(3)
    entries[0] = a
    entries[1:] = a * v[1:]
    turned = np.diag(entries)
    windows = np.lib.stride_tricks.sliding_window_view(v, 2)
    return np.sum(np.diag(turned @ turned @ np.outer(v, v)) * v) + np.sum(windows[:, 0] * windows[:, 1] * a)


@example(matrix(4, 3), 0.6, jit=True)
def meshes_of_indices(a, w):
    chosen = a[:, 0] > 0.0
    part = a[np.ix_(chosen, [0, 2])]
    b = a.copy()
    for i, j in ((0, 1), (1, 2)):
        b[np.ix_([i, j], [j, i])] += w * a[np.ix_(np.array([1, 0]), np.array([0, 1]))]
    return np.sum(part**2) * w + np.sum(b**3)


@example(vector(2), -3.0, jit=True)
def roots_of_a_cubic(c, a):
    z = np.roots([0.0, 1.0, a, 0.3 * np.sin(c[0]), 0.01 * np.cos(c[1])])
    return np.max(z) ** 2 + np.sum(z**3)


@example(matrix(3, 4), 0.6, jit=True)
def axes_without_elements(a, w):
    none = np.asarray([])
    rows = a[none.astype(int)] * w
    mesh = a[np.ix_([], [0, 2])]
    turned = a[0, 1:0:-1][1:]
    return np.sum(rows) + np.prod(mesh) + np.sum(turned**2) + np.sum((a[:, :0] @ a[:0]) * w) + np.sum(a[:0] * none[:, None]) + w


@example(matrix(3, 4), 1.3, jit=True)
def writes_through_reshapes_of_what_keeps_an_order(a, w):
    b = a * w
    flat = b.reshape(-1)
    flat[3] = a[0, 0] * w
    b.ravel()[::2] *= 2.0
    c = a.copy()
    pairs = c.reshape(2, 6)
    for i in range(2):
        pairs[i, i + 1 :] *= a[i, 0]
    d = np.zeros_like(a)
    d.reshape(-1)[5] += a[0, 1] * w
    rows = a.reshape(2, 2, 3)
    rows[1, 0] = d[1, :3] * flat[3]
    return np.sum(b * c) + np.sum(d * a)


@example(matrix(6, 4), 1.3, jit=True)
def writes_through_axes_in_other_places(m, w):
    a = m.reshape(2, 3, 4) * w
    turned = np.swapaxes(a, 0, 2)
    turned[1] *= 2.0
    moved = np.moveaxis(a, 0, -1)
    moved[0] += m[:3, 0].sum()
    whole = a.reshape(6, 4)
    whole[::2] = whole[1::2] * w
    squeezed = a[None].squeeze()
    squeezed[0, 1] *= m[0, 0]
    np.expand_dims(a, 1)[0, 0, 1] *= 3.0
    column = whole.T
    for j in range(4):
        np.swapaxes(column, 0, 1)[j, j] = m[j, j] ** 2
    one = a[:, :1].squeeze(1)
    one[1] = m[3] * w
    return np.sum(a * a)


@example(matrix(2, 3), matrix(3, 3), jit=True)
def inserts_along_any_axis(m, w):
    both = np.stack((w, w * w))
    rows = np.insert(m, 1, 2.0 * w, axis=0)
    deep = np.insert(both, 1, w, axis=0), np.insert(both, 1, m[0, 0], axis=-1), np.insert(both, 1, w[:2], axis=2)
    return np.sum(np.insert(m, -1, m[0, 0], axis=1) ** 2) + np.sum(rows**3) + sum(np.sum(d**3) for d in deep)


@example(matrix(2, 3), 2, jit=True)
def moves_the_axis_of_a_counter(m, n):
    total = 0.0
    for k in range(n):
        first = np.moveaxis(m, k, 0)
        total += np.sum(first[0] ** 3) * (k + 1) + np.sum(np.insert(m, 0, m[0, 0], axis=k) ** 2)
    return total
