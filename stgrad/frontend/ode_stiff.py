# mypy: allow-untyped-defs, allow-untyped-calls
"""Radau IIA of order 5 (scipy/integrate/_ivp/radau.py; Hairer & Wanner, Solving Ordinary Differential Equations II, section IV.8) as plain Python.

The first run solves the equations of each step by SciPy's iteration, with Jacobians by differences, which only decide how fast it converges. The second
takes their solutions as they are: what is differentiated is the equation. See `stgrad.frontend.ode`.
"""

from __future__ import annotations

import numpy as np

from stgrad.implicit import custom_root

_ROOT = 6.0**0.5
_C = np.array([(4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0, 1.0])
_A = np.array([
    [(88.0 - 7.0 * _ROOT) / 360.0, (296.0 - 169.0 * _ROOT) / 1800.0, (-2.0 + 3.0 * _ROOT) / 225.0],
    [(296.0 + 169.0 * _ROOT) / 1800.0, (88.0 + 7.0 * _ROOT) / 360.0, (-2.0 - 3.0 * _ROOT) / 225.0],
    [(16.0 - _ROOT) / 36.0, (16.0 + _ROOT) / 36.0, 1.0 / 9.0],
])  # fmt: skip
_EXPONENTS = np.array([1.0, 2.0, 3.0])
_E = np.array([-13.0 - 7.0 * _ROOT, -13.0 + 7.0 * _ROOT, -1.0]) / 3.0
_P = np.array([  # rows: powers of x
    [13.0 / 3.0 + 7.0 * _ROOT / 3.0, 13.0 / 3.0 - 7.0 * _ROOT / 3.0, 1.0 / 3.0],
    [-23.0 / 3.0 - 22.0 * _ROOT / 3.0, -23.0 / 3.0 + 22.0 * _ROOT / 3.0, -8.0 / 3.0],
    [10.0 / 3.0 + 5.0 * _ROOT, 10.0 / 3.0 - 5.0 * _ROOT, 10.0 / 3.0],
])  # fmt: skip
# A is similar to one real number and one complex pair, so that the iteration solves one real and one complex system
_REAL = 3.0 + 3.0 ** (2.0 / 3.0) - 3.0 ** (1.0 / 3.0)
_COMPLEX = 3.0 + 0.5 * (3.0 ** (1.0 / 3.0) - 3.0 ** (2.0 / 3.0)) - 0.5j * (3.0 ** (5.0 / 6.0) + 3.0 ** (7.0 / 6.0))
_TI = np.array([
    [4.17871859155190428, 0.32768282076106237, 0.52337644549944951], [-4.17871859155190428, -0.32768282076106237, 0.47662355450055044],
    [0.50287263494578682, -2.57192694985560522, 0.59603920482822492],
])  # fmt: skip
_T = np.array([
    [0.09443876248897524, -0.14125529502095421, 0.03002919410514742], [0.25021312296633332, 0.20412935229379994, -0.38294211275726192], [1.0, 1.0, 0.0],
])  # fmt: skip
_ITERATIONS = 6
_SPACING = 10.0 * 2.0**-52
_SMALL = "Required step size is less than spacing between numbers."


def radau_walk(fun, t0, tf, direction, y0, f0, h0, max_step, rtol, atol):
    """The times of the steps, the solutions of their equations, and how often `fun` was called."""
    n = len(y0)
    eps = np.finfo(float).eps
    tolerance = np.max(np.maximum(10.0 * eps / rtol, np.minimum(0.03, np.sqrt(rtol))))
    t, y, f, step = t0, y0, f0, h0
    J = _jacobian(fun, t, y, f, atol)
    calls, fresh = 0, True
    step_before, error_before, h_before = 0.0, 0.0, 0.0
    Z = np.zeros((3, n))
    mesh, found = np.zeros(64), np.zeros((64, 3 * n))
    mesh[0], count = t, 1
    while direction * (t - tf) < 0.0 or count == 1:
        least = max(_SPACING * abs(t), 1e-300)
        if step > max_step or step < least:
            step, step_before, error_before = min(max(step, least), max_step), 0.0, 0.0
        was = step
        accepted, rejected, slow = t == tf, False, False
        new_t, new_y, new_f, factor = tf, y, f, 1.0
        guess = _ahead(Z, h_before)
        while not accepted:
            if not step >= least:
                raise RuntimeError(_SMALL)
            new_t = t + direction * step
            if direction * (new_t - tf) > 0.0:
                new_t = tf
            h = new_t - t
            step = abs(h)
            if h_before != 0.0:
                guess = _ahead(Z, h / h_before)
            real = np.linalg.inv(_REAL / h * np.eye(n) - J)
            pair = np.linalg.inv(_COMPLEX / h * np.eye(n) - J)
            converged, trips, new_Z, rate = _collocation(fun, t, y, h, guess, atol + np.abs(y) * rtol, tolerance, real, pair)
            calls += 3 * trips
            if not converged and not fresh:
                J = _jacobian(fun, t, y, f, atol)
                fresh = True
            elif not converged:
                step = 0.5 * step
            else:
                new_y = y + new_Z[2]
                rest = np.dot(_E, new_Z) / h
                scale = atol + np.maximum(np.abs(y), np.abs(new_y)) * rtol
                wrong = np.dot(real, f + rest)
                error = _norm(wrong / scale)
                if rejected and error > 1.0:
                    error = _norm(np.dot(real, fun(t, y + wrong) + rest) / scale)
                    calls += 1
                factor = 0.9 * (2 * _ITERATIONS + 1) / (2 * _ITERATIONS + trips) * _factor(step, step_before, error, error_before)
                accepted = error <= 1.0
                if accepted:
                    slow = trips > 2 and rate > 1e-3
                    step_before, error_before = was, error
                    factor = min(10.0, factor)
                    was = step * (1.0 if not slow and factor < 1.2 else factor)
                    Z, h_before = new_Z, h
                else:
                    step = step * (factor if factor > 0.2 else 0.2)
                    rejected = True
        step, t, y = was, new_t, new_y
        new_f = fun(t, y)
        f, fresh = new_f, False
        calls += 1
        if slow:
            J = _jacobian(fun, t, y, f, atol)
            fresh = True
        if count == len(mesh):
            mesh, found = np.concatenate((mesh, np.zeros(count))), np.concatenate((found, np.zeros((count, 3 * n))))
        mesh[count], found[count - 1] = t, np.reshape(Z, (3 * n,))
        count += 1
    return mesh[:count], found[:count], calls


def _ahead(Z, ratio):
    """The polynomial of the last step, at the nodes of a step that is `ratio` times as long."""
    guess = np.zeros_like(Z)
    for i in range(3):
        guess[i] = np.dot((1.0 + ratio * _C[i]) ** _EXPONENTS, np.dot(_P, Z)) - Z[2]
    return guess


def _collocation(fun, t, y, h, Z, scale, tolerance, real, pair):
    """Whether the simplified Newton iteration converges, its trips, the solution, and the last rate (0 where there is none)."""
    W, F, dW = np.dot(_TI, Z), np.zeros_like(Z), np.zeros_like(Z)
    converged, going, trips, rate, before = False, True, 0, 0.0, 0.0
    while going and trips < _ITERATIONS:
        for i in range(3):
            F[i] = fun(t + h * _C[i], y + Z[i])
        G = np.dot(_TI, F)
        both = np.dot(pair, G[1] + 1j * G[2] - _COMPLEX / h * (W[1] + 1j * W[2]))
        dW[0], dW[1], dW[2] = np.dot(real, G[0] - _REAL / h * W[0]), both.real, both.imag
        size = _norm(dW / scale)
        if trips > 0:
            rate = size / before
        left = _ITERATIONS - trips
        trips += 1
        if not np.isfinite(size) or trips > 1 and (rate >= 1.0 or rate**left / (1.0 - rate) * size > tolerance):
            going = False
        else:
            W = W + dW
            Z = np.dot(_T, W)
            before = size
            if size == 0.0 or trips > 1 and rate / (1.0 - rate) * size < tolerance:
                converged, going = True, False
    return converged, trips, Z, rate


def _factor(step, step_before, error, error_before):
    """By how much the step may grow, from the errors of two steps (0 for none)."""
    if error == 0.0:
        return 1e10
    trend = 1.0 if error_before == 0.0 or step_before == 0.0 else step / step_before * (error_before / error) ** 0.25
    return min(1.0, trend) * error**-0.25


def _jacobian(fun, t, y, f, atol):
    J = np.zeros((len(y), len(y)))
    size = np.maximum(atol, np.abs(y)) * np.finfo(float).eps ** 0.5
    for j in range(len(y)):
        moved = np.copy(y)
        moved[j] = y[j] + (size[j] if f[j] >= 0.0 else -size[j])
        if moved[j] == y[j]:
            moved[j] = y[j] + 1e-8
        J[:, j] = (fun(t, moved) - f) / (moved[j] - y[j])
    return J


def _norm(x):
    return np.sqrt(np.sum(np.abs(x) ** 2) / np.size(x))


def radau_step(fun, t, y, f, h, extra):
    """One step; see `stgrad.frontend.ode`."""

    def equation(Z):
        F = np.zeros_like(Z)
        for i in range(3):
            F[i] = fun(t + h * _C[i], y + Z[i])
        return Z - h * np.dot(_A, F)

    Z = custom_root(equation, np.reshape(extra, (3, len(y))), lambda _, found: 1.0 * found)
    return y + Z[2], f, Z


def radau_weights(x):
    """The weights of the solution of a step's equations in y at the part x of it."""
    return np.dot(x**_EXPONENTS, _P)


__all__ = ["radau_step", "radau_walk", "radau_weights"]
