"""`cmath` of real and complex numbers, and what is real or complex by path, against differences."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.errors import RunsPlainlyWarning

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


# ------------------------------------------------------------------ np.emath


def logarithms(x):
    em = np.emath
    return np.sum(em.log(x) * em.sqrt(x)) + em.log2(x[0]) * em.log10([x[1], x[0]])[1] + em.logn(2.0, x[1]) + np.sum(np.abs(em.sqrt(x - 0.5j)))


def powers(x):
    return np.sum(np.emath.power(x, 2.5)) + np.emath.power(x[0], x[1]) + np.sum(np.emath.arccos(x) + np.emath.arcsin(x) * np.emath.arctanh(x))


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
@pytest.mark.parametrize("f", [logarithms, powers])
def test_of_real_numbers(f, jit):
    check_gradient(f, (np.array([0.3, 0.9, 0.4]),), jit=jit)


@pytest.mark.parametrize("name", ["sqrt", "log", "arccos", "power"])
def test_real_numbers_with_a_complex_result(name, monkeypatch):
    """Compiled code refuses them by their values, a recorded run follows them."""
    function = getattr(np.emath, name)

    def f(x):
        return np.sum(np.abs(function(x, 0.7) if name == "power" else function(x)))

    x = np.array([0.3, -1.9, 2.4])
    with pytest.raises(stgrad.errors.TypeInferenceError, match="complex for these real arguments"):
        stgrad.grad(f, jit=True)(x)
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    with pytest.warns(RunsPlainlyWarning):
        found = stgrad.grad(f)(x)
    np.testing.assert_allclose(found, [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)], rtol=1e-6)


def masked(x):
    """The quotient of zero is left out, and its derivative, too, is as NumPy's."""
    return np.sum(np.where(x == 0.0, 0.0, np.abs((1.0 + 2.0j) / (x + 0.0j)))) + np.angle(x[2] + 0.5j * x[0])


def quotient(x):
    return abs(np.true_divide(x + 1.0j, x[::-1] * 1.0j)[0])


@pytest.mark.parametrize("f", [masked, quotient], ids=lambda f: f.__name__)
def test_compiled_quotients_of_zero_are_those_of_numpy(f):
    x = np.array([1.0, 2.0, 0.0])
    with np.errstate(all="ignore"):
        value, gradient = stgrad.value_and_grad(f, jit=False)(x)
        compiled = stgrad.value_and_grad(f, jit=True)(x)
        assert value == f(x)
    np.testing.assert_allclose(compiled[0], value, rtol=1e-14)
    np.testing.assert_allclose(compiled[1], gradient, rtol=1e-14)


@pytest.mark.parametrize("jit", [False, True])
def test_quotients_of_pythons_complex_numbers_raise(jit):
    with pytest.raises(ZeroDivisionError, match="complex division by zero"):
        stgrad.grad(lambda x: abs(complex(x[0], 1.0) / complex(x[1], 0.0)), jit=jit)(np.array([1.0, 0.0]))
