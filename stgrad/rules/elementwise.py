"""Derivatives of elementwise operations: NumPy's ufuncs and the functions of `math`.

Kinks: abs'(0) = 0, sqrt'(0) = 0, maximum(a, a) is half and half, clip passes on its borders, arctan2 and hypot are 0 at the origin.
"""

from __future__ import annotations

import math

import numpy as np

from .broadcasting import unbroadcast
from .core import adjoint, linear, nondiff, partials, samples, tangent
from .sampling import binary, scalar, unary

LOG_2 = math.log(2.0)
LOG_10 = math.log(10.0)
DEGREE = math.pi / 180.0
TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)

# ------------------------------------------------------------------ arithmetic


@partials(np.add)
def add(y, a, b):
    return 1.0, 1.0


@partials(np.subtract)
def subtract(y, a, b):
    return 1.0, -1.0


@partials(np.multiply)
def multiply(y, a, b):
    return b, a


@partials(np.divide)
def divide(y, a, b):
    return 1.0 / b, -y / b


@partials(np.negative)
def negative(y, x):
    return -1.0


@partials(np.positive)
def positive(y, x):
    return 1.0


@partials(np.power, np.float_power, math.pow)
def power(y, a, b):
    """b a^(b-1) and y log a; `b != 0` and `a == 0` keep 0 ** -1 and log 0 out."""
    return b * a ** (b - (b != 0)), y * np.log(a + (a == 0))


@partials(np.square)
def square(y, x):
    return 2.0 * x


@partials(np.reciprocal)
def reciprocal(y, x):
    return -y * y


@partials(np.remainder, np.fmod, math.fmod, math.remainder)
def remainder(y, a, b):
    """a - n b with the integer n = (a - y) / b, whatever the rounding."""
    return 1.0, -np.rint((a - y) / b)


@adjoint(np.divmod)
def divmod_(y, y_bar, a, b):
    return unbroadcast(y_bar[1], a), unbroadcast(-y[0] * y_bar[1], b)


@tangent(np.divmod)
def divmod_dot(y, a, b, a_dot, b_dot):
    return np.zeros_like(y[0]), a_dot - y[0] * b_dot


binary(np.add, np.subtract, np.multiply, complex_too=True)
binary(np.divide, np.float_power, low=0.5, complex_too=True)
binary(np.power, low=0.5, complex_too=True)
unary(np.negative, np.positive, np.square, complex_too=True)
unary(np.reciprocal, low=0.3, complex_too=True)
binary(np.remainder, np.fmod, np.divmod, low=0.3)
scalar(math.pow, math.fmod, math.remainder, low=0.3, count=2)


@samples(np.power)
def _(rng):
    yield (rng.normal(size=4), 2), {}
    yield (rng.normal(size=4), np.array([0, 1, 2, 3])), {}
    yield (np.array([-1.5, 0.5]), np.array([3, -2])), {}
    yield (np.zeros(3), np.array([1, 2, 3])), {}


# ------------------------------------------------------------------ roots, exponentials and logarithms


@partials(np.sqrt, math.sqrt)
def sqrt(y, x):
    """1 / (2 y), and 0 where there is no derivative (x <= 0), so that sqrt(sum(x * x)) and guarded branches stay finite."""
    if np.iscomplexobj(x):
        return 0.5 / np.where(y == 0.0, np.inf, y)
    return 0.5 / np.where(y > 0.0, y, np.inf)


@partials(np.cbrt)
def cbrt(y, x):
    return 1.0 / (3.0 * y * y)


@partials(np.exp, math.exp)
def exp(y, x):
    return y


@partials(np.exp2)
def exp2(y, x):
    return LOG_2 * y


@partials(np.expm1, math.expm1)
def expm1(y, x):
    return y + 1.0


@partials(np.log)
def log(y, x):
    return 1.0 / x


@partials(math.log)
def math_log(y, x, base=None):
    if base is None:
        return 1.0 / x
    return 1.0 / (x * math.log(base)), -y / (base * math.log(base))


@partials(np.log2, math.log2)
def log2(y, x):
    return 1.0 / (LOG_2 * x)


@partials(np.log10, math.log10)
def log10(y, x):
    return 1.0 / (LOG_10 * x)


@partials(np.log1p, math.log1p)
def log1p(y, x):
    return 1.0 / (1.0 + x)


