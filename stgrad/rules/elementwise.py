"""Derivatives of arithmetic, powers, exponentials, logarithms and trigonometry: NumPy's ufuncs and the functions of `math`.

Kinks: roots at 0 (sqrt, cbrt, x ** 0.3) have the derivative 0, arctan2 is 0 at the origin.
"""

from __future__ import annotations

import math

import numpy as np

from .broadcasting import unbroadcast
from .core import adjoint, partials, samples, tangent
from .sampling import binary, scalar, unary

LOG_2 = math.log(2.0)
LOG_10 = math.log(10.0)
DEGREE = math.pi / 180.0

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


def off_zero(a, b):
    """The base of a power, and infinity for a root of 0: the derivative there is 0, as that of sqrt."""
    if isinstance(b, (int, np.integer)) or np.iscomplexobj(b):
        return a
    root = 0.0 < b < 1.0 if np.ndim(b) == 0 else np.logical_and(b > 0.0, b < 1.0)
    return np.where(root, np.where(a == 0.0, np.inf, a), a)


@partials(np.power, np.float_power, math.pow)
def power(y, a, b):
    """b a^(b-1) and y log a; `b != 0` and `a == 0` keep 0 ** -1 and log 0 out. Of a root at 0 the derivative is 0, as that of sqrt."""
    base = a + (a == 0)
    return b * off_zero(a, b) ** (b - (b != 0)), y * (np.log(base + 0j) if np.iscomplexobj(b) else np.log(base))


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


@partials(np.cbrt, math.cbrt)
def cbrt(y, x):
    return 1.0 / (3.0 * np.where(y == 0.0, np.inf, y * y))


@partials(np.exp, math.exp)
def exp(y, x):
    return y


@partials(np.exp2, math.exp2)
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
scalar(math.exp, math.exp2, math.expm1)
scalar(math.sqrt, math.cbrt, math.log, math.log2, math.log10, math.log1p, low=0.3)
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
    """On a branch cut the sign of a zero is the side of a complex number: `y` tells of it, arithmetic with `x` would lose it."""
    if np.iscomplexobj(x):
        return 1.0 / np.cos(y)
    return 1.0 / np.sqrt((1.0 - x) * (1.0 + x))


@partials(np.arccos, math.acos)
def arccos(y, x):
    if np.iscomplexobj(x):
        return -1.0 / np.sin(y)
    return -1.0 / np.sqrt((1.0 - x) * (1.0 + x))


@partials(np.arctan, math.atan)
def arctan(y, x):
    return 1.0 / (1.0 + x * x)


@partials(np.arctan2, math.atan2, floats=True)
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
    if np.iscomplexobj(x):
        return 1.0 / np.cosh(y)
    return 1.0 / np.sqrt(x * x + 1.0)


@partials(np.arccosh, math.acosh)
def arccosh(y, x):
    if np.iscomplexobj(x):
        return 1.0 / np.sinh(y)
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
