"""Derivatives of operations on sampled data: convolution, finite differences, interpolation, histograms, fits."""

from __future__ import annotations

import numpy as np

from .core import TABLE, adjoint, composite, nondiff, refuse, samples, tangent
from .products import conj, hermitian
from .reductions import axes, back, last

# ------------------------------------------------------------------ convolution


@adjoint(np.convolve)
def convolve(y, y_bar, a, v, mode="full"):
    """Put y_bar back into the full convolution, then correlate it with the other factor."""
    n, short = np.size(a) + np.size(v) - 1, min(np.size(a), np.size(v))
    if mode == "full":
        whole = y_bar
    else:
        before = short - 1 if mode == "valid" else (short - 1) // 2
        whole = np.pad(y_bar, (before, n - before - np.size(y)))
    return np.correlate(whole, v, mode="valid"), np.correlate(whole, a, mode="valid")


@tangent(np.convolve, multilinear=True)
def convolve_dot(y, a, v, a_dot, v_dot, mode="full"):
    return np.convolve(a_dot, v, mode=mode) + np.convolve(a, v_dot, mode=mode)


@adjoint(np.correlate)
def correlate(y, y_bar, a, v, mode="valid"):
    """The convolution of `a` with conj(v) reversed; where `v` is longer, NumPy places 'same' from the other end."""
    n, short = np.size(a) + np.size(v) - 1, min(np.size(a), np.size(v))
    if mode == "full":
        whole = y_bar
    else:
        before = short - 1 if mode == "valid" else (short - 1) // 2 if np.size(a) >= np.size(v) else short // 2
        whole = np.pad(y_bar, (before, n - before - np.size(y)))
    return np.correlate(whole, conj(v[::-1]), mode="valid"), conj(np.correlate(whole, a, mode="valid")[::-1])


@tangent(np.correlate, multilinear=True)
def correlate_dot(y, a, v, a_dot, v_dot, mode="valid"):
    return np.correlate(a_dot, v, mode=mode) + np.correlate(a, v_dot, mode=mode)


@samples(np.convolve, np.correlate)
def _(rng):
    for mode in ("full", "same", "valid"):
        for n, m in ((5, 3), (3, 5), (5, 2), (2, 5), (4, 4), (3, 1), (1, 1), (6, 4), (4, 6)):
            yield (rng.normal(size=n), rng.normal(size=m)), {"mode": mode}
        yield (rng.normal(size=4) + 1j * rng.normal(size=4), rng.normal(size=2) + 1j * rng.normal(size=2)), {"mode": mode}
        yield (rng.normal(size=2) + 1j * rng.normal(size=2), rng.normal(size=4) + 1j * rng.normal(size=4)), {"mode": mode}


# ------------------------------------------------------------------ finite differences


def even_slope(r, h, edge_order):
    middle = (r[..., 2:] - r[..., :-2]) / (2.0 * h)
    if edge_order == 1:
        first, final = (r[..., 1:2] - r[..., :1]) / h, (r[..., -1:] - r[..., -2:-1]) / h
    else:
        first = (-1.5 * r[..., :1] + 2.0 * r[..., 1:2] - 0.5 * r[..., 2:3]) / h
        final = (1.5 * r[..., -1:] - 2.0 * r[..., -2:-1] + 0.5 * r[..., -3:-2]) / h
    return np.concatenate((first, middle, final), axis=-1)


def uneven_slope(r, x, edge_order):
    """Second order on a grid of varying step, from the Lagrange polynomial through three points."""
    step = np.diff(x)
    p, q = step[:-1], step[1:]
    middle = r[..., 2:] * (p / (q * (p + q))) + r[..., 1:-1] * ((q - p) / (p * q)) - r[..., :-2] * (q / (p * (p + q)))
    if edge_order == 1:
        first, final = (r[..., 1:2] - r[..., :1]) / step[0], (r[..., -1:] - r[..., -2:-1]) / step[-1]
    else:
        s, t = step[0], step[1]
        first = -r[..., :1] * ((2.0 * s + t) / (s * (s + t))) + r[..., 1:2] * ((s + t) / (s * t)) - r[..., 2:3] * (s / (t * (s + t)))
        s, t = step[-2], step[-1]
        final = r[..., -3:-2] * (t / (s * (s + t))) - r[..., -2:-1] * ((s + t) / (s * t)) + r[..., -1:] * ((2.0 * t + s) / (t * (s + t)))
    return np.concatenate((first, middle, final), axis=-1)


