"""The cosine beside a sine is its derivative: the reverse sweep reads it, wherever it stands in its block."""

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def together(x, w):
    s, a = 0.0, 0.0
    for i in range(len(w)):
        a = a + w[i] * x
        c = np.cos(a)
        t = np.sin(a)
        s += c * w[i] + t * s * 0.1
    return s


def apart(x, w):
    s, a = 0.0, 0.3
    for i in range(len(w)):
        s += np.cos(a) * w[i]
        a = a + w[i] * x * np.sin(a)
        s = s * np.sin(a)
    return s


def rebound(x, w):
    s, c = x, 0.1
    for i in range(len(w)):
        b = s * w[i]
        c = np.cos(b)
        s = s + c * c
        c = c * w[i]
        t = np.sin(b)
        b = b + t
        c = c + np.cos(b) * t
        s = s + c * np.sin(b)
    return s * c


def in_branches(x, w):
    s = x
    for i in range(len(w)):
        c = np.cosh(s * 0.3)
        if w[i] > 0.4:
            t = np.sinh(s * 0.3)
            s = 0.5 * t + c * w[i]
        else:
            s = c - math.sin(s) * math.cos(s)
            s = s * np.sin(s) * np.cos(s)
    return s


W = np.linspace(0.1, 1.0, 5)


@pytest.mark.parametrize("f", [together, apart, rebound, in_branches])
def test_functions_that_are_derivatives_of_one_another(f):
    check_gradient(f, (0.3, W))


def test_nothing_is_computed_twice():
    code = "".join(line.split("#")[0] for line in stgrad.grad(together).lowered(0.3, W).splitlines())
    assert code.count("np.cos(") == code.count("np.sin(") == 1
