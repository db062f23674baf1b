"""Penalties on weights."""

from __future__ import annotations

from typing import Any

from stgrad.eager import ops_math
from stgrad.eager.ops_reduce import reduce_sum


class L1L2:
    """l1 sum|w| + l2 sum w²."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = l1, l2

    def __call__(self, x: Any) -> Any:
        return self.l1 * reduce_sum(ops_math.abs(x)) + self.l2 * reduce_sum(ops_math.square(x))


class L1(L1L2):
    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=l1)


class L2(L1L2):
    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=l2)


l1, l2 = L1, L2


def get(identifier: Any) -> Any:
    """A regularizer from its name or a callable."""
    if isinstance(identifier, str):
        return {"l1": L1, "l2": L2, "l1_l2": L1L2}[identifier]()
    return identifier
