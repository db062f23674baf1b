"""Loops: every form of range, nesting, while, jumps, zero trips."""

import math

import numpy as np

from .registry import example, matrix, positive, vector


@example(1.3, 5, jit=True)
def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


@example(1.3, 0)
def zero_trips(x, n):
    y = x
    for _ in range(n):
        y = y * x
    return y * x


@example(vector(7))
def start_stop_step(x):
    s = 0.0
    for i in range(1, len(x), 2):
        s += x[i] * x[i - 1]
    return s


@example(vector(7))
def counts_down(x):
    s = 0.0
    for i in range(len(x) - 1, 0, -1):
        s = s * 0.5 + x[i] * x[i - 1]
    return s


@example(vector(9))
def counts_down_by_three(x):
    s = 1.0
    for i in range(8, -1, -3):
        s = s * x[i]
    return s


@example(vector(6), 4, -2)
def step_is_an_argument(x, start, step):
    s = 1.0
    for i in range(start, 0, step):
        s = s * x[i] + i
    return s


@example(matrix(3, 4), jit=True)
def nested(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += math.sin(a[i, j]) * a[i, 0]
    return s


@example(matrix(4, 4))
def upper_triangle(a):
    n, m = a.shape
    s = 0.0
    for i in range(n):
        for j in range(i + 1, m):
            s += a[i, j] * a[j, i]
    return s


@example(matrix(4, 3))
def triangle_of_trips(a):
    s = 1.0
    for i in range(a.shape[0]):
        t = 0.0
        for j in range(min(i, a.shape[1])):
            t += a[i, j]
        s *= 1.0 + t * t
    return s


@example(2.0, jit=True)
def while_loop(x):
    y = x
    while y < 100.0:
        y = y * y + 0.1 * x
    return y


@example(0.7)
def while_with_array(x):
    v = np.array([x, x * x, 1.0])
    k = 0
    while k < 4 and v[0] < 10.0:
        v = v * v + x
        k += 1
    return np.sum(v)


@example(vector(5))
def while_true_break(x):
    i = 0
    s = 0.0
    while True:
        s += x[i] ** 2
        i += 1
        if i == len(x):
            break
    return s


@example(vector(8), jit=True)
def break_on_value(x):
    s = 0.0
    for v in x:
        if s > 1.5:
            break
        s += v * v
    return s


@example(vector(8))
def continue_on_value(x):
    s = 0.0
    for v in x:
        if v < 0.0:
            continue
        s += v * v * v
    return s


@example(vector(8), 3.0)
def break_inside_two_loops(x, limit):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            if s > limit:
                break
            s += x[i] * x[j] * x[i]
        s = s * 0.9
    return s


@example(positive(6), 2.0)
def return_inside_loop(x, limit):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
        if s > limit:
            return s * x[i]
    return s


@example(positive(6), 200.0)
def loop_else(x, limit):
    s = 0.0
    for v in x:
        s += v * v
        if s > limit:
            break
    else:
        s = s * 2.0
    return s


@example(1.7)
def while_else(x):
    n = 0
    while n < 3:
        x = x * x
        n += 1
    else:
        x = x + 1.0
    return x


@example(vector(4))
def carried_pair(x):
    a, b = 1.0, 1.0
    for v in x:
        a, b = b, a * v + b
    return a * b


@example(vector(5), jit=True)
def rebinds_array(x):
    h = x
    for _ in range(3):
        h = np.tanh(h * x)
    return np.sum(h)


@example(vector(6))
def shrinks(x):
    y = x * 2.0
    s = 0.0
    for _ in range(3):
        y = y[1:] * y[:-1]
        s += np.sum(y)
    return s


@example(vector(6))
def counter_after_loop(x):
    s = 0.0
    i = 0
    for i in range(3):
        s += x[i]
    return s * x[i]


@example(vector(6))
def last_value_after_loop(x):
    y = 0.0
    for v in x:
        y = v * v
    return y


@example(vector(4))
def same_counter_twice(x):
    s = 0.0
    for i in range(4):
        s += x[i] * i
    for i in range(2):
        s *= x[i]
    return s


@example(0.4, 2000, order=1, jit=True)
def long_recurrence(r, n):
    x = 0.3
    for _ in range(n):
        x = 0.5 * math.cos(r * x)
    return x


@example(vector(3))
def while_that_counts_down(x):
    n = len(x)
    s = 1.0
    while n > 0:
        n -= 1
        s = s * x[n] + s
    return s


@example(2.5)
def while_condition_is_active(x):
    y = 0.0
    t = x
    while t > 0.5:
        y += t * t
        t = t * 0.7
    return y


@example(vector(6), 4)
def loop_in_branch(x, n):
    s = x[0]
    if n > 3:
        for i in range(n):
            s = s * x[i]
    else:
        s = s + 1.0
    return s


@example(matrix(3, 3))
def loop_over_rows(a):
    s = 0.0
    for row in a:
        s += np.sum(row) ** 2
    return s


@example(vector(5))
def alternates(x):
    s = 0.0
    sign = 1.0
    for i in range(len(x)):
        s += sign * x[i] ** 2
        sign = -sign
    return s


@example(vector(5))
def conditional_carry(x):
    best = x[0]
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
    return best * best


@example(matrix(4, 4), jit=True)
def starts_computed_in_the_loop(a):
    s = 1.0
    for i in range(a.shape[0]):
        first = 2 * (i // 2)
        for j in range(first, a.shape[1]):
            s = math.sin(s * a[i, j]) + a[j, i]
        for j in range(a.shape[1] - 1, first - 1, -1):
            s = math.cos(s * a[j, i]) * s
    return s


@example(matrix(4, 3), 0.7, order=1, jit=True)
def weighted_neighbours(image, w):
    rows, columns = image.shape
    out = np.zeros_like(image)
    for i in range(rows):
        for j in range(columns):
            total = norm = 0.0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if not (0 <= i + di < rows and 0 <= j + dj < columns):
                        continue
                    weight = math.exp(-((image[i, j] - image[i + di, j + dj]) ** 2) - w * (di * di + dj * dj))
                    total += weight * image[i + di, j + dj]
                    norm += weight
            out[i, j] = total / norm
    return np.sum(out**3)


@example(np.array([0.3, 0.4, 0.9]), 0.7, jit=True)
def never_begun_with_break(x, c):
    for i in reversed(range(0)):
        x[1:] += x[:-1] * x[2]
        if i > 5:
            break
    return c * np.sum(x)


@example(np.array([0.3, 0.4]), np.array([[0.1, 0.2]]), jit=True)
def new_axis_in_every_trip(y, a):
    s = 0.0
    for i in range(a.shape[0]):
        v = y[None]
        a[i] = a[i] * v[0]
        s += a[i, 0]
    return s


@example(np.array([0.9]), np.array([-0.2, 0.3, 0.5]), jit=True)
def longer_behind_the_loop(x, y):
    z = np.cos(y[1:])
    for _ in range(3):
        z = y
    return np.sum(z) * x[0]


@example(np.array([0.9]), np.array([-0.2, 0.3, 0.5]))
def arrays_of_two_lengths_that_change_places(x, y):
    a, b = y[1:], y
    for _ in range(3):
        a, b = b, a
    c = a * 2.0
    d = b * x[0]
    return np.sum(c) + np.sum(d * d)


@example(np.array([0.9]), np.array([-0.2, 0.3, 0.5]))
def length_of_before_the_loop(x, y):
    z = y[1:] * 2.0
    n = z.shape[0]
    k = 0
    while k < 2:
        z = y
        k += 1
    o = np.ones(n) * x[0]
    p = np.ones(z.shape[0]) * x[0]
    return np.sum(z) * np.sum(o) + np.sum(p * z)


@example(vector(4), vector(4, 1), 2, jit=True)
def arrays_kept_by_a_loop_that_never_runs(x, y, n):
    c = 1.0
    for i in range(n):
        c *= x[n] ** 2
        x[2:] = x[2:] - x[:2] * y[i]
        j = -1
        while j < -1:
            j += 1
            if i == n // 3:
                x = np.sin(x[::-1])
    return c
