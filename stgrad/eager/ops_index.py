"""Gather, scatter, masks and choices by their TensorFlow names: all are reads `x[index]` or sums into zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import rules_kinks  # noqa: F401
from stgrad.eager.calling import pair, run, static
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import apply
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.indexing import PUT, TAKE, WRITTEN
from stgrad.eager.tensor import Tensor

__all__ = [
    "boolean_mask", "dynamic_partition", "dynamic_stitch", "gather", "gather_nd", "scatter_nd", "searchsorted", "sequence_mask",
    "tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub", "tensor_scatter_nd_update",
    "unique", "where",
]  # fmt: skip


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """x where the condition holds, else y; with the condition alone, the indices of its true elements."""
    c = convert_to_tensor(condition)
    if x is None and y is None:
        return Tensor(np.argwhere(c._a).astype(np.int64))
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    if c._a.dtype.kind != "b":
        raise InvalidArgumentError(
            f"cannot compute SelectV2 as input #0(zero-based) was expected to be a bool tensor but is a {c.dtype.name} tensor", "SelectV2"
        )
    a, b = pair(x, y, "SelectV2")
    return run(np.where, c, a, b)


def gather(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0, name: str | None = None
) -> Tensor:
    """Slices of `params` along an axis; the gradient is dense."""
    t, ids = convert_to_tensor(params), convert_to_tensor(indices)._a
    if ids.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"Value for attr 'Tindices' of {ids.dtype} is not in the list of allowed values: int16, int32, int64", "GatherV2"
        )
    if batch_dims < 0:
        batch_dims += ids.ndim
    i = batch_dims if axis is None else static(axis)
    i = i + t._a.ndim if i < 0 else i
    extent = t._a.shape[i]
    if ids.size and (ids.min() < 0 or ids.max() >= extent):
        bad = np.argwhere((ids < 0) | (ids >= extent))[0].tolist()
        raise InvalidArgumentError(f"indices{bad} = {ids[tuple(bad)]} is not in [0, {extent})", "GatherV2")
    return apply(TAKE, (t, _gather_index(t._a.shape, ids, i, batch_dims)))


def _gather_index(shape: tuple[int, ...], ids: Any, axis: int, batch_dims: int) -> Any:
    """The NumPy index of a gather: batch axes count along, axes between are whole."""
    ids = np.asarray(ids)
    if not batch_dims:
        return (*[slice(None)] * axis, ids)
    between = axis - batch_dims
    inner = ids.ndim - batch_dims
    total = batch_dims + between + inner
    index: list[Any] = []
    for k in range(axis):
        index.append(np.arange(shape[k]).reshape([-1 if j == k else 1 for j in range(total)]))
    index.append(ids.reshape(*ids.shape[:batch_dims], *[1] * between, *ids.shape[batch_dims:]))
    return tuple(index)


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Tensor:
    """Elements or slices at index vectors, the last axis of `indices`."""
    t, ids = convert_to_tensor(params), convert_to_tensor(indices)._a
    if batch_dims:
        lead = np.indices(ids.shape[:-1])[:batch_dims]
        ids = np.concatenate([np.moveaxis(lead, 0, -1), ids], axis=-1)
    return apply(TAKE, (t, _nd_index(ids, t._a.shape, "GatherNd")))


def _nd_index(ids: Any, shape: tuple[int, ...], name: str) -> tuple[Any, ...]:
    depth = ids.shape[-1] if ids.ndim else 0
    if depth > len(shape):
        raise InvalidArgumentError(f"index innermost dimension length must be <= params rank; saw: {depth} vs. {len(shape)}", name)
    limits = np.array(shape[:depth])
    if ids.size and ((ids < 0) | (ids >= limits)).any():
        bad = np.argwhere(((ids < 0) | (ids >= limits)).any(axis=-1))[0].tolist()
        raise InvalidArgumentError(f"indices{bad} = {ids[tuple(bad)].tolist()} does not index into param shape {list(shape)}", name)
    return tuple(np.moveaxis(np.asarray(ids), -1, 0))


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of a shape with updates added at index vectors."""
    ids, values, extents = convert_to_tensor(indices)._a, convert_to_tensor(updates), static(shape)
    extents = extents if isinstance(extents, tuple) else (extents,)
    return apply(PUT, (values, _nd_index(ids, extents, "ScatterNd"), extents))


