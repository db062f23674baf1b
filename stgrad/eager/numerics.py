"""Checks of results for infinities and NaN.

Enabled, a check is a recorder of its own that follows every tensor, so operations cost nothing more when it is off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.record import state
from stgrad.eager.tensor import Tensor


class _Everything:
    def __contains__(self, key: object) -> bool:
        return True


class Checker:
    """Raises at the first result that is not finite."""

    passive = True
    ids = _Everything()

    def add(self, op: Any, y: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any) -> None:
        if state.numpy_promotion:  # inside a rule infinities may come and go; what it returns is checked
            return
        for output in y if isinstance(y, tuple) else (y,):
            complain(output._a, op.name, inputs)

    def note(self, reason: str, x: Any, y: Any) -> None:
        pass

    def watch_variable(self, variable: Any) -> None:
        pass


def complain(value: Any, name: str, inputs: tuple[Any, ...]) -> None:
    """InvalidArgumentError naming the operation and its inputs, unless the value is finite."""
    if value.dtype.kind not in "fc" or np.all(np.isfinite(value)):
        return
    bad = [text for text, test in (("-Inf", np.isneginf), ("+Inf", np.isposinf), ("NaN", np.isnan)) if np.any(test(np.real(value)))]
    shown = "".join(f"\n  Input tensor: {x!r}" for x in inputs)
    raise InvalidArgumentError(
        f'!!! Detected Infinity or NaN in output 0 of eagerly-executing op "{name}" (# of outputs: 1) !!!\n  dtype: {value.dtype}\n'
        f"  shape: {value.shape}\n  # of {', '.join(bad)} elements: {int(np.sum(~np.isfinite(value)))}{shown}"
    )


_checker = Checker()


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Check every result, in forward and backward passes, on this thread: InvalidArgumentError where one is not finite."""
    if _checker not in state.recorders:
        state.recorders = (_checker, *state.recorders)
        state.check_numerics = True


def disable_check_numerics() -> None:
    """Stop checking."""
    state.recorders = tuple([r for r in state.recorders if r is not _checker])
    state.check_numerics = False


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor, if it is finite; else InvalidArgumentError with the message."""
    t = convert_to_tensor(tensor)
    if not np.all(np.isfinite(t._a)):
        kind = "NaN" if np.any(np.isnan(t._a)) else "Inf"
        raise InvalidArgumentError(f"{message} : Tensor had {kind} values", "CheckNumerics")
    return t
