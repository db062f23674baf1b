"""SciPy in differentiated functions: values as SciPy gives them, first and second derivatives against differences."""

from __future__ import annotations

import inspect
import linecache
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import rules

IMPORTS = "import numpy as np\nimport scipy.special as sp\nimport scipy.stats as st\nimport scipy.fft as sf\n"
IMPORTS += "import scipy.integrate as si\nimport scipy.signal as ss\nimport scipy.ndimage as nd\nimport scipy.linalg as sl\n"

# a function of x, between 0 and 1, and y, above 1, of three items each
CALLS = """
st.norm.isf(x, 0.1, y)
st.expon.ppf(x, scale=y)
st.expon.logsf(x, 0.1, scale=y)
st.gamma.sf(x, 2.5, scale=y)
st.gamma.ppf(x, a=2.5, scale=y)
st.beta.isf(x, 2.5, 1.3)
st.t.ppf(x, 3.5, 0.1, y)
st.t.logsf(x, df=4.0)
st.chi2.isf(x, 3.0)
st.uniform.logcdf(x, 0.05, y)
st.lognorm.logpdf(x, s=y)
st.lognorm.sf(x, 0.7, 0.0, y)
st.lognorm.ppf(x, y)
st.laplace.logpdf(x, 0.5, y)
st.laplace.ppf(x, 0.5, y)
st.logistic.logcdf(x, 0.5, y)
st.cauchy.pdf(x, loc=0.3, scale=y)
st.gumbel_r.logsf(x, 0.1, y)
st.gumbel_l.ppf(x, 0.1, y)
st.rayleigh.logpdf(x, scale=y)
st.halfnorm.logsf(x, 0.0, y)
st.weibull_min.logpdf(x, y, scale=2.0)
st.pareto.logpdf(y + x, 2.2, scale=x)
st.invgamma.logpdf(x, a=y)
st.binom.logpmf(np.array([0, 2, 5]), 5, x)
st.binom.cdf(2, 5, x)
st.nbinom.logpmf(np.array([0, 2, 5]), y, x)
st.geom.logpmf(3, x)
st.poisson.sf(2, y)
sp.eval_legendre(3, x)
sp.eval_chebyt(np.array([0, 2, 3]), x)
sp.eval_genlaguerre(2, 0.5, x * y)
sp.eval_jacobi(3, 0.5, 0.3, x)
sp.betaincinv(1.5, 2.5, x)
np.polynomial.chebyshev.chebval(x, y)
np.polynomial.legendre.legval(x, y)
np.polynomial.hermite.hermval(x, y[:1])
np.polynomial.laguerre.lagval(x[0], y)
np.polynomial.hermite_e.hermeval(x, np.outer(x, y)).T
si.trapezoid(x, np.cumsum(y))
si.cumulative_trapezoid(x, dx=0.1, initial=0)
si.simpson(x)
si.simpson(np.outer(y, x), x=np.cumsum(y), axis=0)
si.simpson(np.concatenate((x, y)), dx=0.3)
si.fixed_quad(lambda t: x[0] * np.sin(y[1] * t), x[1], y[0])[0]
ss.convolve(np.outer(np.tile(x, 2), y), y[:2, None], "valid")[0]
ss.lfilter(x, y, np.sin(np.arange(6.0) * x[0]))[3:]
ss.lfilter(np.array([1.0, 0.2]), np.array([1.0, 0.5]), np.outer(x, y), axis=0)
sf.dct(x)
sf.dct(x, type=1)
sf.idct(x, norm="ortho")
sf.dst(x, type=3) * sf.idst(y)
sf.dctn(np.outer(x, y))
nd.gaussian_filter(np.outer(x, y), 0.7)
nd.gaussian_filter(np.outer(x, y), 0.6, mode="wrap")
nd.gaussian_filter1d(x, y[0], mode="constant", cval=0.2)
nd.convolve(np.outer(x, y), np.outer(y[:2], x), mode="nearest")
nd.correlate(x, y, mode="mirror")
nd.correlate1d(np.outer(x, x), y, axis=0)
nd.uniform_filter(np.outer(x, y), 3)
nd.laplace(np.outer(x, y))
nd.sobel(np.outer(x, y), axis=0)
sl.qr(np.diag(y) + np.outer(x, x))[1]
sl.qr(np.outer(x, y) + np.eye(3), mode="economic")[0]
sl.svd(np.diag(y) + np.outer(x, x * y))[1]
sl.lu(np.diag(y) + np.outer(y, x))[2]
sl.lu(np.diag(x) + np.outer(y, y), permute_l=True)[0]
sl.lu_solve(sl.lu_factor(np.diag(x) + np.outer(y, y)), x, trans=1)
sl.lstsq((np.outer(x, y) + np.eye(3))[:, :2], np.sin(x))[0][0]
sl.lstsq((np.outer(x, y) + np.eye(3))[:, :2], np.sin(x))[1]
sl.solve(np.diag(x) + np.outer(y, y), x, assume_a="pos")
sl.solve(np.diag(x) + np.outer(y, x), y, assume_a="sym", lower=True)
sl.solve_continuous_lyapunov(np.diag(x) + np.outer(y, x), np.outer(x, y))
sl.solve_discrete_lyapunov(0.2 * np.diag(x) + 0.1 * np.outer(y, x), np.outer(x, y))
sl.circulant(x) @ y
sl.hankel(x, y)
sl.solve_toeplitz((np.array([3.0, 1.0, 1.0]) + y, x + np.array([3.0, 0.0, 0.0])), y)
sl.matmul_toeplitz(x, y)
sl.khatri_rao(np.outer(x, y), np.outer(y, x))[:3]
sl.polar(np.diag(y) + np.outer(x, y))[0]
sl.expm(np.outer(x, y))
sl.cosm(np.outer(x, y))
sl.eigvals(np.diag(np.arange(1.0, 4.0)) + 0.1 * np.outer(x, y)).real
"""


