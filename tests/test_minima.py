"""SciPy's `minimize`, `least_squares` and `root_scalar` where they stand in a program: SciPy's values, and derivatives by the equation that holds there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import stgrad
from stgrad import errors, fits, minima

JIT = pytest.mark.parametrize("jit", [True, False])
T = np.linspace(0.0, 2.0, 8)


def valley(x, a):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


def waves(x, a):
    return np.sum((x - a) ** 4 / 4.0 + (x - a * a) ** 2) + np.sin(3.0 * x[0])


def far(x, a):
    return np.log(np.cosh(x[0] - a)) + np.exp(0.1 * x[0])


def decay(p, a):
    return p[0] * np.exp(-p[1] * T) + p[2] - 2.0 * np.exp(-a * T) - 0.1 * np.sin(9.0 * T)


def banana(x, a):
    return np.array([10.0 * (x[1] - x[0] ** 2), a - x[0], 0.1 * x[0] * x[1]])


MINIMA: list[tuple[Any, Any, float]] = [(valley, np.zeros(3), 1.1), (waves, np.array([3.0, -2.0]), 0.7), (far, [20.0], 0.3)]
FITS: list[tuple[Any, Any, float]] = [(decay, np.array([1.0, 0.1, 0.0]), 1.3), (banana, [-1.2, 1.0], 1.0)]
TIGHT = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}


def named(value: Any) -> str:
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("function", "start", "a"), MINIMA, ids=named)
def test_the_iteration_is_that_of_scipy(function, start, a):
    slope = stgrad.grad(function, jit=False)
    found, wanted = (m(function, start, (a,), jac=slope) for m in (minima.minimize, optimize.minimize))
    np.testing.assert_allclose(found.x, wanted.x, rtol=1e-9, atol=1e-12)
    assert found.nit == wanted.nit


@pytest.mark.parametrize(("function", "start", "a"), FITS, ids=named)
def test_the_fit_is_that_of_scipy(function, start, a):
    slope = stgrad.jacfwd(function, jit=False)
    found, wanted = (m(function, start, slope, args=(a,)) for m in (fits.least_squares, optimize.least_squares))
    np.testing.assert_allclose(found.x, wanted.x, rtol=1e-9)
    assert found.nfev == wanted.nfev
    np.testing.assert_allclose([found.cost], wanted.cost)
    np.testing.assert_allclose(found.grad, wanted.grad, atol=1e-12)


def differences(f: Any, a: float, h: float = 1e-2) -> float:
    return (8.0 * (f(a + h) - f(a - h)) - (f(a + 2 * h) - f(a - 2 * h))) / (12.0 * h)


@JIT
@pytest.mark.parametrize(("function", "start", "a"), MINIMA, ids=named)
def test_minima(function, start, a, jit):
    def solved(a):
        found = optimize.minimize(function, start, args=(a,), options={"gtol": 1e-7})
        return np.sum(np.sin(found.x)) * a + found.fun

    def exactly(a):
        return minima.minimize(function, start, (a,), tol=1e-7, jac=stgrad.grad(function, jit=False))

    want = differences(lambda a: np.sum(np.sin(exactly(a).x)) * a + exactly(a).fun, a)
    assert stgrad.grad(solved, jit=jit)(a) == pytest.approx(want, rel=1e-5)
    assert stgrad.jvp(solved, (a,), (2.0,), jit=jit)[1] == pytest.approx(2.0 * want, rel=1e-5)


@JIT
@pytest.mark.parametrize(("function", "start", "a"), FITS, ids=named)
def test_fits(function, start, a, jit):
    def fit(a):
        return np.sum(np.sin(optimize.least_squares(function, start, args=(a,), **TIGHT).x))

    slope = stgrad.jacfwd(function, jit=False)
    want = differences(lambda a: np.sum(np.sin(optimize.least_squares(function, start, slope, args=(a,), **TIGHT).x)), a)
    assert stgrad.grad(fit, jit=jit)(a) == pytest.approx(want, rel=1e-5)


def test_second_derivatives_and_several_parameters():
    def solved(p):
        return optimize.minimize(lambda x: np.sum(np.cosh(x - p)) + np.sum(p * x**2), np.zeros(2), tol=1e-7)["x"][0]

    p, h = np.array([0.7, 1.2]), 2e-3
    found = stgrad.grad(stgrad.grad(lambda t: solved(np.array([t, 1.2])), jit=False), jit=False)(0.7)
    slopes = [stgrad.grad(solved, jit=False)(p + np.array([s * h, 0.0]))[0] for s in (1, -1)]
    assert found == pytest.approx((slopes[0] - slopes[1]) / (2.0 * h), rel=1e-4)
    assert stgrad.grad(solved, jit=False)(p)[1] == pytest.approx(0.0, abs=1e-9)


CASES = [
    {"bracket": [0.0, 3.0]}, {"bracket": (0.0, 3.0), "method": "bisect", "xtol": 1e-13}, {"x0": 1.0}, {"x0": 1.0, "x1": 2.0}, {"x0": 1.0, "method": "secant"},
    {"x0": 1.0, "fprime": lambda x, a: 3.0 * x * x}, {"x0": 1.0, "fprime": lambda x, a: 3.0 * x * x, "fprime2": lambda x, a: 6.0 * x},
]  # fmt: skip


@JIT
@pytest.mark.parametrize("given", CASES, ids=lambda given: "-".join(given))
def test_root_scalar(given, jit):
    def cube_root(a):
        found = optimize.root_scalar(lambda x, a: x**3 - a, args=(a,), **given)
        if not found.converged:
            raise RuntimeError(found.flag)
        return found.root

    assert stgrad.value_and_grad(cube_root, jit=jit)(2.0) == pytest.approx((2.0 ** (1 / 3), 2.0 ** (-2 / 3) / 3.0), rel=1e-8)


def test_root_scalar_with_its_slope_in_one():
    def cube_root(a):
        return optimize.root_scalar(lambda x: (x**3 - a, 3.0 * x * x), fprime=True, x0=1.0).root

    assert stgrad.grad(stgrad.grad(cube_root))(2.0) == pytest.approx(-2.0 / 9.0 * 2.0 ** (-5 / 3), rel=1e-8)


def bounded(a):
    return optimize.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), bounds=[(0.0, 1.0)] * 2).x[0]


def constrained(a):
    return optimize.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), constraints={"type": "eq", "fun": lambda x: x[0] - a}).x[0]


def simplex(a):
    return optimize.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), method="Nelder-Mead").x[0]


def robust(a):
    return optimize.least_squares(lambda x: x - a, np.zeros(2), loss="soft_l1").x[0]


def fitted_in_bounds(a):
    return optimize.least_squares(lambda x: x - a, np.zeros(2), bounds=(0.0, 1.0)).x[0]


def by_toms(a):
    return optimize.root_scalar(lambda x: x - a, bracket=[0.0, 9.0], method="toms748").root


@pytest.mark.parametrize(
    ("function", "message"),
    [(bounded, "bounds and constraints"), (constrained, "bounds and constraints"), (simplex, "other than BFGS"), (robust, "`loss`"),
     (fitted_in_bounds, "bounds of"), (by_toms, "other than brentq")],
    ids=named,
)  # fmt: skip
def test_what_decides_the_derivative_otherwise_is_refused(function, message):
    with pytest.raises(errors.UnsupportedSyntaxError, match=message):
        stgrad.grad(function, jit=True)(0.5)


@JIT
def test_what_is_not_found_is_an_error(jit):
    with pytest.raises(RuntimeError, match="not found"):
        stgrad.grad(lambda a: optimize.minimize(lambda x: np.sum(a * x), np.zeros(1), options={"maxiter": 20}).x[0], jit=jit)(1.0)
    with pytest.raises(RuntimeError, match="not found"):
        stgrad.grad(lambda a: optimize.least_squares(lambda x: np.exp(a * x), np.zeros(1), max_nfev=3).x[0], jit=jit)(1.0)


@JIT
def test_a_minimum_that_is_not_alone_is_an_error(jit):
    """Every x on a line is one."""
    with pytest.raises(np.linalg.LinAlgError):
        stgrad.grad(lambda a: optimize.minimize(lambda x: (x[0] + x[1] - a) ** 2, np.zeros(2)).x[0], jit=jit)(1.0)


def test_slopes_decide_where_values_are_rounded() -> None:
    def found(p):
        objective = lambda x: (x[0] - p) ** 2 + (1.5 * x[1] - 1.0) ** 4 + x[1] ** 2  # noqa: E731
        return optimize.minimize(objective, [0.0, 0.0], method="BFGS", options={"gtol": 1e-12}).x[1] * p

    value, slope = stgrad.value_and_grad(found, jit=False, mode="reverse")(0.5)
    assert np.isclose(value, found(0.5), atol=1e-8)
    assert np.isclose(slope, 2.0 * value)
