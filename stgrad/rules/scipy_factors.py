"""Cholesky's factors of SciPy, made of what compiled code has."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .core import expansion


def factor(a, lower, check_finite):
    """The factor, from the triangle of a real matrix that SciPy reads."""
    if np.shape(a)[0] != np.shape(a)[1]:
        raise ValueError(f"Input array is expected to be square but has the shape: {np.shape(a)}.")
    if check_finite and not np.all(np.isfinite(a)):
        raise ValueError("array must not contain infs or NaNs")
    return np.linalg.cholesky(a) if lower else np.transpose(np.linalg.cholesky(np.transpose(a)))


@expansion(sl.cholesky)
def cholesky_in_parts(a, lower=False, overwrite_a=False, check_finite=True):
    return NotImplemented if np.result_type(a).kind != "f" or np.ndim(a) != 2 else factor(a, lower, check_finite)


@expansion(sl.cho_factor)
def cho_factor_in_parts(a, lower=False, overwrite_a=False, check_finite=True):
    if np.result_type(a).kind != "f" or np.ndim(a) != 2:
        return NotImplemented
    return factor(a, lower, check_finite) + (np.triu(a, 1) if lower else np.tril(a, -1)), lower


@expansion(sl.cho_solve)
def cho_solve_in_parts(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    if np.result_type(c, b).kind != "f" or np.ndim(c) != 2 or np.ndim(b) > 2:
        return NotImplemented
    if lower:
        return sl.solve_triangular(c, sl.solve_triangular(c, b, lower=True, check_finite=check_finite), trans=1, lower=True, check_finite=False)
    return sl.solve_triangular(c, sl.solve_triangular(c, b, trans=1, check_finite=check_finite), check_finite=False)
