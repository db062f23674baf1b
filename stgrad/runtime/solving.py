"""Linear systems and determinants of the smallest matrices: written out, where a call of LAPACK costs more than the work.

Gaussian elimination with partial pivoting (Golub & Van Loan 2013, algorithm 3.4.1), as LAPACK does it: the same accuracy, and a pivot
of exactly 0 raises. Larger matrices go to LAPACK.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from stgrad.runtime.memory import empty
from stgrad.runtime.shared import DTYPES, columns, matrix, share, vector

__all__ = ["det", "inv", "solve"]

FEW = 6  # rows
SINGULAR = "Singular matrix"


def solve(a: Any, b: Any) -> Any:
    """`np.linalg.solve(a, b)` for one matrix."""
    return np.linalg.solve(a, b)


def inv(a: Any) -> Any:
    """`np.linalg.inv(a)` for one matrix."""
    return np.linalg.inv(a)


def det(a: Any) -> Any:
    """`np.linalg.det(a)` for one matrix."""
    return np.linalg.det(a)


def _solve_vector(a: Any, b: Any) -> Any:
    n = a.shape[0]
    if n > FEW or a.shape[1] != n or b.shape[0] != n:
        return np.linalg.solve(a, b)
    x = empty(n, a.dtype)
    for i in range(n):
        x[i] = b[i]
    _substitute(_copied(a), x.reshape((n, 1)))
    return x


def _solve_matrix(a: Any, b: Any) -> Any:
    n = a.shape[0]
    if n > FEW or a.shape[1] != n or b.shape[0] != n:
        return np.linalg.solve(a, b)
    x = empty((b.shape[1], n), a.dtype).T  # columns in one piece, as from LAPACK
    for i in range(n):
        for j in range(b.shape[1]):
            x[i, j] = b[i, j]
    _substitute(_copied(a), x)
    return x


def _inverse(a: Any) -> Any:
    n = a.shape[0]
    if n > FEW or a.shape[1] != n:
        return np.linalg.inv(a)
    x = empty((n, n), a.dtype).T
    for i in range(n):
        for j in range(n):
            x[i, j] = 1.0 if i == j else 0.0
    _substitute(_copied(a), x)
    return x


def _determinant(a: Any) -> Any:
    n = a.shape[0]
    if n > FEW or a.shape[1] != n:
        return np.linalg.det(a)
    lu = _copied(a)
    product = a.dtype.type(1)
    for k in range(n):
        if _pivot(lu, k) != k:
            product = -product
        product *= lu[k, k]
        if lu[k, k] == 0.0:
            break
        _eliminate(lu, k)
    return product


# Complex ones are compiled into the program.
_here = {f: register_jitable(f) for f in (_solve_vector, _solve_matrix, _inverse, _determinant)}
_there = {
    _solve_vector: share(lambda x: (types.Array(x, 1, "C"), matrix(x), vector(x)))(_solve_vector),
    _solve_matrix: share(lambda x: (columns(x), matrix(x), matrix(x)))(_solve_matrix),
    _inverse: share(lambda x: (columns(x), matrix(x)))(_inverse),
    _determinant: share(lambda x: (x, matrix(x)))(_determinant),
}


def _chosen(function: Any, *arrays: Any) -> Any:
    """A function as it is compiled for these types."""
    real = all(getattr(a, "dtype", None) == arrays[0].dtype and arrays[0].dtype in DTYPES for a in arrays)
    return (_there if real else _here)[function]


@overload(solve, strict=False)
def _solve(a: Any, b: Any) -> Any:
    run = _chosen(_solve_vector if b.ndim == 1 else _solve_matrix, a, b)
    return lambda a, b: run(a, b)


@overload(inv, strict=False)
def _inv(a: Any) -> Any:
    run = _chosen(_inverse, a)
    return lambda a: run(a)


@overload(det, strict=False)
def _det(a: Any) -> Any:
    run = _chosen(_determinant, a)
    return lambda a: run(a)


@register_jitable
def _copied(a: Any) -> Any:
    """The matrix in memory of its own."""
    n = a.shape[0]
    lu = empty((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            lu[i, j] = a[i, j]
    return lu


@register_jitable
def _pivot(lu: Any, k: Any) -> Any:
    """Bring the largest element of what is left of column k to the diagonal; where it was."""
    row, top = k, abs(lu[k, k])
    for i in range(k + 1, lu.shape[0]):
        if abs(lu[i, k]) > top:
            row, top = i, abs(lu[i, k])
    if row != k:
        for j in range(lu.shape[1]):
            lu[k, j], lu[row, j] = lu[row, j], lu[k, j]
    return row


@register_jitable
def _eliminate(lu: Any, k: Any) -> None:
    """Clear column k below the diagonal; the factors stay there."""
    n = lu.shape[0]
    scale = 1.0 / lu[k, k]
    for i in range(k + 1, n):
        lu[i, k] *= scale
        for j in range(k + 1, n):
            lu[i, j] -= lu[i, k] * lu[k, j]


@register_jitable
def _substitute(lu: Any, x: Any) -> None:
    """Overwrite the right sides `x` by the solutions, and `lu` by its factors."""
    n, m = x.shape
    for k in range(n):
        row = _pivot(lu, k)
        if lu[k, k] == 0.0:
            raise np.linalg.LinAlgError(SINGULAR)
        if row != k:
            for j in range(m):
                x[k, j], x[row, j] = x[row, j], x[k, j]
        _eliminate(lu, k)
        for i in range(k + 1, n):
            for j in range(m):
                x[i, j] -= lu[i, k] * x[k, j]
    for k in range(n - 1, -1, -1):
        scale = 1.0 / lu[k, k]
        for j in range(m):
            s = x[k, j]
            for i in range(k + 1, n):
                s -= lu[k, i] * x[i, j]
            x[k, j] = s * scale
