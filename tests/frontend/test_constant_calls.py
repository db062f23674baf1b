"""Calls of NumPy's and SciPy's code with constants, which are run where they cannot be read."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import interpolate, linalg, signal, special

import stgrad
from stgrad import errors

X = np.array([0.3, 1.2, -0.7, 2.1, 0.9])
ORDER = 4


def nodes(x):
    t, w = special.roots_hermite(ORDER)
    t[0] = t[0] * 1.0  # they are the program's own
    return np.sum(w * np.exp(x[0] * t))


def many_nodes(x):
    total = 0.0
    for n in (2, 3, 5):
        t, w = special.roots_legendre(n)
        total += np.sum(w * np.sin(x[1] * t + 1.0))
    return total


def sections(x):
    sos = signal.butter(ORDER, 0.2, output="sos")
    return np.sum(sos[0] * x[0]) + np.sum(sos * x[1]) ** 2


def inside_a_helper(x):
    return np.sum(weights(5) * x)


def weights(n):
    return special.roots_chebyt(n)[1] + linalg.hilbert(n)[0]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [nodes, many_nodes, sections, inside_a_helper], ids=lambda f: f.__name__)
def test_values_and_slopes(f, jit) -> None:
    value, slope = stgrad.value_and_grad(f, jit=jit)(X)
    assert np.isclose(value, f(X))
    assert np.allclose(slope, [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(5)], atol=1e-7)


def test_a_constant_that_changes_is_read_again(monkeypatch) -> None:
    gradient = stgrad.value_and_grad(nodes, jit=False)
    before = gradient(X)[0]
    monkeypatch.setitem(nodes.__globals__, "ORDER", 7)
    assert np.isclose(gradient(X)[0], nodes(X), rtol=1e-12)
    assert gradient(X)[0] != before


def test_what_a_number_of_the_program_decides_is_refused() -> None:
    def f(x):
        return special.roots_hermite(int(x[3]))[0][0] * x[0]

    with pytest.raises(errors.StgradError):
        stgrad.grad(f, jit=True)(X)


def test_exceptions_are_those_of_the_call() -> None:
    def f(x):
        return special.roots_hermite(0)[0][0] * x[0]

    with pytest.raises(ValueError, match="n must be a positive integer"):
        stgrad.grad(f, jit=False)(X)


def test_results_that_are_objects_are_read() -> None:
    def f(x):
        return interpolate.BSpline.basis_element([0, 1, 2, 3])(1.5) * x[0]

    assert np.isclose(stgrad.grad(f, jit=False)(X)[0], float(interpolate.BSpline.basis_element([0, 1, 2, 3])(1.5)))
