"""Cholesky's factors of SciPy, made of what compiled code has."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .core import expansion


@expansion(sl.cholesky)
def cholesky_in_parts(a, lower=False, overwrite_a=False, check_finite=True):
    if np.result_type(a).kind != "f":
        return NotImplemented
    return np.linalg.cholesky(a) if lower else np.transpose(np.linalg.cholesky(np.transpose(a)))


@expansion(sl.cho_factor)
def cho_factor_in_parts(a, lower=False, overwrite_a=False, check_finite=True):
    if np.result_type(a).kind != "f":
        return NotImplemented
    if lower:
        return np.linalg.cholesky(a) + np.triu(a, 1), lower
    return np.transpose(np.linalg.cholesky(np.transpose(a))) + np.tril(a, -1), lower


@expansion(sl.cho_solve)
def cho_solve_in_parts(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    if np.result_type(c, b).kind != "f" or np.ndim(b) > 2:
        return NotImplemented
    if lower:
        return sl.solve_triangular(c, sl.solve_triangular(c, b, lower=True, check_finite=False), trans=1, lower=True, check_finite=False)
    return sl.solve_triangular(c, sl.solve_triangular(c, b, trans=1, check_finite=False), check_finite=False)