@partials(np.logaddexp)
def logaddexp(y, a, b):
    """exp(a - y), exp(b - y); both are 0 where y is -inf."""
    top = np.where(y == -np.inf, 0.0, y)
    return np.exp(a - top), np.exp(b - top)


@partials(np.logaddexp2)
def logaddexp2(y, a, b):
    top = np.where(y == -np.inf, 0.0, y)
    return np.exp2(a - top), np.exp2(b - top)


unary(np.exp, np.exp2, np.expm1, complex_too=True)
unary(np.sqrt, np.log, np.log2, np.log10, np.log1p, low=0.3, complex_too=True)
unary(np.cbrt, low=0.3)
binary(np.logaddexp, np.logaddexp2)
scalar(math.exp, math.expm1)
scalar(math.sqrt, math.log, math.log2, math.log10, math.log1p, low=0.3)
scalar(math.log, low=1.5, high=3.0, count=2)

# ------------------------------------------------------------------ trigonometric and hyperbolic


@partials(np.sin, math.sin)
def sin(y, x):
    return np.cos(x)


@partials(np.cos, math.cos)
def cos(y, x):
    return -np.sin(x)


@partials(np.tan, math.tan)
def tan(y, x):
    return 1.0 + y * y


@partials(np.arcsin, math.asin)
def arcsin(y, x):
    return 1.0 / np.sqrt((1.0 - x) * (1.0 + x))


@partials(np.arccos, math.acos)
def arccos(y, x):
    return -1.0 / np.sqrt((1.0 - x) * (1.0 + x))


@partials(np.arctan, math.atan)
def arctan(y, x):
    return 1.0 / (1.0 + x * x)


@partials(np.arctan2, math.atan2)
def arctan2(y, a, b):
    square_sum = a * a + b * b
    square_sum = np.where(square_sum == 0.0, np.inf, square_sum)
    return b / square_sum, -a / square_sum


@partials(np.sinh, math.sinh)
def sinh(y, x):
    return np.cosh(x)


@partials(np.cosh, math.cosh)
def cosh(y, x):
    return np.sinh(x)


@partials(np.tanh, math.tanh)
def tanh(y, x):
    return 1.0 - y * y


@partials(np.arcsinh, math.asinh)
def arcsinh(y, x):
    return 1.0 / np.sqrt(x * x + 1.0)


@partials(np.arccosh, math.acosh)
def arccosh(y, x):
    return 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0))


@partials(np.arctanh, math.atanh)
def arctanh(y, x):
    return 1.0 / ((1.0 - x) * (1.0 + x))


@partials(np.deg2rad, np.radians, math.radians)
def deg2rad(y, x):
    return DEGREE


@partials(np.rad2deg, np.degrees, math.degrees)
def rad2deg(y, x):
    return 1.0 / DEGREE


@partials(np.sinc)
def sinc(y, x):
    """(cos(pi x) - y) / x, by its series near 0, where that cancels."""
    small = np.abs(x) < 0.05
    u = math.pi * math.pi * x * x
    series = -math.pi * math.pi * x / 3.0 * (1.0 - u / 10.0 * (1.0 - u / 28.0 * (1.0 - u / 54.0)))
    return np.where(small, series, (np.cos(math.pi * x) - y) / np.where(small, 1.0, x))


@partials(np.unwrap)
def unwrap(y, p, discont=None, axis=-1, *, period=2.0 * math.pi):
    return 1.0


unary(np.sin, np.cos, np.sinh, np.cosh, np.tanh, complex_too=True)
unary(np.tan, np.arcsin, np.arccos, np.arctanh, low=-0.9, high=0.9, complex_too=True)
unary(np.arctan, np.arcsinh, complex_too=True)
unary(np.arccosh, low=1.2, complex_too=True)
unary(np.deg2rad, np.radians, np.rad2deg, np.degrees)
unary(np.sinc, low=-1.5, high=1.5)
binary(np.arctan2, low=0.2)
scalar(math.sin, math.cos, math.atan, math.sinh, math.cosh, math.tanh, math.asinh, math.radians, math.degrees)
scalar(math.tan, math.asin, math.acos, math.atanh, low=-0.9, high=0.9)
scalar(math.acosh, low=1.2)
scalar(math.atan2, low=0.2, count=2)


@samples(np.sinc)
def _(rng):
    yield (np.array([0.0, 1e-8, 1e-3, 0.0499, 0.0501, -0.03]),), {}


@samples(np.unwrap)
def _(rng):
    yield (np.array([0.3, 1.0, 5.0, 6.1, -4.0]),), {}


