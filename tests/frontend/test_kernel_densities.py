"""`scipy.stats.gaussian_kde` and `scipy.interpolate.RBFInterpolator`: made inside of a program, or outside of it."""

import numpy as np
import pytest
from scipy import interpolate, stats

from tests.thorough import check_gradient

X = np.array([0.3, 1.2, -0.7, 2.1, 0.9, 1.7])
DATA = np.random.default_rng(0).normal(size=(2, 7))
DENSITY = stats.gaussian_kde(DATA)


def of_the_data(x):
    return stats.gaussian_kde(x).evaluate(np.array([0.1, 0.5])).sum()


def logarithm(x):
    return stats.gaussian_kde(x).logpdf(np.array([0.1, 0.5])).sum()


def at_points(x):
    return DENSITY(x.reshape(2, 3)).sum() + DENSITY.logpdf(x.reshape(2, 3)).sum()


def one_point(x):
    return stats.gaussian_kde(x.reshape(2, 3) * DATA[:, :3], bw_method=0.5)(np.array([0.3, 0.4]))[0]


def weighted(x):
    return stats.gaussian_kde(X, weights=np.abs(x))(0.3)[0]


def rbf_of_values(y):
    return interpolate.RBFInterpolator(np.arange(6.0)[:, None], y)(np.array([[2.3]]))[0]


def rbf_at_points(x):
    return interpolate.RBFInterpolator(np.arange(6.0)[:, None], X, kernel="gaussian", epsilon=0.7)(x[:, None]).sum()


@pytest.mark.parametrize("function", [of_the_data, logarithm, at_points, one_point, weighted, rbf_of_values, rbf_at_points])
def test_gradients(function):
    check_gradient(function, (X,), order=2 if function in (at_points, rbf_of_values) else 1)
