"""Casts of Python that Numba lacks: a bool as a float or a complex number."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload


@overload(float, strict=False)
def _float_of_bool(x: Any) -> Any:
    return (lambda x: 1.0 if x else 0.0) if isinstance(x, types.Boolean) else None


@overload(complex, strict=False)
def _complex_of_bool(x: Any) -> Any:
    return (lambda x: 1.0 + 0.0j if x else 0.0j) if isinstance(x, types.Boolean) else None
