"""`scipy.linalg.solve_triangular` for compiled code: BLAS's `trsm`, a third of the work of elimination with pivots.

Generated text calls SciPy's function, which this module teaches Numba to compile for one real matrix `a` (n, n) and `b` (n,) or (n, m); the result has the
shape of `b`, and one triangle of `a` is read. The address of the routine is SciPy's, under a name that the linker of each process knows, so that native
code can be kept on disk. A zero on the diagonal raises.

>>> import numba, scipy.linalg
>>> import numpy as np
>>> from stgrad.runtime import triangular
>>> numba.njit(lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True))(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]))
array([1., 2.])
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
import scipy.linalg
import scipy.linalg.cython_blas as exported
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from stgrad.runtime.capsules import entry
from stgrad.runtime.memory import empty
from stgrad.runtime.shared import matrix, rows, share
from stgrad.runtime.solving import SINGULAR

FEW = 8  # rows that loops do faster than a call of BLAS
MISMATCH = "the extents of a system and of its right-hand side do not match"
NOT_FINITE = "array must not contain infs or NaNs"


ROUTINES = {types.float64: "dtrsm", types.float32: "strsm"}
for _name in ROUTINES.values():
    llvmlite.binding.add_symbol(f"stgrad_blas_{_name}", entry(exported.__pyx_capi__[_name])[1])


@intrinsic
def _trsm(typingctx: Any, flags: Any, rows: Any, columns: Any, a: Any, ld: Any, x: Any) -> Any:
    """`x <- x op(a)^-1` of BLAS's columns: x (rows, columns) in one piece, a (columns, columns); flags: upper, transposed, ones on the diagonal."""
    item = {types.float64: ir.DoubleType(), types.float32: ir.FloatType()}[a.dtype]
    char, integer = ir.IntType(8), ir.IntType(32)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def place(value: Any) -> Any:
            return cgutils.alloca_once_value(builder, value)

        def letter(k: int, letters: str) -> Any:
            flag = cgutils.is_true(builder, builder.extract_value(args[0], k))
            return place(builder.select(flag, char(ord(letters[0])), char(ord(letters[1]))))

        def data(k: int) -> Any:
            return context.make_array(signature.args[k])(context, builder, args[k]).data

        m, n, leading = (place(builder.trunc(args[k], integer)) for k in (1, 2, 4))
        letters = [place(char(ord("R"))), letter(0, "UL"), letter(1, "TN"), letter(2, "UN")]
        values = [*letters, m, n, place(item(1.0)), data(3), leading, data(5), m]
        form = ir.FunctionType(ir.VoidType(), [v.type for v in values])
        builder.call(cgutils.get_or_insert_function(builder.module, form, f"stgrad_blas_{ROUTINES[a.dtype]}"), values)
        return context.get_dummy_value()

    return types.void(flags, rows, columns, a, ld, x), codegen


@share(lambda x: (types.none, matrix(x), rows(x), types.boolean, types.boolean, types.boolean))
def substitute(a: Any, x: Any, turned: Any, lower: Any, unit: Any) -> None:
    """Overwrite the rows of x, (n, m) in one piece, by the solution of `a x = b`, or of `a.T x = b` where `turned`; `b` is what x held."""
    n, m = x.shape
    if a.shape[0] != n or a.shape[1] != n:
        raise ValueError(MISMATCH)
    if not unit:
        for i in range(n):
            if a[i, i] == 0.0:
                raise np.linalg.LinAlgError(SINGULAR)
    size = a.itemsize
    if n <= FEW:
        if turned:
            _few(a.T, x, not lower, unit)
        else:
            _few(a, x, lower, unit)
    elif a.strides[0] == size and a.strides[1] >= size * n:  # columns in one piece
        _trsm((not lower, not turned, unit), m, n, a, a.strides[1] // size, x)
    elif a.strides[1] == size and a.strides[0] >= size * n:  # rows: BLAS sees the transposed matrix
        _trsm((lower, turned, unit), m, n, a, a.strides[0] // size, x)
    else:
        _trsm((lower, turned, unit), m, n, np.ascontiguousarray(a), n, x)


@register_jitable
def _few(a: Any, x: Any, lower: Any, unit: Any) -> None:
    """By substitution."""
    n, m = x.shape
    for k in range(n):
        i = k if lower else n - 1 - k
        for j in range(m):
            total = x[i, j]
            for p in range(0 if lower else i + 1, i if lower else n):
                total -= a[i, p] * x[p, j]
            x[i, j] = total if unit else total / a[i, i]


@register_jitable
def _finite(array: Any) -> None:
    for at in np.ndindex(array.shape):
        if not np.isfinite(array[at]):
            raise ValueError(NOT_FINITE)


@overload(scipy.linalg.solve_triangular, strict=False)
def _solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    if b.ndim == 1:

        def vector(
            a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False, check_finite: Any = True
        ) -> Any:
            if check_finite:
                _finite(a)
                _finite(b)
            x = empty(b.shape, a.dtype)
            for i in range(b.shape[0]):
                x[i] = b[i]
            substitute(a, x.reshape((b.shape[0], 1)), trans != 0, bool(lower), bool(unit_diagonal))
            return x

        return vector

    def matrix(a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False, check_finite: Any = True) -> Any:
        if check_finite:
            _finite(a)
            _finite(b)
        x = empty(b.shape, a.dtype)
        for i in range(b.shape[0]):
            for j in range(b.shape[1]):
                x[i, j] = b[i, j]
        substitute(a, x, trans != 0, bool(lower), bool(unit_diagonal))
        return x

    return matrix
