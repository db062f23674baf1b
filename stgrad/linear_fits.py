# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.optimize.nnls` and `lsq_linear` as plain Python, read in place of their calls: which bounds hold is SciPy's answer, the rest a least-squares problem.

Where a bound holds x, x is the bound; the others solve min |A x - b| without bounds, and have its derivative. It is that of the side that SciPy chose where
a bound holds x without pressing on it.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

from stgrad.frontend.library import refuse
from stgrad.registered import register_gradient

_REST = "`lsq_solver` and `lsmr_tol` of scipy.optimize.lsq_linear are not supported"


class LinearFit:
    """What `lsq_linear` returns."""

    def __init__(self, x, cost, fun, active_mask):
        self.x, self.cost, self.fun, self.active_mask = x, cost, fun, active_mask
        self.success = True

    def __getitem__(self, name):
        return getattr(self, name)


def bounds_that_hold(a, b, low, high, most):
    """-1.0 and 1.0 where the lower and the upper bound hold x, else 0.0."""
    if np.all(low == 0.0) and np.all(high == np.inf):
        x, _ = optimize.nnls(a, b, maxiter=most if most > 0 else None)
        return np.where(x > 0.0, 0.0, -1.0)
    found = optimize.lsq_linear(a, b, (low, high), method="bvls", max_iter=most if most > 0 else None)
    if not found.success:
        raise RuntimeError(found.message)
    return found.active_mask.astype(np.float64)


def _without_slope(y, y_bar, *args):
    """It jumps."""
    return (None,) * len(args)


register_gradient(bounds_that_hold, _without_slope, abstract=np.zeros(1))


def nnls(A, b, *, maxiter=None, atol=None):  # noqa: N803  (SciPy's name)
    n = np.shape(A)[1]
    a, right = 1.0 * np.asarray(A), 1.0 * np.ravel(np.asarray(b))
    held = bounds_that_hold(a, right, np.zeros(n), np.full(n, np.inf), 0 if maxiter is None else maxiter)
    x = _solved(a, right, held, np.zeros(n))
    left = a @ x - right
    return x, np.sqrt(np.sum(left * left))


def lsq_linear(
    A, b, bounds=None, method="trf", tol=1e-10, lsq_solver=None, lsmr_tol=None, max_iter=None, verbose=0, *, lsmr_maxiter=None,  # noqa: N803
):  # fmt: skip
    refuse(lsq_solver is not None or lsmr_tol is not None, _REST)
    n = np.shape(A)[1]
    a, right = 1.0 * np.asarray(A), 1.0 * np.ravel(np.asarray(b))
    if bounds is None:
        x, held = np.linalg.lstsq(a, right, rcond=-1)[0], np.zeros(n)
    else:
        low, high = 1.0 * np.broadcast_to(bounds[0], (n,)), 1.0 * np.broadcast_to(bounds[1], (n,))
        held = bounds_that_hold(a, right, low, high, 0)
        x = _solved(a, right, held, np.where(held < 0.0, low, np.where(held > 0.0, high, 0.0)))
    left = a @ x - right
    return LinearFit(x, 0.5 * np.sum(left * left), left, held)


def _solved(a, b, held, fixed):
    """The x that is `fixed` where it is held, and solves min |a x - b| elsewhere."""
    free = np.where(held == 0.0, 1.0, 0.0)
    rows = np.concatenate((a * free, np.diag(1.0 - free)))
    return fixed + np.linalg.lstsq(rows, np.concatenate((b - a @ fixed, np.zeros(len(free)))), rcond=-1)[0]


__all__ = ["lsq_linear", "nnls"]
