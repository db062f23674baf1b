"""What operations that Numba lacks are made of: read into the program that is compiled, in place of a call into Python (`stgrad.transforms.expand`).

Results are NumPy's, for the same dtypes; what is not covered gives NotImplemented, and stays a call.
"""

from __future__ import annotations

import numpy as np

from .core import expansion
from .selecting import widths


def rows_along(a, axis):
    """An array as a matrix, whose rows are what stands along an axis."""
    moved = np.moveaxis(a, axis, -1)
    count = 1
    for n in np.shape(moved)[:-1]:
        count *= n
    return np.reshape(moved, (count, np.shape(moved)[-1]))


def by_rows(function, a, axis, dtype):
    """A function of vectors for what stands along an axis."""
    rows = rows_along(a, axis)
    y = np.empty(np.shape(rows), dtype=dtype)
    for i in range(len(rows)):
        y[i] = function(rows[i])
    return np.moveaxis(np.reshape(y, np.shape(np.moveaxis(a, axis, -1))), -1, axis)


def by_matrices(function, a):
    """A function of square matrices for each of a stack, which gives matrices."""
    stack = matrices(a)
    y = np.empty_like(stack)
    for i in range(len(stack)):
        y[i] = function(stack[i])
    return np.reshape(y, np.shape(a))


def matrices(a):
    count = 1
    for n in np.shape(a)[:-2]:
        count *= n
    return np.reshape(a, (count, *np.shape(a)[-2:]))


# ------------------------------------------------------------------ element by element


@expansion(np.round, np.around, always=True)
def rounded(a, decimals=0):
    """C. Harris et al.: NumPy multiplies, rounds to even, and divides."""
    if np.result_type(a).kind != "f":
        return NotImplemented
    if decimals == 0:
        return np.rint(a)
    if decimals < 0:
        return np.rint(a / 10.0**-decimals) * 10.0**-decimals
    return np.rint(a * 10.0**decimals) / 10.0**decimals


@expansion(np.fix, always=True)
def fix(x):
    return np.trunc(x) if np.result_type(x).kind == "f" else NotImplemented


@expansion(np.heaviside, always=True)
def heaviside(x1, x2):
    if np.result_type(x1, x2).kind != "f":
        return NotImplemented
    return np.where(np.isnan(x1), x1, np.where(x1 == 0.0, x2, np.where(x1 < 0.0, 0.0, 1.0)))


@expansion(np.sinc, always=True)
def sinc(x):
    if np.result_type(x).kind != "f":
        return NotImplemented
    y = np.pi * np.where(x == 0.0, 1.0e-20, x)
    return np.sin(y) / y


@expansion(np.nan_to_num, always=True)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if np.result_type(x).kind != "f":
        return NotImplemented
    top = np.finfo(np.result_type(x)).max if posinf is None else posinf
    bottom = np.finfo(np.result_type(x)).min if neginf is None else neginf
    return np.where(np.isnan(x), nan, np.where(x == np.inf, top, np.where(x == -np.inf, bottom, x)))


@expansion(np.angle, always=True)
def angle(z, deg=False):
    if np.result_type(z).kind not in "fc":
        return NotImplemented
    turned = np.arctan2(np.imag(z), np.real(z)) if np.result_type(z).kind == "c" else np.arctan2(0.0, z)
    return turned * (180.0 / np.pi) if deg else turned


@expansion(np.clip)
def clip(a, a_min=None, a_max=None):
    if a_min is None and a_max is not None:
        return np.minimum(a, a_max)
    return np.maximum(a, a_min) if a_max is None and a_min is not None else NotImplemented


@expansion(np.sum, np.prod, np.max, np.min, np.amax, np.amin, np.mean)
def only(a, axis=None, dtype=None, out=None, keepdims=False):
    """Of one number there is nothing to reduce."""
    if np.ndim(a) > 0 or axis is not None or np.result_type(a).kind not in "fc" and dtype is None:
        return NotImplemented
    return a if dtype is None else np.where(a, 1.0, 0.0) if np.result_type(a) == np.bool_ and np.dtype(dtype) == np.float64 else NotImplemented


@expansion(np.any, np.all)
def truth(a, axis=None, out=None, keepdims=False):
    """Of one number it is whether that is true."""
    if np.ndim(a) > 0 or axis is not None:
        return NotImplemented
    return a if np.result_type(a) == np.bool_ else a != 0


@expansion(np.ravel)
def ravel(a):
    return np.full(1, a) if np.ndim(a) == 0 else NotImplemented


# ------------------------------------------------------------------ along an axis


def narrow(a):
    """Whether the machine sorts the numbers as 64-bit integers, which hold them."""
    return a.dtype.kind in "iu" and a.dtype.itemsize < 8


