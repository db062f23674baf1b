"""Distributions of `scipy.stats` without rules of their own: methods around what each has for its standard form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import stgrad

CASES = [
    ("alpha", (3.57,), ("logpdf", "cdf", "ppf")), ("arcsine", (), ("pdf", "logsf", "isf")), ("bradford", (0.3,), ("cdf", "sf", "ppf")),
    ("dgamma", (1.1,), ("logcdf", "pdf")), ("fatiguelife", (2.9,), ("logcdf", "sf")), ("f", (29.0, 18.0), ("cdf", "logsf")),
    ("foldcauchy", (4.7,), ("cdf", "pdf")), ("gompertz", (0.95,), ("logpdf", "isf", "logsf")), ("powerlaw", (1.66,), ("sf", "logcdf", "ppf")),
    ("semicircular", (), ("logcdf", "pdf")), ("triang", (0.16,), ("pdf", "cdf", "ppf")), ("trapezoid", (0.2, 0.8), ("logpdf", "sf")),
    ("tukeylambda", (3.13,), ("ppf",)), ("wrapcauchy", (0.03,), ("pdf", "cdf")),
]  # fmt: skip
MOMENTS = [("nakagami", (4.97,), "mean"), ("jf_skew_t", (8.0, 4.0), "var"), ("halflogistic", (), "std"), ("weibull_max", (2.9,), "var")]
METHODS = [(name, shapes, method) for name, shapes, methods in CASES for method in methods]
WEIGHTS = np.array([1.0, 0.7, 0.3])


def differences(f, args, k):
    h = 1e-4 * max(1.0, np.max(np.abs(args[k])))

    def at(step):
        return f(*args[:k], args[k] + step * h, *args[k + 1 :])

    return (8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * h)


@pytest.mark.parametrize("jit", [False])
@pytest.mark.parametrize(("name", "shapes", "method"), METHODS)
def test_methods(name, shapes, method, jit):
    distribution = getattr(stats, name)
    places = np.array([0.3, 0.6, 0.8])
    x = places if method in ("ppf", "isf") else distribution.ppf(places, *shapes) * 1.3 + 0.4
    args = (x, *shapes, 0.4, 1.3)

    def f(*args):
        return np.sum(WEIGHTS * getattr(distribution, method)(*args))

    value, gradient = stgrad.value_and_grad(f, tuple(range(len(args))), jit=jit)(*args)
    assert value == pytest.approx(f(*args), rel=1e-10)
    for k, g in enumerate(gradient):
        assert np.sum(g) == pytest.approx(differences(f, args, k), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("name", "shapes", "method"), MOMENTS)
def test_moments(name, shapes, method):
    def f(*args):
        return getattr(getattr(stats, name), method)(*args)

    args = (*shapes, 0.4, 1.3)
    value, gradient = stgrad.value_and_grad(f, tuple(range(len(args))), jit=False)(*args)
    assert value == pytest.approx(f(*args), rel=1e-12)
    np.testing.assert_allclose(gradient, [differences(f, args, k) for k in range(len(args))], rtol=1e-6, atol=1e-9)


def test_entropy():
    def f(a, scale):
        return stats.weibull_min.entropy(a, scale=scale)

    value, gradient = stgrad.value_and_grad(f, (0, 1))(3.57, 1.3)
    assert value == pytest.approx(f(3.57, 1.3), rel=1e-12)
    np.testing.assert_allclose(gradient, [differences(f, (3.57, 1.3), k) for k in range(2)], rtol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
def test_outside_of_what_is_valid(jit):
    """Places beyond the support, places that are no numbers, and parameters that no distribution has."""
    x = np.array([-1.0, 0.2, 1.5, np.nan])
    for method in ("pdf", "logcdf", "ppf") if jit else ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf"):

        def f(x, c, scale, method=method):
            return getattr(stats.bradford, method)(x, c, scale=scale)

        for c, scale in ((0.3, 1.0), (-0.3, 1.0), (0.3, -1.0)):
            with np.errstate(all="ignore"):
                value, pullback = stgrad.vjp(f, x, c, scale, jit=jit)
                x_bar, _, _ = pullback(np.array([1.0, 0.0, 1.0, 0.0]))
            np.testing.assert_allclose(value, f(x, c, scale), err_msg=method)
            assert np.all(x_bar[[0, 2]] == 0.0) or not (c > 0.0 and scale > 0.0)


def test_one_number_stays_one():
    value, gradient = stgrad.value_and_grad(lambda x: stats.gompertz.pdf(x, 0.9), jit=True)(0.7)
    assert value == pytest.approx(stats.gompertz.pdf(0.7, 0.9))
    assert np.ndim(gradient) == 0


def test_what_scipy_solves_for_is_refused():
    with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match="`ppf` of `irwinhall` is found by SciPy with root finders"):
        stgrad.grad(lambda q: stats.irwinhall.ppf(q, 3), jit=True)(0.3)
    with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match="`entropy` of `alpha`"):
        stgrad.grad(lambda a: stats.alpha.entropy(a), jit=True)(3.57)


# ------------------------------------------------------------------ on the way to them


doubled = np.vectorize(lambda a, b: a * b if a > b else 1, otypes="d")


@pytest.mark.parametrize("jit", [False, True])
def test_vectorize_with_a_type(jit):
    np.testing.assert_allclose(stgrad.grad(lambda x: np.sum(doubled(x, 0.5) * x), jit=jit)(np.array([0.3, 0.7])), [1.0, 0.7])


@pytest.mark.parametrize("jit", [False, True])
def test_limits_of_a_type_by_keyword(jit):
    assert stgrad.grad(lambda x: x * np.finfo(dtype=np.float64).max, jit=jit)(1.0) == np.finfo(float).max


@pytest.mark.parametrize("jit", [False, True])
def test_axes_from_the_end_in_a_loop_over_tuples(jit):
    def f(x):
        total = 0.0
        for axes in (1, 2):
            total = total + np.sum(x.reshape(*x.shape[:-axes], -1) ** 2) * axes
        return total

    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(np.ones((2, 3))), np.full((2, 3), 6.0))


@pytest.mark.parametrize("jit", [False, True])
def test_ufuncs_that_have_no_public_name(jit):
    private = getattr(special._ufuncs, "_beta_ppf", None)
    if private is None:
        pytest.skip("this SciPy has no such function")
    assert stgrad.grad(lambda x, k: x * private(k, 2.0, 3.0), jit=jit)(1.0, 0.3) == private(0.3, 2.0, 3.0)


@pytest.mark.parametrize("jit", [False, True])
def test_permutations_of_numbers_that_move(jit):
    """`scipy.special.perm` counted as a step."""
    x, k = np.array([20.3, 10.1, 3.2]), np.array([3, 2, 5])

    def f(x):
        return np.sum(special.perm(x, k))

    wanted = [(f(x + d) - f(x - d)) / 2e-5 for d in 1e-5 * np.eye(3)]
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x), wanted, rtol=1e-6)
    assert stgrad.grad(lambda x, n: x * special.perm(n, 2, exact=True), jit=jit)(1.0, 5) == 20.0
