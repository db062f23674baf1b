"""`scipy.spatial.distance.cdist`, `pdist` and `squareform` against SciPy, and their derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance
from thorough import check_gradient

import stgrad
from stgrad import errors

A = np.array([[0.3, 0.9, 0.4], [0.8, 0.1, 0.7], [0.2, 0.6, 0.5], [0.95, 0.35, 0.15]])
B = np.array([[0.5, 0.25, 0.85], [0.1, 0.75, 0.65]])
NAMES = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "canberra", "braycurtis", "cosine", "correlation"]


@pytest.mark.parametrize("metric", NAMES)
def test_each_metric(metric: str) -> None:
    options = {"p": 3.0} if metric == "minkowski" else {}

    def between(a: Any, b: Any) -> Any:
        return distance.cdist(a, b, metric, **options)

    def within(a: Any) -> Any:
        return distance.pdist(a, metric, **options)

    assert stgrad.vjp(between, A, B, jit=False)[0] == pytest.approx(between(A, B))
    assert stgrad.vjp(within, A, jit=False)[0] == pytest.approx(within(A))
    check_gradient(lambda a: np.sum(distance.cdist(a, B, metric, **options) * np.arange(1.0, 3.0)), (A,), order=1)
    check_gradient(lambda a: np.sum(distance.pdist(a, metric, **options) * np.arange(1.0, 7.0)), (A,), order=1)


def own(u: Any, v: Any) -> Any:
    return np.sum((u - v) ** 2 * u)


def test_a_metric_of_the_user() -> None:
    check_gradient(lambda a: np.sum(distance.cdist(a, B, own)), (A,), order=1, jit=True)
    assert stgrad.vjp(lambda a: distance.pdist(a, own), A, jit=False)[0] == pytest.approx(distance.pdist(A, own))


def test_equal_points_are_no_trouble() -> None:
    assert np.all(np.isfinite(stgrad.grad(lambda a: np.sum(distance.cdist(a, a)), jit=False)(A)))


@pytest.mark.parametrize("jit", [False, True])
def test_squareform(jit: bool) -> None:
    v = np.array([0.3, 0.9, 0.4, 0.7, 1.2, 0.1])
    weights = np.arange(16.0).reshape(4, 4) ** 1.5
    check_gradient(lambda x: np.sum(distance.squareform(x) ** 2 * weights), (v,), jit=jit)
    check_gradient(lambda a: np.sum(distance.squareform(np.abs(a[:, :1] - a[:, 0])) ** 3 * v), (A,), jit=jit)
    for x in (v[:5], distance.squareform(v)[:3], np.eye(3), A[:2, :2] + np.array([[0.0, 1.0], [2.0, 0.0]])):
        with pytest.raises(ValueError, match=r"vector size|square|ymmetric|zero"):
            distance.squareform(x)
        with pytest.raises(ValueError, match=r"vector size|square|ymmetric|zero"):
            stgrad.grad(lambda x: np.sum(distance.squareform(x)), jit=jit)(x)


def test_other_metrics_are_refused() -> None:
    with pytest.raises(errors.UnsupportedSyntaxError, match="jaccard"):
        stgrad.grad(lambda a: np.sum(distance.pdist(a, "jaccard")), jit=False)(A)
