"""Stores, augmented assignments, views and aliases: the examples of docs/memory.md and around them."""

import numpy as np

from .registry import example, matrix, positive, vector


@example(vector(3), jit=True)
def overwrites_an_element(x):
    y = x * x
    y[0] = 0.0
    return np.sum(y)


@example(vector(3))
def overwrites_through_an_alias(x):
    y = x
    y[0] = 0.0
    z = y * y
    return np.sum(x * z)


@example(vector(4))
def shifts_in_place(x):
    x[1:] = x[:-1] * 2.0
    return np.sum(x * x)


@example(vector(4))
def shifts_itself(x):
    x[1:] = x[:-1]
    return np.sum(x * x * x)


@example(vector(4))
def adds_itself_shifted(x):
    x[1:] += x[:-1]
    x[:-1] *= x[1:]
    return np.sum(x * x)


@example(vector(5))
def reverses_itself(x):
    y = x * 1.0
    y[:] = y[::-1] * y
    return np.sum(y * np.arange(5.0))


@example(vector(6), 3, jit=True)
def double_buffer(x, steps):
    a = x * 1.0
    b = x * 0.0
    for _ in range(steps):
        b[1:-1] = a[:-2] + a[2:] * a[1:-1]
        a, b = b, a
    return np.sum(a * a)


@example(matrix(3, 4), vector(4))
def dots_of_rows(a, x):
    s = 0.0
    for i in range(a.shape[0]):
        s += np.dot(a[i], x)
    return s * s


@example(matrix(3, 4), vector(4), jit=True)
def writes_through_row_views(a, x):
    for i in range(a.shape[0]):
        r = a[i]
        r[1:] *= x[1:]
    return np.sum(a * a)


@example(matrix(3, 4), 1.5)
def row_then_fresh(a, c):
    x = a[0]
    for _ in range(3):
        x[0] = c
        x = x * x
    return np.sum(x) + np.sum(a)


@example(vector(4), 0.7, jit=True)
def tanh_chain(x, h0):
    h = h0
    for t in range(len(x)):
        h = np.sin(h * x[t])
    return h


@example(vector(6))
def even_and_odd_views(x):
    y = x * 1.0
    even, odd = y[::2], y[1::2]
    even *= odd
    odd += even * even
    return np.sum(y)


@example(vector(6))
def overlapping_views(x):
    y = x * 1.0
    a, b = y[:-1], y[1:]
    a *= b
    b -= a * 0.5
    return np.sum(y * y)


@example(vector(4))
def augmented_all(x):
    y = x * 2.0
    y += x
    y -= x * x
    y *= x
    y /= x * x + 1.0
    y **= 2
    return np.sum(y)


@example(vector(4))
def augmented_elements(x):
    y = x * 2.0
    y[0] += x[1]
    y[1] -= x[2] * x[2]
    y[2] *= x[3]
    y[3] /= x[0]
    y[0] **= 3
    return np.sum(y * y)


@example(vector(4))
def square_in_place(x):
    x *= x
    x *= x
    return np.sum(x)


@example(vector(4))
def plus_itself(x):
    y = x * x
    y += y
    y[1:] += y[1:]
    return np.sum(y * y)


@example(matrix(3, 3))
def diagonal_update(s):
    d = np.sum(s, axis=0)
    for i in range(3):
        for j in range(3):
            if i == j:
                s[i, i] += d[i]
    return np.sum(s * s)


@example(matrix(4, 4))
def columns_of_transpose(a):
    b = a * 1.0
    c = b.T
    c[0] *= b[1]
    c[1:, 2] = c[0, 1:]
    return np.sum(b * b * b)


@example(matrix(3, 4))
def blocks(a):
    b = a * 1.0
    b[1:, :2] = a[:-1, 2:] * a[1:, :2]
    b[:, -1] -= b[:, 0]
    b[0] = b[1] * 2.0
    return np.sum(b * b)


@example(vector(5))
def swap_elements(x):
    y = x * 1.0
    for i in range(2):
        y[i], y[4 - i] = y[4 - i], y[i] * y[i]
    return np.sum(y * np.arange(5.0))


@example(vector(5))
def swap_arrays(x):
    a, b = x * 2.0, x * x
    for _ in range(3):
        a, b = b, a
        a[0] = b[1] * a[2]
    return np.sum(a * b)


@example(vector(4))
def fills(x):
    y = np.zeros(4)
    y[:] = x[0]
    y[1:3] = x[1] * x[2]
    y[...] *= x
    return np.sum(y)


@example(vector(4))
def fills_by_index(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] * x[-1 - i]
    return np.sum(y * y)


@example(vector(6), jit=True)
def prefix_products(x):
    y = np.ones(len(x) + 1)
    for i in range(len(x)):
        y[i + 1] = y[i] * x[i]
    return np.sum(y)


