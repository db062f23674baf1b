"""Matrix products into memory that is already there: loops for the smallest, BLAS for the others.

Numba allocates every result of `a @ b`, and a call of BLAS takes as long as a product of 5 by 5. Shapes: `a` (m, k), `b` (k, n), or a vector (k,)
on either side; `out` (m, n), (m,) or (n,) shares memory with neither.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable
from numba.np.linalg import check_blas_return, get_blas_kind, make_constant_slot

from stgrad.runtime.memory import empty

__all__ = ["add_matmul", "matmul"]

FEW = 128  # multiplications that loops do faster than a call of BLAS
MISMATCH = "matmul: the extents of the operands do not match"


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """`out[...] = a @ b`; the result is `out`, or a new array."""
    return np.matmul(a, b) if out is None else np.matmul(a, b, out=out)


def add_matmul(a: Any, b: Any, out: Any) -> Any:
    """`out[...] += a @ b`; the result is `out`."""
    out += a @ b
    return out


# ------------------------------------------------------------------------ BLAS


def _blas(rank: int, beta: float) -> Any:
    """The intrinsic that calls gemm or gemv, `beta` times what is there added."""

    @intrinsic
    def call(typingctx: Any, orders: Any, sizes: Any, a: Any, ld_a: Any, b: Any, ld_b: Any, out: Any) -> Any:
        signature = types.void(orders, sizes, a, ld_a, b, ld_b, out)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            dtype = a.dtype
            data = [
                builder.bitcast(context.make_array(signature.args[k])(context, builder, args[k]).data, cgutils.voidptr_t) for k in (2, 4, 6)
            ]
            orders, sizes = (cgutils.unpack_tuple(builder, args[k]) for k in (0, 1))
            one, scale = (
                builder.bitcast(make_constant_slot(context, builder, dtype, float(x)), cgutils.voidptr_t) for x in (1.0, beta)
            )
            kind = llvm.IntType(8)(ord(get_blas_kind(dtype)))
            letters = [builder.select(cgutils.is_true(builder, o), llvm.IntType(8)(ord("t")), llvm.IntType(8)(ord("n"))) for o in orders]
            if rank == 2:
                values = [kind, *letters, *sizes, one, data[0], args[3], data[1], args[5], scale, data[2], sizes[0]]
            else:
                values = [kind, *letters, *sizes, one, data[0], args[3], data[1], scale, data[2]]
            function = llvm.FunctionType(llvm.IntType(32), [v.type for v in values])
            name = "numba_xxgemm" if rank == 2 else "numba_xxgemv"
            check_blas_return(context, builder, builder.call(cgutils.get_or_insert_function(builder.module, function, name), values))
            return context.get_dummy_value()

        return signature, codegen

    return call


_GEMM = {beta: _blas(2, beta) for beta in (0.0, 1.0)}
_GEMV = {beta: _blas(1, beta) for beta in (0.0, 1.0)}


def _leading(a: Any) -> Any:
    """0 for rows in one piece, 1 for columns, -1 for neither, and the distance of one to the next."""


@overload(_leading, strict=False)
def _leading_overload(a: Any) -> Any:
    if a.layout == "C":
        return lambda a: (0, a.shape[1])
    if a.layout == "F":
        return lambda a: (1, a.shape[0])

    def found(a: Any) -> Any:
        rows, columns = a.shape
        size = a.itemsize
        if a.strides[1] == size and a.strides[0] >= size * columns:
            return 0, a.strides[0] // size
        if a.strides[0] == size and a.strides[1] >= size * rows:
            return 1, a.strides[1] // size
        return -1, 0

    return found


@register_jitable
def _packed(a: Any) -> Any:
    """A copy in one piece."""
    copy = empty(a.shape, a.dtype)
    for at in np.ndindex(a.shape):
        copy[at] = a[at]
    return copy


# ----------------------------------------------------------------------- loops


def _loops(a: Any, b: Any, out: Any, add: bool) -> Any:
    """Products of few elements; four columns at a time stay in registers."""


@overload(_loops, strict=False)
def _loops_overload(a: Any, b: Any, out: Any, add: Any) -> Any:
    zero = np.dtype(str(a.dtype)).type(0)

    def multiply(a: Any, b: Any, out: Any, add: Any) -> Any:
        m, n = out.shape
        k = a.shape[1]
        whole = n - n % 4
        for i in range(m):
            for j in range(0, whole, 4):
                s_0, s_1, s_2, s_3 = (out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3]) if add else (zero, zero, zero, zero)
                for p in range(k):
                    x = a[i, p]
                    s_0 += x * b[p, j]
                    s_1 += x * b[p, j + 1]
                    s_2 += x * b[p, j + 2]
                    s_3 += x * b[p, j + 3]
                out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = s_0, s_1, s_2, s_3
            for j in range(whole, n):
                s = out[i, j] if add else zero
                for p in range(k):
                    s += a[i, p] * b[p, j]
                out[i, j] = s

    def rows(a: Any, b: Any, out: Any, add: Any) -> Any:
        m, k = a.shape
        for i in range(m):
            s = out[i] if add else zero
            for p in range(k):
                s += a[i, p] * b[p]
            out[i] = s

    return multiply if b.ndim == 2 else rows


# ----------------------------------------------------------------- the overloads


def _into(a: Any, b: Any, out: Any) -> Any:
    """`matmul` with an `out`."""


@overload(_into, strict=False)
def _into_overload(a: Any, b: Any, out: Any) -> Any:
    return _product(a, b, out, 0.0)


@overload(add_matmul, strict=False)
def _add_matmul_overload(a: Any, b: Any, out: Any) -> Any:
    return _product(a, b, out, 1.0)


@overload(matmul, strict=False)
def _matmul_overload(a: Any, b: Any, out: Any = None) -> Any:
    if isinstance(out, types.Array):
        return lambda a, b, out=None: _into(a, b, out)
    dtype = np.dtype(str(a.dtype)).type
    if (a.ndim, b.ndim) == (2, 2):
        return lambda a, b, out=None: _into(a, b, empty((a.shape[0], b.shape[1]), dtype))
    if b.ndim == 1:
        return lambda a, b, out=None: _into(a, b, empty(a.shape[0], dtype))
    return lambda a, b, out=None: _into(a, b, empty(b.shape[1], dtype))


def _product(a: Any, b: Any, out: Any, beta: float) -> Any:
    """The implementation for arrays of these ranks and layouts."""
    if not all(isinstance(t, types.Array) and t.dtype == a.dtype and isinstance(t.dtype, types.Float) for t in (a, b, out)) or out.layout != "C":
        return None
    if (a.ndim, b.ndim, out.ndim) == (2, 2, 2):
        return _matrices(a, b, out, beta)
    if (a.ndim, b.ndim, out.ndim) == (2, 1, 1):
        return _vector(a, b, out, beta)
    if (a.ndim, b.ndim, out.ndim) == (1, 2, 1):
        swapped = _into if beta == 0.0 else add_matmul
        return lambda a, b, out: swapped(b.T, a, out)
    return None


def _matrices(a: Any, b: Any, out: Any, beta: float) -> Any:
    gemm, add, same = _GEMM[beta], beta != 0.0, _into if beta == 0.0 else add_matmul
    neat = a.layout in "CF" and b.layout in "CF"

    def multiply(a: Any, b: Any, out: Any) -> Any:
        m, k = a.shape
        n = b.shape[1]
        if b.shape[0] != k or out.shape != (m, n):
            raise ValueError(MISMATCH)
        if m * n * k <= FEW:
            _loops(a, b, out, add)
            return out
        order_a, ld_a = _leading(a)
        order_b, ld_b = _leading(b)
        gemm((order_b, order_a), (n, m, k), b, ld_b, a, ld_a, out)  # BLAS counts columns first: outᵀ = bᵀ aᵀ
        return out

    def pack(a: Any, b: Any, out: Any) -> Any:
        if a.size * b.shape[1] > FEW and (_leading(a)[0] < 0 or _leading(b)[0] < 0):
            return same(_packed(a), _packed(b), out)
        return multiply(a, b, out)

    if neat:
        return multiply
    multiply = register_jitable(multiply)
    return pack


def _vector(a: Any, b: Any, out: Any, beta: float) -> Any:
    gemv, add, same = _GEMV[beta], beta != 0.0, _into if beta == 0.0 else add_matmul
    neat = a.layout in "CF" and b.layout == "C"

    def multiply(a: Any, b: Any, out: Any) -> Any:
        m, k = a.shape
        if b.shape[0] != k or out.shape[0] != m:
            raise ValueError(MISMATCH)
        if m * k <= FEW:
            _loops(a, b, out, add)
            return out
        order, ld = _leading(a)
        sizes = (m, k) if order == 1 else (k, m)
        gemv((1 - order,), sizes, a, ld, b, 1, out)
        return out

    def pack(a: Any, b: Any, out: Any) -> Any:
        if a.size > FEW and (_leading(a)[0] < 0 or b.strides[0] != b.itemsize):
            return same(_packed(a), _packed(b), out)
        return multiply(a, b, out)

    if neat:
        return multiply
    multiply = register_jitable(multiply)
    return pack
