"""Which calls of NumPy functions Numba compiles, with which arguments, with NumPy's value and dtype: prints the rows of `_MEASURED`.

Run it after an upgrade of Numba and paste the result into `stgrad/ir/ops/support.py`. It takes about ten minutes.
"""

# ruff: noqa: E501, BLE001  (tables; whatever either library raises counts as "does not work")

import re
import sys
import warnings

import numba
import numpy as np

warnings.simplefilter("ignore")

UNARY = (
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt square absolute "
)
UNARY += (
    "negative positive reciprocal sign floor ceil trunc rint fabs conjugate deg2rad rad2deg degrees radians isnan isinf isfinite signbit "
)
UNARY += "logical_not spacing real imag angle sinc nan_to_num i0 round"
BINARY = "add subtract multiply divide power float_power remainder fmod floor_divide maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2 "
BINARY += "copysign nextafter heaviside equal less greater less_equal not_equal logical_and logical_or logical_xor"
REDUCE = "sum mean prod max min var std ptp any all nansum nanmean nanprod nanmax nanmin nanvar nanstd median nanmedian argmax argmin count_nonzero"
SCAN = "cumsum cumprod nancumsum nancumprod diff sort argsort trapezoid"

# Argument kinds: s scalar, i int scalar, A0 to A4 array of that rank, S square, v 3 and m (4, 3), I1 B2 integer and boolean arrays; anything else is literal text.
CASES: list[tuple[str, str]] = []


def case(names: str, *argument_lists: str) -> None:
    CASES.extend((name, arguments) for name in names.split() for arguments in argument_lists)


