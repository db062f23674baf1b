"""Derivatives of incomplete gamma and beta functions by their shape parameters, against mpmath's of forty digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import stgrad

GAMMA = [(a, x) for a in (0.05, 0.5, 1.0, 3.0, 30.0, 1e3) for x in (1e-10, 1e-3, 0.9, 4.0, 28.0, 980.0, 1040.0)]
BETA = [(a, b, x) for a in (0.01, 0.5, 3.0, 500.0) for b in (0.01, 0.5, 60.0) for x in (1e-8, 0.3, 0.9, 0.999)]


def exact(function, *args):
    """The derivative by the first argument."""
    with mpmath.workdps(40):
        return float(mpmath.diff(lambda s: function(s, *args[1:]), args[0], h=mpmath.mpf(10) ** -12))


@pytest.mark.parametrize("jit", [False, True])
def test_gamma(jit):
    lower, upper = stgrad.grad(lambda a, x: sp.gammainc(a, x), jit=jit), stgrad.grad(lambda a, x: sp.gammaincc(a, x), jit=jit)
    for a, x in GAMMA:
        expected = exact(lambda s, x: mpmath.gammainc(s, 0, x, regularized=True), a, x)
        assert np.allclose([lower(a, x), -upper(a, x)], expected, rtol=1e-10, atol=1e-250), (a, x)


@pytest.mark.parametrize("jit", [False, True])
def test_beta(jit):
    by_both = stgrad.grad(lambda a, b, x: sp.betainc(a, b, x), (0, 1), jit=jit)
    for a, b, x in BETA:
        by_a = exact(lambda s, b, x: mpmath.betainc(s, b, 0, x, regularized=True), a, b, x)
        by_b = exact(lambda s, a, x: mpmath.betainc(a, s, 0, x, regularized=True), b, a, x)
        assert np.allclose(by_both(a, b, x), (by_a, by_b), rtol=1e-9, atol=1e-25), (a, b, x)


def student(df, t):
    tail = mpmath.betainc(df / 2, mpmath.mpf(0.5), 0, df / (df + mpmath.mpf(t) ** 2), regularized=True) / 2
    return tail if t < 0 else 1 - tail


@pytest.mark.parametrize("jit", [False, True])
def test_student(jit):
    gradient = stgrad.grad(lambda df, t: sp.stdtr(df, t), jit=jit)
    for df, t in [(df, t) for df in (0.3, 1.0, 4.5, 100.0, 1e4) for t in (-30.0, -1.2, 0.01, 2.5)]:
        assert np.isclose(gradient(df, t), exact(student, df, t), rtol=1e-9, atol=1e-16), (df, t)
    assert gradient(3.0, 0.0) == 0.0


@pytest.mark.parametrize("jit", [False, True])
def test_inverses_undo_it(jit):
    """`f(a, inverse(a, p))` is p whatever a is."""
    for there, back, shapes in (
        (sp.gammainc, sp.gammaincinv, (2.5,)), (sp.gammaincc, sp.gammainccinv, (0.7,)), (sp.betainc, sp.betaincinv, (2.0, 0.6)),
        (sp.betaincc, sp.betainccinv, (0.8, 3.0)), (sp.chdtrc, sp.chdtri, (3.5,)), (sp.stdtr, sp.stdtrit, (3.5,)),
    ):  # fmt: skip
        x = back(*shapes, 0.3)
        wrt = tuple(range(len(shapes)))
        forth = stgrad.grad(lambda *s, f=there: f(*s), (*wrt, len(wrt)), jit=jit)(*shapes, x)
        inverse = stgrad.grad(lambda *s, f=back: f(*s), wrt, jit=jit)(*shapes, 0.3)
        assert np.allclose(np.array(forth[:-1]) + forth[-1] * np.atleast_1d(inverse), 0.0, atol=1e-12)


def test_ends_and_second_derivatives():
    gradient = stgrad.grad(lambda a, x: np.sum(sp.gammainc(a, x)), jit=False)
    assert gradient(2.0, np.array([0.0, np.inf])) == 0.0
    second = stgrad.grad(stgrad.grad(lambda a, x: sp.gammainc(a, x)), jit=False)(2.0, 1.3)
    with mpmath.workdps(40):
        assert np.isclose(second, float(mpmath.diff(lambda s: mpmath.gammainc(s, 0, 1.3, regularized=True), 2.0, 2, h=mpmath.mpf(10) ** -8)), rtol=1e-9)
