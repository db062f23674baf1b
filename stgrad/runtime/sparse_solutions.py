"""Solutions with sparse matrices, by SciPy: what compiled programs call through Python.

The matrix is that of `data`, `indices` and `indptr` column by column, or its transpose (`turned`). A decomposition is kept for some time: the reverse
sweep solves with the matrices of the forward sweep, and loops over time with the one matrix that they have.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_KEPT = 8
_known: OrderedDict[tuple[bytes, ...], Any] = OrderedDict()
_lock = threading.Lock()


def solved(data: Array, indices: Array, indptr: Array, b: Array, turned: bool, quiet: bool) -> Array:
    """x of `A x = b` for b `(n,)` or `(n, k)`; of a singular matrix NaN with a warning where it is `quiet`, as of `spsolve`, else a RuntimeError."""
    try:
        factors = _decomposed(data, indices, indptr)
    except RuntimeError:
        if not quiet:
            raise
        from scipy.sparse.linalg import MatrixRankWarning

        warnings.warn("Matrix is exactly singular", MatrixRankWarning, stacklevel=2)
        return np.full(b.shape, np.nan, np.result_type(data, b, float))
    return by_factors(factors, b, turned)


def by_factors(factors: Any, b: Array, turned: bool) -> Array:
    """The same of a decomposition (SciPy's `SuperLU`)."""
    trans, real = "T" if turned else "N", factors.L.dtype.kind != "c"
    if real and b.dtype.kind == "c":
        return factors.solve(np.ascontiguousarray(b.real), trans) + 1j * factors.solve(np.ascontiguousarray(b.imag), trans)  # type: ignore[no-any-return]
    return factors.solve(np.asfortranarray(b, factors.L.dtype), trans)  # type: ignore[no-any-return]


def iterated(method: tuple[Any, ...], data: Array, indices: Array, indptr: Array, b: Array, start: Array, turned: bool) -> tuple[Array, int]:
    """What an iteration of `scipy.sparse.linalg` gives: the solution that it comes near, and how it ended."""
    import scipy.sparse.linalg as linalg

    name, rtol, atol, maxiter, preconditioner, options = method
    matrix = _matrix(data, indices, indptr)
    limits = {"rtol": rtol, "maxiter": maxiter} if name == "minres" else {"rtol": rtol, "maxiter": maxiter, "atol": atol}
    x, info = getattr(linalg, name)(matrix.T if turned else matrix, b, x0=start, M=preconditioner, **limits, **dict(options))
    return x, int(info)


def _decomposed(data: Array, indices: Array, indptr: Array) -> Any:
    from scipy.sparse.linalg import splu

    key = (data.tobytes(), str(data.dtype).encode(), indices.tobytes(), indptr.tobytes())
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    found = splu(_matrix(data, indices, indptr))
    with _lock:
        _known[key] = found
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found


def _matrix(data: Array, indices: Array, indptr: Array) -> Any:
    from scipy.sparse import csc_matrix

    n = len(indptr) - 1
    return csc_matrix((np.asarray(data, np.result_type(data, float)), indices.astype(np.intc), indptr.astype(np.intc)), (n, n))


__all__ = ["by_factors", "iterated", "solved"]
