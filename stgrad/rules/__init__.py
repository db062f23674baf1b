"""Derivative rules: one table, filled when the files of this package are imported; SciPy's rules when they are first needed."""

from __future__ import annotations

from . import arrays, broadcasting, choices, creation, decompositions, elementwise, fft, grids, joining, linalg, products, reductions, scans, selecting  # noqa: F401
from .broadcasting import unbroadcast
from .core import (
    TABLE,
    Rule,
    adjoint,
    composite,
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
    "TABLE", "Rule", "adjoint", "composite", "linear", "lookup", "nondiff", "op_name", "partials", "samples", "static",
    "tangent", "unbroadcast",
]  # fmt: skip
