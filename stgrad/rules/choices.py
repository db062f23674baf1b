"""Derivatives of elementwise choices, parts of numbers and the special functions of `math`.

Kinks: abs'(0) = 0, maximum(a, a) is half and half, clip passes on its borders, hypot is 0 at the origin.
"""

from __future__ import annotations

import math

import numpy as np

from .broadcasting import unbroadcast
from .core import adjoint, linear, nondiff, partials, refuse, samples, tangent
from .sampling import binary, scalar, unary

DEGREE = math.pi / 180.0
TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)

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
    refuse(np.iscomplexobj(y), "np.clip of complex numbers is not supported: NumPy orders them by their real parts first", "clip the real and imaginary parts")
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is None and high is None:
        return 1.0
    if high is None:
        return a >= low, a < low, None, None, a < low
    if low is None:
        return a <= high, None, a > high, None, None, a > high
    inside = np.logical_and(a >= low, a <= high)
    below = np.logical_and(a < low, low <= high)
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
    return tuple(y_bar for _ in seq) if isinstance(seq, (tuple, list)) else np.broadcast_to(y_bar, np.shape(seq))


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


@adjoint(np.frexp, math.frexp)
def frexp(y, y_bar, x):
    return np.ldexp(y_bar[0], -y[1])


@tangent(np.frexp, math.frexp)
def frexp_dot(y, x, x_dot):
    return np.ldexp(x_dot, -y[1]), np.zeros_like(y[1])


@adjoint(np.modf, math.modf)
def modf(y, y_bar, x):
    return y_bar[0]


@tangent(np.modf, math.modf)
def modf_dot(y, x, x_dot):
    return x_dot, np.zeros_like(x_dot)


unary(np.absolute, low=0.2, complex_too=True)
unary(np.absolute, np.fabs, low=-2.0, high=-0.2)
unary(np.nan_to_num, np.frexp, np.modf, low=0.3, high=0.9)
binary(np.maximum, np.minimum, np.fmax, np.fmin, np.hypot)
binary(np.copysign, np.heaviside, low=0.2)
scalar(math.fabs, low=0.3)
scalar(math.frexp, math.modf, low=0.3, high=0.9)
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
nondiff(np.isclose, np.allclose, np.array_equal, np.array_equiv, np.isin, np.isreal, np.iscomplex, np.iscomplexobj, np.isrealobj, np.isscalar)
nondiff(math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose)
nondiff(math.comb, math.perm, math.factorial, math.gcd, math.lcm, math.isqrt, math.ulp)
