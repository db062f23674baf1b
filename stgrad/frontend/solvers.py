# mypy: allow-untyped-defs, allow-untyped-calls
"""Root finders and adaptive quadrature of SciPy as plain Python, read in place of their calls; they differentiate by the equation that they solve.

The iterations are SciPy's own (scipy/optimize/_zeros_py.py), so that of several roots they find the same one. Only what is asked of `quad` is the
same: its integral, by Gauss-Kronrod rules of 21 points on halved intervals (Piessens et al., QUADPACK, 1983).
"""

from __future__ import annotations

import importlib
import importlib.util
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.frontend.builtins import handles
from stgrad.frontend.library import refuse
from stgrad.frontend.values import Value, is_number, static_of
from stgrad.hooks import stop_gradient
from stgrad.implicit import custom_root
from stgrad.source import module_of

_FULL = "`full_output` of a solver of SciPy is not supported"
_INFINITE = "an infinite end of scipy.integrate.quad must be known at compile time: write np.inf in the call"
_REST = "`weight`, `points` and complex functions in `scipy.integrate.quad` are not supported"


def newton(
    func, x0, fprime=None, args=(), tol=1.48e-8, maxiter=50, fprime2=None, x1=None, rtol=0.0, full_output=False, disp=True
):
    refuse(full_output, _FULL)
    refuse(np.ndim(x0) > 0, "`scipy.optimize.newton` of several numbers at once is not supported", "call it for each, or use stgrad.custom_root")

    def solve(g: Callable[[Any], Any], start: Any) -> Any:
        if fprime is None:
            return _secant(g, start, x1, tol, rtol, maxiter)
        return _tangents(g, lambda x: fprime(x, *args), None if fprime2 is None else lambda x: fprime2(x, *args), start, tol, rtol, maxiter)

    return custom_root(lambda x: func(x, *args), x0, solve)


def _tangents(f, slope, curvature, x, tol, rtol, maxiter):
    x = 1.0 * x
    count, found = 0, False
    while not found:
        if count >= maxiter:
            raise RuntimeError("Failed to converge")
        count += 1
        value = 1.0 * f(x)
        if value == 0.0:
            found = True
        else:
            derivative = 1.0 * slope(x)
            if derivative == 0.0:
                raise RuntimeError("Derivative was zero. Failed to converge")
            step = value / derivative
            if curvature is not None:
                bend = step * curvature(x) / derivative / 2.0
                if abs(bend) < 1.0:
                    step = step / (1.0 - bend)
            new = x - step
            found = abs(new - x) <= tol + rtol * abs(x)
            x = new
    return x


def _secant(f, x0, x1, tol, rtol, maxiter):
    p0 = 1.0 * x0
    if x1 is None:
        p1 = p0 * (1.0 + 1e-4) + (1e-4 if p0 >= 0.0 else -1e-4)
    else:
        p1 = 1.0 * x1
    q0, q1 = 1.0 * f(p0), 1.0 * f(p1)
    if abs(q1) < abs(q0):
        p0, p1, q0, q1 = p1, p0, q1, q0
    count, found, p = 0, False, p1
    while not found:
        if count >= maxiter:
            raise RuntimeError("Failed to converge")
        count += 1
        if q1 == q0:
            if p1 != p0:
                raise RuntimeError("Tolerance was reached. Failed to converge")
            p, found = (p1 + p0) / 2.0, True
        else:
            if abs(q1) > abs(q0):
                p = (-q0 / q1 * p1 + p0) / (1.0 - q0 / q1)
            else:
                p = (-q1 / q0 * p0 + p1) / (1.0 - q1 / q0)
            found = abs(p - p1) <= tol + rtol * abs(p1)
            p0, q0, p1 = p1, q1, p
            if not found:
                q1 = 1.0 * f(p1)
    return p


# --------------------------------------------------------------------------- quadrature

_POINTS = np.array([
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508, 0.865063366688984510732096688423493,
    0.780817726586416897063717578345042, 0.679409568299024406234327365114874, 0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
    0.294392862701460198131126603103866, 0.14887433898163121088482600112972, 0.0,
])  # fmt: skip
_KRONROD = np.array([
    0.011694638867371874278064396062192, 0.03255816230796472747881897245939, 0.05475589657435199603138130024458, 0.07503967481091995276704314091619,
    0.093125454583697605535065465083366, 0.109387158802297641899210590325805, 0.123491976262065851077958109585166, 0.134709217311473325928054001771707,
    0.142775938577060080797094273138717, 0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
])  # fmt: skip
_GAUSS = np.array([
    0.0, 0.066671344308688137593568809893332, 0.0, 0.149451349150580593145863397657697, 0.0, 0.219086362515982043995534934228163, 0.0,
    0.269266719309996355091226921569469, 0.0, 0.295524224714752870173815619188769, 0.0,
])  # fmt: skip


