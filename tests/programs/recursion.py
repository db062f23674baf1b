"""Recursion as deep as the arguments say: functions that call themselves and each other."""

import math

import numpy as np

from .registry import example, matrix, positive

V = positive(5)


@example(matrix(3, 3), jit=True)
def determinant_by_minors(m):
    n = m.shape[0]
    if n == 1:
        return m[0, 0]
    total, sign = 0.0, 1.0
    for j in range(n):
        minor = np.concatenate((m[1:, :j], m[1:, j + 1 :]), axis=1)
        total += sign * m[0, j] * determinant_by_minors(minor)
        sign = -sign
    return total


@example(-0.4, jit=True)
def by_symmetry(x):
    if x < 0:
        return 1.0 - by_symmetry(-x)
    return 1.0 - 0.5 * math.exp(-x * x / 2) * (1.0 + 0.3 * x)


def simpson(a, b, k, tol):
    m = 0.5 * (a + b)
    fa, fm, fb = math.sin(k * a), math.sin(k * m), math.sin(k * b)
    whole = (b - a) / 6.0 * (fa + 4.0 * fm + fb)
    left = (m - a) / 6.0 * (fa + 4.0 * math.sin(k * 0.5 * (a + m)) + fm)
    right = (b - m) / 6.0 * (fm + 4.0 * math.sin(k * 0.5 * (m + b)) + fb)
    if abs(left + right - whole) < tol:
        return left + right
    return simpson(a, m, k, tol / 2) + simpson(m, b, k, tol / 2)


@example(3.0)
def adaptive_quadrature(k):
    return simpson(0.0, 2.0, k, 1e-3)


def even(x, n):
    return x if n <= 0 else odd(x * x * 0.9, n - 1.0)


def odd(x, n):
    return 1.0 if n <= 0 else math.sin(even(x + 0.1, n - 1.0))


@example(0.7, jit=True)
def one_calls_the_other(x):
    return even(x, 5.5)


@example(V)
def walk_of_a_tree(x):
    def walk(i):
        if i >= len(x):
            return 0.0
        return x[i] * x[0] + math.tanh(walk(2 * i + 1)) * walk(2 * i + 2)

    return walk(0)


def ordered(x):
    if len(x) <= 1:
        return x
    rest = x[1:]
    return np.concatenate((ordered(rest[rest < x[0]]), x[:1], ordered(rest[rest >= x[0]])))


@example(V)
def quicksort(x):
    return np.sum(ordered(x) * np.arange(1.0, 6.0) ** 2)


def coupled(x, n):
    if n <= 0:
        return x, 2.0 * x
    a, b = coupled(x * 0.9, n - 1.0)
    return a * b, a + math.sin(b)


@example(0.7)
def two_results(x):
    a, b = coupled(x, 3.0)
    return a * b


@example(0.7)
def a_function_as_argument(x):
    def integral(f, a, b):
        if b - a < 0.3:
            return (b - a) * f(0.5 * (a + b))
        return integral(f, a, 0.5 * (a + b)) + integral(f, 0.5 * (a + b), b)

    return integral(lambda t: math.sin(x * t) * x, 0.0, 1.0 + x)


@example(0.0, 1.0, 2.0)
def adaptive_quadrature(a, b, p):
    """What each call calls besides itself does not stand for the recursion."""
    f = lambda t: math.exp(-p * t * t)  # noqa: E731

    def refined(a, b, tol, whole):
        c = 0.5 * (a + b)
        left = (c - a) / 6.0 * (f(a) + 4.0 * f(0.5 * (a + c)) + f(c))
        right = (b - c) / 6.0 * (f(c) + 4.0 * f(0.5 * (c + b)) + f(b))
        if abs(left + right - whole) < 15.0 * tol:
            return left + right + (left + right - whole) / 15.0
        return refined(a, c, 0.5 * tol, left) + refined(c, b, 0.5 * tol, right)

    return refined(a, b, 1e-7, (b - a) / 6.0 * (f(a) + 4.0 * f(0.5 * (a + b)) + f(b)))


@example(0.7)
def a_lambda_that_recurs(x):
    power = lambda n: x if n < 1.0 else math.sin(x * power(n - 1.0))  # noqa: E731
    return power(4.0 * x)
