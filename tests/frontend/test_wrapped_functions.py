"""A decorator of the user's, by `functools.wraps` under the name of SciPy's function, is read as it is written."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import integrate, optimize, sparse, special

import stgrad


def doubled(function):
    @functools.wraps(function)
    def inner(*args, **options):
        factor = options.pop("factor", 2.0)
        return factor * function(*args, **options)

    return inner


brentq, logsumexp, trapezoid, diags = map(doubled, (optimize.brentq, special.logsumexp, integrate.trapezoid, sparse.diags))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: brentq(lambda t: t * t - x, 0.0, 5.0),
        lambda x: brentq(lambda t: t * t - x, 0.0, 5.0, factor=3.0),
        lambda x: logsumexp(np.array([x, 1.0])),
        lambda x: trapezoid(np.array([x, 1.0, x * x])),
        lambda x: np.sum(diags([x, 1.0], shape=(2, 2)).toarray() @ np.ones(2)),
    ],
)
def test_decorated_functions_of_scipy(f, jit):
    value, gradient = stgrad.value_and_grad(f, jit=jit)(2.0)
    assert value == pytest.approx(f(2.0))
    assert gradient == pytest.approx((f(2.0 + 1e-5) - f(2.0 - 1e-5)) / 2e-5, rel=1e-6)
