# mypy: allow-untyped-defs, allow-untyped-calls
"""The compiled kernels below `scipy.interpolate` as programs of NumPy: piecewise polynomials, B-splines of one and two variables, tables on grids.

What stands above them is SciPy's own Python, which is read as it is: `CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`, `PPoly`, `BSpline`,
`interp1d`, `UnivariateSpline`, `RectBivariateSpline`, `RegularGridInterpolator`. B-splines are evaluated by de Boor's recursion (de Boor, A Practical
Guide to Splines, 1978, chapter X) for all points at once. Outside of its breakpoints a spline is what SciPy makes of it.
"""

from __future__ import annotations

import numpy as np

from stgrad.frontend.library import refuse
from stgrad.frontend.values import is_number


def unchanged(self):
    """SciPy's kernels want their arrays row after row; these do not."""


# --------------------------------------------------------------------------- piecewise polynomials


def evaluate(c, x, xp, nu, extrapolate, out):
    """`out[i] = sum(c[m, j] * (xp[i] - x[j]) ** (k - m))`, and its derivatives; c `(k + 1, n, columns)`."""
    order, turned = c.shape[0], x[0] > x[-1]
    place = np.clip((np.searchsorted(-x, -xp, side="right") if turned else np.searchsorted(x, xp, side="right")) - 1, 0, x.shape[0] - 2)
    step = np.expand_dims(xp - x[place], 1)
    y = np.zeros((xp.shape[0], c.shape[2]), c.dtype)
    for m in range(order - nu):
        y = y * step + c[m][place] * _falling(order - 1 - m, nu)
    out[...] = y if extrapolate else np.where(np.expand_dims(_outside(xp, x[-1] if turned else x[0], x[0] if turned else x[-1]), 1), np.nan, y)


def _falling(n, count):
    """n (n - 1) ... of so many factors."""
    product = 1.0
    for q in range(count):
        product = product * (n - q)
    return product


def _outside(x, low, high):
    """Where a point is in no interval; a NaN is in none."""
    return np.logical_not(np.logical_and(x >= low, x <= high))


def fix_continuity(c, x, order):
    """Give the coefficients of an integral the constants that make it and its derivatives up to `order` continuous."""
    degree = c.shape[0] - 1
    for j in range(1, x.shape[0] - 1):
        step = x[j] - x[j - 1]
        for nu in range(order, -1, -1):
            y = np.zeros(c.shape[2], c.dtype)
            for m in range(degree + 1 - nu):
                y = y * step + c[m, j - 1] * _falling(degree - m, nu)
            c[degree - nu, j] = y / _falling(nu, nu)


def integrate(c, x, a, b, extrapolate, out):
    """`out[k]`: the integral of column k from a to b."""
    sums = np.zeros((c.shape[0] + 1, *c.shape[1:]), c.dtype)
    for m in range(c.shape[0]):
        sums[m] = c[m] / (c.shape[0] - m)
    fix_continuity(sums, x, 0)
    ends = np.zeros((2, c.shape[2]), c.dtype)
    evaluate(sums, x, np.array([a, b]), 0, extrapolate, ends)
    out[...] = ends[1] - ends[0]


# --------------------------------------------------------------------------- B-splines


def _interval(t, k, x):
    """The last knot that is not beyond a point, among those that begin an interval of the spline."""
    return np.clip(np.searchsorted(t, x, side="right") - 1, k, t.shape[0] - k - 2)


def _de_boor(t, k, at, x, d, nu):
    """The spline of the coefficients d `[c[at - k], ..., c[at]]` at x, or its derivative of order nu."""
    refuse(not is_number(k) or not is_number(nu), "the degree of a spline must be known at compile time", "write it as a number")
    if nu > k:
        return 0.0 * d[0]
    for s in range(nu):
        p = k - s
        d = [p * (d[i + 1] - d[i]) / (t[at - p + 1 + i + p] - t[at - p + 1 + i]) for i in range(p)]
    p = k - nu
    for r in range(1, p + 1):
        shares = [(x - t[at - p + r + i]) / (t[at + 1 + i] - t[at - p + r + i]) for i in range(p - r + 1)]
        d = [(1.0 - shares[i]) * d[i] + shares[i] * d[i + 1] for i in range(p - r + 1)]
    return d[0]


def _curve(t, c, k, x, nu):
    """A spline of one variable at points x `(m,)`, with coefficients c `(n,)`."""
    at = _interval(t, k, x)
    return _de_boor(t, k, at, x, [c[at - k + i] for i in range(k + 1)], nu)