def quad(
    func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50, points=None, weight=None, wvar=None, wopts=None, maxp1=50, limlst=50,
    complex_func=False,
):  # fmt: skip
    refuse(full_output != 0, _FULL)
    refuse(points is not None or weight is not None or complex_func, _REST)
    more = args if isinstance(args, tuple) else (args,)
    if infinite(a) or infinite(b):
        return _to_infinity(lambda x: func(x, *more), a, b, epsabs, epsrel, limit)
    if abs(a) == np.inf or abs(b) == np.inf:
        raise ValueError(_INFINITE)

    def integrand(t: Any) -> Any:
        return (b - a) * func(a + (b - a) * t, *more)

    return _integral(integrand, epsabs, epsrel, limit)


def infinite(end):
    """Whether an end is known to be infinite while the program is read."""
    return abs(end) == np.inf


@handles(infinite)
def _infinite(frame: Any, end: Value) -> bool:
    known = static_of(end)
    return is_number(known) and infinite(known)


def _to_infinity(f, a, b, epsabs, epsrel, limit):
    """With x = (1 - t) / t, t from 0 to 1, as QAGI has it; both halves of the line together."""
    if infinite(a) and infinite(b):
        refuse(a == b, "`scipy.integrate.quad` from an infinite end to the same one is not supported")
        sign = 1.0 if a < b else -1.0

        def integrand(t: Any) -> Any:
            x = (1.0 - t) / t
            return sign * (f(x) + f(-x)) / (t * t)

    else:
        start, far = (a, b) if infinite(b) else (b, a)
        side = 1.0 if far > 0.0 else -1.0
        sign = side if infinite(b) else -side

        def integrand(t: Any) -> Any:
            return sign * f(start + side * ((1.0 - t) / t)) / (t * t)

    return _integral(integrand, epsabs, epsrel, limit)


def _integral(f, epsabs, epsrel, limit):
    """The integral from 0 to 1, and how far it may be off."""
    lefts, widths, count, error = _mesh(f, epsabs, epsrel, limit)
    total = 0.0
    for k in range(count):
        total = total + _rules(f, lefts[k], widths[k])[0]
    return total, stop_gradient(error)


def _mesh(f, epsabs, epsrel, limit):
    """Intervals of [0, 1] on which the rules do: the worst is halved until the sum of errors fits."""
    lefts, widths, values, errors = np.zeros(limit), np.zeros(limit), np.zeros(limit), np.zeros(limit)
    widths[0] = 1.0
    total, error = _rules(f, 0.0, 1.0)
    values[0], errors[0] = total, error
    count = 1
    while count < limit and error > max(epsabs, epsrel * abs(total)):
        worst = np.argmax(errors)
        half = 0.5 * widths[worst]
        lefts[count], widths[count], widths[worst] = lefts[worst] + half, half, half
        for k in (worst, count):
            value, wrong = _rules(f, lefts[k], half)
            values[k], errors[k] = value, wrong
        count += 1
        total, error = np.sum(values), np.sum(errors)
    return lefts, widths, count, error


def _rules(f, left, width):
    """The integral by 21 points, and what the rule with 10 of them is away from it."""
    half = 0.5 * width
    middle = left + half
    fine = _KRONROD[10] * f(middle)
    coarse = 0.0 * fine
    for j in range(10):
        both = f(middle - half * _POINTS[j]) + f(middle + half * _POINTS[j])
        fine = fine + _KRONROD[j] * both
        coarse = coarse + _GAUSS[j] * both
    return half * fine, abs(half * (fine - coarse))


def solve(a, b, /):
    """Of the array API: that of NumPy, which has the same rule for vectors and stacks."""
    return np.linalg.solve(a, b)


_OF_VALUES = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_OF_SHAPES = ("mean", "var", "std", "entropy")

