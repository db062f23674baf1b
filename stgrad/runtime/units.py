"""Functions of a generated module that its main function calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def unit(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, marked: where the module's main function is compiled, so is this one (`stgrad.loader`)."""
    function._stgrad_unit_ = True  # type: ignore[attr-defined]
    return function
