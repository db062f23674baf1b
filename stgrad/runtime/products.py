"""Matrix products into memory that is already there: loops for the smallest, BLAS for the others.

Numba allocates every result of `a @ b`, and a call of BLAS takes as long as a product of 5 by 5. Shapes: `a` (m, k), `b` (k, n), or a vector (k,)
on either side; `out` (m, n), (m,) or (n,) shares memory with neither. Stacks of matrices `a` (..., m, k), `b` (..., k, n) are multiplied one by one; their
leading axes broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing import signature
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic, lower_builtin, register_jitable, type_callable
from numba.np.arrayobj import make_array, populate_array
from numba.np.linalg import check_blas_return, get_blas_kind, make_constant_slot

from stgrad.runtime import shared
from stgrad.runtime.memory import empty
from stgrad.runtime.scalars import radd

__all__ = ["add_matmul", "matmul"]

FEW = 128  # multiplications that loops do faster than a call of BLAS
SEVERAL = 600  # the same for a vector, where the loops are packed
LINE = 8  # elements from which a packed loop pays
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
    def call(typingctx: Any, orders: Any, sizes: Any, a: Any, ld_a: Any, b: Any, ld_b: Any, out: Any, ld_out: Any) -> Any:
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
                values = [kind, *letters, *sizes, one, data[0], args[3], data[1], args[5], scale, data[2], args[7]]
            else:
                values = [kind, *letters, *sizes, one, data[0], args[3], data[1], scale, data[2]]
            function = llvm.FunctionType(llvm.IntType(32), [v.type for v in values])
            name = "numba_xxgemm" if rank == 2 else "numba_xxgemv"
            check_blas_return(context, builder, builder.call(cgutils.get_or_insert_function(builder.module, function, name), values))
            return context.get_dummy_value()

        return types.void(orders, sizes, a, ld_a, b, ld_b, out, ld_out), codegen

    return call


_gemm, _gemm_add = _blas(2, 0.0), _blas(2, 1.0)
_gemv, _gemv_add = _blas(1, 0.0), _blas(1, 1.0)


@register_jitable
def _leading(a: Any) -> Any:
    """0 for rows in one piece, 1 for columns, -1 for neither, and the distance of one to the next."""
    rows, columns = a.shape
    size = a.itemsize
    if a.strides[1] == size and a.strides[0] >= size * columns:
        return 0, a.strides[0] // size
    if a.strides[0] == size and a.strides[1] >= size * rows:
        return 1, a.strides[1] // size
    return -1, 0


@register_jitable
def _packed(a: Any) -> Any:
    """A copy in one piece."""
    copy = empty(a.shape, a.dtype)
    for at in np.ndindex(a.shape):
        copy[at] = a[at]
    return copy


# -------------------------------------------------------------- for all layouts


def _matrices(a: Any, b: Any, out: Any, add: Any) -> Any:
    m, k = a.shape
    n = b.shape[1]
    if b.shape[0] != k or out.shape[0] != m or out.shape[1] != n:
        raise ValueError(MISMATCH)
    if m * n * k <= FEW:
        _few(a, b, out, add)
        return
    order_a, ld_a = _leading(a)
    order_b, ld_b = _leading(b)
    if order_a < 0 or order_b < 0:
        left, right = _packed(a), _packed(b)
        if add:
            _gemm_add((0, 0), (n, m, k), right, n, left, k, out, n)
        else:
            _gemm((0, 0), (n, m, k), right, n, left, k, out, n)
    elif add:  # BLAS counts columns first: outᵀ = bᵀ aᵀ
        _gemm_add((order_b, order_a), (n, m, k), b, ld_b, a, ld_a, out, n)
    else:
        _gemm((order_b, order_a), (n, m, k), b, ld_b, a, ld_a, out, n)


@register_jitable
def add_product(a: Any, b: Any, out: Any) -> None:
    """`out += a @ b` for matrices that are parts of others: rows of `out` in one piece."""
    m, k = a.shape
    n = b.shape[1]
    if m * n * k <= FEW:
        _few(a, b, out, True)
        return
    order_a, ld_a = _leading(a)
    order_b, ld_b = _leading(b)
    _gemm_add((order_b, order_a), (n, m, k), b, ld_b, a, ld_a, out, out.strides[0] // out.itemsize)


@register_jitable
def _few(a: Any, b: Any, out: Any, add: Any) -> Any:
    """Few elements in loops; two columns at a time stay in registers."""
    m, n = out.shape
    k = a.shape[1]
    for i in range(m):
        for j in range(0, n - 1, 2):
            s_0, s_1 = a.dtype.type(0), a.dtype.type(0)
            for p in range(k):
                x = a[i, p]
                s_0 += x * b[p, j]
                s_1 += x * b[p, j + 1]
            out[i, j] = s_0 + out[i, j] if add else s_0
            out[i, j + 1] = s_1 + out[i, j + 1] if add else s_1
        if n % 2:
            s_0 = a.dtype.type(0)
            for p in range(k):
                s_0 += a[i, p] * b[p, n - 1]
            out[i, n - 1] = s_0 + out[i, n - 1] if add else s_0


def _matrix_vector(a: Any, b: Any, out: Any, add: Any) -> Any:
    m, k = a.shape
    if b.shape[0] != k or out.shape[0] != m:
        raise ValueError(MISMATCH)
    if m * k <= SEVERAL and k >= LINE and a.strides[1] == a.itemsize and b.strides[0] == a.itemsize:
        _by_rows(a, b, out, add)
        return
    if m * k <= SEVERAL and m >= LINE and a.strides[0] == a.itemsize:
        _by_columns(a.T, b, out, add)
        return
    if m * k <= FEW:
        for i in range(m):
            s = a.dtype.type(0)
            for p in range(k):
                s += a[i, p] * b[p]
            out[i] = s + out[i] if add else s
        return
    if b.strides[0] == b.itemsize:
        _times_packed(a, b, out, add)
    else:
        _times_packed(a, _packed(b), out, add)


@intrinsic
def _side_by_side(typingctx: Any, a: Any, row: Any, column: Any) -> Any:
    """`a[row, column]` of a matrix whose rows are contiguous, whatever its type says; a vector is one row."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = make_array(a)(context, builder, args[0])
        start = builder.ptrtoint(array.data, args[1].type)
        if a.ndim == 2:
            start = builder.add(start, builder.mul(args[1], builder.extract_value(array.strides, 0)))
        return builder.load(builder.gep(builder.inttoptr(start, array.data.type), [args[2]]))

    return a.dtype(a, types.intp, types.intp), codegen