# ------------------------------------------------------------------ absolute values, signs and choices


@adjoint(np.absolute)
def absolute(y, y_bar, x):
    if np.iscomplexobj(x):
        return y_bar * x / np.where(y == 0.0, np.inf, y)
    return y_bar * np.sign(x)


@tangent(np.absolute)
def absolute_dot(y, x, x_dot):
    if np.iscomplexobj(x):
        return np.real(np.conj(x) * x_dot) / np.where(y == 0.0, np.inf, y)
    return x_dot * np.sign(x)


@partials(np.fabs, math.fabs)
def fabs(y, x):
    return np.sign(x)


@partials(np.copysign, math.copysign)
def copysign(y, a, b):
    return np.sign(a) * np.copysign(1.0, b), 0.0


@partials(np.heaviside)
def heaviside(y, x, h):
    return 0.0, x == 0.0


@partials(np.maximum, np.fmax)
def maximum(y, a, b):
    return np.where(a == b, 0.5, y == a), np.where(a == b, 0.5, y == b)


@partials(np.minimum, np.fmin)
def minimum(y, a, b):
    return np.where(a == b, 0.5, y == a), np.where(a == b, 0.5, y == b)


@partials(np.clip)
def clip(y, a, a_min=None, a_max=None, out=None, min=None, max=None):
    """Passes on its borders; min(max(a, a_min), a_max), so a_max wins where the borders are crossed."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is None and high is None:
        return 1.0
    if high is None:
        return a >= low, a < low, None, None, a < low
    if low is None:
        return a <= high, None, a > high, None, None, a > high
    inside = np.logical_and(a >= low, a <= high)
    below = np.logical_and(a < low, low < high)
    above = np.logical_or(a > high, low > high)
    return inside, below, above, None, below, above


@partials(np.hypot)
def hypot(y, a, b):
    return a / np.where(y == 0.0, np.inf, y), b / np.where(y == 0.0, np.inf, y)


@partials(math.hypot)
def math_hypot(y, *coordinates):
    return tuple(c / np.where(y == 0.0, np.inf, y) for c in coordinates)


@adjoint(math.dist)
def dist(y, y_bar, p, q):
    scale = y_bar / np.where(y == 0.0, np.inf, y)
    return tuple(scale * (a - b) for a, b in zip(p, q)), tuple(scale * (b - a) for a, b in zip(p, q))


@tangent(math.dist)
def dist_dot(y, p, q, p_dot, q_dot):
    products = tuple((a - b) * (u - v) for a, b, u, v in zip(p, q, p_dot, q_dot))
    return math.fsum(products) / np.where(y == 0.0, np.inf, y)


@linear(math.fsum)
def fsum(y, y_bar, seq):
    return tuple(y_bar for _ in seq)


@adjoint(np.where)
def where(y, y_bar, condition, x=None, y_=None):
    """The branch that is not taken gets exact zeros."""
    return None, unbroadcast(np.where(condition, y_bar, 0.0), x), unbroadcast(np.where(condition, 0.0, y_bar), y_)


@tangent(np.where)
def where_dot(y, condition, x, y_, x_dot, y__dot):
    return np.where(condition, x_dot, y__dot)


@partials(np.nan_to_num)
def nan_to_num(y, x, copy=True, nan=0.0, posinf=None, neginf=None):
    return np.isfinite(x)


@partials(np.ldexp, math.ldexp)
def ldexp(y, x, i):
    return np.exp2(1.0 * i), None


@adjoint(np.frexp)
def frexp(y, y_bar, x):
    return np.ldexp(y_bar[0], -y[1])


@tangent(np.frexp)
def frexp_dot(y, x, x_dot):
    return np.ldexp(x_dot, -y[1]), np.zeros_like(y[1])


@adjoint(np.modf)
def modf(y, y_bar, x):
    return y_bar[0]


@tangent(np.modf)
def modf_dot(y, x, x_dot):
    return x_dot, np.zeros_like(x_dot)


unary(np.absolute, low=0.2, complex_too=True)
unary(np.absolute, np.fabs, low=-2.0, high=-0.2)
unary(np.nan_to_num, np.frexp, np.modf, low=0.3, high=0.9)
binary(np.maximum, np.minimum, np.fmax, np.fmin, np.hypot)
binary(np.copysign, np.heaviside, low=0.2)
scalar(math.fabs, low=0.3)
scalar(math.copysign, low=0.2, count=2)
scalar(math.hypot, count=3)


@samples(np.clip)
def _(rng):
    x = np.array([-2.0, -0.4, 0.3, 1.7])
    yield (x, -1.0, 1.0), {}
    yield (x, None, 1.0), {}
    yield (x, np.array([-1.0, 0.0, 0.5, 1.0]), None), {}
    yield (x,), {"min": -1.0, "max": 1.0}


@samples(np.where)
def _(rng):
    yield (np.array([True, False, True]), rng.normal(size=3), rng.normal(size=3)), {}
    yield (np.array([[True], [False]]), rng.normal(size=3), 2.0), {}
    yield (np.array([True, False]), rng.normal(size=2) + 1j, rng.normal(size=2)), {}


@samples(math.dist)
def _(rng):
    yield ((1.0, 2.0, 3.0), (0.3, -0.4, 2.0)), {}


@samples(math.fsum)
def _(rng):
    yield ((1.0, 2.0, 3.0),), {}


@samples(np.ldexp)
def _(rng):
    yield (rng.normal(size=3), np.array([1, -2, 3])), {}


@samples(math.ldexp)
def _(rng):
    yield (0.7, 3), {}


# ------------------------------------------------------------------ complex numbers


@linear(np.real, views=0)
def real(y, y_bar, val):
    return y_bar


@linear(np.imag, views=0)
def imag(y, y_bar, val):
    if np.iscomplexobj(val):
        return 1j * y_bar
    return np.zeros_like(val)


@linear(np.conjugate)
def conjugate(y, y_bar, x):
    return np.conjugate(y_bar)


@adjoint(np.angle)
def angle(y, y_bar, z, deg=False):
    if not np.iscomplexobj(z):
        return np.zeros_like(y_bar)
    scale = 1.0 / DEGREE if deg else 1.0
    return scale * y_bar * 1j * z / np.real(z * np.conjugate(z))


@tangent(np.angle)
def angle_dot(y, z, z_dot, deg=False):
    if not np.iscomplexobj(z):
        return np.zeros_like(y)
    scale = 1.0 / DEGREE if deg else 1.0
    return scale * np.imag(z_dot / z)


unary(np.real, np.imag, np.conjugate, np.angle, low=0.2, complex_too=True)


@samples(np.angle)
def _(rng):
    yield (np.array([1 + 2j, -1 + 0.5j]),), {"deg": True}


# ------------------------------------------------------------------ the gamma and error functions of math


@partials(math.erf)
def erf(y, x):
    return TWO_OVER_SQRT_PI * np.exp(-x * x)


@partials(math.erfc)
def erfc(y, x):
    return -TWO_OVER_SQRT_PI * np.exp(-x * x)


def digamma(x):
    """The logarithmic derivative of gamma: reflection, recurrence up to 10, then the asymptotic series."""
    shift = 0.0
    if x < 0.5:
        shift = -math.pi / math.tan(math.pi * x)
        x = 1.0 - x
    while x < 10.0:
        shift = shift - 1.0 / x
        x = x + 1.0
    u = 1.0 / (x * x)
    tail = u * (1.0 / 12.0 - u * (1.0 / 120.0 - u * (1.0 / 252.0 - u * (1.0 / 240.0 - u * (1.0 / 132.0 - u * 691.0 / 32760.0)))))
    return shift + math.log(x) - 0.5 / x - tail


@partials(math.lgamma)
def lgamma(y, x):
    return digamma(x)


@partials(math.gamma)
def gamma(y, x):
    return y * digamma(x)


scalar(math.erf, math.erfc)
scalar(math.lgamma, math.gamma, low=0.2, high=4.0)
scalar(math.lgamma, math.gamma, low=-1.9, high=-1.1)

# ------------------------------------------------------------------ no derivative

nondiff(np.floor, np.ceil, np.rint, np.trunc, np.fix, np.round, np.around, np.sign, np.floor_divide, np.signbit, np.spacing)
nondiff(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
nondiff(np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.isnan, np.isinf, np.isfinite, np.isposinf, np.isneginf)
nondiff(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.gcd, np.lcm)
nondiff(np.isclose, np.allclose, np.array_equal, np.isreal, np.iscomplex, np.iscomplexobj, np.isrealobj, np.isscalar)
nondiff(math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose)
nondiff(math.comb, math.perm, math.factorial, math.gcd, math.lcm, math.isqrt, math.ulp)