case(UNARY, "s")
case("round real imag angle sinc nan_to_num sin absolute conjugate isnan", "A2")
case(BINARY, "s,s")
case("add power maximum arctan2 logaddexp less logical_and", "A2,A1", "s,A2")
case("true_divide mod abs arccosh asin acos atan pow invert bitwise_and bitwise_or bitwise_xor left_shift right_shift", "s", "s,s")
case(REDUCE, "A1", "A2", "A0", "A2,axis=1", "A2,axis=(0,1)", "A2,axis=1,keepdims=True")
case("sum mean", "A3,axis=(0,2)", "A2,axis=-1")
case("var std nanvar", "A2,ddof=1", "A2,axis=0,ddof=1")
case(SCAN, "A1", "A2", "A2,axis=0", "A2,axis=-1")
case("percentile quantile nanpercentile nanquantile", "A1,0.3", "A2,0.3", "A2,0.3,axis=0", "A1,A1")
case("average", "A1", "A1,weights=A1", "A2,axis=0")
case("partition argpartition", "A1,2", "A2,1")
case("reshape", "A2,(2,8)", "A1,(2,-1)", "A2,-1", "A1,(2,i)")
case("ravel", "A2", "A1")
case("transpose", "A2", "A3", "A3,(2,0,1)", "A1")
case("swapaxes", "A3,0,1", "A2,0,1")
case("moveaxis rollaxis", "A3,0,2")
case("squeeze", "A3[:1]", "A3[:1],0", "A3[:1],axis=0")
case("expand_dims", "A1,0", "A2,-1", "A2,(0,1)")
case("broadcast_to", "A1,(3,4)", "s,(3,4)", "A2,(2,4,4)")
case("broadcast_arrays", "A2,A1")
case("concatenate stack vstack hstack dstack column_stack", "(A2,A2)", "(A1,A1)", "(A3,A3)")
case("concatenate stack", "(A2,A2),axis=1", "(A2,A2),1", "(A1,A1),axis=0", "(A3,A3),axis=1")
case("append", "A1,A1", "A1,s", "A2,A2", "A2,A2,axis=0")
case("split array_split", "A1,2", "A2,2", "A2,2,axis=1", "A1,[1,2]")
case("vsplit hsplit", "A2,2")
case("dsplit", "A4,2")
case("tile", "A1,2", "A2,(2,2)", "A2,2")
case("repeat", "A1,2", "A2,2", "A2,2,axis=0", "A1,I1")
case("roll", "A1,1", "A2,1", "A2,1,axis=0", "A2,(1,1),axis=(0,1)")
case("flip", "A1", "A2", "A2,axis=0")
case("fliplr flipud rot90 atleast_1d atleast_2d atleast_3d", "A1", "A2", "A3")
case("pad", "A1,1", "A2,1", "A2,((1,1),(2,2))")
case("diag", "A1", "A2", "A2,k=1", "A1,1")
case("diagonal", "A2", "A3,0,1,2")
case("diagflat trace", "A1", "A2", "A2,1")
case("tril triu", "A2", "A2,k=1", "A2,1", "A3")
case("meshgrid", "A1,A1", "A1,A1,indexing='ij'")
case("take", "A1,I1", "A2,I1", "A2,I1,axis=0", "A2,i,axis=1", "A1,i")
case("take_along_axis", "A2,I2,axis=0", "A2,I2,axis=1", "A2,I2,1", "A1,I1,0")
case("put_along_axis", "A2,I2,A2,1")
case("choose", "I1,(A1,A1,A1)")
case("select", "[B1,B1],[A1,A1]", "[B1,B1],[A1,A1],default=0.0", "[B2,B2],[A2,A2]")
case("where", "B1,A1,A1", "B2,A2,s", "B2,s,s", "B2,A2,A1", "B1")
case("clip", "A1,-1.0,1.0", "A2,s,s", "A2,A2,A2", "s,s,s", "A1,s,None")
case("searchsorted", "A1,s", "A1,s,side='right'", "A1,A1", "A1,A2", "A1,A1,side='right'")
case("digitize", "A1,A1", "s,A1")
case("bincount", "I1", "I1,weights=A1")
case("unique nonzero flatnonzero argwhere", "A1", "A2")
case("histogram", "A1,3", "A1,A1")
case("interp", "s,A1,A1", "A1,A1,A1")
case("gradient ediff1d", "A1", "A2")
case("convolve correlate", "A1,A1", "A1,A1,mode='same'", "A1,A1,mode='valid'")
case("dot", "A1,A1", "A2,A1", "A1,A2", "A2,A2", "A3,A1", "A3,A2", "s,A2")
case("matmul", "A1,A1", "A2,A1", "A1,A2", "A2,A2", "A3,A3", "A3,A2")
case("inner", "A1,A1", "A2,A2", "A2,A1")
case("outer", "A1,A1", "A2,A2", "A1,s")
case("vdot", "A1,A1", "A2,A2")
case("kron", "A1,A1", "A2,A2")
case("cross", "v,v", "m,m")
case("tensordot", "A2,A2", "A3,A3,1", "A2,A2,axes=1")
case("einsum", "'ij,ij->i',A2,A2", "'ij->ji',A2")
case("zeros ones empty", "3", "(3,4)", "i", "(i,4)")
case("full", "3,s", "(3,4),s", "(i,4),s")
case("zeros_like ones_like empty_like copy ascontiguousarray asarray array asfortranarray", "A1", "A2", "A0")
case("full_like", "A2,s")
case("eye identity", "3", "i")
case("tri", "3", "3,4")
case("tril_indices triu_indices", "3", "3,1", "i")
case("arange", "i", "s", "0,i", "s,s", "0.0,s,0.5")
case("linspace", "s,s,5", "s,s,i")
case("logspace geomspace", "s,s,5")
case("indices", "(2,3)")
case("vander", "A1", "A1,3")
case("isin setdiff1d union1d intersect1d", "A1,A1")
case("allclose isclose array_equal", "A2,A2")
case("cov corrcoef", "A2")
case("corrcoef", "A1,A1")
case("roots poly", "A1")
case("polyval", "A1,s")
case("polyval", "A1,A1")
case("linalg.solve", "S,A1", "S,S")
case(
    "linalg.inv linalg.det linalg.slogdet linalg.cholesky linalg.qr linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.pinv linalg.svd",
    "S",
    "A4",
)
case("linalg.svd", "A2,full_matrices=False", "A2,0", "S,compute_uv=False", "A2,False")
case("linalg.qr", "A2", "S,mode='r'")
case("linalg.lstsq", "A2,A1", "S,A1", "S,A1,rcond=None")
case("linalg.matrix_power", "S,3", "S,-1")
case("linalg.norm", "A1", "A2", "A2,axis=1", "A1,1", "A2,2", "A2,'fro'", "A1,ord=1", "A2,ord='nuc'", "A3")
case("linalg.multi_dot", "[S,S,S]")
case("linalg.cond linalg.matrix_rank", "S")
case("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.fft2 fft.fftn fft.fftshift", "A1", "A2", "A2,axis=0")
case("add.at", "A1,I1,A1", "A1,I1,s")
case(
    "getitem",
    "A1[I1]",
    "A2[I1]",
    "A2[:,I1]",
    "A2[I1,I1]",
    "A2[i,I1]",
    "A1[B1]",
    "A2[B2]",
    "A2[B1]",
    "A2[I2]",
    "A1[::-1]",
    "A2[:,None]",
    "A2[...,0]",
    "A2[None]",
    "A3[:,0,None]",
)
case(
    "setitem",
    "A1[I1]=A1",
    "A1[I1]=s",
    "A2[I1]=s",
    "A2[I1,I1]=A1",
    "A2[I1,I1]=s",
    "A2[:,I1]=s",
    "A1[B1]=s",
    "A2[B2]=s",
    "A2[i]=A1",
    "A2[i]=s",
    "A2[:,i]=A1",
    "A2[:]=A1",
    "A2[1:,:]=s",
    "A1[::2]=s",
)

