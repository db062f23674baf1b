# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Functions of `statistics` that count in fractions, by sums of floats: their results differ in the last digits at most.

Source: the definitions in the documentation of `statistics`.
"""

from __future__ import annotations

import math
import statistics

from stgrad.frontend.library import means


@means(statistics.mean)
def mean(data):
    values = list(data)
    if len(values) == 0:
        raise statistics.StatisticsError("mean requires at least one data point")
    return math.fsum(values) / len(values)


@means(statistics.geometric_mean)
def geometric_mean(data):
    values = list(data)
    if len(values) == 0 or not all(v > 0.0 for v in values):
        raise statistics.StatisticsError("geometric mean requires a non-empty dataset containing positive numbers")
    return math.exp(math.fsum([math.log(v) for v in values]) / len(values))


@means(statistics.harmonic_mean)
def harmonic_mean(data, weights=None):
    values = list(data)
    if len(values) == 0:
        raise statistics.StatisticsError("harmonic_mean requires at least one data point")
    shares = [1.0] * len(values) if weights is None else list(weights)
    if len(shares) != len(values):
        raise statistics.StatisticsError("Number of weights does not match data size")
    if any(v < 0.0 for v in values) or any(w < 0.0 for w in shares):
        raise statistics.StatisticsError("harmonic mean does not support negative values")
    if any(v == 0.0 for v in values):
        return 0.0
    return math.fsum(shares) / math.fsum([w / v for w, v in zip(shares, values, strict=True)])


@means(statistics.variance)
def variance(data, xbar=None):
    values = list(data)
    if len(values) < 2:
        raise statistics.StatisticsError("variance requires at least two data points")
    return _squares(values, xbar) / (len(values) - 1)


@means(statistics.pvariance)
def pvariance(data, mu=None):
    values = list(data)
    if len(values) == 0:
        raise statistics.StatisticsError("pvariance requires at least one data point")
    return _squares(values, mu) / len(values)


@means(statistics.stdev)
def stdev(data, xbar=None):
    values = list(data)
    if len(values) < 2:
        raise statistics.StatisticsError("stdev requires at least two data points")
    return math.sqrt(_squares(values, xbar) / (len(values) - 1))


@means(statistics.pstdev)
def pstdev(data, mu=None):
    values = list(data)
    if len(values) == 0:
        raise statistics.StatisticsError("pstdev requires at least one data point")
    return math.sqrt(_squares(values, mu) / len(values))


@means(statistics.linear_regression)
def linear_regression(x, y, /, *, proportional=False):
    n = len(x)
    if len(y) != n:
        raise statistics.StatisticsError("linear regression requires that both inputs have same number of data points")
    if n < 2:
        raise statistics.StatisticsError("linear regression requires at least two data points")
    left, right = (0.0, 0.0) if proportional else (math.fsum(x) / n, math.fsum(y) / n)
    slope = sum([(u - left) * (v - right) for u, v in zip(x, y, strict=True)]) / sum([(u - left) ** 2 for u in x])
    return statistics.LinearRegression(slope=slope, intercept=right - slope * left)


def _squares(values, centre):
    middle = math.fsum(values) / len(values) if centre is None else centre
    return sum([(v - middle) ** 2 for v in values])


__all__ = ["geometric_mean", "harmonic_mean", "linear_regression", "mean", "pstdev", "pvariance", "stdev", "variance"]
