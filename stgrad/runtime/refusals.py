"""Whether LAPACK refuses a matrix: what a `try` around `np.linalg` tests in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from stgrad.runtime.solving import inv

__all__ = ["indefinite", "singular", "unbounded"]


def singular(a: Any) -> bool:
    """Whether the inverse of a matrix, or one of several, does not exist: a pivot is exactly 0.

    >>> singular(np.ones((2, 2))), singular(np.eye(2))
    (True, False)
    """
    try:
        inv(a)
    except np.linalg.LinAlgError:
        return True
    return False


def indefinite(a: Any) -> bool:
    """Whether a symmetric matrix has no Cholesky factor.

    >>> indefinite(-np.eye(2)), indefinite(np.eye(2))
    (True, False)
    """
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return True
    return False


def unbounded(a: Any) -> bool:
    """Whether a matrix holds infinities or NaNs, for which iterations do not converge.

    >>> unbounded(np.array([[np.inf]])), unbounded(np.eye(2))
    (True, False)
    """
    return not bool(np.all(np.isfinite(a)))


@overload(singular, strict=False)
def _singular(a: Any) -> Any:
    def impl(a: Any) -> bool:
        try:
            inv(a)
        except Exception:  # noqa: BLE001  (Numba knows no other)
            return True
        return False

    return impl


@overload(indefinite, strict=False)
def _indefinite(a: Any) -> Any:
    def impl(a: Any) -> bool:
        try:
            np.linalg.cholesky(a)
        except Exception:  # noqa: BLE001  (Numba knows no other)
            return True
        return False

    return impl


@overload(unbounded, strict=False)
def _unbounded(a: Any) -> Any:
    def impl(a: Any) -> bool:
        for value in a.flat:  # noqa: SIM110  (compiled)
            if not np.isfinite(value):
                return True
        return False

    return impl
