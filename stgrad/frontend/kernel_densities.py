# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.stats.gaussian_kde` at points: its compiled sums as programs of NumPy; what makes the estimate is SciPy's own Python.

Source: Silverman, Density Estimation for Statistics and Data Analysis (1986), §4.2: a weighted sum of normal densities at the data.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from scipy.special import logsumexp


def evaluate(self, points):
    exponents, scale = _exponents(self, points)
    return np.sum(np.expand_dims(self.weights, 1) * np.exp(exponents), axis=0) * scale


def logpdf(self, x):
    exponents, scale = _exponents(self, x)
    return logsumexp(exponents, axis=0, b=np.expand_dims(self.weights, 1)) + np.log(scale)


def _exponents(self, points):
    """Minus half of the squared distances of data and points `(data, points)`, by the covariance, and the factor of a density."""
    points = np.atleast_2d(np.asarray(points))
    if points.shape[0] != self.d:
        if points.shape[0] != 1 or points.shape[1] != self.d:
            raise ValueError(f"points have dimension {points.shape[0]}, dataset has dimension {self.d}")
        points = np.reshape(points, (self.d, 1))
    data, at = (scipy.linalg.solve_triangular(self.cho_cov, values, lower=True) for values in (self.dataset, points))
    apart = np.expand_dims(data, 2) - np.expand_dims(at, 1)
    scale = (2.0 * math.pi) ** (-0.5 * self.d) / np.prod(np.diagonal(self.cho_cov))
    return -0.5 * np.sum(apart * apart, axis=0), scale