DTYPES = {"d": "float64", "f": "float32", "D": "complex128", "l": "int64", "?": "bool"}
TOKEN = re.compile(r"(?<![\w.'])(I1|I2|B1|B2|A[0-4]|[siSTvm])(?![\w.'])")
SHAPES = {"A0": (), "A1": (4,), "A2": (4, 4), "A3": (2, 4, 4), "A4": (2, 4, 4), "S": (4, 4), "v": (3,), "m": (4, 3)}


def tokens(name, arguments):
    """The text with argument names in place of kinds, and the kinds."""
    kinds = []

    def put(match):
        kinds.append(match[0])
        return "abcdef"[len(kinds) - 1]

    return TOKEN.sub(put, arguments), kinds


def sample(kind, dtype, rng):
    if kind == "i":
        return 2
    if kind in ("I1", "I2"):
        return rng.integers(0, 3, (4,) if kind == "I1" else (4, 4))
    if kind in ("B1", "B2"):
        return rng.integers(0, 2, (4,) if kind == "B1" else (4, 4)).astype(bool)
    if kind == "s":
        return DTYPE(dtype)(1.5) if dtype in "df" else {"D": 1.5 + 0.5j, "l": 2, "?": True}[dtype]
    shape = SHAPES[kind]
    x = rng.uniform(0.1, 0.9, shape) + (0.3j * rng.uniform(size=shape) if dtype == "D" else 0)
    if dtype in "l?":
        x = np.asarray(x * 4)
    if kind == "A1":
        x = np.sort(x)
    if kind in ("S", "A4"):
        x = x @ np.swapaxes(x, -1, -2).conj() + 3 * np.eye(4)
    return np.asarray(x).astype(DTYPES[dtype])


def DTYPE(dtype):
    return float if dtype == "d" else np.dtype(DTYPES[dtype]).type


def build(name, arguments):
    text, kinds = tokens(name, arguments)
    params = ", ".join("abcdef"[: len(kinds)])
    if name == "getitem":
        body = f"    return {text}\n"
    elif name == "matmul":  # printed as the operator
        body = f"    return {text.replace(',', ' @')}\n"
    elif name == "setitem":
        body = f"    {text}\n    return a\n"
    else:
        body = f"    return np.{name}({text})\n"
    space = {"np": np}
    exec(f"def f({params}):\n{body}", space)
    return space["f"], kinds


def same(x, y):
    if isinstance(x, tuple):
        return isinstance(y, (tuple, list)) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, list):
        return isinstance(y, (tuple, list)) and len(x) == len(y) and all(map(same, x, y))
    if x is None:
        return y is None
    x, y = np.asarray(x), np.asarray(y)
    return (
        x.shape == y.shape
        and (x.dtype == y.dtype or x.ndim == 0 and x.dtype.kind == y.dtype.kind)
        and np.allclose(x, y, 1e-4, 1e-4, equal_nan=True)
    )


def strided(array):
    """The same values in an array that is contiguous in no order."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype) if array.ndim else array
    if array.ndim:
        wide[..., ::2] = array
    return wide[..., ::2] if array.ndim else array


def works(name, arguments, dtype, contiguous=True):
    f, kinds = build(name, arguments)
    args = [sample(k, dtype, np.random.default_rng(1)) for k in kinds]
    if not contiguous:
        args = [strided(a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        expected = f(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
    except Exception:  # NumPy itself refuses
        return None
    try:
        return same(expected, numba.njit(f)(*args))
    except Exception:
        return False


def pattern(name, arguments):
    """The case in the language of `stgrad.ir.ops.support`."""
    text = re.sub(r"\((-?\d+,)+-?\d+\)|\[(\d+,?)+\]|\(\(\d.*\)\)", "t", arguments)
    text = re.sub(r"(?<![\w.'])-?\d+\.\d+", "x", text)
    text = re.sub(r"(?<![\w.'])-?\d+(?![\w.'])", "n", text)
    text = re.sub(r"\[((?:[AB]\d,?)+)\](?=,|$)", r"(\1)", text) if "item" not in name else re.sub(r"[^,\[\]=]*:[^,\]]*", ":", text)
    return re.sub(r"(?<!\w)(S|A4|v|m)(?!\w)", lambda kind: {"S": "A2", "A4": "A3", "v": "A1", "m": "A2"}[kind[0]], text)


def main():
    rows = {}
    for name, arguments in CASES:
        good = ""
        for dtype in DTYPES:
            answer = works(name, arguments, dtype)
            if answer:
                good += dtype
            elif dtype == "d" and answer is False:
                break
        if name.startswith("empty"):
            good = "dfDl?"  # the values are arbitrary
        if good:
            loose = works(name, arguments, "d", contiguous=False)
            rows.setdefault(name if "item" in name else f"np.{name}", {})[pattern(name, arguments)] = good if loose else good + "C"
        print(name, arguments, good, file=sys.stderr, flush=True)
    groups = {}
    for name, row in rows.items():
        groups.setdefault(tuple(row.items()), []).append(name)
    for row, names in groups.items():
        print(f"    ({' '.join(names)!r}, {dict(row)!r}),")


if __name__ == "__main__":
    main()