@example(vector(6))
def recurrence_in_place(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * x[i]
    return np.sum(x)


@example(vector(6))
def view_of_view(x):
    y = x * 1.0
    v = y[1:]
    w = v[1:-1]
    w[0] = 3.0
    v *= x[1:]
    return np.sum(y * y)


@example(vector(6))
def copy_then_write(x):
    y = x.copy()
    z = y
    y[0] = x[1] * x[2]
    w = np.copy(z)
    w[1] = y[0]
    return np.sum(z * w)


@example(vector(4))
def rebinding_keeps_the_view(x):
    y = x * 1.0
    v = y[1:]
    y = y * y
    v *= 2.0
    return np.sum(v * v) + np.sum(y)


@example(vector(4))
def saved_before_overwritten(x):
    y = x * 1.0
    z = y * y
    y[:] = 0.0
    w = z * x
    z[0] = 1.0
    return np.sum(w) + np.sum(z)


@example(vector(5))
def sum_of_squares_in_scalar_array(x):
    s = np.zeros(1)
    for i in range(len(x)):
        s[0] += x[i] * x[i]
    return s[0] * s[0]


@example(np.array(1.5))
def zero_dimensional(x):
    y = x * x
    return y * x


@example(vector(4))
def loop_carried_alias(x):
    y = x * 1.0
    z = y
    for i in range(3):
        z = z * 2.0 if i == 1 else z
        z[0] = x[i]
        y[1] = z[2]
    return np.sum(y) + np.sum(z * z)


@example(matrix(3, 3))
def row_swaps(a):
    for i in range(2):
        t = a[i].copy()
        a[i] = a[i + 1] * 2.0
        a[i + 1] = t * a[0]
    return np.sum(a * a)


@example(vector(6), np.array([0, 2, 2, 5]))
def add_at(x, i):
    y = x * x
    np.add.at(y, i, x[:4])
    return np.sum(y * y)


@example(matrix(3, 4), np.array([0, 2, 0]))
def add_at_places_of_all_kinds(a, i):
    """Numbers, slices, masks and arrays of positions, alone and mixed."""
    y = a * a
    np.add.at(y, (0, 1), a[1, 1])
    np.add.at(y, 2, a[0])
    np.add.at(y, (slice(1, None), -1), a[0, 0] * a[1, 0])
    np.add.at(y, (i, 1), a[:, 2])
    np.subtract.at(y, a > 0.5, a[2, 3])
    np.subtract.at(y, (slice(None), 0), a[:, 3])
    return np.sum(y * y)


@example(vector(12), vector(6), 2, jit=True)
def flattened_fields(params, smoke, steps):
    """Fields that begin as parts of one vector and are rebound to new ones; these are corrected in place."""
    u = np.reshape(params[:6], (2, 3))
    v = np.reshape(params[6:], (2, 3))
    s = np.reshape(smoke, (2, 3))
    for _ in range(steps):
        flat = (u * s).ravel() + np.roll(v, 1, axis=1).ravel() ** 2
        u_next = np.reshape(np.sin(flat), u.shape)
        v_next = np.reshape(np.cos(flat), (2, 3))
        mean = np.mean(u_next)
        u_next -= mean
        v_next -= 0.5 * mean
        u, v = u_next, v_next
        s = np.reshape((s * u).ravel() * 0.9, s.shape)
    return np.sum(s * v)


@example(vector(6), matrix(6, 2), jit=True)
def pooled_and_flattened(x, w):
    """A result filled by elements, then flattened for a product."""
    y = np.empty((2, 3))
    for i in range(2):
        for j in range(3):
            y[i, j] = max(x[i] * x[j], x[3 + j])
    return np.sum((np.reshape(y, (6,)) @ w) ** 2)


@example(vector(8), 3, jit=True)
def passes_over_one_buffer(x, stages):
    """Each pass reads the buffer in another shape, turned, and overwrites it."""
    y = np.empty(8)
    y[:] = x[:]
    for k in range(stages):
        table = np.reshape(y, (2**k, 2, 2 ** (stages - k - 1)))
        turned = np.transpose(table, axes=(1, 0, 2))
        y[:] = np.sin(np.reshape(turned, (8,)) + x[k])
    return np.sum(y)


@example(np.array([0.3, -0.2, 0.4, 0.1]), jit=True)
def reflection_coefficients(r):
    """Levinson's recursion: a prefix is updated by itself, backwards."""
    y = np.zeros_like(r)
    y[0] = -r[0]
    k, error = -r[0], 1.0
    for n in range(1, len(r)):
        error = error * (1.0 - k * k)
        k = -(r[n] + np.dot(np.flip(r[:n]), y[:n])) / error
        y[:n] += k * np.flip(y[:n])
        y[n] = k
    return np.sum(y * y)


@example(matrix(3, 4), positive(2))
def adds_itself_flipped(x, w):
    x *= w[0]
    x[1:] += np.fliplr(x[1:]) * w[1]
    x[:, 1:3] *= np.flip(x[:, 1:3], (0, 1))
    return np.sum(x * x)


@example(np.stack([matrix(2, 3), matrix(2, 3, 1)]), matrix(3, 3), 2, 2)
def product_of_a_stack_in_place(a, c, n, m):
    a[:] = np.reshape(np.reshape(a, (n, m, 1, 3)) @ c, (n, m, 3))
    return np.sum(a * a)


@example(matrix(2, 3), matrix(6, 2))
def reshapes_what_it_overwrites(a, w):
    y = np.ravel(a) @ w
    a *= y[0]
    z = np.reshape(a, (3, 2))
    a[:] = np.tanh(z.T * z.T)
    return np.sum(a) + y[1]


@example(1.5, 0.7, matrix(3, 3), matrix(3, 4), jit=True)
def scales_then_adds_products(alpha, beta, c, a):
    """A triangle is scaled once and added to in a loop inside: its old values are read outside of that loop."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return np.sum(c * c)


@example(0.7, matrix(3, 3), matrix(3, 3, 1), jit=True)
def scales_all_then_adds(beta, c, b):
    """Two readers of old values, at one depth and at two."""
    c *= beta
    work = np.zeros(c.shape[1])
    for i in range(c.shape[0]):
        total = np.sum(c[i] * c[i])
        for j in range(c.shape[1]):
            c[:i, j] += total * b[i, j] * b[i, :i]
            work[j] = np.dot(b[:i, j], c[i, :i])
        c[i] += beta * work
    return np.sum(c * c)


@example(matrix(4, 3), 5)
def reads_in_a_branch_then_overwrites(x, steps):
    y = x * 1.0
    s = 0.0
    for t in range(steps):
        if t % 2 == 0:
            s = s + np.sum(y[t % 3] * y[t % 3 + 1]) * (t + 1.0)
        else:
            s = s * 0.5
        for j in range(3):
            for i in range(4):
                y[i, j] = 0.9 * y[i, j] + 0.1 * s
    return s + np.sum(y)


@example(vector(3), jit=True)
def the_same_array_as_its_own_dtype(x):
    y = x * 1.0
    v = np.astype(y, np.float64, copy=False)
    y[0] = 7.0 * y[1] ** 2
    return np.sum(v * v * x)


@example(vector(3), jit=True)
def sparse_grids_of_their_own(x):
    y = x * 1.0
    a, b = np.meshgrid(y, y, sparse=True)
    a[0, 0] = 7.0 * x[1] ** 2
    return np.sum(y * y) + np.sum(a * b)


@example(matrix(3, 3), jit=True)
def axes_moved_by_einsum(x):
    y = x * 1.0
    t = np.einsum("ij->ji", y)
    t[0, 1] = x[0, 0] ** 2
    y[2, 0] = x[1, 1] ** 2
    return np.sum(y * y) + np.sum(t * x) + np.sum(np.einsum("ii->i", x) ** 2) + np.sum(np.einsum("...ji", x) * x)


@example(positive(3), 0.3)
def row_that_is_read_back_and_overwritten(x, a):
    rows = [x]
    for _ in range(4):
        m = rows[-1]
        rows.append(np.maximum(m + 0.1 * m * (1.0 - a * m), 1e-6))
    return np.sum(rows[-1])


@example(positive(3), 0.3, 3)
def rows_of_a_table_that_hold_results(x, a, n):
    table = np.zeros((5, 3))
    table[0] = x
    k = 0
    while k < n:
        k += 1
        table[k] = np.sqrt(table[k - 1] * a + table[k])
    return np.sum(np.tanh(table[k]))


@example(vector(4), 0.7, jit=True)
def items_read_before_the_value_changes_them(x, a):
    y, i = x.copy(), 0

    def step():
        nonlocal i
        i += 1
        y[i] = y[i] * a
        y[i - 1] *= 2.0
        return y[i]

    y[i] += step()
    y[i] -= step() * 2.0
    y[i] *= step()
    return np.sum(y * y)


@example(vector(4), 0.7)
def rows_and_picked_items_that_the_value_changes(x, a):
    y = np.outer(x, x)

    def scaled(k):
        y[k] *= a
        return y[k, 0]

    for k in range(3):
        y[k, 0] += scaled(k)
        y[k, k] -= scaled(k + 1)
        y[k] += scaled(k)
    y[np.array([0, 1, 1]), 0] += scaled(1)
    y[y > 1.0] *= scaled(0)
    return np.sum(y * y)


class Held:
    def __init__(self, a):
        self.a = a

    def renew(self, w):
        self.a = self.a * w
        return 2.0


@example(vector(4), 0.7)
def the_array_that_was_there_before_the_value(x, w):
    h, y = Held(x.copy()), x * 2.0
    z, first = h.a, y

    def other():
        nonlocal y
        y = y * w
        return y[0]

    h.a[1] += h.renew(w)
    h.a += h.renew(w)
    y += other()
    y[1] += other()
    return np.sum(h.a**2) + np.sum(z**3) + np.sum(y * y) + np.sum(first)


@example(vector(3), np.array([200, 3, 0], dtype=np.uint8), np.array([-128, 5, 1], dtype=np.int8), jit=True)
def integers_taken_off(x, small, signed):
    """Unsigned integers, the least signed one and truth values have no negative of their own type."""
    y = x * x
    y -= small
    y[1:] -= small[:2]
    y -= signed
    y[0] -= small[0]
    y -= x > 0.1
    y[:2] -= signed[0] < 0
    return np.sum(y * y)
