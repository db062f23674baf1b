"""Where NaNs come from: what programs call that were made with `check_nan=True`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numba import types
from numba.extending import overload

from stgrad.errors import NotANumberError

__all__ = ["any_nan", "raise_nan"]


def any_nan(y: Any) -> bool:
    """Whether a number, or one of an array, is NaN.

    >>> any_nan(np.array([1.0, np.nan])), any_nan(1.0)
    (True, False)
    """
    return bool(np.any(np.not_equal(y, y)))


@overload(any_nan, strict=False)
def _any_nan_overload(y: Any) -> Any:
    if not isinstance(y, types.Array):
        return lambda y: y != y

    def implementation(y: Any) -> bool:
        for value in y.flat:  # noqa: SIM110  (compiled)
            if value != value:
                return True
        return False

    return implementation


@dataclass(frozen=True)
class _Place:
    file: str
    line: int
    col: int
    end_col: int
    text: str
    scope: str = ""


def raise_nan(spec: tuple[Any, ...], y: Any, operands: tuple[Any, ...]) -> None:
    """Raise `NotANumberError` for a statement whose result y has a NaN; nothing where an operand has one already.

    `spec`: what the statement does, the sweep it belongs to, its operands in words, and its place in the user's file.
    """
    op, sweep, words, place = spec
    if any(any_nan(v) for v in operands if _is_number(v)):
        return
    at = np.argwhere(np.isnan(y))[0] if np.ndim(y) else np.zeros(0, int)
    values = iter(operands)
    shown = ", ".join([_shown(next(values), np.shape(y), at) if word is None else word for word in words])
    where = f" at {list(map(int, at))}" if len(at) else ""
    _refuse(f"{op} makes a NaN{where} in the {sweep}", f"its operands are {shown}" if shown else "", place)


def _refuse(message: str, reason: str, place: Any) -> NoReturn:
    raise NotANumberError(message, _Place(*place) if place is not None else None, reason=reason)


def _is_number(v: Any) -> bool:
    return isinstance(v, (float, complex, np.inexact)) or isinstance(v, np.ndarray) and v.dtype.kind in "fc"


def _shown(value: Any, shape: tuple[int, ...], at: Any) -> str:
    """A number; of an array that goes with the result, the one at its place; of others their shape and range."""
    if not isinstance(value, np.ndarray):
        return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    if value.shape == shape:
        return f"{value[tuple(at)]:.6g}"
    if not value.size or value.dtype.kind not in "fiu":
        return f"an array of shape {value.shape}"
    return f"an array of shape {value.shape} from {np.min(value):.6g} to {np.max(value):.6g}"
