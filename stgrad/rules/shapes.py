"""Derivatives of the incomplete gamma and beta functions by their shape parameters, which have no closed form.

Under the integral, `dP/da = E[(log T - psi(a)) 1(T < x)]`, T drawn from the distribution itself; the bracket has the mean 0, so it is also minus the same
over T > x. The integral is taken on the side where the bracket has one sign: nothing cancels, and the relative error is that of the rule. With
`psi(a) - psi(a + b)` for `psi(a)` the same holds of the beta distribution. The rule is the trapezoidal one with `u = exp(v - exp(-v))`.

Sources: DLMF 8.2.4, 8.17.2 (the functions); H. Takahasi, M. Mori, Double exponential formulas for numerical integration, Publ. RIMS 9 (1974).
Against 40 digits of mpmath: 1e-12 for a from 0.05 to 1e3, 4e-11 at a = 0.001, x = 1e-10.
"""

from __future__ import annotations

import numpy as np
import scipy.special as sp

STEP, FIRST, COUNT = 0.04, -4.0, 225  # from 1e-26 to 142, what is left of exp(-u)


def gamma_in_shape(a, x):
    """The derivative of `gammainc(a, x)` by a.

    Args:
        a, x: numbers or arrays that broadcast, positive.

    Returns:
        An array of their common shape; 0 where x is 0 or infinite.
    """
    inside = (x > 0.0) & (x < np.inf)
    A, X = np.expand_dims(a, -1), np.expand_dims(np.where(inside, x, 1.0), -1)  # noqa: N806
    v = FIRST + STEP * np.arange(COUNT)
    q = np.exp(v - np.exp(-v))
    centre = np.log(X) - sp.psi(A)
    low = centre < 0.0
    near = np.abs(X - A) + np.sqrt(X)
    u = q * np.where(low, 1.0 / near, np.maximum(1.0, X / near))  # t = x exp(-u) below, x + u above
    log_ratio = np.where(low, -u, np.log1p(u / X))
    rise = np.where(low, X * np.expm1(-np.where(low, u, 0.0)), u)
    front = np.where(low, X, -X / (X + u))
    log_density = sp.xlogy(A - 1.0, X) - X - sp.gammaln(A)
    terms = (centre + log_ratio) * np.exp(log_density + A * log_ratio - rise) * front * u * (1.0 + np.exp(-v))
    return np.where(inside, STEP * np.sum(terms, axis=-1), 0.0)


def beta_in_shape(a, b, x, rest):
    """The derivative of `betainc(a, b, x)` by a; `rest` is 1 - x, which may be known better. By b it is `-beta_in_shape(b, a, rest, x)`.

    Args:
        a, b, x, rest: numbers or arrays that broadcast; a and b are positive.

    Returns:
        An array of their common shape; 0 where x or rest is 0.
    """
    inside = (x > 0.0) & (rest > 0.0)
    A, B = np.expand_dims(a, -1), np.expand_dims(b, -1)  # noqa: N806
    X, Y = np.expand_dims(np.where(inside, x, 0.5), -1), np.expand_dims(np.where(inside, rest, 0.5), -1)  # noqa: N806
    v = FIRST + STEP * np.arange(COUNT)
    q = np.exp(v - np.exp(-v))
    log_x = np.where(X < Y, np.log(X), np.log1p(-np.where(X < Y, 0.5, Y)))
    centre = log_x - sp.psi(A) + sp.psi(A + B)
    low = centre < 0.0
    odds = np.where(low, X / Y, Y / X)
    p, r = np.where(low, A, B), np.where(low, B, A)  # of the side that is integrated, where t or 1 - t falls as exp(-u), and of the other
    steep = np.abs(p - (r - 1.0) * odds) + np.sqrt(np.abs(r - 1.0) * odds * (1.0 + odds))
    u = q * np.maximum(1.0 / steep, 1.0 / p)
    log_other = np.log1p(-odds * np.expm1(-u))
    log_ratio = np.where(low, -u, log_other)
    log_density = (A - 1.0) * log_x + sp.xlogy(B - 1.0, Y) - sp.betaln(A, B)
    terms = (centre + log_ratio) * np.exp(log_density - p * u + (r - 1.0) * log_other) * np.where(low, X, -Y) * u * (1.0 + np.exp(-v))
    return np.where(inside, STEP * np.sum(terms, axis=-1), 0.0)


def t_in_freedom(df, t):
    """The derivative of `stdtr(df, t)` by df: `F(t) = 1 - I_z(df / 2, 1 / 2) / 2` with z = df / (df + t^2) for positive t (DLMF 8.17).

    Args:
        df, t: numbers or arrays that broadcast; df is positive.

    Returns:
        An array of their common shape. It falls as 1 / df^2 while its parts fall as 1 / df: the error is 1e-9 of it, or 1e-16 where that is more.
    """
    square = t * t
    total = df + square
    z, rest = df / total, square / total
    inside = square > 0.0
    kept = np.where(inside, rest, 0.5)
    density = np.exp(-(0.5 * df - 1.0) * np.log1p(square / df) - 0.5 * np.log(kept) - sp.betaln(0.5 * df, 0.5))
    by_shape = 0.5 * beta_in_shape(0.5 * df, 0.5 + 0.0 * t, z, rest)
    return np.where(inside, -0.5 * np.sign(t) * (by_shape + density * rest / total), 0.0)
