"""Integers that are known while a function is read: bits, truth values that are counted, and more places than a name may stand for."""

import math

import pytest

from stgrad import testing

LAYERS = [0.0, 1.0, 2.0, 3.0, 4.5, 5.0, 6.0, 7.0, 8.5, 9.0, 10.0]


def clenshaw(odd, s, c):
    """Every other coefficient, from last to first, with counters that are changed in place."""
    k = len(c)
    n = k - odd
    a, y1 = 2 * (c[1] - s) * (c[1] + s), 0
    if n & 1:
        k -= 1
        y0 = c[k]
    else:
        y0 = 0
    n = n // 2
    while n:
        n -= 1
        k -= 1
        y1 = a * y0 - y1 + c[k]
        k -= 1
        y0 = a * y1 - y0 + c[k]
    return s * y0 if odd else y0 - y1


def series(x):
    c = [0.0] * 7
    for k in range(1, 7):
        c[k] = x**k / k
    return clenshaw(True, math.sin(x), c) + clenshaw(False, math.cos(x), c)


def layer_of(height):
    for k, bottom in enumerate(LAYERS):
        if bottom > height:
            return k - 1
    return len(LAYERS) - 1


def atmosphere(x):
    k = layer_of(x)
    return LAYERS[k] * x + (x - LAYERS[k]) ** 2 * k


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize(("function", "x"), [(series, 0.3), (atmosphere, 6.4), (atmosphere, 2.3)])
def test_are_followed(function, x, jit):
    testing.check_gradient(function, (x,), order=2, jit=jit)