def evaluate_spline(t, c, k, xp, nu, extrapolate, out=None):
    """Splines with coefficients c `(n, columns)` at points xp; SciPy before 1.15 gives the array for the result."""
    y = np.zeros((xp.shape[0], c.shape[1]), c.dtype)
    for column in range(c.shape[1]):
        y[:, column] = _curve(t, c[:, column], k, xp, nu)
    if not extrapolate:
        y = np.where(np.expand_dims(_outside(xp, t[k], t[t.shape[0] - k - 1]), 1), np.nan, y)
    if out is not None:
        out[...] = y
    return y


def splev(x, tck, der=0, ext=0):
    t, c, k = tck
    if isinstance(c, (list, tuple)) or np.ndim(c) > 1:
        return [splev(x, (t, row, k), der, ext) for row in c]
    points = np.ravel(np.asarray(x) * 1.0)
    first, last = t[k], t[t.shape[0] - k - 1]
    if ext == 2 and np.any(_outside(points, first, last)):
        raise ValueError("Found x value not in the domain")
    y = _curve(t, c, k, np.clip(points, first, last) if ext == 3 else points, der)
    if ext == 1:
        y = np.where(_outside(points, first, last), 0.0, y)
    return np.reshape(y, np.shape(x))


def splint(a, b, tck, full_output=0):
    """The integral from a to b; a spline is zero outside of its interval."""
    t, c, k = tck
    refuse(full_output, "`full_output` of scipy.interpolate.splint is not supported")
    if isinstance(c, (list, tuple)) or np.ndim(c) > 1:
        return [splint(a, b, (t, row, k)) for row in c]
    n = t.shape[0] - k - 1
    sums = np.concatenate((np.zeros(1), np.cumsum(c[:n] * (t[k + 1 :] - t[:n])) / (k + 1)))
    knots = np.concatenate((t[:1], t, t[-1:]))
    ends = _curve(knots, sums, k + 1, np.clip(np.array([a, b]), t[k], t[n]), 0)
    return ends[1] - ends[0]


def surface(self, x, y, dx=0, dy=0, grid=True):
    """A spline of two variables at points, or on the grid of two axes; beyond its edges it goes on as a constant."""
    (tx, ty, c), (kx, ky) = self.tck[:3], self.degrees
    x, y = np.asarray(x) * 1.0, np.asarray(y) * 1.0
    if grid:
        if np.any(np.diff(np.ravel(x)) < 0.0) or np.any(np.diff(np.ravel(y)) < 0.0):
            raise ValueError("x and y must be increasing when `grid` is True")
        x, y = np.expand_dims(np.ravel(x), 1), np.expand_dims(np.ravel(y), 0)
    nx, ny = tx.shape[0] - kx - 1, ty.shape[0] - ky - 1
    x, y = np.clip(x, tx[kx], tx[nx]), np.clip(y, ty[ky], ty[ny])
    i, j = _interval(tx, kx, x), _interval(ty, ky, y)
    table = np.reshape(c, (nx, ny))
    rows = [_de_boor(ty, ky, j, y, [table[i - kx + p, j - ky + q] for q in range(ky + 1)], dy) for p in range(kx + 1)]
    return _de_boor(tx, kx, i, x, rows, dx)


# --------------------------------------------------------------------------- splines through points


def _basis(t, k, at, x):
    """The k + 1 basis functions that are not zero at x."""
    values = [np.ones_like(x)]
    for p in range(1, k + 1):
        shares = [values[i] / (t[at + 1 + i] - t[at + 1 + i - p]) for i in range(p)]
        rising = [(x - t[at + i - p]) * shares[i - 1] for i in range(1, p + 1)]
        falling = [(t[at + 1 + i] - x) * shares[i] for i in range(p)]
        values = [falling[0], *[rising[i - 1] + falling[i] for i in range(1, p)], rising[p - 1]]
    return values


