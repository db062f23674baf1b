"""`cmath` of real and complex numbers, against differences."""

from __future__ import annotations

import cmath

import pytest
from thorough import check_gradient

FUNCTIONS = "exp sqrt sin cos tan sinh cosh tanh log log10 asin acos atan asinh acosh atanh".split()


def polar(a):
    r, phi = cmath.polar(a + 1j)
    return r * phi + cmath.rect(a, a * a).imag + cmath.phase(a - 2j) + cmath.log(a, 3.0).real


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_complex(name):
    function = getattr(cmath, name)

    def f(a):
        y = function(a + 0.3j)
        return y.real + 2.0 * y.imag

    check_gradient(f, (0.6,), jit=False)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
def test_of_parts(jit):
    check_gradient(polar, (0.6,), order=1 if jit else 2, jit=jit)
