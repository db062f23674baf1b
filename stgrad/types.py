"""What is known of a value of the running program: dtype, rank, symbolic extents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Dim:
    """The extent of an axis, or the value of an integer: `symbol + offset`, or the constant `offset`.

    Equal symbols mean equal run-time values. Different symbols mean nothing.
    """

    symbol: str | None
    offset: int = 0

    @property
    def constant(self) -> int | None:
        return self.offset if self.symbol is None else None

    def __str__(self) -> str:
        if self.symbol is None:
            return str(self.offset)
        return self.symbol if not self.offset else f"{self.symbol}{self.offset:+d}"


@dataclass(frozen=True, slots=True)
class Type:
    """What is known of a name: dtype, rank and symbolic extents.

    `dtype` is a NumPy dtype name ('float64', 'int64', 'bool', 'complex128'...). `weak` marks a Python scalar, which
    does not raise the dtype of what it meets. `array` tells an ndarray (0-d ones too) from a scalar. `value` is
    the symbolic value of an integer scalar, where one is known.
    """

    dtype: str
    dims: tuple[Dim, ...] = ()
    array: bool = False
    weak: bool = False
    value: Dim | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def is_float(self) -> bool:
        """Whether it can carry a derivative: a real or complex floating type."""
        return self.dtype.startswith(("float", "complex"))

    @property
    def one(self) -> Any:
        """1 in this dtype, so that what is made of it has it too."""
        return 1.0 if self.weak or self.dtype == "float64" else np.dtype(self.dtype).type(1)

    def __str__(self) -> str:
        if not self.array:
            return {"float64": "float", "int64": "int", "complex128": "complex"}.get(self.dtype, self.dtype) if self.weak else self.dtype
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]"