@register_jitable
def _by_rows(a: Any, b: Any, out: Any, add: Any) -> None:
    m, k = a.shape
    for i in range(m):
        s = a.dtype.type(0)
        for p in range(k):
            s = radd(s, _side_by_side(a, i, p) * _side_by_side(b, 0, p))
        out[i] = s + out[i] if add else s


@register_jitable
def _by_columns(rows: Any, b: Any, out: Any, add: Any) -> None:
    """The product with a matrix whose columns are these rows."""
    k, m = rows.shape
    if not add:
        for i in range(m):
            out[i] = 0.0
    for p in range(k):
        x = b[p]
        for i in range(m):
            out[i] += _side_by_side(rows, p, i) * x


@register_jitable
def _times_packed(a: Any, b: Any, out: Any, add: Any) -> None:
    m, k = a.shape
    order, ld = _leading(a)
    if order < 0:
        left = _packed(a)
        if add:
            _gemv_add((1,), (k, m), left, k, b, 1, out, 1)
        else:
            _gemv((1,), (k, m), left, k, b, 1, out, 1)
        return
    sizes = (m, k) if order == 1 else (k, m)
    if add:
        _gemv_add((1 - order,), sizes, a, ld, b, 1, out, 1)
    else:
        _gemv((1 - order,), sizes, a, ld, b, 1, out, 1)


# ----------------------------------------------------------- stacks of matrices


@intrinsic
def _matrix_at(typingctx: Any, a: Any, offset: Any) -> Any:
    """The matrix that starts so many bytes behind the first of a stack; it does not own its memory."""
    made = types.Array(a.dtype, 2, "C" if a.layout == "C" else "A")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        stack, matrix = make_array(a)(context, builder, args[0]), make_array(made)(context, builder)
        start = builder.add(builder.ptrtoint(stack.data, args[1].type), args[1])
        shape, strides = (cgutils.unpack_tuple(builder, t)[-2:] for t in (stack.shape, stack.strides))
        populate_array(matrix, builder.inttoptr(start, stack.data.type), shape, strides, stack.itemsize, None)
        return matrix._getvalue()

    return made(a, types.intp), codegen


@register_jitable
def _offset(a: Any, number: Any, extents: Any) -> Any:
    """Where the matrix of a stack that goes into this one of the results starts, in bytes."""
    offset = 0
    for axis in range(len(extents) - 3, -1, -1):
        at = number % extents[axis]
        number //= extents[axis]
        own = axis - (len(extents) - a.ndim)
        if own >= 0 and a.shape[own] != 1:
            if a.shape[own] != extents[axis]:
                raise ValueError(MISMATCH)
            offset += at * a.strides[own]
    return offset


def _stacks(a: Any, b: Any, out: Any, add: Any) -> Any:
    count = 1
    for axis in range(out.ndim - 2):
        count *= out.shape[axis]
    for number in range(count):
        left, right = _matrix_at(a, _offset(a, number, out.shape)), _matrix_at(b, _offset(b, number, out.shape))
        _one_of_stack(left, right, _matrix_at(out, number * out.strides[out.ndim - 3]), add)


