"""On a branch cut of a complex function the sign of a zero is the side: derivatives along the cut against differences."""

import numpy as np
import pytest

import stgrad

CUT = ("sqrt", "log", "log2", "log10", "log1p", "arcsin", "arccos", "arcsinh", "arccosh", "arctanh")


def along(function, above, upright):
    """A real function of the place on the real or imaginary axis, just above it or just below."""

    def f(t):
        z = 1j * t if upright else t + 0j if above else np.conj(t + 0j)
        w = function(z)
        return np.sum(w.real + 2.0 * w.imag)

    return f


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize(("above", "upright"), [(True, False), (False, False), (True, True)])
def test_derivatives_along_a_cut(name, above, upright):
    f = along(getattr(np, name), above, upright)
    t = np.array([2.4, -1.9, 0.3, -0.4])
    expected = [(f(t + e) - f(t - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(stgrad.grad(f, jit=False)(t), expected, rtol=1e-6)
    np.testing.assert_allclose(stgrad.jvp(f, (t,), (np.ones(4),), jit=False)[1], sum(expected), rtol=1e-6)
