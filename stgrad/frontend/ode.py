# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.integrate.solve_ivp` and `odeint` as plain Python, read in place of their calls.

A solver runs twice. First with control of the steps, as SciPy does it; all that comes of it are the times of the steps, as numbers, and what implicit
equations had for solutions. Then over these steps once more, which is what is differentiated: so the derivative is that of the discrete solution on its
mesh, which the same method computes from the variational equation, and the noise of a controller that decides by differences is not in it.
The mesh lies at fixed parts of the interval, so that it moves with the ends.

Invariants: a method is a pair of functions, one for each run. `walk(fun, t0, tf, y0, f, h, ...)` gives the mesh and one array of extra numbers a step;
`step(fun, t, y, f, h, extra)` gives the next y, its slope, and rows K; between, at the part x of the step, y is y plus the rows by the method's weights of x.
"""

from __future__ import annotations

import numpy as np

from stgrad.frontend.library import refuse
from stgrad.frontend.ode_explicit import TABLEAUX, explicit_step, explicit_walk, explicit_weights
from stgrad.frontend.ode_stiff import radau_step, radau_walk, radau_weights
from stgrad.hooks import stop_gradient
from stgrad.rules.core import static

_MESSAGE = "The solver successfully reached the end of the integration interval."
# LSODA, in Fortran, and BDF have other steps than these, and the same tolerances; stiff problems are too much for DOP853
_STANDS = {"LSODA": "DOP853", "BDF": "Radau"}
_STEPS_HINT = "give the times that you read, t_eval=[..., t_span[1]], or use one of RK45, RK23, DOP853, Radau"
STEPS = 100_000
_LSODA = 1.49012e-8  # the tolerances of odeint
_EVENTS = "`events` of scipy.integrate.solve_ivp are not supported"
_EVENTS_HINT = "find the time of the event by an equation for it: stgrad.custom_root(lambda t: event(t, y(t)), ...)"


class Solution:
    """What `solve_ivp` returns."""

    def __init__(self, t, y, sol, nfev):
        self.t, self.y, self.sol, self.nfev = t, y, sol, nfev
        self.t_events = self.y_events = None
        self.status, self.message, self.success = 0, _MESSAGE, True

    def __getitem__(self, name):
        return getattr(self, name)


def solve_ivp(
    fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None, *, first_step=None, max_step=np.inf,
    rtol=1e-3, atol=1e-6, jac=None, jac_sparsity=None, lband=None, uband=None, min_step=0.0,
):  # fmt: skip
    refuse(events is not None, _EVENTS, _EVENTS_HINT)
    refuse(min_step != 0.0, "`min_step` of scipy.integrate.solve_ivp is not supported")
    more = () if args is None else args

    def slope(t, y):
        if vectorized:
            return np.ravel(fun(t, y[:, np.newaxis], *more))
        return np.asarray(fun(t, y, *more))

    name = name_of(method, t_eval is not None)
    start = 1.0 * np.asarray(y0)
    if np.ndim(start) != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    most, t0, tf = most_steps(method), 1.0 * t_span[0], 1.0 * t_span[1]
    t, y, sol, nfev = _solve(slope, t0, tf, start, name, t_eval, first_step, max_step, rtol, atol, most, dense_output)
    return Solution(t, np.transpose(y), sol, nfev)


def odeint(
    func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, ml=None, mu=None, rtol=None, atol=None, tcrit=None, h0=0.0, hmax=0.0, hmin=0.0, ixpr=0,
    mxstep=0, mxhnil=0, mxordn=12, mxords=5, printmessg=0, tfirst=False,
):  # fmt: skip
    refuse(full_output != 0, "`full_output` of scipy.integrate.odeint is not supported", "call it without, or use scipy.integrate.solve_ivp")

    def slope(t, y):
        return np.ravel(np.asarray(func(t, y, *args) if tfirst else func(y, t, *args)))

    at = 1.0 * np.asarray(t)
    start = np.ravel(1.0 * np.asarray(y0))
    small, large = _LSODA if atol is None else atol, _LSODA if rtol is None else rtol
    step, most = None if h0 == 0.0 else h0, np.inf if hmax == 0.0 else hmax
    _, y, _, _ = _solve(slope, at[0], at[-1], start, "DOP853", at, step, most, large, small, STEPS)
    return y


def _solve(fun, t0, tf, y0, method, t_eval, first_step, max_step, rtol, atol, most_steps, dense=False):
    """Times and values, one row for each time; what gives the values between, if asked for; calls of the function."""
    direction = 1.0 if stop_gradient(tf) >= stop_gradient(t0) else -1.0

    def frozen(t, y):
        return _constant(fun(t, y))

    ts, extras, nfev = _mesh(frozen, stop_gradient(t0), stop_gradient(tf), direction, _constant(y0), method, first_step, max_step, rtol, atol, most_steps)
    times = _moved(ts, t0, tf)
    if dense:
        ys, Ks = _rows(fun, times, y0, method, extras)
        between = _between(times, ys, Ks, method, direction)
    if t_eval is None:
        return times, ys if dense else _states(fun, times, y0, method, extras), between if dense else None, nfev
    at = 1.0 * np.asarray(t_eval)
    _check_times(_constant(at), stop_gradient(t0), stop_gradient(tf), direction)
    if dense:
        return at, np.transpose(between(at)), between, nfev
    return at, _states_at(fun, times, y0, method, extras, at, _ends(_constant(at), ts, direction)), None, nfev


def _mesh(fun, t0, tf, direction, y0, method, first_step, max_step, rtol, atol, most_steps):
    if max_step <= 0.0:
        raise ValueError("`max_step` must be positive.")
    rtol = np.maximum(rtol, 100.0 * np.finfo(float).eps)
    f = fun(t0, y0)
    if first_step is None:
        h, tries = _first_step(fun, t0, tf, direction, y0, f, error_order(method), max_step, rtol, atol), 2
    else:
        h, tries = 1.0 * first_step, 1
        if h <= 0.0:
            raise ValueError("`first_step` must be positive.")
        if h > abs(tf - t0):
            raise ValueError("`first_step` exceeds bounds.")
    if method == "Radau":
        ts, extras, more = radau_walk(fun, t0, tf, direction, y0, f, h, max_step, rtol, atol)
    else:
        ts, extras, more = explicit_walk(fun, t0, tf, direction, y0, f, h, max_step, rtol, atol, method, most_steps)
    return ts, extras, tries + more


def _constant(x):
    """A copy of a vector through which no derivative passes; `stop_gradient` of all of it would share its memory, and so its activity."""
    y = np.empty(len(x), dtype=x.dtype)
    for i in range(len(x)):
        y[i] = stop_gradient(x[i])
    return y


def _first_step(fun, t0, tf, direction, y0, f0, order, max_step, rtol, atol):
    """Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, section II.4; as SciPy."""
    scale = atol + np.abs(y0) * rtol
    d0, d1 = _norm(y0 / scale), _norm(f0 / scale)
    length = abs(tf - t0)
    h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, length)
    if h0 == 0.0:
        return 0.0
    f1 = fun(t0 + h0 * direction, y0 + h0 * direction * f0)
    d2 = _norm((f1 - f0) / scale) / h0
    if d1 <= 1e-15 and d2 <= 1e-15:
        h1 = max(1e-6, h0 * 1e-3)
    else:
        h1 = (0.01 / max(d1, d2)) ** (1.0 / (order + 1))
    return min(100.0 * h0, h1, length, max_step)


def _norm(x):
    return np.sqrt(np.sum(np.abs(x) ** 2) / np.size(x))


def _moved(ts, t0, tf):
    """The mesh, at fixed parts of an interval whose ends move."""
    length = ts[-1] - ts[0]
    parts = (ts - ts[0]) / length if length != 0.0 else 1.0 * np.arange(len(ts))
    return ts + (1.0 - parts) * (t0 - stop_gradient(t0)) + parts * (tf - stop_gradient(tf))


def _check_times(at, t0, tf, direction):
    if np.any(at < min(t0, tf)) or np.any(at > max(t0, tf)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    if np.any(direction * np.diff(at) < 0.0):
        raise ValueError("Values in `t_eval` are not properly sorted.")


def _step(fun, t, y, f, h, extra, method, dense):
    if method == "Radau":
        return radau_step(fun, t, y, f, h, extra)
    return explicit_step(fun, t, y, f, h, method, dense)


def _states(fun, ts, y0, method, extras):
    y, f = y0, fun(ts[0], y0)
    ys = np.zeros((len(ts), len(y0)), dtype=y0.dtype)
    ys[0] = y
    for k in range(len(ts) - 1):
        y, f, _ = _step(fun, ts[k], y, f, ts[k + 1] - ts[k], extras[k], method, False)
        ys[k + 1] = y
    return ys


def _states_at(fun, ts, y0, method, extras, at, ends):
    y, f = y0, fun(ts[0], y0)
    ys = np.zeros((len(at), len(y0)), dtype=y0.dtype)
    for k in range(len(ts) - 1):
        h = ts[k + 1] - ts[k]
        new, f_new, K = _step(fun, ts[k], y, f, h, extras[k], method, ends[k + 1] > ends[k])
        for j in range(ends[k], ends[k + 1]):
            if h == 0.0:
                ys[j] = y + (at[j] - ts[k]) * f
            elif method == "Radau":
                ys[j] = y + np.dot(radau_weights((at[j] - ts[k]) / h), K)
            else:
                ys[j] = y + h * np.dot(explicit_weights((at[j] - ts[k]) / h, method), K)
        y, f = new, f_new
    return ys


def _rows(fun, ts, y0, method, extras):
    """The states at the times of the steps, and what gives those between."""
    y, f = y0, fun(ts[0], y0)
    ys, Ks = np.zeros((len(ts), len(y0)), dtype=y0.dtype), np.zeros((len(ts), row_count(method), len(y0)), dtype=y0.dtype)
    ys[0] = y
    for k in range(len(ts) - 1):
        y, f, K = _step(fun, ts[k], y, f, ts[k + 1] - ts[k], extras[k], method, True)
        ys[k + 1], Ks[k] = y, K
    return ys, Ks


def _between(ts, ys, Ks, method, direction):
    """The solution as a function of a time, or of several."""

    def at_one(t):
        k = 0
        while k < len(ts) - 2 and direction * (t - ts[k + 1]) > 0.0:
            k += 1
        h = ts[k + 1] - ts[k]
        part = (t - ts[k]) / h if h != 0.0 else 0.0 * t
        if method == "Radau":
            return ys[k] + np.dot(radau_weights(part), Ks[k])
        return ys[k] + h * np.dot(explicit_weights(part, method), Ks[k])

    def at(t):
        t = 1.0 * np.asarray(t)
        if np.ndim(t) == 0:
            return at_one(t)
        found = np.zeros((len(t), np.shape(ys)[1]), dtype=ys.dtype)
        for j in range(len(t)):
            found[j] = at_one(t[j])
        return np.transpose(found)

    return at


def _ends(at, ts, direction):
    """How many of the times lie before each step's end, or at it; 0 before the first step."""
    ends, j = np.zeros(len(ts), dtype=np.int64), 0
    for k in range(1, len(ts)):
        while j < len(at) and direction * (at[j] - ts[k]) <= 0.0:
            j += 1
        ends[k] = j
    return ends


@static
def name_of(method, times):
    """The method that stands for one given by name or class; whether times are asked for."""
    name = method if isinstance(method, str) else getattr(method, "__name__", str(method))
    known = (*TABLEAUX, "Radau")
    refuse(name not in known and name not in _STANDS, f"the method {name} of scipy.integrate.solve_ivp is not supported", f"use one of {', '.join(known)}")
    refuse(name in _STANDS and not times, f"the steps of {name} of scipy.integrate.solve_ivp are not supported", _STEPS_HINT)
    return _STANDS.get(name, name)


@static
def row_count(method):
    """How many rows the steps of a method have."""
    return 3 if method == "Radau" else len(TABLEAUX[method].A)


@static
def most_steps(method):
    """Where a method that stands for one that knows stiff problems gives up."""
    return STEPS if method == "LSODA" or getattr(method, "__name__", "") == "LSODA" else None


@static
def error_order(method):
    """The order of the error estimate."""
    return 3 if method == "Radau" else TABLEAUX[method].order


__all__ = ["odeint", "solve_ivp"]