# by module and name, so that SciPy is not imported for it
MEANS: dict[str, Any] = {
    **{f"scipy.optimize._zeros_py.{name}": f"stgrad.frontend.brackets.{name}" for name in ("brentq", "brenth", "bisect", "ridder")},
    "scipy.optimize._zeros_py.newton": newton,
    "scipy.integrate._quadpack_py.quad": quad, "scipy.integrate._ivp.ivp.solve_ivp": "stgrad.frontend.ode.solve_ivp",
    "scipy.optimize._root.root": "stgrad.frontend.systems.root", "scipy.optimize._minpack_py.fsolve": "stgrad.frontend.systems.fsolve",
    "scipy.optimize._root_scalar.root_scalar": "stgrad.frontend.scalar_roots.root_scalar", "scipy.optimize._minimize.minimize": "stgrad.minima.minimize",
    "scipy.optimize._lsq.least_squares.least_squares": "stgrad.fits.least_squares",
    **{f"scipy.optimize._minpack_py.{name}": f"stgrad.curves.{name}" for name in ("curve_fit", "leastsq")},
    "scipy.optimize._nnls.nnls": "stgrad.linear_fits.nnls", "scipy.optimize._lsq.lsq_linear.lsq_linear": "stgrad.linear_fits.lsq_linear",
    "scipy.optimize._minimize.minimize_scalar": "stgrad.scalar_minima.minimize_scalar",
    **{f"scipy.optimize._optimize.{name}": f"stgrad.scalar_minima.{name}" for name in ("brent", "fminbound")},
    "scipy.signal._signaltools.lfilter": "stgrad.frontend.filters.lfilter",
    "scipy.signal._signaltools.sosfilt": "stgrad.frontend.filters.sosfilt",
    "scipy.integrate._odepack_py.odeint": "stgrad.frontend.ode.odeint",
    **{f"scipy.stats._kde.gaussian_kde.{name}": f"stgrad.frontend.kernel_densities.{name}" for name in ("evaluate", "logpdf")},
    **{f"scipy.spatial.distance.{name}": f"stgrad.frontend.distances.{name}" for name in ("cdist", "pdist", "squareform")},
    **{f"scipy.stats._distn_infrastructure.rv_continuous.{name}": f"stgrad.frontend.continuous.{name}" for name in _OF_VALUES},
    **{f"scipy.stats._distn_infrastructure.rv_generic.{name}": f"stgrad.frontend.continuous.{name}" for name in _OF_SHAPES},
    "scipy.stats._distn_infrastructure.rv_generic.freeze": "stgrad.frontend.frozen_distributions.freeze",
    "scipy.stats._stats_py._xp_mean": "stgrad.frontend.samples.mean",
    "scipy._lib._array_api.xp_promote": "stgrad.frontend.samples.promote", "scipy._lib._array_api._length_nonmasked": "stgrad.frontend.samples.length",
    "scipy.stats._axis_nan_policy._check_empty_inputs": "stgrad.frontend.samples.refuse_empty",
    "scipy._lib.array_api_extra._lib._funcs.apply_where": "stgrad.frontend.samples.apply_where",
    "scipy._lib.array_api_extra._lib._at.at": "stgrad.frontend.array_updates.at",
    "scipy.stats._axis_nan_policy._broadcast_arrays": "stgrad.frontend.samples.broadcast_but",
    **{f"scipy.interpolate.{theirs}": f"stgrad.frontend.splines.{ours}" for theirs, ours in (
        ("_ppoly.evaluate", "evaluate"), ("_ppoly.fix_continuity", "fix_continuity"), ("_ppoly.integrate", "integrate"),
        ("_dierckx.evaluate_spline", "evaluate_spline"), ("_bspl.evaluate_spline", "evaluate_spline"),
        ("_interpolate._PPolyBase._ensure_c_contiguous", "unchanged"), ("_bsplines.BSpline._ensure_c_contiguous", "unchanged"),
        ("_fitpack_impl.splev", "splev"), ("_fitpack_impl.splint", "splint"), ("_fitpack2._BivariateSplineBase.__call__", "surface"),
        ("_fitpack_impl.splrep", "splrep"), ("_fitpack2.UnivariateSpline.__init__", "univariate"),
        ("_fitpack2.InterpolatedUnivariateSpline.__init__", "interpolating"), ("_fitpack2.RectBivariateSpline.__init__", "bivariate"),
        ("_bsplines.make_interp_spline", "interp_spline"), ("_interpnd._ndim_coords_from_arrays", "coordinates"),
        ("_rgi._check_points", "ascending"), ("_rgi_cython.find_indices", "find_indices"), ("_rgi_cython.evaluate_linear_2d", "linear_2d"),
    )},
}  # fmt: skip


# modules in C, and those in which the same functions stand in Python
TWINS = {f"scipy.spatial.transform._{name}_cy": f"scipy.spatial.transform._{name}_xp" for name in ("rotation", "rigid_transform")}
TWINS["scipy.interpolate._rbfinterp_np"] = "scipy.interpolate._rbfinterp_xp"
TWINS["bottleneck.reduce"] = "stgrad.frontend.bottleneck"


def meaning(function: Any) -> Callable[..., Any] | None:
    """What stands for a function of SciPy or Bottleneck; None for other functions."""
    module = module_of(function)
    if not module.startswith(("scipy.", "array_api_compat.", "bottleneck.")) or isinstance(function, types.MethodType):
        return None
    name = getattr(function, "__qualname__", "")
    if f".{module}.{name}".endswith(".array_api_compat.numpy.linalg.solve"):
        return solve
    if module in TWINS and importlib.util.find_spec(TWINS[module]) is not None:
        return getattr(importlib.import_module(TWINS[module]), name, None)
    found = MEANS.get(f"{module}.{name}")
    return look_up(found) if isinstance(found, str) else found


def look_up(path: str) -> Any:
    """What imports SciPy itself is imported when it is met."""
    name, _, attribute = path.rpartition(".")
    return getattr(importlib.import_module(name), attribute)


__all__ = ["meaning"]
