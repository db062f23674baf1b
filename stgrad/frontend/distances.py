"""`scipy.spatial.distance.cdist`, `pdist` and `squareform` (SciPy's are compiled), as programs of NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stgrad.frontend.library import refuse

_SHORT = {
    "euclidean": "euclid eu e", "sqeuclidean": "sqeuclid sqe", "cityblock": "cblock cb c", "chebyshev": "chebychev cheby cheb ch", "cosine": "cos",
    "correlation": "co", "minkowski": "mi m pnorm", "seuclidean": "se s", "mahalanobis": "mahal mah",
}  # fmt: skip
_NAMES = {short: name for name, others in _SHORT.items() for short in others.split()}


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:  # noqa: N803
    """The distance of each row of XA `(n, k)` to each of XB `(m, k)`: `(n, m)`."""
    if out is not None:
        out[...] = cdist(XA, XB, metric, **options)
        return out
    a, b = 1.0 * np.asarray(XA), 1.0 * np.asarray(XB)
    if callable(metric):
        y = np.zeros((a.shape[0], b.shape[0]))
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                y[i, j] = metric(a[i], b[j], **options)
        return y
    return _apart(np.expand_dims(a, 1), np.expand_dims(b, 0), metric, **options)


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:  # noqa: N803
    """The distance of each two rows of X `(n, k)`: `(n * (n - 1) / 2,)`."""
    if out is not None:
        out[...] = pdist(X, metric, **options)
        return out
    x = 1.0 * np.asarray(X)
    if callable(metric):
        n = x.shape[0]
        y = np.zeros(n * (n - 1) // 2)
        k = 0
        for i in range(n):
            for j in range(i + 1, n):
                y[k] = metric(x[i], x[j], **options)
                k += 1
        return y
    first, second = np.triu_indices(x.shape[0], 1)
    return _apart(x[first], x[second], metric, **options)


def squareform(X: Any, force: Any = "no", checks: Any = True) -> Any:  # noqa: N803
    """The distances of each two points `(n * (n - 1) / 2,)` as a symmetric matrix `(n, n)`, or the other way round."""
    a = np.ascontiguousarray(X)
    if force.lower() == "tomatrix" and np.ndim(a) != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if force.lower() == "tovector" and np.ndim(a) != 2:
        raise ValueError("Forcing 'tovector' but input X is not a distance matrix.")
    refuse(np.ndim(a) not in (1, 2), "`squareform` takes a vector or a matrix")
    if np.ndim(a) == 1:
        return _square(a)
    if a.shape[0] != a.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks and not (np.allclose(a, a.T, rtol=0.0, atol=1e-8) and np.all(np.diag(a) == 0.0)):
        raise ValueError("Distance matrix 'X' must be symmetric, with zeros on its diagonal.")
    rows, columns = np.triu_indices(a.shape[0], 1)
    return a[rows, columns]


def _square(distances: Any) -> Any:
    count = distances.shape[0]
    n = 1 if count == 0 else int(math.ceil(math.sqrt(count * 2)))
    if n * (n - 1) != count * 2:
        raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2.")
    y = np.zeros((n, n), distances.dtype)
    rows, columns = np.triu_indices(n, 1)
    y[rows, columns] = distances
    return y + y.T


def _apart(u: Any, v: Any, metric: Any, p: Any = 2, V: Any = None, VI: Any = None, w: Any = None) -> Any:  # noqa: N803
    """Distances along the last axis."""
    name = _NAMES.get(metric.lower(), metric.lower())
    refuse(w is not None, "weights of distances are not supported", "scale the points")
    if name == "euclidean":
        return np.linalg.norm(u - v, axis=-1)
    if name == "sqeuclidean":
        return np.sum((u - v) ** 2, axis=-1)
    if name == "cityblock":
        return np.sum(np.abs(u - v), axis=-1)
    if name == "chebyshev":
        return np.max(np.abs(u - v), axis=-1)
    if name == "minkowski":
        return np.linalg.norm(u - v, axis=-1) if p == 2 else np.sum(np.abs(u - v) ** p, axis=-1) ** (1.0 / p)
    if name == "canberra":
        sizes = np.abs(u) + np.abs(v)
        return np.sum(np.abs(u - v) / np.where(sizes == 0.0, 1.0, sizes), axis=-1)
    if name == "braycurtis":
        return np.sum(np.abs(u - v), axis=-1) / np.sum(np.abs(u + v), axis=-1)
    if name in ("cosine", "correlation"):
        if name == "correlation":
            u, v = u - np.mean(u, axis=-1, keepdims=True), v - np.mean(v, axis=-1, keepdims=True)
        return 1.0 - np.sum(u * v, axis=-1) / (np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1))
    if name == "seuclidean" and V is not None:
        return np.linalg.norm((u - v) / np.sqrt(V), axis=-1)
    refuse(name != "mahalanobis" or VI is None, f"the metric `{name}` of cdist and pdist is not supported as it is called", "write it with NumPy")
    d = u - v
    return np.sqrt(np.sum((d @ VI) * d, axis=-1))
