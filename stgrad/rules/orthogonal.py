"""Derivatives of the orthogonal polynomials of scipy.special, in x alone: the degree and the parameters have no closed form.

Source: Abramowitz & Stegun (1964), §22.8; each derivative is a polynomial of a neighbouring family, without the poles at 1 and -1.
"""

from __future__ import annotations

import numpy as np
import scipy.special as sp

from .core import partials, samples


def below(n):
    """The degree of the derivative; 0 where it vanishes."""
    return np.where(n == 0, 0, n - 1)


def of_jacobi(n, alpha, beta, x):
    slope = 0.5 * (n + alpha + beta + 1.0) * sp.eval_jacobi(below(n), alpha + 1.0, beta + 1.0, x)
    return np.where(n == 0, 0.0, slope)


@partials(sp.eval_jacobi)
def eval_jacobi(y, n, alpha, beta, x):
    return None, None, None, of_jacobi(n, alpha, beta, x)


@partials(sp.eval_legendre)
def eval_legendre(y, n, x):
    return None, of_jacobi(n, 0.0, 0.0, x)


@partials(sp.eval_sh_legendre)
def eval_sh_legendre(y, n, x):
    return None, 2.0 * of_jacobi(n, 0.0, 0.0, 2.0 * x - 1.0)


@partials(sp.eval_gegenbauer)
def eval_gegenbauer(y, n, alpha, x):
    return None, None, np.where(n == 0, 0.0, 2.0 * alpha * sp.eval_gegenbauer(below(n), alpha + 1.0, x))


@partials(sp.eval_chebyt)
def eval_chebyt(y, n, x):
    return None, n * sp.eval_chebyu(below(n), x)


@partials(sp.eval_chebyu)
def eval_chebyu(y, n, x):
    return None, np.where(n == 0, 0.0, 2.0 * sp.eval_gegenbauer(below(n), 2.0, x))


@partials(sp.eval_hermite)
def eval_hermite(y, n, x):
    return None, 2.0 * n * sp.eval_hermite(below(n), x)


@partials(sp.eval_hermitenorm)
def eval_hermitenorm(y, n, x):
    return None, n * sp.eval_hermitenorm(below(n), x)


@partials(sp.eval_laguerre)
def eval_laguerre(y, n, x):
    return None, np.where(n == 0, 0.0, -sp.eval_genlaguerre(below(n), 1.0, x))


@partials(sp.eval_genlaguerre)
def eval_genlaguerre(y, n, alpha, x):
    return None, None, np.where(n == 0, 0.0, -sp.eval_genlaguerre(below(n), alpha + 1.0, x))


@samples(sp.eval_legendre, sp.eval_sh_legendre, sp.eval_chebyt, sp.eval_chebyu, sp.eval_hermite, sp.eval_hermitenorm, sp.eval_laguerre)
def _(rng):
    for n in (0, 1, 4):
        yield (n, rng.uniform(0.1, 0.9, size=3)), {}
    yield (np.array([0, 2, 3]), rng.uniform(0.1, 0.9, size=3)), {}


@samples(sp.eval_gegenbauer, sp.eval_genlaguerre)
def _(rng):
    for n in (0, 1, 4):
        yield (n, 0.7, rng.uniform(0.1, 0.9, size=3)), {}


@samples(sp.eval_jacobi)
def _(rng):
    for n in (0, 1, 4):
        yield (n, 0.7, 0.3, rng.uniform(0.1, 0.9, size=3)), {}
