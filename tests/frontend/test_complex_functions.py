"""`cmath` of real and complex numbers, and what is real or complex by path, against differences."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

FUNCTIONS = "exp sqrt sin cos tan sinh cosh tanh log log10 asin acos atan asinh acosh atanh".split()


def polar(a):
    r, phi = cmath.polar(a + 1j)
    return r * phi + cmath.rect(a, a * a).imag + cmath.phase(a - 2j) + cmath.log(a, 3.0).real


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_complex(name):
    function = getattr(cmath, name)

    def f(a):
        y = function(a + 0.3j)
        return y.real + 2.0 * y.imag

    check_gradient(f, (0.6,), jit=False)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
def test_of_parts(jit):
    check_gradient(polar, (0.6,), order=1 if jit else 2, jit=jit)


# ------------------------------------------------------------------ real or complex, as the running program tells


def halves(x):
    z = x * 1j if x[0] > 0.0 else x
    parts = [z[:1], z[1:]]
    return np.sum(np.abs(np.concatenate(parts)) ** 2)


def given_back(x):
    """One of two in what is returned, where it is an argument."""

    def parts(z):
        return (z.real, x) if np.all(z.imag == 0.0) else (z, x)

    return np.sum(np.abs(np.concatenate(parts(x * (1j if x[1] > 0.0 else 1.0)))) ** 2)


def stored(x):
    z = x * 1j if x[0] > 0.0 else x
    y = np.zeros(6, dtype=complex)
    y[:3] = z
    y[3:] = z + 1.0
    return np.sum(np.abs(y) ** 2)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [halves, given_back, stored], ids=lambda f: f.__name__)
def test_real_or_complex_by_path(f, jit):
    for x in (np.array([0.3, 0.5, 0.2]), np.array([-0.3, -0.5, 0.2])):
        want = [(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x), want, rtol=1e-6)
