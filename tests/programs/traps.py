"""What went wrong elsewhere: programs that other differentiators get wrong, crash on or refuse."""

import numpy as np

from .registry import example, matrix, vector


@example(3.0)
def two_to_the_x(x):
    return 2.0**x


@example(vector(3), 1.7)
def array_over_scalar(x, y):
    return np.sum(x / y)


@example(np.array([1.0, 2.0, 3.0]))
def overwritten_after_use(x):
    y = x * x
    y[0] = 0.0
    return np.sum(y)


@example(matrix(2, 3))
def transpose_with_axes(x):
    return np.sum(np.transpose(x, (1, 0))[1:] ** 2)


@example(vector(3))
def times_zero_plus(x):
    return np.sum(x * 0 + x)


@example(matrix(3, 3))
def pairs_over_upper_triangle(p):
    s = 0.0
    n, dims = np.shape(p)
    for i in range(n):
        for j in range(i + 1, n):
            d = 0.0
            for k in range(dims):
                d += (p[i, k] - p[j, k]) ** 2
            s += 1.0 / np.sqrt(d)
    return s


@example(vector(4))
def enumerates(x):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v * v
    return s


@example(matrix(4, 4))
def two_dimensional_slice(a):
    return np.sum(a[1:, :2] * a[:-1, 2:])


@example(matrix(3, 3), vector(3), 1.0)
def diagonal_under_an_if(s, d, c):
    s = s * 1.0
    if c > 0:
        for i in range(3):
            s[i, i] += d[i]
    return np.sum(s * s)


@example(vector(6))
def continue_with_state(x):
    s = 0.0
    for i in range(6):
        if i % 2 == 0:
            continue
        s = s * x[i] + x[i]
    return s


@example(vector(4))
def read_before_a_dynamic_loop(x):
    y = x * x
    t = y[0] * y[1]
    for i in range(len(x)):
        y[i] = t * x[i]
        t = t + y[i]
    return t * np.sum(y)


@example(vector(4))
def overwritten_after_being_read(x):
    a = np.zeros(4)
    s = 0.0
    for i in range(4):
        a[0] = x[i] * x[i]
        s += a[0] * a[0]
    return s


@example(np.array([2.0, 0.0, 3.0]))
def product_with_a_zero_factor(x):
    return np.prod(x) + np.sum(x)


@example(vector(3))
def prints_once(x):
    y = x * x
    if np.sum(y) < 0.0:
        print("negative", y[0])
    return np.sum(y)


@example(vector(5), order=1)
def temporary_names_like_ours(x_bar):
    t = x_bar * 2.0
    _t = t * x_bar
    y_stack = _t + t
    i_2 = 0.0
    for i in range(len(x_bar)):
        i_2 += y_stack[i] * t[i]
    return i_2


def _four_hundred():
    lines = ["def four_hundred_assignments(x):", "    y = x"]
    lines += [f"    y = y * {1 + k % 3 * 0.01} + {0.001 * k}" for k in range(400)]
    return "\n".join([*lines, "    return y", ""])


FOUR_HUNDRED = _four_hundred()
