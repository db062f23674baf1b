"""NumPy functions as plain Python, read in place of their call: what is rarely used, or writes to its argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.casting import refused
from stgrad.rules.core import static

LIBRARY: dict[Any, Callable[..., Any]] = {}


def means(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions of NumPy are in terms of others; the body stands for itself, too."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        for function in (body, *functions):
            LIBRARY[function] = body
        return body

    return register


@static
def refuse(wrong: bool, message: str, hint: str = "") -> None:
    """Stop the compilation where a call is not covered."""
    if wrong:
        raise errors.UnsupportedSyntaxError(message, hint=hint)


@means(np.ndarray)
def unset(shape, dtype=float, buffer=None, offset=0, strides=None, order=None):  # type: ignore[no-untyped-def]
    refuse(buffer is not None or strides is not None, "`np.ndarray` of memory that exists is not supported", "use a view of the array: x[...]")
    return np.empty(shape, dtype, "C" if order is None else order)


@static
def castable(given: Any, rank: int, target: Any, casting: str) -> None:
    """Refuse what NumPy does not cast to the numbers of the array that is written to; an integer takes their dtype."""
    if (rank or given.kind not in "iu" or target.kind == "b") and not np.can_cast(given, target, casting):  # type: ignore[arg-type]
        raise refused(given, target)


# --------------------------------------------------------------------------- ufuncs along an axis


@means()
def fold(ufunc, array, axis=0, keepdims=False):  # type: ignore[no-untyped-def]
    """`ufunc.reduce`, one row after the other."""
    rows = np.ravel(array) if axis is None else np.moveaxis(array, axis, 0)
    y = 1.0 * rows[0] if "dd->d" in ufunc.types else np.copy(rows[0])  # those of bits, and divisors, are of bools and integers
    for k in range(1, len(rows)):
        y = ufunc(y, rows[k])
    if keepdims:
        y = np.reshape(y, (1,) * np.ndim(array)) if axis is None else np.expand_dims(y, axis)
    return y


@means()
def scan(ufunc, array, axis=0):  # type: ignore[no-untyped-def]
    """`ufunc.accumulate`, one row after the other."""
    y = np.copy(np.moveaxis(array, axis, 0))
    for k in range(1, len(y)):
        y[k] = ufunc(y[k - 1], y[k])
    return np.moveaxis(y, 0, axis)


@means()
def segments(ufunc, array, indices, axis=0):  # type: ignore[no-untyped-def]
    """`ufunc.reduceat`: from each index up to the next one; one element where the next one is not greater."""
    rows, first = np.moveaxis(array, axis, 0), np.asarray(indices)
    y = np.copy(rows[np.where(first < 0, len(rows), first)])  # none counts from the end
    for i in range(len(first)):
        stop = first[i + 1] if i + 1 < len(first) else len(rows)
        for k in range(first[i] + 1, stop):
            y[i] = ufunc(y[i], rows[k])
    return np.moveaxis(y, 0, axis)


# --------------------------------------------------------------------------- reductions with where=


@means()
def masked_mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where):  # type: ignore[no-untyped-def]
    mask = np.broadcast_to(where, np.shape(a))
    return np.sum(np.where(mask, a, 0.0), axis=axis, keepdims=keepdims) / np.sum(mask, axis=axis, keepdims=keepdims)


@means()
def masked_var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where):  # type: ignore[no-untyped-def]
    mask = np.broadcast_to(where, np.shape(a))
    centred = np.where(mask, a - masked_mean(a, axis, keepdims=True, where=mask), 0.0)
    count = np.sum(mask, axis=axis, keepdims=keepdims) - ddof
    return np.sum(centred * centred, axis=axis, keepdims=keepdims) / count


@means()
def masked_std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where):  # type: ignore[no-untyped-def]
    return np.sqrt(masked_var(a, axis, ddof=ddof, keepdims=keepdims, where=where))


@means()
def masked_prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=1.0, where=True):  # type: ignore[no-untyped-def]
    return np.prod(np.where(where, a, 1.0), axis=axis, keepdims=keepdims) * initial


@means()
def masked_max(a, axis=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
    refuse(initial is None, "a maximum with `where` needs `initial`", "give initial=-np.inf")
    return np.max(np.where(where, a, initial), axis=axis, keepdims=keepdims, initial=initial)


@means()
def masked_min(a, axis=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
    refuse(initial is None, "a minimum with `where` needs `initial`", "give initial=np.inf")
    return np.min(np.where(where, a, initial), axis=axis, keepdims=keepdims, initial=initial)


@means()
def masked_all(a, axis=None, out=None, keepdims=False, *, where):  # type: ignore[no-untyped-def]
    return np.all(np.logical_or(a, np.logical_not(where)), axis=axis, keepdims=keepdims)


@means()
def masked_any(a, axis=None, out=None, keepdims=False, *, where):  # type: ignore[no-untyped-def]
    return np.any(np.logical_and(a, where), axis=axis, keepdims=keepdims)


# --------------------------------------------------------------------------- functions that write to their argument


@means(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):  # type: ignore[no-untyped-def]
    castable(np.asarray(src).dtype, np.ndim(src), dst.dtype, casting)
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)


@means(np.putmask)
def putmask(a, mask, values):  # type: ignore[no-untyped-def]
    castable(np.asarray(values).dtype, np.ndim(values), a.dtype, "safe")
    if np.ndim(values) == 0:
        a[...] = np.where(np.reshape(mask, np.shape(a)), values, a)
    elif np.size(values) > 0:  # those at the places of the mask, in the order of all elements, from the first again behind the last
        taken = np.ravel(values)[np.arange(np.size(a)) % np.size(values)]
        a[...] = np.where(np.reshape(mask, np.shape(a)), np.reshape(taken, np.shape(a)), a)


@means(np.place)
def place(arr, mask, vals):  # type: ignore[no-untyped-def]
    castable(np.asarray(vals).dtype, np.ndim(vals), arr.dtype, "safe")
    if np.ndim(vals) == 0:
        arr[...] = np.where(mask, vals, arr)
    else:
        taken = np.ravel(vals)
        count = taken.size
        if count == 0 and np.any(mask):
            raise ValueError("Cannot insert from an empty array!")
        at = (np.cumsum(np.ravel(mask)) - 1) % max(count, 1)  # the values in turn, from the first again behind the last
        arr[...] = np.where(mask, np.reshape(np.append(taken, 0.0)[at], np.shape(arr)), arr)


@means(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):  # type: ignore[no-untyped-def]
    refuse(np.ndim(a) != 2 or wrap, "np.fill_diagonal is supported for matrices alone", "write a[i, i] = ... in a loop")
    taken = val if np.ndim(val) == 0 else np.ravel(val)
    for i in range(min(np.shape(a)[0], np.shape(a)[1])):
        a[i, i] = taken if np.ndim(val) == 0 else taken[i % np.size(val)]


@means(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):  # type: ignore[no-untyped-def]
    n = np.ndim(arr)
    at = axis % n
    arr[tuple(indices if k == at else np.reshape(np.arange(np.shape(arr)[k]), (1,) * k + (-1,) + (1,) * (n - k - 1)) for k in range(n))] = values


# --------------------------------------------------------------------------- elementwise


@means()
def unit(x):  # type: ignore[no-untyped-def]
    """`np.sign` of complex numbers."""
    size = np.abs(x)
    return x / np.where(size == 0.0, 1.0, size)


# --------------------------------------------------------------------------- rows of one array joined


@means()
def some(a, what):  # type: ignore[no-untyped-def]
    """The rows themselves; none cannot be joined."""
    if np.shape(a)[0] == 0:
        raise ValueError("need at least one array to " + what)
    return a


@means()
def stacked(a, axis=0):  # type: ignore[no-untyped-def]
    a = some(a, "stack")
    return np.copy(a if axis == 0 else np.moveaxis(a, 0, axis))


@means()
def end_to_end(a, axis=0):  # type: ignore[no-untyped-def]
    a = some(a, "concatenate")
    if axis is None:
        return np.copy(np.ravel(a))
    rank = np.ndim(a) - 1
    if axis < -rank or axis >= rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    at = axis % rank
    moved, shape = a if at == 0 else np.moveaxis(a, 0, at), np.shape(a)[1:]
    return np.copy(np.reshape(moved, (*shape[:at], -1, *shape[at + 1 :])))


@means()
def below_each_other(a):  # type: ignore[no-untyped-def]
    return np.copy(some(a, "concatenate")) if np.ndim(a) == 2 else end_to_end(a, 0)


@means()
def beside_each_other(a):  # type: ignore[no-untyped-def]
    return end_to_end(a, 0 if np.ndim(a) == 2 else 1)


@means()
def as_columns(a):  # type: ignore[no-untyped-def]
    return np.copy(np.transpose(some(a, "concatenate"))) if np.ndim(a) == 2 else end_to_end(a, 1)


@means()
def edges(bins):  # type: ignore[no-untyped-def]
    if np.any(bins[1:] < bins[:-1]):
        raise ValueError("`bins` must increase monotonically, when an array")
    return bins


# --------------------------------------------------------------------------- functions of functions


@means(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):  # type: ignore[no-untyped-def]
    """Each function sees only the elements that it is for, if there are any; one function more than conditions is for the rest."""
    conditions = condlist if isinstance(condlist, (tuple, list)) else (condlist,)
    if np.ndim(x) == 0:
        return np.array(piecewise_1d(np.reshape(x, (1,)), [np.reshape(c, (1,)) for c in conditions], funclist, *args, **kw)[0])
    return piecewise_1d(x, conditions, funclist, *args, **kw)


@means()
def piecewise_1d(x, condlist, funclist, *args, **kw):  # type: ignore[no-untyped-def]
    y = np.zeros_like(x)
    rest = np.logical_not(condlist[0])
    for condition in condlist[1:]:
        rest = np.logical_and(rest, np.logical_not(condition))
    conditions = (*condlist, rest) if len(funclist) > len(condlist) else tuple(condlist)
    if len(conditions) != len(funclist):
        raise ValueError(f"with {len(condlist)} condition(s), either {len(condlist)} or {len(condlist) + 1} functions are expected")
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            y[condition] = function
        elif np.any(condition):
            y[condition] = function(x[condition], *args, **kw)
    return y


@means(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):  # type: ignore[no-untyped-def]
    """Row by row; what the function returns takes the place of the axis."""
    if np.ndim(arr) == 1 and axis in (0, -1):
        return np.array(func1d(arr, *args, **kwargs))
    moved = np.moveaxis(arr, axis, -1)
    rows = np.reshape(moved, (-1, np.shape(moved)[-1]))
    first = func1d(rows[0], *args, **kwargs)
    y = np.zeros((np.shape(rows)[0], *np.shape(first)), dtype=np.result_type(first))
    y[0] = first
    for i in range(1, np.shape(rows)[0]):
        y[i] = func1d(rows[i], *args, **kwargs)
    whole = np.reshape(y, (*np.shape(moved)[:-1], *np.shape(first)))
    at = axis % np.ndim(arr)
    return np.moveaxis(whole, tuple(range(-np.ndim(first), 0)), tuple(range(at, at + np.ndim(first)))) if np.ndim(first) > 0 else whole


@means(np.apply_over_axes)
def apply_over_axes(func, a, axes):  # type: ignore[no-untyped-def]
    y = a
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        reduced = func(y, axis)
        y = reduced if np.ndim(reduced) == np.ndim(a) else np.expand_dims(reduced, axis)
    return y


@means(np.fromfunction)
def fromfunction(function, shape, *, dtype=float, **kwargs):  # type: ignore[no-untyped-def]
    n = len(shape)
    return function(*[np.broadcast_to(np.reshape(np.arange(1.0 * shape[i]), (1,) * i + (-1,) + (1,) * (n - i - 1)), shape).copy() for i in range(n)], **kwargs)


@means(np.real_if_close)
def real_if_close(a, tol=100):  # type: ignore[no-untyped-def]
    refuse(np.iscomplexobj(a), "np.real_if_close decides by the values whether its result is complex", "take .real, or leave the array as it is")
    return a


@means(np.resize)
def resize(a, new_shape):  # type: ignore[no-untyped-def]
    shape = new_shape if isinstance(new_shape, tuple) else (new_shape,)
    size = 1
    for n in shape:
        size = size * n
    flat = np.ravel(a)
    return np.reshape(flat[np.arange(size) % np.size(a)], shape)


@means(np.fromiter)
def fromiter(iter, dtype, count=-1):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.array(iter, dtype=dtype)


@means()
def vectorized(pyfunc, dtype, *args):  # type: ignore[no-untyped-def]
    """One call of `pyfunc` for each element of the broadcast arguments."""
    arrays = np.broadcast_arrays(*args) if len(args) > 1 else args
    flat = [np.ravel(a) for a in arrays]
    y = np.zeros(np.size(flat[0]), dtype)
    for k in range(np.size(flat[0])):
        y[k] = pyfunc(*[a[k] for a in flat])
    return np.reshape(y, np.shape(arrays[0]))


@means()
def by_rows(body, lead, inner, alone, made, kept, dtypes, given, *args):  # type: ignore[no-untyped-def]
    """One call of `body` for each place of the leading axes, with rows of the arguments and then rows of what it writes to.

    `lead` are the extents of the leading axes, `inner` the numbers of axes that belong to one call, `alone` says which arguments it takes as
    numbers, `made` are the shapes of what it writes, `kept` whether these are axes of the result, `dtypes` theirs, `given` what stands there before.
    """
    n = 1
    for m in lead:
        n = n * m
    own = [np.shape(args[i])[np.ndim(args[i]) - inner[i] :] for i in range(len(args))]
    rows = [np.reshape(np.broadcast_to(args[i], lead + own[i]), (n, *own[i])) for i in range(len(args))]
    results = [np.array(np.reshape(given[i], (n, *made[i])), dtypes[i]) if given else np.zeros((n, *made[i]), dtypes[i]) for i in range(len(made))]
    for k in range(n):
        body(*[rows[i][k] if inner[i] or alone[i] else rows[i][k : k + 1] for i in range(len(args))], *[y[k] for y in results])
    return tuple([np.reshape(results[i], lead + made[i] if kept[i] else lead) for i in range(len(made))])


@means()
def swept(kernel, out, shape, first, last, *args):  # type: ignore[no-untyped-def]
    """`out[i] = kernel(i, *args)` for the places i that are at least `first` and `last` items away from the ends of each axis."""
    for i in range(first[0], shape[0] - last[0]):
        if len(shape) == 1:
            out[i] = kernel((i,), *args)
        else:
            for j in range(first[1], shape[1] - last[1]):
                if len(shape) == 2:
                    out[i, j] = kernel((i, j), *args)
                else:
                    for k in range(first[2], shape[2] - last[2]):
                        if len(shape) == 3:
                            out[i, j, k] = kernel((i, j, k), *args)
                        else:
                            for m in range(first[3], shape[3] - last[3]):
                                out[i, j, k, m] = kernel((i, j, k, m), *args)


@means()
def over_rows(pyfunc, ranks, results, *args):  # type: ignore[no-untyped-def]
    """`np.vectorize` with a signature: a call for each place of the leading axes, on what stands behind them."""
    arrays = [np.asarray(a) for a in args]
    shapes = [np.shape(a) for a in arrays]
    lead = np.broadcast_shapes(*[s[: len(s) - r] for s, r in zip(shapes, ranks, strict=True)])
    if len(lead) == 0:
        return pyfunc(*arrays)
    cores = [s[len(s) - r :] for s, r in zip(shapes, ranks, strict=True)]
    count = int(np.prod(np.array(lead)))
    rows = [np.reshape(np.broadcast_to(a, (*lead, *c)), (count, *c)) for a, c in zip(arrays, cores, strict=True)]
    if results == 1:
        found = np.array([pyfunc(*[r[i] for r in rows]) for i in range(count)])
        return np.reshape(found, (*lead, *np.shape(found)[1:]))
    many = [pyfunc(*[r[i] for r in rows]) for i in range(count)]
    parts = [np.array([m[k] for m in many]) for k in range(results)]
    return tuple(np.reshape(p, (*lead, *np.shape(p)[1:])) for p in parts)


# --------------------------------------------------------------------------- methods of Python's numbers


@means()
def bit_length(n):  # type: ignore[no-untyped-def]
    count, left = 0, abs(n)
    while left > 0:
        count += 1
        left = left // 2
    return count


@means()
def bit_count(n):  # type: ignore[no-untyped-def]
    count, left = 0, abs(n)
    while left > 0:
        count += left % 2
        left = left // 2
    return count


@means()
def is_integer(x):  # type: ignore[no-untyped-def]
    return np.isfinite(x) and x == np.floor(x)


# --------------------------------------------------------------------------- places of an array, one after the other


@means()
def unravel(shape, k):  # type: ignore[no-untyped-def]
    """The index of the k-th element, in C order."""
    index: tuple[Any, ...] = ()
    for n in reversed(shape):
        index = (k % n, *index)
        k = k // n
    return index


@means(np.nonzero)
def nonzero(a):  # type: ignore[no-untyped-def]
    flat = np.flatnonzero(a)
    return (flat,) if np.ndim(a) == 1 else unravel(np.shape(a), flat)


@means(np.argwhere)
def argwhere(a):  # type: ignore[no-untyped-def]
    return np.stack(nonzero(a), axis=1) if np.ndim(a) else np.zeros((int(a != 0), 0), dtype=np.int64)


@means()
def entry(arr, shape, k):  # type: ignore[no-untyped-def]
    """The k-th element with its index, as np.ndenumerate gives them."""
    index = unravel(shape, k)
    return index, arr[index]
