"""Branches: if, elif, conditional expressions, short circuits, early returns, names of one branch."""

import math

import numpy as np

from .registry import example, positive, vector


@example(1.5, jit=True)
def relu_of_square(x):
    if x > 0.0:
        y = x * x
    else:
        y = 0.0
    return y


@example(-1.5)
def three_ways(x):
    if x > 1.0:
        y = x * x
    elif x > -1.0:
        y = x
    else:
        y = x * x * x
    return y * 2.0


@example(0.5, 1.5)
def conditional_expression(x, y):
    z = x * y if x > y else x + y * y
    return z * z


@example(0.5, 1.5)
def nested_conditional_expression(x, y):
    return x if x > 2.0 else y * x if y > 1.0 else y


@example(0.5, 1.5)
def and_or_not(x, y):
    s = 0.0
    if x > 0.0 and y > 1.0:
        s += x * y
    if x > 1.0 or not y > 2.0:
        s += x * x
    return s


@example(0.7)
def chained_comparison(x):
    if 0.0 < x < 1.0 <= 2.0:
        return x**3
    return x


@example(1.2, 3)
def early_return(x, n):
    if n == 0:
        return 1.0
    if n < 5:
        return x**n
    return x


@example(vector(4), True)
def flag(x, square):
    if square:
        x = x * x
    return np.sum(x)


@example(vector(4), "mean")
def mode_string(x, mode):
    if mode == "sum":
        return np.sum(x * x)
    elif mode == "mean":
        return np.mean(x * x)
    return x[0]


@example(1.5, 2.0)
def variable_in_one_branch(x, y):
    if x > 1.0:
        t = x * y
    if x > 1.0:
        return t * t
    return x


@example(vector(4), 1.0, jit=True)
def array_in_branches(x, c):
    if c > 0.0:
        y = x * c
    else:
        y = np.exp(x)
    return np.sum(y * x)


@example(vector(4), 1.0)
def stores_in_a_branch(x, c):
    y = x * 2.0
    if c > 0.0:
        y[0] = c * c
        y[1:] *= x[:-1]
    return np.sum(y * y)


@example(vector(4), 1.0)
def alias_or_fresh(x, c):
    y = x if c > 0 else x * 2.0
    y[0] = c
    return np.sum(y * x)


@example(vector(4), -1.0)
def alias_or_fresh_other_way(x, c):
    y = x if c > 0 else x * 2.0
    y[0] = c
    return np.sum(y * x)


@example(vector(6))
def branch_in_loop(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += x[i] ** 2
        else:
            s *= 1.0 - x[i]
    return s


@example(vector(6))
def branch_on_index(x):
    s = 1.0
    for i in range(len(x)):
        if i % 2 == 0:
            s = s * x[i]
        elif i == 3:
            continue
        else:
            s = s + x[i]
    return s


@example(0.3, None)
def none_argument(x, y=None):
    if y is None:
        y = x * x
    return x * y


@example(positive(3))
def scalar_math_in_branches(x):
    a, b, c = x[0], x[1], x[2]
    if a > b:
        a, b = b, a
    return math.sqrt(a) * b + math.log(c) * a


@example(0.5)
def walrus(x):
    if (y := x * x) < 1.0:
        return y * x
    return y


@example(0.4)
def both_branches_nothing(x):
    if x > 2.0:
        pass
    return x * x


@example(1.3)
def nested_ifs(x):
    y = x
    if x > 1.0:
        y = y * x
        if y > 1.5:
            y = y * x
            if y > 100.0:
                y = 0.0
        else:
            y = -y
    return y


@example(1.3)
def match_free_abs(x):
    return abs(x - 2.0) * max(x, 0.5) + min(x, 3.0)


@example(vector(5))
def where_and_masks(x):
    y = np.where(x > 0, x * x, -x)
    return np.sum(y * x)


@example(0.5, 2.0)
def asserts(x, y):
    assert y > 0.0, "y must be positive"
    if y < 0.0:
        raise ValueError("negative")
    return x / y


@example(vector(3), jit=True)
def loop_that_nothing_comes_to(x):
    s = 1.0
    k = 0
    while True:
        if k >= 2:
            break
        k += 1
        s = s * x[k]
    else:
        for v in x:
            s = s + v
    while True:
        s = s * 0.5
        if s < 0.1:
            return s * s
    for v in x:
        s = s + v
    return s


@example(0.5)
def masks_of_one_number(x):
    """`~` of what NumPy compares is a mask, whatever holds it."""
    number = np.asarray(x, float)
    w = np.full_like(number, np.nan)
    small = number <= 100.0
    logs = np.log(number[~small])
    w[~small] = logs + np.log(logs)
    if np.any(small):
        z = number[small]
        g = np.log1p(z)
        for _ in range(2):
            g = g - (g * np.exp(g) - z) / (np.exp(g) * (g + 1.0))
        w[small] = g
    return w * x