_one_of_stack = register_jitable(_matrices)


def _new_stack(a: Any, b: Any) -> Any:
    more, less = (a, b) if a.ndim >= b.ndim else (b, a)
    shape = more.shape
    for axis in range(more.ndim - 2):
        own = axis - (more.ndim - less.ndim)
        if own >= 0 and shape[axis] == 1:
            shape = tuple_setitem(shape, axis, less.shape[own])
    shape = tuple_setitem(shape, more.ndim - 2, a.shape[a.ndim - 2])
    return empty(tuple_setitem(shape, more.ndim - 1, b.shape[b.ndim - 1]), a.dtype)


def _new_matrix(a: Any, b: Any) -> Any:
    return empty((a.shape[0], b.shape[1]), a.dtype)


def _new_column(a: Any, b: Any) -> Any:
    return empty(a.shape[0], a.dtype)


# ----------------------------------------------------------------- the lowering


def _result(a: Any, b: Any, out: Any) -> Any:
    """The type of a product of real arrays; None where it is not one of these."""
    given = [t for t in (a, b, out) if t is not None]
    if not all(isinstance(t, types.Array) and isinstance(t.dtype, types.Float) and t.dtype == a.dtype for t in given):
        return None
    if min(a.ndim, b.ndim) < 2 and (a.ndim, b.ndim) not in ((2, 1), (1, 2)):
        return None
    made = types.Array(a.dtype, max(a.ndim, b.ndim) if min(a.ndim, b.ndim) > 1 else 1, "C")
    return made if out is None or (out.ndim, out.layout) == (made.ndim, "C") else None


@type_callable(matmul)
def _type_matmul(context: Any) -> Any:
    def typed(a: Any, b: Any, out: Any = None) -> Any:
        return _result(a, b, out)

    return typed


@type_callable(add_matmul)
def _type_add_matmul(context: Any) -> Any:
    def typed(a: Any, b: Any, out: Any) -> Any:
        return _result(a, b, out)

    return typed


@lower_builtin(matmul, types.Array, types.Array, types.Array)
def _lower_into(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _multiply(context, builder, sig, args, add=False)


@lower_builtin(add_matmul, types.Array, types.Array, types.Array)
def _lower_added(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _multiply(context, builder, sig, args, add=True)


@lower_builtin(matmul, types.Array, types.Array)
def _lower_fresh(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    (a, b), (x, y) = _oriented(context, builder, sig.args, args)
    new = _new_stack if sig.return_type.ndim > 2 else _new_matrix if b.ndim == 2 else _new_column
    out = context.compile_internal(builder, new, signature(sig.return_type, a, b), (x, y))
    _product(context, builder, (a, b, sig.return_type), (x, y, out), add=False)
    return out


def _multiply(context: Any, builder: Any, sig: Any, args: Any, add: bool) -> Any:
    (a, b), (x, y) = _oriented(context, builder, sig.args[:2], args[:2])
    _product(context, builder, (a, b, sig.return_type), (x, y, args[2]), add)
    return impl_ret_borrowed(context, builder, sig.return_type, args[2])


def _product(context: Any, builder: Any, kinds: Any, args: Any, add: bool) -> None:
    run = _stacks if kinds[2].ndim > 2 else _matrices if kinds[1].ndim == 2 else _matrix_vector
    given = (*args, context.get_constant(types.boolean, add))
    parameters = (*kinds, types.boolean)
    if shared.call(context, builder, run, parameters, given) is None:
        context.compile_internal(builder, run, signature(types.none, *parameters), given)


for _dtype in shared.DTYPES:
    _a, _b, _out, _column = shared.matrix(_dtype), shared.vector(_dtype), shared.rows(_dtype), types.Array(_dtype, 1, "C")
    shared.announce(_matrices, types.none, (_a, _a, _out, types.boolean))
    shared.announce(_matrix_vector, types.none, (_a, _b, _column, types.boolean))


def _oriented(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """The operands as arrays of any layout, so that one compilation does for all; a row vector on the left as a column on the right."""
    (a, b), (x, y) = kinds, args
    if a.ndim == 1:
        a, b, x, y = b.copy(layout="C"), a, _turned(context, builder, b, y), x
    return (a.copy(layout="A", readonly=False), b.copy(layout="A", readonly=False)), (x, y)


def _turned(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The transpose of a matrix."""
    made = make_array(kind)(context, builder, value)
    for name in ("shape", "strides"):
        rows, columns = cgutils.unpack_tuple(builder, getattr(made, name))
        setattr(made, name, cgutils.pack_array(builder, [columns, rows]))
    return made._getvalue()
