"""`scipy.interpolate` inside of a function: splines that are made there, and such that stand outside of it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy import interpolate as si

import stgrad
from stgrad.errors import UnsupportedSyntaxError

T = np.linspace(0.0, 1.0, 7)
U = T[:6]
Z = np.outer(np.sin(T), np.cos(U))
X = 0.7
CUBIC = si.CubicSpline(T, np.sin(3.0 * T))
BASIS = si.make_interp_spline(T, np.sin(3.0 * T))
SMOOTH = si.UnivariateSpline(T, np.sin(3.0 * T), s=0.01)
TABLE = si.interp1d(T, np.sin(3.0 * T), kind="cubic")
GRID = si.RegularGridInterpolator((T, U), Z)
SURFACE = si.RectBivariateSpline(T, U, Z)
TCK = si.splrep(T, np.sin(3.0 * T))


def bent(x):
    return x * np.sin(3.0 * T + x)


OUTSIDE = {
    "CubicSpline": lambda x: CUBIC(x) * x,
    "BSpline": lambda x: BASIS(x) * x,
    "UnivariateSpline": lambda x: SMOOTH(x) * x,
    "interp1d": lambda x: TABLE(x) * x,
    "RegularGridInterpolator": lambda x: GRID((x, 0.3)) * x,
    "RectBivariateSpline": lambda x: SURFACE.ev(x, 0.3) * x,
    "splev": lambda x: si.splev(x, TCK, der=1) * x,
    "splint": lambda x: si.splint(0.1, x, TCK) * x,
    "integral": lambda x: SMOOTH.integral(0.1, x) * x,
}
MADE = {
    "CubicSpline": lambda x: si.CubicSpline(T, bent(x))(0.33) * x,
    "natural": lambda x: si.CubicSpline(T, bent(x), bc_type="natural")(0.33) * x,
    "clamped": lambda x: si.CubicSpline(T, bent(x), bc_type="clamped")(x, 1) * x,
    "periodic": lambda x: si.CubicSpline(T, x * np.sin(6.0 * T) * (1.0 - T) * T, bc_type="periodic")(x + 1.2) * x,
    "integrate": lambda x: si.CubicSpline(T, bent(x)).integrate(0.1, x) * x,
    "antiderivative": lambda x: si.CubicSpline(T, bent(x)).antiderivative()(x) * x,
    "derivative": lambda x: si.CubicSpline(T, bent(x)).derivative()(x) * x,
    "columns": lambda x: np.sum(si.CubicSpline(T, np.stack([bent(x), np.cos(T * x)], axis=1))(np.array([0.2, x])) ** 2),
    "breakpoints": lambda x: si.CubicSpline(T * x, np.sin(3.0 * T))(0.3) * x,
    "PPoly": lambda x: si.PPoly(np.array([[1.0, 2.0], [x, 3.0], [0.5, x * x]]), np.array([0.0, 0.5, 1.0]))(x) * x,
    "Pchip": lambda x: si.PchipInterpolator(T, bent(x))(0.33) * x,
    "pchip_interpolate": lambda x: si.pchip_interpolate(T, bent(x), 0.33) * x,
    "Akima": lambda x: si.Akima1DInterpolator(T, bent(x))(0.33) * x,
    "Hermite": lambda x: si.CubicHermiteSpline(T, np.sin(T * x), x * np.cos(T * x))(0.33) * x,
    "make_interp_spline": lambda x: si.make_interp_spline(T, bent(x))(0.33) * x,
    "degree 1": lambda x: si.make_interp_spline(T, bent(x), k=1)(0.33) * x,
    "degree 2": lambda x: si.make_interp_spline(T, bent(x), k=2)(x) * x,
    "degree 5": lambda x: si.InterpolatedUnivariateSpline(T * x, np.sin(3.0 * T), k=5)(0.33) * x,
    "knots": lambda x: np.sum(si.BSpline(np.array([0, 0, 0, 0.5, 1, 1, 1]), np.array([[1, 2], [3, 1.0], [2, x], [4, 3]]), 2)(np.array([0.2, x]))),
    "UnivariateSpline": lambda x: si.UnivariateSpline(T, bent(x), s=0)(0.33) * x,
    "splrep": lambda x: si.splev(0.33, si.splrep(T, bent(x))) * x,
    "interp1d": lambda x: si.interp1d(T, bent(x), kind="cubic")(0.33) * x,
    "quadratic": lambda x: si.interp1d(T, bent(x), kind="quadratic")(0.33) * x,
    "RectBivariateSpline": lambda x: si.RectBivariateSpline(T, U, x * Z)(0.3, x)[0, 0] * x,
    "dy": lambda x: si.RectBivariateSpline(T, U, x * Z, kx=1, ky=2).ev(x, 0.3, dy=1) * x,
    "RegularGridInterpolator": lambda x: si.RegularGridInterpolator((T, U), x * Z)(np.array([[x, 0.3], [0.2, x]]))[1] * x,
    "interpn": lambda x: si.interpn((T, U), x * Z, np.array([[x, 0.3]]))[0] * x,
    "three axes": lambda x: si.RegularGridInterpolator((T, U, T), Z[:, :, None] * np.cos(T) * x)((x, 0.2, x)) * x,
}


def difference(f, x, h=1e-5):
    return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in OUTSIDE.items()])
@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
def test_splines_outside_of_the_function(f, jit):
    value, gradient = stgrad.value_and_grad(f, jit=jit)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    assert gradient == pytest.approx(difference(f, X), rel=1e-7)


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in MADE.items()])
def test_splines_that_are_made_in_the_function(f):
    made = stgrad.value_and_grad(f, jit=False)
    made.source(X)  # that it is read, and not followed in plain Python
    value, gradient = made(X)
    assert value == pytest.approx(f(X), rel=1e-11)
    assert gradient == pytest.approx(difference(f, X), rel=1e-7)


@pytest.mark.parametrize("name", ["CubicSpline", "Pchip", "make_interp_spline"])
def test_splines_that_are_made_in_compiled_programs(name):
    assert stgrad.grad(MADE[name], jit=True)(X) == pytest.approx(difference(MADE[name], X), rel=1e-7)


AT = np.array([-0.3, 0.0, 0.2, 1.0 / 3.0, 0.5, 0.99, 1.0, 1.4])  # beyond both ends, at breakpoints, and between them
EDGES = {
    "CubicSpline": lambda x: si.CubicSpline(T, np.sin(3.0 * T))(x),
    "nan": lambda x: np.nan_to_num(si.CubicSpline(T, np.sin(3.0 * T), extrapolate=False)(x), nan=5.0),
    "falling": lambda x: si.PPoly(np.array([[1.0, 2.0], [3.0, 0.5]]), np.array([1.0, 0.4, 0.0]))(x),
    "BSpline": lambda x: si.make_interp_spline(T, np.sin(3.0 * T))(x),
    "BSpline nan": lambda x: np.nan_to_num(si.make_interp_spline(T, np.sin(3.0 * T))(x, extrapolate=False), nan=5.0),
    "ext 0": lambda x: si.splev(x, TCK),
    "ext 1": lambda x: si.splev(x, TCK, ext=1),
    "ext 3": lambda x: si.splev(x, TCK, ext=3),
    "surface": lambda x: SURFACE.ev(x, x),
    "grid": lambda x: SURFACE(x, x[1:4], dx=1),
    "outside of a grid": lambda x: si.RegularGridInterpolator((T, U), Z, bounds_error=False, fill_value=None)((x, 0.3 * x)),
    "filled": lambda x: si.RegularGridInterpolator((T, U), Z, bounds_error=False, fill_value=3.0)((x, 0.3 * x)),
}


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in EDGES.items()])
def test_values_beyond_the_ends(f):
    value, _ = stgrad.vjp(f, AT, jit=False)
    assert np.allclose(value, f(AT), rtol=1e-11, atol=1e-12)


def test_what_is_refused():
    for f, message in [
        (lambda x: si.UnivariateSpline(T, bent(x))(0.3) * x, "smoothing spline"),
        (lambda x: si.make_interp_spline(T, bent(x), bc_type="natural")(0.3) * x, "`bc_type`"),
    ]:
        with pytest.raises(UnsupportedSyntaxError, match=message):
            stgrad.grad(f, jit=True)(X)


def test_a_point_outside_raises():
    with pytest.raises(ValueError, match="not in the domain"):
        stgrad.grad(lambda x: si.splev(x, TCK, ext=2) * x, jit=True)(1.5)


def test_a_spline_that_is_changed_is_read_again():
    spline = si.CubicSpline(T, np.sin(3.0 * T))
    gradient = stgrad.grad(lambda x: spline(x) * x, jit=False)
    first = gradient(X)
    spline.c = 2.0 * spline.c
    assert gradient(X) == pytest.approx(2.0 * first)


LOCK = threading.Lock()


def test_a_lock_guards_nothing_in_a_program():
    def f(x):
        with LOCK:
            y = x * x
        return y * x

    assert stgrad.grad(f, jit=True)(2.0) == pytest.approx(12.0)
    assert not LOCK.locked()


@pytest.mark.parametrize("n", [4, 11])
def test_points_of_a_number_that_is_known(n):
    def f(x):
        z = np.zeros(n)
        for i in range(n):
            z[i] = np.sin(x * i)
        return si.CubicSpline(np.arange(n), z)(1.3) * si.make_interp_spline(np.arange(n), z)(x)

    made = stgrad.grad(f, jit=False)
    made.source(X)
    assert made(X) == pytest.approx(difference(f, X), rel=1e-7)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
def test_axes_of_one_item_are_dropped_in_a_store(jit):
    def f(x):
        y = np.zeros(3)
        y[:] = x[1:, None] * np.ones(3)
        y[0] = x[1:]
        return np.sum(y**2)

    assert np.allclose(stgrad.grad(f, jit=jit)(np.array([1.0, 2.0])), [0.0, 12.0])
    with pytest.raises(ValueError, match="line .*broadcast|could not be broadcast"):
        stgrad.grad(f, jit=jit)(np.array([1.0, 2.0, 3.0]))