@expansion(np.sort)
def sort(a, axis=-1, kind=None, order=None):
    if kind is not None or order is not None:
        return NotImplemented
    if narrow(a):
        return np.sort(a.astype(np.int64), axis=axis).astype(a.dtype)
    return np.sort(np.ravel(a)) if axis is None else NotImplemented if np.ndim(a) < 2 else by_rows(np.sort, a, axis, a.dtype)


@expansion(np.argsort)
def argsort(a, axis=-1, kind=None, order=None):
    if kind is not None or order is not None:
        return NotImplemented
    if narrow(a):
        return np.argsort(a.astype(np.int64), axis=axis)
    return np.argsort(np.ravel(a)) if axis is None else NotImplemented if np.ndim(a) < 2 else by_rows(np.argsort, a, axis, np.int64)


@expansion(np.argmax)
def argmax(a, axis=None, out=None, keepdims=False):
    return NotImplemented if axis is None or out is not None else positions(np.argmax, a, axis, keepdims)


@expansion(np.argmin)
def argmin(a, axis=None, out=None, keepdims=False):
    return NotImplemented if axis is None or out is not None else positions(np.argmin, a, axis, keepdims)


def positions(function, a, axis, keepdims):
    rows = rows_along(a, axis)
    y = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        y[i] = function(rows[i])
    y = np.reshape(y, np.shape(np.moveaxis(a, axis, -1))[:-1])
    return np.expand_dims(y, axis) if keepdims else y


@expansion(np.cumprod)
def cumprod(a, axis=None, dtype=None):
    return NotImplemented if axis is None or dtype is not None or np.result_type(a).kind not in "fc" else scanned(np.multiply, a, axis)


@expansion(np.cumsum, always=True)
def cumsum(a, axis=None, dtype=None):
    """Numba's own form takes two seconds to compile where there is an axis, and goes along rows four times as slowly."""
    return NotImplemented if axis is None or dtype is not None or np.result_type(a).kind not in "fc" else scanned(np.add, a, axis)


def scanned(function, a, axis):
    y = np.copy(np.moveaxis(a, axis, 0))
    for k in range(1, len(y)):
        y[k] = function(y[k - 1], y[k])
    return np.moveaxis(y, 0, axis)


@expansion(np.count_nonzero)
def count_nonzero(a, axis=None, keepdims=False):
    return np.sum(a != 0, axis=axis, keepdims=keepdims)


@expansion(np.nanmax)
def nanmax(a, axis=None, out=None, keepdims=False):
    return NotImplemented if axis is None or out is not None or np.result_type(a).kind != "f" else present(np.max, -np.inf, a, axis, keepdims)


@expansion(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=False):
    return NotImplemented if axis is None or out is not None or np.result_type(a).kind != "f" else present(np.min, np.inf, a, axis, keepdims)


def present(function, least, a, axis, keepdims):
    missing = np.isnan(a)
    found = function(np.where(missing, least, a), axis=axis, keepdims=keepdims)
    return np.where(np.all(missing, axis=axis, keepdims=keepdims), np.nan, found)


# ------------------------------------------------------------------ copies and borders


def natural(count):
    if count < 0:
        raise ValueError("negative dimensions are not allowed")


