"""Derivative rules: one table, filled when the files of this package are imported; SciPy's rules when they are first needed."""

from __future__ import annotations

import importlib

from . import (  # noqa: F401
    arrays,
    broadcasting,
    choices,
    creation,
    decompositions,
    elementwise,
    expansions,
    fft,
    grids,
    growing,
    joining,
    linalg,
    polynomials,
    products,
    quantiles,
    reductions,
    scans,
    selecting,
)
from .broadcasting import unbroadcast, widen
from .core import (
    EXPANSIONS,
    LATE,
    TABLE,
    Rule,
    adjoint,
    composite,
    expansion,
    linear,
    lookup,
    nondiff,
    op_name,
    partials,
    samples,
    static,
    tangent,
)

__all__ = [
    "EXPANSIONS", "TABLE", "Rule", "adjoint", "composite", "expansion", "linear", "load_scipy", "lookup", "nondiff", "op_name", "partials", "samples",
    "static", "tangent", "unbroadcast", "widen",
]  # fmt: skip

# SciPy module -> the files with its rules
_SCIPY = {
    "scipy.special": ("special", "gamma", "bessel", "orthogonal", "rarer"),
    "scipy.linalg": ("scipy_linalg", "scipy_lu", "scipy_matrices", "scipy_factors", "scipy_equations"),
    "scipy.signal": ("signal", "resampling"),
    "scipy.fft": ("scipy_fft", "cosines"),
    "scipy.fftpack": ("fftpack",),
    "scipy.integrate": ("quadrature",),
    "scipy.ndimage": ("ndimage", "resampling"),
    "scipy.stats": ("stats", "tails", "distributions", "counts"),
}


def _loader(files: tuple[str, ...]) -> None:
    for file in files:
        importlib.import_module(f".{file}", __name__)


for _module, _files in _SCIPY.items():
    LATE[_module] = lambda files=_files: _loader(files)  # type: ignore[misc]


def load_scipy() -> None:
    """Register the rules of every SciPy module now."""
    while LATE:
        _, load = LATE.popitem()
        load()
