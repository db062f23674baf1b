"""Bottleneck's reductions, which are in C: what they compute, by NumPy's functions. pandas, xarray and others call them where they are installed.

Options stand where Bottleneck has them: the second one of `nanstd` is the degrees of freedom that are lost, which NumPy has further behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def nansum(a: Any, axis: Any = None) -> Any:
    return np.nansum(a, axis=axis)


def nanmean(a: Any, axis: Any = None) -> Any:
    return np.nanmean(a, axis=axis)


def nanstd(a: Any, axis: Any = None, ddof: int = 0) -> Any:
    return np.nanstd(a, axis=axis, ddof=ddof)


def nanvar(a: Any, axis: Any = None, ddof: int = 0) -> Any:
    return np.nanvar(a, axis=axis, ddof=ddof)


def nanmin(a: Any, axis: Any = None) -> Any:
    return np.nanmin(a, axis=axis)


def nanmax(a: Any, axis: Any = None) -> Any:
    return np.nanmax(a, axis=axis)


def nanargmin(a: Any, axis: Any = None) -> Any:
    return np.nanargmin(a, axis=axis)


def nanargmax(a: Any, axis: Any = None) -> Any:
    return np.nanargmax(a, axis=axis)


def median(a: Any, axis: Any = None) -> Any:
    return np.median(a, axis=axis)


def nanmedian(a: Any, axis: Any = None) -> Any:
    return np.nanmedian(a, axis=axis)


def ss(a: Any, axis: Any = None) -> Any:
    return np.sum(np.square(a), axis=axis)


def anynan(a: Any, axis: Any = None) -> Any:
    return np.any(np.isnan(a), axis=axis)


def allnan(a: Any, axis: Any = None) -> Any:
    return np.all(np.isnan(a), axis=axis)
