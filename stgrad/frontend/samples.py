# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""What the functions of `scipy.stats` ask of their samples (scipy/stats/_axis_nan_policy.py), in extents that are followed."""

from __future__ import annotations

import numpy as np

from stgrad.frontend.library import refuse


def broadcast_but(arrays, axis=None, xp=None):
    """Arrays that have one shape but for the axes that are reduced."""
    arrays = [np.asarray(a) for a in arrays]
    if axis is None:
        return list(np.broadcast_arrays(*arrays)) if len(arrays) > 1 else arrays
    rank = max([np.ndim(a) for a in arrays])
    reduced = [k % rank for k in (axis if isinstance(axis, tuple) else (axis,))]
    if len(arrays) == 1 or rank == len(reduced):
        return arrays
    wide = [np.reshape(a, (1,) * (rank - np.ndim(a)) + np.shape(a)) for a in arrays]
    kept = [a[tuple(0 if k in reduced else slice(None) for k in range(rank))] for a in wide]
    shape = np.shape(np.broadcast_arrays(*kept)[0])
    others = [k for k in range(rank) if k not in reduced]
    return [np.broadcast_to(a, tuple(np.shape(a)[k] if k in reduced else shape[others.index(k)] for k in range(rank))) for a in wide]


def mean(x, axis=None, weights=None, keepdims=False, nan_policy="propagate", dtype=None, xp=None):
    """SciPy's own mean, which asks a decorated function for that of nothing."""
    refuse(nan_policy == "omit", "`nan_policy='omit'` is not supported", "leave NaN out before")
    x = np.asarray(x, dtype=dtype)
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    weights = np.broadcast_to(np.asarray(weights, dtype=dtype), np.shape(x))
    return np.sum(x * weights, axis=axis, keepdims=keepdims) / np.sum(weights, axis=axis, keepdims=keepdims)


def promote(*args, broadcast=False, force_floating=False, xp=None):
    """Arrays of one kind, and of one shape where that is asked for; None stays None."""
    arrays = [None if a is None else 1.0 * np.asarray(a) if force_floating else np.asarray(a) for a in args]
    given = [a for a in arrays if a is not None]
    kind = np.result_type(*given)
    given = [np.asarray(a, dtype=kind) for a in given]
    wide = list(np.broadcast_arrays(*given)) if broadcast and len(given) > 1 else given
    found = tuple(None if a is None else wide.pop(0) for a in arrays)
    return found[0] if len(found) == 1 else found


def length(x, axis, keepdims=False, xp=None):
    """How many numbers are reduced."""
    if axis is None:
        return np.size(x)
    count = 1
    for k in axis if isinstance(axis, tuple) else (axis,):
        count = count * np.shape(x)[k]
    return count


def refuse_empty(samples, axis, xp=None):
    """SciPy gives NaN for a sample of nothing, or what is left of the other axes."""
    for sample in samples:
        if np.size(sample) == 0:
            raise ValueError("stgrad: a sample is empty")


def apply_where(cond, args, f1, f2=None, /, *, fill_value=None, kwargs=None, xp=None):
    """`np.where` of what two functions give: each is asked for all numbers, and what is left out has no share in a derivative."""
    given = args if isinstance(args, tuple) else (args,)
    named = {} if kwargs is None else kwargs
    return np.where(cond, f1(*given, **named), fill_value if f2 is None else f2(*given, **named))