def tensor_scatter_nd_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy with updates added at index vectors."""
    t, values = pair(tensor, updates, "TensorScatterAdd")
    return t + scatter_nd(indices, values, t._a.shape)


def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy with updates subtracted at index vectors."""
    t, values = pair(tensor, updates, "TensorScatterSub")
    return t - scatter_nd(indices, values, t._a.shape)


def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy with the elements at index vectors replaced."""
    t, values = pair(tensor, updates, "TensorScatterUpdate")
    index = _nd_index(convert_to_tensor(indices)._a, t._a.shape, "TensorScatterUpdate")
    return apply(WRITTEN, (t, index, values))


def tensor_scatter_nd_max(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy with the larger of element and update at index vectors."""
    return _scatter_extreme(tensor, indices, updates, np.maximum)


def tensor_scatter_nd_min(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy with the smaller of element and update at index vectors."""
    return _scatter_extreme(tensor, indices, updates, np.minimum)


def _scatter_extreme(tensor: Any, indices: Any, updates: Any, fn: Any) -> Tensor:
    t, values = pair(tensor, updates, "TensorScatterMax")
    ids = convert_to_tensor(indices)._a
    index = _nd_index(ids, t._a.shape, "TensorScatterMax")
    for k in range(ids[..., 0].size):  # one at a time: an element may be named more than once
        one = tuple(np.ravel(part)[k] for part in index)
        value = values[np.unravel_index(k, ids.shape[:-1]) if ids.ndim > 2 else k]
        t = apply(WRITTEN, (t, one, run(fn, apply(TAKE, (t, one)), value)))
    return t


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> Tensor:
    """The elements or slices where the mask holds."""
    t, m = convert_to_tensor(tensor), np.asarray(convert_to_tensor(mask)._a)
    if m.ndim == 0:
        raise ValueError("mask cannot be scalar.")
    i = static(axis) or 0
    if t._a.shape[i : i + m.ndim] != m.shape:
        raise ValueError(f"Shapes {t.shape[i : i + m.ndim]} and {m.shape} are incompatible")
    return apply(TAKE, (t, (*[slice(None)] * i, m)))


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """The elements of each partition number."""
    t, ids = convert_to_tensor(data), np.asarray(convert_to_tensor(partitions)._a)
    return [apply(TAKE, (t, ids == i)) for i in range(num_partitions)]


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """One tensor from parts and the positions of their rows; the last of equals wins."""
    ids = [np.asarray(convert_to_tensor(i)._a) for i in indices]
    parts = [convert_to_tensor(d) for d in data]
    row = parts[0]._a.shape[ids[0].ndim :]
    whole = Tensor(np.zeros((max(int(i.max()) for i in ids if i.size) + 1, *row), parts[0]._a.dtype))
    for i, d in zip(ids, parts):
        whole = apply(WRITTEN, (whole, i, d))
    return whole


def unique(x: Any, out_idx: Any = np.int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The distinct values in order of first occurrence, and where each element's value is among them."""
    values, first, inverse = np.unique(convert_to_tensor(x)._a, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.argsort(order)
    return Tensor(values[order]), Tensor(place[inverse].astype(np.int32))


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = np.int32, name: str | None = None) -> Tensor:
    """Where values would be inserted in sorted rows."""
    a, v = pair(sorted_sequence, values, "SearchSorted")
    rows, wanted = a._a.reshape(-1, a._a.shape[-1]), v._a.reshape(-1, v._a.shape[-1])
    found = np.stack([np.searchsorted(r, w, side) for r, w in zip(rows, wanted)])
    return Tensor(found.reshape(v._a.shape).astype(np.int32))


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = np.bool_, name: str | None = None) -> Tensor:
    """True for the first `lengths` positions of a new last axis."""
    from stgrad.eager import dtypes

    n = convert_to_tensor(lengths)._a
    width = int(n.max()) if maxlen is None else static(maxlen)
    return Tensor((np.arange(width) < np.expand_dims(n, -1)).astype(dtypes.as_dtype(dtype).dtype))
