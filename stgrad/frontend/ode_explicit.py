# mypy: allow-untyped-defs, allow-untyped-calls
"""Explicit Runge-Kutta methods of SciPy (scipy/integrate/_ivp/rk.py) as plain Python: RK23, RK45, DOP853; see `stgrad.frontend.ode`.

Coefficients are SciPy's. All methods have one form here: the weights of the new value are the last row of the matrix, whose stage is the slope there;
what DOP853 needs between the steps are further rows, and its polynomial is written in powers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

_SPACING = 10.0 * 2.0**-52
_SMALL = "Required step size is less than spacing between numbers."
_STIFF = "so many steps mean that the problem is stiff: use scipy.integrate.solve_ivp with method='Radau'"


def explicit_walk(fun, t0, tf, direction, y0, f0, h0, max_step, rtol, atol, method, most):
    """The times of the steps, nothing else (an array without columns), and how often `fun` was called."""
    table = TABLEAUX[method]
    last, order = table.last, table.order
    t, y, f, step = t0, y0, f0, h0
    ts, calls = [t0], 0
    while direction * (t - tf) < 0.0 or len(ts) == 1:
        least = max(_SPACING * abs(t), 1e-300)
        step = min(max(step, least), max_step)
        accepted, rejected = t == tf, False
        new_t, new_y, new_f = tf, y, f
        while not accepted:
            if not step >= least:
                raise RuntimeError(_SMALL)
            new_t = t + direction * step
            if direction * (new_t - tf) > 0.0:
                new_t = tf
            h = new_t - t
            step = abs(h)
            K = stages(fun, t, y, f, h, table.A, table.C, last + 1)
            calls += last
            new_y, new_f = y + h * np.dot(table.A[table.last], K), K[last]
            scale = atol + np.maximum(np.abs(y), np.abs(new_y)) * rtol
            error = _error(K, h, table.errors, scale)
            accepted = error < 1.0
            factor = 10.0 if error == 0.0 else 0.9 * error ** (-1.0 / (order + 1))
            if accepted:
                step = step * min(1.0 if rejected else 10.0, factor)
            else:
                step = step * (factor if factor > 0.2 else 0.2)
                rejected = True
        t, y, f = new_t, new_y, new_f
        ts.append(t)
        if most is not None and len(ts) > most:
            raise RuntimeError(_STIFF)
    mesh = np.array(ts)
    return mesh, np.zeros((len(mesh), 0)), calls


def stages(fun, t, y, f, h, A, C, rows):
    """Slopes, one row for each stage; rows from `rows` on are 0."""
    K = np.zeros((len(A), len(y)), dtype=y.dtype)
    K[0] = f
    for s in range(1, rows):
        K[s] = fun(t + C[s] * h, y + h * np.dot(A[s], K))
    return K


def _error(K, h, errors, scale):
    """The norm of the estimated error; of two estimates (DOP853), the higher one, damped where they differ."""
    first = np.sum(np.abs(np.dot(errors[0], K) / scale) ** 2)
    if len(errors) == 1:
        return abs(h) * np.sqrt(first / len(scale))
    second = np.sum(np.abs(np.dot(errors[1], K) / scale) ** 2)
    return abs(h) * first / np.sqrt((first + 0.01 * second) * len(scale)) if first != 0.0 or second != 0.0 else 0.0


def explicit_step(fun, t, y, f, h, method, dense):
    """One step; see `stgrad.frontend.ode`."""
    table = TABLEAUX[method]
    K = stages(fun, t, y, f, h, table.A, table.C, len(table.A) if dense else table.last + 1)
    return y + h * np.dot(table.A[table.last], K), K[table.last], K


def explicit_weights(x, method):
    """The weights of the stages in y at the part x of a step, over h."""
    return np.dot(x ** TABLEAUX[method].exponents, TABLEAUX[method].P)


@dataclass(frozen=True)
class Tableau:
    """A method: matrix, nodes, rows of error weights, rows of the polynomial, the row of the new value, the order of the error."""

    A: np.ndarray
    C: np.ndarray
    errors: np.ndarray
    P: np.ndarray
    exponents: np.ndarray
    last: int
    order: int

    @classmethod
    def of(cls, solver: Any) -> Tableau:
        last, extra = solver.n_stages, getattr(solver, "A_EXTRA", np.zeros((0, 0)))
        rows = last + 1 + len(extra)
        A, C = np.zeros((rows, rows)), np.ones(rows)
        A[:last, : solver.A.shape[1]], C[:last] = solver.A, solver.C
        A[last, :last] = solver.B
        A[last + 1 :, : extra.shape[1]], C[last + 1 :] = extra, getattr(solver, "C_EXTRA", np.zeros(0))
        weights = (solver.E5, solver.E3) if len(extra) else (solver.E,)
        errors = np.array([np.pad(w, (0, rows - len(w))) for w in weights])
        P = _powers(A, last, solver.D) if len(extra) else np.ascontiguousarray(solver.P.T)
        return cls(A, C, errors, P, np.arange(1.0, len(P) + 1.0), last, solver.error_estimator_order)


def _powers(A, last, D):
    """DOP853's polynomial, whose factors are x and 1 - x by turns, in powers of x."""
    rise, first, new = A[last], np.eye(len(A))[0], np.eye(len(A))[last]
    terms = np.vstack([rise, first - rise, 2.0 * rise - new - first, D])
    product, powers = np.poly1d([1.0]), np.zeros((len(terms), len(A)))
    for k, term in enumerate(terms):
        product = product * (np.poly1d([1.0, 0.0]) if k % 2 == 0 else np.poly1d([-1.0, 1.0]))
        for power in range(1, product.order + 1):
            powers[power - 1] += product[power] * term
    return powers


TABLEAUX = {solver.__name__: Tableau.of(solver) for solver in (RK23, RK45, DOP853)}

__all__ = ["TABLEAUX", "explicit_step", "explicit_walk", "explicit_weights"]
