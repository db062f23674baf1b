"""Writes to places of an array that are numbered in C order: `ufunc.at`, `np.put`, `a.flat[index] = v`.

Their meaning is NumPy code of ours, read in their place as that of `stgrad.frontend.library` is. An index of any kind picks from the numbers of all places;
what comes twice is written twice, in order.
"""

from __future__ import annotations

import numpy as np

from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import load, store
from stgrad.frontend.library import means, unravel
from stgrad.frontend.values import Growing, Method, Value, type_of

# ruff: noqa: ANN001, ANN202


@means()
def at(ufunc, a, indices, *b):  # type: ignore[no-untyped-def]
    """`ufunc.at(a, indices, b)`."""
    shape = np.shape(a)
    places = np.reshape(np.arange(np.size(a)), shape)[indices]
    if np.ndim(places) == 0:
        a[indices] = ufunc(a[indices], *b)
    else:
        which, others = np.ravel(places), [np.ravel(np.broadcast_to(v, np.shape(places))) for v in b]
        for k in range(np.size(which)):
            index = unravel(shape, which[k])
            a[index] = ufunc(a[index], *[v[k] for v in others])


@means(np.put)
def put(a, ind, v, mode="raise"):  # type: ignore[no-untyped-def]
    n = np.size(a)
    which = np.ravel(ind)
    which = which % n if mode == "wrap" else np.clip(which, 0, n - 1) if mode == "clip" else which
    write(a, np.arange(n)[which], v)


@means()
def write(a, places, v):  # type: ignore[no-untyped-def]
    """The values at these places, from the first one again where they are too few; nothing where there are none."""
    values = np.ravel(v)
    if np.ndim(places) == 0 or np.ndim(v) == 0:
        a[unravel(np.shape(a), places)] = v if np.ndim(v) == 0 else values[0]
    elif np.size(values) > 0:
        a[unravel(np.shape(a), places)] = values[np.arange(np.size(places)) % np.size(values)]


@means()
def _write_flat(a, places, v):  # type: ignore[no-untyped-def]
    if np.ndim(places) == 0 and np.ndim(v) > 0:
        raise ValueError("Error setting single item of array.")
    write(a, places, v)


def load_flat(frame: Frame, flat: Method, index: Value) -> Value:
    """`a.flat[index]`: an element, or a copy of some."""
    a = flat.owner
    if type_of(a).rank == 1:
        found = load(frame, a, index, None)
        return frame.call(np.copy, (found,), {}) if isinstance(index, slice) else found
    places = load(frame, _numbers(frame, a), index, None)
    return load(frame, a, frame.call(unravel, (frame.call(np.shape, (a,), {}), places), {}), None)


def _numbers(frame: Frame, a: Value) -> Value:
    return frame.call(np.arange, (frame.call(np.size, (a,), {}),), {})


def store_flat(frame: Frame, flat: Method, index: Value, value: Value) -> None:
    """`a.flat[index] = value`."""
    a = flat.owner
    if isinstance(value, (list, tuple, Growing)):
        value = frame.call(np.asarray, (value,), {})
    if type_of(a).rank == 1 and not type_of(value).rank:
        store(frame, a, index, value, None)
        return
    frame.call(_write_flat, (a, load(frame, _numbers(frame, a), index, None), value), {})