def slope(f, spacing, axis, edge_order):
    r = last(f, axis)
    if np.shape(r)[-1] < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required.")
    if np.ndim(spacing) == 0:
        return back(even_slope(r, spacing, edge_order), axis)
    return back(uneven_slope(r, spacing, edge_order), axis)


@composite(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    f = f * 1.0 if f.dtype.kind in "iu" else f  # unsigned ones have no differences
    which = axes(axis, np.ndim(f))
    spacings = varargs if len(varargs) == len(which) else (varargs if len(varargs) == 1 else (1.0,)) * len(which)
    slopes = tuple(slope(f, h, i, edge_order) for h, i in zip(spacings, which))
    return slopes[0] if len(which) == 1 else slopes


@samples(np.gradient)
def _(rng):
    x = np.array([0.0, 0.3, 1.0, 1.2, 2.0])
    yield (rng.normal(size=5),), {}
    yield (rng.normal(size=5).astype(np.float32),), {}
    yield (rng.normal(size=(4, 5)), 0.5), {}
    yield (rng.normal(size=(4, 5)), 0.5, x), {"edge_order": 2}
    yield (rng.normal(size=(4, 5)), x), {"axis": -1}


# ------------------------------------------------------------------ interpolation


@composite(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    """Piecewise linear, in double precision; on a knot the slope is that to its right."""
    if np.shape(xp)[0] != np.shape(fp)[0]:
        raise ValueError("fp and xp are not of the same length.")
    if np.shape(xp)[0] == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        order = np.argsort(xp % period)
        xs, ys = (xp % period)[order], fp[order]
        around = np.concatenate((xs[-1:] - period, xs, xs[:1] + period))
        return np.interp(x % period, around, np.concatenate((ys[-1:], ys, ys[:1])))
    x, xp, fp = np.asarray(x, dtype=np.float64), np.asarray(xp, dtype=np.float64), np.asarray(fp, dtype=np.result_type(np.asarray(fp), np.float64))
    at = np.minimum(np.maximum(np.searchsorted(xp, x, side="right"), 1), np.size(xp) - 1)
    before = at - 1
    start, first = xp[before], fp[before]
    inside = np.minimum(np.maximum(x, xp[0]), xp[-1])
    y = first + (inside - start) / (xp[at] - start) * (fp[at] - first)
    y = np.where(x < xp[0], fp[0] if left is None else left, y)
    return np.where(x > xp[-1], fp[-1] if right is None else right, y)


@samples(np.interp)
def _(rng):
    xp, fp = np.array([0.0, 1.0, 3.0, 3.5]), rng.normal(size=4)
    yield (np.array([[-1.0, 0.2], [1.1, 3.2], [3.4, 4.0]]), xp, fp), {}
    yield (np.array([-1.0, 0.2, 4.0]), xp, fp), {"left": 0.0, "right": 7.0}
    yield (0.7, xp, fp), {}
    yield (np.array([0.2, 1.1]).astype(np.float32), xp.astype(np.float32), fp.astype(np.float32)), {}
    yield (np.array([-1.0, 0.2, 4.0, 9.1]), xp, fp), {"period": 3.7}
    yield (np.array([-1.0, 0.2, 4.0]), np.array([0.5, 3.3, 1.2]), fp[:3]), {"period": 2.1}


# ------------------------------------------------------------------ histograms and statistics


@adjoint(np.bincount)
def bincount(y, y_bar, x, weights=None, minlength=0):
    return None, None if weights is None else y_bar[x]


@tangent(np.bincount)
def bincount_dot(y, x, weights, weights_dot, minlength=0):
    return np.bincount(x, weights_dot, minlength)


TABLE["np.bincount"].fresh_shape = True


def spread(a, edges_bar):
    """The cotangent of `a` where the edges are `np.linspace(np.min(a), np.max(a), n)`; ties get equal shares."""
    if np.size(a) == 0:
        return np.zeros_like(a)
    t = np.arange(np.size(edges_bar)) / (np.size(edges_bar) - 1.0)
    low, high = a == np.min(a), a == np.max(a)
    a_bar = np.where(low, np.sum(edges_bar * (1.0 - t)) / np.sum(low), 0.0) + np.where(high, np.sum(edges_bar * t) / np.sum(high), 0.0)
    return a_bar.astype(np.result_type(a, np.float32))


def spread_dot(a, a_dot, edges):
    if np.size(a) == 0:
        return np.zeros_like(edges)
    t = np.arange(np.size(edges)) / (np.size(edges) - 1.0)
    low, high = a == np.min(a), a == np.max(a)
    return (1.0 - t) * (np.sum(np.where(low, a_dot, 0.0)) / np.sum(low)) + t * (np.sum(np.where(high, a_dot, 0.0)) / np.sum(high))


def bins_of(a, inside, edges, equal):
    """The position of the bin that each sample falls into; where they are `equal` it is computed, and set right by the edges, as NumPy does."""
    last = np.size(edges) - 2
    if not equal:
        return np.minimum(np.maximum(np.searchsorted(edges, a, side="right") - 1, 0), last)
    share = np.where(inside, (a - edges[0]) / (edges[-1] - edges[0]), 0.0)
    place = np.minimum(share * (last + 1), last).astype(np.int64)
    low = np.maximum(place - (a < edges[place]), 0)
    return np.minimum(low + (a >= edges[low + 1]), last)


@adjoint(np.histogram)
def histogram(y, y_bar, a, bins=10, range=None, density=None, weights=None):
    """Counts are piecewise constant in `a`, whose extent decides the edges where neither `bins` nor `range` does."""
    counts, edges = y
    edges_bar = y_bar[1]
    if density:  # counts / total / widths
        widths_bar = -y_bar[0] * counts / np.diff(edges)
        edges_bar = edges_bar + np.concatenate((np.zeros(1), widths_bar)) - np.concatenate((widths_bar, np.zeros(1)))
    a_bar = spread(a, edges_bar) if range is None and np.ndim(bins) == 0 else 0.0
    bins_bar = edges_bar if np.ndim(bins) > 0 else None
    if weights is None:
        return a_bar, bins_bar
    refuse(density and np.iscomplexobj(weights), "a density with complex weights has no derivative", "divide the counts by their sum")
    inside = np.logical_and(a >= edges[0], a <= edges[-1])
    at = bins_of(a, inside, edges, np.ndim(bins) == 0)
    counts_bar = y_bar[0]
    if density:
        total = np.sum(np.where(inside, weights, 0.0))
        counts_bar = (y_bar[0] / np.diff(edges) - np.sum(y_bar[0] * counts)) / total
    return a_bar, bins_bar, None, None, np.where(inside, counts_bar[at], 0.0)


@tangent(np.histogram)
def histogram_dot(y, a, bins, range, density, weights, a_dot, bins_dot, weights_dot):
    counts, edges = y
    edges_dot = bins_dot if np.ndim(bins) > 0 else spread_dot(a, a_dot, edges) if range is None else np.zeros_like(edges)
    if weights is None:
        counts_dot = np.zeros(np.size(counts))
    else:
        counts_dot = np.histogram(a, edges, weights=weights_dot)[0]
    if density:
        if weights is not None:
            inside = np.logical_and(a >= edges[0], a <= edges[-1])
            total = np.sum(np.where(inside, weights, 0.0))
            counts_dot = (counts_dot / np.diff(edges) - counts * np.sum(np.where(inside, weights_dot, 0.0))) / total
        counts_dot = counts_dot - counts * np.diff(edges_dot) / np.diff(edges)
    return counts_dot, edges_dot


def observations(m, rowvar):
    if np.ndim(m) == 1:
        return np.reshape(m, (1, -1))
    return m if rowvar else np.transpose(m)


@composite(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """In double precision, whatever the data."""
    x = observations(m, rowvar)
    if y is not None:
        x = np.concatenate((x, observations(y, rowvar)), axis=0)
    x = x.astype(np.result_type(x, np.float64) if dtype is None else dtype)
    lost = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        deviation = x - np.mean(x, axis=1, keepdims=True)
        c = np.matmul(deviation, hermitian(deviation)) / max(np.shape(x)[1] - lost, 0)
    else:
        w = np.asarray(fweights if aweights is None else aweights) * (1.0 if fweights is None or aweights is None else np.asarray(fweights))
        total = np.sum(w)
        less = lost if aweights is None else lost * np.sum(w * np.asarray(aweights)) / total
        deviation = x - np.expand_dims(np.sum(x * w, axis=1) / total, 1)
        c = np.matmul(deviation * w, hermitian(deviation)) / np.maximum(total - less, 0.0)
    return np.reshape(c, ()) if np.ndim(m) == 1 and y is None else c


@composite(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    if np.ndim(x) == 1 and y is None:
        return np.cov(x, dtype=dtype) / np.cov(x, dtype=dtype)
    c = np.cov(x, y, rowvar, dtype=dtype)
    scale = np.sqrt(np.real(np.diagonal(c)))
    return c / np.expand_dims(scale, 1) / scale


@adjoint(np.histogram_bin_edges)
def histogram_bin_edges(y, y_bar, a, bins=10, range=None, weights=None):
    """The edges divide the extent of `a`, or `range`, equally; those that are given are what the front end gives back."""
    return spread(a, y_bar) if range is None else 0.0


@tangent(np.histogram_bin_edges)
def histogram_bin_edges_dot(y, a, a_dot, bins=10, range=None, weights=None):
    return spread_dot(a, a_dot, y) if range is None else np.zeros_like(y)


@samples(np.histogram_bin_edges)
def _(rng):
    yield (rng.normal(size=5), 4), {}
    yield (rng.normal(size=5), 4, (-1.0, 2.0)), {}
    yield (rng.normal(size=5), "sturges"), {}


@samples(np.bincount)
def _(rng):
    yield (np.array([0, 2, 2, 5]), rng.normal(size=4)), {}


@samples(np.histogram)
def _(rng):
    yield (np.array([0, 2, 2, 5]), 4, (1, 5), None, rng.normal(size=4)), {}
    yield (np.array([0, 2, 2, 5]), 4, (1, 5), True, rng.uniform(0.5, 1.0, size=4)), {}


@samples(np.cov, np.corrcoef)
def _(rng):
    yield (rng.normal(size=(2, 5)),), {}
    yield (rng.normal(size=5), rng.normal(size=5)), {}
    yield (rng.normal(size=(5, 2)),), {"rowvar": False}
    yield (rng.normal(size=(2, 5)).astype(np.float32),), {}
    yield (rng.normal(size=(2, 5)).astype(np.float32),), {"dtype": np.float32}


@samples(np.cov)
def _(rng):
    yield (rng.normal(size=(2, 5)),), {"fweights": np.array([1, 2, 1, 3, 1])}
    yield (rng.normal(size=(2, 5)),), {"aweights": rng.uniform(0.5, 1.0, size=5)}
    yield (rng.normal(size=(2, 5)),), {"aweights": rng.uniform(0.5, 1.0, size=5), "fweights": np.array([1, 2, 1, 3, 1]), "ddof": 0}
    yield (rng.normal(size=5),), {"ddof": 0}
    yield (rng.normal(size=(2, 5)) + 1j * rng.normal(size=(2, 5)),), {"bias": True}


# ------------------------------------------------------------------ polynomials


@composite(np.polyval)
def polyval(p, x):
    y = np.zeros_like(x)
    for i in range(len(p)):
        y = y * x + p[i]
    return y


def trimmed(p):
    """Coefficients from the first that is not 0, as NumPy's polynomials keep them."""
    places = np.flatnonzero(p)
    return p[places[0] :] if np.size(places) > 0 else p[-1:]


@composite(np.polymul)
def polymul(a1, a2):
    return np.convolve(trimmed(np.atleast_1d(a1)), trimmed(np.atleast_1d(a2)))


@composite(np.polyder)
def polyder(p, m=1):
    if int(m) == 0:
        return p
    return np.polyder(p[:-1] * np.arange(np.size(p) - 1, 0, -1), int(m) - 1)


@composite(np.polyint)
def polyint(p, m=1, k=None):
    """The constants of integration are 0."""
    refuse(k is not None, "np.polyint with constants of integration is not supported", "add the constants to the result")
    if int(m) == 0:
        return p
    return np.polyint(np.append(p / np.arange(np.size(p), 0, -1), 0.0), int(m) - 1)


def aligned(p, n):
    """Coefficients with zeros before them, n of them in all."""
    return np.concatenate((np.zeros(n - np.size(p)), p)) if np.ndim(p) > 0 else aligned(np.reshape(p, (1,)), n)


@composite(np.polyadd)
def polyadd(a1, a2):
    n = max(np.size(a1), np.size(a2))
    return aligned(a1, n) + aligned(a2, n)


@composite(np.polysub)
def polysub(a1, a2):
    n = max(np.size(a1), np.size(a2))
    return aligned(a1, n) - aligned(a2, n)


@composite(np.poly)
def poly(seq_of_zeros):
    """Of roots: the product of the factors x - root."""
    refuse(np.ndim(seq_of_zeros) != 1, "np.poly of a matrix is not supported", "pass its eigenvalues: np.linalg.eigvals")
    c = np.zeros(np.size(seq_of_zeros) + 1, dtype=seq_of_zeros.dtype)
    c[0] = 1.0
    for i in range(np.size(seq_of_zeros)):
        c[1:] = c[1:] - c[:-1] * seq_of_zeros[i]
    return c


@composite(np.roots)
def roots(p):
    """The eigenvalues of the companion matrix, and a zero for each zero at the end of the coefficients."""
    refuse(np.ndim(p) > 1, "np.roots takes one polynomial", "call it for each row")
    p = np.ravel(np.asarray(p)) * 1.0
    places = np.flatnonzero(p)
    if np.size(places) == 0:
        return np.zeros(0, p.dtype)
    c = p[places[0] : places[-1] + 1]
    n = np.size(c) - 1
    companion = np.eye(n, k=-1, dtype=p.dtype)
    if n > 0:
        companion[0] = -c[1:] / c[0]
    return np.concatenate((np.linalg.eigvals(companion), np.zeros(np.size(p) - 1 - places[-1])))


@samples(np.polyval)
def _(rng):
    yield (rng.normal(size=4), rng.normal(size=3)), {}
    yield (rng.normal(size=4), 0.5), {}


@samples(np.polymul)
def _(rng):
    yield (rng.normal(size=4), rng.normal(size=3)), {}


@samples(np.polyder)
def _(rng):
    yield (rng.normal(size=4), 2), {}


@samples(np.polyfit)
def _(rng):
    yield (rng.normal(size=6), rng.normal(size=6), 2), {}
    yield (rng.normal(size=6), rng.normal(size=6), 1), {"w": rng.uniform(0.5, 1.0, size=6)}


@samples(np.polyadd, np.polysub)
def _(rng):
    yield (rng.normal(size=4), rng.normal(size=2)), {}
    yield (rng.normal(size=2), rng.normal(size=3)), {}


@samples(np.polyint)
def _(rng):
    yield (rng.normal(size=4), 2), {}


@samples(np.roots)
def _(rng):
    yield (np.array([1.0, -6.0, 11.0, -6.0]) + 0.1 * rng.normal(size=4),), {}
    yield (np.array([2.0, -3.0, 0.5]),), {}


@samples(np.poly)
def _(rng):
    yield (rng.normal(size=3),), {}


nondiff(np.hanning, np.hamming, np.blackman, np.bartlett)
