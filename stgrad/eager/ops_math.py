"""Elementwise operations by their TensorFlow names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from stgrad.eager import dtypes, operators, rules_kinks, rules_nn
from stgrad.eager.calling import binary, check_kind, operator_function, pair, run, unary
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import rebind
from stgrad.eager.errors import InvalidArgumentError, UnimplementedError
from stgrad.eager.indexing import identity
from stgrad.eager.protocols import astype
from stgrad.eager.record import note, state
from stgrad.eager.tensor import Tensor

__all__ = [
    "abs", "acos", "acosh", "add", "add_n", "angle", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1",
    "bessel_i1e", "betainc", "cast", "ceil", "complex", "conj", "cos", "cosh", "digamma", "divide", "divide_no_nan", "equal", "erf",
    "erfc", "erfcinv", "erfinv", "exp", "expm1", "floor", "floordiv", "floormod", "greater", "greater_equal", "igamma", "igammac", "imag",
    "is_finite", "is_inf", "is_nan", "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid", "logical_and", "logical_not",
    "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "multiply_no_nan", "ndtri", "negative", "nextafter",
    "not_equal", "polygamma", "polyval", "pow", "real", "reciprocal", "reciprocal_no_nan", "rint", "round", "rsqrt", "saturate_cast",
    "sigmoid", "sign", "sin", "sinh", "softplus", "softsign", "sqrt", "square", "squared_difference", "stop_gradient", "subtract", "tan",
    "tanh", "truediv", "truncatediv", "truncatemod", "xdivy", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

for _numpy, _kink in {
    np.sqrt: rules_kinks.sqrt, np.maximum: rules_kinks.maximum, np.minimum: rules_kinks.minimum, np.power: rules_kinks.power,
    np.arctan2: rules_kinks.arctan2, np.sign: rules_nn.sign,
}.items():  # fmt: skip
    rebind(_numpy, _kink)

sin, cos, tan = unary(np.sin, "sin"), unary(np.cos, "cos"), unary(np.tan, "tan")
asin, acos, atan = unary(np.arcsin, "asin"), unary(np.arccos, "acos"), unary(np.arctan, "atan")
sinh, cosh, tanh = unary(np.sinh, "sinh"), unary(np.cosh, "cosh"), unary(np.tanh, "tanh")
asinh, acosh, atanh = unary(np.arcsinh, "asinh"), unary(np.arccosh, "acosh"), unary(np.arctanh, "atanh")
exp, expm1, log, log1p = unary(np.exp, "exp"), unary(np.expm1, "expm1"), unary(np.log, "log"), unary(np.log1p, "log1p")
sqrt, rsqrt = unary(rules_kinks.sqrt, "sqrt"), unary(rules_nn.rsqrt, "rsqrt")
square = unary(np.square, "square", "iufc")
reciprocal = unary(np.reciprocal, "reciprocal", "iufc")
negative = unary(np.negative, "negative", "ifc")
sign = unary(rules_nn.sign, "sign", "iufc")
floor, ceil, rint = unary(np.floor, "floor", "f"), unary(np.ceil, "ceil", "f"), unary(np.rint, "rint", "f")
round = unary(np.rint, "round", "iuf")  # noqa: A001  (half to even, as TensorFlow)
sigmoid = unary(rules_nn.sigmoid, "sigmoid")
softplus, softsign = unary(rules_nn.softplus, "softplus", "f"), unary(rules_nn.softsign, "softsign", "f")
erf, erfc = unary(scipy.special.erf, "erf", "f"), unary(scipy.special.erfc, "erfc", "f")
erfinv, erfcinv = unary(scipy.special.erfinv, "erfinv", "f"), unary(scipy.special.erfcinv, "erfcinv", "f")
ndtri = unary(scipy.special.ndtri, "ndtri", "f")
lgamma, digamma = unary(scipy.special.gammaln, "lgamma", "f"), unary(scipy.special.digamma, "digamma", "f")
bessel_i0, bessel_i1 = unary(scipy.special.i0, "bessel_i0", "f"), unary(scipy.special.i1, "bessel_i1", "f")
bessel_i0e, bessel_i1e = unary(scipy.special.i0e, "bessel_i0e", "f"), unary(scipy.special.i1e, "bessel_i1e", "f")
is_nan, is_inf = unary(np.isnan, "is_nan", "f"), unary(np.isinf, "is_inf", "f")
is_finite = unary(np.isfinite, "is_finite", "f")
logical_not = unary(np.logical_not, "logical_not", "b")
real, imag = unary(np.real, "real", "fc"), unary(np.imag, "imag", "fc")
angle = unary(np.angle, "angle", "fc")

add, subtract = operator_function(operators.ADD[0], "add"), operator_function(operators.SUBTRACT[0], "subtract")
multiply, divide = operator_function(operators.MULTIPLY[0], "multiply"), operator_function(operators.DIVIDE[0], "divide")
floordiv, floormod = operator_function(operators.FLOOR_DIVIDE[0], "floordiv"), operator_function(operators.REMAINDER[0], "floormod")
pow = operator_function(operators.POWER[0], "pow")  # noqa: A001
truediv, mod = divide, floormod
equal, not_equal = operator_function(operators.METHODS["__eq__"], "equal"), operator_function(operators.METHODS["__ne__"], "not_equal")
less, less_equal = operator_function(operators.METHODS["__lt__"], "less"), operator_function(operators.METHODS["__le__"], "less_equal")
greater = operator_function(operators.METHODS["__gt__"], "greater")
greater_equal = operator_function(operators.METHODS["__ge__"], "greater_equal")
logical_and, logical_or = binary(np.logical_and, "logical_and", "b"), binary(np.logical_or, "logical_or", "b")
logical_xor = binary(np.logical_xor, "logical_xor", "b")
maximum, minimum = binary(rules_kinks.maximum, "maximum", "iuf"), binary(rules_kinks.minimum, "minimum", "iuf")
atan2 = binary(rules_kinks.arctan2, "atan2", "f")
divide_no_nan, multiply_no_nan = (
    binary(rules_nn.divide_no_nan, "divide_no_nan", "fc"),
    binary(rules_nn.multiply_no_nan, "multiply_no_nan", "fc"),
)
xlogy, xlog1py, xdivy = (
    binary(rules_nn.xlogy, "xlogy", "fc"),
    binary(rules_nn.xlog1py, "xlog1py", "fc"),
    binary(rules_nn.xdivy, "xdivy", "fc"),
)
nextafter = binary(np.nextafter, "nextafter", "f")
igamma, igammac = binary(scipy.special.gammainc, "igamma", "f"), binary(scipy.special.gammaincc, "igammac", "f")
zeta, polygamma = binary(scipy.special.zeta, "zeta", "f"), binary(scipy.special.polygamma, "polygamma", "f")


def abs(x: Any, name: str | None = None) -> Tensor:  # noqa: A001
    """Elementwise absolute value."""
    return convert_to_tensor(x).__abs__()


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; real tensors are passed through."""
    t = convert_to_tensor(x)
    return run(np.conjugate, t) if t._a.dtype.kind == "c" else t


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:  # noqa: A001
    """A complex tensor from its real and imaginary parts."""
    a, b = pair(real, imag, "Complex")
    check_kind(a, "f", "Complex")
    wide = np.complex64 if a._a.dtype == np.float32 else np.complex128
    imaginary = astype(b, wide) * Tensor(wide(1j))
    return astype(a, wide) + imaginary


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y) conj(x - y), elementwise."""
    d = subtract(x, y)
    return d * conj(d) if d._a.dtype.kind == "c" else square(d)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0."""
    t = convert_to_tensor(x)
    return divide_no_nan(Tensor(np.ones_like(t._a)), t)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)) without overflow."""
    return -softplus(-convert_to_tensor(x))


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised incomplete beta function."""
    first, second = pair(a, b, "Betainc")
    third = pair(first, x, "Betainc")[1]
    return run(scipy.special.betainc, first, second, third)


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Integer division that rounds towards zero."""
    a, b = pair(x, y, "TruncateDiv")
    return Tensor(np.trunc(a._a / b._a).astype(a._a.dtype))


def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder with the sign of the dividend."""
    return run(np.fmod, *pair(x, y, "TruncateMod"))


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The tensor in another dtype; a cast to integers ends the path of derivatives."""
    wanted = dtypes.as_dtype(dtype)
    t = convert_to_tensor(x)
    if t._a.dtype == wanted.dtype:
        return t
    if t._a.dtype.kind == "O" or wanted.kind == "O":
        raise UnimplementedError(f"Cast {t.dtype.name} to {wanted.name} is not supported", "Cast")
    if wanted.kind in "fc" and t._a.dtype.kind in "fc":
        return astype(t, wanted)
    with np.errstate(all="ignore"):
        y = Tensor((t._a.real if t._a.dtype.kind == "c" else t._a).astype(wanted.dtype))
    if state.recorders:
        note(f"a cast to {wanted.name}", t, y)
    return y


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """A cast that clips to the range of the dtype."""
    t, wanted = convert_to_tensor(value), dtypes.as_dtype(dtype)
    return Tensor(np.clip(t._a, wanted.min, wanted.max).astype(wanted.dtype))


def stop_gradient(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The same value as a constant: no derivative passes."""
    t = convert_to_tensor(input)
    y = Tensor(t._a)
    if state.recorders:
        note("stop_gradient", t, y)
    return y


def identity_function(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The same value as a tensor of its own, recorded."""
    return identity(convert_to_tensor(input))


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape."""
    if not inputs:
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.")
    terms = [convert_to_tensor(x) for x in inputs]
    if len({t._a.shape for t in terms}) > 1:
        raise InvalidArgumentError(f"Shapes must match: {[list(t._a.shape) for t in terms]}", "AddN")
    total = terms[0] if len(terms) > 1 else identity(terms[0])
    for t in terms[1:]:
        total = total + t
    return total


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """A polynomial, highest coefficient first, by Horner's rule."""
    t = convert_to_tensor(x)
    value = Tensor(np.zeros_like(t._a))
    for c in coeffs:
        value = value * t + c
    return value