def written(call: str, weights: Any) -> Callable[..., Any]:
    """A function of x and y, of a text that `inspect` finds."""
    text = f"{IMPORTS}def f(x, y):\n    return np.sum({call} * weights)\n"
    file = f"<scipy {zlib.crc32(text.encode()):08x}>.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"weights": weights}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_call(call: str) -> None:
    rng = np.random.default_rng(zlib.crc32(call.encode()))
    f = written(call, rng.uniform(0.5, 1.5, size=3))
    args = rng.uniform(0.2, 0.8, size=3), rng.uniform(1.2, 1.8, size=3)
    np.testing.assert_allclose(stgrad.value_and_grad(f, jit=False)(*args)[0], f(*args), rtol=1e-10)
    check_gradient(f, args, order=1 + zlib.crc32(call.encode()) % 2)


def test_quantiles_of_no_probability_are_nan() -> None:
    f = written("st.expon.ppf(x)", 1.0)
    assert np.isnan(stgrad.value_and_grad(f, jit=False)(np.array(1.5), np.array(1.0))[0])


def test_orders_without_a_closed_form_are_refused() -> None:
    with pytest.raises(stgrad.errors.NotDifferentiableError, match="jv"):
        stgrad.grad(written("sp.jv(x, 0.3)", 1.0), jit=False)(np.array(1.5), np.array(1.0))


def test_as_strided_is_refused() -> None:
    f = written("np.lib.stride_tricks.as_strided(x, (3, 2), (8, 8))", 1.0)
    with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match="sliding_window_view"):
        stgrad.grad(f, jit=False)(np.ones(5), np.ones(1))


def test_a_copy_if_needed_is_none_of_arrays() -> None:
    f = written("np.array(x, copy=np._CopyMode.IF_NEEDED) * y", 1.0)
    check_gradient(f, (np.array([0.3, 0.5]), np.array([1.0, 2.0])))


def test_distributions_stand_at_zero_with_scale_one() -> None:
    rules.load_scipy()
    composites = {name: r.composite for name, r in rules.TABLE.items() if r.composite and r.composite.__module__ == "stgrad.rules.stats"}
    found = [(name, p) for name, function in composites.items() for p in inspect.signature(function).parameters.values() if p.name in ("loc", "scale")]
    assert len(found) > 50
    for name, parameter in found:
        assert parameter.default == {"loc": 0, "scale": 1}[parameter.name], f"{name}: {parameter}"