@expansion(np.tile)
def tile(A, reps):
    wanted = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    rank = max(np.ndim(A), len(wanted))
    for count in wanted:
        natural(count)
    copies = (1,) * (rank - len(wanted)) + wanted
    shape = (1,) * (rank - np.ndim(A)) + np.shape(A)
    y = np.empty(tuple(copies[k // 2] if k % 2 == 0 else shape[k // 2] for k in range(2 * rank)), dtype=np.result_type(A))
    y[...] = np.reshape(A, tuple(1 if k % 2 == 0 else shape[k // 2] for k in range(2 * rank)))
    return np.reshape(y, tuple(copies[k] * shape[k] for k in range(rank)))


@expansion(np.repeat)
def repeat(a, repeats, axis=None):
    if axis is None or np.ndim(repeats) > 1:
        return NotImplemented
    n = np.shape(a)[axis]
    if np.ndim(repeats) == 1:
        return np.take(a, np.repeat(np.arange(n), repeats), axis=axis)
    natural(repeats)
    moved = np.moveaxis(a, axis, -1)
    y = np.empty(np.shape(moved) + (repeats,), dtype=a.dtype)
    y[...] = moved[..., None]
    return np.moveaxis(np.reshape(y, np.shape(moved)[:-1] + (n * repeats,)), -1, axis)


@expansion(np.pad)
def pad(array, pad_width, mode="constant", constant_values=0.0):
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or np.ndim(constant_values) > 0:
        return NotImplemented
    wide, shape = widths(pad_width, np.ndim(array)), np.shape(array)
    for before, after in wide:
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
    if mode == "constant":
        y = np.full(tuple(wide[k][0] + shape[k] + wide[k][1] for k in range(np.ndim(array))), constant_values, dtype=array.dtype)
        y[tuple(slice(wide[k][0], wide[k][0] + shape[k]) for k in range(np.ndim(array)))] = array
        return y
    y = array
    for axis in range(np.ndim(array)):
        if shape[axis] == 0 and wide[axis][0] + wide[axis][1] > 0:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        y = np.take(y, sources(shape[axis], wide[axis], mode), axis=axis)
    return y


def sources(n, width, mode):
    """Where the elements of a padded axis come from."""
    k = np.arange(-width[0], n + width[1])
    if mode == "edge":
        return np.minimum(np.maximum(k, 0), n - 1)
    if mode == "wrap":
        return k % max(n, 1)
    if mode == "symmetric":
        k = k % max(2 * n, 1)
        return np.minimum(k, 2 * n - 1 - k)
    period = max(2 * n - 2, 1)
    k = k % period
    return np.minimum(k, period - k) if n > 1 else 0 * k


@expansion(np.diag_indices)
def diag_indices(n, ndim=2):
    return np.arange(n), np.arange(n)


@expansion(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if np.ndim(start) > 0 or np.ndim(stop) > 0 or retstep or dtype is not None and np.dtype(dtype) != np.float64:
        return NotImplemented
    if np.result_type(start, stop) == np.float32:
        return NotImplemented
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    parts = num - 1 if endpoint else num
    delta = 1.0 * stop - 1.0 * start
    step = delta / max(parts, 1)
    k = 1.0 * np.arange(num)
    y = (k / max(parts, 1) * delta if step == 0.0 else k * step) + start
    if endpoint and num > 1:
        y[num - 1] = stop
    return y


# ------------------------------------------------------------------ signals and counts


@expansion(np.correlate, always=True)
def correlate(a, v, mode="valid"):
    """The convolution with `v` reversed; where `v` is longer, NumPy places 'same' from the other end."""
    if np.result_type(a, v).kind != "f":
        return NotImplemented
    if mode != "same" or len(a) >= len(v):
        return np.convolve(a, v[::-1], mode)
    return np.convolve(a, v[::-1])[len(a) // 2 : len(a) // 2 + len(v)]


@expansion(np.unwrap)
def unwrap(p, discont=None, axis=-1, period=2.0 * np.pi):
    if np.result_type(p).kind != "f":
        return NotImplemented
    rows = np.moveaxis(p, axis, -1)
    steps = rows[..., 1:] - rows[..., :-1]
    low = -0.5 * period
    folded = np.remainder(steps - low, period) + low
    folded = np.where((folded == low) & (steps > 0.0), -low, folded)
    turns = np.where(np.abs(steps) < (0.5 * period if discont is None else discont), 0.0, folded - steps)
    y = np.copy(rows)
    y[..., 1:] += np.cumsum(turns, axis=-1)
    return np.moveaxis(y, -1, axis)


# ------------------------------------------------------------------ matrices in a stack


@expansion(np.linalg.inv)
def inv(a):
    return NotImplemented if np.ndim(a) < 3 else by_matrices(np.linalg.inv, a)


@expansion(np.linalg.cholesky)
def cholesky(a):
    return NotImplemented if np.ndim(a) < 3 else by_matrices(np.linalg.cholesky, a)


@expansion(np.linalg.det)
def det(a):
    if np.ndim(a) < 3:
        return NotImplemented
    stack = matrices(a)
    y = np.empty(len(stack), dtype=a.dtype)
    for i in range(len(stack)):
        y[i] = np.linalg.det(stack[i])
    return np.reshape(y, np.shape(a)[:-2])


def stretched(a, outer):
    y = np.empty(outer + np.shape(a)[-2:], dtype=a.dtype)
    y[...] = a
    return y


@expansion(np.linalg.solve)
def solve(a, b):
    if np.ndim(a) < 3 or np.ndim(b) < 2:
        return NotImplemented
    outer = np.broadcast_shapes(np.shape(a)[:-2], np.shape(b)[:-2])
    stack, right = matrices(stretched(a, outer)), matrices(stretched(b, outer))
    y = np.empty(np.shape(right), dtype=np.result_type(a, b))
    for i in range(len(stack)):
        y[i] = np.linalg.solve(stack[i], right[i])
    return np.reshape(y, outer + np.shape(b)[-2:])
