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

# Reductions that raise a ValueError where they have no item.
OF_SOME = frozenset("np.max np.amax np.min np.amin np.nanmax np.nanmin np.argmax np.argmin np.ptp".split())

# Operations of no kind of their own that raise nothing, whatever numbers and extents they get, but where extents do not agree.
SURE = frozenset(
    """np.allclose np.angle np.append np.argsort np.argwhere np.around np.array_equal np.array_equiv np.atleast_1d np.atleast_2d np.atleast_3d np.bartlett
    np.blackman np.broadcast_arrays np.can_cast np.column_stack np.compress np.convolve np.correlate np.corrcoef np.count_nonzero np.cov np.cross np.cumprod
    np.cumsum np.cumulative_prod np.cumulative_sum np.diagflat np.diff np.dstack np.ediff1d np.einsum np.extract np.fft.fftshift np.fft.ifftshift np.fix
    np.flatnonzero np.flip np.fliplr np.flipud np.frexp np.gcd np.hamming np.hanning np.hstack np.inner np.isclose np.iscomplex np.iscomplexobj np.isin
    np.isneginf np.isposinf np.isreal np.isrealobj np.isscalar np.issubdtype np.ix_ np.kron np.lcm np.ldexp np.lexsort np.linalg.cross np.linalg.det
    np.linalg.diagonal np.linalg.matmul np.linalg.matrix_norm np.linalg.matrix_transpose np.linalg.multi_dot np.linalg.norm np.linalg.outer
    np.linalg.slogdet np.linalg.tensordot np.linalg.trace np.linalg.vecdot np.linalg.vector_norm np.matrix_transpose np.matvec np.median np.meshgrid
    np.min_scalar_type np.modf np.nan_to_num np.nancumprod np.nancumsum np.nanmean np.nanmedian np.nanprod np.nanstd np.nansum np.nanvar np.nonzero
    np.outer np.poly np.polyadd np.polyder np.polyint np.polymul np.polysub np.polyval np.promote_types np.result_type np.rollaxis np.rot90 np.round
    np.searchsorted np.select np.sinc np.spacing np.std np.tensordot np.trace np.trapezoid np.tril_indices_from np.triu_indices_from np.unique np.unwrap
    np.vdot np.vecdot np.vecmat np.vstack""".split()
)

# The same but for whole numbers that they are given, and arrays that are too short for these: what a program knows of both has been tried when it is read.
COUNTED = frozenset(
    """np.argpartition np.array_split np.diag_indices np.diag_indices_from np.dsplit np.eye np.fft.fft np.fft.fft2 np.fft.fftfreq np.fft.fftn np.fft.hfft
    np.fft.ifft np.fft.ifft2 np.fft.ifftn np.fft.ihfft np.fft.irfft np.fft.irfft2 np.fft.irfftn np.fft.rfft np.fft.rfft2 np.fft.rfftfreq np.fft.rfftn
    np.geomspace np.hsplit np.identity np.indices np.linspace np.logspace np.pad np.partition np.split np.tile np.tri np.tril_indices
    np.triu_indices np.vsplit np.lib.stride_tricks.sliding_window_view""".split()
)

# Operations with one-sided derivatives somewhere: the rules say which one counts there (docs/limits.md).
KINKS = frozenset(
    """np.absolute np.fabs math.fabs np.maximum np.fmax np.minimum np.fmin np.clip np.max np.min np.amax np.amin np.nanmax np.nanmin np.sort
    np.partition np.median np.nanmedian np.quantile np.percentile np.ptp np.hypot np.linalg.norm np.linalg.eigh np.linalg.eigvalsh np.linalg.svd
    np.interp np.unwrap np.remainder np.fmod math.fmod np.heaviside np.copysign math.copysign""".split()
)
