"""Which calls of NumPy functions Numba compiles: a measured table, and the question asked of it.

`supported` answers for the calls that were tried, with NumPy's value and dtype as the measure, and says no to all others: they go
through `call_python`, which is always right. The table comes from `benchmarks/numba_support.py` (Numba 0.68.1, NumPy 2.4). A row
says, for each pattern of arguments, which dtypes work: d float64, f float32, D complex128, l int64, ? bool; C if only contiguous
arrays do. np.partition is left out: Numba's result is another permutation.

Patterns: A2 an array of rank 2, I1 and B2 integer and boolean ones beside floats, s a scalar, i an integer one; known when
compiling: n an int, t a tuple of ints, x a float, and `True`, `None`, 'text' as they are. Universal functions take arrays of all
ranks where they take scalars.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Value(NamedTuple):
    """A run-time argument: dtype name, rank, whether it is an array (of rank 0, too)."""

    dtype: str
    rank: int = 0
    array: bool = False


_LETTERS = {"float64": "d", "float32": "f", "complex128": "D", "int64": "l", "bool": "?"}


# fmt: off
_MEASURED: list[tuple[str, dict[str, str]]] = [
    ("np.matmul", {"A1,A1": "dfD", "A2,A1": "dfD", "A1,A2": "dfD", "A2,A2": "dfD"}),  # as the operator, which is how it is printed
    ("np.true_divide np.pow", {"s,s": "dfDl?"}),
    ("np.mod", {"s,s": "dfl?"}),
    ("np.int64", {"i": "l", "s": "l"}),
    ("np.abs np.acos", {"s": "dfDl?"}),
    ("np.asin np.atan", {"s": "dfDl"}),
    ("np.invert", {"s": "l?"}),
    ("np.bitwise_and np.bitwise_or np.bitwise_xor np.left_shift np.right_shift", {"s,s": "l?"}),
    ("np.sin np.real np.nan_to_num np.round", {"s": "dfDl", "A2": "dfDl"}),
    (
        "np.cos np.tan np.arcsin np.arctan np.sinh np.cosh np.tanh np.arcsinh np.exp np.expm1 np.log1p np.negative "
        "np.positive np.sign",
        {"s": "dfDl"}),
    (
        "np.arccos np.arccosh np.arctanh np.exp2 np.log np.log2 np.log10 np.sqrt np.square np.reciprocal np.rint "
        "np.isinf np.isfinite np.logical_not",
        {"s": "dfDl?"}),
    ("np.cbrt np.floor np.ceil np.trunc np.fabs np.signbit", {"s": "dfl?"}),
    ("np.absolute np.conjugate np.isnan", {"s": "dfDl?", "A2": "dfDl?"}),
    ("np.deg2rad np.rad2deg np.degrees np.radians np.spacing", {"s": "dfl"}),
    ("np.imag", {"s": "dfDl", "A2": "dfDlC"}),
    ("np.angle np.sinc", {"s": "dfDl", "A2": "dfD"}),
    ("np.add np.power np.maximum np.less np.logical_and", {"s,s": "dfDl?", "A2,A1": "dfDl?", "s,A2": "dfDl?"}),
    ("np.subtract", {"s,s": "dfDl"}),
    (
        "np.multiply np.divide np.float_power np.minimum np.fmax np.fmin np.equal np.greater np.less_equal np.not_equal "
        "np.logical_or np.logical_xor",
        {"s,s": "dfDl?"}),
    ("np.remainder np.fmod np.floor_divide np.logaddexp2 np.copysign np.nextafter", {"s,s": "dfl?"}),
    ("np.hypot", {"s,s": "dfl"}),
    ("np.arctan2 np.logaddexp", {"s,s": "dfl", "A2,A1": "dfl", "s,A2": "dfl"}),
    ("np.sum", {"A1": "dfDl?", "A2": "dfDl?", "A0": "dfDl?", "A2,axis=n": "dfDl?", "A2,axis=t": "dfDl?", "A3,axis=t": "dfDl?"}),
    (
        "np.mean np.prod np.max np.min np.var np.std np.any np.all np.nansum np.nanmean np.nanprod np.nanmax np.nanmin "
        "np.nanstd np.zeros_like np.ones_like np.empty_like np.copy np.ascontiguousarray np.asarray np.asfortranarray",
        {"A1": "dfDl?", "A2": "dfDl?", "A0": "dfDl?"}),
    ("np.ptp np.ediff1d", {"A1": "dfDl", "A2": "dfDl"}),
    ("np.nanvar", {"A1": "dfDl?", "A2": "dfDl?", "A0": "dfDl?", "A2,ddof=n": "dfDl?"}),
    ("np.median np.nanmedian", {"A1": "dfl?", "A2": "dfl?", "A0": "dfl?"}),
    ("np.argmax np.argmin", {"A1": "dfl?", "A2": "dfl?", "A0": "dfl?", "A2,axis=n": "dfl?"}),
    ("np.count_nonzero", {"A1": "dfDl?", "A2": "dfDl?", "A0": "dfDl?", "A2,axis=n": "dfl?", "A2,axis=t": "dfl?"}),
    ("np.cumsum", {"A1": "dfDl?", "A2": "dfDl?", "A2,axis=n": "dfDl?"}),
    ("np.cumprod np.nancumsum np.nancumprod np.sort np.flip np.unique np.nonzero np.flatnonzero np.argwhere", {"A1": "dfDl?",
        "A2": "dfDl?"}),
    ("np.diff", {"A1": "dfDl?C", "A2": "dfDl?C"}),
    ("np.argsort", {"A1": "dfDl?"}),
    ("np.trapezoid", {"A1": "dfDl", "A2": "dDl"}),
    ("np.percentile np.nanpercentile", {"A1,x": "dfl", "A2,x": "dfl", "A1,A1": "dl"}),
    ("np.quantile np.nanquantile", {"A1,x": "dfl", "A2,x": "dfl", "A1,A1": "d"}),
    ("np.average", {"A1": "dfDl?", "A1,weights=A1": "dfDl?"}),
    ("np.reshape", {"A2,t": "dfDl?C", "A1,t": "dfDl?C", "A2,n": "dfDl?C", "A1,(n,i)": "dfDl?C"}),
    ("np.ravel", {"A2": "dfDl?", "A1": "dfDl?"}),
    ("np.transpose", {"A2": "dfDl?", "A3": "dfDl?", "A3,t": "dfDl?", "A1": "dfDl?"}),
    ("np.swapaxes", {"A3,n,n": "dfDl?", "A2,n,n": "dfDl?"}),
    ("np.moveaxis", {"A3,n,n": "dfDl?"}),
    ("np.expand_dims np.roll", {"A1,n": "dfDl?", "A2,n": "dfDl?"}),
    ("np.broadcast_to", {"A1,t": "dfDl?", "s,t": "dfDl?", "A2,t": "dfDl?"}),
    ("np.broadcast_arrays", {"A2,A1": "dfDl?"}),
    ("np.concatenate np.stack", {"(A2,A2)": "dfDl?", "(A1,A1)": "dfDl?", "(A3,A3)": "dfDl?", "(A2,A2),axis=n": "dfDl?", "(A3,A3),axis=n": "dfDl?",
        "(A2,A2),n": "dfDl?", "(A1,A1),axis=n": "dfDl?"}),
    ("np.vstack np.hstack np.dstack", {"(A2,A2)": "dfDl?", "(A1,A1)": "dfDl?", "(A3,A3)": "dfDl?"}),
    ("np.column_stack", {"(A2,A2)": "dfDl?", "(A1,A1)": "dfDl?"}),
    ("np.append", {"A1,A1": "dfDl?", "A1,s": "dfDl?", "A2,A2": "dfDl?", "A2,A2,axis=n": "dfDl?"}),
    ("np.split np.array_split", {"A1,n": "dfDl?", "A2,n": "dfDl?", "A2,n,axis=n": "dfDl?", "A1,t": "dfDl?"}),
    ("np.vsplit np.hsplit", {"A2,n": "dfDl?"}),
    ("np.dsplit", {"A3,n": "dfDl?"}),
    ("np.repeat", {"A1,n": "dfDl?", "A2,n": "dfDl?", "A1,I1": "dfDl?"}),
    ("np.fliplr np.rot90", {"A2": "dfDl?", "A3": "dfDl?"}),
    ("np.flipud np.atleast_1d np.atleast_2d np.atleast_3d", {"A1": "dfDl?", "A2": "dfDl?", "A3": "dfDl?"}),
    ("np.diag", {"A1": "dfDl?", "A2": "dfDl?", "A2,k=n": "dfDl?", "A1,n": "dfDl?"}),
    ("np.diagflat", {"A1": "dfDl?", "A2": "dfDl?", "A2,n": "dfDl?"}),
    ("np.trace", {"A2": "dfD", "A2,n": "dfD"}),
    ("np.tril np.triu", {"A2": "dfDl?", "A2,k=n": "dfDl?", "A2,n": "dfDl?", "A3": "dfDl?"}),
    ("np.take", {"A1,I1": "dfDl?", "A2,I1": "dfDl?", "A2,I1,axis=n": "dfDl?", "A2,i,axis=n": "dfDl?", "A1,i": "dfDl?"}),
    ("np.take_along_axis", {"A2,I2,axis=n": "dfDl?", "A2,I2,n": "dfDl?", "A1,I1,n": "dfDl?"}),
    ("np.select", {"(B1,B1),(A1,A1)": "dfDl?", "(B1,B1),(A1,A1),default=x": "dDl?", "(B2,B2),(A2,A2)": "dfDl?"}),
    ("np.where", {"B1,A1,A1": "dfDl?", "B2,A2,s": "dfDl?", "B2,s,s": "dfDl?", "B2,A2,A1": "dfDl?", "B1": "dfDl?"}),
    ("np.clip", {"A1,x,x": "df", "A2,s,s": "dfl?", "A2,A2,A2": "dfl?", "A1,s,None": "dfl?"}),
    ("np.searchsorted", {"A1,s": "dfDl?", "A1,s,side='right'": "dfDl?", "A1,A1": "dfDl?", "A1,A2": "dfDl?", "A1,A1,side='right'": "dfDl?"}),
    ("np.digitize", {"A1,A1": "dfl?", "s,A1": "dfl?"}),
    ("np.bincount", {"I1": "dfDl?", "I1,weights=A1": "dfl?"}),
    ("np.tril_indices np.triu_indices", {"n": "dfDl?", "n,n": "dfDl?", "i": "dfDl?"}),
    ("np.histogram", {"A1,n": "dl", "A1,A1": "dfl?"}),
    ("np.interp", {"s,A1,A1": "dfl?", "A1,A1,A1": "dfl?"}),
    ("np.convolve", {"A1,A1": "dfDl?", "A1,A1,mode='same'": "dfDl?", "A1,A1,mode='valid'": "dfDl?"}),
    ("np.correlate", {"A1,A1": "dfDl", "A1,A1,mode='same'": "dfDl", "A1,A1,mode='valid'": "dfDl"}),
    ("np.dot", {"A1,A1": "dfD", "A2,A1": "dfD", "A1,A2": "dfD", "A2,A2": "dfD"}),
    ("np.outer", {"A1,A1": "dfDl?", "A2,A2": "dfDl?", "A1,s": "dfDl?"}),
    ("np.vdot", {"A1,A1": "dfD"}),
    ("np.kron", {"A1,A1": "dfDl?C", "A2,A2": "dfDl?C"}),
    ("np.cross", {"A1,A1": "dfDl", "A2,A2": "dfDl"}),
    ("np.zeros np.ones np.empty", {"n": "dfDl?", "t": "dfDl?", "i": "dfDl?", "(i,n)": "dfDl?"}),
    ("np.full", {"n,s": "dfDl?", "t,s": "dfDl?", "(i,n),s": "dfDl?"}),
    ("np.full_like", {"A2,s": "dfDl?"}),
    ("np.eye np.identity", {"n": "dfDl?", "i": "dfDl?"}),
    ("np.tri", {"n": "dfDl?", "n,n": "dfDl?"}),
    ("np.arange", {"i": "dfDl?", "s": "dfDl", "n,i": "dfDl?", "s,s": "dfDl", "x,s,x": "dfDl"}),
    ("np.linspace", {"s,s,n": "dDl", "s,s,i": "dDl"}),
    ("np.logspace", {"s,s,n": "dDl"}),
    ("np.geomspace", {"s,s,n": "dfDl"}),
    ("np.indices", {"t": "dfDl?"}),
    ("np.vander", {"A1": "dfDl?", "A1,n": "dfDl?"}),
    ("np.isin np.setdiff1d np.union1d np.intersect1d", {"A1,A1": "dfDl?"}),
    ("np.allclose np.array_equal", {"A2,A2": "dfDl?"}),
    ("np.isclose", {"A2,A2": "dfl?"}),
    ("np.cov", {"A2": "dfDl?"}),
    ("np.corrcoef", {"A2": "dfDl?", "A1,A1": "dfDl?"}),
    ("np.linalg.solve", {"A2,A1": "dfD", "A2,A2": "dfD"}),
    (
        "np.linalg.inv np.linalg.det np.linalg.slogdet np.linalg.cholesky np.linalg.qr np.linalg.eigh np.linalg.eigvals "
        "np.linalg.eigvalsh np.linalg.pinv np.linalg.cond np.linalg.matrix_rank",
        {"A2": "dfD"}),
    ("np.linalg.eig", {"A2": "dD"}),
    ("np.linalg.svd", {"A2": "dfD", "A2,full_matrices=False": "dfD", "A2,n": "dfD", "A2,False": "dfD"}),
    ("np.linalg.lstsq", {"A2,A1": "dfD"}),
    ("np.linalg.matrix_power", {"A2,n": "dfD"}),
    ("np.linalg.norm", {"A1": "dfD", "A2": "dfD", "A1,n": "dfD", "A2,n": "dfD", "A1,ord=n": "dfD"}),
    ("getitem", {"A1[I1]": "dfDl?", "A2[I1]": "dfDl?", "A2[:,I1]": "dfDl?", "A2[I1,I1]": "dfDl?", "A2[i,I1]": "dfDl?",
        "A1[B1]": "dfDl?", "A2[B1]": "dfDl?", "A2[I2]": "dfDl?", "A1[:]": "dfDl?", "A2[:,None]": "dfDl?", "A2[...,n]": "dfDl?",
        "A2[None]": "dfDl?", "A3[:,n,None]": "dfDl?"}),
    ("setitem", {"A1[I1]=A1": "dfDl?", "A1[I1]=s": "dfDl?", "A2[I1]=s": "dfDl?", "A2[I1,I1]=A1": "dfDl?", "A2[I1,I1]=s": "dfDl?",
        "A2[:,I1]=s": "dfDl?", "A1[B1]=s": "dfDl?", "A2[i]=A1": "dfDl?", "A2[i]=s": "dfDl?", "A2[:,i]=A1": "dfDl?",
        "A2[:]=A1": "dfDl?", "A2[:,:]=s": "dfDl?", "A1[:]=s": "dfDl?"}),
]
# fmt: on

# Calls in the forms that lowering writes, or that Numba has for every type we use.
NATIVE = frozenset(
    "np.empty np.zeros np.ones np.full np.zeros_like np.ones_like np.empty_like np.full_like np.copy np.transpose np.outer np.arange np.eye np.identity "
    "np.sqrt np.add np.subtract np.multiply np.divide np.negative np.less np.less_equal np.greater np.greater_equal np.equal np.not_equal "
    "np.power np.absolute np.maximum np.minimum np.floor_divide np.remainder np.logical_and np.logical_or np.logical_not np.isfinite np.floor np.sign".split()
)
BY_SHAPE = frozenset(
    "np.empty np.zeros np.ones np.full np.zeros_like np.ones_like np.empty_like np.full_like np.copy np.transpose np.arange np.eye np.identity".split()
)
MATH = frozenset(
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp expm1 log log2 log10 log1p sqrt pow fabs floor ceil trunc "
    "copysign hypot degrees radians erf erfc gamma lgamma isnan isinf isfinite ldexp gcd".split()
)

MATH_ARGUMENTS = {"log": 1, "hypot": 2}  # Numba has these forms alone

TABLE = {op: rows for ops, rows in _MEASURED for op in ops.split()}
# Dtypes beside which a number of Python leaves Numba no other choice than NumPy has; integers and flags take the first.
_BESIDE: dict[type, str] = {int: "ldD", float: "dD", complex: "D"}
_UFUNCS = frozenset(op for op in TABLE if isinstance(getattr(np, op.removeprefix("np."), None), np.ufunc)) - {"np.matmul"}
# Beside integers, an integer is a number like the others.
_INTEGER = {op: {re.sub(r"\bI(?=\d)", "A", re.sub(r"\bi\b", "s", p)): works for p, works in rows.items()} for op, rows in TABLE.items()}


def supported(op: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, *, contiguous: bool = True) -> bool:
    """Whether Numba compiles this call with NumPy's result.

    Args:
        op: 'np.linalg.solve', 'getitem' (array, index) or 'setitem' (array, index, value).
        args: `Value`s, static Python values, and tuples or lists of both; an index is a tuple of its parts.
        kwargs: the same, by keyword.
        contiguous: whether all arrays are known to be C-contiguous.

    >>> solve = [Value("float64", 2, True), Value("float64", 1, True)]
    >>> supported("np.linalg.solve", solve), supported("np.linalg.solve", [Value("float64", 3, True)] * 2)
    (True, False)
    >>> supported("np.sum", [Value("float32", 3, True)], {"axis": (0, 2)}), supported("np.fft.fft", solve[1:])
    (True, False)
    """
    args = [Value(item.dtype.name) if isinstance(item, np.generic) else item for item in args]
    items = [*args, *(kwargs or {}).values()]
    values = [value for item in items for value in _values(item)]
    dtype = _dtype(values)
    if dtype is None:
        return False
    if op in _UFUNCS and not kwargs and all(isinstance(item, Value) or type(item) in _BESIDE for item in args):
        return _beside(dtype, args) in tuple(TABLE[op].get(",".join("s" * len(args)), ""))
    rows = (_INTEGER if dtype == "l" else TABLE).get(op, {})
    works = rows.get(_pattern(op, args, kwargs or {}, dtype), "")
    if not works and dtype == "d":  # a number that is known serves as one that is not
        works = rows.get(_pattern(op, [Value("float64") if type(item) is float else item for item in args], kwargs or {}, dtype), "")
    return dtype in works and (contiguous or "C" not in works)


def _values(item: Any) -> list[Value]:
    if isinstance(item, Value):
        return [item]
    return [value for inner in item for value in _values(inner)] if isinstance(item, (tuple, list)) else []


def _beside(dtype: str, args: Sequence[Any]) -> str:
    """The dtype in which Numba computes, as NumPy does, with numbers of Python beside values of a dtype; '' where it takes another one."""
    for beside in [_BESIDE[type(item)] for item in args if not isinstance(item, Value)]:
        dtype = dtype if dtype in tuple(beside) else beside[0] if dtype in ("l", "?") else ""
    return dtype


def _dtype(values: list[Value]) -> str | None:
    """The letter of the floating dtype if there is one, else of the first value; None where dtypes are mixed or others."""
    floating = {value.dtype for value in values if value.dtype.startswith(("float", "complex"))}
    if len(floating) > 1:
        return None
    first = next(iter(floating), values[0].dtype if values else "float64")
    return _LETTERS.get(first)


def _pattern(op: str, args: Sequence[Any], kwargs: Mapping[str, Any], dtype: str) -> str:
    if op in ("getitem", "setitem"):
        parts = args[1] if isinstance(args[1], tuple) and not isinstance(args[1], Value) else (args[1],)
        index = ",".join(_kind(part, dtype) for part in parts)
        return f"{_kind(args[0], dtype)}[{index}]" + "".join(f"={_kind(value, dtype)}" for value in args[2:])
    return ",".join([_kind(arg, dtype) for arg in args] + [f"{name}={_kind(arg, dtype)}" for name, arg in kwargs.items()])


def _kind(item: Any, dtype: str) -> str:
    if isinstance(item, Value):
        return _run_time_kind(item, dtype)
    if isinstance(item, (tuple, list)):
        if item and all(type(part) in (int, tuple) for part in item) and not _values(item):
            return "t"
        kinds = [_kind(part, dtype) for part in item]
        return f"({','.join(kinds[:2] if len({*kinds}) == 1 else kinds)})"  # two alike were measured, more go as well
    if isinstance(item, slice):
        return ":"
    if item is Ellipsis:
        return "..."
    return {int: "n", float: "x"}.get(type(item)) or repr(item)


def _run_time_kind(value: Value, dtype: str) -> str:
    """As it stands beside arguments of the dtype that decides: an integer is an index beside floats, a number beside integers. Others were not measured."""
    letter = _LETTERS.get(value.dtype, "")
    role = "A" if letter == dtype else {"l": "I", "?": "B"}.get(letter, "O")
    if value.array:
        return f"{role}{value.rank}"
    return "i" if role == "I" else "s"
