"""Where functions of the `math` module raise: a condition on an argument, and arguments with which Python itself is asked what it raises.

And which operations have kinks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Comparison = tuple[str, float]  # a comparison, and what the operand is compared with


@dataclass(frozen=True)
class Row:
    """An operation raises where all of `where`, comparisons of an argument (or of its size), hold.

    `example` are arguments with which Python raises it. `at` is the argument; `sized` compares its absolute value.
    """

    where: tuple[Comparison, ...]
    call: Callable[..., Any]
    example: tuple[Any, ...]
    at: int = 0
    sized: bool = False
    rare: bool = False  # tested with checked=True alone: infinity is rare, and loops of them are not
    whole: bool = False  # and the argument is an integer


def _rows(where: Sequence[Comparison], *calls: Callable[..., Any], example: float, sized: bool = False, rare: bool = False) -> dict[str, tuple[Row, ...]]:
    return {f"math.{call.__name__}": (Row(tuple(where), call, (example,), sized=sized, rare=rare),) for call in calls}


_FINITE = ("np.less", math.inf)
RAISES: dict[str, tuple[Row, ...]] = {
    **_rows([("np.less", 0.0)], math.sqrt, example=-1.0),
    **_rows([("np.less_equal", 0.0)], math.log, math.log2, math.log10, example=0.0),
    **_rows([("np.less_equal", -1.0)], math.log1p, example=-1.0),
    **_rows([("np.greater", math.log(1.7976931348623157e308)), _FINITE], math.exp, math.expm1, example=1e3),
    **_rows([("np.greater", 710.4758600739439), _FINITE], math.cosh, math.sinh, example=1e3, sized=True),
    **_rows([("np.greater", 1.0)], math.asin, math.acos, example=2.0, sized=True),
    **_rows([("np.greater_equal", 1.0)], math.atanh, example=1.0, sized=True),
    **_rows([("np.less", 1.0)], math.acosh, example=0.0),
    **_rows([("np.equal", math.inf)], math.sin, math.cos, math.tan, example=math.inf, sized=True, rare=True),
    **{
        f"math.{call.__name__}": (Row((("np.less_equal", 0.0),), call, (0.0,), whole=True), Row((("np.greater", top), _FINITE), call, (1e308,)))
        for call, top in ((math.gamma, 171.6243769563027), (math.lgamma, 2.55e305))
    },
    "math.fmod": (Row((("np.equal", 0.0),), math.fmod, (1.0, 0.0), at=1), Row((("np.equal", math.inf),), math.fmod, (math.inf, 1.0), sized=True, rare=True)),
}

# Operations with one-sided derivatives somewhere: the rules say which one counts there (docs/limits.md).
KINKS = frozenset(
    """np.absolute np.fabs math.fabs np.maximum np.fmax np.minimum np.fmin np.clip np.max np.min np.amax np.amin np.nanmax np.nanmin np.sort
    np.partition np.median np.nanmedian np.quantile np.percentile np.ptp np.hypot np.linalg.norm np.linalg.eigh np.linalg.eigvalsh np.linalg.svd
    np.interp np.unwrap np.remainder np.fmod math.fmod np.heaviside np.copysign math.copysign""".split()
)
