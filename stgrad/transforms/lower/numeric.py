"""Casts that make Numba compute NumPy's dtypes.

Numba types scalars by rules of its own: float32 times a Python float is float64 there, int32 plus int32 is int64. NumPy
computes an elementwise operation in one dtype, which the result tells (or, for comparisons, the operands). So operands are cast to
that dtype where it is narrower than Numba's, constants at compile time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.ir import Const
from stgrad.ir.ops import operation
from stgrad.transforms.lower.nest import Call, Expr, Lit

WRITTEN_OUT = 13  # the largest exponent of a power that is written out as products
WIDE = frozenset({"float64", "int64", "complex128", "bool"})  # Numba's own choice is NumPy's


def literal(value: Any, dtype: str) -> Const:
    """A number as a constant of a dtype: a Python literal where that is the same.

    >>> literal(2, "float64"), literal(0.5, "float32")
    (Const(value=2.0), Const(value=np.float32(0.5)))
    """
    if dtype in WIDE:
        return Const({"float64": float, "int64": int, "complex128": complex, "bool": bool}[dtype](value))
    if isinstance(value, int) and np.dtype(dtype).kind in "iu":  # where Python's does not fit, the program has raised
        value = int(np.iinfo(dtype).min) + (value - int(np.iinfo(dtype).min)) % 2 ** (8 * np.dtype(dtype).itemsize)
    return Const(np.dtype(dtype).type(value))


def as_dtype(expr: Expr, dtype: str) -> Expr:
    """An element converted to a dtype."""
    if expr.dtype == dtype and not expr.weak:
        return expr
    if isinstance(expr, Lit):
        return Lit(literal(expr.operand.value, dtype), dtype, weak=False)
    if expr.dtype == dtype and dtype in WIDE:
        return expr
    if expr.weak and expr.dtype == "int64" and np.dtype(dtype).kind in "iu":  # NumPy takes Python's integers only where they fit
        expr = Call("cast", (expr, Lit(Const("int64"), "str")), "int64")
    return Call("cast", (expr, Lit(Const(dtype), "str")), dtype)


def common(args: tuple[Expr, ...]) -> str:
    """The dtype in which NumPy compares operands: integers of Python's with their own values."""
    python = {"b": False, "i": 1, "u": 1, "f": 1.0, "c": 1j}
    if any(a.weak and a.dtype == "int64" for a in args) and all(np.dtype(a.dtype).kind in "iub" for a in args):
        return "int64"
    return str(np.result_type(*(python[np.dtype(a.dtype).kind] if a.weak else np.dtype(a.dtype) for a in args)))


def element(op: str, args: tuple[Expr, ...], dtype: str) -> Expr | None:
    """The elementwise operation on elements, with NumPy's dtype; None where Numba has no such operation."""
    if op in ("np.where", "select"):
        return Call("select", (args[0], as_dtype(args[1], dtype), as_dtype(args[2], dtype)), dtype)
    if op == "np.clip":
        low = element("np.maximum", (args[0], args[1]), dtype)
        return None if low is None else element("np.minimum", (low, args[2]), dtype)
    known = operation(op)
    if known.real and any(np.dtype(a.dtype).kind == "c" for a in args):
        return None
    if known.kind in ("comparison", "logical", "predicate"):
        if known.kind == "comparison":
            inner = common(args)
            args = tuple(as_dtype(a, inner) if inner not in WIDE or isinstance(a, Lit) else a for a in args)
        return Call(op, args, "bool")
    if op == "np.invert" and dtype == "bool":  # of Python's it would be an integer
        return Call("not", args, dtype)
    if dtype == "bool" and not op.startswith("np.bitwise"):
        return None
    if op == "np.power":
        power = small_power(args[0], args[1], dtype)
        if power is not None:
            return power
    return typed(op, args, dtype)


def typed(op: str, args: tuple[Expr, ...], dtype: str) -> Expr:
    """`op(*args)` with operands cast where Numba would compute another dtype."""
    if not operation(op).own:
        args = tuple(as_dtype(a, dtype) if dtype not in WIDE or isinstance(a, Lit) else a for a in args)
    call = Call(op, args, dtype)
    if np.dtype(dtype).kind in "iu" and dtype not in WIDE:
        return Call("cast", (call, Lit(Const(dtype), "str")), dtype)
    return call


def small_power(base: Expr, exponent: Expr, dtype: str) -> Expr | None:
    """`x**2` as `x*x`, `x**-1.5` as `1.0/(x*np.sqrt(x))`: whole and half exponents that are not large, by squaring, with at most one root.

    >>> from stgrad.ir import Const
    >>> small_power(Lit(Const(3.0), "float64"), Lit(Const(0.5), "float64"), "float64").op
    'np.sqrt'
    """
    kind = np.dtype(dtype).kind
    if not isinstance(exponent, Lit) or kind not in "fci":
        return None
    value: Any = exponent.operand.value
    base = as_dtype(base, dtype)
    if kind == "f" and 0 < abs(value) <= WRITTEN_OUT and 2 * value % 1 == 0:
        whole, half = divmod(int(2 * abs(value)), 2)
        signed = value < 0 and whole % 2 == 0  # of -0.0, whose root is -0.0, and 1 / -0.0 is -inf
        root = typed("np.sqrt", (typed("np.add", (base, Lit(Const(0.0), "float64")), dtype) if signed else base,), dtype)
        power = root if whole == 0 else _whole_power(base, whole, dtype)
        if half and whole:
            power = typed("np.multiply", (power, root), dtype)
        return power if value > 0 else typed("np.divide", (Lit(Const(1.0), "float64"), power), dtype)
    if value == 0.5:
        return typed("np.sqrt", (base,), dtype)
    return _whole_power(base, int(value), dtype) if value in (1, 2, 3, 4) else None


def _whole_power(base: Expr, n: int, dtype: str) -> Expr:
    """The product of n equal factors."""
    if n == 1:
        return base
    half = _whole_power(base, n // 2, dtype)
    square = typed("np.multiply", (half, half), dtype)
    return typed("np.multiply", (square, base), dtype) if n % 2 else square
