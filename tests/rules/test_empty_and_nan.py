"""Means, medians and quantiles of nothing, and of what is no number: NaN, where NumPy gives NaN; and divisions by an empty sum."""

import numpy as np
import pytest

import stgrad
from tests.thorough import check_gradient

MODES = pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
QUIET = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::stgrad.errors.ZeroGradientWarning")

OF_ALL = {
    "mean": lambda x, n: np.mean(x[:n]),
    "nanmean": lambda x, n: np.nanmean(x[:n]),
    "average": lambda x, n: np.average(x[:n]),
    "nanstd": lambda x, n: np.nanstd(x[:n]),
    "median": lambda x, n: np.median(x[:n]) + x[0],
    "nanmedian": lambda x, n: np.nanmedian(x[:n]),
    "median of rows": lambda x, n: np.sum(np.median(np.outer(x[:n], x), axis=0)),
    "median of columns": lambda x, n: np.sum(np.median(np.outer(x, x[:n]), axis=1, keepdims=True)),
    "mean of columns": lambda x, n: np.sum(np.mean(np.outer(x, x[:n]), axis=1)),
    "an empty sum": lambda x, n: x[0] / np.sum(x[:n]),
    "a power": lambda x, n: np.sum(x[:n]) ** -1.0,
}


@QUIET
@pytest.mark.parametrize("f", OF_ALL.values(), ids=OF_ALL)
def test_of_nothing(f):
    """In native code: plain Python raises ZeroDivisionError where the text divides by a number of Python's."""
    x = np.array([1.0, 2.5, -0.5, 3.0])
    value, gradient = stgrad.value_and_grad(f, jit=True)(x, 0)
    assert np.array_equal(value, f(x, 0), equal_nan=True)
    assert gradient.shape == x.shape


@MODES
@pytest.mark.parametrize("f", OF_ALL.values(), ids=OF_ALL)
def test_of_some(f, jit):
    check_gradient(f, (np.array([1.0, 2.5, -0.5, 3.0]), 3), jit=jit)


OF_NAN = {
    "median": lambda x: np.median(x),
    "quantile": lambda x: np.quantile(x, 0.1),
    "percentiles": lambda x: np.sum(np.percentile(x, [10.0, 60.0])),
    "rows": lambda x: np.nansum(np.median(x.reshape(2, 3), axis=1) ** 2),
    "columns": lambda x: np.nansum(np.quantile(x.reshape(2, 3), [0.2, 0.7], axis=0) ** 2),
}


@MODES
@QUIET
@pytest.mark.parametrize("f", OF_NAN.values(), ids=OF_NAN)
def test_of_what_is_no_number(f, jit):
    x = np.array([1.0, np.nan, 2.0, 0.5, 3.0, 4.5])
    assert np.allclose(stgrad.value_and_grad(f, jit=jit)(x)[0], f(x), equal_nan=True)
    check_gradient(f, (np.array([1.0, 2.5, 2.0, 0.5, 3.0, 4.5]),), jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_of_integers(jit):
    assert stgrad.grad(lambda x, k: x * np.median(k) + x * np.quantile(k, 0.5), jit=jit)(2.0, np.array([3, 1, 2])) == 4.0


MEANS = [
    lambda x, n: np.mean(x[:n]),
    lambda x, n: x[:n].mean(),
    lambda x, n: np.average(x[:n]),
    lambda x, n: np.median(x[:n]),
    lambda x, n: np.std(x[:n]),
    lambda x, n: np.nanmean(x[:n]),
    lambda x, n: np.nanstd(x[:n]),
    lambda x, n: np.nanvar(x[:n], ddof=1),
]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", MEANS)
@pytest.mark.filterwarnings("ignore")
def test_means_of_nothing(f, jit):
    """NaN, as NumPy's, of a slice that is empty as the program runs; nothing moves it."""
    x = np.array([0.3, 0.5, 0.7])
    value, slope = stgrad.value_and_grad(f, jit=jit)(x, 0)
    assert np.isnan(value) and np.array_equal(slope, np.zeros(3))
    assert np.all(np.isfinite(stgrad.grad(f, jit=jit)(x, 3)))
