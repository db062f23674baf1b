"""Branch-free elementary functions on doubles, written with `lanes`.

Argument reduction by Cody and Waite (Software Manual for the Elementary Functions, 1980), reconstruction as in FDLIBM (Sun
Microsystems, 1993), polynomials fitted with `mpmath.chebyfit` (the comment beside each is its largest error). Every kernel is right on
the whole line, subnormals, infinities, nan and signed zeros included. Only sin, cos and tan call the C library, for |x| >= TRIG_LIMIT.
`short` asks for float32 accuracy only; the arithmetic is double.
"""

from __future__ import annotations

import math

from stgrad.runtime.lanes import Bits, Real, fused, polynomial, select
from stgrad.runtime.rare import mended

EXP = (  # 1.4e-18
    0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326112, 0.001388888888888373, 0.0001984126987490126,
    2.4801587325605324e-05, 2.7557255297969643e-06, 2.755727357010214e-07, 2.5105259538448494e-08,
    2.0914717341716378e-09,
)
EXP32 = (  # 1.4e-9
    0.5000000013498178, 0.16666666681659179, 0.04166646460202654, 0.008333310889582076, 0.0013933685862617174,
    0.00019891030654370327,
)
LOG = (  # 3.12e-16
    0.666666666666667, 0.3999999999989889, 0.28571428626253836, 0.22222211089379496, 0.1818289243253687,
    0.15331611722055008, 0.14617807153417325,
)
LOG32 = (  # 1.16e-9
    0.6666666655404201, 0.4000012221181065, 0.28550778633191964, 0.23331614471843498,
)
POW = (  # 2.84e-18
    0.6, 0.4285714285714406, 0.3333333333247915, 0.2727272750414977, 0.2307689233051077, 0.20002213198218508,
    0.17559189696845096, 0.1758649059127012,
)
SIN = (  # 2.07e-17
    -0.16666666666666666, 0.008333333333330925, -0.00019841269836722418, 2.755731608381636e-06,
    -2.5051127944014188e-08, 1.5917848524808262e-10,
)
SIN32 = (  # 2.83e-11
    -0.16666666663832763, 0.008333331865959415, -0.00019840082012765537, 2.7249314054698804e-06,
)
COS = (  # 1.29e-18
    0.041666666666666664, -0.0013888888888887382, 2.480158729874307e-05, -2.7557317260008837e-07,
    2.0876143827993133e-09, -1.1382456778061306e-11,
)
COS32 = (  # 2.36e-12
    0.0416666666643024, -0.0013888887664713619, 2.4800596435621998e-05, -2.7300448619488353e-07,
)
ERF = (  # 1.3e-19
    0.1283791670955126, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792, 0.0052239776248180145,
    -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05, 1.6461000484121368e-06,
    -1.6350312701054695e-07, 1.4659775274047436e-08, -1.1372848856791674e-09, 5.957176147748911e-11,
)
ERF32 = (  # 1.24e-9
    0.12837916584835093, -0.37612626666720334, 0.11283594715160218, -0.026854212010626412, 0.005189087423433974,
    -0.000801686428716587, 7.875875062685488e-05,
)
ERFC = (  # 5.29e-18
    0.17900115118138996, -0.3262335600430372, 0.24560380171233487, -0.15011593650077898, 0.07166583719747308,
    -0.024392499318915004, 0.004269136356961225, 0.0007077464666941425, -0.0005970624964924544, 4.525434558991009e-05,
    6.406279226046039e-05, -1.2845780030775907e-05, -8.00978093907608e-06, 2.0135111426447427e-06,
    1.2755818949624478e-06, 3.381355142042904e-09,
)
ERFC32 = (  # 9.44e-9
    0.17900114450585103, -0.32623367423291655, 0.24560599224302346, -0.15009834297159, 0.07160350390773605,
    -0.02507963778089453, 0.002742749070858971,
)
INF, NAN = math.inf, math.nan
LOG2_E = 1.4426950408889634
LN2_HI, LN2_LO = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")  # n * LN2_HI is exact
PIO2 = tuple(map(float.fromhex, ("0x1.921fb54400000p+0", "0x1.0b4611a600000p-34", "0x1.3198a2e037073p-69")))
TRIG_LIMIT = 8.0e5  # beyond it n takes more than 19 bits
ROUND = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits


def _nearest(x: Real, scale: float, bias: int = 0) -> tuple[Real, Bits]:
    """The nearest integer of scale * x, less than 2^51, as a double, and as bits with a bias added (nonnegative then)."""
    shifted = fused(x, scale, ROUND + bias)
    return shifted - (ROUND + bias), shifted.bits() & 0xFFFFF


