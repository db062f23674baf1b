"""Scalar helpers of generated loops: reassociating sums, extremes that propagate NaN.

Each is a plain Python function with a Numba overload, so that generated loops also run, and can be stepped through, in plain Python.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from stgrad.runtime.vecmath import sigmoid

__all__ = ["divide", "expit", "opaque", "radd", "safe_product", "unsigned", "vmax", "vmin", "wrapped"]


def radd(total: Any, value: Any) -> Any:
    """`total + value`, a step of a sum whose order does not matter: compiled loops may add in vector lanes."""
    return total + value


@intrinsic
def _radd(typingctx: Any, total: Any, value: Any) -> Any:
    if not (isinstance(total, types.Float) and isinstance(value, types.Float)):
        return None

    result = typingctx.unify_types(total, value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left = context.cast(builder, args[0], signature.args[0], result)
        right = context.cast(builder, args[1], signature.args[1], result)
        return builder.fadd(left, right, flags=("reassoc", "nsz"))

    return result(total, value), codegen


@overload(radd, strict=False)
def _radd_overload(total: Any, value: Any) -> Any:
    if isinstance(total, types.Float) and isinstance(value, types.Float):
        return lambda total, value: _radd(total, value)
    return lambda total, value: total + value


def wrapped(k: Any, n: Any) -> Any:
    """`k % n` of integers, where `k` mostly is a place among `n`, or close by, as in `(i - 1) % n`: then without a division, which takes 20 to 40 cycles.

    >>> [wrapped(k, 3) for k in (-4, -1, 0, 2, 3, 8)]
    [2, 2, 0, 2, 0, 2]
    """
    return k % n


@overload(wrapped, strict=False)
def _wrapped(k: Any, n: Any) -> Any:
    def place(k: Any, n: Any) -> Any:
        if 0 <= k < n:
            return k
        near = k + n if k < 0 else k - n
        return near if 0 <= near < n else k % n

    return place


def safe_product(g: Any, p: Any) -> Any:
    """`g * p` of numbers or arrays, with zero where g is 0 and p is not finite: nothing depends on what is left out. For text that people read and run.

    >>> safe_product(np.array([0.0, 2.0]), np.array([np.inf, 3.0])).tolist()
    [0.0, 6.0]
    """
    return g * np.where(np.logical_and(g == 0.0, np.logical_not(np.isfinite(p))), 0.0, p)


def divide(a: Any, b: Any) -> Any:
    """`a / b` of NumPy's complex numbers: infinite or NaN where b is zero. Numba's `/` raises there, whatever its error model."""
    return np.divide(a, b)


@overload(divide, strict=False)
def _divide_overload(a: Any, b: Any) -> Any:
    return lambda a, b: np.divide(a, b)


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x)) by the C library's exponential function."""
    return sigmoid(x)


@overload(expit, strict=False)
def _expit_overload(x: Any) -> Any:
    if not isinstance(x, types.Float):
        return None
    one = np.float32(1.0) if x == types.float32 else 1.0

    def implementation(x: Any) -> Any:
        e = math.exp(-abs(x))
        return (one if x >= 0.0 else e) / (one + e)

    return implementation


def unsigned(i: Any) -> Any:
    """A position that is known not to be negative: it never counts from the end."""
    return i


@intrinsic
def _unsigned(typingctx: Any, i: Any) -> Any:
    return types.uintp(types.intp), lambda context, builder, signature, args: args[0]


@overload(unsigned, strict=False)
def _unsigned_overload(i: Any) -> Any:
    return lambda i: _unsigned(i)


def opaque(i: Any) -> Any:
    """`i` itself. LLVM cannot see how it moves.

    Where the trips of an outer loop go down, LLVM's overlap tests for all trips at once (`-hoist-runtime-checks`) always fail; it tests each trip then.
    """
    return i


@intrinsic
def _opaque(typingctx: Any, i: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        return builder.asm(llvm.FunctionType(kind, [kind]), "", "=r,0", args, False)

    return types.intp(types.intp), codegen


@overload(opaque, strict=False)
def _opaque_overload(i: Any) -> Any:
    return lambda i: _opaque(i)


def vmax(a: Any, b: Any) -> Any:
    """The larger of two numbers; NaN if one is NaN."""
    return a if a > b or a != a else b


def vmin(a: Any, b: Any) -> Any:
    """The smaller of two numbers; NaN if one is NaN."""
    return a if a < b or a != a else b


def _extreme(name: str) -> Any:
    """An intrinsic that calls `llvm.maximum` or `llvm.minimum` on two floats of one type."""

    @intrinsic
    def call(typingctx: Any, a: Any, b: Any) -> Any:
        if not (isinstance(a, types.Float) and a == b):
            return None

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type
            suffix = "f64" if isinstance(kind, llvm.DoubleType) else "f32"
            function = cgutils.get_or_insert_function(builder.module, llvm.FunctionType(kind, [kind, kind]), f"llvm.{name}.{suffix}")
            return builder.call(function, args)

        return a(a, b), codegen

    return call


_maximum = _extreme("maximum")
_minimum = _extreme("minimum")


@overload(vmax, strict=False)
def _vmax_overload(a: Any, b: Any) -> Any:
    if isinstance(a, types.Float) and a == b:
        return lambda a, b: _maximum(a, b)
    return lambda a, b: a if a > b or a != a else b


@overload(vmin, strict=False)
def _vmin_overload(a: Any, b: Any) -> Any:
    if isinstance(a, types.Float) and a == b:
        return lambda a, b: _minimum(a, b)
    return lambda a, b: a if a < b or a != a else b
