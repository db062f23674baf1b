"""Functions of NumPy in PyTensor's graphs."""

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor")

from stgrad.errors import ShapeError  # noqa: E402
from stgrad.interop.pytensor import function  # noqa: E402

pt = pytensor.tensor
DATA = np.array([1.0, 2.0, 4.0])


def likelihood(mu, sigma, power, data):
    total = 0.0
    for x in data:
        total += np.abs((x - mu) / sigma) ** power
    return -0.5 * total - len(data) * np.log(sigma)


def graph(mu, sigma):
    z = (DATA - mu) / sigma
    return -0.5 * pt.sum(z**2) - 3 * pt.log(sigma)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_derivatives_are_those_of_pytensor(mode) -> None:
    """Numbers and arrays, constants, the second order; by Python and by the Numba backend."""
    mu, sigma = pt.dscalar("mu"), pt.dscalar("sigma")
    results = []
    for y in (function(likelihood)(mu, sigma, 2, DATA), graph(mu, sigma)):
        g = pt.grad(y, [mu, sigma])
        results.append(pytensor.function([mu, sigma], [y, *g, pt.grad(g[1], mu)], mode=mode)(1.5, 0.7))
    np.testing.assert_allclose(*results)


def test_several_results_and_integers() -> None:
    x, k = pt.dvector("x"), pt.lvector("k")
    sums, total = function(lambda x, k: (np.cumsum(x * k), np.sum(x)))(x, k)
    given = {x: [1.0, 2.0], k: [1, 2]}
    np.testing.assert_allclose(pt.grad(sums.sum() + total**2, x).eval(given, mode="FAST_COMPILE"), [8.0, 8.0])
    np.testing.assert_allclose(pt.grad(sums.sum(), x).eval(given, mode="FAST_COMPILE"), [2.0, 2.0])


def test_what_it_returns() -> None:
    x = pt.dvector("x")
    residuals = lambda x: np.sum((x - np.arange(5.0)) ** 2)  # noqa: E731
    with pytest.raises(ShapeError, match="shapes .3,.: .*\n.*`result=`"):
        function(residuals)(x)
    y = function(residuals, result=0.0)(x)
    np.testing.assert_allclose(pt.grad(y, x).eval({x: np.zeros(5)}, mode="FAST_COMPILE"), -2.0 * np.arange(5.0))