def _reduced_exp(x: Real, short: bool, bias: int) -> tuple[Real, Bits]:
    """expm1(r) and n + bias, where x = n log(2) + r."""
    n, biased = _nearest(x, LOG2_E, bias)
    hi, lo = fused(n, -LN2_HI, x), n * LN2_LO
    r = hi - lo
    if short:
        return fused(r * r, polynomial(r, EXP32), r), biased
    return r + fused(r * r, polynomial(r, EXP), (hi - r) - lo), biased


def _clamped(x: Real, low: float, high: float) -> Real:
    x = select(x < low, low, x)
    return select(x > high, high, x)


def exp(x: Real, short: bool = False) -> Real:
    q, n = _reduced_exp(_clamped(x, -746.0, 710.0), short, 2046)
    half = n >> 1  # two factors, so that neither overflows and only the last product rounds
    return ((1.0 + q) * (half << 52).real()) * ((n - half) << 52).real()


def expm1(x: Real, short: bool = False) -> Real:
    q, n = _reduced_exp(_clamped(x, -50.0, 710.0), short, 1022)
    t = (n << 52).real()  # 2^(n - 1): 2^1024 would overflow
    return select(abs(x) < 1e-18, x, 2.0 * fused(t, q, t - 0.5))


def _split(x: Real) -> tuple[Real, Real]:
    """m and n with x = m 2^n, sqrt(1/2) <= m < sqrt(2), for 0 < x < inf, subnormal or not."""
    tiny = x < 2.2250738585072014e-308
    bits = select(tiny, x * 2.0**54, x).bits() + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    n = ((bits >> 52) | 0x4330000000000000).real() - select(tiny, 2.0**52 + 1077.0, 2.0**52 + 1023.0)
    return ((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).real(), n


def _log(f: Real, n: Real, c: Real | float, short: bool) -> Real:
    """n log(2) + log(1 + f) + c."""
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    rest = s * fused(z, polynomial(z, LOG32 if short else LOG), half)
    return fused(n, LN2_HI, f - (half - (rest + fused(n, LN2_LO, c))))


def _log_ends(x: Real, result: Real, zero_at: float) -> Real:
    """Values outside of the open interval (zero_at, inf)."""
    outside = select(x == zero_at, -INF, select(x < zero_at, NAN, x))
    return select(x > zero_at, select(x == INF, x, result), outside)


def log(x: Real, short: bool = False) -> Real:
    m, n = _split(x)
    return _log_ends(x, _log(m - 1.0, n, 0.0, short), 0.0)


def log1p(x: Real, short: bool = False) -> Real:
    u = 1.0 + x
    m, n = _split(u)
    lost = select(n > 0.0, 1.0 - (u - x), x - (u - 1.0)) / u  # what rounding 1 + x lost
    near = n == 0.0
    result = _log(select(near, x, m - 1.0), n, select(near, 0.0, lost), short)
    return _log_ends(x, select(abs(x) < 1e-18, x, result), -1.0)


def sin_cos(x: Real, short: bool = False) -> tuple[Real, Real, Bits]:
    """sine and cosine of the rest, and the quadrant (mod 4), for |x| < TRIG_LIMIT."""
    n, quadrant = _nearest(x, 2.0 / math.pi, 1 << 19)
    t = fused(n, -PIO2[0], x)
    w = n * PIO2[1]
    r = t - w
    w = fused(n, PIO2[2], w - (t - r))
    y = r - w
    tail = (r - y) - w
    z = y * y
    v = z * y
    rest = polynomial(z, (SIN32 if short else SIN)[1:])
    sine = y - fused(v, -SIN[0], fused(-z, fused(v, rest, -0.5 * tail), -tail))  # keeps the sign of zero
    half = 0.5 * z
    one = 1.0 - half
    cosine = one + fused(z * z, polynomial(z, COS32 if short else COS), fused(-y, tail, (1.0 - one) - half))
    return sine, cosine, quadrant


def _signed(value: Real, quadrant: Bits) -> Real:
    """Negative where bit 1 of the quadrant is set."""
    return (value.bits() ^ ((quadrant & 2) << 62)).real()


def sin(x: Real, short: bool = False) -> Real:
    sine, cosine, quadrant = sin_cos(x, short)
    return mended(x, _signed(select((quadrant & 1).is_zero(), sine, cosine), quadrant), "sin", TRIG_LIMIT)


def cos(x: Real, short: bool = False) -> Real:
    sine, cosine, quadrant = sin_cos(x, short)
    return mended(x, _signed(select((quadrant & 1).is_zero(), cosine, sine), quadrant + 1), "cos", TRIG_LIMIT)


def tan(x: Real, short: bool = False) -> Real:
    sine, cosine, quadrant = sin_cos(x, short)
    even = (quadrant & 1).is_zero()
    return mended(x, select(even, sine, -cosine) / select(even, cosine, sine), "tan", TRIG_LIMIT)


def tanh(x: Real, short: bool = False) -> Real:
    t = expm1(2.0 * abs(x), short)
    large = t > 2.0
    part = select(large, 2.0, t) / (t + 2.0)
    return select(abs(x) < 1e-18, x, abs(select(large, 1.0 - part, part)).like(x))


def sigmoid(x: Real, short: bool = False) -> Real:
    e = exp(-abs(x), short)
    return select(x < 0.0, e, 1.0) / (1.0 + e)


def erf(x: Real, short: bool = False) -> Real:
    z = x * x
    near = fused(x, polynomial(z, ERF32 if short else ERF), x)
    size = abs(x)
    size = select(size > 6.0, 6.0, size)
    far = exp(-(size * size), short) * polynomial((size - 3.0) / (size + 3.0), ERFC32 if short else ERFC)
    return select(abs(x) < 1.0, near, (1.0 - far).like(x))


def _log2_parts(x: Real) -> tuple[Real, Real]:
    """log2(x) as a sum of which the first part has 21 bits, for 0 < x < inf (FDLIBM, e_pow.c)."""
    m, n = _split(x)
    f = m - 1.0
    inverse = 1.0 / (2.0 + f)
    s = f * inverse
    s_hi = s.top()
    t_hi = (2.0 + f).top()
    t_lo = f - (t_hi - 2.0)
    s_lo = inverse * ((f - s_hi * t_hi) - s_hi * t_lo)
    z = s * s
    rest = fused(z * z, polynomial(z, POW), s_lo * (s_hi + s))
    z = s_hi * s_hi
    t_hi = (3.0 + z + rest).top()
    t_lo = rest - ((t_hi - 3.0) - z)
    u = s_hi * t_hi
    v = fused(s_lo, t_hi, t_lo * s)
    p_hi = (u + v).top()
    p_lo = v - (p_hi - u)
    z_hi = p_hi * 9.61796700954437255859e-01  # 2 / (3 log 2) in two parts
    z_lo = fused(p_hi, -7.02846165095275826516e-09, p_lo * 9.61796693925975554329e-01)
    hi = ((z_hi + z_lo) + n).top()
    return hi, z_lo - ((hi - n) - z_hi)


def _exp2_of_sum(hi: Real, lo: Real) -> Real:
    """2^(hi + lo) for |hi + lo| < 1100."""
    n, biased = _nearest(hi + lo, 1.0, 2046)
    hi = hi - n
    t = (hi + lo).top()
    u = t * 6.93147182464599609375e-01  # log 2 in two parts
    v = (lo - (t - hi)) * 6.93147180559945286227e-01 + t * -1.90465429995776804525e-09
    z = u + v
    w = v - (z - u)
    q = fused(z * z, polynomial(z, EXP), fused(z, w, w))
    half = biased >> 1
    return ((1.0 + (z + q)) * (half << 52).real()) * ((biased - half) << 52).real()


def power(x: Real, y: Real, short: bool = False) -> Real:
    size = abs(x)
    exponent = select(y > 1e25, 1e25, select(y < -1e25, -1e25, y))
    l_hi, l_lo = _log2_parts(size)
    y_hi = exponent.top()
    hi = y_hi * l_hi
    lo = fused(exponent, l_lo, (exponent - y_hi) * l_hi)
    total = hi + lo
    far = abs(total) > 1100.0
    hi = select(far, select(total > 0.0, 1100.0, -1100.0), hi)
    result = _exp2_of_sum(hi, select(far, 0.0, lo))
    return _pow_ends(x, y, size, result)


def _pow_ends(x: Real, y: Real, size: Real, result: Real) -> Real:
    """The special cases of IEEE 754, 9.2.1."""
    result = select((size == 0.0) | (size == INF), select((size == 0.0) ^ (y > 0.0), INF, 0.0), result)
    result = select(abs(y) == INF, select(size == 1.0, 1.0, select((size > 1.0) ^ (y > 0.0), 0.0, INF)), result)
    whole = y.floor() == y
    odd = whole & ((y * 0.5).floor() != y * 0.5)
    result = select(odd, (result.bits() | x.sign_bit()).real(), result)
    result = select((x < 0.0) & (x > -INF) & ~whole, NAN, result)
    result = select((x != x) | (y != y), x + y, result)
    return select((x == 1.0) | (y == 0.0), 1.0, result)
