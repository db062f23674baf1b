"""Powers with whole and half exponents, which compiled code writes out as products and roots."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

EXPONENTS = (-12, -6, -3, -2, -1, -12.0, -7.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 5, 7.0, 12)


@pytest.mark.parametrize("p", EXPONENTS)
def test_powers_are_those_of_numpy(p) -> None:
    x = np.array([0.0, -0.0, 1e-200, 1e-160, 3e-103, 1e100, 1e200, np.inf, np.nan, 2.5, 0.3, 1e-5, *([-2.0, -1e-5, -np.inf] if p % 1 == 0 else [-2.0])])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(stgrad.jit(lambda x: x**p)(x), x**p, rtol=4e-15)


@pytest.mark.parametrize("p", EXPONENTS)
def test_derivatives_of_powers(p) -> None:
    def summed(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] ** p
        return s + np.sum(x**p * x)

    check_gradient(summed, (np.array([0.7, 1.3, 0.9]),))
    code = [line.split("#")[0] for line in stgrad.grad(summed).lowered(np.ones(3)).splitlines()]
    assert not any("pow(" in line or "**" in line for line in code)