def interp_spline(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    """`scipy.interpolate.make_interp_spline`: the coefficients solve a banded system."""
    from scipy.interpolate import BSpline

    refuse(bc_type not in (None, "not-a-knot", (None, None)), "`bc_type` of make_interp_spline is not supported", "use CubicSpline(x, y, bc_type=...)")
    x, y = np.asarray(x) * 1.0, np.moveaxis(np.asarray(y) * 1.0, axis, 0)
    if x.shape[0] != y.shape[0]:
        raise ValueError("Shapes of x and y are incompatible")
    knots = _knots(x, k) if t is None else np.asarray(t) * 1.0
    return BSpline.construct_fast(knots, np.reshape(_through(x, np.reshape(y, (x.shape[0], -1)), k, knots), y.shape), k, axis=axis)


def _through(x, y, k, knots):
    """The coefficients of the splines through the columns of y."""
    from scipy import linalg

    if np.any(x[1:] <= x[:-1]):
        raise ValueError("x must be strictly increasing")
    if k == 0:
        return y
    at = _interval(knots, k, x)
    values = _basis(knots, k, at, x)
    rows, bands = np.arange(x.shape[0]), np.zeros((2 * k + 1, x.shape[0]))
    for i in range(k + 1):
        bands[2 * k + rows - at - i, at - k + i] = values[i]
    return linalg.solve_banded((k, k), bands, y)


def _knots(x, k):
    """Knots between the points, so that the first and last pieces are one polynomial with their neighbours."""
    if k == 0:
        return np.concatenate((x, x[-1:]))
    inner = x if k % 2 else 0.5 * (x[1:] + x[:-1])
    left_out = (k + 1) // 2
    inner = inner[left_out : len(inner) - left_out]
    return np.concatenate((np.full(k + 1, x[0]), inner, np.full(k + 1, x[-1])))


_SMOOTHING = "a smoothing spline of scipy.interpolate is not supported"
_THROUGH = "give s=0 for the spline through the points, or make it outside of the function, where the points are constants"


def splrep(x, y, w=None, xb=None, xe=None, k=3, task=0, s=None, t=None, full_output=0, per=0, quiet=1):
    refuse(bool(task or full_output or per or t is not None or (w is not None and s is None) or s), _SMOOTHING, _THROUGH)
    refuse(xb is not None or xe is not None, "ends of a spline beyond its points are not supported")
    x, y = np.asarray(x) * 1.0, np.asarray(y) * 1.0
    knots = _knots(x, k)
    return knots, np.concatenate((_through(x, np.expand_dims(y, 1), k, knots)[:, 0], np.zeros(k + 1))), k


def interpolating(self, x, y, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
    """`InterpolatedUnivariateSpline.__init__`."""
    refuse(bbox[0] is not None or bbox[1] is not None, "ends of a spline beyond its points are not supported")
    self._eval_args = splrep(x, y, k=k)
    self.ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)


def univariate(self, x, y, w=None, bbox=(None, None), k=3, s=None, ext=0, check_finite=False):
    """`UnivariateSpline.__init__`."""
    refuse(not is_number(s) or s != 0, _SMOOTHING, _THROUGH)
    interpolating(self, x, y, w, bbox, k, ext)


def bivariate(self, x, y, z, bbox=(None, None, None, None), kx=3, ky=3, s=0, maxit=20):
    """`RectBivariateSpline.__init__`: through rows, then through the columns of what comes of them."""
    refuse(not is_number(s) or s != 0, _SMOOTHING, _THROUGH)
    refuse(bbox[0] is not None or bbox[1] is not None or bbox[2] is not None or bbox[3] is not None, "`bbox` of RectBivariateSpline is not supported")
    x, y, z = np.ravel(x) * 1.0, np.ravel(y) * 1.0, np.asarray(z) * 1.0
    tx, ty = _knots(x, kx), _knots(y, ky)
    c = np.transpose(_through(y, np.transpose(_through(x, z, kx, tx)), ky, ty))
    self.tck, self.degrees, self.fp = (tx, ty, np.ravel(c)), (kx, ky), 0.0


# --------------------------------------------------------------------------- tables on grids


def ascending(points):
    """The axes of a grid, and which of them fall: SciPy turns these, by what the run tells."""
    for p in points:
        if np.any(np.asarray(p)[1:] <= np.asarray(p)[:-1]):
            raise ValueError("the points of each axis of a grid must be strictly ascending in a differentiated function")
    return tuple([np.asarray(p) * 1.0 for p in points]), ()


def coordinates(points, ndim=None):
    """Points as rows."""
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*[np.asarray(p) * 1.0 for p in points]), axis=-1)
    rows = np.asarray(points) * 1.0
    if rows.ndim > 1:
        return rows
    return np.reshape(rows, (-1, 1) if ndim is None else (-1, ndim))


def find_indices(grid, xi):
    """For each axis the interval of each point, and how far into it the point is."""
    places = [np.clip(np.searchsorted(g, x, side="right") - 1, 0, g.shape[0] - 2) for g, x in zip(grid, xi, strict=True)]
    return np.stack(places), np.stack([(x - g[i]) / (g[i + 1] - g[i]) for g, x, i in zip(grid, xi, places, strict=True)])


def linear_2d(values, indices, distances, grid, out):
    i, j, u, v = indices[0], indices[1], distances[0], distances[1]
    low = values[i, j] * (1.0 - v) + values[i, j + 1] * v
    high = values[i + 1, j] * (1.0 - v) + values[i + 1, j + 1] * v
    out[...] = low * (1.0 - u) + high * u
    return out
