"""`scipy.special.logsumexp` of real arrays as compiled loops; elsewhere it is a call into Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload, register_jitable
from scipy.special import logsumexp as reference

__all__ = ["logsumexp", "logsumexp_columns", "logsumexp_rows"]


def logsumexp(x: Any) -> Any:
    """The logarithm of the sum of exponentials of all elements.

    >>> round(float(logsumexp(np.array([1000.0, 1000.0]))), 6)
    1000.693147
    """
    return reference(x)


def logsumexp_rows(x: Any) -> Any:
    """That of each row of a matrix."""
    return reference(x, axis=1)


def logsumexp_columns(x: Any) -> Any:
    """That of each column of a matrix."""
    return reference(x, axis=0)


@register_jitable
def _of(x: Any) -> Any:
    """Of a vector; -inf for an empty one, nan where one element is."""
    top = -np.inf
    for value in x:
        if value > top or value != value:
            top = value
    if np.isinf(top):
        top = 0.0
    total = 0.0
    for value in x:
        total += np.exp(value - top)
    return np.log(total) + top


@overload(logsumexp, strict=False)
def _logsumexp(x: Any) -> Any:
    return _of if x.ndim == 1 else lambda x: _of(x.ravel())


@overload(logsumexp_rows, strict=False)
def _logsumexp_rows(x: Any) -> Any:
    def rows(x: Any) -> Any:
        y = np.empty(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = _of(x[i])
        return y

    return rows


@overload(logsumexp_columns, strict=False)
def _logsumexp_columns(x: Any) -> Any:
    def columns(x: Any) -> Any:
        y = np.empty(x.shape[1])
        for j in range(x.shape[1]):
            y[j] = _of(x[:, j])
        return y

    return columns
