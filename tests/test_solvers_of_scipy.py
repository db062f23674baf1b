"""`minimize_scalar`, `curve_fit`, `leastsq`, `nnls` and `lsq_linear` of SciPy: its results, and their derivatives by the equations that hold there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize

import stgrad
from stgrad import curves, scalar_minima

JIT = pytest.mark.parametrize("jit", [True, False])
T = np.linspace(0.0, 4.0, 15)
NOISE = np.random.default_rng(1).normal(size=15)
W = np.arange(1.0, 6.0)


def dent(x, a):
    return (x - a) ** 2 * (1.0 + 0.3 * np.sin(x)) + 0.1 * x


def far(x, a):
    return (x - 50.0 * a) ** 4 / 1e3 + (x - 50.0 * a) ** 2


def decay(t, a, b, c):
    return a * np.exp(-b * t) + c


def bell(t, h, m, s):
    return h * np.exp(-(((t - m) / s) ** 2))


def differences(f, a, move=1.0, h=1e-3):
    return (8.0 * (f(a + h * move) - f(a - h * move)) - (f(a + 2 * h * move) - f(a - 2 * h * move))) / (12.0 * h)


# ------------------------------------------------------------------ minima along a line


@pytest.mark.parametrize("options", [{}, {"bracket": (0.5, 2.0)}, {"tol": 1e-10}, {"bounds": (-7.0, 200.0)}], ids=str)
@pytest.mark.parametrize("a", [0.7, -0.1, 3.1])
@pytest.mark.parametrize("f", [dent, far], ids=lambda f: f.__name__)
def test_the_minimum_is_that_of_scipy(f, a, options):
    found, wanted = (m(f, args=(a,), **options) for m in (scalar_minima.minimize_scalar, optimize.minimize_scalar))
    assert (found.x, found.fun, found.nit) == (wanted.x, wanted.fun, wanted.nit)


def free(a):
    found = optimize.minimize_scalar(dent, args=(a,), tol=1e-10)
    return found.x * a + found["fun"]


def bounded(a):
    return optimize.fminbound(dent, -4.0, 5.0 * a, args=(a,), xtol=1e-9) ** 2


def bracketed(a):
    return optimize.brent(lambda x: np.cosh(x - a) + 0.2 * a * x, brack=(-1.0, 0.1, 3.0))


@JIT
@pytest.mark.parametrize("f", [free, bounded, bracketed], ids=lambda f: f.__name__)
def test_derivatives_of_minima(f, jit):
    want = differences(f, 0.7, h=1e-2)
    assert stgrad.grad(f, jit=jit)(0.7) == pytest.approx(want, rel=1e-5)
    assert stgrad.jvp(f, (0.7,), (2.0,), jit=jit)[1] == pytest.approx(2.0 * want, rel=1e-5)


def test_second_derivatives_of_minima():
    second = stgrad.grad(stgrad.grad(bracketed))(0.7)
    assert second == pytest.approx(differences(stgrad.grad(bracketed), 0.7), rel=1e-4)


@JIT
def test_a_minimum_at_a_bound_or_a_kink(jit):
    at_bound = stgrad.value_and_grad(lambda a: optimize.minimize_scalar(lambda x: (x - a) ** 2, bounds=(-1.0, 0.1)).x, jit=jit)
    at_kink = stgrad.value_and_grad(lambda a: optimize.minimize_scalar(lambda x: abs(x - a) + a * x**2).x, jit=jit)
    for f in (at_bound, at_kink):
        with pytest.raises(RuntimeError, match="bound or a kink"):
            f(0.4)


# ------------------------------------------------------------------ curves


CURVES = [(decay, (2.5, 1.3, 0.5), None), (bell, (2.0, 1.8, 0.7), (1.0, 1.0, 1.0)), (bell, (2.0, 1.8, 0.7), (3.0, 3.0, 3.0))]


@pytest.mark.parametrize("options", [{}, {"sigma": 0.1 + T, "absolute_sigma": True}, {"sigma": np.diag(0.1 + T) + 0.01}], ids=["alike", "apart", "tied"])
@pytest.mark.parametrize(("f", "p", "start"), CURVES)
def test_the_curve_is_that_of_scipy(f, p, start, options):
    y = f(T, *p) + 0.05 * NOISE
    found, wanted = (m(f, T, y, start, **options) for m in (curves.curve_fit, optimize.curve_fit))
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-3, atol=1e-6)


def fitted(y):
    p, spread = optimize.curve_fit(decay, T, y, ftol=1e-14, xtol=1e-14)
    return p[0] * p[1] + np.sum(np.sqrt(np.diag(spread)))


def weighed(y):
    p, _ = optimize.curve_fit(lambda t, *p: p[0] * np.exp(-p[1] * t), T, y, p0=[1.0, 0.5], sigma=0.1 + y[0] ** 2 + T, ftol=1e-14, xtol=1e-14)
    return np.sum(p**2)


def least(y):
    return np.sum(optimize.leastsq(lambda p, y: p[0] * np.exp(-p[1] * T) - y, np.ones(2), args=(y,), ftol=1e-14, xtol=1e-14)[0])


@JIT
@pytest.mark.parametrize("f", [fitted, weighed, least], ids=lambda f: f.__name__)
def test_derivatives_of_curves(f, jit):
    y = decay(T, 2.5, 1.3, 0.5) + 0.05 * NOISE
    move = np.cos(np.arange(15.0))
    assert stgrad.grad(f, jit=jit)(y) @ move == pytest.approx(differences(f, y, move), rel=1e-4)


# ------------------------------------------------------------------ linear fits


def not_negative(m):
    x, left = optimize.nnls(m[:, :5], m[:, 5])
    return np.sum(W * x**2) + left


def between(m):
    found = optimize.lsq_linear(m[:, :5], m[:, 5], ([-np.inf] * 5, 0.3 * m[:5, 5] ** 2), method="bvls")
    return np.sum(W * found.x) + found.cost


def without_bounds(m):
    return np.sum(W * optimize.lsq_linear(m[:, :5], m[:, 5]).x)


@JIT
@pytest.mark.parametrize("f", [not_negative, between, without_bounds], ids=lambda f: f.__name__)
def test_linear_fits(f, jit):
    rng = np.random.default_rng(3)
    m, move = rng.normal(size=(8, 6)), rng.normal(size=(8, 6))
    value, gradient = stgrad.value_and_grad(f, jit=jit)(m)
    assert value == pytest.approx(f(m), rel=1e-12)
    assert np.sum(gradient * move) == pytest.approx(differences(f, m, move, 1e-4), rel=1e-6)
    second = stgrad.jvp(stgrad.grad(f, jit=jit), (m,), (move,))[1]
    np.testing.assert_allclose(second, differences(stgrad.grad(f), m, move, 1e-4), rtol=1e-5, atol=1e-7)


def test_refused():
    y = decay(T, 2.5, 1.3, 0.5)
    for call, text in (
        (lambda y: optimize.curve_fit(decay, T, y, bounds=(0.0, 3.0))[0][0], "bounds"),
        (lambda y: optimize.curve_fit(decay, T, y, method="dogbox")[0][0], "methods other than"),
        (lambda y: optimize.minimize_scalar(lambda x: (x - y[0]) ** 2, method="golden").x, "methods other than"),
        (lambda y: optimize.lsq_linear(np.eye(15), y, lsq_solver="lsmr").x[0], "lsq_solver"),
    ):
        with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match=text):
            stgrad.grad(call, jit=True)(y)


@pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
def test_a_search_that_fails_raises_where_its_derivative_is_zero(jit):
    """At the kink the minimum is a, whatever else: nothing of the derivative reads what the search found."""

    def at_a_kink(a):
        return 2.0 * optimize.minimize_scalar(lambda x: abs(x - a) + 0.1 * x * x).x

    def searched(a):
        return optimize.minimize(lambda x: abs(x[0] - a) + 0.1 * x[0] ** 2, np.array([0.0])).x[0]

    for f in (at_a_kink, searched):
        with pytest.raises(RuntimeError, match="minimum"):
            stgrad.grad(f, jit=jit)(1.0)


# ------------------------------------------------------------------ roots within a bracket


def waves(u, r):
    """Several roots in the bracket: each method finds one of its own."""
    return np.sin(5.0 * u) * np.exp(-0.1 * u) - 0.3 * r


WITHIN = {
    "brentq": lambda a: optimize.brentq(waves, 0.3, 3.3, args=a),
    "brenth": lambda a: optimize.brenth(waves, 0.3, 3.3, args=(a,)),
    "bisect": lambda a: optimize.bisect(waves, a=0.3, b=3.3, args=a),
    "ridder": lambda a: optimize.ridder(waves, 0.3, 3.3, args=a),
    "root_scalar": lambda a: sum(optimize.root_scalar(waves, bracket=(0.3, 3.3), args=a, method=m).root for m in ("brenth", "ridder", "bisect", "brentq")),
    "quad": lambda a: integrate.quad(lambda u, r: u * r**2, 0.0, 1.0, args=a)[0],
}


def told(a):
    root, result = optimize.brentq(waves, 0.3, 3.3, args=(a,), full_output=True)
    return root * result.root if result.converged else 0.0


@JIT
@pytest.mark.parametrize("name", [*WITHIN, "told"])
def test_roots_within_a_bracket(name, jit):
    f = told if name == "told" else WITHIN[name]
    for a in (0.7, 0.2):
        value, slope = stgrad.value_and_grad(f, jit=jit)(a)
        assert value == pytest.approx(f(a), rel=1e-11)
        assert slope == pytest.approx(differences(f, a), rel=1e-7)
        assert stgrad.grad(stgrad.grad(f, jit=jit), jit=jit)(a) == pytest.approx(differences(stgrad.grad(f, jit=jit), a), rel=1e-6)


def test_ends_without_a_change_of_sign():
    with pytest.raises(ValueError, match="different signs"):
        stgrad.grad(lambda a: optimize.ridder(waves, 0.3, 0.31, args=a))(0.1)
